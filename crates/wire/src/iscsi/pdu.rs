//! Where a PDU begins and ends in the stream of a connection.
//!
//! Hot path: nothing is copied but the header.

use super::digest::{DIGEST_BYTES, Digests, digest, padding};
use super::header::{BasicHeader, HEADER_BYTES};
use std::fmt;

/// Most bytes of additional header segments: a target sends none to a disk's initiator, and what it sends is passed over.
const ADDITIONAL_BYTES_MAX: usize = 255 * 4;
/// Most bytes before the data of a PDU.
pub const HEAD_BYTES_MAX: usize = HEADER_BYTES + ADDITIONAL_BYTES_MAX + DIGEST_BYTES;
/// Most bytes behind the data of a PDU.
pub const TAIL_BYTES_MAX: usize = 3 + DIGEST_BYTES;

/// Why bytes are no PDU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PduFault {
    /// A digest differs from that of what arrived: it was changed on the way.
    Digest(&'static str),
    /// It cannot be meant.
    Malformed(String),
}

impl fmt::Display for PduFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digest(part) => write!(f, "the digest of {part} is not that of what arrived"),
            Self::Malformed(why) => f.write_str(why),
        }
    }
}

/// The beginning of a PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PduHead {
    /// Its header.
    pub header: BasicHeader,
    /// Bytes before its data.
    pub head_bytes: usize,
    /// Bytes of its data.
    pub data_bytes: usize,
    /// Bytes of padding behind the data.
    pub padding_bytes: usize,
    /// Whether a digest follows.
    pub has_data_digest: bool,
}

impl PduHead {
    /// Bytes behind the data: padding and digest.
    #[must_use]
    pub fn tail_bytes(&self) -> usize {
        self.padding_bytes + if self.has_data_digest { DIGEST_BYTES } else { 0 }
    }

    /// Bytes of the whole PDU.
    #[must_use]
    pub fn whole_bytes(&self) -> usize {
        self.head_bytes + self.data_bytes + self.tail_bytes()
    }

    /// Compares the digest in `tail`, which follows `data`.
    ///
    /// # Errors
    /// The data was changed on the way.
    pub fn check_data(&self, data: &[u8], tail: &[u8]) -> Result<(), PduFault> {
        if !self.has_data_digest {
            return Ok(());
        }
        let Some((pad, sent)) = tail.split_at_checked(self.padding_bytes) else {
            return Err(PduFault::Digest("data"));
        };
        if sent.get(..DIGEST_BYTES) == Some(&digest(&[data, pad])[..]) {
            Ok(())
        } else {
            Err(PduFault::Digest("data"))
        }
    }
}

/// The beginning of the PDU at the front of `input`; `None` where more must arrive before anything can be said.
///
/// # Errors
/// A header that was changed on the way, and data of more than `data_bytes_max`.
pub fn read_head(input: &[u8], digests: Digests, data_bytes_max: usize) -> Result<Option<PduHead>, PduFault> {
    let Some((first, _)) = input.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    let header = BasicHeader(*first);
    let whole_header_bytes = HEADER_BYTES + header.additional_bytes();
    let head_bytes = whole_header_bytes + if digests.header { DIGEST_BYTES } else { 0 };
    let Some(head) = input.get(..head_bytes) else { return Ok(None) };
    if digests.header && digest(&[&head[..whole_header_bytes]])[..] != head[whole_header_bytes..] {
        return Err(PduFault::Digest("a header"));
    }
    let data_bytes = header.data_bytes();
    if data_bytes > data_bytes_max {
        return Err(PduFault::Malformed(format!(
            "a data segment of {data_bytes} bytes was announced, and no more than {data_bytes_max} are allowed"
        )));
    }
    Ok(Some(PduHead {
        header,
        head_bytes,
        data_bytes,
        padding_bytes: padding(data_bytes),
        has_data_digest: digests.data && data_bytes > 0,
    }))
}

/// A whole PDU.
#[derive(Debug, Clone, Copy)]
pub struct Pdu<'a> {
    /// Its header.
    pub header: BasicHeader,
    /// Its data, without padding.
    pub data: &'a [u8],
    /// Bytes of all of it.
    pub whole_bytes: usize,
}

/// The whole PDU that begins with `head` at the front of `input`; `None` where a part of it has not arrived.
///
/// # Errors
/// Its data was changed on the way.
pub fn whole<'a>(head: &PduHead, input: &'a [u8]) -> Result<Option<Pdu<'a>>, PduFault> {
    let whole_bytes = head.whole_bytes();
    let Some(bytes) = input.get(head.head_bytes..whole_bytes) else { return Ok(None) };
    let (data, tail) = bytes.split_at(head.data_bytes);
    head.check_data(data, tail)?;
    Ok(Some(Pdu { header: head.header, data, whole_bytes }))
}
