//! bonnie++ beside the one that the distribution has, in the same folder in turn: each figure of its CSV.
//!
//! Many files are made in a file system in memory: on a disk the inodes that the last turn deleted are passed over one by
//! one when new ones are made (ext4 keeps from using them for a minute or more), which is no cost of the program's. Before
//! the turns in memory there is one that is not counted: the host of a virtual machine gives memory that was free for long
//! only when it is touched, and the turn that came first made files at 0.85 times the rate of all others. To touch it by
//! hand is worse: what is then freed, the host takes back while the turn is under way.

use super::PerfFigure;
use crate::perf::bench::Bench;
use crate::perf::contest::{Contender, run_rounds};
use crate::perf::estimate::ratios;
use crate::perf::finding::{PerfFinding, PerfFindings, PerfTarget};
use anyhow::Context;
use std::cell::RefCell;
use std::fs;
use std::path::Path;

pub(super) const FIGURE: PerfFigure = PerfFigure {
    name: "classics-bonnie",
    what: "narrows suite bonnie beside Debian's bonnie++ in one folder: characters, blocks and many files",
    measure,
};

/// Longest time of one run.
const RUN_S: u64 = 600;

/// A run of both programs: the same words, and the fields of the CSV that are compared.
struct BonnieTrial {
    name: &'static str,
    words: &'static [&'static str],
    in_memory: bool,
    fields: &'static [BonnieField],
}

/// A field of edition 2.00's CSV.
struct BonnieField {
    index: usize,
    name: &'static str,
    unit: &'static str,
    target: PerfTarget,
}

const fn field(index: usize, name: &'static str, unit: &'static str, target: PerfTarget) -> BonnieField {
    BonnieField { index, name, unit, target }
}

/// Block figures are to be those of the original; characters and files no slower.
const SAME: PerfTarget = PerfTarget::NearOne(0.10);
const NO_SLOWER: PerfTarget = PerfTarget::AtLeast(1.0);

const TRIALS: [BonnieTrial; 4] = [
    BonnieTrial {
        name: "page cache",
        words: &["-s", "512", "-r", "256", "-n", "0"],
        in_memory: false,
        fields: &[
            field(9, "putc", "KiB/s", NO_SLOWER),
            field(11, "block write", "KiB/s", SAME),
            field(15, "getc", "KiB/s", NO_SLOWER),
        ],
    },
    BonnieTrial {
        // A smaller file is read in less than the half second from which the original prints a rate.
        name: "page cache of 6 GiB in memory",
        words: &["-s", "6144", "-r", "3072", "-n", "0", "-f"],
        in_memory: true,
        fields: &[
            field(11, "block write", "KiB/s", SAME),
            field(13, "rewrite", "KiB/s", SAME),
            field(17, "block read", "KiB/s", SAME),
            field(19, "seeks", "/s", PerfTarget::None),
        ],
    },
    BonnieTrial {
        // The original opens the file past the page cache for the block write alone.
        name: "direct",
        words: &["-s", "128", "-r", "64", "-n", "0", "-D", "-f"],
        in_memory: false,
        fields: &[
            field(11, "block write", "KiB/s", SAME),
            field(13, "rewrite (theirs cached)", "KiB/s", PerfTarget::None),
            field(17, "block read (theirs cached)", "KiB/s", PerfTarget::None),
        ],
    },
    BonnieTrial {
        name: "files in memory",
        words: &["-s", "0", "-n", "1024"],
        in_memory: true,
        fields: &[
            field(26, "sequential create", "/s", NO_SLOWER),
            field(28, "sequential stat", "/s", NO_SLOWER),
            field(30, "sequential delete", "/s", NO_SLOWER),
            field(32, "random create", "/s", NO_SLOWER),
            field(34, "random stat", "/s", NO_SLOWER),
            field(36, "random delete", "/s", NO_SLOWER),
        ],
    },
];

fn measure(bench: &Bench) -> anyhow::Result<PerfFindings> {
    if let Err(why) = bench.tools.bonnie.command() {
        return Ok(PerfFindings { findings: Vec::new(), missing: vec![why] });
    }
    let mut all = PerfFindings::default();
    for trial in &TRIALS {
        match place(bench, trial)? {
            Ok(place) => measure_trial(bench, trial, place.path(), &mut all)?,
            Err(why) => all.missing.push(why),
        }
    }
    Ok(all)
}

/// The folder that both programs work in, which is removed when dropped; or the reason why there is none.
fn place(bench: &Bench, trial: &BonnieTrial) -> anyhow::Result<Result<tempfile::TempDir, String>> {
    if trial.in_memory { Bench::place_in_memory() } else { Ok(Ok(tempfile::tempdir_in(bench.place(""))?)) }
}

/// The values of one program: a row a round, a column a field; `None` where the program printed plus signs.
type BonnieRows = RefCell<Vec<Vec<Option<f64>>>>;

fn measure_trial(
    bench: &Bench,
    trial: &BonnieTrial,
    place: &Path,
    all: &mut PerfFindings,
) -> anyhow::Result<()> {
    let (ours, theirs) = (BonnieRows::default(), BonnieRows::default());
    let turn = |kept: &BonnieRows, csv: String| {
        kept.borrow_mut().push(values(&csv, trial.fields)?);
        Ok(1.0)
    };
    if trial.in_memory {
        original(bench, trial, place).context("a turn that is not counted")?;
    }
    run_rounds(
        bench.rounds,
        &mut [
            Contender::new("narrows", || turn(&ours, narrows(bench, trial, place)?)),
            Contender::new("bonnie++", || turn(&theirs, original(bench, trial, place)?)),
        ],
    )?;
    let (ours, theirs) = (ours.into_inner(), theirs.into_inner());
    for (column, field) in trial.fields.iter().enumerate() {
        let column =
            |rows: &[Vec<Option<f64>>]| rows.iter().map(|row| row[column]).collect::<Option<Vec<f64>>>();
        let name = format!("{}, {}", trial.name, field.name);
        let Some((own, other)) = column(&ours).zip(column(&theirs)) else {
            all.missing.push(format!("{name}: too short to be a rate in one of the rounds"));
            continue;
        };
        let both = ratios(&own, &other);
        all.findings.push(PerfFinding::from_values(
            format!("narrows, {name}"),
            field.unit,
            own,
            PerfTarget::None,
        )?);
        all.findings.push(PerfFinding::from_values(
            format!("bonnie++, {name}"),
            field.unit,
            other,
            PerfTarget::None,
        )?);
        all.findings.push(PerfFinding::from_values(
            format!("rate over bonnie++'s, {name}"),
            "x",
            both,
            field.target,
        )?);
    }
    Ok(())
}

fn narrows(bench: &Bench, trial: &BonnieTrial, place: &Path) -> anyhow::Result<String> {
    let record = bench.place("bonnie.narrows");
    if record.exists() {
        fs::remove_dir_all(&record)?;
    }
    let mut command = bench.tools.narrows();
    command
        .args(["suite", "bonnie", "-q", "--quiet", "--no-verdict", "--yes", "--out"])
        .arg(record)
        .arg("-d")
        .arg(place);
    let running = bench.beside("bonnie-narrows", command.args(trial.words))?;
    Ok(running.finish(RUN_S, |_, _| {})?.printed(&[0, 4])?.to_owned())
}

fn original(bench: &Bench, trial: &BonnieTrial, place: &Path) -> anyhow::Result<String> {
    let mut command = bench.tools.bonnie.command().map_err(anyhow::Error::msg)?;
    // It refuses to run as root unless an option says that this is meant.
    command.args(["-q", "-u", "root", "-d"]).arg(place).args(trial.words);
    let running = bench.beside("bonnie-original", &mut command)?;
    Ok(running.finish(RUN_S, |_, _| {})?.printed(&[0])?.to_owned())
}

/// The figures of the last line of CSV.
fn values(csv: &str, fields: &[BonnieField]) -> anyhow::Result<Vec<Option<f64>>> {
    let line = csv.lines().rfind(|line| line.starts_with("1.9")).context("no line of CSV")?;
    let all: Vec<&str> = line.split(',').collect();
    let value = |field: &BonnieField| {
        let text = all.get(field.index).with_context(|| format!("no field {} in {line:?}", field.index))?;
        if text.starts_with('+') {
            return Ok(None);
        }
        text.parse().map(Some).with_context(|| format!("{} is {text:?}", field.name))
    };
    fields.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_in_their_fields_and_plus_signs_are_none() {
        let data =
            "1.98,2.00a,vm,1,1,512M,,8192,5,11,97,200,40,300,30,14,98,400,20,5000.5,60,,,,,,,,,,,,,,,,,1ms";
        let found = values(&format!("\n{data}\n"), TRIALS[0].fields).unwrap();
        assert_eq!(found, [11.0, 200.0, 14.0].map(Some));
        let found = values(data, TRIALS[1].fields).unwrap();
        assert_eq!(found, [200.0, 300.0, 400.0, 5000.5].map(Some));
        let files =
            "1.98,2.00,vm,1,1,,,,,,,,,,,,,,,,,2,,,,,1201,93,+++++,+++,30,9,1227,84,5,1,6,2,,,,,,,6127us";
        let found = values(files, TRIALS[3].fields).unwrap();
        assert_eq!(found, [Some(1201.0), None, Some(30.0), Some(1227.0), Some(5.0), Some(6.0)]);
        assert!(values("", TRIALS[0].fields).is_err() && values("1.98,2.00", TRIALS[0].fields).is_err());
    }
}
