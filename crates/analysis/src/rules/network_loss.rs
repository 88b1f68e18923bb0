//! Packets were lost and sent again.

use super::judge;
use super::one_more::one_more_connection;
use super::{Basis, Rule, Stance, Verdict, client_connection, network_bandwidth};
use crate::summary::{TCP_RETRANSMIT_COUNT, TCP_SEGMENT_COUNT};
use crate::text;
use crate::view::View;
use narrows_model::diagnosis::Severity;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Cut, Segment};

/// Below this share of segments sent again, loss costs a window-limited stream under a percent.
const HARMLESS_RATIO: f64 = 0.001;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "packets-lost",
    slug: "network_loss",
    segment: Segment::NetworkLoss,
    title: "packets were lost and sent again",
    definition: "A share of the segments on the load's connections was sent again. Loss shrinks the congestion window of \
                 each connection. It limits where the path moves nearly what a raw stream moved, one more connection \
                 is faster, and no window held the stream back; else it is only told.",
    formula: "segments sent again / segments sent, both of the data's sender; harmless under 0.1 %; limits: rate >= 0.9 x raw \
              stream, one more connection >= 1.1 x the rate, window- and buffer-limited < half of the busy time",
    source: "Mathis et al., ACM Computer Communication Review 27 (1997); RFC 6582",
    example: "12 segments of 86 100 sent again: 0.01 %",
    how_to_measure: "watch retrans in `ss -ti` while the path is loaded; measure the bulk load over one more connection",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    judge::over_network(view, judge)
}

fn judge(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let count = judge::metric(cell, TCP_RETRANSMIT_COUNT)?;
    let segments = judge::metric(cell, TCP_SEGMENT_COUNT)?;
    let share = ratio(count, segments)?;
    let harmless = share < HARMLESS_RATIO;
    let verdict = if harmless {
        Verdict::on(RULE.segment, &cell.id, Stance::Clears, Basis::State, share)
    } else {
        convicted(view, cell).unwrap_or_else(|| Verdict::note(RULE.segment, &cell.id, Severity::Warning))
    };
    let text =
        format!("{}: {count:.0} of {segments:.0} segments sent again ({})", cell.id, text::percent(share));
    Some(verdict.because(text, "retransmits (TCP_INFO)", &format!("ss -ti dst {}", judge::server_host(view))))
}

/// The verdict that loss holds the path back: each connection is held by its own congestion window, so that another one
/// carries as much again, while a full wire has nothing to spare and a closed window shows in the sender's times.
fn convicted(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let stream = view.ceiling(Cut::NetworkStream, cell)?.cell;
    let more = one_more_connection(view, cell).filter(|more| more.helps())?;
    let wire = network_bandwidth::against_stream(view, cell).filter(|wire| wire.stance == Stance::Limits)?;
    let windowed = client_connection::held_back(view, stream).is_some();
    (!windowed && !judge::is_single(cell)).then(|| {
        let verdict = Verdict { segment: RULE.segment, severity: Severity::Warning, ..wire };
        verdict.gains(Some(more.gain.ratio)).because(more.text(), "rate of the path", "")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found};

    #[test]
    fn no_segment_sent_again_clears_the_network_of_loss() {
        let summary = builtin("gigabit-nfs");
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::NetworkLoss));
    }

    #[test]
    fn one_segment_in_a_hundred_sent_again_is_told() {
        let mut summary = builtin("gigabit-nfs");
        for cell in &mut summary.cells {
            let sent = judge::metric(cell, TCP_SEGMENT_COUNT).unwrap_or(0.0);
            for metric in cell.metrics.iter_mut().filter(|metric| metric.id == TCP_RETRANSMIT_COUNT) {
                metric.value = sent / 100.0;
            }
        }
        assert!(crate::diagnose(&summary).findings.iter().any(|finding| finding.code == RULE.code));
    }
}
