//! Properties of the statistics of tests.

use narrows_stats::mva::{Network, QueueStation, StationKind};
use narrows_testkit::statistics::bounds::AsymptoticBounds;
use narrows_testkit::statistics::logistic::{Example, fit_logistic};
use narrows_testkit::statistics::reliability::{Forecast, brier_score, reliability_table};
use proptest::collection::vec;
use proptest::prelude::*;

fn stations() -> impl Strategy<Value = Vec<QueueStation>> {
    let kind = prop_oneof![
        Just(StationKind::Queue),
        Just(StationKind::Delay),
        (1..9_u32).prop_map(|servers| StationKind::Servers(servers.try_into().unwrap())),
    ];
    vec((1e-6..1.0_f64, kind).prop_map(|(demand_s, kind)| QueueStation { demand_s, kind }), 1..7)
}

proptest! {
    #[test]
    fn mean_value_analysis_keeps_to_its_bounds_and_to_littles_law(stations in stations(), think_s in 0.0..2.0_f64) {
        let network = Network::new(stations, think_s).unwrap();
        let bounds = AsymptoticBounds::new(&network);
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
