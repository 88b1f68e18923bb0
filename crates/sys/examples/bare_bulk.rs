//! Both ends of a bulk stream at the least cost there is, so that what is between them is what is measured.
//!
//! The figure `proxy` of `cargo xtask perf` puts proxies between them. The feeding end sends pages of a file in memory
//! without copying them (`sendfile`), the draining end drops what comes inside the kernel (`MSG_TRUNC`).
//!
//!     bare_bulk drain                       prints ADDR:PORT, drops one connection's bytes to its end
//!     bare_bulk feed ADDR:PORT SECONDS      prints the bytes that were taken, the time and the rate

use narrows_sys::clock::Monotonic;
use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use rustix::net::{RecvFlags, recv};
use std::fs::File;
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

const USAGE: &str = "bare_bulk drain | feed ADDR:PORT SECONDS";

/// The draining end sleeps until so much has come: waking for every piece would take the CPU from the feeding end.
const WAKE_BYTES: i32 = 512 << 10;

/// What one call moves at most.
const BLOCK_BYTES: usize = 1 << 20;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["drain"] => drain(),
        ["feed", address, seconds] => {
            let seconds = seconds.parse().map_err(|_| io::Error::other(USAGE))?;
            feed(&TcpStream::connect(address)?, seconds)
        }
        _ => Err(io::Error::other(USAGE)),
    }
}

fn drain() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", listener.local_addr()?)?;
    stdout.flush()?;
    let (socket, _) = listener.accept()?;
    wake_from(&socket, WAKE_BYTES)?;
    // Never written to: its pages are not even there.
    let mut nowhere = vec![0; BLOCK_BYTES];
    while recv(&socket, &mut nowhere[..], RecvFlags::TRUNC)?.1 > 0 {}
    Ok(())
}

/// Lets a reader of `socket` sleep until there are `bytes` or the end (`SO_RCVLOWAT`).
fn wake_from(socket: &TcpStream, bytes: i32) -> io::Result<()> {
    const LENGTH: libc::socklen_t = 4;
    let value = std::ptr::from_ref(&bytes).cast();
    // SAFETY: the option is an int, which lives through the call.
    let code =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, value, LENGTH) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn feed(socket: &TcpStream, seconds: u64) -> io::Result<()> {
    let mut file = File::from(memfd_create("bulk", MemfdFlags::CLOEXEC)?);
    file.write_all(&vec![0x5a; BLOCK_BYTES])?;
    let clock = Monotonic::new();
    let started_ns = clock.now_ns();
    let until_ns = started_ns + seconds * 1_000_000_000;
    let (mut bytes, mut now_ns): (u64, u64) = (0, started_ns);
    while now_ns < until_ns {
        let mut offset = 0;
        while offset < BLOCK_BYTES as u64 {
            bytes += sendfile(socket, &file, Some(&mut offset), BLOCK_BYTES)? as u64;
        }
        now_ns = clock.now_ns();
    }
    let elapsed_s = (now_ns - started_ns) as f64 / 1e9;
    writeln!(
        io::stdout(),
        r#"{{"bytes":{bytes},"elapsed_s":{elapsed_s},"bytes_per_s":{}}}"#,
        bytes as f64 / elapsed_s
    )
}
