//! Nothing on a local path is full, and its parts in series take the time.

use super::{Basis, Rule, SegmentVerdict, Stance, Tier};
use crate::case::Cases;
use crate::method::past_cache;
use crate::method::shares::{self, TimePart, TimeParts};
use crate::text;
use crate::thresholds::{
    DOMINANT_RATIO, ELIMINATED_CONFIDENCE, INFERRED_CONFIDENCE, LARGE_PART_RATIO, MOSTLY_EXPLAINED_RATIO,
};
use crate::view::SummaryView;
use narrows_model::Segment;
use narrows_model::counters::BlockTrace;
use narrows_model::summary::CellSummary;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "time-in-parts",
    slug: "time_parts",
    segment: Segment::ClientFilesystem,
    title: "the time of a load is spent in parts of the path, one after the other",
    definition: "On a path that ends on this machine no resource is full, and the time of the load's threads is known: \
                 on a CPU or ready to run, stopped by a quota, and blocked while the device served requests. Of a load with \
                 several requests in flight the device serves some while others are on a CPU: then the parts are the times in \
                 which the device, and the CPUs that the load may use, were busy, and what was busy most is named first. The time \
                 on a CPU of a load through the page cache is the copies' as far as the cut memory-copy takes it for as \
                 many bytes, and the file system's (with the system calls) for the rest; past the page cache it is the \
                 client's CPU. Behind a daemon on this machine (FUSE) the time that nothing else explains is the \
                 daemon's, with what that waits for and the device of a folder that it passes on does not explain. Behind a mount of \
                 another machine, and behind a daemon with connections to one, the smallest round trip of these connections \
                 (TCP_INFO) is the network's latency, as far as they moved the load's bytes. On a file \
                 system in memory the threads of several workers have nothing to be blocked on but its locks, and that time is the file system's, or \
                 other programs' as far as threads that were not blocked waited for these. Each part of 30 % or more is named with its share and the most that its removal gains. \
                 Where more than a fifth of the time is explained by none of them, only parts are named that are half of \
                 the time or more and twice as much as that rest, with a confidence of 60 % at most. The device is its \
                 bandwidth where the bytes that it moved while it was busy come to what it reaches alone. A file system \
                 whose part is below 30 % is cleared.",
    formula: "part / time of the load's threads >= 0.3, all parts together >= 0.8, or part >= 0.5 and >= 2 x (1 - all parts); gain <= 1 / (1 - part); several in \
              flight: busy time / time >= 0.3, 1 - (1 - device) x (1 - CPUs) >= 0.8 unless the threads' time is explained, gain <= 1 / \
              (busy time of the other); copies: \
              CPU seconds a byte of memory-copy / CPU seconds a byte of the path",
    source: "Amdahl's law; utilisation law, Denning and Buzen (1978); Linux, Documentation/scheduler/sched-stats.rst, admin-guide/iostats (time with a request in \
             flight); service demands, ibid.",
    example: "1 MiB writes through the page cache: 64 % of the time the device served requests, 31 % was copying",
    how_to_measure: Some(
        "give a folder on this machine; the shares of a load's time are measured for every cell",
    ),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(view) = cases.view().filter(|view| view.server().is_none()) else { return Vec::new() };
    view.regimes().iter().flat_map(|regime| evaluate(view, regime.cell)).collect()
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Vec<SegmentVerdict> {
    let Some(TimeParts { parts, explained_ratio }) = shares::parts(view, cell) else { return Vec::new() };
    let is_large = |part: &&TimePart| part.share >= LARGE_PART_RATIO;
    let mut verdicts: Vec<SegmentVerdict> = Vec::new();
    if explained_ratio >= MOSTLY_EXPLAINED_RATIO {
        verdicts.extend(parts.iter().filter(is_large).map(|part| limits(view, cell, part)));
    } else {
        // Whatever the rest is, it is no more than half of a part that is most of the time.
        let least = DOMINANT_RATIO.max(2.0 * (1.0 - explained_ratio));
        let most = parts.iter().filter(|part| part.share >= least);
        verdicts.extend(most.map(|part| limits(view, cell, part).with_confidence_max(ELIMINATED_CONFIDENCE)));
    }
    verdicts.extend(
        parts
            .iter()
            .find(|part| part.segment == RULE.segment && !is_large(part))
            .map(|part| clears(cell, part)),
    );
    verdicts
}

fn limits(view: &SummaryView<'_>, cell: &CellSummary, part: &TimePart) -> SegmentVerdict {
    let verdict = verdict(cell, part, Stance::Limits)
        .with_tier(Tier::Spent)
        .with_relief_gain(part.gain_max_ratio)
        .with_confidence_max(INFERRED_CONFIDENCE);
    let is_of_cache = matches!(part.segment, Segment::ClientMemory | Segment::ClientFilesystem);
    if is_of_cache { past_cache::with_device(view, cell, verdict) } else { verdict }
}

fn clears(cell: &CellSummary, part: &TimePart) -> SegmentVerdict {
    verdict(cell, part, Stance::Clears)
}

fn verdict(cell: &CellSummary, part: &TimePart, stance: Stance) -> SegmentVerdict {
    let text = format!("{}: {} for {} of the time", cell.id, part.what, text::percent(part.share));
    let verdict = SegmentVerdict::new(part.segment, &cell.id, stance, Basis::TimeShare, part.share);
    let verdict = SegmentVerdict { scope: part.scope, ..verdict };
    let verdict = verdict.with_evidence(text, part.counter, part.command);
    match cell.daemon.as_ref().filter(|_| part.segment == Segment::ClientDaemon) {
        Some(daemon) => {
            let text = format!("{}: {}", cell.id, shares::daemon_text(daemon));
            verdict.with_evidence(text, "time of the daemon's threads (schedstat)", "top -H -p PID")
        }
        None => with_queue(cell, part, verdict),
    }
}

/// Adds to the device's part how much of it requests waited in the block layer's queue, where that is a large part: a device that
/// is busy makes them wait, so that the part is the device's still.
fn with_queue(cell: &CellSummary, part: &TimePart, verdict: SegmentVerdict) -> SegmentVerdict {
    let is_device = part.segment.is_within(Segment::Device);
    let queued = cell.block_trace.as_ref().filter(|_| is_device).and_then(BlockTrace::queue_share_ratio);
    let Some(queued) = queued.filter(|queued| *queued >= LARGE_PART_RATIO) else { return verdict };
    let text = format!(
        "{}: of that time requests waited {} in the block layer's queue, before the device had them",
        cell.id,
        text::percent(queued)
    );
    let counter = "tracepoints block_io_start, block_rq_issue and block_rq_complete";
    verdict.with_evidence(text, counter, "biolatency -Q; biolatency")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, named};
    use narrows_model::counters::Role;
    use narrows_model::diagnosis::Relation;
    use narrows_model::inventory::PathKind;
    use narrows_model::summary::TimeShares;
    use narrows_model::workload::Access;
    use narrows_model::{Cut, Summary};
    use std::collections::BTreeSet;

    /// A local machine on which no cut is near the path, so that nothing is full, with these shares of the time of bulk reads
    /// through the page cache.
    fn machine(on_cpu: f64, device: Option<f64>, change: impl Fn(&mut CellSummary)) -> Summary {
        let mut summary = builtin("local-ssd");
        summary.cells.retain(|cell| {
            matches!(cell.cut, Cut::Generator | Cut::MemoryCopy) || cell.id == "path/read/1MiB/qd1/w16/c1"
        });
        for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
            cell.target = "/data".parse().unwrap();
            cell.requested.access = Access::Buffered;
            // Unless a test says otherwise, only the threads' time is known.
            (cell.bytes.device, cell.device_busy_ratio) = (None, None);
            let cpu = cell.cpu.get_mut(&Role::Client).unwrap();
            (cpu.busy_ratio, cpu.user_s, cpu.system_s) = (on_cpu, 0.0, on_cpu * cell.elapsed_s.last_done);
            cell.time_shares = Some(TimeShares {
                cpu_kernel_ratio: on_cpu,
                device_ratio: device,
                other_ratio: 1.0 - on_cpu - device.unwrap_or(0.0),
                ..TimeShares::default()
            });
            change(cell);
        }
        summary.diagnosis = crate::diagnose(&summary);
        summary
    }

    /// Gives copies this share of the path's CPU time.
    fn with_copies(summary: &mut Summary, share: f64) {
        let path = summary.cells.iter().find(|cell| cell.cut == Cut::Path).unwrap();
        let path_s_per_byte = path.cpu[&Role::Client].system_s / path.bytes.application.as_f64();
        for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::MemoryCopy) {
            let cpu_s = path_s_per_byte * share * cell.bytes.application.as_f64();
            let cpu = cell.cpu.get_mut(&Role::Client).unwrap();
            (cpu.user_s, cpu.system_s) = (cpu_s, 0.0);
        }
        summary.diagnosis = crate::diagnose(summary);
    }

    #[test]
    fn a_device_and_a_file_system_in_series_are_named_together_with_their_shares_and_gains() {
        let mut summary = machine(0.4, Some(0.55), |_| ());
        with_copies(&mut summary, 0.1);
        let limiting = &summary.diagnosis.limiting;
        assert_eq!(named(&summary, "bulk"), [Segment::Device, Segment::ClientFilesystem], "{limiting:#?}");
        assert!(limiting.iter().all(|entry| entry.relation == Relation::Joint && entry.confidence <= 0.7));
        assert!(limiting[0].evidence[0].text.contains("55 % of the time"), "{:?}", limiting[0]);
        let gain = limiting[1].relief_gain_ratio.unwrap();
        assert!((gain - 1.0 / (1.0 - 0.36)).abs() < 1e-6, "{gain}");
    }

    #[test]
    fn a_part_that_is_most_of_the_time_is_named_beside_a_rest_that_is_half_as_long_at_most() {
        let limiting = |device: f64, on_cpu: f64| machine(on_cpu, Some(device), |_| ()).diagnosis.limiting;
        let named = limiting(0.6, 0.12);
        let found: Vec<(Segment, f64)> =
            named.iter().map(|entry| (entry.segment, entry.confidence)).collect();
        assert!(matches!(found[..], [(Segment::Device, sure)] if sure <= 0.6), "{found:?}");
        let both = at_once(0.5, 0.5, 0.3).diagnosis.limiting;
        let parts: BTreeSet<Segment> = both.iter().map(|entry| entry.segment).collect();
        assert!(parts.len() == 2 && parts.contains(&Segment::Device), "{both:#?}");
        for (device, on_cpu) in [(0.6, 0.05), (0.45, 0.3)] {
            let open = limiting(device, on_cpu);
            assert!(open.iter().all(|entry| entry.segment == Segment::Unknown), "{device}: {open:#?}");
        }
    }

    #[test]
    fn a_long_wait_in_the_block_layers_queue_is_the_busy_devices_and_is_said() {
        use narrows_model::counters::{BlockTimes, RequestTimes};
        use narrows_model::units::Nanos;
        let traced = |queue_ns: u64| {
            let read = RequestTimes {
                served_count: 2,
                device_ns: Nanos(40),
                queued_count: 2,
                queue_ns: Nanos(queue_ns),
            };
            let device = BlockTimes { read, ..BlockTimes::of_device("sda") };
            let trace = BlockTrace { devices: vec![device], ..BlockTrace::default() };
            let summary = machine(0.1, Some(0.85), |cell| cell.block_trace = Some(trace.clone()));
            assert_eq!(named(&summary, "bulk"), [Segment::Device], "{:#?}", summary.diagnosis.limiting);
            summary.diagnosis.limiting[0]
                .evidence
                .iter()
                .any(|entry| entry.text.contains("waited 60 % in the block layer's queue"))
        };
        assert!(traced(60) && !traced(4));
    }

    #[test]
    fn copies_that_take_most_of_the_cpu_time_are_memorys() {
        let mut summary = machine(0.85, Some(0.1), |_| ());
        with_copies(&mut summary, 0.9);
        assert_eq!(named(&summary, "bulk"), [Segment::ClientMemory], "{:#?}", summary.diagnosis.limiting);
    }

    /// Sixteen requests in flight, whose threads were mostly ready for a CPU: the device and the CPUs were busy for these shares of the time.
    fn at_once(device: f64, cpus: f64, other: f64) -> Summary {
        let mut summary = machine(cpus, None, |cell| {
            cell.device_busy_ratio = Some(device);
            cell.time_shares = Some(TimeShares {
                cpu_kernel_ratio: 0.1,
                cpu_wait_ratio: Some(0.7 - other),
                device_ratio: Some(0.2),
                other_ratio: other,
                ..TimeShares::default()
            });
        });
        with_copies(&mut summary, 0.0);
        summary
    }

    #[test]
    fn of_several_requests_at_once_what_was_busy_most_limits_and_not_what_threads_waited_for() {
        let summary = at_once(0.95, 0.6, 0.0);
        let limiting = &summary.diagnosis.limiting;
        assert_eq!(named(&summary, "bulk"), [Segment::Device, Segment::ClientFilesystem], "{limiting:#?}");
        assert!(limiting[0].evidence[0].text.contains("device was busy for 95 %"), "{:?}", limiting[0]);
        let gain = limiting[0].relief_gain_ratio.unwrap();
        assert!((gain - 1.0 / 0.6).abs() < 1e-6, "the CPUs are left: {gain}");
        assert_eq!(named(&at_once(0.5, 0.7, 0.0), "bulk")[0], Segment::ClientFilesystem);
    }

    #[test]
    fn of_several_requests_at_once_nothing_is_named_where_neither_device_nor_cpus_were_busy() {
        assert_eq!(named(&at_once(0.4, 0.4, 0.5), "bulk"), [Segment::Unknown]);
        // Threads that were blocked by something else do not matter where the two were busy for most of the time.
        assert_eq!(named(&at_once(0.55, 0.7, 0.3), "bulk")[0], Segment::ClientFilesystem);
    }

    /// The folder of the load is served by a process here.
    fn behind_a_daemon(on_cpu: f64, device: Option<f64>) -> Summary {
        on_path(PathKind::Fuse, machine(on_cpu, device, |_| ()))
    }

    fn on_path(kind: PathKind, mut summary: Summary) -> Summary {
        for path in summary.hosts.iter_mut().filter_map(|host| host.inventory.path.as_mut()) {
            path.path = "/data".to_owned();
            path.kind = kind;
        }
        summary.diagnosis = crate::diagnose(&summary);
        summary
    }

    #[test]
    fn workers_that_are_blocked_on_a_file_system_in_memory_wait_for_its_locks() {
        let of = |workers: u32| {
            let change = |cell: &mut CellSummary| cell.requested.workers = workers;
            let mut summary = machine(0.1, None, change);
            with_copies(&mut summary, 0.5);
            on_path(PathKind::Memory, summary)
        };
        let locked = of(16);
        assert_eq!(named(&locked, "bulk"), [Segment::ClientFilesystem]);
        let text = &locked.diagnosis.limiting[0].evidence[0].text;
        assert!(text.contains("waited for one another") && text.contains("95 % of the time"), "{text}");
        assert_eq!(named(&of(1), "bulk"), [Segment::Unknown], "one has nobody to wait for");
    }

    #[test]
    fn locks_of_threads_that_wait_for_other_programs_are_these_programs_time() {
        use narrows_model::summary::ForeignLoad;
        let of = |used_cpus: f64| {
            let change = |cell: &mut CellSummary| {
                cell.requested.workers = 16;
                let shares = cell.time_shares.as_mut().unwrap();
                (shares.cpu_wait_ratio, shares.other_ratio) = (Some(0.3), 0.65);
                cell.foreign_cpu = vec![ForeignLoad {
                    roles: vec![Role::Client],
                    machine_cpus: 2.0,
                    busy_cpus: 2.0,
                    used_cpus,
                    stolen_cpus: 0.0,
                    programs: Vec::new(),
                }];
            };
            let mut summary = machine(0.05, None, change);
            with_copies(&mut summary, 0.0);
            named(&on_path(PathKind::Memory, summary), "bulk")
        };
        // Of what is not blocked, 0.3 x 0.9 of 0.35 waits for others.
        assert_eq!(of(1.8), [Segment::HostCpu]);
        assert_eq!(of(0.2), [Segment::ClientFilesystem]);
    }

    #[test]
    fn what_neither_the_cpu_nor_the_device_explains_behind_fuse_is_its_daemons() {
        assert_eq!(named(&behind_a_daemon(0.15, None), "bulk"), [Segment::ClientDaemon]);
        assert_eq!(named(&behind_a_daemon(0.1, Some(0.85)), "bulk"), [Segment::Device]);
        // Of the same time what the network behind the daemon takes is not its own.
        let mut far = behind_a_daemon(0.1, None);
        for cell in far.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
            let shares = cell.time_shares.as_mut().unwrap();
            (shares.network_ratio, shares.other_ratio) = (Some(0.75), 0.15);
        }
        far.diagnosis = crate::diagnose(&far);
        assert_eq!(named(&far, "bulk"), [Segment::NetworkLatency], "{:#?}", far.diagnosis.limiting);
        // A folder given from where the command ran is behind it too.
        let mut here = behind_a_daemon(0.15, None);
        for cell in here.cells.iter_mut().filter(|cell| cell.target.is_storage()) {
            cell.target = narrows_model::Target::File { path: ".".into() };
        }
        here.diagnosis = crate::diagnose(&here);
        assert_eq!(named(&here, "bulk"), [Segment::ClientDaemon]);
        // Without a daemon the same time is not explained.
        assert_eq!(named(&machine(0.15, None, |_| ()), "bulk"), [Segment::Unknown]);
    }

    #[test]
    fn time_past_the_page_cache_is_the_clients_cpus_or_the_devices() {
        let summary = machine(0.45, Some(0.5), |cell| cell.requested.access = Access::Direct);
        assert_eq!(named(&summary, "bulk"), [Segment::Device, Segment::ClientCpu]);
    }

    #[test]
    fn nothing_is_named_where_a_fifth_of_the_time_is_not_explained() {
        let mut summary = machine(0.35, Some(0.4), |_| ());
        with_copies(&mut summary, 0.0);
        assert_eq!(named(&summary, "bulk"), [Segment::Unknown], "{:#?}", summary.diagnosis.limiting);
    }

    #[test]
    fn a_file_system_that_takes_little_of_the_time_is_cleared() {
        let mut summary = machine(0.1, Some(0.85), |_| ());
        with_copies(&mut summary, 0.5);
        assert!(crate::testing::cleared(&summary, Segment::ClientFilesystem), "{:#?}", summary.diagnosis);
    }

    #[test]
    fn other_programs_are_charged_with_the_time_that_they_took() {
        use narrows_model::summary::ForeignLoad;
        let mut summary = machine(0.3, Some(0.3), |cell| {
            let shares = cell.time_shares.as_mut().unwrap();
            (shares.cpu_wait_ratio, shares.other_ratio) = (Some(0.4), 0.0);
            let others = ForeignLoad {
                roles: vec![Role::Client],
                machine_cpus: 2.0,
                busy_cpus: 2.0,
                used_cpus: 1.0,
                stolen_cpus: 0.0,
                programs: Vec::new(),
            };
            cell.foreign_cpu = vec![others];
        });
        with_copies(&mut summary, 0.0);
        // Half of the machine's busy time is others': of 0.4 waited, 0.2.
        let file_system =
            summary.diagnosis.limiting.iter().find(|entry| entry.segment == Segment::ClientFilesystem);
        let text = &file_system.unwrap().evidence[0].text;
        assert!(text.contains("50 % of the time"), "{text}");
    }
}
