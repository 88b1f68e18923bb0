//! Figures and settings in the words that the table and the line of CSV share.
//!
//! Not here: what only one of them prints.

use super::request::{BonnieFiles, Request};

/// A figure cut to a whole number, as both versions cut all but seeks.
pub(super) fn whole(figure: f64) -> String {
    format!("{:.0}", figure.trunc())
}

/// Seeks a second, rounded: below 1000 to tenths, from there on to whole ones.
pub(super) fn seeks(rate: f64) -> String {
    if rate < 1000.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
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

/// How many files of which sizes in how many directories, as one field: `16:1000:10/4`.
pub(super) fn files(request: &Request) -> String {
    let BonnieFiles { thousands, max, min, folders, .. } = request.files;
    if thousands == 0 {
        return String::new();
    }
    let bytes = if max.0 > 0 { format!(":{}:{}", max.0, min.0) } else { String::new() };
    let folders = if folders > 1 { format!("/{folders}") } else { String::new() };
    format!("{thousands}{bytes}{folders}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_cut_and_seeks_are_rounded() {
        assert_eq!((whole(49_354.99), whole(0.4)), ("49354".into(), "0".into()));
        let printed = [557.34, 557.36, 999.94, 1000.4, 9546.7].map(seeks);
        assert_eq!(printed, ["557.3", "557.4", "999.9", "1000", "9547"]);
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        let printed = [9_639_000, 98_118_999, 124_000_000, 99_999_999_999, 100_000_000_000].map(latency);
        assert_eq!(printed, ["9639us", "98118us", "124ms", "99999ms", "100s"]);
    }
}
