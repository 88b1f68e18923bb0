//! The events of a run sorted by cell: totals, rates over time, counter differences, failures.
//!
//! Bounded memory: one histogram is kept open at a time; those of earlier cells are kept in their stored form.

mod delta;
mod kinds;
mod metrics;
pub(crate) mod relay;
mod rounds;
mod series;
mod stored;

pub(crate) use delta::RoleDelta;
pub(crate) use kinds::{KindData, OpenLoopData};
pub(crate) use series::{Series, SlotRate};
pub(crate) use stored::StoredHistogram;

use narrows_model::RpcCounters;
use narrows_model::effective::Effective;
use narrows_model::event::EndReason;
use narrows_model::fault::{ErrorCount, merge_errors};
use narrows_model::plan::SkippedCell;
use narrows_model::relay::RelayPlan;
use narrows_model::server::ServerFacts;
use narrows_model::summary::ServerMetricsSummary;
use narrows_model::trial::{ClientTotals, InFlightAtEnd, IntervalSample, TrialOutput};
use narrows_model::verification::Verification;
use narrows_model::{Bytes, Cell, CellId, Event, Histogram, Inventory, Nanos, Plan};
use narrows_stats::interval::RatioTerm;
use relay::RelayTrials;
use rounds::Rounds;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Totals of one repetition.
#[derive(Debug, Clone)]
pub(crate) struct TrialTotals {
    pub complete: bool,
    pub first_done: Nanos,
    pub last_done: Nanos,
    /// When all files were synced and closed, where that was noted.
    pub ended: Option<Nanos>,
    pub op_count: u64,
    pub bytes: Bytes,
    pub response_sum_ns: f64,
}

impl TrialTotals {
    /// What it adds to all bytes and to all time.
    pub(crate) fn share(&self) -> RatioTerm {
        RatioTerm { over: self.bytes.as_f64(), under: self.last_done.as_secs_f64() }
    }
}

/// A trial of which only interval samples are known so far.
#[derive(Debug, Clone, Default)]
struct OpenTrial {
    response: Histogram,
    start_ns: Option<u64>,
    end_ns: u64,
    ops: u64,
    bytes: u64,
}

/// Everything known of one cell.
#[derive(Debug, Clone)]
pub(crate) struct CellData {
    pub cell: Cell,
    /// The trials that the figures are of.
    pub trials: BTreeMap<u32, TrialTotals>,
    /// The rounds before a steady window, which are in no figure but the errors.
    pub before: BTreeMap<u32, TrialTotals>,
    pub series: BTreeMap<u32, Series>,
    pub clients: Vec<ClientTotals>,
    pub errors: Vec<ErrorCount>,
    pub verification: Option<Verification>,
    /// Remote procedure calls, in all trials.
    pub rpc: Option<RpcCounters>,
    /// Times of the syncs that followed writes, in all trials.
    pub syncs: StoredHistogram,
    pub deltas: Vec<RoleDelta>,
    pub effective: Option<Effective>,
    pub file_bytes: Option<Bytes>,
    pub resident_ratio: Option<f64>,
    pub failure: Option<String>,
    pub kinds: Vec<KindData>,
    pub open_loop: Option<OpenLoopData>,
    pub in_flight_at_end: Option<InFlightAtEnd>,
    /// The response times of these trials.
    pub response: StoredHistogram,
    open: BTreeMap<u32, OpenTrial>,
    rounds: Rounds,
}

impl CellData {
    fn new(cell: Cell) -> Self {
        Self {
            cell,
            trials: BTreeMap::new(),
            before: BTreeMap::new(),
            series: BTreeMap::new(),
            clients: Vec::new(),
            errors: Vec::new(),
            verification: None,
            rpc: None,
            syncs: StoredHistogram::default(),
            deltas: Vec::new(),
            effective: None,
            file_bytes: None,
            resident_ratio: None,
            failure: None,
            kinds: Vec::new(),
            open_loop: None,
            in_flight_at_end: None,
            response: StoredHistogram::default(),
            open: BTreeMap::new(),
            rounds: Rounds::default(),
        }
    }

    /// A cell of which nothing is known.
    #[cfg(test)]
    pub(crate) fn nothing_yet() -> Self {
        let target = narrows_model::Target::Null { copy: false };
        let (warm_up_ns, measure_ns) = (Nanos(0), Nanos(1));
        let stop = narrows_model::Stop { warm_up_ns, measure_ns, bytes_max: None, ops_max: None };
        Self::new(Cell::new(narrows_model::Cut::Path, target, narrows_model::Workload::default(), stop))
    }

    /// Whether anything was measured or tried.
    pub(crate) fn touched(&self) -> bool {
        self.measured() || self.failure.is_some()
    }

    /// Whether anything was measured.
    pub(crate) fn measured(&self) -> bool {
        !self.trials.is_empty()
    }

    /// Whether trials that the cell's rule of repetition asks for are missing.
    pub(crate) fn missing_trials(&self) -> bool {
        let needed = self.cell.repeat.trials_min(self.cell.trials);
        (self.trials.len() as u64) < u64::from(needed)
    }

    fn interval(&mut self, sample: &IntervalSample, interval_ns: u64) {
        if !sample.measured {
            return;
        }
        self.series.entry(sample.trial).or_default().add(sample, interval_ns);
        if self.trials.contains_key(&sample.trial) {
            return;
        }
        let open = self.open.entry(sample.trial).or_default();
        open.response.merge(&sample.response);
        open.start_ns = Some(open.start_ns.map_or(sample.start_ns.0, |start| start.min(sample.start_ns.0)));
        open.end_ns = open.end_ns.max(sample.end_ns.0);
        open.ops = open.ops.saturating_add(sample.op_count);
        open.bytes = open.bytes.saturating_add(sample.bytes.0);
    }

    fn finished(&mut self, trial: &TrialOutput) {
        self.open.remove(&trial.trial);
        let totals = TrialTotals {
            complete: trial.complete,
            first_done: trial.first_done_ns,
            last_done: trial.last_done_ns,
            ended: trial.ended_ns,
            op_count: trial.op_count,
            bytes: trial.bytes,
            response_sum_ns: trial.response_sum_ns as f64,
        };
        self.trials.insert(trial.trial, totals);
        self.response.merge(&trial.response);
        kinds::add_kinds(&mut self.kinds, &trial.by_kind);
        if let Some(open_loop) = &trial.open_loop {
            self.open_loop.get_or_insert_default().add(open_loop);
        }
        if let Some(at_end) = &trial.in_flight_at_end {
            self.in_flight_at_end.get_or_insert_default().add(at_end);
        }
        merge_errors(&mut self.errors, &trial.errors);
        if let Some(syncs) = &trial.syncs {
            self.syncs.merge(syncs);
        }
        if let Some(rpc) = &trial.rpc {
            self.rpc.get_or_insert_default().add(rpc);
        }
        if let Some(verification) = &trial.verification {
            self.verification.get_or_insert_default().add(verification);
        }
        add_clients(&mut self.clients, &trial.clients);
        for pair in &trial.counters {
            let delta = RoleDelta::new(pair);
            match self.deltas.iter_mut().find(|known| known.role == delta.role) {
                Some(known) => known.add(&delta),
                None => self.deltas.push(delta),
            }
        }
        self.effective = self.effective.take().or_else(|| trial.effective.clone());
        self.file_bytes = self.file_bytes.max(Some(trial.file_bytes));
        self.resident_ratio = self.resident_ratio.or(trial.resident_ratio);
        self.note_round(trial);
    }

    /// Turns trials that never ended into totals, as far as they have samples, and keeps the steady window of rounds that
    /// reached one.
    fn close(&mut self) {
        for (index, open) in std::mem::take(&mut self.open) {
            let elapsed = Nanos(open.end_ns.saturating_sub(open.start_ns.unwrap_or(open.end_ns)));
            let totals = TrialTotals {
                complete: false,
                first_done: elapsed,
                last_done: elapsed,
                ended: None,
                op_count: open.ops,
                bytes: Bytes(open.bytes),
                response_sum_ns: open.response.mean_ns().unwrap_or(0.0) * open.response.count() as f64,
            };
            self.trials.insert(index, totals);
            self.response.merge(&open.response);
        }
        self.keep_steady_window();
    }

    /// Puts the open histograms into their stored form, a hundredth of their size.
    fn pack(&mut self) {
        self.end_rounds();
        self.response.pack();
        self.kinds.iter_mut().for_each(|kind| kind.response.pack());
        self.open_loop.iter_mut().for_each(OpenLoopData::pack);
    }
}

fn add_clients(known: &mut Vec<ClientTotals>, more: &[ClientTotals]) {
    for client in more {
        match known.iter_mut().find(|k| k.client_index == client.client_index) {
            Some(known) => known.add_trial(client),
            None => known.push(client.clone()),
        }
    }
}

/// The events of a run, sorted by cell.
#[derive(Debug)]
pub(crate) struct RunData {
    pub cells: Vec<CellData>,
    pub skipped: Vec<SkippedCell>,
    skipped_ids: HashSet<CellId>,
    pub left_out: bool,
    pub server: Option<(ServerFacts, Inventory)>,
    pub proxy: Option<(ServerFacts, Inventory)>,
    /// The server's metrics that were read around the trials.
    pub metrics: Option<ServerMetricsSummary>,
    pub end: Option<EndReason>,
    /// What ended the run before its plan.
    pub end_detail: Option<String>,
    pub relay: RelayTrials,
    index: HashMap<CellId, usize>,
    /// First measurements of cells that were measured again.
    earlier: BTreeMap<CellId, CellData>,
    open: Option<usize>,
    interval_ns: u64,
}

impl RunData {
    /// The planned cells, of which nothing is known yet.
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut collected = Self {
            cells: Vec::new(),
            skipped: Vec::new(),
            skipped_ids: HashSet::new(),
            left_out: false,
            server: None,
            proxy: None,
            metrics: None,
            end: None,
            end_detail: None,
            relay: RelayTrials::default(),
            index: HashMap::new(),
            earlier: BTreeMap::new(),
            open: None,
            interval_ns: plan.interval_ns.0,
        };
        collected.extend(&plan.cells);
        collected.skip(&plan.skipped);
        collected
    }

    /// Sorts in one event.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::ServerConnected { server, inventory } => {
                // Of several servers of one load, the first one represents all.
                self.server.get_or_insert_with(|| (server.as_ref().clone(), inventory.as_ref().clone()));
            }
            Event::ProxyConnected { proxy, inventory } => {
                self.proxy.get_or_insert_with(|| (proxy.as_ref().clone(), inventory.as_ref().clone()));
            }
            Event::PlanExtended { cells, skipped } => {
                self.extend(cells);
                self.skip(skipped);
            }
            Event::Interval(sample) => {
                let interval_ns = self.interval_ns;
                if let Some(cell) = self.cell(&sample.cell) {
                    cell.interval(sample, interval_ns);
                }
            }
            Event::MetricsConnected { url } => metrics::connected(&mut self.metrics, url),
            Event::MetricsMissed { reason, .. } => metrics::missed(&mut self.metrics, reason),
            Event::TrialFinished(trial) => {
                metrics::finished(&mut self.metrics, trial);
                if let Some(cell) = self.cell(&trial.cell) {
                    cell.finished(trial);
                }
            }
            // Cells past the budget drop in the planned order, as the plan says; they are listed.
            Event::CellSkipped(skip) => self.skip(std::slice::from_ref(skip)),
            Event::CellFailed { cell, message } => {
                if let Some(cell) = self.cell(cell) {
                    cell.failure = Some(message.clone());
                }
            }
            Event::CellRepeated { cell, .. } => self.repeat(cell),
            Event::RunFinished { reason, detail, .. } => {
                self.end = Some(*reason);
                self.end_detail.clone_from(detail);
            }
            Event::RelayTrialFinished(trial) => self.relay.add(trial),
            Event::RunStarted { .. } | Event::PhaseStarted { .. } | Event::Counters(_) => {}
        }
    }

    /// Ends the collection: trials that never ended become totals, cells never reached become skips.
    pub(crate) fn close(&mut self) {
        self.cells.iter_mut().chain(self.earlier.values_mut()).for_each(CellData::close);
        self.drop_unfinished_repeats();
        let missed: Vec<SkippedCell> = self
            .cells
            .iter()
            .filter(|data| !data.touched() && !self.skipped_ids.contains(&data.cell.id))
            .map(|data| SkippedCell {
                cell: data.cell.id.clone(),
                reason: SkippedCell::NOT_REACHED.to_owned(),
            })
            .collect();
        self.left_out |= !missed.is_empty();
        self.skip(&missed);
    }

    /// Keeps the skips that are not known yet: a record's plan contains its extensions too, which its events repeat.
    fn skip(&mut self, skips: &[SkippedCell]) {
        for skip in skips {
            if self.skipped_ids.insert(skip.cell.clone()) {
                self.skipped.push(skip.clone());
            }
        }
    }

    /// Cells that were begun and failed, and why.
    pub(crate) fn failed(&self) -> Vec<SkippedCell> {
        let failure = |data: &CellData| {
            let reason = data.failure.clone()?;
            Some(SkippedCell { cell: data.cell.id.clone(), reason })
        };
        self.cells.iter().filter_map(failure).collect()
    }

    /// Whether everything planned was measured, but for what the budget dropped.
    pub(crate) fn complete(&self, relay: Option<&RelayPlan>) -> bool {
        let whole = |data: &CellData| {
            data.failure.is_none()
                && !data.missing_trials()
                && data.trials.values().chain(data.before.values()).all(|trial| trial.complete)
        };
        !self.left_out
            && matches!(self.end, Some(EndReason::Finished | EndReason::BudgetSpent))
            && self.cells.iter().filter(|data| data.touched()).all(whole)
            && relay.is_none_or(|plan| self.relay.complete(plan))
    }

    /// The first measurement of a cell that was measured again.
    pub(crate) fn earlier(&self, id: &CellId) -> Option<&CellData> {
        self.earlier.get(id)
    }

    /// Puts what is known of a cell aside: it is measured once more. A record that repeats it again has its last two.
    fn repeat(&mut self, id: &CellId) {
        let Some(data) = self.cell(id).filter(|data| data.touched()) else { return };
        let mut earlier = std::mem::replace(data, CellData::new(data.cell.clone()));
        earlier.pack();
        self.earlier.insert(id.clone(), earlier);
    }

    /// A repeat that did not come to its end leaves the first measurement as it was.
    fn drop_unfinished_repeats(&mut self) {
        let is_whole = |data: &CellData| {
            data.failure.is_none() && data.measured() && data.trials.values().all(|trial| trial.complete)
        };
        for data in &mut self.cells {
            if let Some(earlier) = self.earlier.get_mut(&data.cell.id).filter(|_| !is_whole(data)) {
                std::mem::swap(data, earlier);
                self.earlier.remove(&data.cell.id);
            }
        }
    }

    fn extend(&mut self, cells: &[Cell]) {
        for cell in cells {
            self.index.entry(cell.id.clone()).or_insert_with(|| {
                self.cells.push(CellData::new(cell.clone()));
                self.cells.len() - 1
            });
        }
    }

    fn cell(&mut self, id: &CellId) -> Option<&mut CellData> {
        let index = *self.index.get(id)?;
        if let Some(previous) = self.open.replace(index).filter(|previous| *previous != index) {
            self.cells.get_mut(previous).into_iter().for_each(CellData::pack);
        }
        self.cells.get_mut(index)
    }
}

#[cfg(test)]
mod tests;
