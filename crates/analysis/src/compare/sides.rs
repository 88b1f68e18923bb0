//! One figure on both sides: its ratio, and how sure that is by what is known of the variation from run to run.

use super::decide::LEVEL;
use super::items::{Item, RUNS_MIN};
use narrows_model::comparison::{ComparedFigure, FigureId, RunSpread, SpreadSource, Verdict};
use narrows_model::counters::Role;
use narrows_stats::interval::{Estimate, LogRatio, VarianceComponent};
use narrows_stats::moments;

/// Degrees of freedom of pooled runs from which they show the variation.
const POOLED_DEGREES_MIN: f64 = 2.0;
/// Runs of each kind of path by which the assumptions below were measured, less one.
const ASSUMED_DEGREES: f64 = 29.0;
/// Assumed deviation of a rate that the network's bandwidth or a cap sets. `cargo xtask lab compare`, a link of 100 Mbit/s
/// with a token bucket, 30 runs: 0.37 and 0.39 %.
pub(super) const ASSUMED_STEADY_RATIO: f64 = 0.005;
/// Assumed deviation of any other figure but p99. The same, a file system in memory on a busy machine with two CPUs: 18 to
/// 45 %; a disk 8 to 23 %.
pub(super) const ASSUMED_RATIO: f64 = 0.45;
/// Assumed deviation of a p99; the same: 10 to 139 %, most of them below 40 %.
const ASSUMED_P99_RATIO: f64 = 1.0;

const DISTURBED: &str =
    "other programs disturbed it, and fewer than three runs of that side are without them";

/// Which figure of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FigureKey {
    pub(super) id: FigureId,
    pub(super) role: Option<Role>,
}

/// One figure of one side, run by run.
#[derive(Debug, Clone)]
pub(super) struct SideFigure {
    /// Its logarithm in each run that has it.
    logarithms: Vec<f64>,
    /// The relative error inside each of them, or why it is not known.
    within: Vec<Result<Estimate, &'static str>>,
}

/// Sum of squares of the logarithms of runs around their mean.
#[derive(Debug, Clone, Copy)]
struct RunSquares {
    sum: f64,
    degrees_of_freedom: f64,
}

impl SideFigure {
    /// The figure of the runs of `item` that are used.
    pub(super) fn from_runs(item: &Item<'_>, key: FigureKey) -> Self {
        let found = item.used_runs().into_iter().filter_map(|run| {
            run.figures.iter().find(|figure| (figure.id, figure.role) == (key.id, key.role))
        });
        let (logarithms, within) = found.map(|figure| (figure.value.ln(), figure.estimate)).unzip();
        Self { logarithms, within }
    }

    pub(super) fn run_count(&self) -> usize {
        self.logarithms.len()
    }

    /// Its value: of several runs the geometric mean; `None` of no run.
    pub(super) fn value(&self) -> Option<f64> {
        moments::mean(&self.logarithms).map(f64::exp)
    }

    /// The least and the most of a run.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        let least = self.logarithms.iter().copied().min_by(f64::total_cmp)?;
        let most = self.logarithms.iter().copied().max_by(f64::total_cmp)?;
        Some((least.exp(), most.exp()))
    }

    /// Standard deviation of the logarithm of a run, which is that of the figure over the figure; `None` of a single run.
    pub(super) fn deviation(&self) -> Option<f64> {
        let squares = self.squares();
        (squares.degrees_of_freedom > 0.0).then(|| (squares.sum / squares.degrees_of_freedom).sqrt())
    }

    fn squares(&self) -> RunSquares {
        let degrees_of_freedom = (self.run_count() as f64 - 1.0).max(0.0);
        let variance = moments::sample_variance(&self.logarithms);
        let sum = variance.map_or(0.0, |variance| variance * degrees_of_freedom);
        RunSquares { sum, degrees_of_freedom }
    }

    /// The mean with the error that its own runs show.
    fn estimate_of_runs(&self) -> Option<Estimate> {
        let squares = self.squares();
        let variance = squares.sum / squares.degrees_of_freedom / self.run_count() as f64;
        Some(Estimate {
            value: self.value()?,
            relative_error: variance.sqrt(),
            degrees_of_freedom: squares.degrees_of_freedom,
        })
    }

    /// The mean with the error inside its runs.
    fn estimate_of_windows(&self) -> Result<Estimate, &'static str> {
        let count = self.run_count() as f64;
        let mut mean = Estimate {
            value: self.value().ok_or("no run has it")?,
            relative_error: 0.0,
            degrees_of_freedom: 0.0,
        };
        for within in &self.within {
            let within = within.as_ref().map_err(|why| *why)?;
            mean.relative_error = mean.relative_error.hypot(within.relative_error / count);
            mean.degrees_of_freedom += within.degrees_of_freedom;
        }
        Ok(mean)
    }

    /// The mean as if it had no error: where all of it is in the variation from run to run.
    fn without_error(&self) -> Option<Estimate> {
        Some(Estimate { value: self.value()?, relative_error: 0.0, degrees_of_freedom: 1.0 })
    }
}

/// One figure on both sides, with what else shows its variation.
#[derive(Debug)]
pub(super) struct SidesOfFigure {
    pub(super) a: SideFigure,
    pub(super) b: SideFigure,
    pub(super) noise: Option<SideFigure>,
    /// Whether the network's bandwidth or the load itself sets the rate on both sides.
    pub(super) is_steady: bool,
    /// Whether other programs disturbed runs that are used, in a way that may be the difference.
    pub(super) is_disturbed: bool,
}

impl SidesOfFigure {
    /// The figure with its ratio and interval; `None` where there is no ratio.
    pub(super) fn compared(&self, key: FigureKey) -> Option<ComparedFigure> {
        let (a, b) = (self.a.value()?, self.b.value()?);
        let ratio = narrows_model::units::ratio(b, a).filter(|ratio| *ratio > 0.0)?;
        let known = self.log_ratio(key.id).and_then(|(found, spread)| {
            let interval = found.interval(LEVEL).map_err(|error| error.to_string())?;
            let p = found.p_beyond(0.0).map_err(|error| error.to_string())?;
            Ok((interval, p, spread))
        });
        let (known, no_interval_because) = match known {
            Ok(known) => (Some(known), None),
            Err(why) => (None, Some(why)),
        };
        Some(ComparedFigure {
            id: key.id,
            role: key.role,
            a,
            b,
            ratio,
            interval: known.map(|(interval, ..)| crate::summary::summary_interval(interval)),
            p_value_adjusted: known.map(|(_, p, _)| p),
            spread: known.map(|(.., spread)| spread),
            runs_needed: None,
            decides: false,
            verdict: Verdict::Undecided,
            within_margin: false,
            no_interval_because,
        })
    }

    /// The ratio with its error, by the best of what is known of the variation from run to run.
    fn log_ratio(&self, id: FigureId) -> Result<(LogRatio, RunSpread), String> {
        if self.is_disturbed {
            return Err(DISTURBED.to_owned());
        }
        if self.a.run_count().min(self.b.run_count()) >= RUNS_MIN {
            return self.by_own_runs();
        }
        let pooled = self.pooled();
        if pooled.degrees_of_freedom >= POOLED_DEGREES_MIN {
            return self.by_pooled(pooled);
        }
        self.by_assumption(id)
    }

    fn by_own_runs(&self) -> Result<(LogRatio, RunSpread), String> {
        let (Some(a), Some(b)) = (self.a.estimate_of_runs(), self.b.estimate_of_runs()) else {
            return Err("no run has it".to_owned());
        };
        let found = LogRatio::new(b, a).map_err(|error| error.to_string())?;
        let (a, b) = (self.a.squares(), self.b.squares());
        let variance = (a.sum + b.sum) / (a.degrees_of_freedom + b.degrees_of_freedom);
        Ok((found, RunSpread { source: SpreadSource::Runs, deviation_ratio: variance.sqrt() }))
    }

    /// What all runs there are show together.
    fn pooled(&self) -> RunSquares {
        let sides = [Some(&self.a), Some(&self.b), self.noise.as_ref()];
        sides.into_iter().flatten().map(SideFigure::squares).fold(
            RunSquares { sum: 0.0, degrees_of_freedom: 0.0 },
            |all, one| RunSquares {
                sum: all.sum + one.sum,
                degrees_of_freedom: all.degrees_of_freedom + one.degrees_of_freedom,
            },
        )
    }

    /// The variation inside the runs is added where it is known: the runs that were pooled may be longer.
    fn by_pooled(&self, pooled: RunSquares) -> Result<(LogRatio, RunSpread), String> {
        let variance = pooled.sum / pooled.degrees_of_freedom;
        let part = VarianceComponent { variance, degrees_of_freedom: pooled.degrees_of_freedom };
        self.with_part(self.inside_runs().ok(), part, SpreadSource::Pooled)
    }

    fn by_assumption(&self, id: FigureId) -> Result<(LogRatio, RunSpread), String> {
        let inside = self.inside_runs();
        let deviation = match id {
            FigureId::RateBytesPerS | FigureId::OpsPerS if self.is_steady && inside.is_ok() => {
                ASSUMED_STEADY_RATIO
            }
            FigureId::LatencyNsP99 => ASSUMED_P99_RATIO,
            _ => ASSUMED_RATIO,
        };
        let part = VarianceComponent { variance: deviation.powi(2), degrees_of_freedom: ASSUMED_DEGREES };
        self.with_part(inside.ok(), part, SpreadSource::Assumed)
    }

    /// The ratio with the variation inside the runs alone.
    fn inside_runs(&self) -> Result<LogRatio, String> {
        match (self.a.estimate_of_windows(), self.b.estimate_of_windows()) {
            (Ok(a), Ok(b)) => LogRatio::new(b, a).map_err(|error| error.to_string()),
            (Err(why), Err(_)) => Err(why.to_owned()),
            (Err(why), Ok(_)) => Err(format!("in A: {why}")),
            (Ok(_), Err(why)) => Err(format!("in B: {why}")),
        }
    }

    /// `inside`, or a ratio without error, with the variance `of_one_run` from run to run.
    fn with_part(
        &self,
        inside: Option<LogRatio>,
        of_one_run: VarianceComponent,
        source: SpreadSource,
    ) -> Result<(LogRatio, RunSpread), String> {
        let bare = || {
            let (a, b) = (self.a.without_error()?, self.b.without_error()?);
            LogRatio::new(b, a).ok()
        };
        let inside = inside.or_else(bare).ok_or("no run has it")?;
        let shares = 1.0 / self.a.run_count() as f64 + 1.0 / self.b.run_count() as f64;
        let part = VarianceComponent { variance: of_one_run.variance * shares, ..of_one_run };
        let found = inside.plus(part).map_err(|error| error.to_string())?;
        let deviation_ratio = (found.variance() / shares).sqrt();
        Ok((found, RunSpread { source, deviation_ratio }))
    }
}

#[cfg(test)]
mod tests;
