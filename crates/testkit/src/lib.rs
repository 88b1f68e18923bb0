//! What tests of several crates need alike.
#![forbid(unsafe_code)]

pub mod closed_port;
pub mod hostile;
pub mod statistics;
pub mod verdict_text;

use std::io;
use std::net::{TcpListener, TcpStream};

/// Two ends of one connection over loopback: who connected, and who accepted.
///
/// # Errors
/// No port is free, or the connection fails.
pub fn tcp_pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    Ok((near, listener.accept()?.0))
}
