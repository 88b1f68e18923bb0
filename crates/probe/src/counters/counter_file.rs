//! A file of `/proc` or `/sys` that stays open and is read again from its start.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::error::{ProbeError, Result};
use crate::parse::Malformed;
use crate::root::{FILE_BYTES_MAX, Root};

/// Size of the first buffer: every file read here fits on a machine of usual size.
const BUFFER_BYTES_START: usize = 16 << 10;

/// An open file.
#[derive(Debug)]
pub(super) struct CounterFile {
    path: String,
    file: File,
}

impl CounterFile {
    pub(super) fn open(root: &Root, path: &str) -> Result<Self> {
        Ok(Self { path: path.to_owned(), file: root.open(path)? })
    }

    /// The file's present content; `buffer` grows where it must and is never shrunk.
    pub(super) fn refresh<'buffer>(&self, buffer: &'buffer mut Vec<u8>) -> Result<&'buffer [u8]> {
        let mut filled = 0;
        loop {
            if filled == buffer.len() {
                if filled >= FILE_BYTES_MAX {
                    return Err(ProbeError::too_long(&self.path, FILE_BYTES_MAX));
                }
                buffer.resize((filled * 2).max(BUFFER_BYTES_START), 0);
            }
            // The kernel hands out such a file in pieces of about a page: only a read of nothing is its end.
            let offset = u64::try_from(filled).unwrap_or(u64::MAX);
            match self.file.read_at(&mut buffer[filled..], offset) {
                Ok(0) => return Ok(&buffer[..filled]),
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ProbeError::reading(&self.path, error)),
            }
        }
    }

    /// The file's present content, parsed.
    pub(super) fn parse<T>(
        &self,
        buffer: &mut Vec<u8>,
        parse: impl FnOnce(&[u8]) -> std::result::Result<T, Malformed>,
    ) -> Result<T> {
        let bytes = self.refresh(buffer)?;
        parse(bytes).map_err(|bad| ProbeError::malformed(&self.path, &bad))
    }
}
