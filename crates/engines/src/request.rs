//! Requests and completions: small copies that pass between a worker and its engine.
//!
//! Hot path: no allocation after construction.

use narrows_model::Op;

/// In place of an object's number: the next object that the folder lists.
pub const OBJECT_LISTED: u32 = u32::MAX;

/// The number of one of an engine's buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot(pub u32);

/// One request. The tag comes back in its completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoRequest {
    /// The worker's own number for the request.
    pub tag: u32,
    /// What to do.
    pub op: Op,
    /// Index into the objects of the [`crate::OpenSpec`]; of a load of objects, the number of the object, or
    /// [`OBJECT_LISTED`].
    pub object: u32,
    /// Where in the object.
    pub offset_bytes: u64,
    /// How much; not above the block size the engine was opened for, but for operations on whole objects, which move
    /// it in blocks.
    pub length_bytes: u32,
    /// The buffer that contains or receives the data.
    pub slot: Slot,
}

/// A finished request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoCompletion {
    /// The request's tag.
    pub tag: u32,
    /// The bytes that it moved, or discarded (a trim); 0 for a sync. Or why it failed.
    pub result: Result<u32, Errno>,
}

/// The system's number of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(pub i32);

impl Errno {
    /// The system's name, such as `EIO`; `ERRNO_n` for a number without a known name.
    #[must_use]
    pub fn name(self) -> String {
        crate::error::errno_name(self.0)
    }
}

/// Completions of one reap, in a buffer that is reused.
#[derive(Debug, Clone)]
pub struct Completions {
    entries: Vec<IoCompletion>,
}

impl Completions {
    /// An empty buffer for up to `capacity` completions a reap.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { entries: Vec::with_capacity(capacity) }
    }

    /// Adds one completion.
    pub fn push(&mut self, completion: IoCompletion) {
        self.entries.push(completion);
    }

    /// Adds completions in their order.
    pub fn extend_from_slice(&mut self, completions: &[IoCompletion]) {
        self.entries.extend_from_slice(completions);
    }

    /// The completions since the last [`Completions::clear`], oldest first.
    #[must_use]
    pub fn as_slice(&self) -> &[IoCompletion] {
        &self.entries
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets all; the memory is kept.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_at_most_forty_bytes() {
        assert!(size_of::<IoRequest>() <= 40);
    }
}
