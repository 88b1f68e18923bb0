//! Where the next cells are best spent: the segment, operation and block at which the verdict turns.

use crate::diagnose::diagnose_cells;
use crate::view::View;
use narrows_model::{Bytes, Op, Segment, Summary};

/// What is worth measuring more closely: with more clients, one more connection, one more depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspect {
    /// The segment that the verdict names so far.
    pub segment: Segment,
    /// The operation under which it does.
    pub op: Op,
    /// The block size.
    pub block_bytes: Bytes,
    /// Requests that one worker kept in flight there.
    pub queue_depth: u32,
}

/// The suspect of the regime that matters most; `None` when nothing of the path was measured.
#[must_use]
pub fn refinement(summary: &Summary) -> Option<Suspect> {
    let (_, by_cell) = diagnose_cells(summary);
    let view = View::of(summary);
    let cell = view.regimes().first()?.cell;
    let named = by_cell.iter().find(|(id, _)| *id == cell.id).map(|(_, segment)| *segment);
    Some(Suspect {
        segment: named.unwrap_or(Segment::Unknown),
        op: cell.op,
        block_bytes: cell.block_bytes,
        queue_depth: cell.requested.queue_depth,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin;

    #[test]
    fn the_suspect_is_what_limits_the_bulk_load() {
        let suspect = refinement(&builtin("gigabit-nfs")).unwrap();
        assert_eq!(suspect.segment, Segment::NetworkBandwidth);
        assert_eq!((suspect.block_bytes, suspect.queue_depth), (Bytes(1 << 20), 16));
    }

    #[test]
    fn without_a_path_there_is_no_suspect() {
        let mut summary = builtin("gigabit-nfs");
        summary.cells.clear();
        assert_eq!(refinement(&summary), None);
    }
}
