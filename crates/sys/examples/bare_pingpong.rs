//! The bare minimum of a request-response over TCP: one write and one read a side, nothing else.
//!
//! The figure `endpoint` of `cargo xtask perf` compares narrows with it. The messages are as long as those of narrows'
//! protocol, so that both loops transfer the same bytes; blocking standard sockets without Nagle's delay, and no clock
//! but the one reading per request that ends the loop.
//!
//!     bare_pingpong serve REQUEST_BYTES REPLY_BYTES            prints ADDR:PORT, serves one connection
//!     bare_pingpong ask ADDR:PORT SECONDS REQUEST_BYTES REPLY_BYTES

use narrows_sys::clock::Monotonic;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

const USAGE: &str =
    "bare_pingpong serve REQUEST_BYTES REPLY_BYTES | ask ADDR:PORT SECONDS REQUEST_BYTES REPLY_BYTES";

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve", request, reply] => serve(number(request)?, number(reply)?),
        ["ask", address, seconds, request, reply] => {
            ask(address, number(seconds)?, number(request)?, number(reply)?)
        }
        _ => Err(io::Error::other(USAGE)),
    }
}

fn number(word: &str) -> io::Result<usize> {
    word.parse().map_err(|_| io::Error::other(format!("`{word}` is no number; {USAGE}")))
}

fn serve(request_bytes: usize, reply_bytes: usize) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", listener.local_addr()?)?;
    stdout.flush()?;
    let (mut socket, _) = listener.accept()?;
    socket.set_nodelay(true)?;
    let (mut request, reply) = (vec![0; request_bytes], vec![0x5a; reply_bytes]);
    // The other side closes the connection when its time is over.
    while socket.read_exact(&mut request).is_ok() {
        socket.write_all(&reply)?;
    }
    Ok(())
}

fn ask(address: &str, seconds: usize, request_bytes: usize, reply_bytes: usize) -> io::Result<()> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    let (request, mut reply) = (vec![0xa5; request_bytes], vec![0; reply_bytes]);
    let clock = Monotonic::new();
    let started_ns = clock.now_ns();
    let until_ns = started_ns + u64::try_from(seconds).unwrap_or(u64::MAX).saturating_mul(1_000_000_000);
    let (mut op_count, mut now_ns) = (0_u64, started_ns);
    while now_ns < until_ns {
        socket.write_all(&request)?;
        socket.read_exact(&mut reply)?;
        op_count += 1;
        now_ns = clock.now_ns();
    }
    let elapsed_s = (now_ns - started_ns) as f64 / 1e9;
    let ops_per_s = op_count as f64 / elapsed_s;
    writeln!(io::stdout(), "{{\"op_count\":{op_count},\"elapsed_s\":{elapsed_s},\"ops_per_s\":{ops_per_s}}}")
}
