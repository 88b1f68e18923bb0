//! The parameters of each law by least squares on logarithms, and which law the points support.

use super::law::{ScalingLaw, ScalingParameters};
use super::{ScalingPoint, sorted};
use crate::error::StatsError;
use crate::linear::solve_positive_definite;

/// Steps of Gauss and Newton: from a start by linear least squares they need under ten.
const STEPS_MAX: usize = 100;
/// Halvings of one step.
const HALVINGS_MAX: usize = 40;
/// A step that improves the sum by less than this share ends the search.
const IMPROVEMENT_MIN: f64 = 1e-14;
/// Residuals below this are rounding: a law that fits to it is not better than another that does.
const RESIDUAL_MIN: f64 = 1e-9;

/// A law fitted to points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LawFit {
    /// The law with its parameters.
    pub parameters: ScalingParameters,
    /// Sum of the squared differences of logarithms of rate and law.
    pub residual: f64,
    /// Points fitted.
    pub point_count: usize,
    /// Akaike's criterion, corrected for few points: less is better, by differences only. `None` with fewer than three points
    /// more than parameters.
    pub aicc: Option<f64>,
}

impl LawFit {
    /// How far a rate is from the law, as a standard deviation over the rate; `None` without a point more than parameters.
    #[must_use]
    pub fn deviation_ratio(&self) -> Option<f64> {
        let degrees = self.degrees_of_freedom().filter(|degrees| *degrees > 0.0)?;
        Some((self.residual / degrees).sqrt())
    }

    /// Points beyond the parameters.
    #[must_use]
    pub fn degrees_of_freedom(&self) -> Option<f64> {
        let count = self.parameters.law().parameter_count();
        Some(self.point_count.checked_sub(count)? as f64)
    }

    fn new(parameters: ScalingParameters, points: &[ScalingPoint]) -> Self {
        let residual = residual(&parameters, points);
        let aicc = aicc(residual, points.len(), parameters.law().parameter_count());
        Self { parameters, residual, point_count: points.len(), aicc }
    }
}

/// The law that the points support, and the others.
#[derive(Debug, Clone, PartialEq)]
pub struct LawChoice {
    /// The law with the least criterion; `None` where no law has one, for lack of points.
    pub best: Option<LawFit>,
    /// Every law that could be fitted, the best one first, without a criterion in the order of [`ScalingLaw::ALL`].
    pub fits: Vec<LawFit>,
}

/// Every law of `laws` fitted, and the one that the points support.
///
/// # Shape
/// Points of different numbers of clients in any order; a law that cannot be fitted is left out.
///
/// # Errors
/// [`StatsError::TooFew`] for fewer than two points; as [`fit_law`] where no law can be fitted.
///
/// # Source
/// Hurvich and Tsai, Biometrika 76 (1989): `AICc` = n ln(RSS / n) + 2k + 2k(k + 1) / (n - k - 1), k the parameters and the
/// variance, n the points. It is not defined below n = k + 2: five points for two parameters, six for three.
pub fn choose_law(points: &[ScalingPoint], laws: &[ScalingLaw]) -> Result<LawChoice, StatsError> {
    sorted(points, 2)?;
    let mut fits = Vec::new();
    let mut failure = StatsError::BadArgument { requirement: "at least one law must be given" };
    for law in laws {
        match fit_law(points, *law) {
            Ok(fit) => fits.push(fit),
            Err(error) => failure = error,
        }
    }
    if fits.is_empty() {
        return Err(failure);
    }
    fits.sort_by(|a, b| a.aicc.unwrap_or(f64::INFINITY).total_cmp(&b.aicc.unwrap_or(f64::INFINITY)));
    Ok(LawChoice { best: fits.first().copied().filter(|fit| fit.aicc.is_some()), fits })
}

/// The parameters of `law` with the least squares of logarithms, α and β not below 0.
///
/// # Shape
/// Points of different numbers of clients in any order, as many as the law has parameters or more. Errors of points have
/// no weight here: the noise of a rate is about proportional to it.
///
/// # Errors
/// [`StatsError::TooFew`], [`StatsError::NotFinite`], [`StatsError::OutOfRange`] for a number of clients or a rate that is
/// not above 0, [`StatsError::Degenerate`] for two points of one number of clients, [`StatsError::NoConvergence`].
///
/// # Source
/// N / X(N) of the universal law is linear in a = 1/γ, b = α/γ and c = β/γ, none below 0; the sum of (ln X - ln X(N))² is
/// minimised by Gauss and Newton's steps, once with each set of b and c at 0, and the least one with b, c >= 0 is taken.
/// The minimum of min(γN, C) has its corner between two points, where both parts have their own mean, or at one, where
/// one parameter is left: all are tried. R's package `usl` minimises differences of rates, not of logarithms. Checked
/// against `scipy.optimize` (`scaling.json`), coverage in `tests/it/coverage.rs`.
pub fn fit_law(points: &[ScalingPoint], law: ScalingLaw) -> Result<LawFit, StatsError> {
    let points = sorted(points, law.parameter_count())?;
    let parameters = match law {
        ScalingLaw::Min => minimum(&points),
        ScalingLaw::Serial => rational(&points, &[true]),
        ScalingLaw::Usl => rational(&points, &[true, true]),
    };
    let none = StatsError::NoConvergence { iteration_count: STEPS_MAX };
    parameters.map(|parameters| LawFit::new(parameters, &points)).ok_or(none)
}

fn residual(parameters: &ScalingParameters, points: &[ScalingPoint]) -> f64 {
    points.iter().map(|point| (point.rate.ln() - parameters.rate(point.clients).ln()).powi(2)).sum()
}

fn aicc(residual: f64, point_count: usize, parameter_count: usize) -> Option<f64> {
    let (n, k) = (point_count as f64, parameter_count as f64 + 1.0);
    let per_point = (residual / n).max(RESIDUAL_MIN * RESIDUAL_MIN);
    (n > k + 1.0).then(|| n * per_point.ln() + 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0))
}

/// The best min(γN, C): its corner between any two points, or at one.
fn minimum(points: &[ScalingPoint]) -> Option<ScalingParameters> {
    let mean = |values: &mut dyn Iterator<Item = f64>| {
        let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        (count > 0.0).then(|| sum / count)
    };
    let slope = |point: &ScalingPoint| (point.rate / point.clients).ln();
    let mut all = Vec::new();
    for corner in 0..=points.len() {
        let (rising, level) = points.split_at(corner);
        let gamma = mean(&mut rising.iter().map(slope));
        let ceiling = mean(&mut level.iter().map(|point| point.rate.ln()));
        // All level: the first point is the corner. None level: the last one is.
        let first = points.first()?.clients.ln();
        let last = points.last()?.clients.ln();
        let gamma_ln = gamma.or_else(|| Some(ceiling? - first))?;
        let ceiling_ln = ceiling.or_else(|| Some(gamma? + last))?;
        all.push((gamma_ln, ceiling_ln));
        if let Some(at) = level.first().map(|point| point.clients.ln()) {
            let shifted = level.iter().map(|point| point.rate.ln() - at);
            let gamma_ln = mean(&mut rising.iter().map(slope).chain(shifted))?;
            all.push((gamma_ln, gamma_ln + at));
        }
    }
    let laws = all.into_iter().map(|(gamma_ln, ceiling_ln)| ScalingParameters::Min {
        gamma: gamma_ln.exp(),
        ceiling: ceiling_ln.exp(),
    });
    laws.min_by(|a, b| residual(a, points).total_cmp(&residual(b, points)))
}

/// The best γN / (1 + α(N-1) + βN(N-1)), over every set of those terms of `terms` that may be above 0.
fn rational(points: &[ScalingPoint], terms: &[bool]) -> Option<ScalingParameters> {
    let sets: &[&[usize]] = if terms.len() > 1 { &[&[], &[1], &[2], &[1, 2]] } else { &[&[], &[1]] };
    let scale = points.last()?.clients;
    let fitted = sets.iter().filter_map(|set| TimeLaw { points, scale, set }.fit());
    let laws = fitted.map(|[a, b, c]| {
        let (gamma, alpha, beta) = (1.0 / a, b / scale / a, c / (scale * scale) / a);
        if terms.len() > 1 {
            ScalingParameters::Usl { gamma, alpha, beta }
        } else {
            ScalingParameters::Serial { gamma, alpha }
        }
    });
    laws.min_by(|a, b| residual(a, points).total_cmp(&residual(b, points)))
}

/// N / X(N) = a + b(N-1)/S + cN(N-1)/S², with b and c only where `set` has them, scaled by the largest number of clients S.
struct TimeLaw<'a> {
    points: &'a [ScalingPoint],
    scale: f64,
    set: &'a [usize],
}

impl TimeLaw<'_> {
    fn terms(&self, point: &ScalingPoint) -> [f64; 3] {
        let more = (point.clients - 1.0) / self.scale;
        [1.0, more, more * point.clients / self.scale]
    }

    fn value(&self, coefficients: &[f64; 3], point: &ScalingPoint) -> f64 {
        self.terms(point).iter().zip(coefficients).map(|(term, coefficient)| term * coefficient).sum()
    }

    /// The sum of squares; `None` where the law is no time at some point.
    fn residual(&self, coefficients: &[f64; 3]) -> Option<f64> {
        let squares: Option<Vec<f64>> =
            self.points.iter().map(|point| self.difference(coefficients, point).map(|d| d * d)).collect();
        squares.map(|squares| squares.iter().sum())
    }

    fn difference(&self, coefficients: &[f64; 3], point: &ScalingPoint) -> Option<f64> {
        let time = self.value(coefficients, point);
        (time > 0.0 && coefficients[0] > 0.0).then(|| (point.clients / point.rate).ln() - time.ln())
    }

    /// The change of the free coefficients that the linear law asks for, with these weights of terms and these targets.
    fn step(&self, rows: impl Iterator<Item = ([f64; 3], f64)>) -> Option<[f64; 3]> {
        let free: Vec<usize> = std::iter::once(0).chain(self.set.iter().copied()).collect();
        let mut matrix = vec![vec![0.0; free.len()]; free.len()];
        let mut right = vec![0.0; free.len()];
        for (row, target) in rows {
            for (i, &first) in free.iter().enumerate() {
                right[i] += row[first] * target;
                for (j, &second) in free.iter().enumerate() {
                    matrix[i][j] += row[first] * row[second];
                }
            }
        }
        let solved = solve_positive_definite(matrix, right)?;
        let mut step = [0.0; 3];
        for (&index, value) in free.iter().zip(solved) {
            step[index] = value;
        }
        Some(step)
    }

    /// Linear least squares on times, each relative to itself; where that is no time everywhere, a constant one.
    fn start(&self) -> Option<[f64; 3]> {
        let rows = self.points.iter().map(|point| {
            let time = point.clients / point.rate;
            (self.terms(point).map(|term| term / time), 1.0)
        });
        let linear = self.step(rows).filter(|start| self.residual(start).is_some());
        let shortest = self.points.iter().map(|point| point.clients / point.rate).reduce(f64::min)?;
        Some(linear.unwrap_or([shortest, 0.0, 0.0]))
    }

    /// The coefficients with the least squares of logarithms; `None` where one of them is below 0.
    fn fit(&self) -> Option<[f64; 3]> {
        if self.points.len() <= self.set.len() {
            return None;
        }
        let mut now = self.start()?;
        let mut least = self.residual(&now)?;
        for _ in 0..STEPS_MAX {
            let rows = self.points.iter().filter_map(|point| {
                let time = self.value(&now, point);
                Some((self.terms(point).map(|term| term / time), self.difference(&now, point)?))
            });
            let step = self.step(rows)?;
            let Some((next, sum)) = self.shortened(now, step, least) else { break };
            let has_ended = least - sum <= IMPROVEMENT_MIN * least;
            (now, least) = (next, sum);
            if has_ended {
                break;
            }
        }
        now.iter().all(|coefficient| *coefficient >= 0.0).then_some(now)
    }

    /// The longest of the step and its halves that lowers the sum, with that sum.
    fn shortened(&self, from: [f64; 3], step: [f64; 3], least: f64) -> Option<([f64; 3], f64)> {
        let mut share = 1.0;
        for _ in 0..HALVINGS_MAX {
            let next = [0, 1, 2].map(|index| from[index] + share * step[index]);
            if let Some(sum) = self.residual(&next).filter(|sum| *sum < least) {
                return Some((next, sum));
            }
            share /= 2.0;
        }
        None
    }
}
