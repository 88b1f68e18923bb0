//! Block devices of this machine without a file system, for the engines `psync` and `uring`: which part of one an object is,
//! and what of it a run has claimed for writing (design 0027).
//!
//! Not here: requests, which are those of any file, and what is on a device, which is found before by who asks for it.

mod known;
#[cfg(test)]
mod tests;

use crate::contract::OpenSpec;
use crate::error::{EngineError, ErrorKind};
use crate::region::{DATA_AT_BYTES, LOOK_BYTES, RegionMark, object_bytes};
use narrows_model::target::{BlockAddress, UnitClaim};
use narrows_model::{Bytes, Op, Target};
use std::fs::{File, Metadata};
use std::ops::Range;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;

pub(crate) use known::{check_number, check_same, replaced_devices};
pub use known::{know_device, known_device};

/// Whether `spec` changes what is on its target.
pub(crate) fn writes(spec: &OpenSpec) -> bool {
    spec.create || spec.workload.ops().iter().any(|share| share.op != Op::Read)
}

/// The device that `target` is; `None` of any other target.
pub(crate) fn device(target: &Target) -> Option<&BlockAddress> {
    match target {
        Target::Block(address) => Some(address),
        _ => None,
    }
}

/// The bytes of `device` that the object `name` of `spec` is: all of it, which is only read, or a part of what was claimed.
///
/// # Errors
/// When something is to be written that was not claimed.
pub(crate) fn part_of(spec: &OpenSpec, device: &BlockAddress, name: &str) -> Result<Range<u64>, EngineError> {
    match (device.claim, name) {
        (None, _) if writes(spec) => Err(refused(
            device,
            "nothing of the device was claimed for writing".to_owned(),
            "run a study with `narrows run --overwrite-device SERIAL-or-SIZE`, which claims what it needs",
        )),
        (_, "") if !writes(spec) => Ok(0..spec.object_bytes.0),
        (Some(claim), name) => object_bytes(claim, name, spec.object_bytes.0).ok_or_else(|| {
            let detail = format!("`{name}` of {} is not in what was claimed", spec.object_bytes);
            refused(device, detail, "run again")
        }),
        (None, _) => {
            Err(refused(device, "a device that was not claimed has no objects".to_owned(), "run again"))
        }
    }
}

/// Fails where the mark of `claim` is not on `opened`, or `parts` are not in what it claims.
pub(crate) fn check_claim(
    device: &BlockAddress,
    opened: &File,
    claim: UnitClaim,
    parts: &[Range<u64>],
) -> Result<(), EngineError> {
    let mut head = vec![0; usize::try_from(LOOK_BYTES).unwrap_or(4096)];
    opened
        .read_exact_at(&mut head, 0)
        .map_err(|source| EngineError::from_io("read", device.path.display().to_string(), source))?;
    let mark = RegionMark::parse(&head).filter(|mark| mark.nonce == claim.nonce);
    let mark = mark.ok_or_else(|| {
        EngineError::new(ErrorKind::Replaced, "open", device.path.display().to_string())
            .detail(
                "the mark of this run is not on it: somebody else has written there, or it is another device",
            )
            .hint("make sure that nothing else writes to it, and run again")
    })?;
    match parts.iter().find(|part| part.end > mark.end_bytes) {
        None => Ok(()),
        Some(part) => {
            let detail = format!("byte {} is beyond what was claimed, {} bytes", part.end, mark.end_bytes);
            Err(refused(device, detail, "run again"))
        }
    }
}

/// The number (`major:minor`) of the block device at `path`, which this user may read.
///
/// # Errors
/// When it cannot be opened for reading.
pub fn device_number(path: &Path) -> std::io::Result<String> {
    number_of(&File::open(path)?)
}

/// The number of the block device `opened`.
pub(crate) fn number_of(opened: &File) -> std::io::Result<String> {
    Ok(number_in(&opened.metadata()?))
}

/// The number of the device that has this status.
fn number_in(status: &Metadata) -> String {
    let number = status.rdev();
    format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number))
}

/// Bytes of a device of `length` that a run may fill.
#[must_use]
pub fn room(length: Bytes) -> Bytes {
    Bytes(length.0.saturating_sub(DATA_AT_BYTES))
}

/// Whether `opened` is a block device.
pub(crate) fn is_device(opened: &File) -> bool {
    opened.metadata().is_ok_and(|status| status.file_type().is_block_device())
}

fn refused(device: &BlockAddress, detail: String, hint: &str) -> EngineError {
    EngineError::new(ErrorKind::Unsupported, "open", device.path.display().to_string())
        .detail(detail)
        .hint(hint)
}
