//! Options of the engine `uring`: the requested features of its ring, and those that were granted.

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether something that the machine may refuse is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FeatureRequest {
    /// Where the machine grants it; what was granted is recorded.
    #[default]
    IfGranted,
    /// The cell fails where the machine does not grant it.
    Required,
    /// It is not asked for.
    Off,
}

/// Requested features of a ring.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(default)]
pub struct RingOptions {
    /// Buffers registered with the kernel, so that it need not pin their pages for each request.
    pub registered_buffers: FeatureRequest,
    /// Files registered with the kernel, so that it need not look them up for each request.
    pub registered_files: FeatureRequest,
    /// Completions are polled for at the device (`IORING_SETUP_IOPOLL`); direct access alone.
    pub completion_polling: bool,
    /// A kernel thread takes up submissions (`IORING_SETUP_SQPOLL`); it uses a CPU of its own.
    pub submission_polling: bool,
}

/// How a ring really is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[allow(clippy::struct_excessive_bools, reason = "each is a feature of the kernel's own, granted or not")]
pub struct RingFacts {
    /// Whether buffers are registered.
    pub registered_buffers: bool,
    /// Whether files are registered.
    pub registered_files: bool,
    /// Whether the kernel knows that one thread alone submits (`IORING_SETUP_SINGLE_ISSUER`).
    pub single_issuer: bool,
    /// Whether the kernel's part of completions waits for the reap (`IORING_SETUP_DEFER_TASKRUN`).
    pub deferred_task_run: bool,
    /// Whether completions are polled for at the device.
    pub completion_polling: bool,
    /// Whether a kernel thread takes up submissions.
    pub submission_polling: bool,
}
