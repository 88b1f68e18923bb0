//! A summary as the rules see it: the cells of the path by regime, the cuts at the same settings, who shares what.
//!
//! Look-ups only; every judgement is a rule's.

mod devices;
mod index;
mod proxy;
mod regime;

pub use crate::facts::{Sharing, time_per_op_s};
use crate::facts::{StripeMembers, ceiling_cut_of_path};
pub use regime::{Regime, RegimeKind};

use crate::facts::flags::{ONE_GROUP, has};
use crate::facts::network::loopback;
use narrows_model::counters::Role;
use narrows_model::engine::ProtocolProbe;
use narrows_model::server::ServerFacts;
use narrows_model::summary::{CellSummary, RoleCpu};
use narrows_model::{Cut, Segment, Summary, Target};

/// Whether a page cache is between the path's requests and the device's of this cut.
fn is_merged(cut: Cut, cell: &CellSummary) -> bool {
    let through_cache = cell.requested.access == narrows_model::workload::Access::Buffered;
    cut == Cut::LocalDevice && cell.cut == Cut::Path && through_cache
}

/// A cut's rate for a cell of the path.
#[derive(Debug, Clone, Copy)]
pub struct CutCeiling<'a> {
    /// The cut's cell.
    pub cell: &'a CellSummary,
    /// The most that the path's load moves past it: its rate, and for a mix of reads and writes as much more than a stream's as it
    /// moves in the other direction.
    pub bytes_per_s: f64,
    /// Whether it ran with the same number of requests in flight; else it is the best that the cut reached at this
    /// operation and block.
    pub same_settings: bool,
    /// Whether the rate is the best of the cut at any block and depth, because the path's requests are merged.
    pub raised: bool,
}

/// A summary with the questions that rules ask.
#[derive(Debug)]
pub struct SummaryView<'a> {
    /// The summary.
    pub summary: &'a Summary,
    /// Who shares what.
    pub sharing: Sharing,
    regimes: Vec<Regime<'a>>,
    index: index::CutIndex<'a>,
}

impl<'a> SummaryView<'a> {
    /// The view of `summary`.
    #[must_use]
    pub fn new(summary: &'a Summary) -> Self {
        let client = summary.hosts.iter().find(|host| host.roles.contains(&Role::Client));
        let server = summary.hosts.iter().find_map(|host| host.server.as_ref());
        let one_group = summary.cells.iter().any(|cell| has(cell, ONE_GROUP));
        let sharing =
            client.map_or_else(Sharing::default, |host| Sharing::new(&host.inventory, server, one_group));
        Self {
            summary,
            sharing,
            regimes: regime::regimes(&summary.cells, &summary.failed),
            index: index::CutIndex::new(&summary.cells),
        }
    }

    /// The regimes that the run measured, the one that matters most first.
    #[must_use]
    pub fn regimes(&self) -> &[Regime<'a>] {
        &self.regimes
    }

    /// The hosts of the first `clients` clients, each once; none where all clients ran on one that no command has named.
    #[must_use]
    pub fn hosts_of_clients(&self, clients: u32) -> Vec<&'a str> {
        let client = self.summary.hosts.iter().find(|host| host.roles.contains(&Role::Client));
        client.map_or_else(Vec::new, |host| host.inventory.hosts_of_clients(clients))
    }

    /// What the endpoint reported about itself; `None` for a local path.
    #[must_use]
    pub fn server(&self) -> Option<&'a ServerFacts> {
        self.summary.hosts.iter().find_map(|host| host.server.as_ref())
    }

    /// Whether the connections of the load ran over loopback, where no network is measured.
    #[must_use]
    pub fn loopback(&self) -> bool {
        loopback(&self.summary.cells)
    }

    /// Whether the load speaks a storage protocol to a server on which nothing of ours runs.
    #[must_use]
    pub fn speaks_protocol(&self) -> bool {
        matches!(self.summary.target.form(), Target::Scheme { engine, .. } if engine.declaration().stores_data)
    }

    /// Whether each request of its protocol has a connection of its own, so that more of them are more requests.
    #[must_use]
    pub fn connects_per_request(&self) -> bool {
        self.probe().is_some_and(|probe| probe.connection_per_request)
    }

    /// Whether a part of the path was measured apart from it, with any load: by a cut whose rate limits the path's, or by the
    /// requests of its own protocol.
    #[must_use]
    pub fn has_cut(&self) -> bool {
        let rated = self.summary.cells.iter().filter(|cell| cell.rate_bytes_per_s.is_some());
        let is_part = |cut: Cut| {
            // Of a protocol whose server runs nothing of ours, its own requests are the cuts.
            ceiling_cut_of_path(cut) || matches!(cut, Cut::RoundTrip | Cut::HotBlocks | Cut::EarlyPath)
        };
        rated.into_iter().any(|cell| is_part(cell.cut))
    }

    /// Whether the path is on a mount, and the export behind it was measured by itself.
    #[must_use]
    pub fn has_export(&self) -> bool {
        self.summary.cells.iter().any(|cell| cell.cut == Cut::UserClient)
    }

    /// Why the export behind the path's mount was not measured by itself; `None` where it was, and for any other path.
    #[must_use]
    pub fn export_refusal(&self) -> Option<&'a str> {
        let is_export =
            |skip: &&narrows_model::plan::SkippedCell| skip.cell.0.starts_with(Cut::UserClient.name());
        let skip = self.summary.skipped.iter().find(is_export).filter(|_| !self.has_export())?;
        Some(&skip.reason)
    }

    /// How the protocol shows where the path narrows, in its own words; `None` of any other path.
    #[must_use]
    pub fn probe(&self) -> Option<&'static ProtocolProbe> {
        match self.summary.target.form() {
            Target::Scheme { engine, .. } => engine.declaration().probe.as_ref(),
            _ => None,
        }
    }

    /// Whether there is a network between client and storage that the run could measure.
    #[must_use]
    pub fn has_network(&self) -> bool {
        (self.server().is_some() || self.speaks_protocol()) && !self.loopback()
    }

    /// The rate of `cut` for the path's `cell`: at the same settings, else the best at this operation and block; of a
    /// device below a page cache the best at any block and depth, because read-ahead and write-back merge requests.
    #[must_use]
    pub fn ceiling(&self, cut: Cut, cell: &CellSummary) -> Option<CutCeiling<'a>> {
        let found = self.index.ceiling(cut, cell).or_else(|| self.of_members(cut, cell))?;
        let best = self.best_of(cut, cell).filter(|best| *best > found.bytes_per_s && is_merged(cut, cell));
        Some(best.map_or(found, |best| CutCeiling { bytes_per_s: best, raised: true, ..found }))
    }

    /// What the storage of a stripe's members sustains together, from each of them alone; the slowest one's cell
    /// represents it.
    fn of_members(&self, cut: Cut, cell: &CellSummary) -> Option<CutCeiling<'a>> {
        let alone =
            StripeMembers::new(&self.summary.cells, cut, cell).filter(|_| cut == Cut::ServerStorage)?;
        let bytes_per_s = alone.combined_bytes_per_s();
        Some(CutCeiling { cell: alone.slowest(), bytes_per_s, same_settings: true, raised: false })
    }

    /// The best rate that `cut` reached in the direction of `cell`, whatever the block.
    #[must_use]
    pub fn best_of(&self, cut: Cut, cell: &CellSummary) -> Option<f64> {
        self.best_at_any_block(cut, cell).map(|best| best.bytes_per_s)
    }

    /// The ceiling of `cut` for `cell`, at another block where none was measured at its own: a wire passes bytes, and one
    /// request's part on it follows from any rate of it.
    pub(crate) fn ceiling_at_any_block(&self, cut: Cut, cell: &CellSummary) -> Option<CutCeiling<'a>> {
        self.ceiling(cut, cell).or_else(|| self.best_at_any_block(cut, cell))
    }

    /// The best rate that `cut` reached in the direction of `cell`, whatever the block, with its cell.
    pub(crate) fn best_at_any_block(&self, cut: Cut, cell: &CellSummary) -> Option<CutCeiling<'a>> {
        self.index.best_of(cut, cell)
    }

    /// The ceiling of the device for the path's `cell`: measured at the server where there is one, else locally.
    #[must_use]
    pub fn device_ceiling(&self, cell: &CellSummary) -> Option<CutCeiling<'a>> {
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
