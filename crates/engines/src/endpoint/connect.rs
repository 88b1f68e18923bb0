//! A connection to an endpoint up to the end of its hello, and the frames that follow.
//!
//! It blocks, within the peer's answer timeout and until a stop is asked for; the load after the opening is not
//! transferred here.

use super::peer::Peer;
use crate::error::EngineError;
use crate::stop::StopFlag;
use narrows_wire::frame::{Decoder, Frame, PAYLOAD_BYTES_MAX};
use narrows_wire::hello::{self, ClientHello, Nonce, Purpose};
use narrows_wire::token::TokenKey;
use rustix::event::PollFlags;
use socket2::{SockRef, TcpKeepalive};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::time::Duration;

/// A read takes at most this much at once.
const READ_BYTES: usize = 64 << 10;

/// A connection whose hello is through.
#[derive(Debug)]
pub(super) struct Conversation {
    peer: Peer,
    socket: TcpStream,
    decoder: Decoder,
    arrived: Box<[u8]>,
}

impl Conversation {
    /// A connection for blocks.
    pub(super) fn open_data(peer: Peer, token: Option<&[u8]>) -> Result<Self, EngineError> {
        Self::open(peer, Purpose::Data, token)
    }

    /// A connection that owns a session.
    pub(super) fn open_control(peer: Peer, token: Option<&[u8]>) -> Result<Self, EngineError> {
        Self::open(peer, Purpose::Control, token)?.watched()
    }

    /// A connection to a proxy itself.
    pub(super) fn open_proxy(peer: Peer, token: Option<&[u8]>) -> Result<Self, EngineError> {
        Self::open(peer.of_proxy(), Purpose::Proxy, token)?.watched()
    }

    /// The same, ended by the kernel once the peer's machine has not answered for some seconds.
    fn watched(self) -> Result<Self, EngineError> {
        watch_peer(&self.socket).map_err(|error| self.peer.io_error("connect", error))?;
        Ok(self)
    }

    fn open(peer: Peer, purpose: Purpose, token: Option<&[u8]>) -> Result<Self, EngineError> {
        let socket = peer.dial()?;
        let prepared = socket
            .set_nodelay(true)
            .and_then(|()| socket.set_read_timeout(Some(peer.timeout())))
            .and_then(|()| socket.set_write_timeout(Some(peer.timeout())));
        prepared.map_err(|error| peer.io_error("connect", error))?;
        let decoder = Decoder::new(hello::PAYLOAD_BYTES_MAX);
        let mut conversation =
            Self { peer, socket, decoder, arrived: vec![0; READ_BYTES].into_boxed_slice() };
        conversation.greet(purpose, token)?;
        let rest = std::mem::replace(&mut conversation.decoder, Decoder::new(PAYLOAD_BYTES_MAX)).into_rest();
        conversation.decoder.push(&rest);
        Ok(conversation)
    }

    fn greet(&mut self, purpose: Purpose, token: Option<&[u8]>) -> Result<(), EngineError> {
        let nonce = random_nonce().map_err(|error| self.peer.io_error("greet", error))?;
        let (mut hello, mut send) = ClientHello::start(purpose, nonce, token.map(TokenKey::from_token));
        loop {
            self.send("greet", &send)?;
            let frame = self.receive("greet")?;
            let step = hello.receive(frame).map_err(|error| self.peer.wire_error("greet", &error))?;
            send = step.send;
            if step.done {
                return Ok(());
            }
        }
    }

    /// Gives up waiting from now on when `stop` asks to stop now.
    pub(super) fn set_stop_flag(&mut self, stop: StopFlag) {
        self.peer.set_stop_flag(stop);
    }

    /// The address that was reached; `None` once the connection is gone.
    pub(super) fn reached(&self) -> Option<IpAddr> {
        self.socket.peer_addr().ok().map(|address| address.ip())
    }

    /// Whom it talks to.
    pub(super) fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Sends bytes, all of them.
    pub(super) fn send(&mut self, operation: &'static str, bytes: &[u8]) -> Result<(), EngineError> {
        self.socket.write_all(bytes).map_err(|error| self.peer.io_error(operation, error))
    }

    /// The next frame.
    pub(super) fn receive(&mut self, operation: &'static str) -> Result<Frame, EngineError> {
        loop {
            if let Some(frame) = self.waiting(operation)? {
                return Ok(frame);
            }
            self.read(operation)?;
        }
    }

    /// The next frame if it arrives within `wait`; `None` otherwise.
    pub(super) fn receive_within(
        &mut self,
        operation: &'static str,
        wait: Duration,
    ) -> Result<Option<Frame>, EngineError> {
        if let Some(frame) = self.waiting(operation)? {
            return Ok(Some(frame));
        }
        let at_least = wait.max(Duration::from_millis(1));
        self.socket.set_read_timeout(Some(at_least)).map_err(|error| self.peer.io_error(operation, error))?;
        let read = self.socket.read(&mut self.arrived);
        self.socket
            .set_read_timeout(Some(self.peer.timeout()))
            .map_err(|error| self.peer.io_error(operation, error))?;
        match read {
            Ok(0) => return Err(self.peer.gone(operation)),
            Ok(length) => self.decoder.push(&self.arrived[..length]),
            Err(error) if is_not_yet(&error) => {}
            Err(error) => return Err(self.peer.io_error(operation, error)),
        }
        self.waiting(operation)
    }

    /// Ends the connection in both directions: whatever is asked from now on fails at once.
    pub(super) fn hang_up(&self) {
        // A connection that is already gone is what is wanted.
        drop(self.socket.shutdown(std::net::Shutdown::Both));
    }

    /// The socket, and what has arrived beyond the last frame.
    pub(super) fn into_parts(self) -> (Peer, TcpStream, Vec<u8>) {
        (self.peer, self.socket, self.decoder.into_rest())
    }

    fn waiting(&mut self, operation: &'static str) -> Result<Option<Frame>, EngineError> {
        self.decoder.next().map_err(|error| self.peer.wire_error(operation, &error))
    }

    fn read(&mut self, operation: &'static str) -> Result<(), EngineError> {
        loop {
            self.peer.expect(operation, &self.socket, PollFlags::IN)?;
            match self.socket.read(&mut self.arrived) {
                Ok(0) => return Err(self.peer.gone(operation)),
                Ok(length) => {
                    self.decoder.push(&self.arrived[..length]);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.peer.io_error(operation, error)),
            }
        }
    }
}

/// Time without an answer of the peer's machine after which the kernel ends a control connection.
const MACHINE_TIMEOUT: Duration = Duration::from_secs(4);

/// Has the kernel end `socket`, a control connection, once the peer's machine has answered nothing for 4 s, whether bytes
/// are on their way or not. Not for connections of the load: a peer that does not read for long is no fault there.
///
/// # Errors
/// When the kernel refuses an option.
pub fn watch_peer(socket: &TcpStream) -> io::Result<()> {
    let socket = SockRef::from(socket);
    let second = Duration::from_secs(1);
    let probes = TcpKeepalive::new().with_time(second).with_interval(second).with_retries(3);
    socket.set_tcp_keepalive(&probes)?;
    socket.set_tcp_user_timeout(Some(MACHINE_TIMEOUT))
}

/// Whether a read ended only because nothing had arrived.
pub(super) fn is_not_yet(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// A nonce from the system's random source. It decides nothing that is measured, so no seed applies.
fn random_nonce() -> io::Result<Nonce> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(Nonce(bytes))
}
