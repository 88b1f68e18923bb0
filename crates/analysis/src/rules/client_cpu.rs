//! Kernel and protocol time fill the client's CPU.

use super::judge;
use super::{Rule, Stance, Verdict};
use crate::view::View;
use narrows_model::Segment;
use narrows_model::counters::Role;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "client-cpu-full",
    slug: "client_cpu",
    segment: Segment::ClientCpu,
    title: "the client's CPU is full",
    definition: "The client uses what CPU it may use on system calls, copies and protocol, while the generator alone \
                 could ask for more; a worker is one thread and can use one CPU. The kernel's \
                 threads that poll for submissions spin whatever the load is: their time and their CPU count on neither side, \
                 and what its workers do for a ring counts against all CPUs. A CPU that is full while a cache serves is neither named nor cleared. Not judged where client and server use the same CPUs: see host.cpu.",
    formula: "used / min(CPUs, affinity, quota, workers x clients) >= 0.95, or held back for a tenth of the time at 0.80 or more, or the quota out in half \
              of its periods or more; at one request in flight: \
              CPU and throttled time >= half of the time of one request",
    source: "Utilisation law, Denning and Buzen, ACM Computing Surveys 10 (1978)",
    example: "a client with a quota of 0.25 CPUs uses 0.25 CPUs at 41 MiB/s",
    how_to_measure: "read the client's CPU counters while it runs: `top -b -n1`, /proc/PID/stat, cpu.stat of its group",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    if view.sharing.one_station() {
        return Vec::new();
    }
    let command = "cat /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu/*/cpu.stat; top -b -n1";
    let judged: Vec<(bool, Verdict)> = view
        .regimes()
        .iter()
        .filter_map(|regime| {
            let verdict = judge::role_cpu(RULE.segment, regime.cell, Role::Client, command)?;
            Some((judge::is_cached(regime.cell) && verdict.stance == Stance::Limits, verdict))
        })
        .collect();
    // A cache at memory speed fills the CPU by nature: the cache is named then, and whether the CPU held it back is open.
    // No other load clears it.
    let is_open = judged.iter().any(|(served, _)| *served);
    let decided = judged.into_iter().filter(|(served, _)| !served).map(|(_, verdict)| verdict);
    decided.filter(|verdict| !is_open || verdict.stance == Stance::Limits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Input;
    use crate::testing::{Grid, builtin, cleared, found, machine, named, plan};
    use narrows_model::Event;

    #[test]
    fn a_client_held_to_a_quarter_of_a_cpu_is_named_first() {
        assert_eq!(named(&builtin("weak-client"), "bulk"), [Segment::ClientCpu]);
    }

    #[test]
    fn a_worker_that_fills_its_one_thread_is_named_on_a_machine_of_many_cpus() {
        let profile = machine("ten-gigabit-nfs");
        let plan = plan(&profile, Grid::default());
        let mut events = narrows_sim::simulate(&profile, &plan).unwrap();
        for event in &mut events {
            let Event::TrialFinished(trial) = event else { continue };
            let path = trial.cell.0.starts_with("path/");
            for pair in trial.counters.iter_mut().filter(|pair| path && pair.after.role == Role::Client) {
                let elapsed = pair.after.at_ns.saturating_sub(pair.before.at_ns);
                let mut used = pair.before.process_cpu.unwrap();
                used.user_ns = used.user_ns.saturating_add(elapsed);
                pair.after.process_cpu = Some(used);
            }
        }
        let (manifest, inventory) = (crate::RunFacts::default(), narrows_sim::inventory(&profile));
        let summary =
            crate::analyse(&Input { manifest, plan: &plan, inventory: &inventory, events: &events });
        let full =
            summary.diagnosis.limiting.iter().find(|entry| entry.segment == Segment::ClientCpu).unwrap();
        assert!(
            full.regime.starts_with("bulk") && full.evidence[0].text.contains("one worker thread is full")
        );
    }

    #[test]
    fn a_client_with_cpus_to_spare_is_cleared() {
        let summary = builtin("strong-client");
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::ClientCpu));
    }

    /// A machine whose client is full at depth 16 alone, with what reached the wire of its bytes.
    fn full_in_bulk(wire_ratio: f64) -> narrows_model::Summary {
        let mut summary = builtin("strong-client");
        for cell in summary.cells.iter_mut().filter(|cell| cell.cut == narrows_model::Cut::Path) {
            let wire = narrows_model::units::round_to_u64(cell.bytes.application.as_f64() * wire_ratio);
            (cell.bytes.wire, cell.bytes.device) = (Some(narrows_model::Bytes(wire)), None);
            let single = judge::is_single(cell);
            if let Some(cpu) = cell.cpu.get_mut(&Role::Client).filter(|_| !single) {
                cpu.busy_ratio = 0.99;
            }
        }
        summary
    }

    #[test]
    fn a_cpu_that_is_full_while_a_cache_serves_is_neither_named_nor_cleared_by_any_load() {
        let stances = |summary: &narrows_model::Summary| -> Vec<Stance> {
            run(&View::of(summary)).iter().map(|verdict| verdict.stance).collect()
        };
        assert_eq!(stances(&full_in_bulk(0.01)), []);
        let missed = stances(&full_in_bulk(1.0));
        assert!(missed.contains(&Stance::Limits) && missed.contains(&Stance::Clears), "{missed:?}");
    }
}
