//! The laws: their formulas, their peaks, and what they end at.

/// A law of the rate over the number of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScalingLaw {
    /// Gunther's universal scalability law.
    Usl,
    /// In proportion up to a ceiling, and level from there on.
    Min,
    /// Amdahl's law: a share of each client's work is done one after the other.
    Serial,
}

impl ScalingLaw {
    /// Every law, the one with the fewest parameters first.
    pub const ALL: [ScalingLaw; 3] = [ScalingLaw::Min, ScalingLaw::Serial, ScalingLaw::Usl];

    /// The name used in records and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ScalingLaw::Usl => "usl",
            ScalingLaw::Min => "min",
            ScalingLaw::Serial => "serial",
        }
    }

    /// How many parameters it has.
    #[must_use]
    pub fn parameter_count(self) -> usize {
        match self {
            ScalingLaw::Usl => 3,
            ScalingLaw::Min | ScalingLaw::Serial => 2,
        }
    }
}

/// A law with its parameters.
///
/// # Source
/// Gunther, Guerrilla Capacity Planning (2007): X(N) = γN / (1 + α(N-1) + βN(N-1)); Amdahl, AFIPS 30 (1967), is the same
/// with β = 0. The minimum is the asymptotic bound of Denning and Buzen, ACM Computing Surveys 10 (1978).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ScalingParameters {
    /// γN / (1 + α(N-1) + βN(N-1)).
    Usl {
        /// γ, the rate of one client.
        gamma: f64,
        /// α, the serial share: contention.
        alpha: f64,
        /// β, the cost of each pair of clients: coherency.
        beta: f64,
    },
    /// min(γN, C).
    Min {
        /// γ, the rate of one client; where all points are level the least that it can be.
        gamma: f64,
        /// C, the ceiling.
        ceiling: f64,
    },
    /// γN / (1 + α(N-1)).
    Serial {
        /// γ, the rate of one client.
        gamma: f64,
        /// α, the serial share.
        alpha: f64,
    },
}

impl ScalingParameters {
    /// Which law.
    #[must_use]
    pub fn law(&self) -> ScalingLaw {
        match self {
            Self::Usl { .. } => ScalingLaw::Usl,
            Self::Min { .. } => ScalingLaw::Min,
            Self::Serial { .. } => ScalingLaw::Serial,
        }
    }

    /// The rate of `clients`.
    #[must_use]
    pub fn rate(&self, clients: f64) -> f64 {
        match *self {
            Self::Usl { gamma, alpha, beta } => {
                gamma * clients / (1.0 + alpha * (clients - 1.0) + beta * clients * (clients - 1.0))
            }
            Self::Min { gamma, ceiling } => (gamma * clients).min(ceiling),
            Self::Serial { gamma, alpha } => gamma * clients / (1.0 + alpha * (clients - 1.0)),
        }
    }

    /// The number of clients with the highest rate; `None` where more clients never lower it.
    ///
    /// # Source
    /// N* = sqrt((1 - α) / β); at least 1.
    #[must_use]
    pub fn peak_clients(&self) -> Option<f64> {
        match *self {
            Self::Usl { alpha, beta, .. } if beta > 0.0 => {
                Some(((1.0 - alpha).max(0.0) / beta).sqrt().max(1.0))
            }
            _ => None,
        }
    }

    /// The highest rate of any number of clients; `None` where it grows without end.
    #[must_use]
    pub fn highest_rate(&self) -> Option<f64> {
        match *self {
            Self::Min { ceiling, .. } => Some(ceiling),
            Self::Usl { gamma, alpha, beta } if beta <= 0.0 => (alpha > 0.0).then(|| gamma / alpha),
            Self::Serial { gamma, alpha } => (alpha > 0.0).then(|| gamma / alpha),
            Self::Usl { .. } => self.peak_clients().map(|peak| self.rate(peak)),
        }
    }

    /// The parameters by their names in records.
    #[must_use]
    pub fn named(&self) -> Vec<(&'static str, f64)> {
        match *self {
            Self::Usl { gamma, alpha, beta } => vec![("gamma", gamma), ("alpha", alpha), ("beta", beta)],
            Self::Min { gamma, ceiling } => vec![("gamma", gamma), ("ceiling", ceiling)],
            Self::Serial { gamma, alpha } => vec![("gamma", gamma), ("alpha", alpha)],
        }
    }
}
