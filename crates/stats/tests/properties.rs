//! Laws that hold for any input: order, bounds, invariance.
#![cfg(test)]

use narrows_stats::autocorrelation::{effective_count, lag1_autocorrelation};
use narrows_stats::bounds::AsymptoticBounds;
use narrows_stats::interval::{Estimate, LogRatio, batch_means, bootstrap_interval, student_interval};
use narrows_stats::logistic::{Example, fit_logistic};
use narrows_stats::moments::{Moments, mean};
use narrows_stats::mser::{BATCH_LEN, mser5};
use narrows_stats::multiplicity::holm;
use narrows_stats::mva::{Network, Station, StationKind};
use narrows_stats::quantile::{median, quantile};
use narrows_stats::rank::{First, first_rank_shares};
use narrows_stats::regression::{Point, fit_line};
use narrows_stats::reliability::{Forecast, brier_score, reliability_table};
use narrows_stats::resample::BootstrapPlan;
use narrows_stats::{Level, student_t};
use proptest::collection::vec;
use proptest::prelude::*;

fn values(lengths: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    vec(-1e6..1e6_f64, lengths)
}

fn stations() -> impl Strategy<Value = Vec<Station>> {
    let kind = prop_oneof![
        Just(StationKind::Queue),
        Just(StationKind::Delay),
        (1..9_u32).prop_map(|servers| StationKind::Servers(servers.try_into().unwrap())),
    ];
    vec((1e-6..1.0_f64, kind).prop_map(|(demand_s, kind)| Station { demand_s, kind }), 1..7)
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
        let (there, back) = (LogRatio::of(over, under).unwrap(), LogRatio::of(under, over).unwrap());
        let (one, other) = (there.interval(Level::P95).unwrap(), back.interval(Level::P95).unwrap());
        prop_assert!((one.low * other.high - 1.0).abs() < 1e-9 && (one.high * other.low - 1.0).abs() < 1e-9);
        prop_assert!((there.p_beyond(margin).unwrap() - back.p_beyond(margin).unwrap()).abs() < 1e-12);
    }

    #[test]
    fn a_ratio_is_beyond_a_margin_exactly_where_its_interval_is(
        over in estimate(), under in estimate(), margin in 0.0..0.5_f64,
    ) {
        let found = LogRatio::of(over, under).unwrap();
        let interval = found.interval(Level::P95).unwrap();
        let p = found.p_beyond(margin).unwrap();
        let apart = interval.low > 1.0 + margin || interval.high < 1.0 / (1.0 + margin);
        prop_assume!((p - 0.05).abs() > 1e-9);
        prop_assert_eq!(p < 0.05, apart, "{} {:?}", p, interval);
    }

    #[test]
    fn adjusted_probabilities_lie_between_the_given_ones_and_bonferronis_and_keep_their_order(
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
        let (one, other) = (Moments::of(&values).unwrap(), Moments::of(&shuffled).unwrap());
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
    fn a_student_interval_holds_the_mean_and_widens_with_its_level(values in values(2..40)) {
        let narrow = student_interval(&values, Level::P90).unwrap();
        let wide = student_interval(&values, Level::P99).unwrap();
        prop_assert!(narrow.contains(mean(&values).unwrap()));
        prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
    }

    #[test]
    fn batch_means_hold_their_mean_and_account_for_every_value(values in values(10..90), batch_count in 2..10_usize) {
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
    fn a_bootstrap_interval_of_a_symmetric_sample_holds_its_centre(
        half in vec(0.1..1e3_f64, 4..12), centre in -1e3..1e3_f64, seed: u64,
    ) {
        let sample: Vec<f64> = half.iter().flat_map(|distance| [centre - distance, centre + distance]).collect();
        prop_assert!(bootstrap_interval(&sample, mean, quick(seed)).unwrap().contains(centre));
    }

    #[test]
    fn shares_of_first_rank_sum_to_one(groups in vec(values(1..6), 1..5), seed: u64) {
        let groups: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
        let shares = first_rank_shares(&groups, mean, First::Largest, quick(seed)).unwrap();
        prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        prop_assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
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
        let count = effective_count(&values).unwrap();
        prop_assert!((1.0..=values.len() as f64).contains(&count));
    }

    #[test]
    fn the_order_of_points_does_not_change_a_line(
        (points, shuffled) in vec((0.0..100.0_f64, -1e3..1e3_f64), 3..30)
            .prop_map(|pairs| pairs.into_iter().map(|(x, y)| Point { x, y }).collect::<Vec<_>>())
            .prop_flat_map(|points| (Just(points.clone()), Just(points).prop_shuffle())),
    ) {
        let spread = points.iter().map(|point| point.x).fold(0.0, f64::max)
            - points.iter().map(|point| point.x).fold(100.0, f64::min);
        prop_assume!(spread > 1.0);
        let (one, other) = (fit_line(&points).unwrap(), fit_line(&shuffled).unwrap());
        prop_assert!((one.slope - other.slope).abs() < 1e-7 && (one.intercept - other.intercept).abs() < 1e-5);
        prop_assert!((0.0..=1.0).contains(&one.r_squared.unwrap_or(0.0)));
    }

    #[test]
    fn mean_value_analysis_keeps_to_its_bounds_and_to_littles_law(stations in stations(), think_s in 0.0..2.0_f64) {
        let network = Network::new(stations, think_s).unwrap();
        let bounds = AsymptoticBounds::of(&network);
        let mut rate_before_per_s = 0.0;
        for load in network.solve(40) {
            let n = f64::from(load.in_flight);
            prop_assert!(load.rate_per_s <= bounds.rate_high_per_s(load.in_flight) * (1.0 + 1e-9));
            prop_assert!(load.response_s >= bounds.response_low_s(load.in_flight) * (1.0 - 1e-9));
            prop_assert!(load.rate_per_s >= n / (n * bounds.demand_s + think_s) * (1.0 - 1e-9));
            prop_assert!(load.rate_per_s >= rate_before_per_s * (1.0 - 1e-9));
            let present: f64 = load.stations.iter().map(|station| station.queue_len).sum();
            prop_assert!((present + load.rate_per_s * think_s - n).abs() < 1e-9 * n);
            rate_before_per_s = load.rate_per_s;
        }
    }

    #[test]
    fn a_penalised_fit_predicts_the_observed_share_on_average(
        pairs in vec((-3.0..3.0_f64, any::<bool>()), 4..40), penalty in 0.01..10.0_f64,
    ) {
        let happened_count = pairs.iter().filter(|(_, outcome)| *outcome).count();
        prop_assume!(happened_count > 0 && happened_count < pairs.len());
        let features: Vec<[f64; 1]> = pairs.iter().map(|&(feature, _)| [feature]).collect();
        let examples: Vec<Example<'_>> =
            features.iter().zip(&pairs).map(|(features, &(_, outcome))| Example { features, outcome }).collect();
        let model = fit_logistic(&examples, penalty).unwrap();
        // The free intercept makes predictions and outcomes agree in sum.
        let predicted: f64 = features.iter().map(|features| model.predict(features).unwrap()).sum();
        prop_assert!((predicted - happened_count as f64).abs() < 1e-6);
    }

    #[test]
    fn a_reliability_table_accounts_for_every_forecast(
        pairs in vec((0.0..=1.0_f64, any::<bool>()), 1..60), bin_count in 1..30_usize,
    ) {
        let forecasts: Vec<Forecast> =
            pairs.into_iter().map(|(probability, outcome)| Forecast { probability, outcome }).collect();
        let table = reliability_table(&forecasts, bin_count.try_into().unwrap()).unwrap();
        prop_assert_eq!(table.iter().map(|bin| bin.count).sum::<usize>(), forecasts.len());
        for bin in &table {
            prop_assert!(bin.mean_predicted.is_none_or(|mean| bin.low - 1e-12 <= mean && mean <= bin.high + 1e-12));
        }
        prop_assert!((0.0..=1.0).contains(&brier_score(&forecasts).unwrap()));
    }
}
