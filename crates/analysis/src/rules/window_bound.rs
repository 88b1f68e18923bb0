//! A connection's window limits the rate.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::case::table::{self, ObservationTable};
use crate::method::window;
use crate::text;
use crate::thresholds::CONTRADICTION_RATIO;
use narrows_model::{Observation, Segment};

/// From this share of what the window lets through it limits: slow start and losses keep a connection below it.
const FULL_RATIO: f64 = 0.8;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "window-bound",
    slug: "window_bound",
    segment: Segment::ClientConnection,
    title: "the connections' windows limit the rate",
    definition: "A connection has at most one window of bytes in flight per round trip. Near that rate the window \
                 limits, at any speed of link and server; more connections or a larger window would raise the rate.",
    formula: "rate >= 0.8 x connections x clients x window / RTT; cleared below",
    source: "RFC 7323, section 1.1, on bandwidth and delay",
    example: "a window of 64 KiB at 20 ms allows 3.28 MB/s; 3.1 MB/s was reached",
    how_to_measure: None,
    how_to_write: Some("give window_bytes and rtt_s (`ss -ti`)"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    cases.evaluate_observations(evaluate)
}

fn evaluate(table: &ObservationTable<'_>, one: &Observation) -> Option<SegmentVerdict> {
    let (load, bound) = window::load(table, one).filter(|(load, _)| *load <= CONTRADICTION_RATIO)?;
    let stance = if load >= FULL_RATIO - table::doubt_ratio(one) { Stance::Limits } else { Stance::Clears };
    let text = format!(
        "{}: {}, {} of the {} that windows of {} allow",
        one.id,
        text::network_rate(table::bytes_per_s(one)?.low),
        text::percent(load),
        text::network_rate(bound),
        text::amount(one.window_bytes?)
    );
    let verdict = SegmentVerdict::new(RULE.segment, &one.id, stance, Basis::Utilisation, load.min(1.0));
    Some(verdict.with_evidence(text, "rate, window and round-trip time", "ss -ti"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::observed::{cleared, first, read};

    #[test]
    fn a_rate_of_a_window_a_round_trip_is_the_windows() {
        let of = |rate: &str| {
            read(&format!(
                "[[observation]]\nid = \"a\"\nop = \"read\"\nbytes_per_s = {rate}\nwindow_bytes = 65536\nrtt_s = 0.02\n"
            ))
        };
        assert_eq!(first(&of("3.1e6")), Segment::ClientConnection);
        assert!(cleared(&of("1.1e6"), Segment::ClientConnection));
    }
}
