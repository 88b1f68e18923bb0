//! The bytes of a connection, as they are or through TLS. Each call waits for a moment at most.

use rustix::net::RecvFlags;
use rustls::{ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// Whether a call has only waited.
pub(super) fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// A socket that TLS reads and writes.
#[derive(Debug)]
pub(super) struct SharedSocket(pub(super) Arc<TcpStream>);

impl Read for SharedSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }
}

impl Write for SharedSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection.
#[derive(Debug)]
pub(super) enum WireStream {
    Plain(Arc<TcpStream>),
    Tls(Box<StreamOwned<ClientConnection, SharedSocket>>),
}

impl WireStream {
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => (&**socket).read(buffer),
            Self::Tls(stream) => match stream.read(buffer) {
                // A peer that closes without a word of TLS has closed all the same.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                read => read,
            },
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => (&**socket).write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(stream) => stream.flush(),
        }
    }

    /// Whether nothing has come that was not asked for, and the peer has not closed.
    pub(super) fn is_quiet(&mut self) -> bool {
        match self {
            Self::Plain(socket) => arrived(socket) == Arrived::Nothing,
            Self::Tls(stream) => match arrived(&stream.sock.0) {
                Arrived::Nothing => true,
                Arrived::End => false,
                // Tickets of the session come when the server likes; data must not.
                Arrived::Bytes => {
                    let state = stream.conn.complete_io(&mut stream.sock);
                    let state = state.ok().and_then(|_| stream.conn.process_new_packets().ok());
                    state
                        .is_some_and(|state| state.plaintext_bytes_to_read() == 0 && !state.peer_has_closed())
                }
            },
        }
    }
}

/// What a socket has for its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrived {
    Nothing,
    Bytes,
    End,
}

fn arrived(socket: &TcpStream) -> Arrived {
    match rustix::net::recv(socket, &mut [0_u8; 1][..], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Err(rustix::io::Errno::AGAIN) => Arrived::Nothing,
        Ok((1.., _)) => Arrived::Bytes,
        _ => Arrived::End,
    }
}
