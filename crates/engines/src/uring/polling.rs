//! Whether completions can be polled for at a place: tried on a file, because only a request shows it.
//!
//! In a folder a file without a name is written and read, which nobody sees; a file that exists is only read.

use crate::error::EngineError;
use crate::files::ObjectPath;
use narrows_model::capabilities::Support;
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_sys::SysErrno;
use narrows_sys::ring::{FeatureMode, Ring, RingOp, RingRequest, RingSetup, RingSpec};

/// Why a file cannot be polled.
pub(super) const NOT_POLLED: &str = "its file system or device does not support polling for completions";
/// A file that cannot be polled.
const NOT_SUPPORTED: i32 = rustix::io::Errno::OPNOTSUPP.raw_os_error();
/// Bytes of the trial, where alignment asks for no more.
const TRIAL_BYTES: u64 = 4096;
/// Longest wait for one of its requests.
const WAIT_NS: u64 = 2_000_000_000;

/// Whether polling works at `place`, which takes direct access in multiples of `alignment_bytes`; where it could not be
/// tried it is taken to work until an engine that is opened there finds that it does not.
pub(super) fn support(place: &ObjectPath, alignment_bytes: u64) -> Result<Support, EngineError> {
    let block_bytes = TRIAL_BYTES.next_multiple_of(alignment_bytes.max(1));
    let (file, ops) = match place.open_to_try(block_bytes)? {
        None => return Ok(Support::Yes),
        Some((file, true)) => (file, &[RingOp::Write, RingOp::Read][..]),
        Some((file, false)) => (file, &[RingOp::Read][..]),
    };
    let spec = RingSpec {
        depth: 1,
        block_bytes: saturate_usize(block_bytes),
        seed: 0,
        files: vec![file],
        setup: RingSetup {
            registered_buffers: FeatureMode::Off,
            registered_files: FeatureMode::Off,
            completion_polling: true,
            submission_polling: false,
        },
    };
    let mut ring = match Ring::new(spec) {
        Ok(ring) => ring,
        Err(error) => return Ok(Support::No { reason: error.to_string() }),
    };
    let refused = ops.iter().find_map(|op| one(&mut ring, *op, saturate_u32(block_bytes)));
    Ok(refused.map_or(Support::Yes, |reason| Support::No { reason }))
}

/// Why one request was refused or did not complete; `None` when it did, or failed for another reason than polling, which
/// is no word on it.
fn one(ring: &mut Ring, op: RingOp, length_bytes: u32) -> Option<String> {
    let request = RingRequest { op, slot: 0, file: 0, offset_bytes: 0, length_bytes, block_offset_bytes: 0 };
    let mut result: Option<Result<u32, SysErrno>> = None;
    let mut issue = || {
        ring.queue(&request)?;
        ring.submit()?;
        ring.wait_for(1, WAIT_NS)?;
        ring.drain(|done| result = Some(done.result));
        Ok::<(), SysErrno>(())
    };
    let issued = issue();
    match issued.and(result.unwrap_or(Ok(length_bytes))) {
        Err(errno) if errno.raw() == NOT_SUPPORTED => Some(NOT_POLLED.to_owned()),
        _ if result.is_none() => Some("a polled request did not complete".to_owned()),
        _ => None,
    }
}
