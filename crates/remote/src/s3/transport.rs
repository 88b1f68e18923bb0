//! Connections as the HTTP library takes them: made, read and written by its connector and transport.

use super::stream::{WireStream, is_wait};
use super::wire::Wire;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};

/// Makes connections for the HTTP library.
#[derive(Debug)]
pub(super) struct WireConnector(pub(super) Arc<Wire>);

impl Connector for WireConnector {
    type Out = WireTransport;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _chained: Option<()>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        let wire = &self.0;
        let socket = Arc::new(wire.dial()?);
        wire.opened(&socket);
        let stream = wire.secured(Arc::clone(&socket))?;
        let config = details.config;
        Ok(Some(WireTransport {
            wire: Arc::clone(wire),
            stream,
            socket,
            buffers: LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size()),
        }))
    }
}

/// A connection for the HTTP library.
#[derive(Debug)]
pub(super) struct WireTransport {
    wire: Arc<Wire>,
    stream: WireStream,
    socket: Arc<TcpStream>,
    buffers: LazyBuffers,
}

impl WireTransport {
    fn send(&mut self, amount: usize) -> io::Result<()> {
        let clock = self.wire.clock();
        let mut rest = &self.buffers.output()[..amount];
        let mut since_ns = clock.now().0;
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => {
                    rest = &rest[sent..];
                    since_ns = clock.now().0;
                }
                Err(error) if is_wait(&error) => self.wire.check_wait(since_ns)?,
                Err(error) => return Err(error),
            }
        }
        loop {
            match self.stream.flush() {
                Ok(()) => break,
                Err(error) if is_wait(&error) => self.wire.check_wait(since_ns)?,
                Err(error) => return Err(error),
            }
        }
        let now_ns = clock.now().0;
        self.wire.add(|counts| {
            counts.sent_bytes += amount as u64;
            counts.sent_at_ns = now_ns;
        });
        Ok(())
    }

    fn receive(&mut self) -> io::Result<usize> {
        let clock = self.wire.clock();
        let since_ns = clock.now().0;
        let room = self.buffers.input_append_buf();
        let amount = loop {
            match self.stream.read(room) {
                Ok(amount) => break amount,
                Err(error) if is_wait(&error) => self.wire.check_wait(since_ns)?,
                Err(error) => return Err(error),
            }
        };
        let now_ns = clock.now().0;
        self.wire.add(|counts| {
            counts.received_bytes += amount as u64;
            if counts.first_byte_at_ns == 0 {
                counts.first_byte_at_ns = now_ns;
            }
        });
        // What comes in drops without an end is no silence, and is bounded all the same.
        self.wire.check_wait(now_ns)?;
        self.buffers.input_appended(amount);
        Ok(amount)
    }
}

impl Transport for WireTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _timeout: NextTimeout) -> Result<(), ureq::Error> {
        Ok(self.send(amount)?)
    }

    fn await_input(&mut self, _timeout: NextTimeout) -> Result<bool, ureq::Error> {
        Ok(self.receive()? > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.is_quiet()
    }

    fn is_tls(&self) -> bool {
        matches!(self.stream, WireStream::Tls(_))
    }
}

impl Drop for WireTransport {
    fn drop(&mut self) {
        self.wire.dropped(&self.socket);
    }
}

/// Addresses are looked up where a connection is made, not for every request.
#[derive(Debug)]
pub(super) struct LaterResolver;

impl Resolver for LaterResolver {
    fn resolve(
        &self,
        _uri: &ureq::http::Uri,
        _config: &ureq::config::Config,
        _timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut addresses = self.empty();
        addresses.push(std::net::SocketAddr::from(([0, 0, 0, 0], 0)));
        Ok(addresses)
    }
}
