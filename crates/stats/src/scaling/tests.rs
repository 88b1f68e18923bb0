//! Laws found again in points that they made. Not here: known answers of others, which are in `tests/it`.

use super::{ScalingLaw, ScalingParameters, ScalingPoint, choose_law, fit_law, law_draws, selected_draws};
use crate::error::StatsError;
use crate::resample::{BootstrapPlan, Resampler};

const CLIENTS: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 8.0, 16.0, 24.0, 32.0];

fn points(law: ScalingParameters, noise: f64, seed: u64) -> Vec<ScalingPoint> {
    let mut resampler = Resampler::new(seed);
    CLIENTS
        .iter()
        .map(|&clients| {
            let rate = law.rate(clients) * (noise * resampler.normal()).exp();
            ScalingPoint { clients, rate, relative_error: None }
        })
        .collect()
}

fn parameter(law: &ScalingParameters, name: &str) -> f64 {
    law.named().into_iter().find(|(known, _)| *known == name).unwrap().1
}

const LAWS: [ScalingParameters; 4] = [
    ScalingParameters::Usl { gamma: 100.0, alpha: 0.03, beta: 0.002 },
    ScalingParameters::Usl { gamma: 1e-3, alpha: 0.0, beta: 0.01 },
    ScalingParameters::Min { gamma: 5e6, ceiling: 2.2e7 },
    ScalingParameters::Serial { gamma: 7.0, alpha: 0.11 },
];

#[test]
fn each_law_is_found_again_in_its_own_points() {
    for law in LAWS {
        let found = fit_law(&points(law, 0.0, 1), law.law()).unwrap();
        assert!(found.residual < 1e-12, "{found:?}");
        for (name, value) in law.named() {
            let found = parameter(&found.parameters, name);
            assert!((found - value).abs() <= 1e-6 * value.max(1e-3), "{law:?}: {name} {found}");
        }
    }
}

#[test]
fn the_law_that_made_the_points_is_chosen_in_spite_of_noise() {
    for law in LAWS {
        for seed in 0..20 {
            let choice = choose_law(&points(law, 0.01, seed), &ScalingLaw::ALL).unwrap();
            assert_eq!(choice.best.unwrap().parameters.law(), law.law(), "{law:?} {seed} {choice:?}");
        }
    }
}

#[test]
fn fewer_points_than_the_criterion_needs_choose_no_law() {
    let all = points(LAWS[0], 0.01, 3);
    assert_eq!(choose_law(&all[..4], &ScalingLaw::ALL).unwrap().best, None);
    let five = choose_law(&all[..5], &ScalingLaw::ALL).unwrap();
    assert!(five.fits.iter().all(|fit| (fit.parameters.law() == ScalingLaw::Usl) == fit.aicc.is_none()));
    assert!(choose_law(&all[..6], &ScalingLaw::ALL).unwrap().fits.iter().all(|fit| fit.aicc.is_some()));
}

#[test]
fn level_points_have_a_ceiling_and_the_least_rate_of_one_client() {
    let level: Vec<ScalingPoint> =
        CLIENTS.iter().map(|&clients| ScalingPoint { clients, rate: 9.0, relative_error: None }).collect();
    let found = fit_law(&level, ScalingLaw::Min).unwrap();
    assert!((parameter(&found.parameters, "ceiling") - 9.0).abs() < 1e-9);
    assert!(parameter(&found.parameters, "gamma") >= 9.0 - 1e-9);
    // Amdahl with everything serial is the same.
    assert!(
        (parameter(&fit_law(&level, ScalingLaw::Serial).unwrap().parameters, "alpha") - 1.0).abs() < 1e-9
    );
}

#[test]
fn more_than_proportional_growth_has_no_negative_share() {
    let rising: Vec<ScalingPoint> = CLIENTS
        .iter()
        .map(|&clients| ScalingPoint { clients, rate: clients.powf(1.2), relative_error: None })
        .collect();
    let found = fit_law(&rising, ScalingLaw::Usl).unwrap().parameters;
    assert_eq!((parameter(&found, "alpha"), parameter(&found, "beta")), (0.0, 0.0));
    assert_eq!((found.peak_clients(), found.highest_rate()), (None, None));
}

#[test]
fn a_peak_is_where_the_rate_is_highest() {
    let law = LAWS[0];
    let peak = law.peak_clients().unwrap();
    assert!((peak - (0.97_f64 / 0.002).sqrt()).abs() < 1e-9);
    assert!(law.rate(peak) > law.rate(peak * 1.01) && law.rate(peak) > law.rate(peak * 0.99));
    assert!((law.highest_rate().unwrap() - law.rate(peak)).abs() < 1e-9);
    assert_eq!(LAWS[3].highest_rate(), Some(7.0 / 0.11));
}

#[test]
fn intervals_contain_what_made_the_points_and_widen_with_noise() {
    for law in LAWS {
        let width = |noise: f64| {
            let points = points(law, noise, 5);
            let fit = fit_law(&points, law.law()).unwrap();
            let draws = law_draws(&points, &fit, BootstrapPlan::with_seed(2)).unwrap();
            let far = draws.interval(|law| Some(law.rate(64.0))).unwrap();
            assert!(far.contains(law.rate(64.0)), "{law:?} {far:?}");
            far.half_width()
        };
        assert!(width(0.03) > 2.0 * width(0.005));
    }
}

#[test]
fn draws_that_choose_again_have_more_than_one_law_where_the_points_leave_it_open() {
    let points = points(ScalingParameters::Serial { gamma: 7.0, alpha: 0.02 }, 0.03, 4);
    let best = choose_law(&points, &ScalingLaw::ALL).unwrap().best.unwrap();
    let draws = selected_draws(&points, &best, &ScalingLaw::ALL, BootstrapPlan::with_seed(2)).unwrap();
    let of_law = |law: ScalingLaw| draws.laws().iter().filter(|drawn| drawn.law() == law).count();
    assert!(ScalingLaw::ALL.iter().filter(|law| of_law(**law) > 0).count() >= 2, "{draws:?}");
}

#[test]
fn points_that_cannot_be_fitted_are_named() {
    let point = |clients: f64, rate: f64| ScalingPoint { clients, rate, relative_error: None };
    let fit = |points: &[ScalingPoint]| fit_law(points, ScalingLaw::Serial);
    assert!(matches!(fit(&[point(1.0, 1.0)]), Err(StatsError::TooFew { .. })));
    assert!(matches!(
        fit(&[point(1.0, 1.0), point(2.0, 0.0)]),
        Err(StatsError::OutOfRange { value_index: 1, .. })
    ));
    assert!(matches!(fit(&[point(1.0, 1.0), point(2.0, f64::NAN)]), Err(StatsError::NotFinite { .. })));
    assert!(matches!(fit(&[point(2.0, 1.0), point(2.0, 2.0)]), Err(StatsError::Degenerate { .. })));
}
