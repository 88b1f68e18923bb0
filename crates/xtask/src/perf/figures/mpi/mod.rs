//! narrows-mpi beside a bare program of the same MPI calls, with every MPI library of this machine, and what a trial of ranks
//! costs beside its load.

mod contest;
mod library;
mod merge;

use super::PerfFigure;
use crate::perf::bench::Bench;
use crate::perf::contest::{Contender, run_rounds};
use crate::perf::finding::{PerfFinding, PerfFindings, PerfTarget};
use anyhow::Context;
use contest::MpiContest;
use library::{JOB_S, LIBRARIES, MpiLibrary, RANKS, library, words};
use std::fs;
use std::process::Command;

pub(super) const IO: PerfFigure = PerfFigure {
    name: "mpi-io",
    what: "narrows-mpi suite mpi-io-test and coll-perf, two ranks, beside a bare program of the same MPI calls",
    measure: io,
};

pub(super) const ITEMS: PerfFigure = PerfFigure {
    name: "mpi-mdtest",
    what: "narrows-mpi suite mdtest, two ranks, beside a bare loop of the same operations in memory",
    measure: items,
};

pub(super) const PHASES: PerfFigure = PerfFigure {
    name: "mpi-phases",
    what: "what a trial of two ranks takes besides its load, beyond that of one client without MPI and a barrier",
    measure: phases,
};

pub(super) const MERGE: PerfFigure = PerfFigure {
    name: "mpi-merge",
    what: "merging the outputs of 1024 simulated ranks, and writing the record of their trial",
    measure: merge::measure,
};

/// Further folders to measure in, such as that of a mounted GlusterFS volume, with a colon between them.
const FOLDERS: &str = "NARROWS_PERF_MPI_FOLDERS";

const BLOCK: &str = "4MiB";
const BLOCK_BYTES: u64 = 4 << 20;
const ITERATIONS: u64 = 64;
const EDGE: u32 = 256;
const ITEM_COUNT: u32 = 20_000;
/// Trials of a long and of a short run: their difference is that of so many trials.
const TRIALS: [u32; 2] = [5, 105];
const TRIAL_MS: f64 = 10.0;

const SAME: PerfTarget = PerfTarget::NearOne(0.05);
const NO_SLOWER: PerfTarget = PerfTarget::AtLeast(0.95);
const COORDINATION_MS: PerfTarget = PerfTarget::AtMost(2.0);

/// Every library in turn.
fn with_libraries(
    bench: &Bench,
    mut measure: impl FnMut(&MpiLibrary, &mut PerfFindings) -> anyhow::Result<()>,
) -> anyhow::Result<PerfFindings> {
    let mut all = PerfFindings::default();
    for known in &LIBRARIES {
        match library(bench, known)? {
            Ok(library) => measure(&library, &mut all).context(known.name)?,
            Err(why) => all.missing.push(why),
        }
    }
    Ok(all)
}

const BOTH: [&str; 2] = ["write", "read"];

fn io(bench: &Bench) -> anyhow::Result<PerfFindings> {
    let memory = match Bench::place_in_memory()? {
        Ok(memory) => memory,
        Err(why) => return Ok(PerfFindings { findings: Vec::new(), missing: vec![why] }),
    };
    let mut folders =
        vec![("disk".to_owned(), bench.place("")), ("memory".to_owned(), memory.path().to_owned())];
    let given = std::env::var_os(FOLDERS).unwrap_or_default();
    let given = std::env::split_paths(&given).filter(|path| path.is_absolute());
    folders.extend(given.map(|path| (path.display().to_string(), path)));
    with_libraries(bench, |library, all| {
        for (folder_name, folder) in &folders {
            let place = folder.join("narrows-perf-mpi");
            let suites = [
                (
                    "mpi-io-test",
                    format!("suite mpi-io-test -f PLACE -b {BLOCK} -i {ITERATIONS}"),
                    format!("io PLACE {BLOCK_BYTES} {ITERATIONS}"),
                ),
                (
                    "coll-perf",
                    format!("suite coll-perf -f PLACE --size {EDGE}x{EDGE}x{EDGE}"),
                    format!("array PLACE {EDGE}"),
                ),
            ];
            for (name, suite, bare) in suites {
                let (suite, bare) = (words(&suite, &place), words(&bare, &place));
                let contest = MpiContest {
                    label: format!("{name}, {}, {folder_name}", library.name),
                    names: &BOTH,
                    unit: "MB/s",
                    target: SAME,
                };
                contest.run(
                    bench,
                    || bandwidths(&library.job(bench, &library.narrows, &suite)?),
                    || library.bare(bench, &bare, &BOTH),
                    all,
                )?;
            }
        }
        Ok(())
    })
}

/// The bandwidths of a suite's output, that of writing first.
fn bandwidths(printed: &str) -> anyhow::Result<Vec<f64>> {
    let of = |name: &str| {
        let line = printed.lines().find(|line| line.to_lowercase().contains(&format!("{name} bandwidth = ")));
        let figure = line.and_then(|line| line.rsplit(" = ").next()?.split_whitespace().next()?.parse().ok());
        figure.with_context(|| format!("no {name} bandwidth in {printed:?}"))
    };
    BOTH.into_iter().map(of).collect()
}

/// The phases by the names of both programs.
const PHASE_NAMES: [(&str, &str); 7] = [
    ("Directory creation", "dir_create"),
    ("Directory stat", "dir_stat"),
    ("Directory removal", "dir_remove"),
    ("File creation", "file_create"),
    ("File stat", "file_stat"),
    ("File read", "file_read"),
    ("File removal", "file_remove"),
];

fn items(bench: &Bench) -> anyhow::Result<PerfFindings> {
    let memory = match Bench::place_in_memory()? {
        Ok(memory) => memory,
        Err(why) => return Ok(PerfFindings { findings: Vec::new(), missing: vec![why] }),
    };
    // Which part of the library moves files makes no difference here.
    let mut seen = Vec::new();
    with_libraries(bench, |library, all| {
        if seen.contains(&library.launcher[0]) {
            return Ok(());
        }
        seen.push(library.launcher[0]);
        let record = bench.place("mdtest.narrows");
        let mut suite = words(
            &format!("suite mdtest -d PLACE -n {ITEM_COUNT} --no-verdict --quiet --yes --out"),
            memory.path(),
        );
        suite.push(record.display().to_string());
        let bare = words(&format!("items PLACE {ITEM_COUNT}"), memory.path());
        let contest = MpiContest {
            label: format!("mdtest, {}", library.name),
            names: &PHASE_NAMES.map(|(name, _)| name),
            unit: "/s",
            target: NO_SLOWER,
        };
        let narrows = || {
            if record.exists() {
                fs::remove_dir_all(&record)?;
            }
            mdtest_rates(&library.job(bench, &library.narrows, &suite)?)
        };
        let keys = PHASE_NAMES.map(|(_, key)| key);
        contest.run(bench, narrows, || library.bare(bench, &bare, &keys), all)
    })
}

/// The first rate, of one iteration, in each line of the summary.
fn mdtest_rates(printed: &str) -> anyhow::Result<Vec<f64>> {
    let of = |(name, _): (&str, &str)| {
        let rest = printed.lines().find_map(|line| line.trim_start().strip_prefix(name));
        let rate = rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        rate.with_context(|| format!("no rate of {name} in {printed:?}"))
    };
    PHASE_NAMES.into_iter().map(of).collect()
}

fn phases(bench: &Bench) -> anyhow::Result<PerfFindings> {
    let study = bench.place("phases.toml");
    let load =
        "target = \"null:\"\ncuts = []\nseconds = 600\n\n[workload]\nop = \"read\"\nblock = \"4KiB\"\n\n";
    fs::write(&study, format!("{load}[stop]\nmeasure = \"{TRIAL_MS}ms\"\nwarm_up = \"0s\"\n"))?;
    let record = bench.place("phases.narrows");
    with_libraries(bench, |library, all| {
        if library.launcher.contains(&"romio321") {
            return Ok(());
        }
        // Milliseconds of a trial besides its load, by runs of many trials and of few.
        let besides_ms = |run: &dyn Fn(&[String]) -> anyhow::Result<f64>| {
            let mut seconds = [0.0; 2];
            for (second, trials) in seconds.iter_mut().zip(TRIALS) {
                if record.exists() {
                    fs::remove_dir_all(&record)?;
                }
                let text = format!("run {} --trials {trials} --quiet --yes --out PLACE", study.display());
                *second = run(&words(&text, &record))?;
            }
            Ok((seconds[1] - seconds[0]) * 1e3 / f64::from(TRIALS[1] - TRIALS[0]) - TRIAL_MS)
        };
        let ranks = |words: &[String]| {
            let mut command = Command::new(library.launcher[0]);
            command.args(&library.launcher[1..]).args(["-np", RANKS]).arg(&library.narrows).args(words);
            elapsed_s(bench, &mut command)
        };
        let alone = |words: &[String]| elapsed_s(bench, bench.tools.narrows().args(words));
        let barriers = words("barrier 20000", &record);
        let values = run_rounds(
            bench.rounds,
            &mut [
                Contender::new("two ranks", || besides_ms(&ranks)),
                Contender::new("one client", || besides_ms(&alone)),
                Contender::new("a barrier", || Ok(library.bare(bench, &barriers, &["barrier_ns"])?[0] / 1e6)),
            ],
        )?;
        let beyond: Vec<f64> =
            (0..bench.rounds).map(|round| values[0][round] - values[1][round] - values[2][round]).collect();
        let of = |what: &str, values: &[f64], target| {
            let label = format!("a trial besides its load, {}: {what}", library.name);
            PerfFinding::from_values(label, "ms", values.to_vec(), target)
        };
        all.findings.extend([
            of("two ranks", &values[0], PerfTarget::None)?,
            of("one client without MPI", &values[1], PerfTarget::None)?,
            of("a barrier", &values[2], PerfTarget::None)?,
            of("ranks beyond both", &beyond, COORDINATION_MS)?,
        ]);
        Ok(())
    })
}

fn elapsed_s(bench: &Bench, command: &mut Command) -> anyhow::Result<f64> {
    let ended = bench.start_unbound("phases", command)?.finish(JOB_S, |_, _| {})?;
    ended.printed(&[0, 4])?;
    Ok(ended.elapsed_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_of_both_suites_are_read_from_their_lines() {
        let io = "# Using mpi-io calls.\nWrite bandwidth = 423.624557 Mbytes/sec\nRead bandwidth = 15184.445489 Mbytes/sec\n";
        assert_eq!(bandwidths(io).expect("both are there"), [423.624_557, 15_184.445_489]);
        let array = "Collective write time = 0.003982 sec, Collective write bandwidth = 6781.106631 Mbytes/sec\n\
                     Collective read time = 0.001084 sec, Collective read bandwidth = 24904.142112 Mbytes/sec\n";
        assert_eq!(bandwidths(array).expect("both are there"), [6_781.106_631, 24_904.142_112]);
        assert!(bandwidths("Write bandwidth = 1.0 Mbytes/sec\n").is_err());
    }

    #[test]
    fn rates_of_a_summary_are_read_by_the_names_of_its_lines() {
        let line = |(name, rate): (&str, usize)| format!("   {name}   {rate}.000   1.000   1.000   0.000\n");
        let names = PHASE_NAMES.map(|(name, _)| name);
        let text: String = names.into_iter().zip(10..).map(line).collect();
        assert_eq!(mdtest_rates(&text).expect("all are there"), [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]);
        assert!(mdtest_rates("   Directory creation   1.000\n").is_err());
    }
}
