//! Every numeric function against `SciPy`, `NumPy` or exact enumeration; `known_answers/generate.py` made the numbers.

use narrows_stats::autocorrelation::lag1_autocorrelation;
use narrows_stats::chi_square;
use narrows_stats::dip::{DipPlan, dip, dip_test};
use narrows_stats::hockney::{Transfer, fit_hockney};
use narrows_stats::interval::{
    Estimate, LogRatio, RatioTerm, batch_means, bootstrap_interval, optimal_block_len, ratio_interval,
    sectioned, student_interval,
};
use narrows_stats::modes::critical_bandwidth;
use narrows_stats::moments::{Moments, mean};
use narrows_stats::mser::{BATCHES_MIN, WarmUpVerdict, mser5};
use narrows_stats::multiplicity::holm;
use narrows_stats::quantile::{median, quantile};
use narrows_stats::regression::{DataPoint, fit_line, fit_line_of_unequal_errors, fit_weighted_line};
use narrows_stats::resample::BootstrapPlan;
use narrows_stats::scaling::{ScalingLaw, ScalingPoint, fit_law};
use narrows_stats::steady::assess_window;
use narrows_stats::{Level, normal, student_t};
use serde_json::Value;

macro_rules! answers {
    ($name:literal) => {
        serde_json::from_str::<Value>(include_str!(concat!("../known_answers/", $name, ".json"))).unwrap()
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

fn points(case: &Value) -> Vec<DataPoint> {
    numbers(&case["x"]).into_iter().zip(numbers(&case["y"])).map(|(x, y)| DataPoint { x, y }).collect()
}

/// Fails unless `found` is within `tolerance` of `expected`, relative to the larger of it and 1e-12.
#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    let allowed = tolerance * expected.abs().max(1e-12);
    assert!((found - expected).abs() <= allowed, "found {found:e}, expected {expected:e}");
}

#[test]
fn quantiles_agree_with_numpy() {
    for case in cases(&answers!("quantiles")) {
        let values = numbers(&case["values"]);
        for (probability, expected) in
            numbers(&case["probabilities"]).into_iter().zip(numbers(&case["expected"]))
        {
            close(quantile(&values, probability).unwrap(), expected, 1e-13);
        }
    }
}

#[test]
fn moments_agree_with_numpy() {
    for case in cases(&answers!("moments")) {
        let moments = Moments::from_values(&numbers(&case["values"])).unwrap();
        close(moments.mean(), number(case, "mean"), 1e-14);
        close(moments.sample_variance().unwrap(), number(case, "variance"), 1e-12);
        let expected = number(case, "coefficient_of_variation");
        close(moments.coefficient_of_variation().unwrap(), expected, 1e-9);
    }
}

#[test]
fn student_t_agrees_with_scipy() {
    let answers = answers!("student_t");
    // The stated accuracy: the continued fraction cancels for very many degrees of freedom.
    let tolerance = |degrees: f64| if degrees > 1e6 { 1e-7 } else { 1e-9 };
    for case in cases(&answers["quantiles"]) {
        let degrees = number(case, "degrees");
        let found = student_t::quantile(number(case, "probability"), degrees).unwrap();
        close(found, number(case, "expected"), tolerance(degrees));
    }
    for case in cases(&answers["upper_tails"]) {
        let degrees = number(case, "degrees");
        let found = student_t::upper_tail(number(case, "statistic"), degrees).unwrap();
        close(found, number(case, "expected"), tolerance(degrees));
    }
}

#[test]
fn student_intervals_agree_with_scipy() {
    for case in cases(&answers!("intervals")["student"]) {
        let level = Level::new(number(case, "level")).unwrap();
        let interval = student_interval(&numbers(&case["values"]), level).unwrap();
        close(interval.low, number(case, "low"), 1e-10);
        close(interval.high, number(case, "high"), 1e-10);
    }
}

#[test]
fn ratio_intervals_agree_with_numpy_and_scipy() {
    for case in cases(&answers!("ratio")) {
        let pairs = numbers(&case["over"]).into_iter().zip(numbers(&case["under"]));
        let shares: Vec<RatioTerm> = pairs.map(|(over, under)| RatioTerm { over, under }).collect();
        let found = ratio_interval(&shares, Level::new(number(case, "level")).unwrap()).unwrap();
        close(found.low, number(case, "low"), 1e-9);
        close(found.high, number(case, "high"), 1e-9);
    }
}

/// The geometric mean of a sample, and the spread of its logarithm.
fn geometric(sample: &[f64]) -> Estimate {
    let logarithms: Vec<f64> = sample.iter().map(|value| value.ln()).collect();
    let moments = Moments::from_values(&logarithms).unwrap();
    let n = moments.count() as f64;
    Estimate {
        value: moments.mean().exp(),
        relative_error: (moments.sample_variance().unwrap() / n).sqrt(),
        degrees_of_freedom: n - 1.0,
    }
}

#[test]
fn ratios_of_two_samples_agree_with_welchs_test_in_scipy() {
    for case in cases(&answers!("log_ratio")["ratios"]) {
        let (over, under) = (geometric(&numbers(&case["over"])), geometric(&numbers(&case["under"])));
        let found = LogRatio::new(over, under).unwrap();
        let interval = found.interval(Level::P95).unwrap();
        close(found.ratio(), number(case, "ratio"), 1e-9);
        close(interval.low, number(case, "low"), 1e-9);
        close(interval.high, number(case, "high"), 1e-9);
        close(found.p_beyond(number(case, "margin")).unwrap(), number(case, "p"), 1e-7);
    }
}

#[test]
fn sectioned_quantiles_agree_with_numpy() {
    for case in cases(&answers!("log_ratio")["sections"]) {
        let found = sectioned(number(case, "whole"), &numbers(&case["parts"])).unwrap();
        close(found.relative_error, number(case, "relative_error"), 1e-9);
        close(found.degrees_of_freedom, number(case, "degrees_of_freedom"), 0.0);
    }
}

#[test]
fn probabilities_are_adjusted_as_holm_defines_it() {
    for case in cases(&answers!("log_ratio")["families"]) {
        let adjusted = numbers(&case["adjusted"]);
        for (found, expected) in holm(&numbers(&case["p"])).into_iter().zip(adjusted) {
            close(found, expected, 1e-12);
        }
    }
}

#[test]
fn prediction_intervals_agree_with_numpy_and_scipy() {
    for case in cases(&answers!("prediction")) {
        let line = fit_weighted_line(&points(case), |point| 1.0 / (point.y * point.y)).unwrap();
        let level = Level::new(number(case, "level")).unwrap();
        let found = line.prediction_interval(number(case, "at"), number(case, "weight"), level).unwrap();
        close(found.low, number(case, "low"), 1e-7);
        close(found.high, number(case, "high"), 1e-7);
    }
}

#[test]
fn batch_means_agree_with_numpy_and_scipy() {
    for case in cases(&answers!("intervals")["batches"]) {
        let batch_count = usize::try_from(case["batch_count"].as_u64().unwrap()).unwrap();
        let found = batch_means(&numbers(&case["series"]), batch_count, Level::P95).unwrap();
        close(found.mean, number(case, "mean"), 1e-12);
        close(found.interval.low, number(case, "low"), 1e-10);
        close(found.interval.high, number(case, "high"), 1e-10);
        close(found.batch_lag1.unwrap(), number(case, "lag1"), 1e-9);
    }
}

#[test]
fn bootstrap_intervals_agree_with_scipy_within_the_noise_of_resampling() {
    for case in cases(&answers!("intervals")["bootstraps"]) {
        let values = numbers(&case["values"]);
        let plan = BootstrapPlan { resample_count: 20_000, ..BootstrapPlan::with_seed(17) };
        let statistic = if case["statistic"] == "mean" { mean } else { median };
        let interval = bootstrap_interval(&values, statistic, plan).unwrap();
        // The 2.5 % point of 20 000 draws has a standard error of about 0.02 of theirs; ten times that for medians,
        // whose resamples take few distinct values.
        let allowed = number(case, "standard_error") * 0.2;
        assert!((interval.low - number(case, "low")).abs() < allowed, "{interval:?} {case:?}");
        assert!((interval.high - number(case, "high")).abs() < allowed, "{interval:?} {case:?}");
    }
}

#[test]
fn mser_cuts_agree_with_numpy() {
    for case in cases(&answers!("mser")) {
        let warm_up = mser5(&numbers(&case["series"])).unwrap();
        assert_eq!(Some(warm_up.dropped_count as u64), case["dropped_count"].as_u64());
        let too_short = case["too_short"].as_bool().unwrap();
        let verdict = match (warm_up.batch_count >= BATCHES_MIN, too_short) {
            (false, _) => WarmUpVerdict::TooFewBatches,
            (true, true) => WarmUpVerdict::RunTooShort,
            (true, false) => WarmUpVerdict::Settled,
        };
        assert_eq!(warm_up.verdict, verdict);
    }
}

#[test]
fn steadiness_agrees_with_numpy() {
    for case in cases(&answers!("steady")) {
        let found = assess_window(&numbers(&case["rounds"])).unwrap();
        close(found.range_ratio, number(case, "range_ratio"), 1e-12);
        close(found.drift_ratio, number(case, "drift_ratio"), 1e-9);
    }
}

#[test]
fn autocorrelations_agree_with_numpy() {
    for case in cases(&answers!("autocorrelation")) {
        let series = numbers(&case["series"]);
        close(lag1_autocorrelation(&series).unwrap(), number(case, "lag1"), 1e-10);
    }
}

#[test]
fn lines_agree_with_scipy() {
    for case in cases(&answers!("regression")["plain"]) {
        let line = fit_line(&points(case)).unwrap();
        close(line.intercept, number(case, "intercept"), 1e-9);
        close(line.slope, number(case, "slope"), 1e-9);
        close(line.intercept_standard_error.unwrap(), number(case, "intercept_se"), 1e-7);
        close(line.slope_standard_error.unwrap(), number(case, "slope_se"), 1e-7);
        close(line.r_squared.unwrap(), number(case, "r_squared"), 1e-9);
        let interval = line.slope_interval(Level::P95).unwrap();
        close(interval.low, number(case, "slope_low"), 1e-8);
        close(interval.high, number(case, "slope_high"), 1e-8);
    }
}

#[test]
fn weighted_lines_agree_with_numpy() {
    for case in cases(&answers!("regression")["weighted_by_inverse_square_of_x"]) {
        let line = fit_weighted_line(&points(case), |point| 1.0 / (point.x * point.x)).unwrap();
        close(line.intercept, number(case, "intercept"), 1e-9);
        close(line.slope, number(case, "slope"), 1e-9);
        close(line.intercept_standard_error.unwrap(), number(case, "intercept_se"), 1e-9);
        close(line.slope_standard_error.unwrap(), number(case, "slope_se"), 1e-9);
    }
}

#[test]
fn lines_of_unequal_errors_agree_with_matrices_of_numpy() {
    for case in cases(&answers!("unequal_errors")) {
        let line = fit_line_of_unequal_errors(&points(case), |point| 1.0 / (point.y * point.y)).unwrap();
        close(line.intercept, number(case, "intercept"), 1e-8);
        close(line.slope, number(case, "slope"), 1e-9);
        close(line.intercept_standard_error.unwrap(), number(case, "intercept_se"), 1e-8);
        close(line.slope_standard_error.unwrap(), number(case, "slope_se"), 1e-8);
        let interval = line.slope_interval(Level::P95).unwrap();
        close(interval.low, number(case, "slope_low"), 1e-8);
        close(interval.high, number(case, "slope_high"), 1e-8);
    }
}

#[test]
fn latency_bandwidth_laws_agree_with_numpy() {
    for case in cases(&answers!("hockney")) {
        let sizes = numbers(&case["block_bytes"]).into_iter().zip(numbers(&case["elapsed_s"]));
        let transfers: Vec<Transfer> = sizes
            .map(|(block_bytes, elapsed_s)| Transfer { block_bytes, elapsed_s, relative_error: None })
            .collect();
        let law = fit_hockney(&transfers, Level::P95).unwrap();
        close(law.latency_s, number(case, "latency_s"), 1e-8);
        close(law.rate_bytes_per_s, number(case, "rate"), 1e-8);
        close(law.n_half_bytes().unwrap(), number(case, "n_half"), 1e-8);
        let n_half = law.n_half_bytes_interval.unwrap();
        close(n_half.low, number(case, "n_half_low").max(0.0), 1e-8);
        close(n_half.high, number(case, "n_half_high"), 1e-8);
        let (latency, rate) = (law.latency_s_interval.unwrap(), law.rate_bytes_per_s_interval.unwrap());
        close(latency.low, number(case, "latency_low"), 1e-8);
        close(latency.high, number(case, "latency_high"), 1e-8);
        close(rate.low, number(case, "rate_low"), 1e-8);
        close(rate.high, number(case, "rate_high"), 1e-8);
    }
}

#[test]
fn chi_square_and_normal_tails_agree_with_scipy() {
    let answers = answers!("goodness");
    for case in cases(&answers["chi_square_upper_tails"]) {
        let found = chi_square::upper_tail(number(case, "statistic"), number(case, "degrees")).unwrap();
        close(found, number(case, "expected"), 1e-9);
    }
    for case in cases(&answers["normal"]) {
        let quantile = number(case, "quantile");
        close(normal::quantile(number(case, "probability")).unwrap(), quantile, 1e-9);
        close(normal::upper_tail(quantile).unwrap(), number(case, "upper_tail"), 1e-9);
    }
}

#[test]
fn laws_with_known_errors_agree_with_numpy() {
    for case in cases(&answers!("hockney_errors")) {
        let errors = numbers(&case["relative_error"]);
        let sizes = numbers(&case["block_bytes"]).into_iter().zip(numbers(&case["elapsed_s"])).zip(errors);
        let transfers: Vec<Transfer> = sizes
            .map(|((block_bytes, elapsed_s), error)| Transfer {
                block_bytes,
                elapsed_s,
                relative_error: Some(error),
            })
            .collect();
        let law = fit_hockney(&transfers, Level::P95).unwrap();
        close(law.latency_s, number(case, "latency_s"), 1e-8);
        close(law.rate_bytes_per_s, number(case, "rate"), 1e-8);
        close(law.lack_of_fit_p_value.unwrap(), number(case, "lack_of_fit"), 1e-6);
        let (latency, n_half) = (law.latency_s_interval.unwrap(), law.n_half_bytes_interval.unwrap());
        close(latency.half_width(), number(case, "latency_half"), 1e-6);
        close(n_half.high - law.n_half_bytes().unwrap(), number(case, "n_half_half"), 1e-6);
    }
}

#[test]
fn dips_agree_with_the_python_package() {
    for case in cases(&answers!("mixture")["dips"]) {
        let values = numbers(&case["values"]);
        close(dip(&values).unwrap(), number(case, "dip"), 1e-9);
        let plan = DipPlan { resample_count: 2000, seed: 8, lag1_autocorrelation: 0.0 };
        let found = dip_test(&values, plan).unwrap();
        let expected = number(case, "p_value");
        // Four standard errors of a share of 2000 draws, and the package's own table.
        let allowed = 4.0 * (expected * (1.0 - expected) / 2000.0).sqrt() + 0.005;
        assert!((found.p_value - expected).abs() < allowed, "{} {expected} {}", found.p_value, values.len());
    }
}

#[test]
fn critical_bandwidths_agree_with_scipys_densities() {
    for case in cases(&answers!("mixture")["critical_bandwidths"]) {
        let values = numbers(&case["values"]);
        for (index, expected) in numbers(&case["bandwidths"]).into_iter().enumerate() {
            close(critical_bandwidth(&values, index + 1).unwrap(), expected, 0.02);
        }
    }
}

#[test]
fn block_lengths_agree_with_numpy() {
    for case in cases(&answers!("block_bootstrap")) {
        close(optimal_block_len(&numbers(&case["series"])).unwrap(), number(case, "length"), 1e-9);
    }
}

/// The rate of a law by parameters in the order of their names.
fn rate_by(law: ScalingLaw, parameters: &[f64], clients: f64) -> f64 {
    if law == ScalingLaw::Min {
        return (parameters[0] * clients).min(parameters[1]);
    }
    let beta = parameters.get(2).copied().unwrap_or(0.0);
    let more = clients - 1.0;
    parameters[0] * clients / (1.0 + parameters[1] * more + beta * clients * more)
}

#[test]
fn laws_of_scaling_agree_with_scipy() {
    for case in cases(&answers!("scaling")) {
        let rates = numbers(&case["rates"]);
        let points: Vec<ScalingPoint> = numbers(&case["clients"])
            .into_iter()
            .zip(rates)
            .map(|(clients, rate)| ScalingPoint { clients, rate, relative_error: None })
            .collect();
        for law in ScalingLaw::ALL {
            let expected = &case["laws"][law.name()];
            let found = fit_law(&points, law).unwrap();
            // SciPy searches; the minimum has its corner on a grid. Never worse than either, and hardly better.
            let rss = number(expected, "rss");
            assert!(
                found.residual <= rss * (1.0 + 1e-9),
                "{} {}: {}",
                case["name"],
                law.name(),
                found.residual
            );
            close(found.residual, rss, 1e-4);
            let tolerance = if law == ScalingLaw::Min { 1e-3 } else { 1e-4 };
            let parameters = numbers(&expected["parameters"]);
            for clients in numbers(&case["clients"]).into_iter().chain([1.0, 100.0]) {
                close(found.parameters.rate(clients), rate_by(law, &parameters, clients), tolerance);
            }
            match (found.aicc, expected["aicc"].as_f64()) {
                (Some(found), Some(expected)) => assert!((found - expected).abs() < 1e-2),
                (found, expected) => assert_eq!(found, expected),
            }
        }
    }
}
