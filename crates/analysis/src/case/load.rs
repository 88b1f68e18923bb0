//! What was asked of a case, what its generator can do, and the parts of a mixed figure.

use crate::thresholds::DELIVERED_RATIO;

/// What was asked of a case, and how much of it came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OfferedLoad {
    /// What came over what was asked for.
    pub share: f64,
    /// The rate that came, for people.
    pub moved: String,
    /// The rate that was asked for, for people.
    pub wanted: String,
}

impl OfferedLoad {
    /// Whether it was delivered, by a figure that may be `doubt_ratio` off the truth.
    pub(crate) fn is_delivered(&self, doubt_ratio: f64) -> bool {
        self.share >= DELIVERED_RATIO - doubt_ratio
    }
}

/// A rate against the most that the load generator issues when nothing is done for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GeneratorLoad {
    /// The rate over that.
    pub load: f64,
    /// Relative standard error of `load`; `None` where it is not known.
    pub error_ratio: Option<f64>,
    /// The rate, for people.
    pub rate: String,
    /// The most that the generator issues, for people.
    pub most: String,
    /// What a run found of it already; `None` where the load decides.
    pub is_limited: Option<bool>,
}

/// A figure with several modes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModalFigure {
    /// Of what it is the figure, where the case has several: `47 clients`.
    pub of: Option<String>,
    /// The share of each mode, and where it is, for people.
    pub modes: Vec<(f64, String)>,
}
