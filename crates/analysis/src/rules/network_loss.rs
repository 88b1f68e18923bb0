//! Packets were lost and sent again.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::facts::time_per_op_s;
use crate::method::loss::{self, HARMLESS_RATIO, LossLaw};
use crate::method::one_more::{ExtraConnection, one_more_connection};
use crate::method::{self, network};
use crate::summary::{TCP_RETRANSMIT_COUNT, TCP_SEGMENT_COUNT};
use crate::text;
use crate::thresholds::{DOMINANT_RATIO, INFERRED_CONFIDENCE};
use crate::view::SummaryView;
use narrows_model::diagnosis::Severity;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Nanos, Segment};

/// The least time after which Linux sends a segment again that was not acknowledged.
///
/// # Source
/// Linux, `include/net/tcp.h`: `TCP_RTO_MIN`.
const RETRANSMISSION_TIMEOUT_S: f64 = 0.2;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "packets-lost",
    slug: "network_loss",
    segment: Segment::NetworkLoss,
    title: "packets were lost and retransmitted",
    definition: "A share of the segments on the load's connections was retransmitted. Loss shrinks the congestion \
                 window of each connection. It limits where the path moves nearly what a raw stream moved, or each \
                 connection moves what the loss formula allows, one more connection is faster, and no window limited \
                 the stream; otherwise it is only reported. Where a hundredth or more is sent again and no queue stands before the \
                 wire, it limits also where chance hides what one more connection gains, unless twice as many connections move \
                 less than half as much again. Requests of at most 64 KiB wait for the timer that sends \
                 a lost segment again: it limits them where the mean is above the median by half of the mean or more, and \
                 the timers explain that. Other signs make loss the limit of such requests with 80 % at most: a shorter round \
                 trip may gain as much. With a proxy the worse leg counts, the loss formula is \
                 not applied, and only a share of zero is harmless.",
    formula: "segments retransmitted / segments sent, both of the data's sender; harmless under 0.1 %; limits: rate \
              >= 0.9 x raw stream, or 1/2 to 2 x (segment / round trip) x sqrt(1.5 / share) a connection; one more \
              connection >= 1.1 x the rate, window- and buffer-limited < half of the busy time; or share >= 1 %, rate <= 2 x \
              that, and round trip < 2 x its smallest or rate x round trip < 0.5 x congestion window; small requests: \
              min(retransmissions an operation x 0.2 s, mean - median) >= 0.5 x mean",
    source: "Mathis et al., ACM Computer Communication Review 27 (1997); RFC 6582",
    example: "12 segments of 86 100 retransmitted: 0.01 %",
    how_to_measure: Some(
        "watch retrans in `ss -ti` while the path is loaded; measure the bulk load over one more connection",
    ),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    cases.evaluate_cells_over_network(evaluate)
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let count = method::metric(cell, TCP_RETRANSMIT_COUNT)?;
    let segments = method::metric(cell, TCP_SEGMENT_COUNT)?;
    let share = loss::lost_ratio(cell)?;
    let harmless = share < HARMLESS_RATIO;
    if harmless && share > 0.0 && view.passes_proxy(cell) {
        return None; // The proxy's segments are those of both of its sides: the share of the data's is not known.
    }
    let verdict = if harmless {
        SegmentVerdict::new(RULE.segment, &cell.id, Stance::Clears, Basis::State, share)
    } else {
        // Small requests wait for timers, which shows; what loss else costs them, a shorter round trip may gain as well.
        by_timeouts(cell, count)
            .or_else(|| Some(convicted(view, cell)?.unsure_if(cell.is_small_block())))
            .unwrap_or_else(|| SegmentVerdict::note(RULE.segment, &cell.id, Severity::Warning))
    };
    let text =
        format!("{}: {count:.0} of {segments:.0} segments retransmitted ({})", cell.id, text::percent(share));
    Some(verdict.with_evidence(
        text,
        "retransmits (TCP_INFO)",
        &format!("ss -ti dst {}", method::server_host(view)),
    ))
}

/// The verdict that loss limits the path: each connection is limited by its own congestion window, so that another one
/// transfers as much again, while a full wire has nothing to spare and a closed window shows in the sender's times.
///
/// The raw stream had losses of its own, at other moments: where it lost less, the law gives what the path's losses
/// allow.
fn convicted(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let more = one_more_connection(view, cell);
    // What the path's own connections show needs no stream beside them, for which losses may have left no time.
    if let Some(verdict) = starved(view, cell, more) {
        return Some(verdict);
    }
    let stream = view.ceiling(network::stream_cut(view, cell), cell)?.cell;
    let more = more.filter(|more| more.helps())?;
    let is_slowed = !network::is_mostly_round_trip(cell);
    if method::is_single(cell) || network::stream_limit(view, stream).is_some() || !is_slowed {
        return None;
    }
    let wire = network::compare_with_stream(view, cell).filter(|wire| wire.stance == Stance::Limits);
    // The law is of one connection, and each leg to a proxy has its own.
    let lawful = || by_law(cell).filter(|_| !view.passes_proxy(cell));
    let verdict = wire.or_else(lawful)?;
    let verdict = SegmentVerdict { segment: RULE.segment, severity: Severity::Warning, ..verdict };
    Some(verdict.with_relief_gain(Some(more.gain.ratio)).with_evidence(more.text(), "rate of the path", ""))
}

/// The verdict that connections lose so much that they fill no wire, also where chance hides what one more of them gains.
fn starved(
    view: &SummaryView<'_>,
    cell: &CellSummary,
    more: Option<ExtraConnection<'_>>,
) -> Option<SegmentVerdict> {
    let found = loss::starved(view, cell, more)?;
    let verdict = SegmentVerdict::new(RULE.segment, &cell.id, Stance::Limits, Basis::Utilisation, 1.0);
    let verdict = SegmentVerdict { severity: Severity::Warning, ..verdict }.without_used();
    let text = format!("{}: {}", cell.id, found.text());
    let verdict = verdict.with_evidence(text, "retransmits, round trip and window (TCP_INFO)", "");
    Some(match more.filter(|more| more.helps()) {
        Some(more) => {
            verdict.with_relief_gain(Some(more.gain.ratio)).with_evidence(more.text(), "rate of the path", "")
        }
        None => verdict.with_confidence_max(INFERRED_CONFIDENCE),
    })
}

/// The verdict that each connection moves what the law of loss allows it.
fn by_law(cell: &CellSummary) -> Option<SegmentVerdict> {
    let law = LossLaw::new(cell).filter(|law| law.explains_rate())?;
    let load = law.load.min(1.0);
    let verdict = SegmentVerdict::new(RULE.segment, &cell.id, Stance::Limits, Basis::Utilisation, load);
    let text = format!(
        "{}: {} where this loss rate and a round trip of {} allow {} ({})",
        cell.id,
        text::network_rate(cell.rate_bytes_per_s.unwrap_or_default().0),
        text::seconds(law.round_trip_s),
        text::network_rate(law.allowed_bytes_per_s),
        text::percent(load),
    );
    let counter = "retransmits and round trip (TCP_INFO)";
    Some(verdict.with_load_error(method::error_ratio(cell)).with_evidence(text, counter, ""))
}

/// The verdict that small requests wait for lost segments to be sent again: nothing follows a small request that would tell
/// the sender of the loss, so that it waits for the timer. The mean is then far above the median, by what the timers take.
fn by_timeouts(cell: &CellSummary, count: f64) -> Option<SegmentVerdict> {
    let mean_s = time_per_op_s(cell).filter(|_| cell.is_small_block())?;
    let median_s = Nanos(cell.latency_ns.p50?).as_secs_f64();
    let ops = cell.ops_per_s?.0 * cell.elapsed_s.last_done;
    let lost_s = ratio(count, ops)? * RETRANSMISSION_TIMEOUT_S;
    let share = ratio(lost_s.min(mean_s - median_s), mean_s).filter(|share| *share >= DOMINANT_RATIO)?;
    let text = format!(
        "{}: half of the requests took {} or less, the mean is {}: a segment lost at the end of a message is sent again \
         after {} at the earliest, which explains {} of the time",
        cell.id,
        text::seconds(median_s),
        text::seconds(mean_s),
        text::seconds(RETRANSMISSION_TIMEOUT_S),
        text::percent(share),
    );
    let verdict = SegmentVerdict::new(RULE.segment, &cell.id, Stance::Limits, Basis::TimeShare, share);
    let verdict = SegmentVerdict { severity: Severity::Warning, ..verdict };
    let verdict = verdict.with_relief_gain(ratio(1.0, 1.0 - share));
    let verdict = verdict.with_load_error(method::error_ratio(cell));
    Some(verdict.with_evidence(text, "response times; retransmits (TCP_INFO)", ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found, machine, named};
    use narrows_model::Cut;

    #[test]
    fn no_segment_sent_again_clears_the_network_of_loss() {
        let summary = builtin("gigabit-nfs");
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::NetworkLoss));
    }

    #[test]
    fn a_path_at_the_law_of_loss_is_limited_by_it_though_the_raw_stream_was_luckier() {
        let mut summary = crate::testing::refined(&machine("lossy-wire"));
        assert_eq!(named(&summary, "bulk")[0], Segment::NetworkLoss);
        let streams = |factor: f64, summary: &mut narrows_model::Summary| {
            for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::NetworkStream) {
                cell.rate_bytes_per_s.as_mut().unwrap().0 *= factor;
            }
        };
        streams(1.5, &mut summary);
        let view = SummaryView::new(&summary);
        let bulk = view.regimes()[0].cell;
        let verdict = evaluate(&view, bulk).unwrap();
        assert_eq!(verdict.stance, Stance::Limits);
        let texts: Vec<&str> = verdict.evidence.iter().map(|evidence| evidence.text.as_str()).collect();
        assert!(texts[0].contains("where this loss rate and a round trip of 4"), "{texts:?}");
        let mut faster = bulk.clone();
        faster.rate_bytes_per_s.as_mut().unwrap().0 *= 4.0;
        assert_eq!(by_law(&faster), None, "what moves four times the law is not limited by it");
    }

    #[test]
    fn one_segment_in_a_hundred_sent_again_is_reported() {
        let mut summary = builtin("gigabit-nfs");
        for cell in &mut summary.cells {
            let sent = method::metric(cell, TCP_SEGMENT_COUNT).unwrap_or(0.0);
            for metric in cell.metrics.iter_mut().filter(|metric| metric.id == TCP_RETRANSMIT_COUNT) {
                metric.value = sent / 100.0;
            }
        }
        assert!(crate::diagnose(&summary).findings.iter().any(|finding| finding.code == RULE.code));
    }

    /// Bulk loads of a gigabit wire at this share of their rate, like the stream beside them, of which a twentieth of the
    /// segments is sent again, with this round trip over its smallest and this rate of one more connection.
    fn heavy_loss(rate_ratio: f64, queue_ratio: f64, one_more: f64) -> Vec<Segment> {
        named(&lossy(rate_ratio, queue_ratio, one_more), "bulk")
    }

    fn lossy(rate_ratio: f64, queue_ratio: f64, one_more: f64) -> narrows_model::Summary {
        let mut summary = crate::testing::refined(&machine("gigabit-nfs"));
        let slow = |cell: &mut CellSummary, by: f64| {
            cell.rate_bytes_per_s.as_mut().unwrap().0 *= by;
            cell.ops_per_s.as_mut().unwrap().0 *= by;
            (cell.elapsed_s.first_done, cell.elapsed_s.last_done) =
                (cell.elapsed_s.first_done / by, cell.elapsed_s.last_done / by);
            cell.cpu.values_mut().for_each(|cpu| cpu.busy_ratio *= by);
        };
        let path = summary.cells.iter().filter(|cell| cell.cut == Cut::Path && !method::is_single(cell));
        let with_one_more: Vec<CellSummary> = path
            .filter(|cell| cell.requested.workers == 1)
            .map(|cell| {
                let mut more = cell.clone();
                more.requested.workers += 1;
                more.id = cell.id.replace("/c1", "/w2/c1");
                slow(&mut more, one_more);
                more
            })
            .collect();
        summary.cells.retain(|cell| cell.cut != Cut::Path || cell.requested.workers == 1);
        summary.cells.extend(with_one_more);
        for cell in summary.cells.iter_mut().filter(|cell| matches!(cell.cut, Cut::Path | Cut::NetworkStream))
        {
            slow(cell, rate_ratio);
            let segments = cell.bytes.wire.map_or(0.0, |wire| wire.as_f64() / 1448.0);
            let smallest_s = cell.rtt_min_ns.unwrap().as_secs_f64();
            let rate = cell.rate_bytes_per_s.unwrap().0;
            for metric in &mut cell.metrics {
                match metric.id.as_str() {
                    TCP_RETRANSMIT_COUNT => metric.value = segments / 20.0,
                    TCP_SEGMENT_COUNT => metric.value = segments,
                    "tcp_round_trip_s" => metric.value = smallest_s * queue_ratio,
                    "tcp_congestion_window_bytes" => metric.value = rate * smallest_s * queue_ratio,
                    _ => {}
                }
            }
        }
        summary.diagnosis = crate::diagnose(&summary);
        summary
    }

    #[test]
    fn bulk_loads_that_lose_a_twentieth_without_a_queue_are_limited_by_loss_and_not_by_a_wire() {
        // Chance hides what one more connection gains, or it shows it.
        for one_more in [1.4, 2.0] {
            assert_eq!(heavy_loss(0.05, 1.1, one_more)[0], Segment::NetworkLoss, "{one_more}");
        }
    }

    #[test]
    fn loss_limits_small_requests_with_80_percent_at_most_where_no_timer_shows_it() {
        let mut summary = lossy(0.05, 1.1, 2.0);
        let is_bulk = |cell: &&mut CellSummary| !method::is_single(cell) && !cell.is_small_block();
        for cell in summary.cells.iter_mut().filter(is_bulk) {
            cell.block_bytes = narrows_model::Bytes(65_536);
        }
        let confidence_max = |summary: &narrows_model::Summary, with_timers: bool| {
            let view = SummaryView::new(summary);
            let is_path = |cell: &&CellSummary| cell.cut == Cut::Path && !method::is_single(cell);
            let mut cell = summary.cells.iter().find(is_path).unwrap().clone();
            // All take as long, or most take a microsecond.
            cell.latency_ns.p50 = Some(if with_timers { 1_000 } else { u64::MAX });
            if with_timers {
                let mean_s = time_per_op_s(&cell).unwrap();
                let ops = cell.ops_per_s.unwrap().0 * cell.elapsed_s.last_done;
                let lost = cell.metrics.iter_mut().find(|metric| metric.id == TCP_RETRANSMIT_COUNT).unwrap();
                lost.value = ops * mean_s / RETRANSMISSION_TIMEOUT_S;
                let sent = cell.metrics.iter_mut().find(|metric| metric.id == TCP_SEGMENT_COUNT).unwrap();
                sent.value = sent.value.max(ops);
            }
            let verdict = evaluate(&view, &cell).unwrap();
            assert_eq!(verdict.stance, Stance::Limits, "{with_timers}");
            verdict.confidence_max
        };
        assert!(confidence_max(&summary, false) <= 0.8);
        assert!(confidence_max(&summary, true) > 0.8);
    }

    #[test]
    fn loss_is_named_also_where_no_stream_was_measured() {
        let mut summary = lossy(0.05, 1.1, 2.0);
        summary.cells.retain(|cell| !matches!(cell.cut, Cut::NetworkStream | Cut::ServerMemory));
        summary.diagnosis = crate::diagnose(&summary);
        assert_eq!(named(&summary, "bulk")[0], Segment::NetworkLoss);
    }

    #[test]
    fn a_full_wire_that_drops_a_twentieth_is_no_loss() {
        // A queue builds up before it, or one more connection adds nothing.
        for (queue_ratio, one_more) in [(8.0, 1.0), (1.1, 1.0)] {
            let named = heavy_loss(0.05, queue_ratio, one_more);
            assert!(!named.contains(&Segment::NetworkLoss), "{queue_ratio} {one_more}: {named:?}");
        }
    }

    /// A single small request at a time that takes 2 ms and waits 200 ms after each loss.
    fn with_losses(losses_per_op: f64, mean_s: f64) -> Vec<Segment> {
        let mut summary = builtin("gigabit-nfs");
        for cell in &mut summary.cells {
            if !(cell.cut == Cut::Path && method::is_single(cell)) {
                continue;
            }
            cell.latency_ns.p50 = Some(2_000_000);
            cell.ops_per_s = Some(narrows_model::OpsPerSec(1.0 / mean_s));
            cell.in_flight.measured = Some(1.0);
            let ops = cell.elapsed_s.last_done / mean_s;
            for metric in &mut cell.metrics {
                match metric.id.as_str() {
                    TCP_RETRANSMIT_COUNT => metric.value = losses_per_op * ops,
                    TCP_SEGMENT_COUNT => metric.value = 3.0 * ops,
                    _ => {}
                }
            }
        }
        summary.diagnosis = crate::diagnose(&summary);
        named(&summary, "one-at-a-time")
    }

    #[test]
    fn small_requests_that_wait_for_the_timer_of_a_lost_segment_are_limited_by_loss() {
        assert_eq!(with_losses(0.1, 0.022)[0], Segment::NetworkLoss);
        // A slow mean without the losses that would explain it, and losses that cost no time.
        for (losses_per_op, mean_s) in [(0.004, 0.022), (0.1, 0.0022)] {
            let named = with_losses(losses_per_op, mean_s);
            assert!(!named.contains(&Segment::NetworkLoss), "{losses_per_op} {mean_s}: {named:?}");
        }
    }
}
