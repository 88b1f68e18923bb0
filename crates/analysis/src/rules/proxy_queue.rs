//! A proxy that limits though its CPU is idle.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::method::cpu::fills_a_thread;
use crate::method::proxy::ProxyComparison;
use crate::method::{self, EvidenceSource, network};
use crate::text;
use crate::thresholds::ELIMINATED_CONFIDENCE;
use crate::view::SummaryView;
use narrows_model::Segment;
use narrows_model::counters::Role;
use narrows_model::units::ratio;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "proxy-holds-back",
    slug: "proxy_queue",
    segment: Segment::ProxyQueue,
    title: "the proxy limits, though its CPU is idle",
    definition: "The same load is clearly faster past the proxy than through it, and the proxy has dedicated CPUs \
                 that are not full: its buffers, its queue or its links limit. Where both rates agree within their \
                 error, the proxy is cleared, unless another load does not decide it. Over a network the direct route \
                 is a different one, and a slower leg to the proxy looks the same: the confidence is at most 60 % \
                 then, and the network is named as well where the raw stream through the proxy moved no more than the \
                 path. Nothing is reported if the load past the proxy was not measured, or if the proxy's CPU is \
                 unknown or shared.",
    formula: "r = path / direct-path, e = its standard error; r + 2 e <= 0.8; at one request in flight: 1 - r >= half \
              of the time of one request; cleared: r - 2 e >= 0.9; above 1.1 no measurement; proxy's CPU under 0.95 \
              of its capacity and not throttled by a quota, one connection under 0.9 of one CPU; gain: 1 / r",
    source: "Substitution: one segment is taken out and the rate compared (asymptotic bounds of Denning and Buzen, ACM Computing \
             Surveys 10, 1978)",
    example: "64 KiB writes at 11 MiB/s through the proxy and 112 MiB/s past it, the proxy's CPU at 3 %",
    how_to_measure: Some(
        "give the path as tcp://HOST:PORT/LAYER?via=PROXYHOST:PORT, on a machine that reaches HOST:PORT without the \
                     proxy too",
    ),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(view) = cases.view() else { return Vec::new() };
    let past: Vec<ProxyComparison<'_>> =
        view.regimes().iter().filter_map(|regime| ProxyComparison::new(view, regime.cell)).collect();
    // No other load clears a proxy that limits any load, for lack of CPU too.
    let limits_any = past.iter().any(|past| past.stance() == Some(Stance::Limits));
    let verdicts = past.iter().filter_map(|past| past.evaluate(cases, view));
    verdicts.filter(|verdict| !limits_any || verdict.stance == Stance::Limits).collect()
}

impl ProxyComparison<'_> {
    /// Whether what is lost is the proxy's own, and not for want of CPU.
    fn is_the_proxys(&self, cases: &Cases<'_>, view: &SummaryView<'_>) -> bool {
        let idle = cases.find(&self.cell.id).is_some_and(|case| {
            let is_full = case.cpu.get(&Role::Proxy).is_none_or(|cpu| cpu.is_full);
            !is_full && !fills_a_thread(case, Role::Proxy)
        });
        idle && view.proxy_is_alone(self.cell)
    }

    fn evaluate(&self, cases: &Cases<'_>, view: &SummaryView<'_>) -> Option<SegmentVerdict> {
        match self.stance()? {
            // How full it is stays open: it sustains as much as the way past it, and perhaps more.
            Stance::Clears if view.proxy_is_alone(self.cell) => {
                let verdict =
                    SegmentVerdict::new(RULE.segment, &self.cell.id, Stance::Clears, Basis::State, 0.0);
                Some(self.with_rates(verdict, view))
            }
            Stance::Limits if self.is_the_proxys(cases, view) => Some(self.limits(view)),
            _ => None,
        }
    }

    fn limits(&self, view: &SummaryView<'_>) -> SegmentVerdict {
        let (basis, load) = if method::is_single(self.cell) {
            (Basis::TimeShare, 1.0 - self.share)
        } else {
            (Basis::Utilisation, 1.0)
        };
        let error = ratio(self.error, self.share);
        let verdict = SegmentVerdict::new(RULE.segment, &self.cell.id, Stance::Limits, basis, load)
            .without_used()
            .with_load_error(error)
            .with_relief_gain(ratio(1.0, self.share));
        let verdict = self.with_rates(verdict, view);
        let verdict = match SummaryView::cpu(self.cell, Role::Proxy) {
            None => verdict,
            Some(cpu) => {
                let (busy, all) = (text::percent(cpu.busy_ratio), text::cpus(cpu.capacity_cpus));
                let idle = format!("{}: the proxy's CPU is at {busy} of {all}", self.cell.id);
                verdict.with_evidence(idle, "CPU time of the proxy", "")
            }
        };
        if !view.has_network() {
            return verdict;
        }
        let text = match network::proxied_stream_rate(view, self.cell) {
            Some(carried) => format!(
                "the raw stream through the proxy moved {}, and the direct path is another route: a slower leg to the \
                 proxy would look the same",
                text::network_rate(carried)
            ),
            None => {
                "the direct path, 1 leg instead of 2, is another route: a longer leg to the proxy would look the \
                same".to_owned()
            }
        };
        verdict.with_confidence_max(ELIMINATED_CONFIDENCE).with_evidence(
            text,
            "payload acknowledged or received (TCP_INFO)",
            "",
        )
    }

    /// `verdict` with the rates of both.
    fn with_rates(&self, verdict: SegmentVerdict, view: &SummaryView<'_>) -> SegmentVerdict {
        let text = format!(
            "{} moves {} through the proxy and {} past it ({} +- {})",
            self.cell.id,
            text::storage_rate(self.cell.rate_bytes_per_s.unwrap_or_default().0),
            text::storage_rate(self.direct.bytes_per_s),
            text::percent(self.share),
            text::percent(2.0 * self.error),
        );
        let command = command(view);
        let shown = EvidenceSource {
            counter: "rate of the path, and of the same load past the proxy",
            command: &command,
        };
        verdict.with_evidence(text, shown.counter, shown.command)
    }
}

fn command(view: &SummaryView<'_>) -> String {
    match view.summary.target.via() {
        Some(via) => format!("ss -tmi dst {}; ss -tmi (on the proxy's machine)", via.host),
        None => "ss -tmi (on the proxy's machine)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cleared;
    use crate::testing::found;
    use crate::testing::proxied::{Proxied, proxied};
    use narrows_model::diagnosis::Relation;
    use narrows_model::summary::CellSummary;
    use narrows_model::{Cut, Summary};

    fn bulk(summary: &Summary) -> Vec<&narrows_model::Limiting> {
        summary.diagnosis.limiting.iter().filter(|entry| entry.regime.starts_with("bulk")).collect()
    }

    /// The rates of these cells, so many times what they were.
    fn scale(summary: &mut Summary, factor: f64, which: fn(&CellSummary) -> bool) {
        for cell in summary.cells.iter_mut().filter(|cell| which(cell)) {
            cell.rate_bytes_per_s.as_mut().unwrap().0 *= factor;
            cell.ops_per_s.as_mut().unwrap().0 *= factor;
            for edge in cell.interval.iter_mut().flat_map(|seen| [&mut seen.low, &mut seen.high]) {
                *edge *= factor;
            }
        }
        summary.diagnosis = crate::diagnose(summary);
    }

    #[test]
    fn an_idle_proxy_past_which_the_path_is_faster_is_named_beside_a_leg_as_slow() {
        let summary = proxied(Proxied { busy: 0.03, ..Proxied::slow() });
        let entries = bulk(&summary);
        let segments: Vec<Segment> = entries.iter().map(|entry| entry.segment).collect();
        assert_eq!(segments, [Segment::ProxyQueue, Segment::NetworkBandwidth], "{entries:#?}");
        assert!(entries.iter().all(|entry| entry.relation == Relation::OneOf && entry.confidence <= 0.6));
        let first = entries[0];
        assert!(first.relief_gain_ratio.is_some_and(|gain| (gain - 10.0).abs() < 0.01), "{first:?}");
        let texts: Vec<&str> = first.evidence.iter().map(|evidence| evidence.text.as_str()).collect();
        assert!(texts.iter().any(|text| text.contains("through the proxy and")), "{texts:?}");
        assert!(texts.iter().any(|text| text.contains("the proxy's CPU is at 3.0 %")), "{texts:?}");
        assert!(texts.iter().any(|text| text.contains("a slower leg")), "{texts:?}");
        assert!(first.evidence[0].command.contains("ss -tmi dst proxy"));
        assert!(cleared(&summary, Segment::ProxyCpu) && !cleared(&summary, Segment::NetworkBandwidth));
    }

    #[test]
    fn small_buffers_through_which_a_stream_passes_are_the_proxys_and_the_network_is_cleared() {
        let mut summary = proxied(Proxied { busy: 0.03, ..Proxied::slow() });
        // Requests and replies wait for each other, and a stream keeps the buffers full.
        scale(&mut summary, 3.0, |cell| cell.cut == Cut::NetworkStream);
        let entries = bulk(&summary);
        assert_eq!((entries.len(), entries[0].segment), (1, Segment::ProxyQueue), "{entries:#?}");
        assert!(entries[0].confidence <= 0.6 && cleared(&summary, Segment::NetworkBandwidth));
    }

    #[test]
    fn a_proxy_with_its_cpu_full_is_not_said_to_queue() {
        assert!(!found(&proxied(Proxied { busy: 0.99, quota: true, ..Proxied::slow() }), RULE.code));
    }

    #[test]
    fn a_difference_within_the_error_is_neither_blamed_nor_cleared() {
        for (past, noisy) in [(1.30, true), (1.02, true), (1.18, false), (0.85, false)] {
            let mut summary = proxied(Proxied { past, busy: 0.03, capacity_cpus: 2.0, ..Proxied::slow() });
            let bulk_alone =
                |cell: &CellSummary| cell.cut != Cut::DirectPath || cell.in_flight.configured > 1;
            summary.cells.retain(bulk_alone);
            for cell in summary.cells.iter_mut().filter(|cell| noisy && cell.cut == Cut::DirectPath) {
                let rate = cell.rate_bytes_per_s.unwrap().0;
                let interval = cell.interval.as_mut().unwrap();
                (interval.low, interval.high) = (rate * 0.8, rate * 1.2);
            }
            summary.diagnosis = crate::diagnose(&summary);
            let outcome = (found(&summary, RULE.code), cleared(&summary, Segment::ProxyQueue));
            assert_eq!(outcome, (false, false), "{past} {noisy}");
        }
    }

    #[test]
    fn a_proxy_that_costs_small_requests_most_of_their_time_is_not_cleared_by_bulk() {
        let mut summary = proxied(Proxied::healthy());
        assert!(cleared(&summary, Segment::ProxyQueue));
        scale(&mut summary, 3.0, |cell| cell.cut == Cut::DirectPath && cell.in_flight.configured == 1);
        assert!(!cleared(&summary, Segment::ProxyQueue) && found(&summary, RULE.code));
        let small = summary.diagnosis.limiting.iter().find(|entry| entry.segment == Segment::ProxyQueue);
        assert!(small.is_some_and(|entry| entry.regime.starts_with("one-at-a-time")), "{small:?}");
    }

    #[test]
    fn on_cpus_that_others_use_too_nothing_is_said_of_its_queue() {
        for past in [1.02, 10.0] {
            let shared = Proxied { past, busy: 0.03, shares_client: true, ..Proxied::slow() };
            let summary = proxied(shared);
            assert!(!found(&summary, RULE.code) && !cleared(&summary, Segment::ProxyQueue), "{past}");
        }
        // One quota of its own is not enough: the client's turns still delay it.
        let summary = proxied(Proxied { busy: 0.03, quota: true, shares_client: true, ..Proxied::slow() });
        assert!(!found(&summary, RULE.code));
    }

    #[test]
    fn a_proxy_that_lets_as_much_through_is_cleared_and_the_wire_named() {
        let summary = proxied(Proxied::healthy());
        assert!(cleared(&summary, Segment::ProxyQueue) && !found(&summary, RULE.code));
        assert_eq!(summary.diagnosis.limiting[0].segment, Segment::NetworkBandwidth);
    }

    #[test]
    fn without_the_load_past_it_nothing_is_said_of_it_and_the_wire_is_less_sure() {
        let mut summary = proxied(Proxied { busy: 0.03, ..Proxied::slow() });
        summary.cells.retain(|cell| !matches!(cell.cut, Cut::DirectStream | Cut::DirectPath));
        summary.diagnosis = crate::diagnose(&summary);
        assert!(!found(&summary, RULE.code) && !cleared(&summary, Segment::ProxyQueue));
        let wire: Vec<_> =
            summary.diagnosis.limiting.iter().filter(|e| e.segment == Segment::NetworkBandwidth).collect();
        assert!(!wire.is_empty() && wire.iter().all(|entry| entry.confidence <= 0.6), "{wire:#?}");
        assert!(
            wire[0].evidence.iter().any(|evidence| evidence.text.contains("this stream passed the proxy"))
        );
    }
}
