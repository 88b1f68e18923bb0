//! Where in a file the blocks of one rank are: the offset of a call, and the view in which it counts.
//!
//! A file of N ranks has N parts of the same length, a multiple of the block, whatever the layout. In a view, offsets count
//! the bytes that the rank sees. Not here: calls of MPI.

use narrows_model::engine::mpiio::{MpiioFile, MpiioLayout, MpiioOptions};
use narrows_model::workload::Workload;

/// Where the blocks of one rank are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockLayout {
    kind: LayoutKind,
    rank: u64,
    count: u64,
    block_bytes: u64,
    /// Bytes that the rank may access, as its worker counts them.
    part_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LayoutKind {
    /// Offsets are those of the file.
    Whole,
    /// From the start of the rank's part on.
    Segmented,
    /// Every block in turn with the others'.
    Strided,
    /// Offsets are those of the view.
    Viewed(PieceView),
}

/// What a rank sees of each run of `count` blocks, which is a matrix of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PieceView {
    /// Whether the data type is a distributed array, and not a part of one.
    pub(super) is_distributed: bool,
    /// Rows and columns of the grid of ranks.
    pub(super) grid: [u64; 2],
    /// Rows of a block.
    pub(super) rows: u64,
    /// Bytes of a row of a block.
    pub(super) piece_bytes: u64,
}

impl BlockLayout {
    /// That of client `rank` in `load`, which accesses `part_bytes`; `exists` is a file that narrows has not made. `grid` has
    /// rows and columns of the grid of ranks.
    pub(super) fn new(load: &Workload, options: &MpiioOptions, part: RankPart, grid: [u64; 2]) -> Self {
        let count = u64::from(load.clients.max(1));
        let block_bytes = load.block_bytes.0.max(1);
        let piece_bytes = options.piece_bytes().clamp(1, block_bytes);
        let view = |is_distributed, grid| {
            LayoutKind::Viewed(PieceView {
                is_distributed,
                grid,
                rows: block_bytes / piece_bytes,
                piece_bytes,
            })
        };
        let kind = match options.layout {
            _ if part.exists || options.file == MpiioFile::Own => LayoutKind::Whole,
            MpiioLayout::Segmented => LayoutKind::Segmented,
            MpiioLayout::Strided => LayoutKind::Strided,
            MpiioLayout::Subarray => view(false, [1, count]),
            MpiioLayout::Darray => view(true, grid),
        };
        Self { kind, rank: u64::from(part.rank), count, block_bytes, part_bytes: part.bytes }
    }

    /// The offset of a call that accesses `length_bytes` at `offset_bytes` of the rank's part; `None` outside of it.
    pub(super) fn call_offset(&self, offset_bytes: u64, length_bytes: u32) -> Option<u64> {
        let end = offset_bytes.checked_add(u64::from(length_bytes))?;
        if end > self.part_bytes {
            return None;
        }
        match self.kind {
            LayoutKind::Whole | LayoutKind::Viewed(_) => Some(offset_bytes),
            LayoutKind::Segmented => self.rank.checked_mul(self.part_bytes)?.checked_add(offset_bytes),
            LayoutKind::Strided => {
                let (block, within) = (offset_bytes / self.block_bytes, offset_bytes % self.block_bytes);
                let turn = block.checked_mul(self.count)?.checked_add(self.rank)?;
                turn.checked_mul(self.block_bytes)?.checked_add(within)
            }
        }
    }

    /// What the rank sees of the file; `None` where that is all of it.
    pub(super) fn view(&self) -> Option<PieceView> {
        match self.kind {
            LayoutKind::Viewed(view) => Some(view),
            _ => None,
        }
    }

    /// Bytes of the file that the parts of all ranks need.
    pub(super) fn file_bytes(&self) -> u64 {
        match self.kind {
            LayoutKind::Whole => self.part_bytes,
            _ => self.part_bytes.saturating_mul(self.count),
        }
    }
}

/// What one rank accesses.
#[derive(Debug, Clone, Copy)]
pub(super) struct RankPart {
    pub(super) rank: u32,
    pub(super) bytes: u64,
    /// Whether the file is one that narrows has not made.
    pub(super) exists: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::{Bytes, EngineId};

    const BLOCK: u64 = 64;
    const PART: u64 = 256;

    fn layout(name: &str, rank: u32, clients: u32, grid: [u64; 2]) -> BlockLayout {
        let mut load = Workload {
            engine: Some(EngineId::Mpiio),
            clients,
            block_bytes: Bytes(BLOCK),
            ..Workload::default()
        };
        load.engine_options.set("layout", name);
        load.engine_options.set("piece", 16_u64);
        let options = MpiioOptions::from_workload(&load).unwrap();
        BlockLayout::new(&load, &options, RankPart { rank, bytes: PART, exists: false }, grid)
    }

    /// The byte of the file that a byte of the view is, by the definition of the data types in row-major order.
    fn viewed(layout: &BlockLayout, byte: u64) -> u64 {
        let Some(PieceView { is_distributed, grid, rows, piece_bytes }) = layout.view() else { return byte };
        assert_eq!(is_distributed, grid[0] > 1);
        let (matrix, within) = (byte / BLOCK, byte % BLOCK);
        let (row, column) = (within / piece_bytes, within % piece_bytes);
        let (tile_row, tile_column) = (layout.rank / grid[1], layout.rank % grid[1]);
        matrix * layout.count * BLOCK
            + (tile_row * rows + row) * grid[1] * piece_bytes
            + tile_column * piece_bytes
            + column
    }

    #[test]
    fn the_blocks_of_all_ranks_cover_the_file_once_in_every_layout() {
        for (name, grid) in
            [("segmented", [1, 4]), ("strided", [1, 4]), ("subarray", [1, 4]), ("darray", [2, 2])]
        {
            let mut seen = vec![0; 4 * usize::try_from(PART).unwrap()];
            for rank in 0..4 {
                let layout = layout(name, rank, 4, grid);
                assert_eq!(layout.file_bytes(), 4 * PART);
                for block in 0..PART / BLOCK {
                    let from = layout.call_offset(block * BLOCK, u32::try_from(BLOCK).unwrap()).unwrap();
                    for byte in from..from + BLOCK {
                        seen[usize::try_from(viewed(&layout, byte)).unwrap()] += 1;
                    }
                }
            }
            assert!(seen.iter().all(|count| *count == 1), "{name}: {seen:?}");
        }
    }

    #[test]
    fn blocks_are_where_each_layout_says() {
        let at = |name, offset| layout(name, 1, 4, [2, 2]).call_offset(offset, 64);
        assert_eq!(at("segmented", 64), Some(256 + 64));
        assert_eq!(at("strided", 64), Some(4 * 64 + 64));
        assert_eq!(at("subarray", 64), Some(64));
        let darray = layout("darray", 3, 4, [2, 2]);
        assert_eq!(
            [0, 16, 64].map(|byte| viewed(&darray, byte)),
            [4 * 32 + 16, 5 * 32 + 16, 256 + 4 * 32 + 16]
        );
        for name in ["segmented", "strided", "subarray", "darray"] {
            assert_eq!((at(name, 256), at(name, 200), at(name, u64::MAX)), (None, None, None), "{name}");
        }
    }

    #[test]
    fn a_file_of_one_rank_or_one_that_exists_has_the_offsets_of_its_worker() {
        let mut load = Workload { engine: Some(EngineId::Mpiio), clients: 4, ..Workload::default() };
        let part = |exists| RankPart { rank: 3, bytes: 1 << 20, exists };
        let options = MpiioOptions::from_workload(&load).unwrap();
        let existing = BlockLayout::new(&load, &options, part(true), [2, 2]);
        load.engine_options.set("file", "own");
        let options = MpiioOptions::from_workload(&load).unwrap();
        for layout in [existing, BlockLayout::new(&load, &options, part(false), [2, 2])] {
            assert_eq!((layout.call_offset(4096, 4096), layout.file_bytes()), (Some(4096), 1 << 20));
            assert_eq!(layout.view(), None);
        }
    }
}
