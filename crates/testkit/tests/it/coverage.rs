//! False positives: a test of goodness of fit must refuse its own law about as often as it says, on seeded data.
//!
//! The limits are four standard errors of a share of that many trials; the seeds are fixed.

use narrows_stats::resample::Resampler;
use narrows_testkit::statistics::goodness::{dispersion, exponential, kolmogorov_smirnov, uniform};

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
        let mut normal = Resampler::new(seed);
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
    let mut normal = Resampler::new(22);
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
