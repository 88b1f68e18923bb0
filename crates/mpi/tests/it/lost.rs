//! A rank that dies: it is named, the record is whole, and rank 0 ends with exit code 3.

use crate::job::{Ended, events_of, launcher, mpirun, narrows_mpi, wait};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;

/// A job of three ranks, the last of which is killed while load runs; rank 0 leaves its exit code in a file.
fn killed(folder: &Path, launcher: &[&str]) -> Ended {
    lost(folder, &folder.display().to_string(), launcher, "KILL", &[])
}

/// The same on `target`, by this signal to the last rank and with more words of the command.
fn lost(folder: &Path, target: &str, launcher: &[&str], signal: &str, more: &[&str]) -> Ended {
    write_study(folder, target, "");
    lost_from_study(folder, launcher, signal, more)
}

/// Writes a study of writes in eight trials, with more lines of the workload.
fn write_study(folder: &Path, target: &str, load: &str) {
    let text = format!(
        "target = \"{target}\"\nseconds = 60\n\n[workload]\nop = \"write\"\nblock = \"64KiB\"\nfile = \"4MiB\"\n{load}\n[stop]\nmeasure \
         = \"2s\"\ntrials = 8\n"
    );
    std::fs::write(folder.join("study.toml"), text).unwrap();
}

/// A job of three ranks that runs the study of `folder`, the last of which gets a signal while load runs.
fn lost_from_study(folder: &Path, launcher: &[&str], signal: &str, more: &[&str]) -> Ended {
    let own = [&[narrows_mpi(), "run", "study.toml", "--out", "record"], more].concat();
    // Not before the first trial has ended, whenever the job got there.
    let last = format!(
        "me=$$; (until grep -q trial_finished record/events.jsonl 2>/dev/null && grep -q '\"path/.*measure' \
         record/events.jsonl; do sleep 0.1; done; kill -{signal} $me && : > sent) & exec \"$@\""
    );
    let mut words = launcher.to_vec();
    words.extend(["-np", "1", "sh", "-c", "\"$@\"; echo $? > code", "sh"]);
    words.extend(&own);
    words.extend([":", "-np", "1"]);
    words.extend(&own);
    words.push(":");
    words.extend(["-np", "1", "sh", "-c", &last, "sh"]);
    words.extend(&own);
    wait(mpirun(folder, &words))
}

fn assert_named(record: &Path, ended: &Ended) {
    assert!(!events_of(record, "trial_finished").is_empty(), "{ended:?}");
    let end = events_of(record, "run_finished");
    assert_eq!(end.len(), 1, "{ended:?}");
    assert_eq!(end[0]["reason"], "failed");
    let failed = events_of(record, "cell_failed");
    assert!(failed[0]["message"].as_str().unwrap().contains("rank 2 on "), "{failed:?}");
    assert!(record.join("summary.json").exists(), "{ended:?}");
}

/// What is left where the launcher kills all ranks at once with the one that dies: a record of what was measured before, which
/// says that it is incomplete.
fn assert_readable(folder: &Path, ended: &Ended) {
    assert_eq!(ended.code, Some(launcher().code_of_killed()), "{ended:?}");
    assert!(!folder.join("record/summary.json").exists(), "{ended:?}");
    let shown =
        Command::new(narrows_mpi()).args(["diagnose", "record"]).current_dir(folder).output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.starts_with("INCOMPLETE: ") && matches!(shown.status.code(), Some(3 | 4)), "{text}");
}

#[test]
fn the_loss_of_a_rank_leaves_its_name_a_record_and_exit_code_3() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let Some(keep_others) = launcher().keep_others() else {
        return assert_readable(folder.path(), &killed(folder.path(), &[]));
    };
    let ended = killed(folder.path(), keep_others);
    assert_named(&folder.path().join("record"), &ended);
    assert_eq!(std::fs::read_to_string(folder.path().join("code")).unwrap().trim(), "3", "{ended:?}");
}

#[test]
fn a_signal_to_all_processes_of_a_job_is_for_rank_0_alone() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let target = folder.path().display().to_string();
    let text = format!(
        "target = \"{target}\"\nseconds = 60\n\n[workload]\nop = \"write\"\nblock = \"64KiB\"\nfile = \"4MiB\"\n\n[stop]\n\
         measure = \"300ms\"\ntrials = 6\n"
    );
    std::fs::write(folder.path().join("study.toml"), text).unwrap();
    // As Slurm sends it to each process: the last rank gets it, and goes on until rank 0 asks it to stop.
    let ended = lost_from_study(folder.path(), &[], "TERM", &[]);
    let record = folder.path().join("record");
    assert!(folder.path().join("sent").exists(), "the rank still ran: {ended:?}");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(events_of(&record, "cell_failed").is_empty(), "{ended:?}");
    assert_eq!(events_of(&record, "run_finished")[0]["reason"], "finished", "{ended:?}");
}

#[test]
fn a_rank_that_is_lost_in_collective_calls_does_not_leave_the_others_waiting() {
    for layout in ["segmented", "subarray"] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let load =
            format!("engine = \"mpiio\"\n[workload.mpiio]\ncalls = \"collective\"\nlayout = \"{layout}\"\n");
        write_study(folder.path(), &folder.path().display().to_string(), &load);
        let keep_others = launcher().keep_others();
        let ended = lost_from_study(folder.path(), keep_others.unwrap_or_default(), "KILL", &[]);
        if keep_others.is_none() {
            assert_readable(folder.path(), &ended);
            continue;
        }
        assert_named(&folder.path().join("record"), &ended);
        assert_eq!(
            std::fs::read_to_string(folder.path().join("code")).unwrap().trim(),
            "3",
            "{layout}: {ended:?}"
        );
    }
}

#[test]
fn the_record_is_whole_before_a_launcher_ends_all_ranks_for_the_loss_of_one() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let ended = killed(folder.path(), &[]);
    if launcher().keep_others().is_none() {
        return assert_readable(folder.path(), &ended);
    }
    assert_named(&folder.path().join("record"), &ended);
    assert_eq!(ended.code, Some(launcher().code_of_killed()), "the launcher's own: {ended:?}");
}

/// A loop device over a file that is detached at the end; `None` where this user may make none.
struct LoopDevice(String);

impl LoopDevice {
    fn over(image: &Path) -> Option<Self> {
        let made = Command::new("losetup").args(["--find", "--show"]).arg(image).output().ok()?;
        made.status.success().then(|| Self(String::from_utf8(made.stdout).unwrap().trim().to_owned()))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that the machine cannot make says so")]
fn a_device_is_claimed_for_all_ranks_and_not_cleared_while_a_lost_one_may_write() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let image = folder.path().join("image");
    std::fs::write(&image, vec![0xA5; 64 << 20]).unwrap();
    let Some(device) = LoopDevice::over(&image) else {
        eprintln!("not run: this user may make no loop device");
        return;
    };
    let target = format!("blk:{}", device.0);
    let ended = lost(folder.path(), &target, &[], "STOP", &["--overwrite-device", "64MiB"]);
    // Open MPI's own code is that of the rank which it has to kill in the end.
    assert!(launcher().keep_others().is_some() || ended.code == Some(3), "{ended:?}");
    let record = folder.path().join("record");
    let trials = events_of(&record, "trial_finished");
    assert!(
        trials[0]["clients"].as_array().unwrap().iter().all(|client| client["op_count"].as_u64() > Some(0))
    );
    assert_eq!(trials[0]["clients"].as_array().unwrap().len(), 3, "{ended:?}");
    assert!(ended.stderr.contains("rank 2 was lost and may still write there"), "{ended:?}");
    let mut start = [0; 15];
    File::open(&device.0).unwrap().read_exact_at(&mut start, 0).unwrap();
    assert_eq!(&start, b"made-by-narrows", "the mark stays: {ended:?}");
}
