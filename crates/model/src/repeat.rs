//! How often a cell is repeated.

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a cell has been repeated often enough; its `trials` are the most that are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// All of its trials are made.
    #[default]
    Fixed,
    /// Trials are made until the interval of their mean rate is narrow.
    UntilInterval {
        /// Half the interval's width over the mean, at which it is narrow enough.
        half_width_ratio: f64,
        /// Confidence level of the interval, below 1.
        level: f64,
        /// Fewest trials; at least 3.
        trials_min: u32,
    },
    /// Trials are rounds, made until the last of them are steady by SNIA's rule.
    UntilSteady {
        /// Rounds that must be steady together; the rule's own is 5.
        window_trials: u32,
    },
}

impl Repeat {
    /// Fewest trials out of at most `trials_max`.
    #[must_use]
    pub fn trials_min(self, trials_max: u32) -> u32 {
        let least = match self {
            Repeat::Fixed => trials_max,
            Repeat::UntilInterval { trials_min, .. } => trials_min,
            Repeat::UntilSteady { window_trials } => window_trials,
        };
        least.clamp(1, trials_max.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_trials_are_never_more_than_the_most() {
        assert_eq!(Repeat::Fixed.trials_min(7), 7);
        assert_eq!(Repeat::UntilSteady { window_trials: 5 }.trials_min(25), 5);
        assert_eq!(Repeat::UntilSteady { window_trials: 5 }.trials_min(3), 3);
        assert_eq!(Repeat::Fixed.trials_min(0), 1);
    }
}
