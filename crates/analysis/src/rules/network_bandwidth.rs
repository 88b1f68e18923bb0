//! The network's bandwidth is full.

use super::judge::{self, Carried, Shown};
use super::one_more::{OneMore, one_more_connection};
use super::{Rule, Stance, Verdict, client_connection, network_scope, proxy_queue};
use crate::summary::{network_bytes_per_s, network_share};
use crate::text;
use crate::view::View;
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "network-bandwidth-full",
    slug: "network_bandwidth",
    segment: Segment::NetworkBandwidth,
    title: "the network's bandwidth is full",
    definition: "The path moves nearly the payload that a raw stream over the same connections moved, in the same \
                 direction and block size. A stream that a window or a buffer held back blames the connection instead, \
                 and where one more connection is faster the wire had bandwidth to spare. A path above what noise \
                 explains has raised the ceiling and blames nothing. Behind a proxy the stream through it clears, and the one past \
                 it blames; what the first alone blames is at most 60 % sure, at one request in flight too. Not judged over \
                 loopback, which is memory.",
    formula: "0.9 x payload rate of the raw stream <= rate <= 1.03 x (or two standard errors above it), one more \
              connection < 1.1 x where measured; at one request in flight: (block / stream rate) >= half \
              of the time of one request",
    source: "Asymptotic bounds of Denning and Buzen, ACM Computing Surveys 10 (1978); Hockney's law for the time share",
    example: "1 MiB writes at 93.1 Mbit/s where the stream reached 94.1 Mbit/s: 99 %",
    how_to_measure: "run `narrows serve` on the storage server and give --server HOST:PORT",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    judge::over_network(view, judge)
}

/// The verdict against the stream, unless it blames the wire by a stream that a window or a buffer held back, or the
/// path is faster over one more connection.
fn judge(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let verdict =
        if view.passes_proxy(cell) { beside_proxy(view, cell)? } else { against_stream(view, cell)? };
    let stream = view.ceiling(stream_cut(view, cell), cell)?.cell;
    let limits = verdict.stance == Stance::Limits;
    let more = one_more_connection(view, cell);
    if limits && more.is_some_and(|more| more.helps() && !judge::is_single(cell)) {
        return None; // What one more connection adds, the wire had to spare.
    }
    let flat = more.is_some_and(OneMore::adds_nothing);
    let held = limits && !flat && client_connection::held_back(view, stream).is_some();
    (!held).then(|| scoped(view, cell, verdict))
}

/// The verdict where a proxy stands between. The stream through it passed the path's own legs and may be the proxy's; the
/// one past it is the network's and may be another route. So the first alone clears, and what it alone blames is open.
fn beside_proxy(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let through = against(view, cell, Cut::NetworkStream);
    if through.as_ref().is_some_and(|through| through.stance == Stance::Clears) {
        return through;
    }
    let limits = |verdict: &Verdict| verdict.stance == Stance::Limits;
    let past = against(view, cell, Cut::DirectStream);
    if past.as_ref().is_some_and(limits) {
        return past;
    }
    // As fast past the proxy, where the stream carries more: what both have in common holds back.
    let elsewhere = past.is_some() && proxy_queue::is_cleared(view, cell);
    let verdict = open_between(through.filter(limits).filter(|_| !elsewhere)?);
    let load_ratio = verdict.load_ratio.min(BELOW_PROXY_RATIO);
    Some(Verdict { load_ratio, ..verdict })
}

/// A verdict on the network by a stream that passed the proxy.
fn open_between(verdict: Verdict) -> Verdict {
    let text = "this stream passed the proxy: which of the two held it back, the proxy or a leg of the network, is open";
    let counter = "payload acknowledged or received (TCP_INFO)";
    verdict.at_most(THROUGH_PROXY_CONFIDENCE).because(text.to_owned(), counter, "")
}

/// What the raw stream through the proxy carried, where the path moves nearly as much.
pub(super) fn carried_through(view: &View<'_>, cell: &CellSummary) -> Option<f64> {
    let carried = view.ceiling(Cut::NetworkStream, cell)?.bytes_per_s;
    (cell.rate_bytes_per_s?.0 >= carried * judge::FULL_RATIO && !judge::is_single(cell)).then_some(carried)
}

/// The verdict with the part of the network that it blames, where the path goes round several servers.
fn scoped(view: &View<'_>, cell: &CellSummary, verdict: Verdict) -> Verdict {
    let part = Some(()).filter(|()| verdict.stance == Stance::Limits);
    match part.and_then(|()| network_scope::scope(view, cell)) {
        None => verdict,
        Some(part) => {
            let counter = "streams to each server alone and to all at once";
            Verdict { scope: Some(part.name), ..verdict }.because(part.text, counter, "")
        }
    }
}

/// The raw stream that tells what the network carries: past a proxy on the path where the endpoint is reached so, for the
/// one through it carries no more than the proxy does.
pub(super) fn stream_cut(view: &View<'_>, cell: &CellSummary) -> Cut {
    match view.ceiling(Cut::DirectStream, cell) {
        Some(_) => Cut::DirectStream,
        None => Cut::NetworkStream,
    }
}

/// How sure a verdict on the network is at most where its stream passed a proxy that may hold back too.
const THROUGH_PROXY_CONFIDENCE: f64 = 0.6;
/// How full a network counts at most where a proxy that was seen to hold back is the other candidate.
const BELOW_PROXY_RATIO: f64 = 0.99;

/// The path against the raw stream, whatever held that back.
pub(super) fn against_stream(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let cut = stream_cut(view, cell);
    let verdict = against(view, cell, cut)?;
    let passed = cut == Cut::NetworkStream && view.passes_proxy(cell);
    Some(if passed && verdict.stance == Stance::Limits { open_between(verdict) } else { verdict })
}

/// The path against one of the raw streams.
fn against(view: &View<'_>, cell: &CellSummary, cut: Cut) -> Option<Verdict> {
    let ceiling = view.ceiling(cut, cell)?;
    let command = format!("ss -ti dst {}; ip -s link", judge::server_host(view));
    let shown = Shown { counter: "payload acknowledged or received (TCP_INFO)", command: &command };
    if judge::is_single(cell) {
        // The best that the wire carried in this direction at any block: what the block's bytes alone cost, on each leg.
        let best = view.best_of(cut, cell).unwrap_or(ceiling.bytes_per_s);
        let passes_proxy = cut == Cut::NetworkStream && view.passes_proxy(cell);
        let legs = if passes_proxy { 2.0 } else { 1.0 };
        let part_s = legs * cell.block_bytes.as_f64() / best;
        let verdict = judge::time_share(RULE.segment, cell, part_s, "moving the block over the wire", shown)?;
        return judge::convicting(verdict, ceiling);
    }
    cell.rate_bytes_per_s?;
    let carried = Carried { segment: RULE.segment, cell, rate: network_bytes_per_s(cell) };
    let verdict = judge::carried_against(carried, ceiling, text::network_rate, shown)?;
    let stayed = 1.0 - network_share(cell);
    let verdict = if stayed <= 0.0 {
        verdict
    } else {
        verdict.because(of_loopback(stayed), "payload of connections within a host", "")
    };
    Some(verdict.gains(judge::relief(view, cell, &[Cut::ServerStorage, Cut::MemoryCopy])))
}

fn of_loopback(stayed: f64) -> String {
    let share = text::percent(stayed);
    format!(
        "{share} of what the path moves stays on one host, where a client is beside a server; only the rest is counted"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found, machine, named};
    use narrows_model::summary::Metric;

    #[test]
    fn a_thin_wire_is_named_first() {
        for thin in ["hundred-megabit", "gigabit-nfs", "fast-disk"] {
            assert_eq!(named(&builtin(thin), "bulk"), [Segment::NetworkBandwidth], "{thin}");
        }
    }

    #[test]
    fn the_measured_ceiling_is_the_payload_rate_of_the_wire() {
        let summary = builtin("hundred-megabit");
        let wire = summary.segments.iter().find(|segment| segment.id == Segment::NetworkBandwidth).unwrap();
        let declared = machine("hundred-megabit").network.unwrap().bytes_per_s.0;
        let measured = wire.ceiling_bytes_per_s.unwrap().0;
        assert!((measured / declared - 1.0).abs() < 0.05, "{measured} of {declared}");
    }

    #[test]
    fn what_stays_on_a_host_is_neither_the_wires_ceiling_nor_counted_against_it() {
        let mut summary = builtin("hundred-megabit");
        let whole = summary.segments.iter().find(|segment| segment.id == Segment::NetworkBandwidth);
        let whole = whole.unwrap().ceiling_bytes_per_s.unwrap().0;
        let stayed =
            Metric { id: "tcp_loopback_ratio".into(), value: 0.25, unit: String::new(), interval: None };
        let over_wire = |cell: &&mut CellSummary| matches!(cell.cut, Cut::Path | Cut::NetworkStream);
        for cell in summary.cells.iter_mut().filter(over_wire) {
            cell.metrics.push(stayed.clone());
        }
        let view = View::of(&summary);
        let cell = view.regimes()[0].cell;
        let verdict = judge(&view, cell).unwrap();
        assert_eq!((verdict.segment, verdict.stance), (Segment::NetworkBandwidth, Stance::Limits));
        assert!(
            verdict.evidence.iter().any(|evidence| evidence.text.starts_with("25 % of what the path moves"))
        );
        let carried = view.ceiling(Cut::NetworkStream, cell).unwrap().bytes_per_s;
        assert!((carried / whole - 0.75).abs() < 0.02, "{carried} of {whole}");
    }

    #[test]
    fn a_wide_wire_is_cleared() {
        let summary = builtin("ten-gigabit-nfs");
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::NetworkBandwidth));
    }

    #[test]
    fn a_stream_that_a_cpu_holds_back_does_not_blame_the_wire() {
        assert!(!found(&builtin("slow-server-cpu"), RULE.code));
    }
}
