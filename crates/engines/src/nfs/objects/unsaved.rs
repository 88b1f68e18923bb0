//! Which objects have data that the server has only in its memory, and what is kept of it until a COMMIT covers it.
//!
//! Each such object is a file of the store by an index; file handles of all others are not kept. Hot path: no allocation.

use super::super::unstable::UnstableStore;
use crate::error::EngineError;
use narrows_model::units::saturate_u32;
use narrows_wire::nfs::attributes::FileHandle;
use narrows_wire::nfs::block::{ByteRange, WriteVerifier};

/// Most writes that are kept: each COMMIT looks through all of them.
const KEPT_WRITES_MAX: u64 = 4096;
/// The number of no object.
const NO_NUMBER: u32 = u32::MAX;

/// A file with data in the server's memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnsavedFile {
    pub(super) handle: FileHandle,
    /// Writes of it in the store.
    pub(super) kept_count: u32,
}

/// An object that is written to.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenObject {
    pub(super) handle: FileHandle,
    pub(super) number: u32,
    /// Where its new bytes begin.
    pub(super) start_bytes: u64,
    pub(super) length_bytes: u32,
}

/// What the server may lose.
#[derive(Debug)]
pub(super) struct UnsavedData {
    pub(super) store: UnstableStore,
    files: Vec<UnsavedFile>,
    /// The objects that the files are, beside them: searched where one is deleted.
    numbers: Vec<u32>,
    free: Vec<u32>,
    /// The file that is written to at present.
    current: Option<u32>,
    pub(super) verifier: Option<WriteVerifier>,
    /// A connection was made again: a COMMIT shows whether the server has restarted.
    pub(super) needs_probe: bool,
    /// The verifier has changed while data of another one is kept.
    pub(super) needs_rewrite: bool,
    pub(super) is_recovering: bool,
}

impl UnsavedData {
    /// Room for about `keep_bytes` of writes of up to `write_bytes`.
    pub(super) fn new(keep_bytes: u64, write_bytes: u64) -> Result<Self, EngineError> {
        let keep_bytes = keep_bytes.min(write_bytes.saturating_mul(KEPT_WRITES_MAX));
        let capacity = usize::try_from(KEPT_WRITES_MAX + 1).unwrap_or(0);
        Ok(Self {
            store: UnstableStore::new(keep_bytes, write_bytes, 1)?,
            files: Vec::with_capacity(capacity),
            numbers: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
            current: None,
            verifier: None,
            needs_probe: false,
            needs_rewrite: false,
            is_recovering: false,
        })
    }

    /// Whether anything has to be written again, or may have to be.
    pub(super) fn needs_recovery(&self) -> bool {
        self.needs_probe || self.needs_rewrite
    }

    /// Begins to write to a file; its index.
    pub(super) fn begin(&mut self, object: &WrittenObject) -> u32 {
        let file = UnsavedFile { handle: object.handle, kept_count: 0 };
        let index = if let Some(index) = self.free.pop() {
            (self.files[index as usize], self.numbers[index as usize]) = (file, object.number);
            index
        } else {
            self.files.push(file);
            self.numbers.push(object.number);
            saturate_u32(self.files.len() as u64 - 1)
        };
        self.current = Some(index);
        index
    }

    /// Ends writing to the present file, which needs no index any more where none of its data is kept.
    pub(super) fn end(&mut self) {
        if let Some(index) = self.current.take() {
            self.free_if_saved(index);
        }
    }

    fn free_if_saved(&mut self, index: u32) {
        if self.files[index as usize].kept_count == 0 && !self.is_current(index) {
            self.numbers[index as usize] = NO_NUMBER;
            self.free.push(index);
        }
    }

    /// Notes that none of a file's data is kept any more.
    pub(super) fn note_saved(&mut self, index: u32) {
        self.files[index as usize].kept_count = 0;
        self.free_if_saved(index);
    }

    /// A file is gone, and so is all data of the object that it is.
    pub(super) fn forget(&mut self, index: u32) {
        self.forget_object(self.numbers[index as usize]);
    }

    /// The object of this number is deleted.
    pub(super) fn forget_object(&mut self, number: u32) {
        if self.store.is_empty() {
            return;
        }
        for index in 0..saturate_u32(self.numbers.len() as u64) {
            if self.numbers[index as usize] == number && self.files[index as usize].kept_count > 0 {
                self.store.forget(index);
                self.note_saved(index);
            }
        }
    }

    /// The file of this index.
    pub(super) fn file(&self, index: u32) -> UnsavedFile {
        self.files[index as usize]
    }

    /// Whether the file of this index is written to at present.
    pub(super) fn is_current(&self, index: u32) -> bool {
        self.current == Some(index)
    }

    /// Keeps an unstable write of the file `index`, whose room was reserved.
    pub(super) fn keep(&mut self, index: u32, range: ByteRange, verifier: WriteVerifier, data: &[u8]) {
        self.store.keep(index, range, verifier, data);
        self.files[index as usize].kept_count += 1;
    }
}
