//! Coefficients of the confidence law; written by the ignored test `fit_the_confidence`.
//!
//! Fitted on 1115 verdicts on 600 injected machines (seeds from 1000000), checked on 1114 verdicts on as many unseen
//! machines (seeds from 2000000), of which 98.4 % were right. Brier score there 0.014; always saying 98.4 % scores 0.016.
//! Before caps. The machines are simulated: how real ones differ from them is not in these numbers.
//!
//! | stated | verdicts | mean stated | right |
//! |---|---|---|---|
//! | 0.7 to 0.8 | 3 | 0.77 | 0.33 |
//! | 0.8 to 0.9 | 18 | 0.87 | 0.78 |
//! | 0.9 to 1.0 | 1093 | 0.98 | 0.99 |

/// The score of a verdict with all features at zero.
pub(super) const INTERCEPT: f64 = 0.208;
/// Weights of first-rank share, margin, coverage, |residual|.
pub(super) const WEIGHTS: [f64; 4] = [2.190, 2.699, 0.380, -0.762];
