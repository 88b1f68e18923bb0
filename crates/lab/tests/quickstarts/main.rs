//! The campaign of `cargo xtask lab quickstarts`: `narrows check FOLDER`, as somebody runs it first, on folders of the local file
//! systems. Prints for each load what was named; not part of `./test`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod folders;

use folders::{FOLDERS, FolderKind};
use narrows_lab::{Lab, narrows_bin};
use narrows_model::{Segment, Summary};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

/// From this share of the first checks on all loads must have a right segment.
const RIGHT_MIN_RATIO: f64 = 0.9;
/// Tries of each file system unless said otherwise.
const TRIES: u32 = 10;

/// What the checks of one file system came to.
#[derive(Debug, Default)]
struct FolderScore {
    tries: u32,
    /// Tries in which every load had a right segment.
    right: u32,
    /// How often a load was said to be limited by a segment, with the least and the most of its confidence.
    named: BTreeMap<(String, String), (u32, f64, f64)>,
}

impl FolderScore {
    fn add(&mut self, kind: &FolderKind, summary: &Summary) {
        let limiting = &summary.diagnosis.limiting;
        self.tries += 1;
        let mut seen: Vec<&str> = Vec::new();
        let mut is_right = !limiting.is_empty();
        for entry in limiting {
            if seen.contains(&entry.regime.as_str()) {
                continue; // Another segment of the same load.
            }
            seen.push(&entry.regime);
            let sure = entry.confidence;
            let load = (entry.regime.clone(), entry.segment.to_string());
            let count = self.named.entry(load).or_insert((0, sure, sure));
            *count = (count.0 + 1, count.1.min(sure), count.2.max(sure));
            is_right &= entry.segment != Segment::Unknown && kind.may_be(entry.segment);
        }
        self.right += u32::from(is_right);
    }

    fn table(&self, kind: &FolderKind) -> String {
        let mut out = format!(
            "{}: {} of {} checks have a right segment for every load",
            kind.name, self.right, self.tries
        );
        for ((load, segment), (count, least, most)) in &self.named {
            let sure = format!("{:.0} to {:.0} % sure", least * 100.0, most * 100.0);
            let _ = write!(out, "\n{count:6}  {load} -> {segment} ({sure})");
        }
        out
    }
}

#[allow(clippy::disallowed_methods, reason = "what is checked is the environment's to say")]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// The folder as a quickstart checks it, from within.
fn check(lab: &Lab, kind: &FolderKind) -> Result<Summary, String> {
    let folder = kind.make(lab.scratch())?;
    let record = lab.scratch().join("record");
    let mut command = Command::new(narrows_bin().unwrap());
    command.args(["check", ".", "--json", "--quiet", "--out"]).arg(&record).current_dir(&folder.path);
    let output = command.output().map_err(|error| error.to_string())?;
    // Best effort: the next try needs its name.
    let _ = std::fs::remove_dir_all(&record);
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
#[allow(clippy::print_stdout, reason = "the table is what the run is for")]
fn first_checks_of_local_folders_name_a_right_segment() {
    let wanted = setting("NARROWS_QUICKSTART_FOLDERS");
    let tries = setting("NARROWS_QUICKSTART_TRIES").map_or(TRIES, |text| text.parse().unwrap());
    let is_wanted = |kind: &&FolderKind| {
        wanted.as_ref().is_none_or(|words| words.split(';').any(|word| kind.name.contains(word)))
    };
    let mut total = (0, 0);
    for kind in FOLDERS.iter().filter(is_wanted) {
        let mut score = FolderScore::default();
        for _ in 0..tries {
            if let Err(reason) = narrows_lab::available() {
                println!("lab: not run: {reason}");
                return;
            }
            let lab = Lab::new().unwrap();
            match check(&lab, kind) {
                Ok(summary) => score.add(kind, &summary),
                Err(reason) => println!("{}: no check: {reason}", kind.name),
            }
        }
        println!("{}", score.table(kind));
        total = (total.0 + score.right, total.1 + score.tries);
    }
    println!("all: {} of {} checks have a right segment for every load", total.0, total.1);
    assert!(total.1 > 0, "nothing was checked");
    let right = f64::from(total.0) / f64::from(total.1);
    assert!(right >= RIGHT_MIN_RATIO, "too few first checks have a right segment for every load");
}
