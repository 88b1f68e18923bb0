//! How the response times and the CPU time of each cell vary: trial by trial, and part by part of a window.
//!
//! Bounded memory: the histograms of one trial are open at a time, at most [`SLOTS_MAX`] of them; what is kept of a trial
//! are a few numbers.

use crate::collect::RoleDelta;
use narrows_model::counters::{CounterOrigin, Role};
use narrows_model::relay::RelayTrial;
use narrows_model::summary::CpuBasis;
use narrows_model::trial::{CounterPair, IntervalSample, TrialOutput};
use narrows_model::{Event, Histogram, Nanos};
use std::collections::BTreeMap;

/// The quantiles that are compared.
pub(super) const QUANTILES: [f64; 2] = [0.5, 0.99];
/// Most slots of a window that are kept apart: six for each of its parts.
const SLOTS_MAX: usize = 64;
/// Parts of a window: the fewest batches that are assessed by their correlation too (see `narrows_stats::interval`).
const PARTS: usize = 10;
/// Length of a slot to begin with, and at least.
const SLOT_NS: u64 = 50_000_000;

/// What varies in a run, by cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Repeats {
    cells: BTreeMap<String, BTreeMap<u32, TrialRepeat>>,
    open: Option<OpenWindow>,
}

/// What is kept of one trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TrialRepeat {
    /// Bytes moved.
    pub(super) bytes: f64,
    /// Operations completed.
    pub(super) ops: f64,
    /// Response times counted.
    pub(super) response_count: u64,
    /// Each of [`QUANTILES`], in nanoseconds; empty without response times.
    pub(super) quantiles_ns: Vec<f64>,
    /// The same of each part of the window; empty where it has fewer than ten slots.
    pub(super) parts: Vec<Vec<f64>>,
    /// CPU of each role.
    pub(super) cpu: BTreeMap<Role, TrialCpu>,
}

/// CPU seconds that a role used in a trial, on each reported basis that a figure may use.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TrialCpu {
    seconds: Vec<(CpuBasis, f64)>,
}

impl TrialCpu {
    /// The seconds on this basis; `None` where they were not reported.
    pub(super) fn on(&self, basis: CpuBasis) -> Option<f64> {
        self.seconds.iter().find(|(known, _)| *known == basis).map(|(_, seconds)| *seconds)
    }
}

impl Repeats {
    /// Takes the next event.
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::Interval(sample) if sample.measured => self.interval(sample),
            Event::TrialFinished(trial) => self.finished(trial),
            Event::RelayTrialFinished(trial) => self.relayed(trial),
            _ => {}
        }
    }

    /// Ends the window that is open.
    pub(super) fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.trial(&open.cell, open.trial).parts = open.window.parts();
        }
    }

    /// The trials of a cell, in their order.
    pub(super) fn trials(&self, cell: &str) -> Vec<&TrialRepeat> {
        self.cells.get(cell).map(|trials| trials.values().collect()).unwrap_or_default()
    }

    fn trial(&mut self, cell: &str, trial: u32) -> &mut TrialRepeat {
        self.cells.entry(cell.to_owned()).or_default().entry(trial).or_default()
    }

    fn interval(&mut self, sample: &IntervalSample) {
        let open = self.open.as_ref();
        if !open.is_some_and(|open| open.trial == sample.trial && open.cell == sample.cell.0) {
            self.close();
        }
        let open = self.open.get_or_insert_with(|| OpenWindow {
            cell: sample.cell.0.clone(),
            trial: sample.trial,
            window: LatencyWindow::default(),
        });
        open.window.add(sample);
    }

    fn finished(&mut self, trial: &TrialOutput) {
        let kept = self.trial(&trial.cell.0, trial.trial);
        kept.bytes = trial.bytes.as_f64();
        kept.ops = trial.op_count as f64;
        kept.response_count = trial.response.count();
        kept.quantiles_ns = quantiles(&trial.response);
        let threads: f64 = trial.clients.iter().map(|client| seconds(client.user_ns, client.system_ns)).sum();
        for pair in &trial.counters {
            let mut cpu = cpu_use(pair);
            if pair.after.role == Role::Client && !trial.clients.is_empty() {
                cpu.seconds.push((CpuBasis::Thread, threads));
            }
            kept.cpu.insert(pair.after.role, cpu);
        }
    }

    fn relayed(&mut self, trial: &RelayTrial) {
        if !trial.whole || trial.problem.is_some() {
            return;
        }
        let kept = self.trial(&trial.cell.0, trial.trial);
        kept.bytes = trial.received.as_f64();
        for role in &trial.roles {
            let used = (CpuBasis::Process, seconds(role.user_ns, role.system_ns));
            kept.cpu.insert(role.role, TrialCpu { seconds: vec![used] });
        }
    }
}

fn seconds(user: Nanos, system: Nanos) -> f64 {
    user.as_secs_f64() + system.as_secs_f64()
}

fn cpu_use(pair: &CounterPair) -> TrialCpu {
    let delta = RoleDelta::new(pair);
    let machine = match delta.origin {
        CounterOrigin::Narrows => CpuBasis::Host,
        CounterOrigin::NodeExporter => CpuBasis::Exporter,
    };
    let by_basis = [
        (machine, delta.host.map(|host| seconds(host.user_ns, host.kernel_ns()))),
        (CpuBasis::Process, delta.process.map(|process| seconds(process.user_ns, process.system_ns))),
        (CpuBasis::Cgroup, delta.cgroup.map(|group| group.usage_ns.as_secs_f64())),
    ];
    TrialCpu { seconds: by_basis.into_iter().filter_map(|(basis, used)| Some((basis, used?))).collect() }
}

fn quantiles(histogram: &Histogram) -> Vec<f64> {
    QUANTILES.iter().filter_map(|q| histogram.quantile_ns(*q)).map(|ns| ns as f64).collect()
}

/// The window of the trial that runs.
#[derive(Debug, Clone)]
struct OpenWindow {
    cell: String,
    trial: u32,
    window: LatencyWindow,
}

/// Response times over time.
#[derive(Debug, Clone, Default)]
struct LatencyWindow {
    slots: BTreeMap<u64, Histogram>,
    slot_ns: u64,
}

impl LatencyWindow {
    /// Adds a worker's interval to the slot that contains its middle.
    fn add(&mut self, sample: &IntervalSample) {
        self.slot_ns = self.slot_ns.max(SLOT_NS);
        let middle = sample.start_ns.0.midpoint(sample.end_ns.0);
        self.slots.entry(middle / self.slot_ns).or_default().merge(&sample.response);
        while self.slots.len() > SLOTS_MAX && self.slot_ns < u64::MAX / 2 {
            self.coarsen();
        }
    }

    /// Makes two neighbouring slots one.
    fn coarsen(&mut self) {
        let mut merged: BTreeMap<u64, Histogram> = BTreeMap::new();
        for (key, slot) in std::mem::take(&mut self.slots) {
            merged.entry(key / 2).or_default().merge(&slot);
        }
        self.slots = merged;
        self.slot_ns *= 2;
    }

    /// The quantiles of equal parts, the first slots left out where they do not divide; a part without response times is
    /// left out.
    fn parts(&self) -> Vec<Vec<f64>> {
        let slots: Vec<&Histogram> = self.slots.values().collect();
        let length = slots.len() / PARTS;
        if length == 0 {
            return Vec::new();
        }
        let parts = slots.get(slots.len() - length * PARTS..).unwrap_or_default().chunks_exact(length);
        let merged = parts.map(|slots| {
            let mut whole = Histogram::new();
            for slot in slots {
                whole.merge(slot);
            }
            quantiles(&whole)
        });
        merged.filter(|quantiles| quantiles.len() == QUANTILES.len()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::{Bytes, CellId};

    fn sample(trial: u32, step: u64, wait_ns: u64) -> Event {
        let mut response = Histogram::new();
        response.record_n(wait_ns, 100);
        Event::Interval(Box::new(IntervalSample {
            cell: CellId("c".into()),
            trial,
            measured: true,
            client_index: 0,
            worker_index: 0,
            start_ns: Nanos(step * 100_000_000),
            end_ns: Nanos((step + 1) * 100_000_000),
            op_count: 100,
            bytes: Bytes(100),
            error_count: 0,
            response,
        }))
    }

    #[test]
    fn a_window_has_ten_parts_in_the_order_of_time_however_long_it_is() {
        for steps in [10_u64, 19, 64, 1000] {
            let mut repeats = Repeats::default();
            (0..steps).for_each(|step| repeats.event(&sample(0, step, 1_000_000 * (step + 1))));
            repeats.close();
            let trials = repeats.trials("c");
            let medians: Vec<f64> = trials[0].parts.iter().map(|part| part[0]).collect();
            assert_eq!(medians.len(), PARTS, "{steps}");
            assert!(medians.windows(2).all(|pair| pair[0] < pair[1]), "{steps}: {medians:?}");
        }
    }

    #[test]
    fn a_window_of_nine_slots_has_no_parts_and_each_trial_has_its_own() {
        let mut repeats = Repeats::default();
        (0..9).for_each(|step| repeats.event(&sample(0, step, 1_000_000)));
        (0..10).for_each(|step| repeats.event(&sample(1, step, 1_000_000)));
        repeats.close();
        let counts: Vec<usize> = repeats.trials("c").iter().map(|trial| trial.parts.len()).collect();
        assert_eq!((counts, repeats.trials("d").len()), (vec![0, PARTS], 0));
    }
}
