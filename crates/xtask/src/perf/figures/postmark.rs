//! PostMark beside the one that the distribution has, in the same folder: files and transactions a second, phase by phase.
//!
//! In memory: on a disk the inodes that the last turn deleted are passed over one by one when new ones are made (ext4 keeps
//! from using them for a minute or more), which is no cost of the program's. The original's report has whole seconds, so
//! that its phases are timed by when it says that each has begun.

use super::PerfFigure;
use crate::perf::bench::Bench;
use crate::perf::contest::{Contender, run_rounds};
use crate::perf::estimate::ratios;
use crate::perf::finding::{PerfFinding, PerfFindings, PerfTarget};
use crate::perf::parse;
use anyhow::Context;
use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) const FIGURE: PerfFigure = PerfFigure {
    name: "classics-postmark",
    what: "narrows suite postmark beside Debian's postmark in one folder: files and transactions a second",
    measure,
};

/// So many that each phase takes over a second, and a look at what the original says comes often in it.
const NUMBER: u64 = 150_000;
const TRANSACTIONS: u64 = 300_000;
/// Folders as of a spool: one with all files would be measured in their place.
const SUBDIRECTORIES: u64 = 100;
/// Longest time of one run.
const RUN_S: u64 = 600;

/// Rates of a run: files created alone, transactions, files deleted alone.
type PhaseRates = [f64; 3];

const PHASES: [&str; 3] = ["creation alone", "transactions", "deletion alone"];
/// What the original prints when each phase begins, and what after the last one.
const MARKS: [&str; 4] =
    ["Creating files...", "Performing transactions", "Deleting files...", "Deleting subdirectories"];

fn measure(bench: &Bench) -> anyhow::Result<PerfFindings> {
    if let Err(why) = bench.tools.postmark.command() {
        return Ok(PerfFindings { findings: Vec::new(), missing: vec![why] });
    }
    let within = match Bench::place_in_memory()? {
        Ok(within) => within,
        Err(why) => return Ok(PerfFindings { findings: Vec::new(), missing: vec![why] }),
    };
    let within = within.path();
    let (ours, theirs) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let turn = |kept: &RefCell<Vec<PhaseRates>>, rates: PhaseRates| {
        kept.borrow_mut().push(rates);
        Ok(rates[1])
    };
    run_rounds(
        bench.rounds,
        &mut [
            Contender::new("narrows", || turn(&ours, narrows(bench, within)?)),
            Contender::new("postmark", || turn(&theirs, original(bench, within)?)),
        ],
    )?;
    let (ours, theirs) = (ours.into_inner(), theirs.into_inner());
    let findings = (0..PHASES.len()).map(|phase| phase_findings(phase, &ours, &theirs));
    let findings: anyhow::Result<Vec<Vec<PerfFinding>>> = findings.collect();
    Ok(PerfFindings { findings: findings?.into_iter().flatten().collect(), missing: Vec::new() })
}

fn phase_findings(
    phase: usize,
    ours: &[PhaseRates],
    theirs: &[PhaseRates],
) -> anyhow::Result<Vec<PerfFinding>> {
    let column = |all: &[PhaseRates]| all.iter().map(|rates| rates[phase]).collect::<Vec<f64>>();
    let (own, other) = (column(ours), column(theirs));
    let name = PHASES[phase];
    Ok(vec![
        PerfFinding::from_values(format!("narrows, {name}"), "/s", own.clone(), PerfTarget::None)?,
        PerfFinding::from_values(format!("postmark, {name}"), "/s", other.clone(), PerfTarget::None)?,
        PerfFinding::from_values(
            format!("rate over postmark's, {name}"),
            "x",
            ratios(&own, &other),
            PerfTarget::AtLeast(1.0),
        )?,
    ])
}

/// An empty folder.
fn folder(within: &Path) -> anyhow::Result<PathBuf> {
    let path = within.join("postmark");
    if path.exists() {
        fs::remove_dir_all(&path)?;
    }
    fs::create_dir_all(&path)?;
    Ok(path)
}

fn narrows(bench: &Bench, within: &Path) -> anyhow::Result<PhaseRates> {
    let (place, record) = (folder(within)?, bench.place("postmark.narrows"));
    if record.exists() {
        fs::remove_dir_all(&record)?;
    }
    let mut command = bench.tools.narrows();
    command.args(["suite", "postmark", "--no-verdict", "--quiet", "--yes", "--out"]).arg(record);
    command.arg("--location").arg(place);
    for (option, figure) in
        [("--number", NUMBER), ("--transactions", TRANSACTIONS), ("--subdirectories", SUBDIRECTORIES)]
    {
        command.args([option, &figure.to_string()]);
    }
    let ended = bench.beside("postmark-narrows", &mut command)?.finish(RUN_S, |_, _| {})?;
    parse::postmark_rates(ended.printed(&[0, 4])?)
}

fn original(bench: &Bench, within: &Path) -> anyhow::Result<PhaseRates> {
    let (place, script) = (folder(within)?, bench.place("postmark.script"));
    let commands = format!(
        "set location {}\nset number {NUMBER}\nset transactions {TRANSACTIONS}\nset subdirectories {SUBDIRECTORIES}\n\
         run\nquit\n",
        place.display()
    );
    fs::write(&script, commands)?;
    let mut command = bench.tools.postmark.command().map_err(anyhow::Error::msg)?;
    let printed = bench.place("postmark-original.out");
    let mut begun_s = [None; MARKS.len()];
    let running = bench.beside("postmark-original", command.arg(script))?;
    let ended = running.finish(RUN_S, |_, elapsed_s| {
        let said = fs::read_to_string(&printed).unwrap_or_default();
        note(&said, elapsed_s, &mut begun_s);
    })?;
    let report = ended.printed(&[0])?;
    note(report, ended.elapsed_s, &mut begun_s);
    let deleted = parse::postmark_deleted_alone(report)?;
    rates(begun_s, [NUMBER as f64, TRANSACTIONS as f64, deleted])
}

/// Notes the time of each mark that `said` has come to.
fn note(said: &str, elapsed_s: f64, begun_s: &mut [Option<f64>; MARKS.len()]) {
    for (mark, begun) in MARKS.iter().zip(begun_s) {
        if begun.is_none() && said.contains(mark) {
            *begun = Some(elapsed_s);
        }
    }
}

fn rates(begun_s: [Option<f64>; MARKS.len()], counts: [f64; 3]) -> anyhow::Result<PhaseRates> {
    let mut rates = [0.0; 3];
    for (phase, rate) in rates.iter_mut().enumerate() {
        let times = begun_s[phase].zip(begun_s[phase + 1]).filter(|(begin, end)| end > begin);
        let (begin, end) =
            times.with_context(|| format!("postmark did not say when {} ended", PHASES[phase]))?;
        *rate = counts[phase] / (end - begin);
    }
    Ok(rates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_lasts_from_its_mark_to_the_next() {
        let mut begun_s = [None; MARKS.len()];
        note("Creating files...", 1.0, &mut begun_s);
        note("Creating files...Done\nPerforming transactions..", 3.0, &mut begun_s);
        note("Creating files...Done\nPerforming transactions..", 4.0, &mut begun_s);
        assert!(rates(begun_s, [10.0, 20.0, 30.0]).is_err());
        note("Creating files...Done\nPerforming transactions..Done\nDeleting files...", 7.0, &mut begun_s);
        note(
            "Performing transactions..Done\nDeleting files...Done\nDeleting subdirectories...",
            10.0,
            &mut begun_s,
        );
        assert_eq!(rates(begun_s, [10.0, 20.0, 30.0]).ok(), Some([5.0, 5.0, 10.0]));
    }
}
