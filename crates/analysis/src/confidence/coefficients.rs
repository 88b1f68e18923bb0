//! Coefficients of the confidence law. Not fitted yet: chosen so that a clear margin with a certain first rank gives
//! 0.9 and a tie gives 0.5; `examples/fit_confidence.rs` replaces this file.

/// The score of a verdict with all features at zero.
pub(super) const INTERCEPT: f64 = -2.0;
/// Weights of first-rank share, margin, coverage, |residual|.
pub(super) const WEIGHTS: [f64; 4] = [3.0, 2.5, 1.0, -0.8];
