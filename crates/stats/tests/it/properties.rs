//! Properties that hold for any input: order, bounds, invariance.

use narrows_stats::autocorrelation::lag1_autocorrelation;
use narrows_stats::interval::{Estimate, LogRatio, batch_means, bootstrap_interval, student_interval};
use narrows_stats::moments::{Moments, mean};
use narrows_stats::mser::{BATCH_LEN, mser5};
use narrows_stats::multiplicity::holm;
use narrows_stats::quantile::{median, quantile};
use narrows_stats::regression::{DataPoint, fit_line};
use narrows_stats::resample::BootstrapPlan;
use narrows_stats::{Level, student_t};
use proptest::collection::vec;
use proptest::prelude::*;

fn values(lengths: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    vec(-1e6..1e6_f64, lengths)
}

fn estimate() -> impl Strategy<Value = Estimate> {
    (1e-6..1e9_f64, 0.0..0.5_f64, 1.0..40.0_f64).prop_map(|(value, relative_error, degrees_of_freedom)| {
        Estimate { value, relative_error, degrees_of_freedom }
    })
}

fn quick(seed: u64) -> BootstrapPlan {
    BootstrapPlan { resample_count: 200, ..BootstrapPlan::with_seed(seed) }
}

proptest! {
    #[test]
    fn one_over_a_ratio_is_the_ratio_the_other_way_round(
        over in estimate(), under in estimate(), margin in 0.0..0.5_f64,
    ) {
        let (there, back) = (LogRatio::new(over, under).unwrap(), LogRatio::new(under, over).unwrap());
        let (one, other) = (there.interval(Level::P95).unwrap(), back.interval(Level::P95).unwrap());
        prop_assert!((one.low * other.high - 1.0).abs() < 1e-9 && (one.high * other.low - 1.0).abs() < 1e-9);
        prop_assert!((there.p_beyond(margin).unwrap() - back.p_beyond(margin).unwrap()).abs() < 1e-12);
    }

    #[test]
    fn a_ratio_is_beyond_a_margin_exactly_where_its_interval_is(
        over in estimate(), under in estimate(), margin in 0.0..0.5_f64,
    ) {
        let found = LogRatio::new(over, under).unwrap();
        let interval = found.interval(Level::P95).unwrap();
        let p = found.p_beyond(margin).unwrap();
        let apart = interval.low > 1.0 + margin || interval.high < 1.0 / (1.0 + margin);
        prop_assume!((p - 0.05).abs() > 1e-9);
        prop_assert_eq!(p < 0.05, apart, "{} {:?}", p, interval);
    }

    #[test]
    fn adjusted_probabilities_are_between_the_given_ones_and_bonferronis_and_keep_their_order(
        p in vec(0.0..=1.0_f64, 1..40),
    ) {
        let adjusted = holm(&p);
        for (index, (found, given)) in adjusted.iter().zip(&p).enumerate() {
            prop_assert!(*found >= *given && *found <= (given * p.len() as f64).min(1.0) + 1e-12);
            for (other, theirs) in adjusted.iter().zip(&p).skip(index) {
                prop_assert!((given < theirs) <= (found <= other) && (theirs < given) <= (other <= found));
            }
        }
    }

    #[test]
    fn quantiles_rise_with_probability_and_stay_within_the_values(
        values in values(1..60), one in 0.0..=1.0_f64, other in 0.0..=1.0_f64,
    ) {
        let low = quantile(&values, one.min(other)).unwrap();
        let high = quantile(&values, one.max(other)).unwrap();
        prop_assert!(low <= high);
        prop_assert!(quantile(&values, 0.0).unwrap() <= low && high <= quantile(&values, 1.0).unwrap());
    }

    #[test]
    fn the_order_of_values_changes_neither_quantiles_nor_moments(
        (values, shuffled) in values(2..60).prop_flat_map(|values| (Just(values.clone()), Just(values).prop_shuffle())),
    ) {
        prop_assert_eq!(quantile(&values, 0.37), quantile(&shuffled, 0.37));
        let (one, other) = (Moments::from_values(&values).unwrap(), Moments::from_values(&shuffled).unwrap());
        prop_assert!((one.mean() - other.mean()).abs() <= 1e-8);
        let (one, other) = (one.sample_variance().unwrap(), other.sample_variance().unwrap());
        prop_assert!((one - other).abs() <= 1e-9 * one.max(1.0));
    }

    #[test]
    fn the_inverse_of_students_t_undoes_it(probability in 1e-6..0.999_f64, degrees in 1.0..500.0_f64) {
        let statistic = student_t::quantile(probability, degrees).unwrap();
        let above = student_t::upper_tail(statistic, degrees).unwrap();
        prop_assert!((1.0 - above - probability).abs() < 1e-10);
    }

    #[test]
    fn a_student_interval_contains_the_mean_and_widens_with_its_level(values in values(2..40)) {
        let narrow = student_interval(&values, Level::new(0.90).unwrap()).unwrap();
        let wide = student_interval(&values, Level::new(0.99).unwrap()).unwrap();
        prop_assert!(narrow.contains(mean(&values).unwrap()));
        prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
    }

    #[test]
    fn batch_means_contain_their_mean_and_account_for_every_value(values in values(10..90), batch_count in 2..10_usize) {
        let found = batch_means(&values, batch_count, Level::P95).unwrap();
        prop_assert!(found.interval.contains(found.mean));
        prop_assert_eq!(found.dropped_count + found.batch_len * found.batch_count, values.len());
        prop_assert!(found.dropped_count < batch_count);
    }

    #[test]
    fn a_bootstrap_interval_repeats_with_its_seed_and_stays_within_the_values(values in values(2..20), seed: u64) {
        let interval = bootstrap_interval(&values, median, quick(seed)).unwrap();
        prop_assert_eq!(Ok(interval), bootstrap_interval(&values, median, quick(seed)));
        prop_assert!(quantile(&values, 0.0).unwrap() <= interval.low && interval.low <= interval.high);
        prop_assert!(interval.high <= quantile(&values, 1.0).unwrap());
    }

    #[test]
    fn a_bootstrap_interval_of_a_symmetric_sample_contains_its_centre(
        half in vec(0.1..1e3_f64, 4..12), centre in -1e3..1e3_f64, seed: u64,
    ) {
        let sample: Vec<f64> = half.iter().flat_map(|distance| [centre - distance, centre + distance]).collect();
        prop_assert!(bootstrap_interval(&sample, mean, quick(seed)).unwrap().contains(centre));
    }

    #[test]
    fn a_warm_up_is_whole_batches_within_the_first_half(values in values(5..200)) {
        let warm_up = mser5(&values).unwrap();
        prop_assert_eq!(warm_up.dropped_count % BATCH_LEN, 0);
        prop_assert!(warm_up.dropped_count * 2 <= values.len());
    }

    #[test]
    fn autocorrelation_is_a_correlation_and_shift_changes_nothing(values in values(3..60), shift in -1e3..1e3_f64) {
        let shifted: Vec<f64> = values.iter().map(|value| value + shift).collect();
        let (one, other) = (lag1_autocorrelation(&values).unwrap(), lag1_autocorrelation(&shifted).unwrap());
        prop_assert!((-1.0..=1.0).contains(&one) && (one - other).abs() < 1e-6);
    }

    #[test]
    fn the_order_of_points_does_not_change_a_line(
        (points, shuffled) in vec((0.0..100.0_f64, -1e3..1e3_f64), 3..30)
            .prop_map(|pairs| pairs.into_iter().map(|(x, y)| DataPoint { x, y }).collect::<Vec<_>>())
            .prop_flat_map(|points| (Just(points.clone()), Just(points).prop_shuffle())),
    ) {
        let spread = points.iter().map(|point| point.x).fold(0.0, f64::max)
            - points.iter().map(|point| point.x).fold(100.0, f64::min);
        prop_assume!(spread > 1.0);
        let (one, other) = (fit_line(&points).unwrap(), fit_line(&shuffled).unwrap());
        prop_assert!((one.slope - other.slope).abs() < 1e-7 && (one.intercept - other.intercept).abs() < 1e-5);
        prop_assert!((0.0..=1.0).contains(&one.r_squared.unwrap_or(0.0)));
    }

}
