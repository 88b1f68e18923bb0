//! Numbers in tables, on top of the numbers in sentences that `analysis` renders.

use narrows_model::quantity::{op_rate, storage_rate};
use narrows_model::{BytesPerSec, OpsPerSec};

/// What is printed where there is no figure.
pub(crate) const NO_FIGURE: &str = "-";

/// Operations a second for a column that is headed so: `697`, `1.83k`, `2.10M`.
pub(crate) fn op_column(rate: Option<OpsPerSec>) -> String {
    rate.map_or_else(|| NO_FIGURE.to_owned(), |rate| shorten(&op_rate(rate.0)))
}

fn shorten(text: &str) -> String {
    text.replace(" thousand op/s", "k").replace(" million op/s", "M").replace(" op/s", "")
}

/// A rate of storage, or a dash.
pub(crate) fn storage_column(rate: Option<BytesPerSec>) -> String {
    rate.map_or_else(|| NO_FIGURE.to_owned(), |rate| storage_rate(rate.0))
}

/// A factor: `4.1`, `38`.
pub(crate) fn factor(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.1}") } else { format!("{ratio:.0}") }
}

/// A number with the noun it counts: `1 cell`, `3 cells`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// The same for what is in memory.
pub(crate) fn counted_len(count: usize, noun: &str) -> String {
    counted(count as u64, noun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_short_in_a_column() {
        assert_eq!(op_column(Some(OpsPerSec(697.2))), "697");
        assert_eq!(op_column(Some(OpsPerSec(1834.0))), "1.83k");
        assert_eq!(op_column(Some(OpsPerSec(2.1e6))), "2.10M");
        assert_eq!(op_column(None), "-");
    }

    #[test]
    fn a_factor_has_a_digit_below_ten() {
        assert_eq!(factor(4.13), "4.1");
        assert_eq!(factor(38.2), "38");
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!((counted(1, "cell"), counted(0, "cell")), ("1 cell".to_owned(), "0 cells".to_owned()));
    }
}
