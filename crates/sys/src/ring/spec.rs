//! What is requested of a ring, and what was granted: values without a kernel.

use std::fs::File;

/// Whether something that the machine may refuse is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeatureMode {
    /// Where it is granted.
    #[default]
    IfGranted,
    /// There is no ring without it.
    Required,
    /// It is not asked for.
    Off,
}

/// Requested features of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RingSetup {
    /// Blocks are pinned once and not for each request.
    pub registered_buffers: FeatureMode,
    /// Files are looked up once and not for each request.
    pub registered_files: FeatureMode,
    /// Completions are polled for at the device; files must be open for direct access then.
    pub completion_polling: bool,
    /// A thread of the kernel takes up what is queued.
    pub submission_polling: bool,
}

/// How a ring is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a feature of the kernel's own, granted or not")]
pub struct RingGrants {
    /// Blocks are registered.
    pub registered_buffers: bool,
    /// Files are registered.
    pub registered_files: bool,
    /// The kernel knows that one thread alone submits.
    pub single_issuer: bool,
    /// The kernel's part of completions runs when they are waited for, and at no other time.
    pub deferred_task_run: bool,
    /// The kernel's part of completions interrupts nothing; only where it is not deferred.
    pub cooperative_task_run: bool,
    /// Completions are polled for at the device.
    pub completion_polling: bool,
    /// A thread of the kernel takes up what is queued.
    pub submission_polling: bool,
}

/// What a ring is made of.
#[derive(Debug)]
pub struct RingSpec {
    /// Slots, from 1 to [`super::RING_DEPTH_MAX`].
    pub depth: u32,
    /// Bytes of each slot's block, at least 1.
    pub block_bytes: usize,
    /// Seed of the blocks' initial content, which cannot be compressed.
    pub seed: u64,
    /// The files, which requests refer to by index.
    pub files: Vec<File>,
    /// Requested features.
    pub setup: RingSetup,
}
