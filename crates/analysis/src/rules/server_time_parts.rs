//! Nothing on a path to an endpoint is full, and its parts in series take the time of a request.

use super::{Basis, Rule, SegmentVerdict, Stance, Tier};
use crate::case::Cases;
use crate::facts::reads;
use crate::method::protocol::is_durable_each;
use crate::method::server_parts::parts;
use crate::method::shares::TimePart;
use crate::text;
use crate::thresholds::{INFERRED_CONFIDENCE, LARGE_PART_RATIO, MOSTLY_EXPLAINED_RATIO};
use narrows_model::Segment;
use narrows_model::summary::CellSummary;
use narrows_model::workload::Acknowledgement;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "server-time-in-parts",
    slug: "server_time_parts",
    segment: Segment::Server,
    title: "the time of a request to an endpoint is spent in parts of the path, one after the other",
    definition: "On a path to the disk of a `narrows serve` endpoint no resource is full, and the time of the server's workers is \
                 known: on a CPU or ready for one, waiting while the server's device served requests, and queued before them. What \
                 workers were ready for and other programs of that machine used is these programs'; where a quota ran out in half of \
                 its periods it is the server's CPU. A request that waits for a worker waits for what workers do. Beside these are the round trip of the \
                 network and, at one request in flight, the client's time on a CPU. Each part of 30 % or more is named with its share and \
                 the most that its removal gains. Nothing is named where more than a fifth of the time is explained by none of them, \
                 nor of writes that each return when they are durable: there the commit is compared with writes that need none.",
    formula: "part of the server = (busy workers + queued requests) / in flight x share of the workers' time; network = smallest round trip / \
              time of a request; part >= 0.3, all parts together >= 0.8; gain <= 1 / (1 - part)",
    source: "Little, Operations Research 9 (1961); Amdahl's law; Linux, Documentation/scheduler/sched-stats.rst",
    example: "4 KiB reads, 4 in flight: 55 % of the time the server's workers waited for its device, 38 % is a round trip of the network",
    how_to_measure: Some(
        "run `narrows serve --root DIR` on the storage server: it counts what its workers' time is spent on",
    ),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(view) = cases.view().filter(|view| view.server().is_some()) else { return Vec::new() };
    view.regimes().iter().flat_map(|regime| evaluate(regime.cell)).collect()
}

fn evaluate(cell: &CellSummary) -> Vec<SegmentVerdict> {
    let is_late = !reads(cell.op) && cell.requested.acknowledgement == Acknowledgement::Late;
    if is_late || is_durable_each(cell) {
        return Vec::new(); // Waiting for the device is its commit then, which writes that need none show.
    }
    let parts = parts(cell).unwrap_or_default();
    let explained: f64 = parts.iter().map(|part| part.share).sum();
    if explained < MOSTLY_EXPLAINED_RATIO {
        return Vec::new();
    }
    parts.iter().filter(|part| part.share >= LARGE_PART_RATIO).map(|part| limits(cell, part)).collect()
}

fn limits(cell: &CellSummary, part: &TimePart) -> SegmentVerdict {
    let share = part.share.min(1.0);
    let text = format!("{}: {} for {} of the time of a request", cell.id, part.what, text::percent(share));
    SegmentVerdict::new(part.segment, &cell.id, Stance::Limits, Basis::TimeShare, share)
        .with_tier(Tier::Spent)
        .with_relief_gain(part.gain_max_ratio)
        .with_confidence_max(INFERRED_CONFIDENCE)
        .with_evidence(text, part.counter, part.command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{SERVER_QUEUE_LENGTH, SERVER_WORKER_BUSY_RATIO, SERVER_WORKER_COUNT};
    use crate::testing::{builtin, named};
    use narrows_model::counters::Role;
    use narrows_model::diagnosis::Relation;
    use narrows_model::summary::{ForeignLoad, Metric, TimeShares};
    use narrows_model::workload::SyncPolicy;
    use narrows_model::{Cut, Nanos, Summary};

    /// What was counted of a load with 16 requests in flight.
    #[derive(Debug, Clone, Copy)]
    struct Counted {
        /// Workers that serve a request, and requests that wait for one.
        at_server: [f64; 2],
        shares: TimeShares,
        /// Share of the time of a request that a round trip takes.
        round_trip: f64,
        /// CPUs that others used of the two busy ones of the server's machine.
        foreign_cpus: f64,
        throttled_period_ratio: Option<f64>,
    }

    const QUIET: Counted = Counted {
        at_server: [8.0, 0.0],
        shares: TimeShares {
            cpu_user_ratio: 0.0,
            cpu_kernel_ratio: 0.1,
            cpu_wait_ratio: Some(0.0),
            throttled_ratio: None,
            device_ratio: Some(0.9),
            queue_ratio: None,
            flush_ratio: None,
            network_ratio: None,
            other_ratio: 0.0,
        },
        round_trip: 0.45,
        foreign_cpus: 0.0,
        throttled_period_ratio: None,
    };

    /// Small random reads of a disk behind a server, of which no cut was measured.
    fn counted(by: Counted) -> Summary {
        let mut summary = builtin("ten-gigabit-nfs");
        summary.cells.retain(|cell| cell.cut == Cut::Generator || cell.id == "path/read/4KiB/qd16/c1");
        for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
            let whole_s = crate::facts::time_per_op_s(cell).unwrap();
            cell.rtt_min_ns = Some(Nanos::from_secs_f64(whole_s * by.round_trip));
            cell.server_shares = Some(by.shares);
            let metric =
                |id: &str, value| Metric { id: id.to_owned(), value, unit: String::new(), interval: None };
            cell.metrics = vec![
                metric(SERVER_WORKER_COUNT, 64.0),
                metric(SERVER_WORKER_BUSY_RATIO, by.at_server[0] / 64.0),
                metric(SERVER_QUEUE_LENGTH, by.at_server[1]),
            ];
            for cpu in cell.cpu.values_mut() {
                cpu.busy_ratio = 0.2;
            }
            cell.cpu.get_mut(&Role::Server).unwrap().throttled_period_ratio = by.throttled_period_ratio;
            cell.foreign_cpu = vec![ForeignLoad {
                roles: vec![Role::Server],
                machine_cpus: 2.0,
                busy_cpus: 2.0,
                used_cpus: by.foreign_cpus,
                stolen_cpus: 0.0,
                programs: Vec::new(),
            }];
        }
        summary.diagnosis = crate::diagnose(&summary);
        summary
    }

    fn segments(by: Counted) -> Vec<Segment> {
        named(&counted(by), "random read")
    }

    #[test]
    fn a_device_and_a_round_trip_in_series_are_named_together_with_their_shares_and_gains() {
        let summary = counted(QUIET);
        let limiting = &summary.diagnosis.limiting;
        assert_eq!(
            named(&summary, "random read"),
            [Segment::Device, Segment::NetworkLatency],
            "{limiting:#?}"
        );
        assert!(limiting.iter().all(|entry| entry.relation == Relation::Joint && entry.confidence <= 0.7));
        // Eight of sixteen are at workers, which wait for the device for nine tenths of their time.
        assert!(limiting[0].evidence[0].text.contains("45 % of the time of a request"), "{:?}", limiting[0]);
        assert!(limiting[0].relief_gain_ratio.is_some_and(|gain| (gain - 1.0 / 0.55).abs() < 1e-6));
    }

    #[test]
    fn writes_that_are_durable_each_are_left_to_what_their_commit_costs() {
        let write = |sync: SyncPolicy, acknowledgement: Acknowledgement| {
            let mut summary = counted(QUIET);
            for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
                cell.op = narrows_model::Op::Write;
                (cell.requested.sync, cell.requested.acknowledgement) = (sync, acknowledgement);
            }
            crate::diagnose(&summary)
                .limiting
                .iter()
                .any(|entry| entry.codes.iter().any(|code| code == RULE.code))
        };
        assert!(write(SyncPolicy::None, Acknowledgement::Early));
        assert!(!write(SyncPolicy::Every(1), Acknowledgement::Early));
        assert!(!write(SyncPolicy::None, Acknowledgement::Late));
    }

    #[test]
    fn requests_that_wait_for_a_worker_wait_for_what_workers_do() {
        let queued = Counted { at_server: [4.0, 11.0], round_trip: 0.05, ..QUIET };
        let summary = counted(queued);
        assert_eq!(named(&summary, "random read"), [Segment::Device]);
        assert!(summary.diagnosis.limiting[0].evidence[0].text.contains("84 % of the time"));
    }

    #[test]
    fn time_ready_for_a_cpu_is_other_programs_or_the_servers_own_and_under_a_quota_the_servers() {
        let shares = TimeShares {
            cpu_kernel_ratio: 0.3,
            cpu_wait_ratio: Some(0.7),
            device_ratio: Some(0.0),
            ..QUIET.shares
        };
        let waiting = Counted { at_server: [15.0, 0.0], round_trip: 0.05, shares, ..QUIET };
        assert_eq!(segments(waiting), [Segment::ServerCpu]);
        assert_eq!(
            segments(Counted { foreign_cpus: 1.6, ..waiting }),
            [Segment::HostCpu, Segment::ServerCpu]
        );
        let by_quota = Counted { foreign_cpus: 1.6, throttled_period_ratio: Some(0.9), ..waiting };
        let summary = counted(by_quota);
        assert_eq!(named(&summary, "random read"), [Segment::ServerCpu]);
    }

    #[test]
    fn nothing_is_named_where_a_fifth_of_the_time_is_not_explained_or_the_workers_are_not_known() {
        let is_reported = |summary: &Summary| crate::testing::found(summary, RULE.code);
        assert!(is_reported(&counted(QUIET)) && !is_reported(&counted(Counted { round_trip: 0.2, ..QUIET })));
        let mut summary = counted(QUIET);
        for cell in &mut summary.cells {
            cell.server_shares = None;
        }
        summary.diagnosis = crate::diagnose(&summary);
        assert!(!is_reported(&summary), "{:#?}", summary.diagnosis.limiting);
    }
}
