//! Whether the rings of a load could be had, tried before the load is planned.
//!
//! Not here: what a file or its device refuses, which only a request to it tells.

use std::fs::File;

use io_uring::IoUring;

use super::refusal::{buffers_advice, locked_bytes, no_memory};
use super::setup::build;
use super::{Ring, RingError, RingSpec, RingWishes, Wish, entries_of, memory_of};
use crate::error::Errno;

/// Most rings that are made at once for a trial.
const COUNT_MAX: u64 = 1024;
/// Most memory that a trial takes up, unless one ring takes more.
const BYTES_MAX: u64 = 256 << 20;

/// What a load asks of rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingsWanted {
    /// Slots of each, from 1 to [`super::RING_DEPTH_MAX`].
    pub depth: u32,
    /// Bytes of each slot's block, at least 1.
    pub block_bytes: usize,
    /// Rings that there are at once, in all processes of this user together.
    pub count: u32,
    /// How they are wished to be.
    pub wishes: RingWishes,
}

/// A ring that is held for the others to be tried beside it.
enum Held {
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
/// At most 1024 rings and 256 MiB, or one ring; what lies beyond is taken to be had as well.
pub fn try_rings(wanted: RingsWanted) -> Result<(), RingError> {
    let RingsWanted { depth, block_bytes, count, wishes } = wanted;
    let (blocks_bytes, _) = memory_of(depth, block_bytes)?;
    let each_bytes = locked_bytes(entries_of(depth, wishes))
        + if wishes.registered_buffers == Wish::Required { blocks_bytes as u64 } else { 0 };
    let tried = u64::from(count).min(COUNT_MAX).min(BYTES_MAX / each_bytes).max(1);
    let mut held = Vec::new();
    for index in 0..tried {
        match one(wanted) {
            Ok(ring) => held.push(ring),
            // A run may share them out among several processes, and this is one.
            Err(error) if index > 0 && is_of_descriptors(&error) => break,
            Err(error) => return Err(of_all(error, wanted, each_bytes)),
        }
    }
    Ok(())
}

fn one(wanted: RingsWanted) -> Result<Held, RingError> {
    let RingsWanted { depth, block_bytes, wishes, .. } = wanted;
    let only = |wish| if wish == Wish::Required { wish } else { Wish::Off };
    let required = RingWishes {
        registered_buffers: only(wishes.registered_buffers),
        registered_files: only(wishes.registered_files),
        ..wishes
    };
    if [required.registered_buffers, required.registered_files] == [Wish::Off; 2] {
        return Ok(Held::Bare { _ring: build(entries_of(depth, wishes), wishes)?.0 });
    }
    let file = rustix::fs::memfd_create("narrows-trial", rustix::fs::MemfdFlags::CLOEXEC)
        .map_err(|errno| Errno::from(errno).during("make", "a file in memory"))?;
    // Without registered buffers none is needed at all, and a block has a byte at least.
    let block_bytes = if required.registered_buffers == Wish::Off { 1 } else { block_bytes };
    let spec = RingSpec { depth, block_bytes, seed: 0, files: vec![File::from(file)], wishes: required };
    Ok(Held::Whole { _ring: Ring::new(spec)? })
}

fn is_of_descriptors(error: &RingError) -> bool {
    matches!(error.errno().map(Errno::raw), Some(libc::EMFILE | libc::ENFILE))
}

/// The same refusal with what all rings together need.
fn of_all(error: RingError, wanted: RingsWanted, each_bytes: u64) -> RingError {
    if error.errno().map(Errno::raw) != Some(libc::ENOMEM) {
        return error;
    }
    let needed_bytes = each_bytes.saturating_mul(wanted.count.into());
    match error {
        RingError::Refused { feature, errno, .. } => {
            RingError::Refused { feature, errno, advice: buffers_advice(errno, needed_bytes) }
        }
        _ => no_memory(entries_of(wanted.depth, wanted.wishes), wanted.count, needed_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(count: u32, wishes: RingWishes) -> RingsWanted {
        RingsWanted { depth: 64, block_bytes: 4096, count, wishes }
    }

    #[test]
    fn rings_that_this_machine_grants_are_had_with_and_without_registration() {
        let required = RingWishes {
            registered_buffers: Wish::Required,
            registered_files: Wish::Required,
            ..RingWishes::default()
        };
        for wishes in [RingWishes::default(), required] {
            assert!(try_rings(wanted(3, wishes)).is_ok());
        }
    }

    #[test]
    fn a_refusal_for_want_of_memory_tells_what_all_rings_need() {
        let one = || RingError::from(Errno::from_raw(libc::ENOMEM).during("set up", "a ring"));
        let words = of_all(one(), wanted(5, RingWishes::default()), 0).to_string();
        assert!(words.contains("5 io_urings of 64 entries"), "{words}");
        let refused = RingError::Refused {
            feature: "buffers",
            errno: Errno::from_raw(libc::ENOMEM),
            advice: String::new(),
        };
        let words = of_all(refused, wanted(5, RingWishes::default()), 64 * 4096).to_string();
        assert!(words.contains("1310720 bytes") && words.contains("ulimit -l 1280 or more"), "{words}");
    }
}
