//! The points of the path, the most telling first.

use crate::request::CheckRequest;
use narrows_model::{Bytes, Op};
use std::collections::BTreeSet;

const KIB: u64 = 1 << 10;

/// Small requests cost operations, large ones bytes; the middle shows where one turns into the other.
const BLOCKS: [u64; 3] = [4 * KIB, 64 * KIB, 1024 * KIB];
const DEPTHS: [u32; 2] = [1, 16];
/// The full map doubles or quadruples from point to point, close enough to see a knee.
const BLOCKS_DEEP: [u64; 6] = [4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB, 4096 * KIB];
const DEPTHS_DEEP: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Blocks up to this size are accessed in random order, and past the page cache where that is possible: operations and
/// response times are what they are asked about. Larger ones are accessed one after the other, as bulk data is.
const RANDOM_BLOCK_MAX: u64 = 16 * KIB;

/// One point of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GridPoint {
    pub(super) op: Op,
    pub(super) block: Bytes,
    pub(super) depth: u32,
}

impl GridPoint {
    /// Whether its requests are in random order.
    pub(super) fn is_random(self) -> bool {
        self.block.0 <= RANDOM_BLOCK_MAX
    }

    /// Whether each of its requests is a write that returns once it is durable: those of an application that waits for
    /// one after the other.
    pub(super) fn is_durable_each(self) -> bool {
        self.is_random() && self.depth == 1 && self.op == Op::Write
    }
}

/// Every point that is asked for, the most telling first; reading before writing.
pub(super) fn points(request: &CheckRequest) -> Vec<GridPoint> {
    let mut shapes: Vec<(Bytes, u32)> = Vec::new();
    let blocks = blocks(request);
    for block in &blocks {
        shapes.extend(depths(request).into_iter().map(|depth| (*block, depth)));
    }
    let corners = first_loads(request);
    let largest = blocks.last().copied();
    shapes.sort_by_key(|shape| {
        let corner = corners.iter().position(|corner| *corner == Some(*shape));
        let (block, depth) = *shape;
        // After the corners: deep before shallow, and the largest block last, which its corner has shown already.
        (corner.unwrap_or(corners.len()), Some(block) == largest, u32::MAX - depth, u64::MAX - block.0)
    });
    let ops = ops(request);
    shapes
        .iter()
        .flat_map(|(block, depth)| ops.iter().map(|op| GridPoint { op: *op, block: *block, depth: *depth }))
        .collect()
}

/// Block and depth of the loads that are asked about first: bulk, one at a time, and many small requests.
pub(super) fn first_loads(request: &CheckRequest) -> [Option<(Bytes, u32)>; 3] {
    let [bulk, smallest] = corners(request);
    let (blocks, depths) = (blocks(request), depths(request));
    [bulk, smallest, blocks.first().copied().zip(depths.last().copied())]
}

/// The largest block at the deepest queue, and the smallest at the shallowest: bandwidth and latency.
pub(super) fn corners(request: &CheckRequest) -> [Option<(Bytes, u32)>; 2] {
    let (blocks, depths) = (blocks(request), depths(request));
    let corner = |block: Option<&Bytes>, depth: Option<&u32>| block.copied().zip(depth.copied());
    [corner(blocks.last(), depths.last()), corner(blocks.first(), depths.first())]
}

/// Block sizes, ascending, each once.
fn blocks(request: &CheckRequest) -> Vec<Bytes> {
    let usual = if request.deep { &BLOCKS_DEEP[..] } else { &BLOCKS[..] };
    let asked = request.blocks.clone().unwrap_or_else(|| usual.iter().copied().map(Bytes).collect());
    asked.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Depths, ascending, each once.
fn depths(request: &CheckRequest) -> Vec<u32> {
    let usual = if request.deep { &DEPTHS_DEEP[..] } else { &DEPTHS[..] };
    let asked = request.depths.clone().unwrap_or_else(|| usual.to_vec());
    asked.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Operations, reading first, each once.
fn ops(request: &CheckRequest) -> Vec<Op> {
    let asked = request.ops.clone().unwrap_or_else(|| vec![Op::Read, Op::Write]);
    asked.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Why the cap on the rate leaves nothing to measure at a point; `None` when it leaves something.
pub(super) fn rate_refusal(request: &CheckRequest, point: GridPoint) -> Option<String> {
    let cap = request.max_bytes_per_s?;
    let moved = narrows_model::units::round_to_u64(Bytes(cap).as_f64() * request.cell_seconds);
    let round = point.block.0.saturating_mul(u64::from(point.depth));
    (moved < round).then(|| {
        format!(
            "a cap of {cap} bytes/s moves {} in {} s, less than {} requests of {}; raise --max-rate or --cell-seconds",
            Bytes(moved),
            request.cell_seconds,
            point.depth,
            point.block
        )
    })
}
