//! Statistics of tests against `SciPy`, `NumPy` or exact enumeration; `crates/stats/tests/known_answers/generate.py` made the
//! numbers.

use narrows_stats::mva::{Network, QueueStation, StationKind};
use narrows_testkit::statistics::bounds::AsymptoticBounds;
use narrows_testkit::statistics::goodness::{dispersion, exponential, kolmogorov_smirnov, uniform};
use narrows_testkit::statistics::logistic::{Example, fit_logistic};
use narrows_testkit::statistics::reliability::{Forecast, brier_score, reliability_table};
use serde_json::Value;

macro_rules! answers {
    ($name:literal) => {
        serde_json::from_str::<Value>(include_str!(concat!(
            "../../../stats/tests/known_answers/",
            $name,
            ".json"
        )))
        .unwrap()
    };
}

fn cases(value: &Value) -> &[Value] {
    let cases = value.as_array().unwrap();
    assert!(!cases.is_empty(), "a file without cases checks nothing");
    cases
}

fn number(case: &Value, key: &str) -> f64 {
    case[key].as_f64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Fails unless `found` is within `tolerance` of `expected`, relative to the larger of it and 1e-12.
#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    let allowed = tolerance * expected.abs().max(1e-12);
    assert!((found - expected).abs() <= allowed, "found {found:e}, expected {expected:e}");
}

fn network(case: &Value) -> Network {
    let of_kind = |kind: StationKind| move |demand_s: f64| QueueStation { demand_s, kind };
    let mut stations: Vec<QueueStation> =
        numbers(&case["queues"]).into_iter().map(of_kind(StationKind::Queue)).collect();
    for pair in case["servers"].as_array().unwrap() {
        let servers = u32::try_from(pair[1].as_u64().unwrap()).unwrap().try_into().unwrap();
        stations
            .push(QueueStation { demand_s: pair[0].as_f64().unwrap(), kind: StationKind::Servers(servers) });
    }
    stations.extend(numbers(&case["delays"]).into_iter().map(of_kind(StationKind::Delay)));
    Network::new(stations, number(case, "think_s")).unwrap()
}

#[test]
fn mean_value_analysis_agrees_with_exact_convolution_and_keeps_to_its_bounds() {
    for case in cases(&answers!("mva")) {
        let network = network(case);
        let bounds = AsymptoticBounds::new(&network);
        let rates = numbers(&case["rates"]);
        let loads = network.solve(30);
        assert_eq!(loads.len(), rates.len());
        for ((load, rate), queue_lens) in loads.iter().zip(rates).zip(cases(&case["queue_lens"])) {
            close(load.rate_per_s, rate, 1e-12);
            assert!(rate <= bounds.rate_high_per_s(load.in_flight) * (1.0 + 1e-12));
            for (station, expected) in load.stations.iter().zip(numbers(queue_lens)) {
                close(station.queue_len, expected, 1e-11);
            }
        }
    }
}

#[test]
fn logistic_fits_agree_with_scipy() {
    for case in cases(&answers!("logistic")) {
        let features: Vec<Vec<f64>> = cases(&case["features"]).iter().map(numbers).collect();
        let outcomes = cases(&case["outcomes"]).iter().map(|outcome| outcome.as_bool().unwrap());
        let examples: Vec<Example<'_>> =
            features.iter().zip(outcomes).map(|(features, outcome)| Example { features, outcome }).collect();
        let model = fit_logistic(&examples, number(case, "penalty")).unwrap();
        close(model.intercept, number(case, "intercept"), 1e-7);
        for (weight, expected) in model.weights.iter().zip(numbers(&case["weights"])) {
            close(*weight, expected, 1e-7);
        }
    }
}

#[test]
fn brier_score_and_reliability_table_agree_with_numpy() {
    let answers = answers!("reliability");
    let outcomes = cases(&answers["outcomes"]).iter().map(|outcome| outcome.as_bool().unwrap());
    let forecasts: Vec<Forecast> = numbers(&answers["probabilities"])
        .into_iter()
        .zip(outcomes)
        .map(|(probability, outcome)| Forecast { probability, outcome })
        .collect();
    close(brier_score(&forecasts).unwrap(), number(&answers, "brier"), 1e-12);
    let table = reliability_table(&forecasts, 10.try_into().unwrap()).unwrap();
    assert_eq!(table.len(), cases(&answers["bins"]).len());
    for (bin, expected) in table.iter().zip(cases(&answers["bins"])) {
        assert_eq!(Some(bin.count as u64), expected["count"].as_u64());
        close(bin.mean_predicted.unwrap(), number(expected, "mean_predicted"), 1e-12);
        close(bin.observed_share.unwrap(), number(expected, "observed_share"), 1e-12);
    }
}

#[test]
fn distances_of_distributions_agree_with_scipys_exact_test() {
    for case in cases(&answers!("goodness")["kolmogorov_smirnov"]) {
        let values = numbers(&case["values"]);
        let found = match case["law"].as_str().unwrap() {
            "exponential" => kolmogorov_smirnov(&values, exponential(2.5)).unwrap(),
            _ => kolmogorov_smirnov(&values, uniform(3.0, 7.0)).unwrap(),
        };
        close(found.statistic, number(case, "statistic"), 1e-12);
        // The stated accuracy of the limiting law, corrected for the number of values.
        let allowed = match values.len() {
            ..20 => 7.5e-3,
            20..50 => 1e-3,
            50..200 => 3e-4,
            _ => 1e-4,
        };
        let expected = number(case, "p_value");
        assert!((found.p_value - expected).abs() < allowed, "{} {expected} {}", found.p_value, values.len());
    }
}

#[test]
fn dispersions_agree_with_scipy() {
    for case in cases(&answers!("goodness")["dispersion"]) {
        let found = dispersion(&numbers(&case["counts"])).unwrap();
        close(found.statistic, number(case, "statistic"), 1e-12);
        close(found.p_value, number(case, "p_value"), 1e-8);
    }
}
