//! A rank that dies: it is named, the record is whole, and rank 0 ends with exit code 3.

use crate::job::{Ended, events_of, mpirun, narrows_mpi, wait};
use std::path::Path;

/// A job of three ranks, the last of which is killed while load runs; rank 0 leaves its exit code in a file.
fn killed(folder: &Path, launcher: &[&str]) -> Ended {
    let text = format!(
        "target = \"{}\"\nseconds = 60\n\n[workload]\nop = \"write\"\nblock = \"64KiB\"\nfile = \"4MiB\"\n\n[stop]\nmeasure = \
         \"2s\"\ntrials = 8\n",
        folder.display()
    );
    std::fs::write(folder.join("study.toml"), text).unwrap();
    let own = [narrows_mpi(), "run", "study.toml", "--out", "record"];
    let shell = |script: &'static str| ["-np", "1", "sh", "-c", script, "sh"];
    let mut words = launcher.to_vec();
    words.extend(shell("\"$@\"; echo $? > code"));
    words.extend(own);
    words.extend([":", "-np", "1"]);
    words.extend(own);
    words.push(":");
    // Not before the first trial has ended, whenever the job got there.
    words.extend(shell(
        "me=$$; (until grep -q trial_finished record/events.jsonl 2>/dev/null && grep -q '\"path/.*measure' \
         record/events.jsonl; do sleep 0.1; done; kill -9 $me) & exec \"$@\"",
    ));
    words.extend(own);
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

#[test]
fn the_loss_of_a_rank_leaves_its_name_a_record_and_exit_code_3() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let ended = killed(folder.path(), &["--enable-recovery"]);
    assert_named(&folder.path().join("record"), &ended);
    assert_eq!(std::fs::read_to_string(folder.path().join("code")).unwrap().trim(), "3", "{ended:?}");
}

#[test]
fn the_record_is_whole_before_a_launcher_ends_all_ranks_for_the_loss_of_one() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let ended = killed(folder.path(), &[]);
    assert_named(&folder.path().join("record"), &ended);
    assert_eq!(ended.code, Some(137), "the launcher's own: {ended:?}");
}
