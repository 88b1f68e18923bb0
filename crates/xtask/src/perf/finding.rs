//! What a figure came to: values, their estimate, and whether the target is met. It measures and prints nothing.

use super::estimate::MedianEstimate;

/// What a value is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PerfTarget {
    AtLeast(f64),
    AtMost(f64),
    /// From 1 away by this much at most.
    NearOne(f64),
    /// Reported for information only.
    None,
}

/// Whether a target is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PerfVerdict {
    Pass,
    Short,
    /// There is no target.
    NoTarget,
}

impl PerfVerdict {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Short => "SHORT",
            Self::NoTarget => "",
        }
    }
}

/// One number of a figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PerfFinding {
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    /// One a round.
    pub(crate) values: Vec<f64>,
    pub(crate) estimate: MedianEstimate,
    pub(crate) target: PerfTarget,
}

impl PerfFinding {
    /// The finding of `values`.
    ///
    /// # Errors
    /// No values, or one that is no finite number.
    pub(crate) fn from_values(
        what: impl Into<String>,
        unit: &'static str,
        values: Vec<f64>,
        target: PerfTarget,
    ) -> anyhow::Result<Self> {
        let what = what.into();
        let Some(estimate) = MedianEstimate::from_values(&values) else {
            anyhow::bail!("{what}: no estimate of {values:?}")
        };
        Ok(Self { what, unit, values, estimate, target })
    }

    /// Whether the median meets the target.
    pub(crate) fn verdict(&self) -> PerfVerdict {
        let met = match self.target {
            PerfTarget::AtLeast(least) => self.estimate.median >= least,
            PerfTarget::AtMost(most) => self.estimate.median <= most,
            PerfTarget::NearOne(most) => (self.estimate.median - 1.0).abs() <= most,
            PerfTarget::None => return PerfVerdict::NoTarget,
        };
        if met { PerfVerdict::Pass } else { PerfVerdict::Short }
    }

    /// Whether the interval is on both sides of the target, so that another run may say otherwise.
    pub(crate) fn is_close(&self) -> bool {
        let bounds = match self.target {
            PerfTarget::AtLeast(bound) | PerfTarget::AtMost(bound) => vec![bound],
            PerfTarget::NearOne(most) => vec![1.0 - most, 1.0 + most],
            PerfTarget::None => Vec::new(),
        };
        let within = |bound: &f64| {
            self.estimate.interval.is_some_and(|interval| interval.low < *bound && *bound < interval.high)
        };
        bounds.iter().any(within)
    }
}

/// What a figure found, and what it could not compare with.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PerfFindings {
    pub(crate) findings: Vec<PerfFinding>,
    /// In words: a peer that is not installed, a machine that has not what the figure needs.
    pub(crate) missing: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(values: &[f64], target: PerfTarget) -> PerfFinding {
        PerfFinding::from_values("speed", "x", values.to_vec(), target)
            .expect("finite values have an estimate")
    }

    #[test]
    fn the_median_decides_and_the_bound_itself_is_met() {
        assert_eq!(finding(&[1.0, 3.0, 9.0], PerfTarget::AtLeast(3.0)).verdict(), PerfVerdict::Pass);
        assert_eq!(finding(&[1.0, 3.0, 9.0], PerfTarget::AtLeast(3.1)).verdict(), PerfVerdict::Short);
        assert_eq!(finding(&[1.0, 3.0, 9.0], PerfTarget::AtMost(3.0)).verdict(), PerfVerdict::Pass);
        assert_eq!(finding(&[1.0, 3.0, 9.0], PerfTarget::AtMost(2.9)).verdict(), PerfVerdict::Short);
        assert_eq!(finding(&[0.9, 1.1, 1.2], PerfTarget::NearOne(0.11)).verdict(), PerfVerdict::Pass);
        assert_eq!(finding(&[0.9, 1.2, 1.2], PerfTarget::NearOne(0.1)).verdict(), PerfVerdict::Short);
        assert_eq!(finding(&[1.0], PerfTarget::None).verdict(), PerfVerdict::NoTarget);
    }

    #[test]
    fn a_target_inside_the_interval_is_close() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert!(finding(&values, PerfTarget::AtLeast(2.5)).is_close());
        assert!(!finding(&values, PerfTarget::AtLeast(0.5)).is_close());
        assert!(!finding(&values[..3], PerfTarget::AtLeast(2.5)).is_close(), "three values have no interval");
    }

    #[test]
    fn values_without_an_estimate_are_an_error_that_names_the_figure() {
        let error = PerfFinding::from_values("speed", "x", vec![f64::NAN], PerfTarget::None)
            .expect_err("not a number");
        assert!(error.to_string().contains("speed"), "{error}");
    }
}
