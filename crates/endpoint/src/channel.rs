//! The server's side of a connection while it speaks in frames: the hello, the opening, control messages.

use crate::connections::Live;
use narrows_engines::Clock;
use narrows_wire::frame::{Decoder, Frame};
use narrows_wire::hello::{self, Nonce, Purpose, ServerHello};
use narrows_wire::token::Key;
use narrows_wire::{Error, ErrorKind, Refusal, control, open, refuse};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// A read takes at most this much at once.
pub(crate) const READ_BYTES: usize = 64 << 10;

/// Longest wait for a peer that reads nothing of what it is sent, or sends nothing after it was told to close.
const PATIENCE: Duration = Duration::from_secs(5);

/// Most bytes that are read and dropped of a peer that was refused, so that the refusal is not lost with them.
const DROPPED_BYTES_MAX: usize = 16 << 20;

/// Why a conversation ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The peer closed the connection, or is gone.
    Gone,
    /// It must be told why.
    Told(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        End::Told(error)
    }
}

/// A refusal to be told to the peer.
pub(crate) fn refused(reason: Refusal, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Refused(reason), message)
}

/// A connection that speaks in frames.
pub(crate) struct Channel {
    socket: TcpStream,
    decoder: Decoder,
    arrived: Box<[u8]>,
    pub(crate) live: Arc<Live>,
    clock: Arc<dyn Clock>,
}

impl Channel {
    pub(crate) fn new(socket: TcpStream, live: Arc<Live>, clock: Arc<dyn Clock>) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(PATIENCE))?;
        // A peer that vanished without a word is found by probes, also on a connection that may be silent.
        let keepalive = socket2::TcpKeepalive::new().with_time(Duration::from_secs(30));
        socket2::SockRef::from(&socket).set_tcp_keepalive(&keepalive)?;
        let decoder = Decoder::new(hello::PAYLOAD_BYTES_MAX);
        Ok(Self { socket, decoder, arrived: vec![0; READ_BYTES].into_boxed_slice(), live, clock })
    }

    /// The hello, up to its end.
    pub(crate) fn greet(&mut self, nonce: Nonce, key: Option<Key>) -> Result<Purpose, End> {
        let mut hello = ServerHello::new(nonce, key);
        loop {
            let frame = self.receive()?;
            let step = hello.receive(frame)?;
            self.send(&step.send)?;
            if step.done {
                let purpose = hello.purpose().ok_or(End::Gone)?;
                let payload_bytes_max = match purpose {
                    Purpose::Control | Purpose::Proxy => control::REQUEST_BYTES_MAX,
                    Purpose::Data => open::REQUEST_BYTES_MAX,
                };
                let rest = std::mem::replace(&mut self.decoder, Decoder::new(payload_bytes_max)).into_rest();
                self.decoder.push(&rest);
                return Ok(purpose);
            }
        }
    }

    /// The next frame.
    pub(crate) fn receive(&mut self) -> Result<Frame, End> {
        loop {
            if let Some(frame) = self.decoder.next()? {
                return Ok(frame);
            }
            self.read()?;
        }
    }

    /// The next frame if it is there or comes within `wait`.
    pub(crate) fn receive_within(&mut self, wait: Duration) -> Result<Option<Frame>, End> {
        if let Some(frame) = self.decoder.next()? {
            return Ok(Some(frame));
        }
        self.socket.set_read_timeout(Some(wait)).map_err(|_| End::Gone)?;
        let read = self.read();
        self.socket.set_read_timeout(None).map_err(|_| End::Gone)?;
        read?;
        Ok(self.decoder.next()?)
    }

    /// Sends bytes, all of them.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), End> {
        self.socket.write_all(bytes).map_err(|_| End::Gone)
    }

    /// The address of this machine that the peer came to.
    pub(crate) fn local_ip(&self) -> Result<IpAddr, Error> {
        let address = self.socket.local_addr().map_err(|error| {
            refused(Refusal::Io, format!("the server does not know where it was reached: {error}"))
        })?;
        Ok(address.ip())
    }

    /// A second handle on the socket, for a thread that only sends.
    pub(crate) fn sender(&self) -> Result<TcpStream, Error> {
        self.socket.try_clone().map_err(|error| {
            let message = format!("the server cannot hold the connection twice ({error}); try again later");
            refused(Refusal::Busy, message)
        })
    }

    /// The socket, and what has arrived beyond the last frame.
    pub(crate) fn into_parts(self) -> (TcpStream, Vec<u8>, Arc<Live>) {
        (self.socket, self.decoder.into_rest(), self.live)
    }

    /// Tells the peer why the conversation ends.
    pub(crate) fn part(mut self, error: &Error) {
        self.live.part(self.clock.now().0);
        if self.send(&refuse::encode(error)).is_ok() {
            linger(&mut self.socket, &self.live, &*self.clock);
        }
    }

    /// Reads once; a timeout of the socket's own counts as nothing read.
    fn read(&mut self) -> Result<(), End> {
        match self.socket.read(&mut self.arrived) {
            Ok(0) => Err(self.end_of_input()),
            Ok(length) => {
                self.live.heard(self.clock.now().0);
                self.decoder.push(&self.arrived[..length]);
                Ok(())
            }
            Err(error) if not_yet(&error) => Ok(()),
            Err(_) => Err(End::Gone),
        }
    }

    fn end_of_input(&self) -> End {
        self.live.ending().map_or(End::Gone, |why| End::Told(refused(Refusal::Ended, why)))
    }
}

/// Whether a call ended only because nothing could be done at once.
pub(crate) fn not_yet(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// Waits until the peer takes more of what it is sent; not, when it has taken nothing for as long as is waited for it.
pub(crate) fn takes_more(socket: &TcpStream) -> bool {
    let wait = Timespec { tv_sec: i64::try_from(PATIENCE.as_secs()).unwrap_or(i64::MAX), tv_nsec: 0 };
    loop {
        match poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&wait)) {
            Ok(ready) => return ready > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Closes the sending side and drops what still comes: closing with bytes unread would make the kernel take back
/// what was sent last. A peer that does not close is cut by who watches the connection.
pub(crate) fn linger(socket: &mut TcpStream, live: &Live, clock: &dyn Clock) {
    live.part(clock.now().0);
    let prepared = socket.shutdown(Shutdown::Write).and_then(|()| socket.set_read_timeout(Some(PATIENCE)));
    let mut dropped = vec![0; READ_BYTES];
    let mut left = if prepared.is_ok() { DROPPED_BYTES_MAX } else { 0 };
    while left > 0 {
        match socket.read(&mut dropped) {
            Ok(length) if length > 0 => left = left.saturating_sub(length),
            _ => return,
        }
    }
}
