//! What a figure came to: values, their estimate, and whether the target is met. It measures and prints nothing.

use super::estimate::Estimate;

/// What a value is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// From 1 away by this much at most.
    NearOne(f64),
    /// It is told for information.
    None,
}

/// Whether a target is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Short,
    /// There is no target.
    Told,
}

impl Verdict {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Short => "SHORT",
            Self::Told => "",
        }
    }
}

/// One number of a figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    /// One a round.
    pub(crate) values: Vec<f64>,
    pub(crate) estimate: Estimate,
    pub(crate) target: Target,
}

impl Finding {
    /// The finding of `values`.
    ///
    /// # Errors
    /// No values, or one that is no finite number.
    pub(crate) fn of(
        what: impl Into<String>,
        unit: &'static str,
        values: Vec<f64>,
        target: Target,
    ) -> anyhow::Result<Self> {
        let what = what.into();
        let Some(estimate) = Estimate::of(&values) else {
            anyhow::bail!("{what}: no estimate of {values:?}")
        };
        Ok(Self { what, unit, values, estimate, target })
    }

    /// Whether the median meets the target.
    pub(crate) fn verdict(&self) -> Verdict {
        let met = match self.target {
            Target::AtLeast(least) => self.estimate.median >= least,
            Target::AtMost(most) => self.estimate.median <= most,
            Target::NearOne(most) => (self.estimate.median - 1.0).abs() <= most,
            Target::None => return Verdict::Told,
        };
        if met { Verdict::Pass } else { Verdict::Short }
    }

    /// Whether the interval lies on both sides of the target, so that another run may say otherwise.
    pub(crate) fn is_close(&self) -> bool {
        let bounds = match self.target {
            Target::AtLeast(bound) | Target::AtMost(bound) => vec![bound],
            Target::NearOne(most) => vec![1.0 - most, 1.0 + most],
            Target::None => Vec::new(),
        };
        let within = |bound: &f64| {
            self.estimate.interval.is_some_and(|interval| interval.low < *bound && *bound < interval.high)
        };
        bounds.iter().any(within)
    }
}

/// What a figure found, and what it could not compare with.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Findings {
    pub(crate) findings: Vec<Finding>,
    /// In words: a peer that is not installed, a machine that has not what the figure needs.
    pub(crate) missing: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(values: &[f64], target: Target) -> Finding {
        Finding::of("speed", "x", values.to_vec(), target).expect("finite values have an estimate")
    }

    #[test]
    fn the_median_decides_and_the_bound_itself_is_met() {
        assert_eq!(finding(&[1.0, 3.0, 9.0], Target::AtLeast(3.0)).verdict(), Verdict::Pass);
        assert_eq!(finding(&[1.0, 3.0, 9.0], Target::AtLeast(3.1)).verdict(), Verdict::Short);
        assert_eq!(finding(&[1.0, 3.0, 9.0], Target::AtMost(3.0)).verdict(), Verdict::Pass);
        assert_eq!(finding(&[1.0, 3.0, 9.0], Target::AtMost(2.9)).verdict(), Verdict::Short);
        assert_eq!(finding(&[0.9, 1.1, 1.2], Target::NearOne(0.11)).verdict(), Verdict::Pass);
        assert_eq!(finding(&[0.9, 1.2, 1.2], Target::NearOne(0.1)).verdict(), Verdict::Short);
        assert_eq!(finding(&[1.0], Target::None).verdict(), Verdict::Told);
    }

    #[test]
    fn a_target_inside_the_interval_is_close() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert!(finding(&values, Target::AtLeast(2.5)).is_close());
        assert!(!finding(&values, Target::AtLeast(0.5)).is_close());
        assert!(!finding(&values[..3], Target::AtLeast(2.5)).is_close(), "three values have no interval");
    }

    #[test]
    fn values_without_an_estimate_are_an_error_that_names_the_figure() {
        let error = Finding::of("speed", "x", vec![f64::NAN], Target::None).expect_err("not a number");
        assert!(error.to_string().contains("speed"), "{error}");
    }
}
