//! The parts of the time of a request to an endpoint: its round trip, what the server's workers did with it, and the client's
//! own CPU where one request is in flight.
//!
//! Not here: which part is large enough to name, which is the rule's to say.

use super::is_single;
use super::metric;
use super::shares::{TimePart, others_ratio};
use crate::facts::foreign::runs_out_of_quota;
use crate::facts::time_per_op_s;
use crate::summary::{SERVER_QUEUE_LENGTH, SERVER_WORKER_BUSY_RATIO, SERVER_WORKER_COUNT};
use narrows_model::Segment;
use narrows_model::counters::Role;
use narrows_model::summary::{CellSummary, TimeShares};
use narrows_model::units::ratio;

const WORKER_TIME: &str =
    "time of the endpoint's workers, its threads' time on a CPU and waiting for one (schedstat)";
const AT_SERVER: &str = "top -H -b -n1; iostat -x 1 (on the server)";

/// The parts of the time of a request of `cell`, the largest first; `None` where the server's time is not known.
///
/// # Shape
/// Each segment once. What is missing to 1 is time that nothing explains.
///
/// # Source
/// Little's law: of `in flight` requests, busy workers x time / time are at the workers, and those that wait for one are queued
/// before them. A request that waits for a worker waits for what the workers do.
pub(crate) fn parts(cell: &CellSummary) -> Option<Vec<TimePart>> {
    let shares = cell.server_shares?;
    let in_flight = cell.in_flight.configured.max(1) as f64;
    let workers = metric(cell, SERVER_WORKER_BUSY_RATIO)? * metric(cell, SERVER_WORKER_COUNT)?;
    let queued = metric(cell, SERVER_QUEUE_LENGTH).unwrap_or(0.0);
    let at_server = ratio(workers + queued, in_flight)?.min(1.0);
    let mut parts: Vec<TimePart> = at_workers(cell, &shares, at_server).into_iter().flatten().collect();
    let round_trip = cell.rtt_min_ns.and_then(|rtt| ratio(rtt.as_secs_f64(), time_per_op_s(cell)?));
    parts.extend(part(Segment::NetworkLatency, round_trip.unwrap_or(0.0), NETWORK));
    if is_single(cell) {
        let here = cell.time_shares.map_or(0.0, |own| own.on_cpu_ratio());
        parts.extend(part(Segment::ClientCpu, here, CLIENT));
    }
    parts.sort_by(|a, b| b.share.total_cmp(&a.share));
    Some(parts)
}

/// What a part's words and counters are.
type PartWords = (&'static str, &'static str, &'static str);

const NETWORK: PartWords = ("a round trip of the network", "smallest round trip (TCP_INFO)", "ss -ti");
const CLIENT: PartWords =
    ("the client's requests were on a CPU", "CPU time of the load's threads (schedstat)", "top -H");
const SERVER_CPU: PartWords = ("the server's workers were on a CPU or ready for one", WORKER_TIME, AT_SERVER);
const SERVER_QUOTA: PartWords = (
    "the server's workers were on a CPU, or stopped by the server's quota of CPU time",
    WORKER_TIME,
    AT_SERVER,
);
const OTHERS: PartWords =
    ("other programs used the server's CPUs that its workers were ready for", WORKER_TIME, AT_SERVER);
const DEVICE: PartWords =
    ("the server's workers waited while its device served requests", WORKER_TIME, AT_SERVER);

/// What the workers did in their share of the time: on a CPU or waiting for one that the server used itself, waiting for other
/// programs, waiting for the device. A quota that ran out in half of its periods is what threads waited for then.
fn at_workers(cell: &CellSummary, shares: &TimeShares, at_server: f64) -> [Option<TimePart>; 3] {
    let by_quota = cell.cpu.get(&Role::Server).is_some_and(runs_out_of_quota);
    let foreign = if by_quota { 0.0 } else { others_ratio(cell, Role::Server) };
    let waiting = shares.cpu_wait_ratio.unwrap_or(0.0);
    let own = shares.on_cpu_ratio() + waiting * (1.0 - foreign);
    [
        part(Segment::ServerCpu, own * at_server, if by_quota { SERVER_QUOTA } else { SERVER_CPU }),
        part(Segment::HostCpu, waiting * foreign * at_server, OTHERS),
        part(Segment::Device, shares.device_ratio.unwrap_or(0.0) * at_server, DEVICE),
    ]
}

fn part(segment: Segment, share: f64, (what, counter, command): PartWords) -> Option<TimePart> {
    let gain_max_ratio = ratio(1.0, 1.0 - share);
    (share > 0.0).then_some(TimePart { segment, share, gain_max_ratio, scope: None, what, counter, command })
}
