//! False positives: intervals at level L must miss the truth about 1 - L of the time, on seeded data.
//!
//! The limits are four standard errors of a share of that many trials, sqrt(L(1-L)/trials), so that a right method
//! fails about once in 16 000 seeds; the seeds are fixed, so it fails always or never.
#![cfg(test)]

use narrows_stats::Level;
use narrows_stats::goodness::{dispersion, exponential, kolmogorov_smirnov, uniform};
use narrows_stats::interval::{Interval, batch_means, bootstrap_interval, student_interval};
use narrows_stats::moments::mean;
use narrows_stats::resample::{BootstrapPlan, Resampler};

/// Standard normal numbers by the Box-Muller transform, from the crate's seeded indices.
struct Normal {
    resampler: Resampler,
}

impl Normal {
    fn new(seed: u64) -> Self {
        Self { resampler: Resampler::new(seed) }
    }

    /// Uniform over the open interval from 0 to 1.
    fn uniform(&mut self) -> f64 {
        const STEPS: usize = 1 << 40;
        (self.resampler.index_below(STEPS).unwrap() as f64 + 0.5) / STEPS as f64
    }

    fn next(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn independent(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| 10.0 + self.next()).collect()
    }

    /// A stationary first-order autoregressive series around 10.
    fn correlated(&mut self, count: usize, phi: f64) -> Vec<f64> {
        let mut deviation = self.next() / (1.0 - phi * phi).sqrt();
        let mut step = || {
            deviation = phi * deviation + self.next();
            10.0 + deviation
        };
        (0..count).map(|_| step()).collect()
    }
}

/// The share of trials whose interval holds the true mean, 10.
fn coverage(trial_count: u32, mut interval_of_trial: impl FnMut() -> Interval) -> f64 {
    let held = (0..trial_count).filter(|_| interval_of_trial().contains(10.0)).count();
    held as f64 / f64::from(trial_count)
}

#[track_caller]
fn assert_near(found: f64, level: Level, trial_count: u32) {
    let nominal = level.ratio();
    let limit = 4.0 * (nominal * (1.0 - nominal) / f64::from(trial_count)).sqrt();
    assert!((found - nominal).abs() < limit, "coverage {found}, nominal {nominal} ± {limit}");
}

#[test]
fn student_intervals_cover_at_their_level_for_few_and_many_values() {
    for (seed, count) in [(1, 3), (2, 5), (3, 30)] {
        for level in [Level::P90, Level::P95, Level::P99] {
            let mut normal = Normal::new(seed);
            let found = coverage(4000, || student_interval(&normal.independent(count), level).unwrap());
            assert_near(found, level, 4000);
        }
    }
}

#[test]
fn batch_means_cover_at_their_level_on_independent_values() {
    let mut normal = Normal::new(4);
    let found = coverage(4000, || batch_means(&normal.independent(200), 20, Level::P95).unwrap().interval);
    assert_near(found, Level::P95, 4000);
}

#[test]
fn long_batches_nearly_repair_correlation_where_single_values_fail() {
    let mut normal = Normal::new(5);
    let batched =
        coverage(1000, || batch_means(&normal.correlated(2000, 0.7), 20, Level::P95).unwrap().interval);
    assert!(batched > 0.92, "{batched}");
    let naive = coverage(1000, || student_interval(&normal.correlated(2000, 0.7), Level::P95).unwrap());
    assert!(naive < 0.75, "independence was assumed wrongly and must show: {naive}");
}

#[test]
fn the_bootstrap_covers_a_little_below_its_level() {
    let mut normal = Normal::new(6);
    let mut seed = 0;
    let found = coverage(1000, || {
        seed += 1;
        let plan = BootstrapPlan { resample_count: 400, ..BootstrapPlan::with_seed(seed) };
        bootstrap_interval(&normal.independent(40), mean, plan).unwrap()
    });
    assert!((0.91..=0.97).contains(&found), "{found}");
}

/// Fails unless as many trials are false alarms as the significance says, within four standard errors.
#[track_caller]
fn assert_alarms(significance: f64, trial_count: u32, mut is_alarm: impl FnMut() -> bool) {
    let alarms = (0..trial_count).filter(|_| is_alarm()).count() as f64 / f64::from(trial_count);
    let limit = 4.0 * (significance * (1.0 - significance) / f64::from(trial_count)).sqrt();
    assert!((alarms - significance).abs() < limit, "false alarms {alarms}, stated {significance} ± {limit}");
}

#[test]
fn values_of_the_law_are_refused_at_the_stated_rate() {
    for (seed, count) in [(20, 20), (21, 300)] {
        let mut normal = Normal::new(seed);
        assert_alarms(0.05, 2000, || {
            let waits: Vec<f64> = (0..count).map(|_| -3.0 * normal.uniform().ln()).collect();
            kolmogorov_smirnov(&waits, exponential(3.0)).unwrap().is_refused(0.05)
        });
        assert_alarms(0.05, 2000, || {
            let values: Vec<f64> = (0..count).map(|_| 2.0 + 5.0 * normal.uniform()).collect();
            kolmogorov_smirnov(&values, uniform(2.0, 7.0)).unwrap().is_refused(0.05)
        });
    }
}

#[test]
fn poisson_counts_are_refused_at_the_stated_rate() {
    let mut normal = Normal::new(22);
    assert_alarms(0.05, 2000, || {
        let mut count_in_window = || {
            let mut at = -normal.uniform().ln();
            let mut count = 0.0;
            while at < 20.0 {
                count += 1.0;
                at -= normal.uniform().ln();
            }
            count
        };
        let counts: Vec<f64> = (0..60).map(|_| count_in_window()).collect();
        dispersion(&counts).unwrap().is_refused(0.05)
    });
}
