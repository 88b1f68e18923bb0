//! A connection's window holds the rate.

use super::super::table::{self, Table};
use super::{ObservationRule, latency_bound};
use crate::rules::{Basis, Stance, Verdict};
use crate::text;
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};

/// From this share of what the window lets through it limits: slow start and losses keep a connection below it.
const FULL_RATIO: f64 = 0.8;
/// More than this cannot have passed the window, so it was another.
pub(super) const BEYOND_RATIO: f64 = 1.1;

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "window-bound",
    slug: "window_bound",
    segment: Segment::ClientConnection,
    title: "the connections' windows hold the rate",
    definition: "At most a window of bytes is under way on a connection for each round trip. Near that the window limits, \
                 however fast link and server are; more connections or a larger window would carry more.",
    formula: "rate >= 0.8 x connections x clients x window / RTT; cleared below",
    source: "RFC 7323, section 1.1, on bandwidth and delay",
    example: "a window of 64 KiB at 20 ms carries 3.28 MB/s; 3.1 MB/s came",
    how_to_measure: "give window_bytes and rtt_s (`ss -ti`)",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    table.observations().iter().filter_map(|one| judge(table, one)).collect()
}

/// The share of what its windows let through that an observation moved, with that bound.
pub(super) fn load(table: &Table<'_>, one: &Observation) -> Option<(f64, f64)> {
    let connections = one.connections.unwrap_or(1) as f64 * one.clients.unwrap_or(1) as f64;
    let bound = ratio(connections * one.window_bytes?.as_f64(), latency_bound::rtt_s(table, one)?)?;
    Some((ratio(table::bytes_per_s(one)?.low, bound)?, bound))
}

fn judge(table: &Table<'_>, one: &Observation) -> Option<Verdict> {
    let (load, bound) = load(table, one).filter(|(load, _)| *load <= BEYOND_RATIO)?;
    let stance = if load >= FULL_RATIO - table::doubt_ratio(one) { Stance::Limits } else { Stance::Clears };
    let text = format!(
        "{}: {}, {} of the {} that windows of {} let through",
        one.id,
        text::network_rate(table::bytes_per_s(one)?.low),
        text::percent(load),
        text::network_rate(bound),
        text::amount(one.window_bytes?)
    );
    let verdict = Verdict::on(RULE.segment, &one.id, stance, Basis::Utilisation, load.min(1.0));
    Some(verdict.because(text, "rate, window and round-trip time", "ss -ti"))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{cleared, first, read};
    use super::*;

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
