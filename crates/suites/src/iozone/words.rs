//! A figure and its unit in words, for the table, the sheets and the report of throughput mode.
//!
//! Not here: their places in a line.

use super::request::FigureUnit;

/// The unit, as the original says it.
pub(super) fn unit_line(unit: FigureUnit) -> &'static str {
    match unit {
        FigureUnit::KbPerS => "Output is in kBytes/sec",
        FigureUnit::OpsPerS => "Output is in ops/sec",
        FigureUnit::MicrosPerOp => "Output is in microseconds per operation",
    }
}

/// A figure as it is printed: whole numbers, and times with their hundredths, of which a cached record takes few. What is
/// not known is 0, as everywhere in this format.
pub(super) fn format_figure(value: Option<f64>, unit: FigureUnit) -> String {
    match (value, unit) {
        (None, _) => "0".to_owned(),
        (Some(value), FigureUnit::MicrosPerOp) => format!("{value:.2}"),
        (Some(value), _) => format!("{:.0}", value.floor()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_whole_numbers_and_times_have_hundredths() {
        assert_eq!(format_figure(Some(893_657.99), FigureUnit::KbPerS), "893657");
        assert_eq!(format_figure(Some(0.849), FigureUnit::MicrosPerOp), "0.85");
        assert_eq!(format_figure(None, FigureUnit::OpsPerS), "0");
    }
}
