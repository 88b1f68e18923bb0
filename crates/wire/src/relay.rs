//! The conversation of a role of the buffer experiment, and the words that its streams begin and end with.
//!
//! A role is asked to *prepare*, answers *ready* (where it listens, and the ticket for it), and in the end *done* or
//! *failed*: JSON in frames, over the pipes of a child process or a control connection. A stream begins with the
//! ticket, by itself; the hop answers with [`RelaySignal::Ready`] once its own next hop has, so that nothing but the
//! experiment's bytes is counted. It ends with the server's [`RelaySignal::Received`], which is passed back along the
//! path. What is measured is not known here; what a peer reports is compared with what it was asked.

mod check;
mod consistency;

use crate::control::{decode, encode};
use crate::error::{Error, Result};
use crate::frame::Frame;
use narrows_model::counters::Role;
use narrows_model::relay::{ForwardMode, RelayRoleOutput, RelaySockets};
use narrows_model::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Kind of a frame to a role.
pub const ROLE_COMMAND: u8 = 11;
/// Kind of a frame from a role.
pub const ROLE_REPLY: u8 = 12;

/// Bytes of a ticket.
pub const TICKET_BYTES: usize = 16;
/// Bytes of a word.
pub const SIGNAL_BYTES: usize = 9;

/// What a stream must begin with: only a peer that was given it is admitted to the trial.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket(pub [u8; TICKET_BYTES]);

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ticket(..)")
    }
}

/// Where a role listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HopAddress {
    /// A TCP port.
    Tcp {
        /// Name or address of the host.
        host: String,
        /// The port.
        port: u16,
    },
    /// A Unix stream socket of the machine's abstract names.
    Unix {
        /// The name.
        name: String,
    },
}

impl std::fmt::Display for HopAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HopAddress::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            HopAddress::Tcp { host, port } => write!(f, "{host}:{port}"),
            HopAddress::Unix { name } => write!(f, "the Unix socket @{name}"),
        }
    }
}

/// Where a stream is sent next, and what it must begin with there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// Where.
    pub place: HopAddress,
    /// What to begin with.
    pub ticket: Ticket,
}

/// What a role does in one trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleSpec {
    /// The part that it plays.
    pub role: Role,
    /// What it writes at once (client) or reads at once (proxy, server).
    pub buffer: Bytes,
    /// Bytes of the trial.
    pub total: Bytes,
    /// How its sockets are set.
    pub sockets: RelaySockets,
    /// How a proxy moves bytes; without meaning for others.
    pub forward: ForwardMode,
    /// Key of the content that is verified; `None` verifies nothing.
    pub content_key: Option<u64>,
    /// Where the stream is sent next; `None` for the server.
    pub next: Option<Hop>,
    /// Longest time in which nothing moves.
    pub silence_ns: Nanos,
}

/// A message to a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleCommand {
    /// Take part in a trial.
    Prepare(Box<RoleSpec>),
    /// Give the trial up; the answer is `failed`, unless it was done.
    Stop,
}

/// What a role did in one trial, and what it alone knows of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoleReport {
    /// Calls, times and segments.
    pub output: RelayRoleOutput,
    /// From the first write to the server's word; the client's alone.
    pub trial_elapsed_ns: Option<Nanos>,
    /// What was wrong with the content, for people; the server's alone.
    pub content_fault: Option<String>,
}

/// What a role answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleReply {
    /// It takes part.
    Ready {
        /// Where it listens; `None` for the client.
        listens: Option<Hop>,
    },
    /// The trial is over.
    Done(Box<RoleReport>),
    /// It cannot take part, or gave up.
    Failed {
        /// What happened, where, what to do.
        message: String,
    },
}

impl RoleCommand {
    /// The bytes to send.
    ///
    /// # Errors
    /// `TooLarge` when the message is above the limit of a frame.
    pub fn encode(&self) -> Result<Vec<u8>> {
        encode(ROLE_COMMAND, self)
    }

    /// The message in a frame, within the protocol's limits.
    ///
    /// # Errors
    /// `Protocol` when there is none, `Refused` when it asks for what is beyond a limit.
    pub fn decode(frame: Frame) -> Result<Self> {
        let message: Self = decode(ROLE_COMMAND, frame)?;
        if let RoleCommand::Prepare(prepare) = &message {
            prepare.check()?;
        }
        Ok(message)
    }
}

impl RoleReply {
    /// The bytes to send.
    ///
    /// # Errors
    /// `TooLarge` when the message is above the limit of a frame.
    pub fn encode(&self) -> Result<Vec<u8>> {
        encode(ROLE_REPLY, self)
    }

    /// The message in a frame.
    ///
    /// # Errors
    /// `Protocol` when there is none, or what the peer gave as the reason for its end.
    pub fn decode(frame: Frame) -> Result<Self> {
        decode(ROLE_REPLY, frame)
    }
}

/// Kinds of words: bytes that no text has.
const READY: u8 = 0xf8;
const RECEIVED: u8 = 0xf9;

/// What is said against the direction of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelaySignal {
    /// The path behind this hop is there: the experiment's bytes may come.
    Ready,
    /// The server has received so many bytes of the stream.
    Received(Bytes),
}

impl RelaySignal {
    /// The bytes to send.
    #[must_use]
    pub fn encode(self) -> [u8; SIGNAL_BYTES] {
        let (kind, number) = match self {
            RelaySignal::Ready => (READY, 0),
            RelaySignal::Received(Bytes(bytes)) => (RECEIVED, bytes),
        };
        let mut out = [kind; SIGNAL_BYTES];
        out[1..].copy_from_slice(&number.to_le_bytes());
        out
    }

    /// The word in these bytes.
    ///
    /// # Errors
    /// `Protocol` when it is none.
    pub fn decode(bytes: [u8; SIGNAL_BYTES]) -> Result<Self> {
        let [kind, number @ ..] = bytes;
        match (kind, u64::from_le_bytes(number)) {
            (READY, 0) => Ok(RelaySignal::Ready),
            (RECEIVED, bytes) => Ok(RelaySignal::Received(Bytes(bytes))),
            _ => Err(Error::protocol(
                "the process that listens there is not a hop of narrows' buffer experiment",
            )),
        }
    }
}

#[cfg(test)]
#[path = "relay/tests.rs"]
mod tests;
