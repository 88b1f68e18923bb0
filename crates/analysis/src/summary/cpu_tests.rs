//! CPU in windows of few clock ticks: what is reported, and how the rules use it.

use crate::testing::{Grid, cleared, found, machine, plan};
use crate::{Input, RunFacts, analyse};
use narrows_model::counters::{CounterSample, ProcessCpu, Role};
use narrows_model::summary::CpuBasis;
use narrows_model::{Event, Nanos, Segment, Summary};

const TICK_NS: u64 = 10_000_000;

/// What happened to a short trial.
#[derive(Clone, Copy)]
struct Short {
    /// Measured nanoseconds of each trial.
    window_ns: u64,
    /// Ticks that the counters of processes went up by meanwhile.
    ticks: u64,
    /// Share of the window that the load's thread ran, by its own clock; `None` where that is not reported.
    ran_ratio: Option<f64>,
}

/// A machine whose trials of one thread were that short, its processes counted in ticks.
fn measured(name: &str, short: Short) -> Summary {
    let profile = machine(name);
    let plan = plan(&profile, Grid::default());
    let mut events = narrows_sim::simulate(&profile, &plan).unwrap();
    for event in &mut events {
        let Event::TrialFinished(trial) = event else { continue };
        trial.last_done_ns = Nanos(short.window_ns);
        trial.first_done_ns = Nanos(short.window_ns);
        for client in &mut trial.clients {
            client.elapsed_ns = Nanos(short.window_ns);
            client.user_ns = Nanos(0);
            client.system_ns =
                Nanos::from_secs_f64(short.window_ns as f64 * 1e-9 * short.ran_ratio.unwrap_or(0.0));
        }
        for pair in &mut trial.counters {
            pair.after.at_ns = Nanos(pair.before.at_ns.0 + short.window_ns + 100_000);
            counted(&mut pair.before, 0);
            counted(&mut pair.after, short.ticks);
        }
    }
    let (manifest, inventory) = (RunFacts::default(), narrows_sim::inventory(&profile));
    analyse(&Input { manifest, plan: &plan, inventory: &inventory, events: &events })
}

fn counted(sample: &mut CounterSample, ticks: u64) {
    (sample.host_cpu, sample.cgroup_cpu, sample.ring_cpu) = (None, None, None);
    sample.process_cpu = Some(ProcessCpu { user_ns: Nanos(0), system_ns: Nanos(ticks * TICK_NS) });
}

fn bases(summary: &Summary, role: Role) -> Vec<Option<CpuBasis>> {
    summary.cells.iter().map(|cell| cell.cpu.get(&role).map(|cpu| cpu.basis)).collect()
}

#[test]
fn in_a_window_under_a_tick_counters_in_ticks_neither_clear_nor_blame() {
    for ticks in [0, 1] {
        let summary = measured("strong-client", Short { window_ns: 30_000, ticks, ran_ratio: None });
        for (role, segment) in [(Role::Client, Segment::ClientCpu), (Role::Server, Segment::ServerCpu)] {
            assert!(bases(&summary, role).iter().all(Option::is_none), "{role:?} {ticks}");
            assert!(!cleared(&summary, segment), "{segment} {ticks}");
            assert!(
                summary.diagnosis.limiting.iter().all(|entry| entry.segment != segment),
                "{segment} {ticks}"
            );
        }
    }
}

#[test]
fn the_clock_of_a_thread_names_a_full_one_and_clears_an_idle_one_in_any_window() {
    for window_ns in [30_000, 499_000_000] {
        let at =
            |ran_ratio| measured("strong-client", Short { window_ns, ticks: 0, ran_ratio: Some(ran_ratio) });
        let ill = at(0.99);
        assert!(found(&ill, "client-cpu-full") && !cleared(&ill, Segment::ClientCpu), "{window_ns}");
        assert!(bases(&ill, Role::Client).contains(&Some(CpuBasis::Thread)));
        let healthy = at(0.02);
        assert!(!found(&healthy, "client-cpu-full") && cleared(&healthy, Segment::ClientCpu), "{window_ns}");
    }
}

#[test]
fn fifty_ticks_are_enough_for_the_counters_of_processes() {
    let summary = measured("strong-client", Short { window_ns: 50 * TICK_NS, ticks: 1, ran_ratio: None });
    assert!(bases(&summary, Role::Client).contains(&Some(CpuBasis::Process)));
    assert!(cleared(&summary, Segment::ClientCpu));
}

#[test]
fn a_thread_that_ran_longer_than_its_window_is_not_told() {
    let summary = measured("strong-client", Short { window_ns: 30_000, ticks: 1, ran_ratio: Some(7.0) });
    assert!(bases(&summary, Role::Client).iter().flatten().next().is_none());
}
