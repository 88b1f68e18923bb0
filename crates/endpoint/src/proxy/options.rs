//! What a proxy is started with, and which of it is refused.

use crate::error::{ServeError, ServeErrorKind};
use narrows_engines::Clock;
use narrows_model::Bytes;
use narrows_model::relay::{BUFFER_BYTES_MAX, ForwardMode, SOCKET_BUFFER_BYTES_MAX};
use narrows_wire::token::TOKEN_BYTES_MIN;
use std::net::SocketAddr;
use std::sync::Arc;

/// What a proxy is started with.
#[derive(Clone)]
pub struct ProxyOptions {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where connections go, as `HOST:PORT`; a name is looked up once, at the start.
    pub to: String,
    /// How bytes are moved.
    pub mode: ForwardMode,
    /// What a read asks for: 1 byte to 64 MiB.
    pub buffer: Bytes,
    /// `TCP_NODELAY` on both sides.
    pub no_delay: bool,
    /// `SO_SNDBUF` on both sides; `None` leaves it to the kernel.
    pub send_buffer: Option<Bytes>,
    /// `SO_RCVBUF` on both sides; `None` leaves it to the kernel.
    pub receive_buffer: Option<Bytes>,
    /// Most connections at once. Beyond, a new one takes the place of one whose client has sent nothing for 30 s, and is
    /// refused if there is none.
    pub connections_max: u32,
    /// Longest time in which no byte passes a connection in either direction; `None` is unbounded.
    pub idle_ns_max: Option<u64>,
    /// Token of those who may ask the proxy itself. It guards no forwarded connection: that is the next hop's part.
    pub token: Option<Vec<u8>>,
    /// Whether others may reach it though there is no token; the proxy itself can then be asked by nobody.
    pub open: bool,
    /// The clock that limits are measured by and that clients compare theirs with.
    pub clock: Arc<dyn Clock>,
    /// Called with what goes wrong, one line a call.
    pub journal: Arc<dyn Fn(&str) + Send + Sync>,
}

/// Longest silence of a connection unless set otherwise: an hour.
const IDLE_NS_MAX: u64 = 3_600_000_000_000;

impl ProxyOptions {
    /// Options for a proxy from `listen` to `to`: splice, 128 KiB, no delay, 256 connections, an hour of silence, no
    /// token, and no reports of what goes wrong.
    #[must_use]
    pub fn new(listen: SocketAddr, to: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        Self {
            listen,
            to: to.into(),
            mode: ForwardMode::Splice,
            buffer: Bytes(128 << 10),
            no_delay: true,
            send_buffer: None,
            receive_buffer: None,
            connections_max: 256,
            idle_ns_max: Some(IDLE_NS_MAX),
            token: None,
            open: false,
            clock,
            journal: Arc::new(|_| {}),
        }
    }

    pub(super) fn check(&self) -> Result<(), ServeError> {
        let refuse = |detail: String, hint: &str| {
            Err(ServeError::new(
                ServeErrorKind::Options,
                "forward from",
                self.listen.to_string(),
                detail,
                hint,
            ))
        };
        if self.token.is_none() && !self.open && !self.listen.ip().is_loopback() {
            return refuse(
                "an address that others can reach needs --token-file or --open: its clients can reach the server \
                behind it"
                    .to_owned(),
                "give --token-file FILE, so that the proxy answers queries only with the token, or --open, so that it \
                 answers none; in both cases access to forwarded connections is checked only by the server behind the \
                 proxy",
            );
        }
        if let Some(token) = &self.token
            && token.len() < TOKEN_BYTES_MIN
        {
            return refuse(
                format!("the token has {} bytes and needs {TOKEN_BYTES_MIN}", token.len()),
                "make a longer one",
            );
        }
        if !(1..=BUFFER_BYTES_MAX.0).contains(&self.buffer.0) {
            return refuse(
                format!("a buffer of {} bytes", self.buffer.0),
                "give --buffer a size from 1 byte to 64 MiB; 128KiB is enough for any link",
            );
        }
        for size in [self.send_buffer, self.receive_buffer].into_iter().flatten() {
            if !(1..=SOCKET_BUFFER_BYTES_MAX.0).contains(&size.0) {
                return refuse(
                    format!("a socket buffer of {} bytes", size.0),
                    "give 1 byte to just under 1 GiB, or leave it out",
                );
            }
        }
        if self.connections_max == 0 {
            return refuse("no connection is allowed".to_owned(), "allow at least one");
        }
        Ok(())
    }
}

impl std::fmt::Debug for ProxyOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProxyOptions")
            .field("listen", &self.listen)
            .field("to", &self.to)
            .field("mode", &self.mode)
            .field("buffer", &self.buffer)
            .field("no_delay", &self.no_delay)
            .field("send_buffer", &self.send_buffer)
            .field("receive_buffer", &self.receive_buffer)
            .field("connections_max", &self.connections_max)
            .field("idle_ns_max", &self.idle_ns_max)
            .field("token", &self.token.as_ref().map(|_| ".."))
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}
