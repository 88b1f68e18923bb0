//! The hello: two sides find out that they speak the same protocol, and prove that they know the same token.
//!
//! Client: HELLO (magic, version, purpose, nonce). Server: CHALLENGE (magic, version, whether a token is asked for,
//! nonce). With a token, client: PROOF; server: its own PROOF. A side that cannot continue sends a refusal, whose form
//! all versions share. Nothing else is sent before the hello is complete.

use crate::error::{Error, ErrorKind, Refusal, Result};
use crate::frame::{self, Frame};
pub use crate::greeting::{MAGIC, Nonce, Purpose, VERSION};
use crate::refuse;
use crate::token::{Prover, TokenKey, Transcript};

/// Largest payload of a frame until the hello is through.
pub const PAYLOAD_BYTES_MAX: usize = 512;

pub(crate) const HELLO: u8 = 1;
const CHALLENGE: u8 = 2;
const CLIENT_PROOF: u8 = 3;
const SERVER_PROOF: u8 = 4;

const TOKEN_HINT: &str = "give both sides the same token (--token-file)";

/// What to do after a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the bytes must be sent"]
pub struct HelloStep {
    /// Bytes to send now; may be empty.
    pub send: Vec<u8>,
    /// Whether the hello is through once they are sent.
    pub done: bool,
}

/// The connecting side of a hello.
#[derive(Debug)]
pub struct ClientHello {
    purpose: Purpose,
    nonce: Nonce,
    key: Option<TokenKey>,
    challenge: Option<Transcript>,
}

impl ClientHello {
    /// The hello, with the bytes to send first.
    #[must_use]
    pub fn start(purpose: Purpose, nonce: Nonce, key: Option<TokenKey>) -> (Self, Vec<u8>) {
        let first = greeting(HELLO, VERSION, purpose.code(), nonce);
        (Self { purpose, nonce, key, challenge: None }, first)
    }

    /// Takes the server's next frame.
    ///
    /// # Errors
    /// `Version`, `Token`, `Refused` or `Protocol`; the connection is then to be closed.
    pub fn receive(&mut self, frame: Frame) -> Result<HelloStep> {
        let frame = refuse::check(frame)?;
        match (&self.challenge, frame.kind) {
            (None, CHALLENGE) => self.answer(&frame.payload),
            (Some(transcript), SERVER_PROOF) => {
                let known = self
                    .key
                    .as_ref()
                    .is_some_and(|key| key.accepts(Prover::Server, transcript, &frame.payload));
                if known { Ok(HelloStep { send: Vec::new(), done: true }) } else { Err(server_proof_error()) }
            }
            _ => Err(unexpected_frame_error(frame.kind)),
        }
    }

    fn answer(&mut self, payload: &[u8]) -> Result<HelloStep> {
        let (asks_token, server_nonce) = parse_greeting(payload, "server")?;
        let transcript = Transcript { purpose: self.purpose, client_nonce: self.nonce, server_nonce };
        match (&self.key, asks_token) {
            (None, 0) => Ok(HelloStep { send: Vec::new(), done: true }),
            (Some(key), 1) => {
                let send = encode_frame(CLIENT_PROOF, &key.proof(Prover::Client, &transcript));
                self.challenge = Some(transcript);
                Ok(HelloStep { send, done: false })
            }
            (None, 1) => Err(Error::new(
                ErrorKind::Token,
                format!("the server requires a token and none was given; {TOKEN_HINT}"),
            )),
            (Some(_), 0) => Err(Error::new(
                ErrorKind::Token,
                format!(
                    "a token was given, but this server has none, so it cannot prove its identity; {TOKEN_HINT}, or \
                    none"
                ),
            )),
            (_, other) => Err(Error::protocol(format!("the server's challenge has an unknown flag {other}"))),
        }
    }
}

/// The listening side of a hello.
#[derive(Debug)]
pub struct ServerHello {
    nonce: Nonce,
    key: Option<TokenKey>,
    transcript: Option<Transcript>,
}

impl ServerHello {
    /// The hello; without a key no token is asked for.
    #[must_use]
    pub fn new(nonce: Nonce, key: Option<TokenKey>) -> Self {
        Self { nonce, key, transcript: None }
    }

    /// Takes the client's next frame.
    ///
    /// # Errors
    /// `Version`, `Token`, `Refused` or `Protocol`: send [`refuse::encode`] of it and close the connection.
    pub fn receive(&mut self, frame: Frame) -> Result<HelloStep> {
        let frame = refuse::check(frame)?;
        match (&self.transcript, frame.kind) {
            (None, HELLO) => self.challenge(&frame.payload),
            (Some(transcript), CLIENT_PROOF) => match &self.key {
                Some(key) if key.accepts(Prover::Client, transcript, &frame.payload) => Ok(HelloStep {
                    send: encode_frame(SERVER_PROOF, &key.proof(Prover::Server, transcript)),
                    done: true,
                }),
                _ => {
                    Err(Error::new(ErrorKind::Token, format!("the token is not the server's; {TOKEN_HINT}")))
                }
            },
            _ => Err(unexpected_frame_error(frame.kind)),
        }
    }

    /// What the connection is for; `None` before the client's first frame. Trust it once the hello is through.
    #[must_use]
    pub fn purpose(&self) -> Option<Purpose> {
        self.transcript.map(|transcript| transcript.purpose)
    }

    fn challenge(&mut self, payload: &[u8]) -> Result<HelloStep> {
        let (purpose, client_nonce) = parse_greeting(payload, "client")?;
        let purpose = Purpose::from_code(purpose)?;
        self.transcript = Some(Transcript { purpose, client_nonce, server_nonce: self.nonce });
        let asks_token = self.key.is_some();
        Ok(HelloStep {
            send: greeting(CHALLENGE, VERSION, u8::from(asks_token), self.nonce),
            done: !asks_token,
        })
    }
}

fn greeting(kind: u8, version: u16, flag: u8, nonce: Nonce) -> Vec<u8> {
    encode_frame(kind, &[&MAGIC[..], &version.to_le_bytes(), &[flag, 0], &nonce.0].concat())
}

fn parse_greeting(payload: &[u8], peer: &str) -> Result<(u8, Nonce)> {
    let stranger = || Error::protocol(format!("the {peer} does not speak narrows' protocol"));
    let rest = payload.strip_prefix(&MAGIC[..]).ok_or_else(stranger)?;
    let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(stranger)?;
    let version = u16::from_le_bytes(*version);
    if version != VERSION {
        let message = format!(
            "the {peer} speaks version {version} of narrows' protocol, the other side version {VERSION}; use the same \
            version of narrows on both sides"
        );
        return Err(Error::new(ErrorKind::Version, message));
    }
    let ([flag, _], nonce) = rest.split_first_chunk::<2>().ok_or_else(stranger)?;
    let nonce: [u8; 32] = nonce.try_into().map_err(|_| stranger())?;
    Ok((*flag, Nonce(nonce)))
}

fn encode_frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    // A payload of the hello is far below the limit, so that encoding cannot fail.
    let _ = frame::encode(kind, payload, &mut out);
    out
}

fn server_proof_error() -> Error {
    Error::new(
        ErrorKind::Token,
        "the server could not prove that it knows the token: it may be the wrong server",
    )
}

fn unexpected_frame_error(kind: u8) -> Error {
    Error::new(
        ErrorKind::Refused(Refusal::Protocol),
        format!("a frame of kind {kind} is not allowed in the hello"),
    )
}

#[cfg(test)]
#[path = "hello_tests.rs"]
mod tests;
