//! `narrows check` of this machine's disk: how long it takes, how soon it says something, how much memory it needs.

use super::PerfFigure;
use crate::perf::bench::Bench;
use crate::perf::finding::{PerfFinding, PerfFindings, PerfTarget};
use crate::perf::memory::PeakMemory;
use anyhow::Context;
use std::fs;
use std::path::Path;

pub(super) const FIGURE: PerfFigure = PerfFigure {
    name: "check",
    what: "narrows check of the work tree's disk, once: seconds in all and to the first figure of the path, memory",
    measure,
};

/// Longest time that is waited for a check of a minute.
const WAIT_S: u64 = 180;
/// Codes with a verdict.
const VERDICT: [i32; 2] = [0, 4];

fn measure(bench: &Bench) -> anyhow::Result<PerfFindings> {
    let (folder, record) = (bench.place("checked"), bench.place("check.narrows"));
    fs::create_dir_all(&folder)?;
    if let Some(kind) = memory_file_system(&fs::read_to_string("/proc/self/mounts")?, &folder.canonicalize()?)
    {
        let why = format!("{} lies on {kind}, which is no disk", folder.display());
        return Ok(PerfFindings { findings: Vec::new(), missing: vec![why] });
    }
    let mut command = bench.tools.narrows();
    command.arg("check").arg(&folder).args(["--quiet", "--json", "--out"]).arg(&record);
    let running = bench.start_unbound("check", &mut command)?;
    let (mut peak, mut first_s) = (PeakMemory::default(), None);
    let ended = running.finish(WAIT_S, |pid, elapsed_s| {
        peak.look(pid);
        if first_s.is_none() && has_path_figure(&record) {
            first_s = Some(elapsed_s);
        }
    })?;
    ended.printed(&VERDICT)?;
    let first_s = first_s.context("the record never held a figure of the path")?;
    let mebibytes = peak.bytes() as f64 / f64::from(1_u32 << 20);
    let findings = vec![
        PerfFinding::from_values("in all", "s", vec![ended.elapsed_s], PerfTarget::AtMost(66.0))?,
        PerfFinding::from_values(
            "to the first figure of the path",
            "s",
            vec![first_s],
            PerfTarget::AtMost(10.0),
        )?,
        PerfFinding::from_values(
            "peak of resident memory, children included",
            "MiB",
            vec![mebibytes],
            PerfTarget::AtMost(200.0),
        )?,
    ];
    Ok(PerfFindings { findings, missing: Vec::new() })
}

/// Whether the record already contains a trial of a cell on the path's own storage.
fn has_path_figure(record: &Path) -> bool {
    fs::read_to_string(record.join("events.jsonl")).is_ok_and(|events| holds_path_trial(&events))
}

fn holds_path_trial(events: &str) -> bool {
    let trials = events.lines().filter(|line| line.contains("trial_finished"));
    trials.into_iter().any(|line| line.contains("local-device") || line.contains("local_device"))
}

/// The kind of the file system that contains `path` if it is in memory.
fn memory_file_system(mounts: &str, path: &Path) -> Option<String> {
    let of_path = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (point, kind) = (words.next()?, words.next()?);
        path.starts_with(point).then_some((point.len(), kind))
    });
    let (_, kind) = of_path.max_by_key(|(length, _)| *length)?;
    matches!(kind, "tmpfs" | "ramfs").then(|| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mount_decides_what_a_path_is_on() {
        let mounts =
            "/dev/vda / ext4 rw 0 0\ntmpfs /home/target tmpfs rw 0 0\ntmpfs /home/tar ramfs rw 0 0\n";
        assert_eq!(memory_file_system(mounts, Path::new("/home/target/perf")).as_deref(), Some("tmpfs"));
        assert_eq!(memory_file_system(mounts, Path::new("/home/targets")), None);
    }
}
