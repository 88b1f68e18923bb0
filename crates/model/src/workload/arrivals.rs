//! What makes a request start: the end of an earlier one, or a schedule.

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What makes a request start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// A closed loop: a request starts when an earlier one has completed (and its think time is over).
    #[default]
    Closed,
    /// An open loop with the same time between all starts.
    Constant {
        /// Starts a second of all clients together.
        ops_per_s: f64,
    },
    /// An open loop with exponentially distributed times between starts.
    Poisson {
        /// Mean starts a second of all clients together.
        ops_per_s: f64,
    },
}

impl Arrivals {
    /// Load asked for, of all clients together; `None` in a closed loop.
    #[must_use]
    pub fn offered_ops_per_s(self) -> Option<f64> {
        match self {
            Arrivals::Closed => None,
            Arrivals::Constant { ops_per_s } | Arrivals::Poisson { ops_per_s } => Some(ops_per_s),
        }
    }
}
