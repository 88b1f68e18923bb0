//! Connecting and waiting within a deadline, until a stop is asked for.

use crate::clock::{Clock, Tick};
use crate::stop::StopFlag;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;

/// How often a wish to stop is looked at while an answer is waited for.
const STOP_CHECK_NS: u64 = 50_000_000;

/// The connection is being made.
const IN_PROGRESS: i32 = rustix::io::Errno::INPROGRESS.raw_os_error();

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// The socket shows what was waited for.
    Ready,
    /// A stop at once was asked for.
    Stopped,
    /// The deadline is over.
    Late,
}

/// Bounds of waits.
#[derive(Clone, Copy)]
pub struct SocketWaits<'a> {
    /// The clock of the deadline.
    pub clock: &'a dyn Clock,
    /// Ends every wait.
    pub stop: &'a StopFlag,
    /// When a wait is over.
    pub deadline: Tick,
}

impl std::fmt::Debug for SocketWaits<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SocketWaits").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

impl SocketWaits<'_> {
    /// Waits until `socket` shows one of `events`.
    ///
    /// # Errors
    /// When the system refuses to wait.
    pub fn expect(&self, socket: &impl AsFd, events: PollFlags) -> io::Result<Waited> {
        loop {
            if self.stop.is_now() {
                return Ok(Waited::Stopped);
            }
            let left_ns = self.deadline.since(self.clock.now());
            if poll_socket(socket, events, left_ns.min(STOP_CHECK_NS))? {
                return Ok(Waited::Ready);
            }
            if left_ns == 0 {
                return Ok(Waited::Late);
            }
        }
    }

    /// A blocking connection to `address`, from the port `from` of this machine where one is given; or how the wait
    /// for it ended.
    ///
    /// # Errors
    /// The system's, such as a refused connection.
    pub fn connect(
        &self,
        address: SocketAddr,
        from: Option<SocketAddr>,
    ) -> io::Result<Result<TcpStream, Waited>> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        if let Some(from) = from {
            socket.bind(&from.into())?;
        }
        socket.set_nonblocking(true)?;
        match socket.connect(&address.into()) {
            Err(error) if error.raw_os_error() == Some(IN_PROGRESS) => {
                match self.expect(&socket, PollFlags::OUT)? {
                    Waited::Ready => {}
                    other => return Ok(Err(other)),
                }
                if let Some(error) = socket.take_error()? {
                    return Err(error);
                }
            }
            answer => answer?,
        }
        socket.set_nonblocking(false)?;
        Ok(Ok(socket.into()))
    }
}

/// Most sockets that are waited for together.
pub(crate) const SOCKETS_MAX: usize = 16;

/// Waits until one of `sockets` can be read, or written where it sends, for up to `span_ns`; less, when a signal comes
/// before. More than [`SOCKETS_MAX`] are not looked at.
pub(crate) fn wait_for_any<'a>(
    mut sockets: impl Iterator<Item = (&'a TcpStream, bool)>,
    span_ns: u64,
) -> io::Result<()> {
    let span = Timespec {
        tv_sec: i64::try_from(span_ns / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(span_ns % 1_000_000_000).unwrap_or(0),
    };
    let polled_for = |(socket, sends): (&'a TcpStream, bool)| {
        PollFd::new(socket, if sends { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN })
    };
    let polled = match sockets.next() {
        None => poll(&mut [], Some(&span)),
        Some(first) => {
            let mut places: [PollFd<'_>; SOCKETS_MAX] =
                std::array::from_fn(|_| PollFd::new(first.0, PollFlags::empty()));
            let mut used = 0;
            for (place, socket) in places.iter_mut().zip(std::iter::once(first).chain(sockets)) {
                *place = polled_for(socket);
                used += 1;
            }
            poll(&mut places[..used], Some(&span))
        }
    };
    match polled {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether `socket` shows one of `events` within `span_ns`; not, when a signal comes before.
pub(crate) fn poll_socket(socket: impl AsFd, events: PollFlags, span_ns: u64) -> io::Result<bool> {
    let span = Timespec {
        tv_sec: i64::try_from(span_ns / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(span_ns % 1_000_000_000).unwrap_or(0),
    };
    match poll(&mut [PollFd::new(&socket, events)], Some(&span)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
