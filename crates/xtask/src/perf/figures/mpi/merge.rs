//! What the outputs of 1024 simulated ranks cost to merge and to record.

use crate::perf::bench::Bench;
use crate::perf::finding::{PerfFinding, PerfFindings, PerfTarget};
use crate::workspace::{Workspace, cargo};
use anyhow::{Context, bail};

/// The most that both may take, and the memory of the process that does.
const MERGED_S_MAX: f64 = 2.0;
const PEAK_MIB_MAX: f64 = 200.0;
/// The test that does it.
const TEST: &str = "the_outputs_of_1024_ranks";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<PerfFindings> {
    let workspace = Workspace::load()?;
    let words = [
        "test",
        "--release",
        "--locked",
        "--quiet",
        "-p",
        "narrows-run",
        "--test",
        "it",
        TEST,
        "--",
        "--ignored",
        "--nocapture",
    ];
    let (mut seconds, mut peaks) = (Vec::new(), Vec::new());
    for _ in 0..bench.rounds {
        let output = cargo(&workspace.root, &words).output().context("could not start cargo test")?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let Some((merged_s, peak_mib)) = figures(&printed).filter(|_| output.status.success()) else {
            bail!("cargo {}: {printed}{}", words.join(" "), String::from_utf8_lossy(&output.stderr));
        };
        seconds.push(merged_s);
        peaks.push(peak_mib);
    }
    let merged = PerfTarget::AtMost(MERGED_S_MAX);
    let findings = vec![
        PerfFinding::from_values(
            "outputs of 1024 ranks: merged by one thread and written",
            "s",
            seconds,
            merged,
        )?,
        PerfFinding::from_values(
            "outputs of 1024 ranks: peak memory",
            "MiB",
            peaks,
            PerfTarget::AtMost(PEAK_MIB_MAX),
        )?,
    ];
    Ok(PerfFindings { findings, missing: Vec::new() })
}

/// Seconds and mebibytes of the line `merged_s=0.5 peak=12345 kB`.
fn figures(printed: &str) -> Option<(f64, f64)> {
    let rest = printed.split_once("merged_s=")?.1;
    let (seconds, rest) = rest.split_once(" peak=")?;
    let kib: f64 = rest.split_whitespace().next()?.parse().ok()?;
    Some((seconds.parse().ok()?, kib / 1024.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_test_is_read_wherever_it_stands() {
        assert_eq!(figures("running 1 test\nmerged_s=0.5 peak=2048 kB\n."), Some((0.5, 2.0)));
        assert_eq!(figures("running 0 tests"), None);
    }
}
