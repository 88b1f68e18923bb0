//! Programs that are no part of the path use the CPUs that the load needs.

use super::{Basis, Rule, SegmentVerdict, Stance, Tier};
use crate::case::{Case, Cases};
use crate::facts::flags::{self, has};
use crate::facts::foreign::{self, is_of_others, is_robbed, takes_much, wait_shares};
use crate::method;
use crate::text;
use crate::thresholds::{DOMINANT_RATIO, FULL_RATIO, GAIN_MAX, STRONG_GAIN_RATIO};
use crate::verdict::UsedShare;
use narrows_model::Segment;
use narrows_model::diagnosis::Severity;
use narrows_model::printable::one_line;
use narrows_model::summary::{
    CellSummary, ForeignLoad, ForeignProgramLoad, ForeignResource, ForeignTransfer, MemoryStall, UsedOf,
};
use narrows_model::units::{BytesPerSec, ratio};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "foreign-load",
    slug: "foreign_load",
    segment: Segment::HostCpu,
    title: "other programs, or other virtual machines, use CPUs, a device or a link that the load needs",
    definition: "While the cell was measured, programs that are no part of the path used the CPUs of a machine of it, \
                 and the load's own threads waited for a CPU. It limits where all CPUs there were busy, the others \
                 had a quarter of them or more, the load's threads were hardly ever blocked on anything else, and \
                 without the waits it would be a quarter faster. A load that waits mostly for the network, a server or \
                 a device is disturbed, and what it waits for is named; not so one with several requests in flight whose rate \
                 stayed within 3 %. Where a quota ran out in half of its periods, \
                 the threads waited for that. Threads of the kernel count as no program. On a machine with several \
                 roles the client counts; an endpoint of another version of narrows, or of another namespace of \
                 process ids, and a FUSE mount, whose daemon cannot be distinguished from other programs, disable \
                 the count. Any other daemon of the path on the client's own machine is counted as a program of \
                 others. Bytes that the path's device or interface moved for others, a tenth or more of all and 1 MiB/s at the least, \
                 are a disturbance too; what the load itself moved is taken at its most (read-ahead, journals, headers). \
                 What a device or a link runs out of is named as ever. What a hypervisor takes (steal) counts like \
                 programs: from a quarter of the machine on, with no CPU idle, it limits loads that are mostly runnable. Where tasks \
                 waited for memory for a tenth of the time or more, mostly outside of the load's own control group, the \
                 programs with the most memory are named; waits of the own group, and where the group is not known, are a \
                 warning beside the figures alone.",
    formula: "disturbed: CPUs of others >= 0.1 x CPUs online and waiting >= 0.03 of the time, or busy >= 0.9 x and others \
              >= 0.25 x CPUs online; limits: the latter, running + waiting >= 0.9 of the time of the load's threads (0.5 at one \
              request in flight), roles added up, and 1 / (1 - waiting) >= 1.25; steal: \
              stolen >= 0.25 x CPUs online, busy + stolen >= 0.9 x, and (busy + stolen) / busy >= 1.25; memory: PSI some >= 0.1 of \
              the time, own group < half of it",
    source: "Linux, Documentation/scheduler/sched-stats.rst: time on a CPU and time waiting for one; proc(5), \
             /proc/PID/stat; accounting/psi.rst; Amdahl's law for the gain",
    example: "other programs used 1.90 of 2 CPUs: `ffmpeg` (pid 4711); the load's threads waited for a CPU for 48 % of \
              the time",
    how_to_measure: Some("nothing to do: every cell is tested; `top` shows the programs"),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let mut verdicts = cases.evaluate_cells(|_, cell| limited(cell));
    let named: Vec<String> = verdicts.iter().map(|verdict| verdict.cell.clone()).collect();
    let disturbed = |case: &&Case<'_>| {
        let is_flagged = case.cell().is_some_and(|cell| has(cell, flags::FOREIGN_LOAD));
        is_flagged && !named.iter().any(|id| id == case.id)
    };
    let describe = |case: &Case<'_>| case.cell().map(disturbances).unwrap_or_default();
    verdicts.extend(method::notes(cases.all().iter().filter(disturbed), COUNTER, describe));
    verdicts
}

const COUNTER: &str = "CPU time of all processes, the time that the load's threads waited for a CPU (schedstat), and \
                       bytes of devices and interfaces without the load's";
const COMMAND: &str = "top -b -n1; cat /proc/PID/task/*/schedstat; iotop -b -n1; cat /proc/net/dev";

/// The machine of which others used the most.
fn busiest(cell: &CellSummary) -> Option<&ForeignLoad> {
    cell.foreign_cpu.iter().max_by(|a, b| a.used_cpus.total_cmp(&b.used_cpus))
}

/// All that others did to a cell.
fn disturbances(cell: &CellSummary) -> String {
    let cpu = busiest(cell).filter(|load| load.used_cpus >= load.machine_cpus * foreign::USED_MIN_RATIO);
    let transfers = cell.foreign_transfers.iter().map(|transfer| transfer_message(cell, transfer));
    let memory = cell.memory_stalls.iter().map(|stall| stall_message(cell, stall));
    let cpu = cpu.map(|load| message(cell, load)).into_iter();
    cpu.chain(robbed(cell)).chain(transfers).chain(memory).collect::<Vec<_>>().join("; ")
}

/// What a hypervisor took from the machine from which it took the most.
fn robbed(cell: &CellSummary) -> Option<String> {
    let load = cell.foreign_cpu.iter().max_by(|a, b| a.stolen_cpus.total_cmp(&b.stolen_cpus))?;
    let is_much = load.stolen_cpus >= load.machine_cpus * foreign::USED_MIN_RATIO;
    is_much.then(|| stolen_message(cell, load))
}

fn stolen_message(cell: &CellSummary, load: &ForeignLoad) -> String {
    let roles: Vec<&str> = load.roles.iter().map(|role| role.name()).collect();
    format!(
        "{}: a hypervisor took {:.1} of the {:.0} CPUs of the {}'s machine (steal)",
        cell.id,
        load.stolen_cpus,
        load.machine_cpus,
        roles.join("'s and the "),
    )
}

/// How long tasks waited for memory, and who has it.
fn stall_message(cell: &CellSummary, stall: &MemoryStall) -> String {
    let own = match stall.own_ratio {
        Some(_) if is_of_others(stall) => "most of them outside of the load's control group",
        Some(_) => "most of them in the load's own control group, whose limit may be too small",
        None => "the load's own among them or not, which the kernel does not say",
    };
    let programs: Vec<String> = stall
        .programs
        .iter()
        .map(|one| {
            format!("`{}` (pid {}, {})", one_line(&one.name), one.pid, text::amount(one.resident_bytes))
        })
        .collect();
    format!(
        "{}: tasks of the {}'s machine waited for memory for {} of the time, {own}{}{}",
        cell.id,
        stall.role.name(),
        text::percent(stall.some_ratio),
        if programs.is_empty() { "" } else { "; the largest other programs: " },
        programs.join(", "),
    )
}

/// What others moved at a device or an interface.
fn transfer_message(cell: &CellSummary, transfer: &ForeignTransfer) -> String {
    let resource = match transfer.resource {
        ForeignResource::Disk => "device",
        ForeignResource::Interface => "interface",
    };
    let rate = |rate: BytesPerSec| text::storage_rate(rate.0);
    let programs: Vec<String> = transfer
        .programs
        .iter()
        .map(|one| format!("`{}` (pid {}, {})", one_line(&one.name), one.pid, rate(one.bytes_per_s)))
        .collect();
    format!(
        "{}: others moved {} of the {} at the {}'s {resource} {}{}{}",
        cell.id,
        rate(transfer.foreign_bytes_per_s),
        rate(transfer.total_bytes_per_s),
        transfer.role.name(),
        one_line(&transfer.name),
        if programs.is_empty() { "" } else { ": " },
        programs.join(", "),
    )
}

/// The verdict on a load that others limit.
fn limited(cell: &CellSummary) -> Option<SegmentVerdict> {
    let load = cell.foreign_cpu.iter().find(|load| gain(cell, load).is_some())?;
    let verdict = SegmentVerdict::new(RULE.segment, &cell.id, Stance::Limits, Basis::State, 1.0);
    let busy = busy_ratio(load).map(|ratio| UsedShare { ratio, of: UsedOf::Capacity });
    let verdict = SegmentVerdict { used: busy, ..verdict };
    let verdict = SegmentVerdict { severity: Severity::Warning, ..verdict }.with_tier(Tier::Voids);
    let verdict = verdict.with_relief_gain(gain(cell, load).filter(|gain| *gain < GAIN_MAX));
    if programs_gain(cell, load).is_none() {
        return Some(verdict.with_evidence(stolen_message(cell, load), "steal of /proc/stat", "mpstat 1"));
    }
    Some(verdict.with_evidence(message(cell, load), COUNTER, COMMAND))
}

/// How many times as fast the load would be at most without the others; `None` where they do not limit it.
fn gain(cell: &CellSummary, load: &ForeignLoad) -> Option<f64> {
    programs_gain(cell, load).or_else(|| stolen_gain(cell, load))
}

/// The same of what a hypervisor took: with all of the CPUs that were wanted. Its threads do not see what is taken from them,
/// so that they are mostly runnable where it limits them.
fn stolen_gain(cell: &CellSummary, load: &ForeignLoad) -> Option<f64> {
    let least = if method::is_single(cell) { DOMINANT_RATIO } else { FULL_RATIO };
    wait_shares(cell, load).filter(|shares| shares.runnable >= least && is_robbed(load))?;
    let wanted_cpus = (load.busy_cpus + load.stolen_cpus).min(load.machine_cpus);
    let gain = ratio(wanted_cpus, wanted_cpus - load.stolen_cpus).unwrap_or(GAIN_MAX);
    (gain >= STRONG_GAIN_RATIO).then_some(gain)
}

/// How many times as fast the load would be at most without the other programs: without its waits, by Amdahl's law, and with
/// all CPUs that are busy now, since its own threads wait for each other too. `None` where others do not limit it.
fn programs_gain(cell: &CellSummary, load: &ForeignLoad) -> Option<f64> {
    let least = if method::is_single(cell) { DOMINANT_RATIO } else { FULL_RATIO };
    let shares = wait_shares(cell, load).filter(|shares| shares.runnable >= least)?;
    // Where roles run at the same time, their shares add up to more than all of it.
    let waiting = shares.waiting / shares.runnable.max(1.0);
    let without_waits = 1.0 / (1.0 - waiting).max(f64::EPSILON);
    let own_cpus = (load.busy_cpus - load.used_cpus).max(f64::EPSILON);
    let gain = without_waits.min(load.busy_cpus / own_cpus);
    (takes_much(load) && gain >= STRONG_GAIN_RATIO).then_some(gain)
}

/// How busy the machine was with all that ran on it.
fn busy_ratio(load: &ForeignLoad) -> Option<f64> {
    ratio(load.busy_cpus, load.machine_cpus).map(|busy| busy.min(1.0))
}

/// What the others used, and what that did to the load.
fn message(cell: &CellSummary, load: &ForeignLoad) -> String {
    let waited: Vec<String> = load
        .roles
        .iter()
        .filter_map(|role| Some((role.name(), cell.cpu.get(role)?.waiting?.waiting_ratio)))
        .map(|(role, waiting)| format!("{} of the time at the {role}", text::percent(waiting)))
        .collect();
    let programs: Vec<String> = load.programs.iter().map(named).collect();
    let busy = busy_ratio(load).map(|busy| format!(", which were {} busy", text::percent(busy)));
    format!(
        "{}: other programs used {:.1} of {:.0} CPUs{}{}{}; the load's threads waited for a CPU for {}",
        cell.id,
        load.used_cpus,
        load.machine_cpus,
        busy.unwrap_or_default(),
        if programs.is_empty() { "" } else { ": " },
        programs.join(", "),
        waited.join(" and "),
    )
}

/// A program, on one line whatever its name is.
fn named(program: &ForeignProgramLoad) -> String {
    format!("`{}` (pid {}, {})", one_line(&program.name), program.pid, text::cpus(program.used_cpus))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found, named};
    use crate::view::SummaryView;
    use narrows_model::Role;
    use narrows_model::Summary;
    use narrows_model::summary::{CpuWaiting, ForeignTransferProgram};

    /// What others do to the cells of a machine with two CPUs.
    #[derive(Clone, Copy)]
    struct Disturbance {
        used_cpus: f64,
        busy_cpus: f64,
        waiting: CpuWaiting,
        /// Share of its periods in which the client's quota ran out.
        throttled: Option<f64>,
    }

    /// Two busy loops beside a client whose one thread is never blocked, and gets half of a CPU.
    const LOOPS: Disturbance = Disturbance {
        used_cpus: 1.5,
        busy_cpus: 2.0,
        waiting: CpuWaiting { waiting_ratio: 0.49, runnable_ratio: 0.98 },
        throttled: None,
    };

    fn disturbed(name: &str, by: Disturbance) -> Summary {
        let mut summary = builtin(name);
        for cell in &mut summary.cells {
            let program =
                ForeignProgramLoad { name: "burn\u{1b}[2J".to_owned(), pid: 4711, used_cpus: by.used_cpus };
            cell.foreign_cpu = vec![ForeignLoad {
                roles: vec![Role::Client],
                machine_cpus: 2.0,
                busy_cpus: by.busy_cpus,
                used_cpus: by.used_cpus,
                stolen_cpus: 0.0,
                programs: vec![program],
            }];
            if let Some(cpu) = cell.cpu.get_mut(&Role::Client) {
                (cpu.waiting, cpu.throttled_period_ratio) = (Some(by.waiting), by.throttled);
                (cpu.busy_ratio, cpu.capacity_cpus) = (0.5, 1.0);
            }
            if crate::facts::foreign::is_disturbed(cell) {
                cell.flags.push(flags::FOREIGN_LOAD.to_owned());
            }
        }
        summary.diagnosis = crate::diagnose(&summary);
        summary
    }

    fn is_named(summary: &Summary) -> bool {
        summary.diagnosis.limiting.iter().any(|entry| entry.codes.iter().any(|code| code == RULE.code))
    }

    #[test]
    fn programs_that_take_the_cpus_of_a_load_that_waits_for_one_are_named_first_with_their_names() {
        let summary = disturbed("strong-client", LOOPS);
        assert_eq!(named(&summary, "bulk"), [Segment::HostCpu]);
        let first = &summary.diagnosis.limiting[0];
        assert_eq!(first.codes, [RULE.code]);
        let text = &first.evidence[0].text;
        assert!(
            text.contains(
                "other programs used 1.5 of 2 CPUs, which were 100 % busy: `burn\\u001b[2J` (pid 4711"
            ),
            "{text}"
        );
        assert!(text.contains("49 % of the time at the client"), "{text}");
        assert!(first.relief_gain_ratio.is_some_and(|gain| (gain - 1.96).abs() < 0.01), "{first:?}");
        // What the client used is less than what it needs: it is neither blamed nor cleared.
        assert!(!cleared(&summary, Segment::ClientCpu) && !found(&summary, "client-cpu-full"));
    }

    #[test]
    fn a_load_that_waits_for_a_full_wire_names_the_wire_with_the_finding_beside_it() {
        let waiting = CpuWaiting { waiting_ratio: 0.08, runnable_ratio: 0.15 };
        let summary = disturbed("hundred-megabit", Disturbance { used_cpus: 1.9, waiting, ..LOOPS });
        assert_eq!(named(&summary, "bulk"), [Segment::NetworkBandwidth]);
        assert!(!is_named(&summary) && found(&summary, RULE.code));
    }

    #[test]
    fn a_quota_that_runs_out_in_half_of_its_periods_is_the_limit_and_not_others() {
        let summary = disturbed("weak-client", Disturbance { throttled: Some(0.5), ..LOOPS });
        assert!(!is_named(&summary) && found(&summary, RULE.code));
        assert_eq!(named(&summary, "bulk"), [Segment::ClientCpu]);
    }

    #[test]
    fn others_on_a_machine_with_cpus_to_spare_or_with_a_few_percent_of_them_limit_nothing() {
        let short = CpuWaiting { waiting_ratio: 0.02, runnable_ratio: 0.98 };
        for (by, is_found) in [
            (Disturbance { busy_cpus: 1.7, ..LOOPS }, true),
            (Disturbance { used_cpus: 0.4, ..LOOPS }, true),
            (Disturbance { used_cpus: 0.1, ..LOOPS }, false),
            (Disturbance { waiting: short, ..LOOPS }, true),
            (Disturbance { busy_cpus: 1.7, waiting: short, ..LOOPS }, false),
        ] {
            let summary = disturbed("strong-client", by);
            assert!(!is_named(&summary), "{:?}", summary.diagnosis.limiting);
            assert_eq!(found(&summary, RULE.code), is_found, "{} {}", by.used_cpus, by.busy_cpus);
        }
        assert!(!found(&builtin("strong-client"), RULE.code));
    }

    #[test]
    fn bytes_that_a_device_moves_for_others_are_a_finding_with_their_programs_and_the_device_stays_named() {
        let plain = builtin("local-ssd");
        let mut summary = plain.clone();
        for cell in summary.cells.iter_mut().filter(|cell| cell.bytes.device.is_some()) {
            cell.foreign_transfers = vec![ForeignTransfer {
                role: Role::Client,
                resource: ForeignResource::Disk,
                name: "vdb".to_owned(),
                total_bytes_per_s: BytesPerSec(200.0 * 1_048_576.0),
                foreign_bytes_per_s: BytesPerSec(80.0 * 1_048_576.0),
                programs: vec![ForeignTransferProgram {
                    name: "rsync".to_owned(),
                    pid: 99,
                    bytes_per_s: BytesPerSec(80.0 * 1_048_576.0),
                }],
            }];
            cell.flags.push(flags::FOREIGN_LOAD.to_owned());
        }
        summary.diagnosis = crate::diagnose(&summary);
        let finding = summary.diagnosis.findings.iter().find(|finding| finding.code == RULE.code).unwrap();
        let text = &finding.evidence[0].text;
        assert!(
            text.contains(
                "others moved 80.0 MiB/s of the 200 MiB/s at the client's device vdb: `rsync` (pid 99, "
            ),
            "{text}"
        );
        assert!(!text.contains("CPUs"), "{text}");
        assert_eq!(named(&summary, "bulk"), named(&plain, "bulk"));
    }

    #[test]
    fn what_a_hypervisor_takes_from_a_load_that_needs_it_is_named_and_of_one_that_waits_it_is_a_finding() {
        let quiet = CpuWaiting { waiting_ratio: 0.0, runnable_ratio: 0.98 };
        let stolen = |stolen_cpus: f64, runnable_ratio: f64| {
            let waiting = CpuWaiting { runnable_ratio, ..quiet };
            let by = Disturbance { used_cpus: 0.0, busy_cpus: 2.0 - stolen_cpus, waiting, throttled: None };
            let mut summary = disturbed("strong-client", by);
            for cell in &mut summary.cells {
                cell.foreign_cpu[0].stolen_cpus = stolen_cpus;
                cell.flags.retain(|flag| flag != flags::FOREIGN_LOAD);
                if crate::facts::foreign::is_disturbed(cell) {
                    cell.flags.push(flags::FOREIGN_LOAD.to_owned());
                }
            }
            summary.diagnosis = crate::diagnose(&summary);
            summary
        };
        let summary = stolen(0.8, 0.98);
        assert_eq!(named(&summary, "bulk"), [Segment::HostCpu]);
        let first = &summary.diagnosis.limiting[0];
        assert!(
            first.evidence[0].text.contains("a hypervisor took 0.8 of the 2 CPUs of the client's machine")
        );
        assert!(first.relief_gain_ratio.is_some_and(|gain| (gain - 2.0 / 1.2).abs() < 0.01), "{first:?}");
        for (stolen_cpus, runnable_ratio, is_finding) in
            [(0.8, 0.2, true), (0.3, 0.98, true), (0.1, 0.98, false)]
        {
            let summary = stolen(stolen_cpus, runnable_ratio);
            assert!(!is_named(&summary), "{stolen_cpus} {runnable_ratio}");
            assert_eq!(found(&summary, RULE.code), is_finding, "{stolen_cpus} {runnable_ratio}");
        }
    }

    #[test]
    fn waits_for_memory_outside_of_the_loads_group_are_a_finding_with_the_largest_programs() {
        use narrows_model::Bytes;
        use narrows_model::counters::ForeignMemoryProgram;
        let waited = |own_ratio| {
            let mut summary = builtin("local-ssd");
            for cell in &mut summary.cells {
                cell.memory_stalls = vec![MemoryStall {
                    role: Role::Client,
                    some_ratio: 0.4,
                    full_ratio: 0.1,
                    own_ratio,
                    programs: vec![ForeignMemoryProgram {
                        name: "java".to_owned(),
                        pid: 12,
                        resident_bytes: Bytes(3 << 30),
                    }],
                }];
                if crate::facts::foreign::is_disturbed(cell) {
                    cell.flags.push(flags::FOREIGN_LOAD.to_owned());
                }
            }
            summary.diagnosis = crate::diagnose(&summary);
            summary
        };
        let summary = waited(Some(0.05));
        let finding = summary.diagnosis.findings.iter().find(|finding| finding.code == RULE.code).unwrap();
        let text = &finding.evidence[0].text;
        assert!(text.contains("waited for memory for 40 % of the time, most of them outside"), "{text}");
        assert!(text.contains("`java` (pid 12, 3.00 GiB)"), "{text}");
        // The own group's waits are those of its limit, and unknown ones nobody's.
        for own in [Some(0.35), None] {
            assert!(!found(&waited(own), RULE.code), "{own:?}");
        }
    }

    #[test]
    fn a_single_request_waits_for_others_from_half_of_its_time_on() {
        let summary = disturbed("strong-client", LOOPS);
        let view = SummaryView::new(&summary);
        let single = view.regimes().iter().map(|regime| regime.cell).find(|cell| method::is_single(cell));
        let mut cell = single.unwrap().clone();
        let mut limits = |runnable_ratio, waiting_ratio| {
            let cpu = cell.cpu.get_mut(&Role::Client).unwrap();
            cpu.waiting = Some(CpuWaiting { waiting_ratio, runnable_ratio });
            limited(&cell).is_some()
        };
        assert!(limits(0.5, 0.25) && !limits(0.4, 0.25) && !limits(0.9, 0.15));
    }
}
