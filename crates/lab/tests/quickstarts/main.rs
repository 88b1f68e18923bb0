//! The campaign of `cargo xtask lab quickstarts`: `narrows check FOLDER`, as somebody runs it first, on folders of the local file
//! systems. What is right is read from the kernel's counters beside each check. Prints for each load what was named; not part
//! of `./test`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod folders;
mod loads;
mod readings;
mod score;
mod truth;

use folders::{FOLDERS, FolderKind};
use narrows_lab::{Lab, narrows_bin};
use readings::Reader;
use score::{FolderScore, ReadCheck};
use std::process::{Command, Stdio};

/// From this share of the first checks on all loads must have a right segment.
const RIGHT_MIN_RATIO: f64 = 0.9;
/// Tries of each file system unless said otherwise.
const TRIES: u32 = 10;

#[allow(clippy::disallowed_methods, reason = "what is checked is the environment's to say")]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// The folder as a quickstart checks it, from within.
fn check(lab: &Lab, kind: &FolderKind) -> Result<ReadCheck, String> {
    let folder = kind.make(lab.scratch())?;
    let record = lab.scratch().join("record");
    let mut command = Command::new(narrows_bin().unwrap());
    command.args(["check", ".", "--json", "--quiet", "--out"]).arg(&record).current_dir(&folder.path);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| error.to_string())?;
    let reader = Reader::start(child.id(), folder.device.clone());
    let output = child.wait_with_output().map_err(|error| error.to_string());
    let readings = reader.stop();
    let output = output?;
    let windows = loads::windows(&record);
    let summary = serde_json::from_slice(&output.stdout).map_err(|error| {
        format!("{}, {error}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())
    })?;
    // 3: nothing that limits was found, which is for the score to say; 4: the machine was disturbed.
    if !matches!(output.status.code(), Some(0 | 3 | 4)) {
        return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(ReadCheck { summary, windows: windows.ok_or("its record cannot be read")?, readings })
}

#[test]
#[allow(clippy::print_stdout, reason = "the table is what the run is for")]
fn first_checks_of_local_folders_name_a_right_segment() {
    narrows_lab::available().expect("the campaign needs the lab");
    let wanted = setting("NARROWS_QUICKSTART_FOLDERS");
    let tries = setting("NARROWS_QUICKSTART_TRIES").map_or(TRIES, |text| text.parse().unwrap());
    let cpu_count = std::thread::available_parallelism().unwrap().get() as f64;
    let is_wanted = |kind: &&FolderKind| {
        wanted.as_ref().is_none_or(|words| words.split(';').any(|word| kind.name.contains(word)))
    };
    let (mut right, mut all) = (0, 0);
    for kind in FOLDERS.iter().filter(is_wanted) {
        let mut score = FolderScore::default();
        for _ in 0..tries {
            // A try that ends in a panic is a failed one, and the others still count.
            let checked = std::panic::catch_unwind(|| check(&Lab::new().unwrap(), kind));
            match checked {
                Ok(Ok(checked)) => score.add(kind, &checked, cpu_count),
                Ok(Err(reason)) => score.add_failed(&reason),
                Err(_) => score.add_failed("the check was not made"),
            }
        }
        println!("{}", score.table(kind));
        assert_eq!(score.tries, tries, "each try counts");
        (right, all) = (right + score.right, all + score.tries);
    }
    println!("all: {right} of {all} checks have a right segment for every load");
    assert!(all > 0, "no kind of folder has such a name");
    assert!(
        f64::from(right) >= f64::from(all) * RIGHT_MIN_RATIO,
        "below {RIGHT_MIN_RATIO} of the first checks"
    );
}
