//! Why a segment was not measured, and how to measure it.

use super::RuleVerdict;
use crate::facts::offered_load::is_delivered;
use crate::rules::RULES;
use crate::view::SummaryView;
use narrows_model::{Limiting, NotMeasured, Segment};

/// Why `segment` is in no other list of a run, and what to do about it.
pub(super) fn of_run(view: &SummaryView<'_>, evaluated: &[RuleVerdict], segment: Segment) -> NotMeasured {
    let open = is_open(evaluated, segment);
    NotMeasured { segment, why: why(view, segment, open), how_to: how_to(view, segment, open) }
}

/// Why `segment` is in no other list of observations, and the key that would show it, else how narrows measures it
/// itself.
pub(super) fn of_observations(limiting: &[Limiting], segment: Segment) -> NotMeasured {
    let parent = segment.parent().filter(|parent| limiting.iter().any(|entry| entry.segment == *parent));
    let why = match parent {
        Some(parent) => format!("the figures name {parent} and do not distinguish its parts"),
        None => "the file has no figure for it".to_owned(),
    };
    let mut of_segment = RULES.iter().filter(|rule| rule.segment == segment);
    let how_to = of_segment.find_map(|rule| rule.how_to_write);
    NotMeasured { segment, why, how_to: how_to.unwrap_or_else(|| how_to_measure(segment)).to_owned() }
}

fn why(view: &SummaryView<'_>, segment: Segment, open: bool) -> String {
    if segment.is_within(Segment::Network) && view.loopback() {
        return "client and server talk over loopback, which is memory, not a network".to_owned();
    }
    if needs_server(segment) && is_spoken(view) && !is_seen(view, segment) {
        return "nothing of ours ran on the server, and what its protocol showed does not isolate it"
            .to_owned();
    }
    if let Some(reason) = view.export_refusal().filter(|_| needs_server(segment)) {
        return format!("the export behind the mount was not measured by itself: {reason}");
    }
    if needs_server(segment) && view.server().is_none() && !is_spoken(view) {
        return "there was no endpoint, so nothing of the path beyond this machine was visible".to_owned();
    }
    if view.sharing.one_station() && matches!(segment, Segment::ClientCpu | Segment::ServerCpu) {
        return "client and server use the same CPUs; see host.cpu".to_owned();
    }
    if segment == Segment::HostCpu && is_spoken(view) {
        return "whether the server runs on this machine is not known to its protocol; other programs here are listed \
                under foreign-load"
            .to_owned();
    }
    if segment == Segment::HostCpu && view.server().is_none() {
        return "no server of the path is known to share this machine's CPUs; see client.cpu".to_owned();
    }
    if segment == Segment::HostCpu && !view.sharing.one_station() {
        return "client and server do not use the same CPUs".to_owned();
    }
    if is_capped(view) {
        return "the load was limited by its cap, so the capacity of this segment was not tested".to_owned();
    }
    if open {
        return "whether more requests in flight would raise the rate was not measured, or the figures do not decide it"
            .to_owned();
    }
    if view.segment(segment).is_some_and(|known| known.measured) {
        return "it was measured, but the evidence does not distinguish it from its neighbours".to_owned();
    }
    "no cut or counter of this run isolates it".to_owned()
}

fn how_to(view: &SummaryView<'_>, segment: Segment, open: bool) -> String {
    if segment.is_within(Segment::Network) && view.loopback() {
        return "run `narrows serve` on the other machine and give --server HOST:PORT".to_owned();
    }
    if is_spoken(view) && segment.is_within(Segment::Server) {
        return "watch the server itself while this load runs (top, iostat -x 1), or run `narrows serve` there and check \
                tcp://HOST:PORT/disk beside it"
            .to_owned();
    }
    if is_spoken(view) && segment.is_within(Segment::Network) {
        return "run `narrows serve` on the storage server, and check tcp://HOST:PORT/memory beside it"
            .to_owned();
    }
    if is_capped(view) {
        return "repeat without --max-rate, or with a higher one".to_owned();
    }
    if view.segment(segment).is_some_and(|known| known.measured) && !open {
        return "remove what limits first, then repeat: until then its own limit is not visible".to_owned();
    }
    how_to_measure(segment).to_owned()
}

/// Whether the cap on the load limited any load of which a verdict is given.
fn is_capped(view: &SummaryView<'_>) -> bool {
    view.regimes().iter().any(|regime| is_delivered(regime.cell))
}

/// Whether no load blames or clears the number in flight, although it was counted.
fn is_open(evaluated: &[RuleVerdict], segment: Segment) -> bool {
    segment == Segment::WorkloadConcurrency && !evaluated.iter().any(|known| known.verdict.segment == segment)
}

/// Whether the protocol of the server was spoken in user space: to the path itself, or to the export behind its mount.
fn is_spoken(view: &SummaryView<'_>) -> bool {
    view.speaks_protocol() || view.has_export()
}

fn is_seen(view: &SummaryView<'_>, segment: Segment) -> bool {
    view.segment(segment).is_some_and(|known| known.measured)
}

fn needs_server(segment: Segment) -> bool {
    segment.is_within(Segment::Server) || segment.is_within(Segment::Network)
}

/// How a segment is measured, from the rule that evaluates it or, where there is none, from what distinguishes it.
pub(crate) fn how_to_measure(segment: Segment) -> &'static str {
    let mut of_segment = RULES.iter().filter(|rule| rule.segment == segment);
    let of_rule = of_segment.find_map(|rule| rule.how_to_measure);
    of_rule.unwrap_or_else(|| without_rule(segment))
}

/// How to measure a segment that no rule evaluates.
fn without_rule(segment: Segment) -> &'static str {
    match segment {
        Segment::ClientFilesystem => {
            "compare the path with the raw device, on a machine where this user may read it"
        }
        Segment::ClientDaemon => "check a folder below the daemon, and compare",
        Segment::ServerMetadata => "load the path with operations on names instead of data",
        Segment::ServerFilesystem => "compare the server's file system with its device, run on the server",
        Segment::ServerContention => {
            "repeat with more clients and watch the CPU seconds of an operation grow"
        }
        Segment::Proxy => "measure the path to the forwarder and the path behind it separately",
        Segment::Network | Segment::Server => {
            "run `narrows serve` on the storage server and give --server HOST:PORT"
        }
        Segment::Device => "give a folder on the device, or run the endpoint with --root on it",
        Segment::Client => "read /proc and diskstats on the client while it runs",
        _ => "measure more of the path: give --server HOST:PORT, more time, or more trials",
    }
}
