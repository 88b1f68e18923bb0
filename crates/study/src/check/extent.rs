//! How large the test file is, and which points it is too small for.

use super::grid::GridPoint;
use crate::request::{CheckRequest, ServerKind};
use narrows_model::inventory::PathKind;
use narrows_model::plan::SkippedCell;
use narrows_model::{Bytes, Target};
use std::borrow::Cow;

/// On a path whose cache is dropped first a file is read or written once over: time bounds it, since what a device does not
/// take in the time for preparation is left out of the file. A device that moves less than 2.7 GiB/s is measured for whole
/// cells of a second and a half by so much, and one of 8 GiB/s for the half of a second below which a cell is too short.
const FILE_BYTES_ONCE: u64 = 4 << 30;
/// In memory the file is visited again and again, and takes the memory that the load needs.
const FILE_BYTES_IN_MEMORY: u64 = 1 << 30;
/// One part in so many of the memory: the file has to stay in the page cache for the cut of it, which takes half.
const MEMORY_SHARE: u64 = 4;
/// At an endpoint the file is visited again and again past the cache, and it may have to cross a slow network.
const FILE_BYTES_ENDPOINT: u64 = 256 << 20;
/// One part in so many of the free space: 5 %.
const FREE_SHARE_USUAL: u64 = 20;
/// Where a point needs more than the usual share: one part in so many is never passed.
const FREE_SHARE_MAX: u64 = 4;
/// Blocks for each request in flight, so that workers do not read the same few blocks again and again.
const BLOCKS_IN_FLIGHT_MIN: u64 = 16;

/// The test file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TestFileExtent {
    /// Bytes of it that requests visit, the same at every point.
    pub(super) file_bytes: Bytes,
    limit: u64,
    existing: bool,
}

impl TestFileExtent {
    /// The file for `points`: the usual size, more where a point needs it, never more than there is room for.
    pub(super) fn new(request: &CheckRequest, points: &[GridPoint]) -> Self {
        // The export behind a mount has files of its own, in the same room.
        let set_count = if matches!(request.export, Some(Ok(_))) { 2 } else { 1 };
        let free = request.free_bytes.map(|free| free.0 / set_count);
        let existing = request.existing_file.map(|file| file.0);
        let limit = existing.or(free.map(|free| free / FREE_SHARE_MAX)).unwrap_or(u64::MAX);
        let most = most(request);
        let usual = existing.or(free.map(|free| free / FREE_SHARE_USUAL)).unwrap_or(most).min(most);
        let fitting = || points.iter().filter(|point| need(**point) <= limit);
        let needed = fitting().map(|point| need(*point)).max().unwrap_or(0);
        let grain = fitting().map(|point| point.block.0).max().unwrap_or(1).max(1);
        Self { file_bytes: Bytes((usual / grain * grain).max(needed)), limit, existing: existing.is_some() }
    }

    /// Why a point has no room; `None` when it has.
    pub(super) fn refusal(&self, point: GridPoint) -> Option<String> {
        let need = need(point);
        if need <= self.limit {
            return None;
        }
        let (needs, limit) = (Bytes(need), Bytes(self.limit));
        let blocks = format!("{BLOCKS_IN_FLIGHT_MIN} blocks for each of {} requests in flight", point.depth);
        Some(if self.existing {
            format!("needs {needs} ({blocks}) and {}{limit}; name a larger file", SkippedCell::FILE_SIZE)
        } else {
            format!(
                "needs {needs} ({blocks}) and {}{limit}, the most that files take",
                SkippedCell::FREE_SPACE
            )
        })
    }
}

/// `request` without its export, where none of `points` has room for two sets of files: the path comes before what it is
/// compared with.
pub(super) fn within_room<'r>(request: &'r CheckRequest, points: &[GridPoint]) -> Cow<'r, CheckRequest> {
    let fits = |request: &CheckRequest| {
        let extent = TestFileExtent::new(request, points);
        points.iter().any(|point| extent.refusal(*point).is_none())
    };
    if !matches!(request.export, Some(Ok(_))) || fits(request) {
        return Cow::Borrowed(request);
    }
    let reason =
        "the free space has room for the files of the mount, but not for those of its export beside them";
    Cow::Owned(CheckRequest { export: Some(Err(reason.to_owned())), ..request.clone() })
}

/// The largest file where no point needs a larger one.
fn most(request: &CheckRequest) -> u64 {
    if through_endpoint(request) {
        return FILE_BYTES_ENDPOINT;
    }
    let in_memory = request.path_kind == Some(PathKind::Memory);
    let once = if in_memory { FILE_BYTES_IN_MEMORY } else { FILE_BYTES_ONCE };
    let of_memory = request.memory_bytes.map_or(u64::MAX, |memory| memory.0 / MEMORY_SHARE);
    once.min(of_memory.max(FILE_BYTES_ENDPOINT))
}

/// Whether requests reach the file through an endpoint, or a server of a storage protocol.
fn through_endpoint(request: &CheckRequest) -> bool {
    let self_started = request.server.as_ref().is_some_and(|server| server.kind == ServerKind::SelfStarted);
    self_started || matches!(request.target, Target::Tcp { .. } | Target::Scheme { .. })
}

/// The smallest file for a point.
pub(super) fn need(point: GridPoint) -> u64 {
    BLOCKS_IN_FLIGHT_MIN.saturating_mul(point.block.0).saturating_mul(u64::from(point.depth))
}
