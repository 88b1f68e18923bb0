//! How large the test file is, and which points it is too small for.

use super::grid::Point;
use crate::request::CheckRequest;
use narrows_model::Bytes;

/// Large enough that a second of a fast device does not go round it many times, small enough to be made in seconds.
const FILE_BYTES: u64 = 256 << 20;
/// One part in so many of the free space: 5 %.
const FREE_SHARE_USUAL: u64 = 20;
/// Where a point needs more than the usual share: one part in so many is never passed.
const FREE_SHARE_MAX: u64 = 4;
/// Blocks for each request in flight, so that workers do not read the same few blocks again and again.
const BLOCKS_IN_FLIGHT_MIN: u64 = 16;

/// The test file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    /// Bytes of it that requests visit, the same at every point.
    pub(super) file_bytes: Bytes,
    limit: u64,
    existing: bool,
}

impl Extent {
    /// The file for `points`: the usual size, more where a point needs it, never more than there is room for.
    pub(super) fn of(request: &CheckRequest, points: &[Point]) -> Self {
        let free = request.free_bytes.map(|free| free.0);
        let existing = request.existing_file.map(|file| file.0);
        let limit = existing.or(free.map(|free| free / FREE_SHARE_MAX)).unwrap_or(u64::MAX);
        let usual =
            existing.or(free.map(|free| free / FREE_SHARE_USUAL)).unwrap_or(FILE_BYTES).min(FILE_BYTES);
        let fitting = || points.iter().filter(|point| need(**point) <= limit);
        let needed = fitting().map(|point| need(*point)).max().unwrap_or(0);
        let grain = fitting().map(|point| point.block.0).max().unwrap_or(1).max(1);
        Self { file_bytes: Bytes((usual / grain * grain).max(needed)), limit, existing: existing.is_some() }
    }

    /// Why a point has no room; `None` when it has.
    pub(super) fn refusal(&self, point: Point) -> Option<String> {
        let need = need(point);
        if need <= self.limit {
            return None;
        }
        let (needs, limit) = (Bytes(need), Bytes(self.limit));
        let blocks = format!("{BLOCKS_IN_FLIGHT_MIN} blocks for each of {} requests in flight", point.depth);
        Some(if self.existing {
            format!("needs {needs} ({blocks}) and the file has {limit}; name a larger file")
        } else {
            format!("needs {needs} ({blocks}) and a quarter of the free space is {limit}; free space")
        })
    }
}

/// The smallest file for a point.
pub(super) fn need(point: Point) -> u64 {
    BLOCKS_IN_FLIGHT_MIN.saturating_mul(point.block.0).saturating_mul(u64::from(point.depth))
}
