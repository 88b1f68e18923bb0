//! A summary as the rules see it: the cells of the path by regime, the cuts at the same settings, who shares what.
//!
//! Look-ups only; every judgement is a rule's.

mod devices;
mod index;
mod proxy;
mod regime;
mod sharing;
mod striped;

pub(crate) use devices::path_to;
pub(crate) use regime::is_small_block;
pub use regime::{Regime, RegimeKind};
pub use sharing::Sharing;
pub(crate) use striped::Alone;

use crate::summary::ONE_GROUP;
use narrows_model::counters::Role;
use narrows_model::server::ServerFacts;
use narrows_model::summary::{CellSummary, RoleCpu};
use narrows_model::{Bytes, Cut, Op, Segment, Summary};

/// Settings at which a cut and the path can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    reads: bool,
    block_bytes: Bytes,
    queue_depth: u64,
    clients: u32,
    /// Targets that the requests go round; 0 in memory alone, which has nothing to do with their number.
    member_count: usize,
}

impl Place {
    /// The settings of `cell`; a stream's `send` compares with a write, its `receive` with a read.
    pub(crate) fn of(cell: &CellSummary) -> Self {
        Self {
            reads: reads(cell.op),
            block_bytes: cell.block_bytes,
            queue_depth: cell.queue_depth,
            clients: cell.clients,
            member_count: if in_memory(cell.cut) { 0 } else { cell.target.members().len() },
        }
    }

    /// The same settings in memory alone.
    pub(crate) fn in_memory(self) -> Self {
        Self { member_count: 0, ..self }
    }

    /// The same settings in the other direction.
    pub(crate) fn turned(self) -> Self {
        Self { reads: !self.reads, ..self }
    }
}

/// Whether the data moves from the device towards the application.
pub(crate) fn reads(op: Op) -> bool {
    !op.moves_towards_device()
}

/// Whether a cut measures memory alone.
fn in_memory(cut: Cut) -> bool {
    matches!(cut, Cut::Generator | Cut::MemoryCopy)
}

/// Whether a cut carries requests through layers of the path, so that its rate bounds the path's.
pub(crate) fn ceiling_cut_of_path(cut: Cut) -> bool {
    matches!(cut, Cut::NetworkStream | Cut::ServerMemory | Cut::ServerStorage | Cut::LocalDevice)
}

/// Whether a page cache stands between the path's requests and the device's of this cut.
fn is_merged(cut: Cut, cell: &CellSummary) -> bool {
    let through_cache = cell.requested.access == narrows_model::workload::Access::Buffered;
    cut == Cut::LocalDevice && cell.cut == Cut::Path && through_cache
}

/// A cut's rate for a cell of the path.
#[derive(Debug, Clone, Copy)]
pub struct Ceiling<'a> {
    /// The cut's cell.
    pub cell: &'a CellSummary,
    /// Its rate.
    pub bytes_per_s: f64,
    /// Whether it ran with the same number of requests in flight; else it is the best that the cut reached at this
    /// operation and block.
    pub same_settings: bool,
    /// Whether the rate is the best of the cut at any block and depth, because the path's requests are merged.
    pub raised: bool,
}

/// A summary with the questions that rules ask.
#[derive(Debug)]
pub struct View<'a> {
    /// The summary.
    pub summary: &'a Summary,
    /// Who shares what.
    pub sharing: Sharing,
    regimes: Vec<Regime<'a>>,
    index: index::Index<'a>,
}

impl<'a> View<'a> {
    /// The view of `summary`.
    #[must_use]
    pub fn of(summary: &'a Summary) -> Self {
        let client = summary.hosts.iter().find(|host| host.roles.contains(&Role::Client));
        let server = summary.hosts.iter().find_map(|host| host.server.as_ref());
        let one_group = summary.cells.iter().any(|cell| cell.flags.iter().any(|flag| flag == ONE_GROUP));
        let sharing =
            client.map_or_else(Sharing::default, |host| Sharing::of(&host.inventory, server, one_group));
        Self {
            summary,
            sharing,
            regimes: regime::regimes(&summary.cells, &summary.failed),
            index: index::Index::of(&summary.cells),
        }
    }

    /// The regimes that the run measured, the one that matters most first.
    #[must_use]
    pub fn regimes(&self) -> &[Regime<'a>] {
        &self.regimes
    }

    /// What the endpoint told of itself; `None` for a local path.
    #[must_use]
    pub fn server(&self) -> Option<&'a ServerFacts> {
        self.summary.hosts.iter().find_map(|host| host.server.as_ref())
    }

    /// Whether the connections of the load ran over loopback, where no network is measured.
    #[must_use]
    pub fn loopback(&self) -> bool {
        crate::summary::loopback(&self.summary.cells)
    }

    /// Whether there is a network between client and storage that the run could measure.
    #[must_use]
    pub fn has_network(&self) -> bool {
        self.server().is_some() && !self.loopback()
    }

    /// The rate of `cut` for the path's `cell`: at the same settings, else the best at this operation and block; of a
    /// device below a page cache the best at any block and depth, because read-ahead and write-back merge requests.
    #[must_use]
    pub fn ceiling(&self, cut: Cut, cell: &CellSummary) -> Option<Ceiling<'a>> {
        let found = self.index.ceiling(cut, cell).or_else(|| self.of_members(cut, cell))?;
        let best = self.best_of(cut, cell).filter(|best| *best > found.bytes_per_s && is_merged(cut, cell));
        Some(best.map_or(found, |best| Ceiling { bytes_per_s: best, raised: true, ..found }))
    }

    /// What the storage of a stripe's members carries together, from each of them alone; the slowest one's cell stands
    /// for it.
    fn of_members(&self, cut: Cut, cell: &CellSummary) -> Option<Ceiling<'a>> {
        let alone = Alone::of(&self.summary.cells, cut, cell).filter(|_| cut == Cut::ServerStorage)?;
        let bytes_per_s = alone.together_bytes_per_s();
        Some(Ceiling { cell: alone.slowest(), bytes_per_s, same_settings: true, raised: false })
    }

    /// The best rate that `cut` reached in the direction of `cell`, whatever the block.
    #[must_use]
    pub fn best_of(&self, cut: Cut, cell: &CellSummary) -> Option<f64> {
        self.index.best_of(cut, cell)
    }

    /// The ceiling of the device for the path's `cell`: measured at the server where there is one, else locally.
    #[must_use]
    pub fn device_ceiling(&self, cell: &CellSummary) -> Option<Ceiling<'a>> {
        self.ceiling(Cut::ServerStorage, cell).or_else(|| self.ceiling(Cut::LocalDevice, cell))
    }

    /// CPU of one role in `cell`.
    #[must_use]
    pub fn cpu(cell: &CellSummary, role: Role) -> Option<&RoleCpu> {
        cell.cpu.get(&role)
    }

    /// Whether the segment belongs to this path.
    #[must_use]
    pub fn has(&self, segment: Segment) -> bool {
        self.summary.segments.iter().any(|known| known.id == segment)
    }

    /// The summary of one segment.
    #[must_use]
    pub fn segment(&self, segment: Segment) -> Option<&'a narrows_model::summary::SegmentSummary> {
        self.summary.segments.iter().find(|known| known.id == segment)
    }
}

/// Time of one operation in seconds at this cell, from the rate: what the requester waits, thinking apart. `None` where
/// nothing completed.
///
/// # Source
/// Interactive response time law R = N / X - Z, Denning and Buzen (1978).
#[must_use]
pub fn time_per_op_s(cell: &CellSummary) -> Option<f64> {
    let ops = cell.ops_per_s.map(|rate| rate.0).filter(|rate| *rate > 0.0)?;
    let cycle_s = cell.in_flight.configured.max(1) as f64 / ops;
    Some(cycle_s - cell.requested.think_ns.as_secs_f64()).filter(|waits_s| *waits_s > 0.0)
}
