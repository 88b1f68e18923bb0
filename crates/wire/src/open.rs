//! The opening of a data connection: what a client asks for and what it is granted.

use crate::control;
use crate::error::{Error, ErrorKind, Refusal, Result};
use crate::frame::{self, Frame};
use narrows_model::Layer;
use narrows_model::capabilities::Completion;
use narrows_model::workload::{Access, Acknowledgement, SyncPolicy};
use serde::{Deserialize, Serialize};

const OPEN: u8 = 8;
const GRANTED: u8 = 9;
const TOTAL: u8 = 10;

/// Bytes of the frame that reports a stream's total.
pub const TOTAL_FRAME_BYTES: usize = frame::HEADER_BYTES + 8;

/// Most objects of one connection.
pub const OBJECT_COUNT_MAX: usize = 4096;

/// Longest name of an object.
pub const OBJECT_NAME_BYTES_MAX: usize = 255;

/// Largest payload of an opening: all objects with the longest names are just over half of it.
pub const REQUEST_BYTES_MAX: usize = 2 << 20;

/// Largest object: beyond it no file system has one.
pub const OBJECT_BYTES_MAX: u64 = 1 << 60;

/// Largest block: beyond it one request is longer than any queue needs.
pub const BLOCK_BYTES_MAX: u64 = 64 << 20;

/// Most requests in flight on one connection.
pub const DEPTH_MAX: u32 = 4096;

/// What a client asks of a data connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenRequest {
    /// Where the path is cut.
    pub layer: Layer,
    /// Names that requests refer to by index.
    pub objects: Vec<String>,
    /// Size to which each object may grow.
    pub object_bytes: u64,
    /// Whether objects are made when missing.
    pub create: bool,
    /// Whether the server's page cache is used; without meaning where nothing is stored on disk.
    pub access: Access,
    /// When a write is acknowledged.
    pub acknowledgement: Acknowledgement,
    /// When written data must be durable.
    pub sync: SyncPolicy,
    /// Largest length of a request.
    pub block_bytes: u64,
    /// Requests that the client wants in flight.
    pub depth: u32,
    /// The session whose store contains the objects; `None` opens one that ends with this connection.
    pub session: Option<String>,
}

/// What a server grants a data connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Whether the server's page cache is used; `None` where there is none.
    pub access: Option<Access>,
    /// What offsets and lengths must be multiples of.
    pub alignment_bytes: u64,
    /// When a write is acknowledged; `None` for a stream.
    pub acknowledgement: Option<Acknowledgement>,
    /// What makes writes durable.
    pub sync: SyncPolicy,
    /// What a completed write means.
    pub write_completion: Completion,
    /// Most that may be in flight.
    pub credits: Credits,
}

/// Most that may be in flight on one connection: sent by the client and not yet answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credits {
    /// Requests.
    pub requests: u32,
    /// Bytes that they write or read, summed.
    pub bytes: u64,
}

impl OpenRequest {
    /// The bytes to send.
    ///
    /// # Errors
    /// As [`OpenRequest::check`].
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.check()?;
        control::encode(OPEN, self)
    }

    /// The request in a frame, within the protocol's limits.
    ///
    /// # Errors
    /// `Protocol` when there is none, `Refused` when it is beyond a limit.
    pub fn decode(frame: Frame) -> Result<Self> {
        let open: Self = control::decode(OPEN, frame)?;
        open.check()?;
        Ok(open)
    }

    /// Whether it is within the protocol's limits.
    ///
    /// # Errors
    /// `Refused` that names the limit.
    pub fn check(&self) -> Result<()> {
        let refused = |message: String| Err(Error::new(ErrorKind::Refused(Refusal::Unsupported), message));
        let framed = matches!(self.layer, Layer::Memory | Layer::Disk);
        if self.block_bytes == 0 || self.block_bytes > BLOCK_BYTES_MAX {
            return refused(format!(
                "a block of {} bytes was requested; allowed are 1 to {BLOCK_BYTES_MAX}",
                self.block_bytes
            ));
        }
        if framed && self.object_bytes > OBJECT_BYTES_MAX {
            return refused(format!(
                "objects of {} bytes were requested; allowed are up to {OBJECT_BYTES_MAX}",
                self.object_bytes
            ));
        }
        if self.depth == 0 || self.depth > DEPTH_MAX {
            return refused(format!(
                "a queue depth of {} was requested; allowed are 1 to {DEPTH_MAX}",
                self.depth
            ));
        }
        if framed && (self.objects.is_empty() || self.objects.len() > OBJECT_COUNT_MAX) {
            return refused(format!(
                "{} objects were requested; allowed are 1 to {OBJECT_COUNT_MAX}",
                self.objects.len()
            ));
        }
        match self.objects.iter().find(|name| !is_plain(name)) {
            Some(name) => {
                let shown: String = name.chars().take(80).filter(|c| !c.is_control()).collect();
                let message = format!(
                    "`{shown}` is not a valid object name; allowed are 1 to {OBJECT_NAME_BYTES_MAX} bytes without \
                    `/`, not `.` or `..`"
                );
                Err(Error::new(ErrorKind::Refused(Refusal::Permission), message))
            }
            None => Ok(()),
        }
    }
}

/// Whether a name names a file in the folder it is used in, and nothing else.
fn is_plain(name: &str) -> bool {
    let length_fits = (1..=OBJECT_NAME_BYTES_MAX).contains(&name.len());
    length_fits && name != "." && name != ".." && !name.contains(['/', '\0'])
}

impl Grant {
    /// The bytes to send.
    ///
    /// # Errors
    /// None in practice: a grant is short.
    pub fn encode(&self) -> Result<Vec<u8>> {
        control::encode(GRANTED, self)
    }

    /// The grant in a frame.
    ///
    /// # Errors
    /// What the server gave as its reason for refusing; `Protocol` when the frame is no grant or grants nothing.
    pub fn decode(frame: Frame) -> Result<Self> {
        let granted: Self = control::decode(GRANTED, frame)?;
        if granted.credits.requests == 0 || granted.alignment_bytes == 0 {
            return Err(Error::protocol("the server granted no request in flight, or an alignment of 0"));
        }
        Ok(granted)
    }
}

/// The frame that reports how many bytes a stream had.
#[must_use]
pub fn encode_total(bytes: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(TOTAL_FRAME_BYTES);
    // Eight bytes are far below the limit, so that encoding cannot fail.
    let _ = frame::encode(TOTAL, &bytes.to_le_bytes(), &mut out);
    out
}

/// How many bytes the peer says a stream had.
///
/// # Errors
/// What the peer gave as the reason for its end; `Protocol` when the frame is something else.
pub fn decode_total(frame: Frame) -> Result<u64> {
    let frame = crate::refuse::check(frame)?;
    match (frame.kind, <[u8; 8]>::try_from(frame.payload.as_slice())) {
        (TOTAL, Ok(bytes)) => Ok(u64::from_le_bytes(bytes)),
        _ => Err(Error::protocol("the peer did not report the stream's total at its end")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(layer: Layer, names: usize, object_bytes: u64) -> OpenRequest {
        OpenRequest {
            layer,
            objects: vec!["n".repeat(OBJECT_NAME_BYTES_MAX); names],
            object_bytes,
            create: true,
            access: Access::Buffered,
            acknowledgement: Acknowledgement::Early,
            sync: SyncPolicy::None,
            block_bytes: 4096,
            depth: 1,
            session: None,
        }
    }

    #[test]
    fn an_opening_within_all_limits_fits_its_frame() {
        let encoded = open(Layer::Disk, OBJECT_COUNT_MAX, OBJECT_BYTES_MAX).encode().unwrap();
        assert!(encoded.len() <= REQUEST_BYTES_MAX, "{}", encoded.len());
    }

    #[test]
    fn objects_that_no_file_system_contains_are_refused_where_they_are_stored() {
        for layer in [Layer::Memory, Layer::Disk] {
            let error = open(layer, 1, OBJECT_BYTES_MAX + 1).check().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Refused(Refusal::Unsupported));
        }
        open(Layer::Sink, 0, u64::MAX).check().unwrap();
    }
}
