//! Kernel and protocol time fill the client's CPU.

use super::{Rule, SegmentVerdict, Stance};
use crate::case::{Case, Cases};
use crate::method;
use crate::method::cpu::{self, RoleCpuTest};
use crate::method::shares::{self, TimePart};
use crate::text;
use narrows_model::Segment;
use narrows_model::counters::Role;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "client-cpu-full",
    slug: "client_cpu",
    segment: Segment::ClientCpu,
    title: "the client's CPU is full",
    definition: "The client uses all of the CPU available to it for system calls, copies and protocol, while the \
                 generator alone could issue more; a worker is one thread and can use one CPU. Kernel threads that \
                 poll for submissions spin at any load: neither their time nor their CPU is counted, and the kernel's \
                 workers for a ring count against all CPUs. A CPU that is full while a cache serves the load is \
                 neither named nor cleared. Where client and server use the same CPUs only a quota of its own group, or \
                 a smaller CPU set, that it fills is named: see host.cpu. A \
                 figure of an observation may be the share of all CPUs or that of the busiest core: one full thread \
                 limits even if other cores are idle. A share up to a tenth above 1 is rounding and counts as full; a \
                 larger one is impossible and is ignored.",
    formula: "used / min(CPUs, affinity, quota, workers x clients) >= 0.95, or throttled for a tenth of the time at \
              0.80 or more, or throttled in half of the quota's periods or more; cleared below 0.9; at one request in \
              flight: CPU and throttled time >= half of the time of one request; in a file busy / usable CPUs, \
              busiest core, or (user + system) / elapsed of one core where the number of CPUs is not given",
    source: "Utilisation law, Denning and Buzen, ACM Computing Surveys 10 (1978)",
    example: "a client with a quota of 0.25 CPUs uses 0.25 CPUs at 41 MiB/s",
    how_to_measure: Some(
        "read the client's CPU counters while it runs: `top -b -n1`, /proc/PID/stat, cpu.stat of its group",
    ),
    how_to_write: Some(
        "give cpu_ratio, cpu_cores with cpus, or user_s and system_s of the role (vmstat, sar, getrusage)",
    ),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let command = cases.view().map_or("", |_| COMMAND);
    let test = RoleCpuTest { role: Role::Client, segment: RULE.segment, command };
    let is_served = |case: &Case<'_>| case.cell().is_some_and(method::is_cached);
    let verdicts: Vec<(bool, SegmentVerdict)> = cpu::of_role(cases, test)
        .into_iter()
        .filter(|(case, verdict)| cpu::is_charged_alone(cases, case, verdict, Role::Client))
        .map(|(case, verdict)| (case, with_parts(cases, case, verdict)))
        .map(|(case, verdict)| (is_served(case) && verdict.stance == Stance::Limits, verdict))
        .collect();
    // A cache at memory speed fills the CPU by nature: the cache is named then, and whether the CPU limited it is open.
    // No other load clears it.
    let is_open = verdicts.iter().any(|(served, _)| *served);
    let decided = verdicts.into_iter().filter(|(served, _)| !served).map(|(_, verdict)| verdict);
    decided.filter(|verdict| !is_open || verdict.stance != Stance::Clears).collect()
}

/// A verdict that blames the CPU of a path on this machine, with what filled it: copies, and the file system.
fn with_parts(cases: &Cases<'_>, case: &Case<'_>, verdict: SegmentVerdict) -> SegmentVerdict {
    let view = cases.view().filter(|view| view.server().is_none() && verdict.stance == Stance::Limits);
    let Some(found) = view.zip(case.cell()).and_then(|(view, cell)| shares::parts(view, cell)) else {
        return verdict;
    };
    let is_part =
        |part: &&TimePart| matches!(part.segment, Segment::ClientMemory | Segment::ClientFilesystem);
    found.parts.iter().filter(is_part).fold(verdict, |verdict, part| {
        let text = format!("{}: {} for {} of the time", case.id, part.what, text::percent(part.share));
        verdict.with_evidence(text, part.counter, part.command)
    })
}

const COMMAND: &str = "cat /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu/*/cpu.stat; top -b -n1";

#[cfg(test)]
mod tests {
    mod of_runs {
        use super::super::*;
        use crate::Input;
        use crate::testing::{Grid, builtin, cleared, found, machine, named, plan};
        use narrows_model::Event;

        #[test]
        fn a_client_limited_to_a_quarter_of_a_cpu_is_named_first() {
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
                full.regime.starts_with("bulk")
                    && full.evidence[0].text.contains("one worker thread is full")
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
                let single = method::is_single(cell);
                if let Some(cpu) = cell.cpu.get_mut(&Role::Client).filter(|_| !single) {
                    cpu.busy_ratio = 0.99;
                }
            }
            summary
        }

        #[test]
        fn a_cpu_that_is_full_while_a_cache_serves_is_neither_named_nor_cleared_by_any_load() {
            let stances = |summary: &narrows_model::Summary| -> Vec<Stance> {
                run(&Cases::of_run(summary)).iter().map(|verdict| verdict.stance).collect()
            };
            assert_eq!(stances(&full_in_bulk(0.01)), []);
            let missed = stances(&full_in_bulk(1.0));
            assert!(missed.contains(&Stance::Limits) && missed.contains(&Stance::Clears), "{missed:?}");
        }
    }

    mod of_files {
        use super::super::*;
        use crate::testing::observed::{cleared, first, read};

        fn observations(cpu: &str) -> narrows_model::Observations {
            read(&format!("[[observation]]\nid = \"a\"\nop = \"read\"\nelapsed_s = 100\n{cpu}\n"))
        }

        #[test]
        fn a_full_cpu_limits_however_it_is_reported() {
            for (cpu, segment) in [
                ("cpu_ratio = { client = 1.0 }", Segment::ClientCpu),
                ("cpu_cores = { server = 3.9 }\ncpus = { server = 4 }", Segment::ServerCpu),
                (
                    "cpu_ratio = { server = 0.2 }\ncpu_busiest_core_ratio = { server = 0.99 }",
                    Segment::ServerCpu,
                ),
                ("cpu_ratio = { client = 1.06 }", Segment::ClientCpu),
                ("cpu_ratio = { client = 1.2 }", Segment::Unknown),
                ("user_s = { proxy = 30.3 }\nsystem_s = { proxy = 67 }", Segment::ProxyCpu),
            ] {
                assert_eq!(first(&observations(cpu)), segment, "{cpu}");
            }
        }

        #[test]
        fn a_role_that_is_all_but_full_at_one_point_of_a_sweep_is_cleared_at_none() {
            let swept = |most: f64| {
                let rows = [(4096, 0.5), (1024, 0.81), (512, most), (256, 0.8), (64, 0.6)];
                let rows: Vec<String> = rows
                    .iter()
                    .map(|(buffer, share)| {
                        let calls = 50_331_648 / buffer;
                        format!(
                            "[[observation]]\nid = \"b{buffer}\"\nop = \"send\"\nelapsed_s = {}\ncalls = {{ client = {calls} }}\n\
                             factor = {{ client_buffer_bytes = {buffer} }}\ncpu_ratio = {{ proxy = {share} }}\n",
                            1.0 + f64::from(calls) * 1e-5,
                        )
                    })
                    .collect();
                read(&rows.concat())
            };
            assert!(cleared(&swept(0.85), Segment::ProxyCpu));
            assert!(!cleared(&swept(0.94), Segment::ProxyCpu));
        }

        #[test]
        fn a_cpu_with_room_is_cleared_and_one_near_full_is_neither() {
            assert!(cleared(&observations("cpu_ratio = { server = 0.77 }"), Segment::ServerCpu));
            let near = observations("cpu_ratio = { server = 0.92 }");
            assert!(!cleared(&near, Segment::ServerCpu) && first(&near) == Segment::Unknown);
        }
    }
}
