//! 4 KiB random reads of a page-cached file on one core: the engines `uring` and `psync` beside fio and a bare loop.

use super::PerfFigure;
use crate::perf::bench::{Bench, MEASURE_S};
use crate::perf::contest::{Contender, run_rounds};
use crate::perf::estimate::ratios;
use crate::perf::finding::{PerfFinding, PerfFindings, PerfTarget};
use crate::perf::fio::Fio;
use crate::perf::study::PerfLoad;
use anyhow::Context;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(super) const URING: PerfFigure = PerfFigure {
    name: "uring",
    what: "cached 4 KiB random reads, depth 32, batch 16, registered buffers and files: beside fio and a bare ring",
    measure: |bench| {
        compare(
            bench,
            &FioComparison {
                engine: "uring",
                fio_engine: "io_uring",
                depth: 32,
                batch: 16,
                bare: "bare_uring",
                bare_words: &["32", "16"],
                bare_variants: &[],
                fio_least: PerfTarget::AtLeast(1.08),
                bare_most: 1.08,
            },
        )
    },
};

pub(super) const PSYNC: PerfFigure = PerfFigure {
    name: "psync",
    what: "cached 4 KiB random reads one at a time: beside a bare loop of pread and fio",
    measure: |bench| {
        compare(
            bench,
            &FioComparison {
                engine: "psync",
                fio_engine: "psync",
                depth: 1,
                batch: 1,
                bare: "bare_pread",
                bare_words: &[],
                bare_variants: &[
                    ("unstamped", "time over bare_pread's that takes no latencies"),
                    ("inlined", "time over bare_pread's without the C library's call"),
                ],
                fio_least: PerfTarget::None,
                bare_most: 1.05,
            },
        )
    },
};

/// What differs between the two figures.
struct FioComparison {
    engine: &'static str,
    fio_engine: &'static str,
    depth: u32,
    batch: u32,
    bare: &'static str,
    bare_words: &'static [&'static str],
    /// Stricter forms of the bare loop, reported without a target: the word that asks for one, and what the ratio to it
    /// is.
    bare_variants: &'static [(&'static str, &'static str)],
    fio_least: PerfTarget,
    /// The most that an operation of narrows may take over one of the bare loop.
    bare_most: f64,
}

fn compare(bench: &Bench, comparison: &FioComparison) -> anyhow::Result<PerfFindings> {
    let file = cached_file(bench)?;
    let name = file.to_str().context("the work tree's path is not UTF-8")?;
    let load = PerfLoad {
        depth: comparison.depth,
        batch: comparison.batch,
        engine: Some(comparison.engine),
        registered: comparison.depth > 1,
        ..PerfLoad::random_reads(name)
    };
    let fio = Fio {
        engine: comparison.fio_engine,
        file: Some(&file),
        depth: comparison.depth,
        batch: comparison.batch,
        registered: comparison.depth > 1,
    };
    let seconds = MEASURE_S.to_string();
    let words: Vec<&str> =
        [name, seconds.as_str()].into_iter().chain(comparison.bare_words.iter().copied()).collect();
    let mut missing = Vec::new();
    let mut contenders = vec![
        Contender::new("narrows", || bench.narrows_ops_per_s(&load)),
        Contender::new(comparison.bare, || bench.bare(comparison.bare, &words, "ops_per_s")),
    ];
    match fio.command(&bench.tools.fio) {
        Ok(_) => contenders.push(Contender::new("fio", || fio.reads_per_s(bench))),
        Err(why) => missing.push(why),
    }
    let rates = run_rounds(bench.rounds, &mut contenders)?;
    drop(contenders);
    let mut findings = findings(comparison, &rates)?;
    for (word, what) in comparison.bare_variants {
        let words: Vec<&str> = words.iter().copied().chain([*word]).collect();
        findings.push(variant(bench, &load, comparison.bare, &words, what)?);
    }
    Ok(PerfFindings { findings, missing })
}

/// The same against a form of the bare loop that does less.
fn variant(
    bench: &Bench,
    load: &PerfLoad,
    bare: &'static str,
    words: &[&str],
    what: &str,
) -> anyhow::Result<PerfFinding> {
    let rates = run_rounds(
        bench.rounds,
        &mut [
            Contender::new("narrows", || bench.narrows_ops_per_s(load)),
            Contender::new(bare, || bench.bare(bare, words, "ops_per_s")),
        ],
    )?;
    let over = ratios(&rates[1], &rates[0]);
    PerfFinding::from_values(what, "x", over, PerfTarget::None)
}

fn findings(comparison: &FioComparison, rates: &[Vec<f64>]) -> anyhow::Result<Vec<PerfFinding>> {
    let rate =
        |what: &str, rates: &[f64]| PerfFinding::from_values(what, "op/s", rates.to_vec(), PerfTarget::None);
    let over_bare = ratios(&rates[1], &rates[0]);
    let mut findings = vec![
        rate("narrows", &rates[0])?,
        rate(comparison.bare, &rates[1])?,
        PerfFinding::from_values(
            format!("time over {}'s", comparison.bare),
            "x",
            over_bare,
            PerfTarget::AtMost(comparison.bare_most),
        )?,
    ];
    if let Some(fio) = rates.get(2) {
        findings.push(rate("fio", fio)?);
        findings.push(PerfFinding::from_values(
            "rate over fio's",
            "x",
            ratios(&rates[0], fio),
            comparison.fio_least,
        )?);
    }
    Ok(findings)
}

/// A file of 1 GiB, or of a quarter of the free memory where that is less, that is in the page cache.
fn cached_file(bench: &Bench) -> anyhow::Result<PathBuf> {
    const GIB: u64 = 1 << 30;
    const CHUNK: usize = 1 << 20;
    let path = bench.place("cached");
    if !path.exists() {
        let meminfo = fs::read_to_string("/proc/meminfo").context("/proc/meminfo cannot be read")?;
        let free = available_bytes(&meminfo).context("/proc/meminfo names no available memory")?;
        let chunks = GIB.min(free / 4) / CHUNK as u64;
        let mut file = File::create(&path)?;
        let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut chunk = vec![0; CHUNK];
        for _ in 0..chunks {
            for word in chunk.chunks_exact_mut(8) {
                word.copy_from_slice(&next(&mut state).to_le_bytes());
            }
            file.write_all(&chunk)?;
        }
        // Dirty pages would be written while others measure.
        file.sync_all()?;
    }
    read_through(&path)?;
    Ok(path)
}

/// xorshift64 of Marsaglia (2003): bytes that no layer below can compress away.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn read_through(path: &Path) -> anyhow::Result<()> {
    io::copy(&mut File::open(path)?, &mut io::sink())?;
    Ok(())
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_available_memory_is_the_kernels_own_estimate() {
        assert_eq!(available_bytes("MemFree:  7 kB\nMemAvailable:   1024 kB\n"), Some(1 << 20));
        assert_eq!(available_bytes("MemFree:  7 kB\n"), None);
    }

    #[test]
    fn ratios_are_of_times_against_the_bare_loop_and_of_rates_against_fio() {
        let comparison = FioComparison {
            engine: "psync",
            fio_engine: "psync",
            depth: 1,
            batch: 1,
            bare: "bare_pread",
            bare_words: &[],
            bare_variants: &[],
            fio_least: PerfTarget::AtLeast(1.0),
            bare_most: 1.05,
        };
        let found = findings(&comparison, &[vec![100.0], vec![104.0], vec![80.0]]).expect("finite rates");
        let ratios: Vec<f64> = found
            .iter()
            .filter(|finding| finding.unit == "x")
            .map(|finding| finding.estimate.median)
            .collect();
        assert_eq!(ratios, [1.04, 1.25]);
        assert_eq!(
            findings(&comparison, &[vec![1.0], vec![1.0]]).expect("finite rates").len(),
            3,
            "fio is missing"
        );
    }
}
