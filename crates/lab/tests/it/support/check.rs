//! Runs of `narrows serve` and `narrows check` between hosts of a lab, and questions to the verdict that came out.
//!
//! Everything is read from the JSON on standard output, as a program would; nothing is read from the text for people.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use narrows_lab::clock::monotonic_ns;
use narrows_lab::{Host, Lab, LabProcess, narrows_bin};
use narrows_model::summary::{CellSummary, SegmentSummary};
use narrows_model::{Bytes, Cut, Limiting, Op, Segment, Summary};
use serde_json::Value;

use super::SOON;

/// Longer than any check here is allowed to take.
const CHECKED: Duration = Duration::from_secs(90);
/// Any 16 bytes do: it only has to be the same on both sides.
const TOKEN: &str = "a-token-for-the-lab-alone";

/// What cannot limit reads that a server serves from its memory past the client's.
pub(crate) const DEVICE_AND_CLIENT_CACHE: [Segment; 5] = [
    Segment::Device,
    Segment::DeviceBandwidth,
    Segment::DeviceIops,
    Segment::DeviceLatency,
    Segment::ClientCache,
];

/// A `narrows serve` that runs in a host.
#[derive(Debug)]
pub(crate) struct Served {
    process: LabProcess,
    /// HOST:PORT.
    pub address: String,
    token: PathBuf,
}

/// What a finished `narrows check` left.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The JSON as it was printed.
    pub json: Value,
    /// The same, read.
    pub summary: Summary,
    /// The record's folder.
    pub record: PathBuf,
    /// The exit code.
    pub exit_code: i32,
    /// What was said on standard error.
    pub stderr: String,
    /// From its start to its end.
    pub wall_time: Duration,
}

/// Starts `narrows serve` in `host`; `place` puts the command where it shall run (cgroup, CPUs).
pub(crate) fn serve(lab: &Lab, host: &Host, root: Option<&Path>, place: impl FnOnce(&mut Command)) -> Served {
    let token = lab.scratch().join("token");
    fs::write(&token, TOKEN).unwrap();
    let mut command = host.command(narrows_bin().unwrap());
    command.args(["serve", "--listen", &format!("{}:0", host.address()), "--token-file"]).arg(&token);
    if let Some(root) = root {
        command.arg("--root").arg(root);
    }
    place(&mut command);
    let mut process = lab.start("serve", command).unwrap();
    let line = process.wait_for_line("listening on ", SOON).unwrap();
    let address = line.strip_prefix("listening on ").unwrap().to_owned();
    Served { process, address, token }
}

impl Served {
    /// The file with the token of this endpoint, which is that of all endpoints of a lab.
    pub(crate) fn token(&self) -> &Path {
        &self.token
    }

    /// Ends the endpoint as a crash would.
    #[track_caller]
    pub(crate) fn kill(&mut self) {
        self.process.kill9().unwrap();
    }

    /// The command that checks `layer` (`memory`, `disk`) of this endpoint from `host`.
    pub(crate) fn check_command(&self, host: &Host, layer: &str) -> Command {
        let mut command = host.command(narrows_bin().unwrap());
        command.arg("check").arg(format!("tcp://{}/{layer}", self.address));
        command.arg("--token-file").arg(&self.token);
        command
    }
}

/// The command that checks a path on this machine.
pub(crate) fn local_check_command(target: &Path) -> Command {
    let mut command = Command::new(narrows_bin().unwrap());
    command.arg("check").arg(target);
    command
}

/// Runs a check to its end, its record in the lab's scratch folder under `name`.
#[track_caller]
pub(crate) fn run_check(lab: &Lab, name: &str, mut command: Command, words: &str) -> Checked {
    command.arg("--quiet");
    start_check(lab, name, command, words).finish()
}

/// A check that runs.
#[derive(Debug)]
pub(crate) struct Running {
    name: String,
    process: LabProcess,
    record: PathBuf,
    started_ns: u64,
}

/// Whether every cell of every plan is measured. Checks run as a user's do, until the verdict is decided; a proof that looks
/// at certain cells asks for the whole plan, and the injection matrix may be asked for whole plans.
#[allow(clippy::disallowed_methods, reason = "how the matrix checks is the environment's to say")]
fn measures_whole_plan() -> bool {
    cfg!(feature = "matrix") && std::env::var_os("NARROWS_MATRIX_WHOLE_PLAN").is_some()
}

/// Starts a check that reports its progress; otherwise as [`run_check`].
#[track_caller]
pub(crate) fn start_check(lab: &Lab, name: &str, mut command: Command, words: &str) -> Running {
    let record = lab.scratch().join(format!("record-{name}"));
    // Studies have a plan of their own.
    if measures_whole_plan() && command.get_args().any(|word| word == "check") {
        command.arg("--whole-plan");
    }
    command.args(words.split_whitespace()).args(["--json", "--seed", "7", "--out"]).arg(&record);
    let started_ns = monotonic_ns();
    let process = lab.start(&format!("check-{name}"), command).unwrap();
    Running { name: name.to_owned(), process, record, started_ns }
}

impl Running {
    /// Waits for a line of its progress that contains `pattern`.
    #[track_caller]
    pub(crate) fn wait_for_line(&mut self, pattern: &str) {
        self.process.wait_for_line(pattern, SOON).unwrap();
    }

    /// What it left, once it has ended.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Checked {
        let name = &self.name;
        let status = self.process.wait(CHECKED).unwrap();
        let wall_time = Duration::from_nanos(monotonic_ns() - self.started_ns);
        let stderr = self.process.stderr().unwrap();
        let json: Value = serde_json::from_str(&self.process.stdout().unwrap())
            .unwrap_or_else(|error| panic!("{name}: no JSON ({error}), {status}: {stderr}"));
        let summary: Summary = serde_json::from_value(json.clone())
            .unwrap_or_else(|error| panic!("{name}: no summary ({error}), {status}: {json} {stderr}"));
        let exit_code = status.code().unwrap_or(-1);
        let checked = Checked { json, summary, record: self.record, exit_code, stderr, wall_time };
        checked.print(name);
        checked
    }
}

impl Checked {
    /// Prints the verdict with its confidence, as a proof to be read.
    #[allow(clippy::print_stdout, reason = "the proof's numbers are what the test is run for")]
    pub(crate) fn print(&self, name: &str) {
        let seconds = self.wall_time.as_secs_f64();
        println!("{name}: exit {} after {seconds:.1} s, complete: {}", self.exit_code, self.summary.complete);
        for skip in &self.summary.skipped {
            println!("  skipped {}: {}", skip.cell, skip.reason);
        }
        for cell in &self.summary.cells {
            println!("  {}: {:.0} bytes/s", cell.id, cell.rate_bytes_per_s.map_or(0.0, |rate| rate.0));
        }
        for cell in self.summary.cells.iter().filter(|cell| !cell.errors.is_empty()) {
            println!("  failed {}: {:?}", cell.id, cell.errors);
        }
        if let Some(preface) = &self.summary.diagnosis.preface {
            println!("  preface: {preface}");
        }
        for limiting in &self.summary.diagnosis.limiting {
            let Limiting { segment, confidence, relation, regime, evidence, .. } = limiting;
            println!("  {regime}: {segment}, confidence {confidence:.3}, {relation:?}");
            for evidence in evidence {
                println!("    {}", evidence.text);
            }
        }
        for segment in &self.summary.segments {
            if let (Some(ceiling), Some(source)) = (segment.ceiling_bytes_per_s, &segment.source) {
                println!("  {}: {:.0} bytes/s ({source})", segment.id, ceiling.0);
            }
        }
    }

    /// The entries of the limiting list whose regime begins with `kind` (`bulk`, `random`, `single` for one at a time), in order.
    #[track_caller]
    pub(crate) fn limiting(&self, kind: &str) -> Vec<&Limiting> {
        let starts = match kind {
            "single" => &["one-at-a-time", "synchronous"][..],
            named => &[named],
        };
        let of_kind = |entry: &&Limiting| starts.iter().any(|start| entry.regime.starts_with(start));
        let found: Vec<&Limiting> = self.summary.diagnosis.limiting.iter().filter(of_kind).collect();
        assert!(!found.is_empty(), "nothing is said of {kind}: {:#?}", self.summary.diagnosis.limiting);
        found
    }

    /// Fails unless `segment` comes first in every entry of `kind` that covers a direction, alone and with a
    /// confidence above one half.
    #[track_caller]
    pub(crate) fn assert_limiting(&self, kind: &str, segment: Segment) {
        assert_eq!(self.summary.diagnosis.limiting[0].segment, segment, "it comes first of all");
        for entry in self.limiting(kind) {
            assert_eq!(entry.segment, segment, "{}", entry.regime);
            assert!(entry.confidence > 0.5 && entry.confidence <= 1.0, "{}", entry.confidence);
            assert!(!entry.evidence.is_empty(), "{} rests on nothing", entry.segment);
        }
    }

    /// Fails unless `segment` comes first in every entry of `kind` that covers a direction, with a confidence above one
    /// half; others may limit together with it.
    #[track_caller]
    pub(crate) fn assert_limiting_first(&self, kind: &str, segment: Segment) {
        let mut known = Vec::new();
        for entry in self.limiting(kind) {
            if known.contains(&entry.regime.as_str()) {
                continue; // The second of its regime.
            }
            known.push(&entry.regime);
            assert_eq!(entry.segment, segment, "{}: {:#?}", entry.regime, entry);
            assert!(entry.confidence > 0.5 && entry.confidence <= 1.0, "{}", entry.confidence);
            assert!(!entry.evidence.is_empty(), "{} rests on nothing", entry.segment);
        }
    }

    /// Fails when one of `segments` is named as limiting anything.
    #[track_caller]
    pub(crate) fn assert_none_limit(&self, segments: &[Segment]) {
        for entry in &self.summary.diagnosis.limiting {
            assert!(!segments.contains(&entry.segment), "{} is blamed: {:#?}", entry.segment, entry);
        }
    }

    /// What is known of a segment of the path.
    #[track_caller]
    pub(crate) fn segment(&self, id: Segment) -> &SegmentSummary {
        let found = self.summary.segments.iter().find(|segment| segment.id == id);
        found.unwrap_or_else(|| panic!("{id} is no segment of this path"))
    }

    /// The measured ceiling of a segment.
    ///
    /// # Units
    /// Bytes per second.
    #[track_caller]
    pub(crate) fn ceiling(&self, id: Segment) -> f64 {
        let segment = self.segment(id);
        assert!(segment.measured, "{id} was not measured");
        segment.ceiling_bytes_per_s.unwrap_or_else(|| panic!("{id} has no ceiling")).0
    }

    /// The cells of a cut, in the order in which they ran.
    pub(crate) fn cells(&self, cut: Cut) -> impl Iterator<Item = &CellSummary> {
        self.summary.cells.iter().filter(move |cell| cell.cut == cut)
    }

    /// The path's cell at these settings.
    #[track_caller]
    pub(crate) fn path_cell(&self, op: Op, block_bytes: u64, depth: u64) -> &CellSummary {
        let wanted = (op, Bytes(block_bytes), depth);
        self.cells(Cut::Path)
            .find(|cell| (cell.op, cell.block_bytes, cell.queue_depth) == wanted)
            .unwrap_or_else(|| panic!("the path was not measured at {wanted:?}"))
    }
}

/// Fails when a measured figure is further from the expected one than a share of it.
#[track_caller]
pub(crate) fn assert_within(measured: f64, expected: f64, tolerance_ratio: f64) {
    let deviation_ratio = measured / expected - 1.0;
    assert!(deviation_ratio.abs() <= tolerance_ratio, "{measured} is {deviation_ratio:+.3} off {expected}");
}
