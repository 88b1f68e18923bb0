//! Sends bytes over TCP and times it, so that the lab's own links can be checked without the product.
//!
//! * `labcat receive ADDRESS` accepts one connection, reads it to its end; prints `received BYTES in NS ns`.
//! * `labcat send HOST:PORT BYTES` sends so many bytes and waits until the receiver has closed.
//! * `labcat echo ADDRESS` accepts one connection and returns every 64-byte message.
//! * `labcat rtt HOST:PORT COUNT` prints each round trip in ns, one a line.
//! * `labcat keep ADDRESS FILE` accepts one connection and writes what comes to FILE as it comes.
//! * `labcat tell HOST:PORT BYTES` sends that many bytes, each determined by its position, and waits as `send` does.
//!
//! The listening sides print `listening ADDRESS` first. A receiver's time runs from its first bytes to the end
//! of the stream. It is no benchmark: one connection, one thread.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::ExitCode;

use narrows_lab::clock::monotonic_ns;
use narrows_lab::pattern::fill;

/// Large enough that the calls do not limit a few Gbit/s.
const CHUNK_BYTES: usize = 1 << 18;
const MESSAGE_BYTES: usize = 64;

type CatResult = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["receive", address] => accept(address).and_then(|stream| receive(&stream)),
        ["send", to, bytes] => bytes.parse().map_err(Into::into).and_then(|bytes| send(to, bytes)),
        ["keep", address, file] => accept(address).and_then(|stream| keep(&stream, file)),
        ["tell", to, bytes] => bytes.parse().map_err(Into::into).and_then(|bytes| send_pattern(to, bytes)),
        ["echo", address] => accept(address).and_then(|stream| echo(&stream)),
        ["rtt", to, count] => count.parse().map_err(Into::into).and_then(|count| round_trips(to, count)),
        _ => {
            Err("usage: labcat receive|echo ADDRESS, labcat keep ADDRESS FILE, labcat send|tell HOST:PORT BYTES, \
                 labcat rtt HOST:PORT COUNT"
                .into())
        }
    };
    let Err(failure) = outcome else { return ExitCode::SUCCESS };
    // Where it cannot be said it can only be returned.
    let _unheard = writeln!(std::io::stderr(), "labcat: {failure}");
    ExitCode::FAILURE
}

fn say(line: &str) -> CatResult {
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{line}")?;
    Ok(stdout.flush()?)
}

fn accept(address: &str) -> Result<TcpStream, Box<dyn Error>> {
    let listener = TcpListener::bind(address)?;
    say(&format!("listening {}", listener.local_addr()?))?;
    let (stream, _from) = listener.accept()?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn receive(mut stream: &TcpStream) -> CatResult {
    let mut chunk = vec![0; CHUNK_BYTES];
    let first_bytes = stream.read(&mut chunk)?;
    let started_ns = monotonic_ns();
    let mut later_bytes = 0;
    loop {
        match stream.read(&mut chunk)? {
            0 => break,
            length => later_bytes += length,
        }
    }
    let elapsed_ns = monotonic_ns() - started_ns;
    say(&format!("received {} in {elapsed_ns} ns", first_bytes + later_bytes))
}

fn keep(mut stream: &TcpStream, file: &str) -> CatResult {
    let mut kept = File::create(file)?;
    let bytes = std::io::copy(&mut stream, &mut kept)?;
    say(&format!("kept {bytes} bytes to the end of the stream"))
}

fn send(to: &str, bytes: u64) -> CatResult {
    stream_out(to, bytes, |chunk, _| chunk.fill(0x5a))
}

fn send_pattern(to: &str, bytes: u64) -> CatResult {
    stream_out(to, bytes, fill)
}

/// Sends so many bytes, each chunk made by `make` for its place, and waits until the receiver has closed.
fn stream_out(to: &str, bytes: u64, make: impl Fn(&mut [u8], u64)) -> CatResult {
    let mut stream = TcpStream::connect(to)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut place = 0;
    while place < bytes {
        let length = usize::try_from(bytes - place).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES));
        make(&mut chunk[..length], place);
        stream.write_all(&chunk[..length])?;
        place += length as u64;
    }
    stream.shutdown(Shutdown::Write)?;
    match stream.read(&mut [0])? {
        0 => Ok(()),
        _ => Err("the receiver answered with data".into()),
    }
}

fn echo(mut stream: &TcpStream) -> CatResult {
    let mut message = [0; MESSAGE_BYTES];
    loop {
        match stream.read_exact(&mut message) {
            Ok(()) => stream.write_all(&message)?,
            Err(end) if end.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            Err(failure) => return Err(failure.into()),
        }
    }
}

fn round_trips(to: &str, count: u32) -> CatResult {
    let mut stream = TcpStream::connect(to)?;
    stream.set_nodelay(true)?;
    let mut message = [0x5a; MESSAGE_BYTES];
    for _ in 0..count {
        let sent_ns = monotonic_ns();
        stream.write_all(&message)?;
        stream.read_exact(&mut message)?;
        let elapsed_ns = monotonic_ns() - sent_ns;
        say(&elapsed_ns.to_string())?;
    }
    Ok(())
}
