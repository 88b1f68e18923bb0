//! Laws of a rate over the number of clients: how it grows, what it ends at, and how sure that is.
//!
//! It deliberately decides nothing about a path: which stage is full is the caller's question.

mod draws;
mod fit;
mod law;

pub use draws::{LawDraws, law_draws, selected_draws};
pub use fit::{LawChoice, LawFit, choose_law, fit_law};
pub use law::{ScalingLaw, ScalingParameters};

use crate::error::{StatsError, require_finite};

/// The rate of some number of clients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalingPoint {
    /// Clients, or requests in flight of them all; above 0.
    pub clients: f64,
    /// The rate of all of them; above 0.
    pub rate: f64,
    /// Standard error of the rate over the rate; `None` where it is not known.
    pub relative_error: Option<f64>,
}

/// The points by rising number of clients.
///
/// # Errors
/// [`StatsError::TooFew`], [`StatsError::NotFinite`], [`StatsError::OutOfRange`] for a number of clients, a rate or an
/// error that is not above 0 (an error may be 0), [`StatsError::Degenerate`] for two points of one number of clients.
fn sorted(points: &[ScalingPoint], needed_count: usize) -> Result<Vec<ScalingPoint>, StatsError> {
    let sum = |point: &ScalingPoint| point.clients + point.rate + point.relative_error.unwrap_or(0.0);
    require_finite(points.iter().map(sum), needed_count)?;
    let refused = |point: &ScalingPoint| {
        point.clients <= 0.0 || point.rate <= 0.0 || point.relative_error.is_some_and(|error| error < 0.0)
    };
    if let Some(value_index) = points.iter().position(refused) {
        let requirement = "a number of clients and a rate must be above 0, an error not below";
        return Err(StatsError::OutOfRange { value_index, requirement });
    }
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.clients.total_cmp(&b.clients));
    if sorted.windows(2).any(|pair| pair[0].clients >= pair[1].clients) {
        return Err(StatsError::Degenerate { reason: "two points are of one number of clients" });
    }
    Ok(sorted)
}

#[cfg(test)]
mod tests;
