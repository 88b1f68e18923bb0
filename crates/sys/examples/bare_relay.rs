//! The bare minimum of the buffer experiment: a loop of writes in one process, a loop of reads in another.
//!
//! The figure `relay` of `cargo xtask perf` compares narrows with it. Blocking standard sockets as the kernel makes
//! them; time runs from the first write until one byte comes back that the reader sends once it has received all.
//!
//!     bare_relay read BUFFER_BYTES TOTAL_BYTES              prints ADDR:PORT, reads one connection to its end
//!     bare_relay write ADDR:PORT BUFFER_BYTES TOTAL_BYTES   writes to it and prints the rate

use narrows_sys::clock::Monotonic;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

const USAGE: &str = "bare_relay read BUFFER_BYTES TOTAL_BYTES | write ADDR:PORT BUFFER_BYTES TOTAL_BYTES (a multiple of the buffer)";

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["read", buffer, total] => read_all(number(buffer)?, number(total)?),
        ["write", address, buffer, total] => write_all(address, number(buffer)?, number(total)?),
        _ => Err(io::Error::other(USAGE)),
    }
}

fn number(word: &str) -> io::Result<usize> {
    let number = word.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| io::Error::other(format!("`{word}` is no number above 0; {USAGE}")))
}

fn read_all(buffer_bytes: usize, total_bytes: usize) -> io::Result<()> {
    let mut buffer = vec![0; buffer_bytes];
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", listener.local_addr()?)?;
    stdout.flush()?;
    let (mut socket, _) = listener.accept()?;
    let mut received = 0;
    while received < total_bytes {
        match socket.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => received += length,
        }
    }
    socket.write_all(b"!")
}

fn write_all(address: &str, buffer_bytes: usize, total_bytes: usize) -> io::Result<()> {
    let buffer = vec![0x5a; buffer_bytes];
    let mut socket = TcpStream::connect(address)?;
    let clock = Monotonic::new();
    let started_ns = clock.now_ns();
    let mut sent = 0;
    while sent < total_bytes {
        socket.write_all(&buffer)?;
        sent += buffer.len();
    }
    socket.shutdown(Shutdown::Write)?;
    socket.read_exact(&mut [0])?;
    let elapsed_s = (clock.now_ns() - started_ns) as f64 / 1e9;
    let bytes_per_s = sent as f64 / elapsed_s;
    writeln!(io::stdout(), "{{\"bytes\":{sent},\"elapsed_s\":{elapsed_s},\"bytes_per_s\":{bytes_per_s}}}")
}
