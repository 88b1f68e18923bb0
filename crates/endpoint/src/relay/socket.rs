//! The sockets of a role: opened as asked, joined by a ticket, spoken over in words before and after the stream.

use super::RoleError;
use super::deadline::{ProgressDeadline, SLICE};
use narrows_model::relay::{RelaySockets, RelayTransport};
use narrows_wire::relay::{Hop, HopAddress, RelaySignal, SIGNAL_BYTES, Ticket};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{Domain, SockAddr, Socket, Type};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::{fmt::Write, io};

/// Connections that may wait to be accepted: strangers among them keep the hop before waiting for a moment.
const BACKLOG: i32 = 128;

/// The connection is being made.
const IN_PROGRESS: i32 = Errno::INPROGRESS.raw_os_error();

/// One side of a hop, joined.
pub(super) struct RelayStream {
    socket: Socket,
    transport: RelayTransport,
}

impl AsFd for RelayStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl RelayStream {
    pub(super) fn new(socket: Socket, sockets: &RelaySockets) -> io::Result<Self> {
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(SLICE))?;
        socket.set_write_timeout(Some(SLICE))?;
        if sockets.transport == RelayTransport::Tcp {
            socket.set_tcp_nodelay(sockets.no_delay)?;
        }
        Ok(Self { socket, transport: sockets.transport })
    }

    pub(super) fn is_tcp(&self) -> bool {
        self.transport == RelayTransport::Tcp
    }

    /// `SO_SNDBUF`, as the kernel reports it.
    pub(super) fn send_buffer(&self) -> io::Result<usize> {
        self.socket.send_buffer_size()
    }

    /// `SO_RCVBUF`, as the kernel reports it.
    pub(super) fn receive_buffer(&self) -> io::Result<usize> {
        self.socket.recv_buffer_size()
    }

    /// Ends the stream in its direction: the peer reads the end once it has read all.
    pub(super) fn end(&self) -> Result<(), RoleError> {
        self.socket
            .shutdown(Shutdown::Write)
            .map_err(|error| RoleError::failed(format!("end the stream: {error}")))
    }

    /// Says a word to the hop before.
    pub(super) fn send_signal(
        &self,
        word: RelaySignal,
        deadline: &mut ProgressDeadline<'_>,
    ) -> Result<(), RoleError> {
        self.send_all(&word.encode(), "the previous hop to accept a message", deadline)
    }

    /// The next word of the hop behind.
    pub(super) fn receive_signal(
        &self,
        what: &str,
        deadline: &mut ProgressDeadline<'_>,
    ) -> Result<RelaySignal, RoleError> {
        let mut bytes = [0; SIGNAL_BYTES];
        self.receive_all(&mut bytes, what, deadline)?;
        Ok(RelaySignal::decode(bytes)?)
    }

    fn send_all(
        &self,
        bytes: &[u8],
        what: &str,
        deadline: &mut ProgressDeadline<'_>,
    ) -> Result<(), RoleError> {
        let mut left = bytes;
        while !left.is_empty() {
            match send(self, left, SendFlags::NOSIGNAL) {
                Ok(length) => left = &left[length..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => deadline.check_progress(what, 0)?,
                Err(errno) => return Err(RoleError::failed(format!("wait for {what}: {errno}"))),
            }
        }
        Ok(())
    }

    fn receive_all(
        &self,
        into: &mut [u8],
        what: &str,
        deadline: &mut ProgressDeadline<'_>,
    ) -> Result<(), RoleError> {
        let mut done = 0;
        while done < into.len() {
            match recv(self, &mut into[done..], RecvFlags::empty()) {
                Ok((_, 0)) => {
                    let message = format!(
                        "the connection was closed before {what} arrived; see the messages of that side"
                    );
                    return Err(RoleError::failed(message));
                }
                Ok((_, length)) => done += length,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => deadline.check_progress(what, 0)?,
                Err(errno) => return Err(RoleError::failed(format!("wait for {what}: {errno}"))),
            }
        }
        Ok(())
    }
}

/// How server and proxy read.
pub(super) fn read_flags(sockets: &RelaySockets) -> RecvFlags {
    if sockets.wait_all { RecvFlags::WAITALL } else { RecvFlags::empty() }
}

/// A new socket, its buffers set before it listens or connects: the window is agreed then.
fn socket(domain: Domain, sockets: &RelaySockets) -> io::Result<Socket> {
    let socket = Socket::new(domain, Type::STREAM, None)?;
    let asked = |size: narrows_model::Bytes| usize::try_from(size.0).map_err(io::Error::other);
    if let Some(size) = sockets.send_buffer {
        socket.set_send_buffer_size(asked(size)?)?;
    }
    if let Some(size) = sockets.receive_buffer {
        socket.set_recv_buffer_size(asked(size)?)?;
    }
    Ok(socket)
}

/// A place at which a role waits for the hop before it.
pub(super) struct Listener {
    pub(super) socket: Socket,
    pub(super) hop: Hop,
    pub(super) sockets: RelaySockets,
}

impl Listener {
    /// Listens as asked; at `address` for TCP.
    pub(super) fn open(sockets: &RelaySockets, address: IpAddr) -> Result<Self, RoleError> {
        let ticket = random_ticket()?;
        let opened = match sockets.transport {
            RelayTransport::Tcp => listen_tcp(sockets, address),
            RelayTransport::Unix => listen_unix(sockets),
        };
        let (socket, place) =
            opened.map_err(|error| RoleError::failed(format!("listen for the previous hop: {error}")))?;
        Ok(Self { socket, hop: Hop { place, ticket }, sockets: *sockets })
    }

    /// Where it listens, and for which ticket.
    pub(super) fn hop(&self) -> Hop {
        self.hop.clone()
    }
}

fn listen_tcp(sockets: &RelaySockets, address: IpAddr) -> io::Result<(Socket, HopAddress)> {
    let address = SocketAddr::new(address, 0);
    let socket = socket(Domain::for_address(address), sockets)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    let taken = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
    Ok((socket, HopAddress::Tcp { host: taken.ip().to_string(), port: taken.port() }))
}

/// An abstract name: it is removed with its socket, so that a process that is killed leaves nothing behind.
fn listen_unix(sockets: &RelaySockets) -> io::Result<(Socket, HopAddress)> {
    let random = random_ticket().map_err(io::Error::other)?;
    let name = random.0.iter().fold("narrows-relay-".to_owned(), |mut name, byte| {
        // Writing into a string cannot fail.
        let _ = write!(name, "{byte:02x}");
        name
    });
    let socket = socket(Domain::UNIX, sockets)?;
    socket.bind(&abstract_name(&name)?)?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok((socket, HopAddress::Unix { name }))
}

fn abstract_name(name: &str) -> io::Result<SockAddr> {
    SockAddr::unix(format!("\0{name}"))
}

fn random_ticket() -> Result<Ticket, RoleError> {
    Ok(Ticket(crate::random::bytes()?))
}

/// Connects to `hop`, shows its ticket, and waits until the path behind it is there.
pub(super) fn join(
    hop: &Hop,
    sockets: &RelaySockets,
    deadline: &mut ProgressDeadline<'_>,
) -> Result<RelayStream, RoleError> {
    let place = hop.place.to_string();
    let socket = connect(&hop.place, sockets, deadline)?;
    let stream = RelayStream::new(socket, sockets)
        .map_err(|error| RoleError::failed(format!("connect to {place}: {error}")))?;
    stream.send_all(&hop.ticket.0, "the next hop to accept the ticket", deadline)?;
    match stream.receive_signal(&format!("the message of {place} that the path is ready"), deadline)? {
        RelaySignal::Ready => Ok(stream),
        RelaySignal::Received(_) => {
            Err(RoleError::failed(format!("{place} reported the end of a stream before its start")))
        }
    }
}

fn connect(
    place: &HopAddress,
    sockets: &RelaySockets,
    deadline: &mut ProgressDeadline<'_>,
) -> Result<Socket, RoleError> {
    let failed = |error: io::Error| {
        RoleError::failed(format!(
            "connect to {place}: {error}; check that it still runs and that no firewall blocks its port"
        ))
    };
    let (host, port) = match place {
        HopAddress::Unix { name } => {
            let socket = socket(Domain::UNIX, sockets).map_err(failed)?;
            let address = abstract_name(name).map_err(failed)?;
            socket.connect(&address).map_err(failed)?;
            return Ok(socket);
        }
        HopAddress::Tcp { host, port } => (host.as_str(), *port),
    };
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in deadline.look_up(host, port)?.map_err(failed)? {
        let socket = socket(Domain::for_address(address), sockets).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        match socket.connect(&address.into()) {
            Err(error) if error.raw_os_error() == Some(IN_PROGRESS) => {
                deadline.wait_ready(&socket, PollFlags::OUT, "the next hop to answer")?;
                match socket.take_error().map_err(failed)? {
                    None => return Ok(socket),
                    Some(error) => last = error,
                }
            }
            Ok(()) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(failed(last))
}
