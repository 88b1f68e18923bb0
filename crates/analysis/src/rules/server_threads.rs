//! The server's worker threads are all busy while requests wait and its CPU is idle.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::facts::reads;
use crate::method;
use crate::summary::{SERVER_QUEUE_LENGTH, SERVER_WORKER_BUSY_RATIO, SERVER_WORKER_COUNT};
use crate::text;
use crate::thresholds::{CPU_FREE_RATIO, GAIN_RATIO, STRONG_GAIN_RATIO};
use crate::view::SummaryView;
use narrows_model::counters::Role;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Cut, Segment};

/// From this share of their time workers count as busy: taking the next request costs a little.
const WORKERS_BUSY_RATIO: f64 = 0.9;
/// From this queue on, as a share of the workers, requests always wait: below, it is the time of waking a worker.
const QUEUE_RATIO: f64 = 0.25;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "server-threads-busy",
    slug: "server_threads",
    segment: Segment::ServerThreads,
    title: "all worker threads of the server are busy",
    definition: "Every worker thread of the `narrows serve` endpoint is busy with the disk, requests wait for a free \
                 one, the server's CPU is not full, and its storage is clearly faster with a thread for each request. \
                 Where more clients were measured, they add nothing. Threads of other servers are not visible.",
    formula: "busy / (threads x time) >= 0.9, mean queue >= 1 and >= 0.25 x threads, server CPU < 0.9, storage with a \
              thread for each request >= 1.25 x rate, more clients < 1.1 x where measured",
    source: "Utilisation law and Little's law on the thread pool; asymptotic bounds, Denning and Buzen (1978)",
    example: "one thread busy for 99 % of the time, 14.8 requests waiting, CPU at 12 %: 480 op/s where 16 threads \
        reach 5 900 op/s",
    how_to_measure: Some(
        "repeat with more server threads while the server's CPU is not full (`narrows serve \
                     --disk-threads N`; on an NFS server, the threads of nfsd)",
    ),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    cases.evaluate_cells(evaluate)
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let seen = WorkerLoad::new(cell)?;
    let verdict =
        |stance| SegmentVerdict::new(RULE.segment, &cell.id, stance, Basis::Utilisation, seen.busy.min(1.0));
    let (counter, command) =
        ("busy and waiting time of the endpoint's workers", "top -H -b -n1 (on the server)");
    if !seen.full() {
        // As many threads as requests are busy all the time by nature: their load compares with no resource's.
        let idle = SegmentVerdict { basis: Basis::State, ..verdict(Stance::Clears) }.without_used();
        return Some(idle.with_evidence(seen.text(cell), counter, command));
    }
    let cpu = SummaryView::cpu(cell, Role::Server).filter(|cpu| cpu.busy_ratio < CPU_FREE_RATIO)?;
    let alone = view.ceiling(Cut::ServerStorage, cell).filter(|found| found.same_settings)?;
    let gain =
        ratio(alone.bytes_per_s, cell.rate_bytes_per_s?.0).filter(|gain| *gain >= STRONG_GAIN_RATIO)?;
    if more_clients(view, cell).is_some_and(|gain| gain >= GAIN_RATIO) {
        return None;
    }
    let compared = format!(
        "{}: the server's CPU is {} busy, and its storage moves {} with a thread for each request ({gain:.2} times)",
        cell.id,
        text::percent(cpu.busy_ratio),
        text::storage_rate(alone.bytes_per_s),
    );
    let limits =
        verdict(Stance::Limits).with_load_error(method::error_ratio(cell)).with_relief_gain(Some(gain));
    Some(limits.with_evidence(seen.text(cell), counter, command).with_evidence(compared, counter, command))
}

/// What was seen of the workers.
#[derive(Debug, Clone, Copy)]
struct WorkerLoad {
    count: f64,
    busy: f64,
    queue: f64,
}

impl WorkerLoad {
    fn new(cell: &CellSummary) -> Option<Self> {
        let metric = |id: &str| method::metric(cell, id);
        let (count, busy) = (metric(SERVER_WORKER_COUNT)?, metric(SERVER_WORKER_BUSY_RATIO)?);
        Some(Self { count, busy, queue: metric(SERVER_QUEUE_LENGTH)? })
    }

    fn full(self) -> bool {
        self.busy >= WORKERS_BUSY_RATIO && self.queue >= (QUEUE_RATIO * self.count).max(1.0)
    }

    fn text(self, cell: &CellSummary) -> String {
        format!(
            "{}: {:.0} worker threads busy for {} of the time, {:.1} requests waiting for one",
            cell.id,
            self.count,
            text::percent(self.busy.min(1.0)),
            self.queue,
        )
    }
}

/// The best rate with more clients at the same settings over this one's; `None` where that was not measured.
fn more_clients(view: &SummaryView<'_>, cell: &CellSummary) -> Option<f64> {
    let same = |other: &&CellSummary| {
        other.cut == Cut::Path
            && reads(other.op) == reads(cell.op)
            && (other.block_bytes, other.queue_depth) == (cell.block_bytes, cell.queue_depth)
            && other.clients > cell.clients
    };
    let rates = view.summary.cells.iter().filter(same).filter_map(|other| other.rate_bytes_per_s);
    ratio(rates.map(|rate| rate.0).reduce(f64::max)?, cell.rate_bytes_per_s?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{checked, cleared, found, machine, named};
    use narrows_model::BytesPerSec;

    #[test]
    fn two_threads_in_front_of_a_device_that_serves_more_are_named_for_many_requests() {
        let summary = checked(&machine("few-threads"));
        for load in ["bulk", "random"] {
            let named = named(&summary, load);
            assert!(
                !named.is_empty() && named.iter().all(|segment| *segment == Segment::ServerThreads),
                "{load}: {named:?}"
            );
        }
    }

    #[test]
    fn clients_that_add_to_the_rate_show_that_threads_were_free() {
        let mut summary = checked(&machine("few-threads"));
        let more = summary.cells.iter().filter(|cell| cell.cut == Cut::Path).cloned().map(|mut cell| {
            cell.id.push_str("/more");
            (cell.clients, cell.in_flight.configured) = (2, cell.in_flight.configured * 2);
            cell.rate_bytes_per_s = cell.rate_bytes_per_s.map(|rate| BytesPerSec(rate.0 * 1.5));
            cell
        });
        let more: Vec<CellSummary> = more.collect();
        summary.cells.extend(more);
        assert!(!crate::diagnose(&summary).findings.iter().any(|finding| finding.code == RULE.code));
    }

    #[test]
    fn a_thread_for_each_request_is_never_blamed_and_idle_ones_are_cleared() {
        assert!(!found(&checked(&machine("many-threads")), RULE.code));
        // A thread for each request is busy whenever there is one, and waits for the device, not the device for it.
        let mut as_many = machine("capped-iops");
        as_many.server_cpu.threads = Some(16);
        assert_eq!(named(&checked(&as_many), "random"), [Segment::DeviceIops]);
        let mut idle = machine("few-threads");
        idle.server_cpu.threads = Some(64);
        let summary = checked(&idle);
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::ServerThreads));
    }
}
