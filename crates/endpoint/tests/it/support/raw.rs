//! A client by hand: it says what no engine says, and stays silent where an engine speaks.

use narrows_model::Layer;
use narrows_model::workload::{Access, Acknowledgement, SyncPolicy};
use narrows_wire::frame::{Decoder, Frame, PAYLOAD_BYTES_MAX};
use narrows_wire::hello::{ClientHello, Nonce, Purpose};
use narrows_wire::open::{Grant, OpenRequest};
use narrows_wire::request::{RequestHeader, RequestKind};
use narrows_wire::token::TokenKey;
use narrows_wire::{Error, reply};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A connection whose hello is through.
pub(crate) struct Raw {
    pub(crate) socket: TcpStream,
    decoder: Decoder,
}

impl Raw {
    pub(crate) fn greet(address: SocketAddr, purpose: Purpose, token: Option<&[u8]>) -> Result<Self, Error> {
        let mut raw =
            Self { socket: TcpStream::connect(address).unwrap(), decoder: Decoder::new(PAYLOAD_BYTES_MAX) };
        let (mut hello, first) = ClientHello::start(purpose, Nonce([3; 32]), token.map(TokenKey::from_token));
        raw.socket.write_all(&first).unwrap();
        loop {
            let step = hello.receive(raw.frame())?;
            raw.socket.write_all(&step.send).unwrap();
            if step.done {
                return Ok(raw);
            }
        }
    }

    /// A data connection that is open.
    pub(crate) fn data(address: SocketAddr, open: &OpenRequest) -> Result<Self, Error> {
        Self::asking(address, open).and_then(|mut raw| Grant::decode(raw.frame()).map(|_| raw))
    }

    /// A data connection that has asked and not yet read the answer.
    pub(crate) fn asking(address: SocketAddr, open: &OpenRequest) -> Result<Self, Error> {
        let mut raw = Self::greet(address, Purpose::Data, None)?;
        raw.socket.write_all(&open.encode()?).unwrap();
        Ok(raw)
    }

    pub(crate) fn granted(&mut self) -> Result<Grant, Error> {
        Grant::decode(self.frame())
    }

    /// Removes the connection's first object and returns the status.
    pub(crate) fn remove(&mut self) -> u32 {
        let remove =
            RequestHeader { kind: RequestKind::Remove, tag: 0, object: 0, length_bytes: 0, offset_bytes: 0 };
        self.socket.write_all(&remove.encode()).unwrap();
        let mut answer = [0; reply::HEADER_BYTES];
        self.socket.read_exact(&mut answer).unwrap();
        u32::from_le_bytes([answer[8], answer[9], answer[10], answer[11]])
    }

    fn frame(&mut self) -> Frame {
        let mut bytes = [0; 4096];
        loop {
            if let Some(frame) = self.decoder.next().unwrap() {
                return frame;
            }
            let length = self.socket.read(&mut bytes).unwrap();
            assert!(length > 0, "the server closed the connection");
            self.decoder.push(&bytes[..length]);
        }
    }
}

/// An opening of `objects`, each of `object_bytes`, with blocks of 4 KiB, one at a time.
pub(crate) fn opening(
    layer: Layer,
    objects: &[&str],
    object_bytes: u64,
    session: Option<&str>,
) -> OpenRequest {
    OpenRequest {
        layer,
        objects: objects.iter().map(|name| (*name).to_owned()).collect(),
        object_bytes,
        create: true,
        access: Access::Buffered,
        acknowledgement: Acknowledgement::Early,
        sync: SyncPolicy::None,
        block_bytes: 4096,
        depth: 1,
        session: session.map(str::to_owned),
    }
}
