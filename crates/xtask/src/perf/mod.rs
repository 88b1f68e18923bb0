//! `cargo xtask perf`: the speed that narrows promises, measured beside its peers and beside bare loops.
//!
//! This file parses the arguments and controls the run. The figures are in `figures`, one file a figure or family;
//! statistics (`estimate`, `finding`), measuring (`contest`, `process`, `bench`) and reporting (`report`) are apart.
//! Nothing here decides what is fast enough: each figure has its target.

mod bench;
mod contest;
mod endpoint;
mod estimate;
mod figures;
mod finding;
mod fio;
mod machine;
mod memory;
mod parse;
mod report;
mod servers;
mod study;
mod tools;

use crate::workspace::Workspace;
use crate::{TaskOutcome, output};
use anyhow::Context;
use bench::Bench;
use figures::{FIGURES, PerfFigure};
use machine::{CpuReading, MachineDescription};
use report::MeasuredFigure;
use std::fs;
use std::path::PathBuf;
use tools::Tools;
pub(crate) use tools::target_folder;

/// Rounds without `--rounds`: the fewest whose interval has more than 90 %.
const ROUNDS: usize = 5;
const ROUNDS_MAX: usize = 99;
/// How long the machine is watched before the first figure.
const WATCH_NS: u64 = 2_000_000_000;

pub(crate) const USAGE: &str = "perf [FIGURE...] [--rounds N] [--json FILE], perf --list";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct PerfRequest {
    names: Vec<String>,
    rounds: usize,
    json: Option<PathBuf>,
    list: bool,
}

impl PerfRequest {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let mut request = Self { names: Vec::new(), rounds: ROUNDS, json: None, list: false };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match *word {
                "--list" => request.list = true,
                "--json" => request.json = Some(PathBuf::from(value()?)),
                "--rounds" => {
                    let given = value()?;
                    let rounds = given.parse().ok().filter(|rounds| (1..=ROUNDS_MAX).contains(rounds));
                    request.rounds =
                        rounds.ok_or_else(|| format!("--rounds takes 1 to {ROUNDS_MAX}, not {given:?}"))?;
                }
                option if option.starts_with('-') => return Err(format!("no option {option:?}")),
                name => request.names.push(name.to_owned()),
            }
        }
        Ok(request)
    }
}

/// Measures the figures that were asked for, and reports each as soon as it is there.
///
/// # Errors
/// A build that fails, a machine that cannot be read, a file that cannot be written.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<TaskOutcome> {
    let asked = PerfRequest::parse(words).and_then(|request| Ok((figures::named(&request.names)?, request)));
    let (chosen, request) = match asked {
        Ok(asked) => asked,
        Err(why) => {
            output::complaint(&format!("xtask perf: {why}\n\nusage: cargo xtask {USAGE}"));
            return Ok(TaskOutcome::BadCommand);
        }
    };
    if request.list {
        for figure in FIGURES {
            output::line(&format!("{:<17} {}", figure.name, figure.what));
        }
        return Ok(TaskOutcome::Healthy);
    }
    let workspace = Workspace::load()?;
    let tools = Tools::build(&workspace)?;
    let bench =
        Bench::new(MachineDescription::here()?, tools, request.rounds, tools::target_folder(&workspace))?;
    measure(&bench, &chosen, request.json.as_deref())
}

fn measure(
    bench: &Bench,
    chosen: &[&'static PerfFigure],
    json: Option<&std::path::Path>,
) -> anyhow::Result<TaskOutcome> {
    let at_first = CpuReading::now()?;
    let _ = narrows_sys::clock::wait_ns(WATCH_NS);
    let before = CpuReading::now()?.since(&at_first);
    let tools = &bench.tools;
    let peers = [&tools.fio, &tools.iperf3, &tools.socat, &tools.haproxy, &tools.postmark];
    output::line(&report::head(&bench.machine, &peers, before, &machine::load_averages()?));
    let mut measured = Vec::with_capacity(chosen.len());
    for figure in chosen {
        let figure = measure_one(bench, figure)?;
        output::line(&format!("\n{}", report::figure(&figure)));
        measured.push(figure);
    }
    if let Some(path) = json {
        let text =
            serde_json::to_string_pretty(&report::document(&bench.machine, &peers, before, &measured))?;
        fs::write(path, text + "\n").with_context(|| format!("{} cannot be written", path.display()))?;
    }
    let short = measured.iter().any(MeasuredFigure::is_short);
    Ok(if short { TaskOutcome::ProblemsFound } else { TaskOutcome::Healthy })
}

fn measure_one(bench: &Bench, figure: &PerfFigure) -> anyhow::Result<MeasuredFigure> {
    let started = CpuReading::now()?;
    let outcome = (figure.measure)(bench).map_err(|error| format!("{error:#}"));
    let during = CpuReading::now()?.since(&started);
    Ok(MeasuredFigure { name: figure.name, outcome, during })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_names_and_options_in_any_order() {
        let request =
            PerfRequest::parse(&["null", "--rounds", "7", "uring", "--json", "f"]).expect("sound words");
        let names = vec!["null".to_owned(), "uring".to_owned()];
        assert_eq!(request, PerfRequest { names, rounds: 7, json: Some("f".into()), list: false });
    }

    #[test]
    fn what_is_no_option_number_or_value_is_refused() {
        for words in [&["--rounds", "0"][..], &["--rounds", "x"], &["--rounds"], &["--json"], &["--fast"]] {
            assert!(PerfRequest::parse(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn a_figure_that_there_is_not_is_a_bad_command() {
        assert_eq!(run(&["no-such-figure"]).expect("nothing is built"), TaskOutcome::BadCommand);
        assert_eq!(run(&["--list"]).expect("nothing is built"), TaskOutcome::Healthy);
    }
}
