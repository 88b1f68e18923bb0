//! Whether the rings of a load could be had, tried before the load is planned.
//!
//! Not here: what a file or its device refuses, which only a request to it shows.

use std::fs::File;

use io_uring::IoUring;

use super::refusal::{buffers_advice, locked_bytes, no_memory};
use super::setup::build;
use super::{FeatureMode, Ring, RingError, RingSetup, RingSpec, entries_of, memory_of};
use crate::error::SysErrno;

/// Most rings that are made at once for a trial.
const COUNT_MAX: u64 = 1024;
/// Most memory that a trial takes up, unless one ring takes more.
const BYTES_MAX: u64 = 256 << 20;

/// What a load asks of rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingTrialSpec {
    /// Slots of each, from 1 to [`super::RING_DEPTH_MAX`].
    pub depth: u32,
    /// Bytes of each slot's block, at least 1.
    pub block_bytes: usize,
    /// Rings that there are at once, in all processes of this user together.
    pub count: u32,
    /// Requested features.
    pub setup: RingSetup,
}

/// A ring that is kept while the others are tried.
enum TrialRing {
    Bare { _ring: IoUring },
    Whole { _ring: Ring },
}

/// Tries whether this process could have such rings at once: each is set up, does one request that does nothing, and
/// registers what is required.
///
/// # Errors
/// Why there cannot be so many of them.
///
/// # Cost
/// At most 1024 rings and 256 MiB, or one ring; the rest is assumed to be available too.
pub fn try_rings(wanted: RingTrialSpec) -> Result<(), RingError> {
    let RingTrialSpec { depth, block_bytes, count, setup } = wanted;
    let (blocks_bytes, _) = memory_of(depth, block_bytes)?;
    let each_bytes = locked_bytes(entries_of(depth, setup))
        + if setup.registered_buffers == FeatureMode::Required { blocks_bytes as u64 } else { 0 };
    let tried = u64::from(count).min(COUNT_MAX).min(BYTES_MAX / each_bytes).max(1);
    let mut rings = Vec::new();
    for index in 0..tried {
        match one(wanted) {
            Ok(ring) => rings.push(ring),
            // A run may share them out among several processes, and this is one.
            Err(error) if index > 0 && is_of_descriptors(&error) => break,
            Err(error) => return Err(refusal_for_all(error, wanted, each_bytes)),
        }
    }
    Ok(())
}

fn one(wanted: RingTrialSpec) -> Result<TrialRing, RingError> {
    let RingTrialSpec { depth, block_bytes, setup, .. } = wanted;
    let only = |mode| if mode == FeatureMode::Required { mode } else { FeatureMode::Off };
    let required = RingSetup {
        registered_buffers: only(setup.registered_buffers),
        registered_files: only(setup.registered_files),
        ..setup
    };
    if [required.registered_buffers, required.registered_files] == [FeatureMode::Off; 2] {
        return Ok(TrialRing::Bare { _ring: build(entries_of(depth, setup), setup)?.0 });
    }
    let file = rustix::fs::memfd_create("narrows-trial", rustix::fs::MemfdFlags::CLOEXEC)
        .map_err(|errno| SysErrno::from(errno).during("make", "a file in memory"))?;
    // Without registered buffers none is needed at all, and a block has a byte at least.
    let block_bytes = if required.registered_buffers == FeatureMode::Off { 1 } else { block_bytes };
    let spec = RingSpec { depth, block_bytes, seed: 0, files: vec![File::from(file)], setup: required };
    Ok(TrialRing::Whole { _ring: Ring::new(spec)? })
}

fn is_of_descriptors(error: &RingError) -> bool {
    matches!(error.errno().map(SysErrno::raw), Some(libc::EMFILE | libc::ENFILE))
}

/// The same refusal with what all rings together need.
fn refusal_for_all(error: RingError, wanted: RingTrialSpec, each_bytes: u64) -> RingError {
    if error.errno().map(SysErrno::raw) != Some(libc::ENOMEM) {
        return error;
    }
    let needed_bytes = each_bytes.saturating_mul(wanted.count.into());
    match error {
        RingError::Refused { feature, errno, .. } => {
            RingError::Refused { feature, errno, advice: buffers_advice(errno, needed_bytes) }
        }
        _ => no_memory(entries_of(wanted.depth, wanted.setup), wanted.count, needed_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(count: u32, setup: RingSetup) -> RingTrialSpec {
        RingTrialSpec { depth: 64, block_bytes: 4096, count, setup }
    }

    #[test]
    fn rings_that_this_machine_grants_are_had_with_and_without_registration() {
        let required = RingSetup {
            registered_buffers: FeatureMode::Required,
            registered_files: FeatureMode::Required,
            ..RingSetup::default()
        };
        for setup in [RingSetup::default(), required] {
            assert!(try_rings(wanted(3, setup)).is_ok());
        }
    }

    #[test]
    fn a_refusal_for_want_of_memory_reports_what_all_rings_need() {
        let one = || RingError::from(SysErrno::from_raw(libc::ENOMEM).during("set up", "a ring"));
        let words = refusal_for_all(one(), wanted(5, RingSetup::default()), 0).to_string();
        assert!(words.contains("5 io_urings of 64 entries"), "{words}");
        let refused = RingError::Refused {
            feature: "buffers",
            errno: SysErrno::from_raw(libc::ENOMEM),
            advice: String::new(),
        };
        let words = refusal_for_all(refused, wanted(5, RingSetup::default()), 64 * 4096).to_string();
        assert!(words.contains("1310720 bytes") && words.contains("ulimit -l 1280 or more"), "{words}");
    }
}
