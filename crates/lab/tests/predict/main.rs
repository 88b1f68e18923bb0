//! The campaign of `cargo xtask lab predict`: the rate of four times the clients that a record has, predicted by
//! `narrows predict` and then measured, on paths with a known limit. Prints a table; not part of `./test`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

#[path = "../it/support/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "the other tests of the lab use the rest")]
mod support;

mod paths;

use narrows_lab::{Lab, narrows_bin, pin_to_cpus};
use narrows_model::extrapolation::{ExtrapolatedRate, Extrapolation, ExtrapolationMethod};
use paths::{PATHS, ScaledPath};
use std::process::Command;
use support::SOON;
use support::check::{Checked, Served, run_check};

/// The clients that are measured, and those whose rate is predicted from them.
const MEASURED_CLIENTS: &str = "1,2,4";
const PREDICTED_CLIENTS: u32 = 16;
/// So many paths have to be predicted, and of these so large a share of the rates has to be in its interval.
const PREDICTED_MIN: usize = 10;
const INSIDE_MIN_RATIO: f64 = 0.9;
/// The widest that an interval may be, as its half over the rate.
const HALF_WIDTH_RATIO_MAX: f64 = 0.25;

#[allow(clippy::disallowed_methods, reason = "which paths are measured is the environment's to say")]
fn is_wanted(path: &ScaledPath) -> bool {
    let words = std::env::var("NARROWS_PREDICT_PATHS").unwrap_or_default();
    words.is_empty() || words.split(';').any(|word| path.limit.contains(word))
}

/// Measures the load by so many clients, three times each.
fn scale(lab: &Lab, name: &str, served: &Served, path: &ScaledPath, clients: &str) -> Checked {
    let mut command = lab.host(2).unwrap().command(narrows_bin().unwrap());
    command.arg("scale").arg(format!("tcp://{}/{}", served.address, path.layer));
    command.arg("--token-file").arg(served.token());
    // Machines of their own: clients on one CPU, and servers whose CPU counts on the other one.
    pin_to_cpus(&mut command, &[0]);
    // Every cell of a path with all cuts needs a minute.
    let words = format!("--clients {clients} --cell-seconds 0.8 --trials 3 --seconds 60 {}", path.words);
    run_check(lab, name, command, &words)
}

/// What is predicted from a record, or why nothing is.
fn predicted(lab: &Lab, scaled: &Checked) -> Result<(ExtrapolationMethod, ExtrapolatedRate), String> {
    let mut command = Command::new(narrows_bin().unwrap());
    command.arg("predict").arg(&scaled.record).args(["--clients", &PREDICTED_CLIENTS.to_string(), "--json"]);
    let mut process = lab.start("predict", command).unwrap();
    let status = process.wait(SOON).unwrap();
    if status.code() == Some(3) {
        return Err(process.stderr().unwrap().trim().to_owned());
    }
    let found: Extrapolation = serde_json::from_str(&process.stdout().unwrap()).unwrap();
    let load = found.loads.into_iter().next().unwrap();
    Ok((load.method.expect("how it is computed"), load.rates.into_iter().next().unwrap()))
}

/// What a path's prediction came to.
#[derive(Debug)]
struct PredictionOutcome {
    limit: &'static str,
    method: ExtrapolationMethod,
    rate: ExtrapolatedRate,
    measured: f64,
}

impl PredictionOutcome {
    fn is_inside(&self) -> bool {
        (self.rate.interval.low..=self.rate.interval.high).contains(&self.measured)
    }

    fn half_width_ratio(&self) -> f64 {
        self.rate.interval.half_width_ratio(self.rate.rate).unwrap()
    }

    /// A row of the table, rates in MB/s.
    fn row(&self) -> String {
        let mb = |rate: f64| format!("{:.2}", rate / 1e6);
        let interval = format!("{} to {}", mb(self.rate.interval.low), mb(self.rate.interval.high));
        format!(
            "| {} | {:?} | {} | {interval} | {} | {} | {:.0} % |",
            self.limit,
            self.method,
            mb(self.rate.rate),
            mb(self.measured),
            if self.is_inside() { "yes" } else { "no" },
            self.half_width_ratio() * 100.0,
        )
    }
}

/// Measures a path, predicts its rate, and measures that.
fn outcome(path: &ScaledPath) -> Result<PredictionOutcome, String> {
    let lab = Lab::new().unwrap();
    let served = (path.start)(&lab, &lab.host(1).unwrap());
    let scaled = scale(&lab, "measured", &served, path, MEASURED_CLIENTS);
    let (method, rate) = predicted(&lab, &scaled)?;
    let far = scale(&lab, "far", &served, path, &format!("1,{PREDICTED_CLIENTS}"));
    let mut points = far.summary.scaling.iter().flat_map(|curve| &curve.points);
    let point = points.find(|point| point.clients == PREDICTED_CLIENTS).expect("a point");
    Ok(PredictionOutcome { limit: path.limit, method, rate, measured: point.rate })
}

#[test]
#[allow(clippy::print_stdout, reason = "the table is what the campaign is run for")]
fn the_rate_of_four_times_the_clients_is_in_its_interval_on_real_paths() {
    narrows_lab::disks_available().expect("the campaign needs the lab and its disks");
    let mut outcomes = Vec::new();
    let (mut rows, mut not_measured) = (Vec::new(), Vec::new());
    for path in PATHS.iter().filter(|path| is_wanted(path)) {
        // A path that cannot be measured is a failed one, and the others still count.
        match std::panic::catch_unwind(|| outcome(path)) {
            Ok(Ok(found)) => {
                rows.push(found.row());
                outcomes.push(found);
            }
            Ok(Err(refusal)) => rows.push(format!("| {} | refused: {refusal} | | | | | |", path.limit)),
            Err(_) => {
                rows.push(format!("| {} | not measured | | | | | |", path.limit));
                not_measured.push(path.limit);
            }
        }
    }
    println!("| path | by | MB/s predicted | interval | measured | inside | half-width |");
    println!("|---|---|---|---|---|---|---|");
    println!("{}", rows.join("\n"));
    let inside = outcomes.iter().filter(|one| one.is_inside()).count();
    println!("{} of {} paths predicted, {inside} in their interval", outcomes.len(), rows.len());
    assert!(!rows.is_empty(), "no path has such a name");
    assert!(not_measured.is_empty(), "not measured: {not_measured:?}");
    assert!(!outcomes.is_empty(), "no path is predicted");
    // Some of the paths alone show how each fares; the limits are for all of them.
    if rows.len() == PATHS.len() {
        assert!(outcomes.len() >= PREDICTED_MIN, "fewer than {PREDICTED_MIN} paths are predicted");
    }
    assert!(inside as f64 >= INSIDE_MIN_RATIO * outcomes.len() as f64, "too few rates are in their interval");
    let wide: Vec<&str> = outcomes
        .iter()
        .filter(|one| one.half_width_ratio() > HALF_WIDTH_RATIO_MAX)
        .map(|one| one.limit)
        .collect();
    assert!(wide.is_empty(), "wider than 25 %: {wide:?}");
}
