//! Why a segment was not measured, and how to measure it.

use crate::rules::RULES;
use crate::view::View;
use narrows_model::{NotMeasured, Segment};

/// Why `segment` is in no other list, and what to do about it.
pub(super) fn not_measured(view: &View<'_>, segment: Segment) -> NotMeasured {
    NotMeasured { segment, why: why(view, segment), how_to: how_to(view, segment) }
}

fn why(view: &View<'_>, segment: Segment) -> String {
    if segment.is_within(Segment::Network) && view.loopback() {
        return "client and server talk over loopback, which is memory, not a network".to_owned();
    }
    if needs_server(segment) && view.server().is_none() {
        return "no endpoint took part, so the path has no part beyond this machine that could be seen"
            .to_owned();
    }
    if view.sharing.one_station() && matches!(segment, Segment::ClientCpu | Segment::ServerCpu) {
        return "client and server use the same CPUs, which are judged as host.cpu".to_owned();
    }
    if segment == Segment::HostCpu && !view.sharing.one_station() {
        return "client and server do not use the same CPUs".to_owned();
    }
    if is_held(view) {
        return "the load was held at its cap, so what this carries was never asked for".to_owned();
    }
    if is_open(view, segment) {
        return "whether more requests in flight would carry more was not measured, or the figures leave it open"
            .to_owned();
    }
    if view.segment(segment).is_some_and(|known| known.measured) {
        return "it was measured, but the evidence does not tell it apart from its neighbours".to_owned();
    }
    "no cut or counter of this run isolates it".to_owned()
}

fn how_to(view: &View<'_>, segment: Segment) -> String {
    if segment.is_within(Segment::Network) && view.loopback() {
        return "run `narrows serve` on the other machine and give --server HOST:PORT".to_owned();
    }
    if is_held(view) {
        return "repeat without --max-rate, or with a higher one".to_owned();
    }
    if view.segment(segment).is_some_and(|known| known.measured) && !is_open(view, segment) {
        return "relieve what limits first and repeat: until then its own limit stays hidden".to_owned();
    }
    how_to_measure(segment).to_owned()
}

/// Whether the cap on the load held any load back that a verdict is given for.
fn is_held(view: &View<'_>) -> bool {
    view.regimes().iter().any(|regime| crate::rules::offered_load::is_held(regime.cell))
}

/// Whether nothing tells of the number in flight, although it was counted.
fn is_open(view: &View<'_>, segment: Segment) -> bool {
    segment == Segment::WorkloadConcurrency && !crate::rules::too_little_concurrency::is_judged(view)
}

fn needs_server(segment: Segment) -> bool {
    segment.is_within(Segment::Server) || segment.is_within(Segment::Network)
}

/// How a segment is measured, from the rule that judges it or, where there is none, from what tells it apart.
pub(crate) fn how_to_measure(segment: Segment) -> &'static str {
    let of_rule = RULES.iter().find(|rule| rule.segment == segment).map(|rule| rule.how_to_measure);
    of_rule.unwrap_or_else(|| without_rule(segment))
}

/// What would tell of a segment that no rule judges.
fn without_rule(segment: Segment) -> &'static str {
    match segment {
        Segment::ClientFilesystem => {
            "compare the path with the raw device, on a machine where that may be read"
        }
        Segment::ServerMetadata => "load the path with operations on names instead of data",
        Segment::ServerFilesystem => "compare the server's file system with its device, run on the server",
        Segment::ServerContention => {
            "repeat with more clients and watch the CPU seconds of an operation grow"
        }
        Segment::Proxy => "measure the path to the forwarder and the path behind it, each alone",
        Segment::Network | Segment::Server => {
            "run `narrows serve` on the storage server and give --server HOST:PORT"
        }
        Segment::Device => "give a folder on the device, or run the endpoint with --root on it",
        Segment::Client => "read /proc and diskstats on the client while it runs",
        _ => "measure more of the path: give --server HOST:PORT, more time, or more trials",
    }
}
