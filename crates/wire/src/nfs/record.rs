//! Record marking: where a reply begins and ends in the stream of a connection.
//!
//! A record is one or more fragments. One fragment is the rule, and its bytes are read where they are; several are
//! joined in memory of the reader, up to its limit.
//!
//! # Source
//! RFC 5531, section 11.

use crate::error::{Error, Result};

/// Bytes of the mark before a fragment.
pub const MARK_BYTES: usize = 4;
/// In a mark: the fragment is the last of its record.
const LAST: u32 = 1 << 31;
/// Fragments of one record: a server that sends a record of 1 MiB in pieces of a packet's size stays far below it.
const FRAGMENT_COUNT_MAX: u32 = 1 << 16;

/// The mark before a record of `bytes` in one fragment.
#[must_use]
pub fn mark(bytes: usize) -> [u8; MARK_BYTES] {
    (LAST | u32::try_from(bytes).unwrap_or(LAST - 1)).to_be_bytes()
}

/// What begins at the front of the bytes that have arrived.
#[derive(Debug, PartialEq, Eq)]
pub enum RpcRecord<'a> {
    /// A whole record.
    Whole(&'a [u8]),
    /// The beginning of a record of one fragment: nothing of it was consumed.
    Partial {
        /// What has arrived of it.
        bytes: &'a [u8],
        /// How long it is.
        record_bytes: usize,
    },
}

/// Finds records.
#[derive(Debug)]
pub struct RecordReader {
    record_bytes_max: usize,
    joined: Vec<u8>,
    /// Of a record of several fragments: how many have begun, what is missing of the present one, whether it is the last.
    fragment: Option<Fragment>,
    is_handed_out: bool,
}

#[derive(Debug, Clone, Copy)]
struct Fragment {
    count: u32,
    left_bytes: usize,
    is_last: bool,
}

impl RecordReader {
    /// A reader of records of up to `record_bytes_max`.
    #[must_use]
    pub fn new(record_bytes_max: usize) -> Self {
        Self { record_bytes_max, joined: Vec::new(), fragment: None, is_handed_out: false }
    }

    /// The next record of `input`, which is consumed as far as nothing of it is needed again; `None` where more must
    /// arrive before anything can be said.
    ///
    /// # Errors
    /// A record above the limit, or in absurdly many fragments.
    pub fn next<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Result<Option<RpcRecord<'a>>> {
        if std::mem::take(&mut self.is_handed_out) {
            self.joined.clear();
        }
        if self.fragment.is_none() {
            let Some((mark, rest)) = input.split_first_chunk::<MARK_BYTES>() else { return Ok(None) };
            let (length, is_last) = self.parse_mark(*mark)?;
            if is_last {
                return Ok(Some(match rest.split_at_checked(length) {
                    Some((record, rest)) => {
                        *input = rest;
                        RpcRecord::Whole(record)
                    }
                    None => RpcRecord::Partial { bytes: rest, record_bytes: length },
                }));
            }
        }
        Ok(if self.join(input)? { Some(RpcRecord::Whole(&self.joined)) } else { None })
    }

    /// Whether the fragments of a record have been joined wholly from `input`.
    fn join(&mut self, input: &mut &[u8]) -> Result<bool> {
        loop {
            let mut fragment = match self.fragment {
                Some(fragment) if fragment.left_bytes > 0 || fragment.is_last => fragment,
                before => {
                    let Some((mark, rest)) = input.split_first_chunk::<MARK_BYTES>() else {
                        return Ok(false);
                    };
                    let (left_bytes, is_last) = self.parse_mark(*mark)?;
                    *input = rest;
                    Fragment { count: before.map_or(0, |before| before.count) + 1, left_bytes, is_last }
                }
            };
            if fragment.count > FRAGMENT_COUNT_MAX {
                return Err(Error::protocol(format!("a reply has more than {FRAGMENT_COUNT_MAX} fragments")));
            }
            let (part, rest) = input.split_at(fragment.left_bytes.min(input.len()));
            self.joined.extend_from_slice(part);
            *input = rest;
            fragment.left_bytes -= part.len();
            self.fragment = Some(fragment);
            if fragment.left_bytes > 0 {
                return Ok(false);
            }
            if fragment.is_last {
                self.fragment = None;
                self.is_handed_out = true;
                return Ok(true);
            }
        }
    }

    /// The length of a fragment, and whether it is the last one.
    fn parse_mark(&self, mark: [u8; MARK_BYTES]) -> Result<(usize, bool)> {
        let mark = u32::from_be_bytes(mark);
        let length = usize::try_from(mark & !LAST).unwrap_or(usize::MAX);
        let whole = length.saturating_add(self.joined.len());
        if whole > self.record_bytes_max {
            return Err(Error::protocol(format!(
                "a reply of at least {whole} bytes was announced, and no more than {} can be meant",
                self.record_bytes_max
            )));
        }
        Ok((length, mark & LAST != 0))
    }
}
