//! The network's bandwidth is full.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::method::loss::{self, LossLaw};
use crate::method::one_more::{ExtraConnection, one_more_connection};
use crate::method::scope::{CLIENT_LINK, NetworkScope};
use crate::method::{self, given, network, proxy, scope};
use crate::text;
use crate::thresholds::{INFERRED_CONFIDENCE, RAISED_RATIO};
use crate::view::SummaryView;
use narrows_model::printable::one_line;
use narrows_model::summary::{CellSummary, ForeignResource, ForeignTransfer};
use narrows_model::units::ratio;
use narrows_model::{Cut, Segment};

/// From this share of an interface's bytes on, what path and stream differ by is more than the totals beside them may.
const APART_MIN_RATIO: f64 = 0.1;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "network-bandwidth-full",
    slug: "network_bandwidth",
    segment: Segment::NetworkBandwidth,
    title: "the network's bandwidth is full",
    definition: "The path moves nearly the payload that a raw stream over the same connections moved, in the same \
                 direction and block size. If a window or a buffer limited the stream, the connection is named \
                 instead, and where one more connection is faster the wire had bandwidth left. An interface that others use too is full where it moved as much in total beside \
                 the path as beside the stream, though one of the two had more of it than the other. A path faster than \
                 its stream is compared with the best stream of any block size, for a wire passes bytes; one faster than \
                 noise explains has raised that ceiling too, and nothing is named. With a proxy, the stream through it can \
                 clear the network and the stream past it can name it; if only the stream through it names it, the \
                 confidence is at most 60 %, also at one request in flight. Not evaluated over loopback, which is \
                 memory. Where clients run on several hosts and the same streams of fewer hosts moved as much a host, the clients' \
                 own links are named (client-link). In an observation file the rate of all clients is compared with count x value of a \
                 [[ceiling]] of the network; where the rate is only known within two bounds, the lower bound decides \
                 whether the network is full and the upper bound whether it is cleared.",
    formula: "0.9 x payload rate of the raw stream <= rate <= 1.03 x (or two standard errors above it), one more \
              connection < 1.1 x where measured; at one request in flight: (block / stream rate) >= half \
              of the time of one request; clients' links: rate a host within a tenth of that of fewer hosts; with others: total beside the path 0.97 to 1.03 x total beside the stream, |rate - stream| >= 0.1 x total",
    source: "Asymptotic bounds of Denning and Buzen, ACM Computing Surveys 10 (1978); Hockney's law for the time share",
    example: "1 MiB writes at 93.1 Mbit/s where the stream reached 94.1 Mbit/s: 99 %",
    how_to_measure: Some("run `narrows serve` on the storage server and give --server HOST:PORT"),
    how_to_write: Some("write the bandwidth of the link as a [[ceiling]] of network.bandwidth"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let mut verdicts = cases.evaluate_cells_over_network(evaluate);
    let given = cases.table().map(|table| given::reached(table, |segment| segment == RULE.segment));
    verdicts.extend(given.unwrap_or_default());
    verdicts
}

/// The verdict against the stream, unless it blames the wire by a stream that a window or a buffer limited, or the path
/// is faster over one more connection.
fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let stream = view.ceiling_at_any_block(network::stream_cut(view, cell), cell)?.cell;
    if let Some(verdict) = shared_with_others(cell, stream) {
        return Some(verdict);
    }
    let verdict = if view.passes_proxy(cell) {
        beside_proxy(view, cell)?
    } else {
        network::compare_with_stream(view, cell)?
    };
    let limits = verdict.stance == Stance::Limits;
    let more = one_more_connection(view, cell);
    if limits && more.is_some_and(|more| more.helps() && !method::is_single(cell)) {
        return None; // What one more connection adds, the wire had to spare.
    }
    let starved = loss::starved(view, cell, more);
    if limits && starved.is_some() {
        return None; // The stream lost as much: both show what loss leaves, and no full wire.
    }
    let flat = more.is_some_and(ExtraConnection::adds_nothing);
    let is_limited = limits && !flat && network::stream_limit(view, stream).is_some();
    (!is_limited).then(|| scoped(view, cell, if flat { verdict } else { unless_lossy(cell, verdict) }))
}

/// The verdict on the whole network where path and stream lost so many segments that the law of loss explains the rate as
/// well as a full wire does: a full wire drops segments too.
fn unless_lossy(cell: &CellSummary, verdict: SegmentVerdict) -> SegmentVerdict {
    let lost = loss::lost_ratio(cell).filter(|share| *share >= loss::HARMLESS_RATIO);
    let law = lost.zip(LossLaw::new(cell)).filter(|(_, law)| law.explains_rate());
    let law = law.filter(|_| verdict.stance == Stance::Limits && !method::is_single(cell));
    let Some((share, law)) = law else { return verdict };
    let text = format!(
        "{} of the segments were sent again, which alone would allow {}: whether the wire is full or loses them is not known",
        text::percent(share),
        text::network_rate(law.allowed_bytes_per_s),
    );
    let verdict = SegmentVerdict { segment: Segment::Network, ..verdict };
    verdict.with_evidence(text, "retransmits and round trip (TCP_INFO)", "")
}

/// The verdict on an interface that others use too, and that moved as much in total beside the path as beside the stream,
/// though one of the two moved more than the other: what one of them left, the others took, so that it was full.
fn shared_with_others(cell: &CellSummary, stream: &CellSummary) -> Option<SegmentVerdict> {
    let of_interface = |transfer: &&ForeignTransfer| transfer.resource == ForeignResource::Interface;
    let path_ratio = ratio(cell.rate_bytes_per_s?.0, stream.rate_bytes_per_s?.0)?;
    let (own, beside) = cell.foreign_transfers.iter().filter(of_interface).find_map(|own| {
        let same = |one: &&ForeignTransfer| (one.role, &one.name) == (own.role, &own.name);
        Some((own, stream.foreign_transfers.iter().filter(of_interface).find(same)?))
    })?;
    let total = ratio(own.total_bytes_per_s.0, beside.total_bytes_per_s.0)?;
    // Where others moved nearly all of it, the totals are alike whatever path and stream do.
    let apart = (cell.rate_bytes_per_s?.0 - stream.rate_bytes_per_s?.0).abs();
    let is_apart = ratio(apart, own.total_bytes_per_s.0)? >= APART_MIN_RATIO;
    let is_full = (2.0 - RAISED_RATIO..=RAISED_RATIO).contains(&total);
    (is_apart && is_full && !method::is_single(cell)).then(|| {
        let text = format!(
            "{}: the {}'s interface {} moved {} with the path and {} with {}, in both with the traffic of others: it was \
             full, and others left the path {path_ratio:.2} times what they left the stream",
            cell.id,
            own.role.name(),
            one_line(&own.name),
            text::network_rate(own.total_bytes_per_s.0),
            text::network_rate(beside.total_bytes_per_s.0),
            stream.cut.name(),
        );
        let verdict =
            SegmentVerdict::new(RULE.segment, &cell.id, Stance::Limits, Basis::Utilisation, total.min(1.0));
        verdict.with_confidence_max(INFERRED_CONFIDENCE).with_evidence(
            text,
            "bytes of the interface (/proc/net/dev)",
            "ip -s link",
        )
    })
}

/// The verdict where a proxy is between. The stream through it passed the path's own legs and may be the proxy's; the
/// one past it is the network's and may be another route. So the first alone clears, and what it alone blames is open.
fn beside_proxy(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let through = network::compare_with_cut(view, cell, Cut::NetworkStream);
    if through.as_ref().is_some_and(|through| through.stance == Stance::Clears) {
        return through;
    }
    let limits = |verdict: &SegmentVerdict| verdict.stance == Stance::Limits;
    let past = network::compare_with_cut(view, cell, Cut::DirectStream);
    if past.as_ref().is_some_and(limits) {
        return past;
    }
    // As fast past the proxy, where the stream transfers more: what both have in common limits.
    let elsewhere = past.is_some() && proxy::is_cleared(view, cell);
    let verdict = network::open_between(through.filter(limits).filter(|_| !elsewhere)?);
    let load_ratio = verdict.load_ratio.min(BELOW_PROXY_RATIO);
    Some(SegmentVerdict { load_ratio, ..verdict })
}

/// The verdict with the part of the network that it blames, where the path has several servers, or clients on several hosts.
fn scoped(view: &SummaryView<'_>, cell: &CellSummary, verdict: SegmentVerdict) -> SegmentVerdict {
    let part = Some(()).filter(|()| verdict.stance == Stance::Limits);
    // Where the wire itself is in doubt, so is whose it is.
    let is_sure = |part: &NetworkScope| part.name != Some(CLIENT_LINK) || verdict.segment == RULE.segment;
    match part.and_then(|()| scope::scope(view, cell)).filter(is_sure) {
        None => verdict,
        Some(part) => {
            let counter = "streams over fewer links and over all at once";
            SegmentVerdict { scope: part.name, ..verdict }.with_evidence(part.text, counter, "")
        }
    }
}

/// How full a network counts at most where a proxy that was seen to limit is the other candidate.
const BELOW_PROXY_RATIO: f64 = 0.99;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found, machine, make_mix, named};
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
        let view = SummaryView::new(&summary);
        let cell = view.regimes()[0].cell;
        let verdict = evaluate(&view, cell).unwrap();
        assert_eq!((verdict.segment, verdict.stance), (Segment::NetworkBandwidth, Stance::Limits));
        assert!(
            verdict.evidence.iter().any(|evidence| evidence.text.starts_with("25 % of what the path moves"))
        );
        let carried = view.ceiling(Cut::NetworkStream, cell).unwrap().bytes_per_s;
        assert!((carried / whole - 0.75).abs() < 0.02, "{carried} of {whole}");
    }

    #[test]
    fn one_small_request_at_a_time_fills_a_wire_whose_stream_was_measured_with_large_blocks() {
        let mut summary = builtin("gigabit-nfs");
        summary.cells.retain(|cell| cell.cut != Cut::NetworkStream || !cell.is_small_block());
        let wire = |cell: &&CellSummary| cell.cut == Cut::NetworkStream && crate::facts::reads(cell.op);
        let rates = summary.cells.iter().filter(wire).filter_map(|cell| cell.rate_bytes_per_s);
        let best = rates.map(|rate| rate.0).fold(0.0, f64::max);
        let one = |cell: &&mut CellSummary| {
            cell.cut == Cut::Path
                && method::is_single(cell)
                && cell.is_small_block()
                && crate::facts::reads(cell.op)
        };
        let cell = summary.cells.iter_mut().find(one).unwrap();
        cell.rate_bytes_per_s.as_mut().unwrap().0 = best;
        cell.ops_per_s.as_mut().unwrap().0 = best / cell.block_bytes.as_f64();
        let cell = cell.clone();
        let verdict = evaluate(&SummaryView::new(&summary), &cell).unwrap();
        assert_eq!(verdict.stance, Stance::Limits, "{verdict:?}");
    }

    #[test]
    fn a_path_faster_than_the_stream_of_its_block_is_compared_with_the_best_one() {
        // Of the wire's payload: the stream of small blocks, then a path of them.
        let verdict = |stream: f64, path: f64| {
            let mut summary = builtin("hundred-megabit");
            let small = |cell: &CellSummary, cut: Cut| {
                cell.cut == cut && cell.is_small_block() && !crate::facts::reads(cell.op)
            };
            let wire = summary.segments.iter().find(|segment| segment.id == RULE.segment).unwrap();
            let wire = wire.ceiling_bytes_per_s.unwrap().0;
            for cell in summary.cells.iter_mut().filter(|cell| small(cell, Cut::NetworkStream)) {
                cell.rate_bytes_per_s.as_mut().unwrap().0 = wire * stream;
            }
            let many = |cell: &&mut CellSummary| small(cell, Cut::Path) && !method::is_single(cell);
            let cell = summary.cells.iter_mut().find(many).unwrap();
            cell.rate_bytes_per_s.as_mut().unwrap().0 = wire * path;
            cell.ops_per_s.as_mut().unwrap().0 = wire * path / cell.block_bytes.as_f64();
            let cell = cell.clone();
            evaluate(&SummaryView::new(&summary), &cell).map(|verdict| verdict.stance)
        };
        assert_eq!(verdict(0.85, 0.98), Some(Stance::Limits));
        assert_eq!(verdict(0.5, 0.6), Some(Stance::Clears));
        assert_eq!(verdict(0.85, 1.3), None);
    }

    #[test]
    fn of_a_mix_one_direction_fills_the_wire() {
        use narrows_model::BytesPerSec;
        // Of the stream's rate: what the mix reads and writes at once.
        let verdict = |read: f64, written: f64| {
            let mut summary = builtin("gigabit-nfs");
            let cell = SummaryView::new(&summary).regimes()[0].cell.clone();
            let stream = SummaryView::new(&summary).ceiling(Cut::NetworkStream, &cell).unwrap().bytes_per_s;
            let main = cell.op;
            let other =
                if crate::facts::reads(main) { narrows_model::Op::Write } else { narrows_model::Op::Read };
            let mixed = summary.cells.iter_mut().find(|one| one.id == cell.id).unwrap();
            make_mix(mixed, [(main, stream * read), (other, stream * written)]);
            mixed.rate_bytes_per_s = Some(BytesPerSec(stream * (read + written)));
            let mixed = mixed.clone();
            evaluate(&SummaryView::new(&summary), &mixed).map(|verdict| verdict.stance)
        };
        assert_eq!(verdict(0.97, 0.95), Some(Stance::Limits));
        assert_eq!(verdict(0.6, 0.55), Some(Stance::Clears));
    }

    #[test]
    fn a_wide_wire_is_cleared() {
        let summary = builtin("ten-gigabit-nfs");
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::NetworkBandwidth));
    }

    #[test]
    fn a_stream_that_a_cpu_slows_does_not_blame_the_wire() {
        assert!(!found(&builtin("slow-server-cpu"), RULE.code));
    }

    /// Bulk loads at half of the stream's rate (`slowed` is the path), or the stream at half of theirs, on an interface that
    /// others use too, which moved so much in total beside each.
    fn beside_others(slowed: Cut, total_of_path: f64, total_of_stream: f64) -> Vec<Segment> {
        let mut summary = builtin("hundred-megabit");
        for cell in &mut summary.cells {
            let total = match cell.cut {
                Cut::Path => total_of_path,
                Cut::NetworkStream => total_of_stream,
                _ => continue,
            };
            if cell.cut == slowed {
                let half = |rate: narrows_model::BytesPerSec| narrows_model::BytesPerSec(rate.0 / 2.0);
                cell.rate_bytes_per_s = cell.rate_bytes_per_s.map(half);
            }
            cell.foreign_transfers = vec![ForeignTransfer {
                role: narrows_model::Role::Server,
                resource: ForeignResource::Interface,
                name: "eth0".to_owned(),
                total_bytes_per_s: narrows_model::BytesPerSec(total),
                foreign_bytes_per_s: narrows_model::BytesPerSec(total / 2.0),
                programs: Vec::new(),
            }];
        }
        summary.diagnosis = crate::diagnose(&summary);
        named(&summary, "bulk")
    }

    #[test]
    fn an_interface_that_others_fill_up_is_full_whatever_the_path_has_of_it() {
        for slowed in [Cut::Path, Cut::NetworkStream] {
            assert_eq!(beside_others(slowed, 12.1e6, 12e6), [Segment::NetworkBandwidth], "{slowed:?}");
            assert!(!beside_others(slowed, 9e6, 12e6).contains(&Segment::NetworkBandwidth), "{slowed:?}");
            // Others alone make the totals alike.
            assert!(!beside_others(slowed, 1e9, 1e9).contains(&Segment::NetworkBandwidth), "{slowed:?}");
        }
    }
}
