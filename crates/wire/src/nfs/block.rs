//! READ, WRITE and COMMIT: the calls that transfer blocks.
//!
//! Hot path: arguments are appended to memory that is kept; a payload is neither copied into a call nor out of a reply
//! here.

use super::attributes::{FileHandle, read_change};
use super::rpc::{ReplyOutcome, read_reply};
use super::status::Status;
use super::xdr::{Result, XdrError, XdrReader, put_opaque, put_u32, put_u64};

/// How durable a write is when it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stability {
    /// In the server's memory: a COMMIT makes it durable.
    Unstable,
    /// The data is durable.
    DataSync,
    /// The data and all attributes are durable.
    FileSync,
}

impl Stability {
    const fn number(self) -> u32 {
        match self {
            Self::Unstable => 0,
            Self::DataSync => 1,
            Self::FileSync => 2,
        }
    }

    fn from_number(number: u32) -> Result<Self> {
        match number {
            0 => Ok(Self::Unstable),
            1 => Ok(Self::DataSync),
            2 => Ok(Self::FileSync),
            _ => Err(XdrError::Malformed("a write is durable in no known way")),
        }
    }
}

/// A server's number for the time since its last start: unstable data of another one may be lost.
pub type WriteVerifier = [u8; 8];

/// A range of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    /// Where it starts.
    pub offset_bytes: u64,
    /// How long it is.
    pub length_bytes: u32,
}

/// Appends the arguments of READ.
pub fn put_read(out: &mut Vec<u8>, file: &FileHandle, range: ByteRange) {
    put_opaque(out, file.as_bytes());
    put_u64(out, range.offset_bytes);
    put_u32(out, range.length_bytes);
}

/// Appends the arguments of WRITE up to its payload, which follows with its padding.
pub fn put_write(out: &mut Vec<u8>, file: &FileHandle, range: ByteRange, stability: Stability) {
    put_read(out, file, range);
    put_u32(out, stability.number());
    put_u32(out, range.length_bytes);
}

/// Appends the arguments of COMMIT, of the whole file.
pub fn put_commit(out: &mut Vec<u8>, file: &FileHandle) {
    put_read(out, file, ByteRange { offset_bytes: 0, length_bytes: 0 });
}

/// What a reply to READ says before its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadHead {
    /// How the call ended; without a payload unless it is OK.
    pub status: Status,
    /// Bytes of payload behind it.
    pub payload_bytes: u32,
    /// Whether they reach the end of the file.
    pub is_end: bool,
}

/// Reads the results of READ up to the payload.
///
/// # Errors
/// `Short` when they have not arrived wholly; `Malformed`.
pub fn read_read(reader: &mut XdrReader<'_>) -> Result<ReadHead> {
    let status = Status(reader.u32()?);
    // Attributes of the file: not parsed, for nothing here uses them.
    if reader.flag()? {
        reader.take(84)?;
    }
    if !status.is_ok() {
        return Ok(ReadHead { status, payload_bytes: 0, is_end: false });
    }
    let count = reader.u32()?;
    let is_end = reader.flag()?;
    let payload_bytes = reader.u32()?;
    if payload_bytes != count {
        return Err(XdrError::Malformed("a count of bytes and the bytes behind it differ"));
    }
    Ok(ReadHead { status, payload_bytes, is_end })
}

/// The READ results of a record that has begun to arrive, up to the payload, and the bytes before that; `None` where too little of it
/// is there. The caller knows by the xid that the record answers a READ: the beginning of another answer may look like one.
///
/// # Errors
/// `Malformed`.
pub fn read_begun(bytes: &[u8]) -> Result<Option<(ReadHead, usize)>> {
    let mut reader = XdrReader::new(bytes);
    let whole = read_reply(&mut reader).and_then(|(_, outcome)| match outcome {
        ReplyOutcome::Accepted => read_read(&mut reader).map(|head| Some((head, reader.read_bytes()))),
        // It is short: it will arrive as a whole.
        ReplyOutcome::Refused(_) => Ok(None),
    });
    match whole {
        Err(XdrError::Short) => Ok(None),
        other => other,
    }
}

/// The results of WRITE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteResult {
    /// Bytes that were written.
    pub count: u32,
    /// How durable they are.
    pub stability: Stability,
    /// The server's verifier.
    pub verifier: WriteVerifier,
}

/// Reads the results of WRITE.
///
/// # Errors
/// `Short`; `Malformed`.
pub fn read_write(reader: &mut XdrReader<'_>) -> Result<std::result::Result<WriteResult, Status>> {
    let status = Status(reader.u32()?);
    read_change(reader)?;
    if !status.is_ok() {
        return Ok(Err(status));
    }
    let count = reader.u32()?;
    let stability = Stability::from_number(reader.u32()?)?;
    Ok(Ok(WriteResult { count, stability, verifier: reader.verifier()? }))
}

/// Reads the results of COMMIT: the server's verifier.
///
/// # Errors
/// `Short`; `Malformed`.
pub fn read_commit(reader: &mut XdrReader<'_>) -> Result<std::result::Result<WriteVerifier, Status>> {
    let status = Status(reader.u32()?);
    read_change(reader)?;
    if status.is_ok() { reader.verifier().map(Ok) } else { Ok(Err(status)) }
}
