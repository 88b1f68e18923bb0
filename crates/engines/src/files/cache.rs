//! Bringing a file's pages in the page cache to an asked state, verified.
//!
//! Only narrows' own files and files that are read anyway; the machine's cache as a whole is never dropped.

use super::object_path::ObjectPath;
use crate::contract::OpenSpec;
use crate::error::{EngineError, ErrorKind};
use narrows_model::Bytes;
use narrows_model::workload::CacheState;
use narrows_sys::file;
use std::fs::File;
use std::io;
use std::ops::Range;

/// One reading step while a file is brought into the cache.
const WARM_STEP_BYTES: usize = 1 << 20;
/// Share of a file that may stay cached after a drop: the kernel keeps pages that are under its own hands.
pub const COLD_RESIDENT_RATIO_MAX: f64 = 0.02;

/// Brings the file at `place`, or `bytes` of a block device there, to `state` and returns the share that is cached then;
/// `None` where the file system does not report it.
pub(crate) fn bring_to(
    place: &ObjectPath,
    state: CacheState,
    bytes: Option<Range<u64>>,
) -> Result<Option<f64>, EngineError> {
    let opened = place.open_for_reading()?;
    let bytes = bytes.unwrap_or_else(|| whole(&opened));
    match state {
        // A dummy file is read once for all objects, before each is looked at.
        CacheState::AsFound | CacheState::Displaced { .. } => {}
        CacheState::Cold => drop_pages_in(&opened, &bytes)
            .map_err(|source| EngineError::from_io("drop the cache of", place.to_string(), source))?,
        CacheState::Warm => {
            warm(&opened, &bytes)
                .map_err(|source| EngineError::from_io("read", place.to_string(), source))?;
        }
    }
    let resident_ratio = resident_ratio_in(&opened, &bytes);
    match (state, resident_ratio) {
        (CacheState::Cold, Some(ratio)) if ratio > COLD_RESIDENT_RATIO_MAX => Err(EngineError::new(
            ErrorKind::Unsupported,
            "drop the cache of",
            place.to_string(),
        )
        .detail(format!("{:.0} % of the file is still cached", ratio * 100.0))
        .hint(
            "another process keeps its pages, or its file system exists only in memory; end that process, or \
                     measure on a disk, with direct access if pages stay cached",
        )),
        _ => Ok(resident_ratio),
    }
}

/// Drops the pages of `opened` from the page cache, once what was written to it is on its device.
///
/// # Errors
/// When the device does not take it, or the kernel refuses.
pub fn drop_pages(opened: &File) -> io::Result<()> {
    drop_pages_in(opened, &whole(opened))
}

/// All bytes of a file.
fn whole(opened: &File) -> Range<u64> {
    0..opened.metadata().map_or(0, |status| status.len())
}

fn drop_pages_in(opened: &File, bytes: &Range<u64>) -> io::Result<()> {
    let failed = |errno: narrows_sys::SysErrno| io::Error::from_raw_os_error(errno.raw());
    file::fdatasync(opened).map_err(failed)?;
    if bytes.start == 0 && bytes.end == whole(opened).end {
        // Up to the end, wherever it is by now.
        return file::fadvise_dontneed(opened, 0, 0).map_err(failed);
    }
    file::fadvise_dontneed(opened, bytes.start, bytes.end - bytes.start).map_err(failed)
}

fn warm(opened: &File, bytes: &Range<u64>) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    let mut buffer = vec![0; WARM_STEP_BYTES];
    let mut offset_bytes = bytes.start;
    while offset_bytes < bytes.end {
        match opened.read_at(&mut buffer, offset_bytes)? {
            0 => return Ok(()),
            read => offset_bytes += read as u64,
        }
    }
    Ok(())
}

/// The share of `opened` that is in the page cache; `None` where that is unknown, and for an empty file.
#[must_use]
pub fn resident_ratio(opened: &File) -> Option<f64> {
    resident_ratio_in(opened, &whole(opened))
}

fn resident_ratio_in(opened: &File, bytes: &Range<u64>) -> Option<f64> {
    let length = bytes.end - bytes.start;
    let resident = file::resident_bytes(opened, bytes.start, length).ok()?;
    narrows_model::units::ratio(resident as f64, length as f64)
}

/// The alignment that direct access to `opened` needs, after a check that the block size heeds it.
pub(crate) fn checked_alignment(opened: &File, spec: &OpenSpec) -> Result<Bytes, EngineError> {
    let alignment = file::direct_alignment(opened)?;
    let block = spec.workload.block_bytes.0;
    let needed = u64::from(alignment.offset_bytes.max(1));
    if block.is_multiple_of(needed) {
        return Ok(Bytes(needed));
    }
    Err(EngineError::new(ErrorKind::Unsupported, "open", spec.target.to_string())
        .detail(format!(
            "direct access needs blocks that are a multiple of {needed} bytes and {block} was requested"
        ))
        .hint("use another block size, or buffered access"))
}
