//! The messages of a control connection: JSON in frames, one question at a time.
//!
//! While a cell runs at the server its events come as answers, and the client may send [`ControlRequest::StopCell`].

use crate::error::{Error, Refusal, Result};
use crate::frame::{self, Frame};
use crate::refuse;
use narrows_model::server::ServerFacts;
use narrows_model::{Cell, CounterSample, Event, Inventory};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

const REQUEST: u8 = 6;
const ANSWER: u8 = 7;

/// Largest payload of a request: a cell with long names is below a tenth of it.
pub const REQUEST_BYTES_MAX: usize = 64 << 10;

/// The name of the file by which a server shows that it serves a client's storage, in a folder that the client made there.
pub const STORE_PROOF: &str = "mount-proof";

/// What a client asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlRequest {
    /// Who the server is, and the session of this connection.
    Facts,
    /// The server's clock, for an estimate of the offset.
    ClockProbe {
        /// The client's clock when it sent this; comes back unchanged.
        sent_ns: u64,
        /// The session whose client this is a sign of life of: while the connection that names it is open, the session
        /// ends once its client gives none. `None` in messages of clients that name none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
    /// The server's counters now.
    Counters,
    /// Run a cell on the server itself, in the session's store.
    RunCell {
        /// The cell, with its trials.
        #[serde(with = "narrows_model::json::embedded")]
        cell: Box<Cell>,
        /// Length of an interval of the series.
        interval_ns: u64,
        /// The run's seed, of every random choice of the cell.
        seed: u64,
        /// Time that is left for the cell; where preparation takes it, the load is not put on.
        left_ns: u64,
    },
    /// Stop the running cell; without one this is without effect. It has no answer of its own.
    StopCell,
    /// Whether a file below the server's root has exactly this content.
    StoreCheck {
        /// Name of the file, relative to the root.
        name: String,
        /// What it must contain, as text.
        nonce: String,
    },
    /// Whether a file below the server's root is what a logical unit consists of: it has the unit's length, and begins with the
    /// mark of the client's claim. Answered as [`ControlRequest::StoreCheck`].
    UnitCheck {
        /// Length of the unit.
        length_bytes: u64,
        /// The nonce of the claim.
        nonce: u64,
    },
    /// Do something about what of objects in the disk store is in the server's page cache.
    Cache {
        /// Their names.
        objects: Vec<String>,
        /// What.
        work: CacheWork,
    },
    /// The session ends, and what it stored is removed.
    End,
}

/// What is done about the server's page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheWork {
    /// Nothing: only the share that is cached is reported.
    Look,
    /// What was written to the objects is brought to the device.
    Sync,
    /// That, and their pages are dropped.
    Drop,
    /// A part of a dummy file is read, so that its pages take the place of others. The file takes no room; it is
    /// created with its first part and removed after its last one.
    Scan {
        /// Bytes of the whole file.
        file_bytes: u64,
        /// Where the part begins.
        from_bytes: u64,
        /// Bytes of the part, at most [`SCAN_BYTES_MAX`].
        length_bytes: u64,
    },
}

/// Largest part of a dummy file that is read at once: the client waits for each, and may go on to none.
pub const SCAN_BYTES_MAX: u64 = 256 << 20;

/// What a server answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Who the server is.
    Facts {
        /// Its facts; clock offset, round trip and shared machine are for the client to fill in.
        #[serde(with = "narrows_model::json::embedded")]
        facts: Box<ServerFacts>,
        /// Its inventory, the path of its store included.
        #[serde(with = "narrows_model::json::embedded")]
        inventory: Box<Inventory>,
        /// The session of this connection, for data connections to join.
        session: String,
    },
    /// The server's clock.
    Clock {
        /// The client's clock as it was sent.
        sent_ns: u64,
        /// The server's clock when it answered.
        server_ns: u64,
    },
    /// The server's counters.
    Counters(#[serde(with = "narrows_model::json::embedded")] Box<CounterSample>),
    /// Something happened in the running cell.
    Event(#[serde(with = "narrows_model::json::embedded")] Box<Event>),
    /// The cell ended.
    CellDone,
    /// Whether the file is there with that content.
    StoreCheck {
        /// It is.
        holds: bool,
    },
    /// What of the objects is cached now.
    Cached {
        /// Their mean share; `None` where that is unknown.
        resident_ratio: Option<f64>,
    },
    /// What was asked for was not done; the conversation continues.
    Failed {
        /// Why.
        reason: Refusal,
        /// What happened, where, what to do.
        message: String,
    },
    /// The session has ended.
    Ended,
}

impl ControlRequest {
    /// The bytes to send.
    ///
    /// # Errors
    /// `TooLarge` when the message is above the limit of a frame.
    pub fn encode(&self) -> Result<Vec<u8>> {
        encode(REQUEST, self)
    }

    /// The request in a frame.
    ///
    /// # Errors
    /// `Protocol` when there is none, or what the peer gave as the reason for its end.
    pub fn decode(frame: Frame) -> Result<Self> {
        decode(REQUEST, frame)
    }
}

impl Answer {
    /// The bytes to send.
    ///
    /// # Errors
    /// `TooLarge` when the message is above the limit of a frame.
    pub fn encode(&self) -> Result<Vec<u8>> {
        encode(ANSWER, self)
    }

    /// The answer in a frame.
    ///
    /// # Errors
    /// `Protocol` when there is none, or what the peer gave as the reason for its end.
    pub fn decode(frame: Frame) -> Result<Self> {
        decode(ANSWER, frame)
    }
}

pub(crate) fn encode<T: Serialize>(kind: u8, message: &T) -> Result<Vec<u8>> {
    let payload = serde_json::to_vec(message)
        .map_err(|error| Error::protocol(format!("a message could not be written as JSON: {error}")))?;
    let mut out = Vec::new();
    frame::encode(kind, &payload, &mut out)?;
    Ok(out)
}

pub(crate) fn decode<T: DeserializeOwned>(kind: u8, frame: Frame) -> Result<T> {
    let frame = refuse::check(frame)?;
    if frame.kind != kind {
        let message = format!("the peer sent a frame of kind {} instead of kind {kind}", frame.kind);
        return Err(Error::protocol(message));
    }
    // As text, as records are read: another reader of all these types would be a large part of the program.
    let text = std::str::from_utf8(&frame.payload)
        .map_err(|error| Error::protocol(format!("the peer sent an invalid message: {error}")))?;
    serde_json::from_str(text)
        .map_err(|error| Error::protocol(format!("the peer sent an invalid message: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Decoder;
    use proptest::prelude::*;

    fn passed(bytes: &[u8]) -> Frame {
        let mut decoder = Decoder::new(frame::PAYLOAD_BYTES_MAX);
        decoder.push(bytes);
        decoder.next().unwrap().unwrap()
    }

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let request = ControlRequest::StoreCheck { name: "a/b".into(), nonce: "n".into() };
        assert_eq!(ControlRequest::decode(passed(&request.encode().unwrap())).unwrap(), request);
        let answer = Answer::Clock { sent_ns: u64::MAX, server_ns: 0 };
        assert_eq!(Answer::decode(passed(&answer.encode().unwrap())).unwrap(), answer);
    }

    #[test]
    fn a_clock_probe_without_a_session_is_read_and_written_as_before() {
        let payload = br#"{"clock_probe":{"sent_ns":7}}"#.to_vec();
        let probe = ControlRequest::ClockProbe { sent_ns: 7, session: None };
        assert_eq!(ControlRequest::decode(Frame { kind: REQUEST, payload: payload.clone() }).unwrap(), probe);
        assert_eq!(passed(&probe.encode().unwrap()).payload, payload);
        let named = ControlRequest::ClockProbe { sent_ns: 7, session: Some("a".into()) };
        assert_eq!(ControlRequest::decode(passed(&named.encode().unwrap())).unwrap(), named);
    }

    #[test]
    fn a_refusal_arrives_as_its_reason() {
        let refusal = Error::new(crate::ErrorKind::Refused(Refusal::Ended), "the time is over");
        assert_eq!(Answer::decode(passed(&refuse::encode(&refusal))).unwrap_err(), refusal);
    }

    #[test]
    fn an_answer_is_no_request() {
        let bytes = Answer::CellDone.encode().unwrap();
        assert_eq!(ControlRequest::decode(passed(&bytes)).unwrap_err().kind(), crate::ErrorKind::Protocol);
    }

    proptest! {
        #[test]
        fn arbitrary_payloads_never_panic(kind in 0_u8..12, payload in prop::collection::vec(any::<u8>(), 0..300)) {
            let frame = Frame { kind, payload };
            let _ = ControlRequest::decode(frame.clone());
            let _ = Answer::decode(frame);
        }

        #[test]
        fn a_message_with_a_byte_changed_never_panics(at in 0_usize..200, byte: u8) {
            let request = ControlRequest::StoreCheck { name: "x".repeat(20), nonce: "y".repeat(20) };
            let mut frame = passed(&request.encode().unwrap());
            let at = at % frame.payload.len();
            frame.payload[at] = byte;
            let _ = ControlRequest::decode(frame);
        }
    }
}
