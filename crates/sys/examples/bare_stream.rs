//! The bare minimum of one stream over TCP: a loop of writes on one side, a loop of reads on the other.
//!
//! The figure `endpoint` of `cargo xtask perf` compares narrows with it. Blocking standard sockets with the kernel's
//! own buffer sizes; the clock is read once a block, by the side that counts.
//!
//!     bare_stream sink BLOCK_BYTES                      prints ADDR:PORT, reads one connection to its end
//!     bare_stream source BLOCK_BYTES                    prints ADDR:PORT, writes one connection until it is closed
//!     bare_stream send ADDR:PORT SECONDS BLOCK_BYTES    writes to a sink
//!     bare_stream receive ADDR:PORT SECONDS BLOCK_BYTES reads from a source

use narrows_sys::clock::Monotonic;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

const USAGE: &str = "bare_stream sink|source BLOCK_BYTES | send|receive ADDR:PORT SECONDS BLOCK_BYTES";

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["sink", block] => {
            let (mut socket, mut block) = (accept()?, block_of(block)?);
            while socket.read(&mut block)? > 0 {}
            Ok(())
        }
        ["source", block] => {
            let (mut socket, block) = (accept()?, block_of(block)?);
            // The other side closes the connection when its time is over.
            while socket.write_all(&block).is_ok() {}
            Ok(())
        }
        ["send", address, seconds, block] => {
            let (mut socket, block) = (TcpStream::connect(address)?, block_of(block)?);
            measure(number(seconds)?, || socket.write_all(&block).map(|()| block.len()))
        }
        ["receive", address, seconds, block] => {
            let (mut socket, mut block) = (TcpStream::connect(address)?, block_of(block)?);
            measure(number(seconds)?, || match socket.read(&mut block)? {
                0 => Err(io::ErrorKind::UnexpectedEof.into()),
                length => Ok(length),
            })
        }
        _ => Err(io::Error::other(USAGE)),
    }
}

fn number(word: &str) -> io::Result<usize> {
    word.parse().map_err(|_| io::Error::other(format!("`{word}` is no number; {USAGE}")))
}

fn block_of(word: &str) -> io::Result<Vec<u8>> {
    Ok(vec![0x5a; number(word)?.max(1)])
}

fn accept() -> io::Result<TcpStream> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", listener.local_addr()?)?;
    stdout.flush()?;
    Ok(listener.accept()?.0)
}

/// Repeats `step`, which moves some bytes, until the time is over, and prints the rate.
fn measure(seconds: usize, mut step: impl FnMut() -> io::Result<usize>) -> io::Result<()> {
    let clock = Monotonic::new();
    let started_ns = clock.now_ns();
    let until_ns = started_ns + u64::try_from(seconds).unwrap_or(u64::MAX).saturating_mul(1_000_000_000);
    let (mut bytes, mut now_ns) = (0_u64, started_ns);
    while now_ns < until_ns {
        bytes += u64::try_from(step()?).unwrap_or(0);
        now_ns = clock.now_ns();
    }
    let elapsed_s = (now_ns - started_ns) as f64 / 1e9;
    let bytes_per_s = bytes as f64 / elapsed_s;
    writeln!(io::stdout(), "{{\"bytes\":{bytes},\"elapsed_s\":{elapsed_s},\"bytes_per_s\":{bytes_per_s}}}")
}
