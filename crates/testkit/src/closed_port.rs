//! A TCP port that refuses connections.

use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

/// A TCP port of 127.0.0.1 on which nothing listens, and nothing can while this lives: a port that is only looked for and
/// left may be another test's server a moment later.
#[derive(Debug)]
pub struct ClosedPort {
    _bound: Socket,
    address: SocketAddr,
}

impl ClosedPort {
    /// Binds a free port without listening on it.
    ///
    /// # Errors
    /// Where this machine has no free port.
    pub fn bind() -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
        let address = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { _bound: socket, address })
    }

    /// 127.0.0.1 and the port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn it_refuses_connections_and_nobody_else_can_listen_there() {
        let closed = ClosedPort::bind().unwrap();
        assert_eq!(TcpStream::connect(closed.address()).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        assert_eq!(TcpListener::bind(closed.address()).unwrap_err().kind(), ErrorKind::AddrInUse);
    }
}
