//! The native output: tables of text and, after them or alone, a line of CSV for each run and process.

use super::options::Options;
use super::{csv, figures, text};
use narrows_model::Summary;

/// What stdout has; `None` where `summary` is of another suite.
pub(super) fn native(summary: &Summary) -> Option<String> {
    let options = Options::of(summary.suite.as_ref()?)?;
    let rows = figures::rows(summary, &options);
    let lines = csv::lines(&rows, &options, summary);
    Some(if options.csv_alone { lines } else { text::tables(&rows, &options) + &lines })
}

/// The tables, where stdout has the CSV alone; `None` otherwise.
pub(super) fn beside(summary: &Summary) -> Option<String> {
    let options = summary.suite.as_ref().and_then(Options::of).filter(|options| options.csv_alone)?;
    Some(text::tables(&figures::rows(summary, &options), &options))
}

/// A rate cut to a whole number; below 1000 seeks one digit more is told.
pub(super) fn whole_or_tenths(rate: f64, is_seeks: bool) -> String {
    if is_seeks && rate < 1000.0 { format!("{rate:.1}") } else { format!("{:.0}", rate.trunc()) }
}

/// A time with the unit in which it has five digits or fewer.
pub(super) fn latency(ns: u64) -> String {
    const LARGEST: u64 = 99_999;
    match (ns / 1_000, ns / 1_000_000) {
        (us, _) if us <= LARGEST => format!("{us}us"),
        (_, ms) if ms <= LARGEST => format!("{ms}ms"),
        (_, ms) => format!("{}s", ms / 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_cut_and_slow_seeks_have_a_digit_more() {
        assert_eq!(whole_or_tenths(49_354.99, false), "49354");
        assert_eq!(
            (whole_or_tenths(557.34, true), whole_or_tenths(9546.7, true)),
            ("557.3".into(), "9546".into())
        );
        assert_eq!(whole_or_tenths(0.4, false), "0");
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        let told = [9_639_000, 98_118_999, 124_000_000, 99_999_999_999, 100_000_000_000].map(latency);
        assert_eq!(told, ["9639us", "98118us", "124ms", "99999ms", "100s"]);
    }
}
