//! A small logistic regression: the probability of an event from a few features.
//!
//! It deliberately scales no features and selects none: the caller gives comparable numbers.

use narrows_stats::error::{StatsError, require_finite};
use narrows_stats::linear::solve_positive_definite;

/// The most features a model may have; the normal equations are solved densely.
pub const FEATURE_LIMIT: usize = 8;
/// Newton's method doubles its correct digits with each step; more than this means there is no finite optimum.
const ITERATION_LIMIT: usize = 100;
/// A step this small relative to the coefficients is indistinguishable from rounding.
const STEP_TOLERANCE: f64 = 1e-10;
/// A step this small is taken whole and unchecked: so near the optimum Newton's method converges, and the gain is below
/// the rounding of the loss, so that checking would halve the step to nothing.
const SURE_STEP: f64 = 1e-6;
/// Half the step at most this often: 2^-40 of it no longer changes the coefficients' leading digits.
const HALVING_LIMIT: i32 = 40;

/// One observation: its features, and whether the event happened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Example<'a> {
    /// The features, in an order that is the same for all examples.
    pub features: &'a [f64],
    /// Whether the event happened.
    pub outcome: bool,
}

/// A fitted model: probability = 1 / (1 + exp(-(intercept + weights · features))).
#[derive(Debug, Clone, PartialEq)]
pub struct Logistic {
    /// The log odds when all features are 0.
    pub intercept: f64,
    /// The change of the log odds for each unit of each feature.
    pub weights: Vec<f64>,
}

impl Logistic {
    /// The probability of the event for `features`.
    ///
    /// # Errors
    /// [`StatsError::BadArgument`] unless there are as many features as weights, [`StatsError::NotFinite`] for NaN or
    /// infinity.
    pub fn predict(&self, features: &[f64]) -> Result<f64, StatsError> {
        require_finite(features.iter().copied(), 0)?;
        if features.len() != self.weights.len() {
            return Err(StatsError::BadArgument { requirement: "as many features as the model has weights" });
        }
        Ok(probability(self.log_odds(features)))
    }

    fn log_odds(&self, features: &[f64]) -> f64 {
        self.intercept
            + self.weights.iter().zip(features).map(|(weight, feature)| weight * feature).sum::<f64>()
    }

    fn moved(&self, step: &[f64], scale: f64) -> Self {
        let weights = self.weights.iter().zip(&step[1..]).map(|(weight, change)| weight + scale * change);
        Self { intercept: self.intercept + scale * step[0], weights: weights.collect() }
    }
}

/// The model with the largest penalised likelihood.
///
/// # Shape
/// At least one example, all with the same number of features, at most [`FEATURE_LIMIT`] and possibly none; features of
/// order 1, since the penalty treats them alike. Both outcomes must occur. Constant features get weight 0 under a
/// penalty and are an error without one.
///
/// # Errors
/// [`StatsError::TooFew`] for no examples, [`StatsError::NotFinite`] (the index is that of the example),
/// [`StatsError::OutOfRange`] for an example with another number of features, [`StatsError::BadArgument`] for too many
/// features or a penalty below 0, [`StatsError::Degenerate`] when only one outcome occurs or features depend on each
/// other without a penalty, [`StatsError::NoConvergence`] when the outcomes can be separated perfectly and there is
/// no penalty to stop the weights.
///
/// # Cost
/// About ten passes over the examples, O(n · features²) each.
///
/// # Source
/// Maximises sum of log-likelihoods - (penalty / 2) · |weights|², the intercept free of penalty, by iteratively
/// reweighted least squares (`McCullagh` and Nelder 1989), the step halved while it does not improve. Assumes
/// independent examples. Checked against `scipy.optimize` (`logistic.json`).
pub fn fit_logistic(examples: &[Example<'_>], l2_penalty: f64) -> Result<Logistic, StatsError> {
    let feature_count = check(examples, l2_penalty)?;
    let mut model = Logistic { intercept: 0.0, weights: vec![0.0; feature_count] };
    let mut objective = penalised_loss(&model, examples, l2_penalty);
    for iteration in 0..ITERATION_LIMIT {
        let Some(step) = newton_step(&model, examples, l2_penalty) else {
            // At the start every example has the same weight, so that only the features can be at fault.
            let dependent = StatsError::Degenerate { reason: "the features depend on each other" };
            let separated = StatsError::NoConvergence { iteration_count: iteration };
            return Err(if iteration == 0 { dependent } else { separated });
        };
        let size = model.weights.iter().fold(model.intercept.abs(), |size, weight| size.max(weight.abs()));
        let relative_step =
            step.iter().fold(0.0_f64, |longest, change| longest.max(change.abs())) / (1.0 + size);
        if relative_step <= STEP_TOLERANCE {
            return Ok(model.moved(&step, 1.0));
        }
        let halving_limit = if relative_step <= SURE_STEP { 1 } else { HALVING_LIMIT };
        let halved = (0..halving_limit).map(|halving| model.moved(&step, 0.5_f64.powi(halving)));
        let mut scored = halved.map(|next| (penalised_loss(&next, examples, l2_penalty), next));
        let accepted = scored.find(|(loss, _)| relative_step <= SURE_STEP || *loss <= objective);
        (objective, model) = accepted.ok_or(StatsError::NoConvergence { iteration_count: iteration })?;
    }
    Err(StatsError::NoConvergence { iteration_count: ITERATION_LIMIT })
}

/// The number of features, once the input is known to be usable.
fn check(examples: &[Example<'_>], l2_penalty: f64) -> Result<usize, StatsError> {
    let Some(feature_count) = examples.first().map(|example| example.features.len()) else {
        return Err(StatsError::TooFew { needed_count: 1, given_count: 0 });
    };
    if feature_count > FEATURE_LIMIT {
        return Err(StatsError::BadArgument { requirement: "at most eight features" });
    }
    if !(l2_penalty >= 0.0 && l2_penalty.is_finite()) {
        return Err(StatsError::BadArgument { requirement: "a penalty must not be below 0" });
    }
    for (value_index, example) in examples.iter().enumerate() {
        if example.features.len() != feature_count {
            return Err(StatsError::OutOfRange {
                value_index,
                requirement: "as many features as the first example",
            });
        }
        if !example.features.iter().all(|feature| feature.is_finite()) {
            return Err(StatsError::NotFinite { value_index });
        }
    }
    if examples.iter().all(|example| example.outcome == examples[0].outcome) {
        return Err(StatsError::Degenerate { reason: "only one of the two outcomes occurs" });
    }
    Ok(feature_count)
}

/// The step of Newton's method, intercept first; `None` when the normal equations are singular.
fn newton_step(model: &Logistic, examples: &[Example<'_>], l2_penalty: f64) -> Option<Vec<f64>> {
    let size = model.weights.len() + 1;
    let mut hessian = vec![vec![0.0; size]; size];
    let mut gradient = vec![0.0; size];
    for (index, weight) in model.weights.iter().enumerate() {
        hessian[index + 1][index + 1] = l2_penalty;
        gradient[index + 1] = -l2_penalty * weight;
    }
    let mut row = vec![1.0; size];
    for example in examples {
        row[1..].copy_from_slice(example.features);
        let predicted = probability(model.log_odds(example.features));
        let observed = if example.outcome { 1.0 } else { 0.0 };
        for (i, left) in row.iter().enumerate() {
            gradient[i] += (observed - predicted) * left;
            for (j, right) in row.iter().enumerate() {
                hessian[i][j] += predicted * (1.0 - predicted) * left * right;
            }
        }
    }
    solve_positive_definite(hessian, gradient)
}

/// 1 / (1 + exp(-v)) without overflow.
fn probability(log_odds: f64) -> f64 {
    if log_odds >= 0.0 {
        1.0 / (1.0 + (-log_odds).exp())
    } else {
        let odds = log_odds.exp();
        odds / (1.0 + odds)
    }
}

fn penalised_loss(model: &Logistic, examples: &[Example<'_>], l2_penalty: f64) -> f64 {
    let loss: f64 = examples
        .iter()
        .map(|example| {
            let log_odds = model.log_odds(example.features);
            let against = if example.outcome { -log_odds } else { log_odds };
            against.max(0.0) + (-against.abs()).exp().ln_1p()
        })
        .sum();
    loss + 0.5 * l2_penalty * model.weights.iter().map(|weight| weight * weight).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::{Example, Logistic, fit_logistic};
    use narrows_stats::StatsError;

    const SEPARATED: [Example<'static>; 4] = [
        Example { features: &[-2.0], outcome: false },
        Example { features: &[-1.0], outcome: false },
        Example { features: &[1.0], outcome: true },
        Example { features: &[2.0], outcome: true },
    ];

    #[test]
    fn without_features_the_probability_is_the_share() {
        let examples = [true, false, false, false].map(|outcome| Example { features: &[], outcome });
        let predicted = fit_logistic(&examples, 1.0).unwrap().predict(&[]).unwrap();
        assert!((predicted - 0.25).abs() < 1e-12, "{predicted}");
    }

    #[test]
    fn perfect_separation_needs_a_penalty() {
        assert!(matches!(fit_logistic(&SEPARATED, 0.0), Err(StatsError::NoConvergence { .. })));
        let model = fit_logistic(&SEPARATED, 1.0).unwrap();
        assert!(model.intercept.abs() < 1e-9 && model.weights[0] > 0.0);
    }

    #[test]
    fn a_constant_feature_gets_no_weight_under_a_penalty_and_is_refused_without() {
        let examples = [(1.0, true), (1.0, false), (1.0, true)];
        let features = examples.map(|(feature, _)| [feature]);
        let examples: Vec<Example<'_>> = features
            .iter()
            .zip(examples)
            .map(|(features, (_, outcome))| Example { features, outcome })
            .collect();
        assert!(fit_logistic(&examples, 0.5).unwrap().weights[0].abs() < 1e-9);
        assert!(matches!(fit_logistic(&examples, 0.0), Err(StatsError::Degenerate { .. })));
    }

    #[test]
    fn input_that_cannot_be_fitted_is_named() {
        assert!(matches!(fit_logistic(&[], 1.0), Err(StatsError::TooFew { .. })));
        assert!(matches!(fit_logistic(&SEPARATED[..2], 1.0), Err(StatsError::Degenerate { .. })));
        assert!(matches!(fit_logistic(&SEPARATED, -1.0), Err(StatsError::BadArgument { .. })));
        let uneven = [SEPARATED[0], Example { features: &[1.0, 2.0], outcome: true }];
        assert!(matches!(fit_logistic(&uneven, 1.0), Err(StatsError::OutOfRange { value_index: 1, .. })));
        let wide = [Example { features: &[0.0; 9], outcome: true }];
        assert!(matches!(fit_logistic(&wide, 1.0), Err(StatsError::BadArgument { .. })));
    }

    #[test]
    fn extreme_log_odds_stay_within_zero_and_one() {
        let model = Logistic { intercept: 0.0, weights: vec![1.0] };
        assert_eq!((model.predict(&[1e4]), model.predict(&[-1e4])), (Ok(1.0), Ok(0.0)));
        assert!(model.predict(&[]).is_err() && model.predict(&[f64::NAN]).is_err());
    }
}
