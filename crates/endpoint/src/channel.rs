//! The server's side of a connection while it speaks in frames: the hello, the opening, control messages.

use crate::live_connection::LiveConnection;
use crate::quota::{Quota, Reservation};
use narrows_engines::Clock;
use narrows_engines::endpoint::watch_peer;
use narrows_wire::frame::{Decoder, Frame};
use narrows_wire::hello::{self, Nonce, Purpose, ServerHello};
use narrows_wire::token::TokenKey;
use narrows_wire::{Error, ErrorKind, Refusal, control, open, refuse};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// A read takes at most this much at once.
pub(crate) const READ_BYTES: usize = 64 << 10;

/// Longest wait for a peer that reads nothing of what it is sent, or sends nothing after it was asked to close.
const PEER_TIMEOUT: Duration = Duration::from_secs(5);

/// Most bytes that are read and dropped of a peer that was refused, so that the refusal is not lost with them.
const DROPPED_BYTES_MAX: usize = 16 << 20;

/// Why a conversation ended.
#[derive(Debug)]
pub(crate) enum ConversationEnd {
    /// The peer closed the connection, or is gone.
    Gone,
    /// It must be sent the reason.
    Failed(Error),
}

impl From<Error> for ConversationEnd {
    fn from(error: Error) -> Self {
        ConversationEnd::Failed(error)
    }
}

/// A refusal to be sent to the peer.
pub(crate) fn refused(reason: Refusal, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Refused(reason), message)
}

/// A connection that speaks in frames.
pub(crate) struct Channel {
    socket: TcpStream,
    decoder: Decoder,
    arrived: Box<[u8]>,
    /// Where the memory of a message that is not whole is charged, and what was.
    unfinished: Option<(Arc<Quota>, Reservation)>,
    pub(crate) live: Arc<LiveConnection>,
    clock: Arc<dyn Clock>,
}

impl Channel {
    pub(crate) fn new(
        socket: TcpStream,
        live: Arc<LiveConnection>,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(PEER_TIMEOUT))?;
        // A client's machine that vanished is found by probes, also on a connection that may be silent.
        let keepalive = socket2::TcpKeepalive::new().with_time(Duration::from_secs(30));
        socket2::SockRef::from(&socket).set_tcp_keepalive(&keepalive)?;
        let decoder = Decoder::new(hello::PAYLOAD_BYTES_MAX);
        Ok(Self {
            socket,
            decoder,
            arrived: vec![0; READ_BYTES].into_boxed_slice(),
            unfinished: None,
            live,
            clock,
        })
    }

    /// Has the kernel end the connection once the client's machine has not answered for some seconds: for control
    /// connections, on which a client reads what it is sent.
    pub(crate) fn watch_peer(&self) -> Result<(), Error> {
        watch_peer(&self.socket)
            .map_err(|error| refused(Refusal::Io, format!("set the keep-alive of the connection: {error}")))
    }

    /// The hello, up to its end.
    pub(crate) fn accept_hello(
        &mut self,
        nonce: Nonce,
        key: Option<TokenKey>,
    ) -> Result<Purpose, ConversationEnd> {
        let mut hello = ServerHello::new(nonce, key);
        loop {
            let frame = self.receive()?;
            let step = hello.receive(frame)?;
            self.send(&step.send)?;
            if step.done {
                let purpose = hello.purpose().ok_or(ConversationEnd::Gone)?;
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

    /// Charges what arrives of a message, until it is whole, to `quota`.
    pub(crate) fn charge_unfinished(&mut self, quota: &Arc<Quota>) -> Result<(), Error> {
        self.unfinished = Some((Arc::clone(quota), quota.reserve(0)?));
        Ok(())
    }

    /// Frees what was charged: the message is whole, and what it asks for is charged by itself.
    pub(crate) fn release_unfinished(&mut self) {
        self.unfinished = None;
    }

    /// Charges `length` bytes more of a message that is not whole, before they are kept.
    fn charge(&mut self, length: usize) -> Result<(), Error> {
        let Some((quota, charged)) = &mut self.unfinished else { return Ok(()) };
        let kept = self.decoder.waiting_bytes() + length;
        // A message is copied once when it is whole; a short one needs no more than the connection has anyway.
        let bytes = 2 * kept as u64;
        if kept > READ_BYTES && bytes > charged.bytes() {
            let more = (bytes - charged.bytes()).next_multiple_of(2 * READ_BYTES as u64);
            charged.add(quota.reserve(more).map_err(|error| refused(Refusal::Busy, error.to_string()))?);
        }
        Ok(())
    }

    /// The next frame.
    pub(crate) fn receive(&mut self) -> Result<Frame, ConversationEnd> {
        loop {
            if let Some(frame) = self.decoder.next()? {
                return Ok(frame);
            }
            self.read()?;
        }
    }

    /// The next frame if it is there or comes within `wait`.
    pub(crate) fn receive_within(&mut self, wait: Duration) -> Result<Option<Frame>, ConversationEnd> {
        if let Some(frame) = self.decoder.next()? {
            return Ok(Some(frame));
        }
        self.socket.set_read_timeout(Some(wait)).map_err(|_| ConversationEnd::Gone)?;
        let read = self.read();
        self.socket.set_read_timeout(None).map_err(|_| ConversationEnd::Gone)?;
        read?;
        Ok(self.decoder.next()?)
    }

    /// Sends bytes, all of them.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), ConversationEnd> {
        self.socket.write_all(bytes).map_err(|_| ConversationEnd::Gone)
    }

    /// The address of this machine that the peer came to.
    pub(crate) fn local_ip(&self) -> Result<IpAddr, Error> {
        let address = self.socket.local_addr().map_err(|error| {
            refused(Refusal::Io, format!("the server does not know its local address: {error}"))
        })?;
        Ok(address.ip())
    }

    /// A second handle on the socket, for a thread that only sends.
    pub(crate) fn sender(&self) -> Result<TcpStream, Error> {
        self.socket.try_clone().map_err(|error| {
            let message = format!("the server cannot duplicate the connection ({error}); try again later");
            refused(Refusal::Busy, message)
        })
    }

    /// The socket, and what has arrived beyond the last frame.
    pub(crate) fn into_parts(self) -> (TcpStream, Vec<u8>, Arc<LiveConnection>) {
        (self.socket, self.decoder.into_rest(), self.live)
    }

    /// Sends the peer the reason why the conversation ends.
    pub(crate) fn close_with(mut self, error: &Error) {
        self.live.note_closing(self.clock.now().0);
        self.decoder = Decoder::new(0);
        self.unfinished = None;
        if self.send(&refuse::encode(error)).is_ok() {
            linger(&mut self.socket, &self.live, &*self.clock);
        }
    }

    /// Reads once; a timeout of the socket's own counts as nothing read.
    fn read(&mut self) -> Result<(), ConversationEnd> {
        match self.socket.read(&mut self.arrived) {
            Ok(0) => Err(self.end_of_input()),
            Ok(length) => {
                self.live.note_activity(self.clock.now().0);
                self.charge(length)?;
                self.decoder.push(&self.arrived[..length]);
                Ok(())
            }
            Err(error) if is_retryable(&error) => Ok(()),
            Err(_) => Err(ConversationEnd::Gone),
        }
    }

    fn end_of_input(&self) -> ConversationEnd {
        self.live
            .ending()
            .map_or(ConversationEnd::Gone, |why| ConversationEnd::Failed(refused(Refusal::Ended, why)))
    }
}

/// Whether a call ended only because nothing could be done at once.
pub(crate) fn is_retryable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// Closes the sending side and drops what still comes: closing with bytes unread would make the kernel take back
/// what was sent last. A peer that does not close is cut by who watches the connection.
pub(crate) fn linger(socket: &mut TcpStream, live: &LiveConnection, clock: &dyn Clock) {
    live.note_closing(clock.now().0);
    let prepared =
        socket.shutdown(Shutdown::Write).and_then(|()| socket.set_read_timeout(Some(PEER_TIMEOUT)));
    let mut dropped = vec![0; READ_BYTES];
    let mut left = if prepared.is_ok() { DROPPED_BYTES_MAX } else { 0 };
    while left > 0 {
        match socket.read(&mut dropped) {
            Ok(length) if length > 0 => left = left.saturating_sub(length),
            _ => return,
        }
    }
}
