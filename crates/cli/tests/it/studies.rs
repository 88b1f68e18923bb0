//! `narrows run` as a whole: the studies of the documentation, what is touched, engines that a machine forbids.

use crate::support::running::{Running, wait_for_phases};
use crate::support::{Seen, Surroundings, narrows, run, strangers_folder};
use narrows_sys::SysErrno;
use narrows_sys::denied_calls::{DeniedCall, deny_in_this_thread};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// First words of lines that say that a run cannot be relied on.
const FAULTS: [&str; 9] = [
    "WRONG DATA",
    "DATA LOST",
    "OPERATIONS FAILED",
    "FAILED",
    "INCOMPLETE",
    "NOT TRUSTWORTHY",
    "NOT STEADY",
    "INTERVAL TOO WIDE",
    "DO NOT USE",
];

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/studies");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut studies: Vec<PathBuf> = files.filter(|path| path.extension() == Some("toml".as_ref())).collect();
    studies.sort();
    studies
}

/// The summary in the record at `folder`.
fn summary(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("summary.json")).unwrap()).unwrap()
}

fn count(list: &Value) -> usize {
    list.as_array().unwrap().len()
}

/// A study with this text, run in `folder` into `record`.
fn study(folder: &Path, text: &str, words: &[&str]) -> Seen {
    fs::write(folder.join("study.toml"), text).unwrap();
    run(folder, &[&["run", "study.toml", "--out", "record", "--seed", "7", "--quiet"], words].concat())
}

#[test]
#[ignore = "campaign: runs every example study"]
fn every_example_runs_and_its_exit_code_is_that_of_its_first_line() {
    // That of ranks is run by their own program's tests.
    for example in examples().iter().filter(|example| !example.ends_with("mpi-io.toml")) {
        let folder = tempfile::tempdir().unwrap();
        let name = example.display().to_string();
        let short = ["--cell-seconds", "0.05", "--trials", "2", "--seconds", "30", "--quiet", "--seed", "7"];
        let words = [&["run", &name, "--out", "record"], &short[..]].concat();
        let seen = run(folder.path(), &words);
        seen.assert_orderly();
        let faulty = FAULTS.iter().any(|fault| seen.stdout.starts_with(fault));
        assert_eq!(seen.code, Some(if faulty { 4 } else { 0 }), "{name}: {seen:?}");
        let record = folder.path().join("record");
        let plan: Value =
            serde_json::from_str(&fs::read_to_string(record.join("plan.json")).unwrap()).unwrap();
        let reported = summary(&record);
        let parts = [&reported["cells"], &reported["failed"], &reported["skipped"]];
        let planned = [&plan["cells"], &plan["skipped"]];
        let sum = |lists: &[&Value]| lists.iter().map(|list| count(list)).sum::<usize>();
        assert_eq!(sum(&parts), sum(&planned), "{name}: every cell is measured, failed or skipped: {seen:?}");
        assert_eq!(plan["study"]["text"].as_str().unwrap(), fs::read_to_string(example).unwrap());
        let again = run(folder.path(), &["diagnose", "record"]);
        assert_eq!((again.code, &again.stdout), (seen.code, &seen.stdout), "{name}");
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["record"], "{name} leaves its record alone behind");
    }
}

#[test]
fn a_plan_names_everything_and_touches_nothing() {
    let folder = strangers_folder();
    let text = "target = [\"target\", \"precious.txt\"]\nseconds = 600\n[workload]\nfile = \"1MiB\"\n[sweep]\n\
                engine = [\"psync\", \"uring\"]\nblock = [\"1B\", \"4KiB\"]\ndepth = [1, 4]\n";
    fs::write(folder.path().join("study.toml"), text).unwrap();
    let before = Surroundings::of(folder.path());
    let seen = run(folder.path(), &["run", "study.toml", "--plan", "--seed", "7", "--out", "record"]);
    seen.assert_said(0, &[]);
    for word in [
        "CELLS",
        "SKIPPED",
        "seed 7",
        "a separate test folder in target",
        "path/read/4KiB/qd1/c1",
        "1.00 MiB",
    ] {
        assert!(seen.stdout.contains(word), "{word}: {}", seen.stdout);
    }
    assert!(seen.stdout.contains("a depth of 4 with the synchronous engine psync"), "{}", seen.stdout);
    before.assert_same(folder.path());
}

#[test]
fn a_study_of_ranks_is_planned_here_and_refused_with_the_program_that_runs_it() {
    let folder = tempfile::tempdir().unwrap();
    let text = "target = \".\"\n[workload]\nfile = \"1MiB\"\n[sweep]\nengine = [\"psync\", \"mpiio\"]\n";
    let seen = study(folder.path(), text, &[]);
    seen.assert_said(
        2,
        &["the engine mpiio, which is in narrows-mpi alone: start `mpirun -np N narrows-mpi run"],
    );
    assert_eq!((seen.stderr.trim_end().lines().count(), seen.stdout.as_str()), (1, ""), "{seen:?}");
    let planned = run(folder.path(), &["run", "study.toml", "--plan", "--seed", "7"]);
    planned.assert_said(0, &[]);
    assert!(planned.stdout.contains("path/read/4KiB/qd1/c1/engine=mpiio"), "{}", planned.stdout);
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["study.toml"]);
}

#[test]
fn one_seed_gives_one_order_and_another_seed_another() {
    let folder = tempfile::tempdir().unwrap();
    let text = "target = \"null:\"\n[sweep]\nblock = [\"4KiB\", \"8KiB\", \"16KiB\", \"32KiB\"]\ndepth = [1, 2, 4]\n";
    fs::write(folder.path().join("study.toml"), text).unwrap();
    let plan = |seed: &str| run(folder.path(), &["run", "study.toml", "--plan", "--seed", seed]).stdout;
    let cells = |seed: &str| plan(seed).split("CELLS").nth(1).unwrap().to_owned();
    assert_eq!(cells("1"), cells("1"));
    assert_ne!(cells("1"), cells("2"));
}

#[test]
fn runs_that_begin_in_one_second_have_a_record_each() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("study.toml"), "target = \"null:\"\n[stop]\nops = 10\n").unwrap();
    // Four runs of a few milliseconds each: at least two of them begin in the same second.
    let codes: Vec<_> = (0..4).map(|_| run(folder.path(), &["run", "study.toml", "--quiet"]).code).collect();
    assert!(!codes.contains(&Some(2)), "{codes:?}");
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.filter(|name| name.to_string_lossy().starts_with("narrows-record-")).count(), 4);
}

#[test]
fn a_study_comes_from_stdin_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = assert_cmd::Command::from_std(narrows(folder.path(), &["run", "-", "--plan"]));
    let output = command.write_stdin("target = \"null:\"\n").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("study stdin"));
}

// A cap on the load: whether the generator is faster than a cached file on a busy machine is not what is proved.
#[test]
fn files_that_exist_are_read_and_never_changed() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let text = "target = [\"target\", \"target/data-0\"]\n[workload]\nfile = \"64KiB\"\nmax_rate = \"4MiB/s\"\n[stop]\nmeasure = \"50ms\"\n\
                [sweep]\nop = [\"read\", \"write\"]\n";
    let seen = study(folder.path(), text, &["--seconds", "60"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(seen.stdout.contains("target/data-0 exists already and is only read"), "{}", seen.stdout);
    let reported = summary(&folder.path().join("record"));
    let paths = reported["cells"].as_array().unwrap().iter().filter(|cell| cell["cut"] == "path").count();
    assert_eq!(paths, 3, "{seen:?}");
    fs::remove_dir_all(folder.path().join("record")).unwrap();
    fs::remove_file(folder.path().join("study.toml")).unwrap();
    before.assert_same(folder.path());
}

/// Runs a study on a machine that refuses to set up an `io_uring`, as that of a container does.
fn without_rings(folder: &Path, text: &str) -> Seen {
    without((DeniedCall::RingSetup, 1), folder, text, &["--seconds", "60"])
}

/// Runs a study on a machine that answers a call so.
fn without(denied: (DeniedCall, i32), folder: &Path, text: &str, words: &[&str]) -> Seen {
    std::thread::scope(|scope| {
        let forbidden = scope.spawn(|| {
            // The filter stays with this thread and what it starts.
            deny_in_this_thread(denied.0, SysErrno::from_raw(denied.1)).unwrap();
            study(folder, text, words)
        });
        forbidden.join().unwrap()
    })
}

#[test]
fn a_machine_that_forbids_rings_skips_their_cells_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let text = "target = \".\"\n[workload]\nfile = \"1MiB\"\nmax_rate = \"4MiB/s\"\n[stop]\nmeasure = \"50ms\"\n\
                [sweep]\nengine = [\"psync\", \"uring\"]\n";
    let seen = without_rings(folder.path(), text);
    seen.assert_orderly();
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(seen.stdout.contains("SKIPPED  1 cell"), "{}", seen.stdout);
    let reported = summary(&folder.path().join("record"));
    let reason = reported["skipped"][0]["reason"].as_str().unwrap();
    for word in ["uring", "io_uring_setup", "seccomp"] {
        assert!(reason.contains(word), "`{word}`: {reason}");
    }
    let engines: Vec<&str> = reported["cells"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|cell| cell["cut"] == "path")
        .map(|cell| cell["effective"]["engine"].as_str().unwrap())
        .collect();
    assert_eq!(engines, ["psync"], "nothing was measured by another engine than asked for");
}

#[test]
fn rings_that_are_forbidden_in_part_are_left_out_of_the_plan_and_say_by_what() {
    let text = "target = \".\"\n[workload]\nfile = \"1MiB\"\n[sweep]\nengine = [\"psync\", \"uring\"]\n";
    let required = text.replace("[sweep]", "[workload.ring]\nregistered_buffers = \"required\"\n[sweep]");
    for (denied, text, words) in [
        ((DeniedCall::RingEnter, 1), text, ["io_uring_enter returns EPERM", "seccomp"]),
        ((DeniedCall::RingRegister, 1), text, ["io_uring_register returns EPERM", "seccomp"]),
        ((DeniedCall::RingSetup, 12), text, ["ENOMEM", "RLIMIT_MEMLOCK"]),
        ((DeniedCall::RingBuffers, 12), &required, ["registered buffers", "ulimit -l"]),
        ((DeniedCall::RingBuffers, 1), &required, ["registered buffers", "seccomp"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let required =
            if text.contains("required") { text.replace("\"psync\", ", "") } else { text.to_owned() };
        let seen = without(denied, folder.path(), &required, &["--plan"]);
        let said = seen.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("SKIPPED 1 cell"), "{denied:?}: {seen:?}");
        for word in words {
            assert!(said.contains(word), "{denied:?}: `{word}`: {said}");
        }
        assert!(!said.contains("newer kernel") && !said.contains("read-only"), "{said}");
    }
}

#[test]
fn a_study_that_this_machine_can_measure_nothing_of_could_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "target = \".\"\n[workload]\nengine = \"uring\"\nfile = \"1MiB\"\n[stop]\nmeasure = \"50ms\"\n";
    let seen = without_rings(folder.path(), text);
    seen.assert_said(3, &["nothing could be measured", "io_uring_setup"]);
}

#[test]
fn a_plan_without_a_cell_could_not_be_run_and_says_why_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("study.toml"), "target = \".\"\n[workload]\nfile = \"900TiB\"\n").unwrap();
    let seen = run(folder.path(), &["run", "study.toml", "--plan"]);
    seen.assert_said(3, &["nothing of this study can be measured here", "900TiB", "change the study"]);
    assert!(seen.stdout.contains("no cell can be run; 1 cell left out"), "{}", seen.stdout);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was made");
}

/// A study of two cells that last so many seconds each.
fn long(folder: &Path, cell_seconds: &str) -> Running {
    let text = "target = \"target\"\ncuts = []\ncell_order = \"as_written\"\n[workload]\nfile = \"1MiB\"\n\
                [sweep]\nblock = [\"4KiB\", \"8KiB\", \"16KiB\"]\n";
    fs::write(folder.join("study.toml"), text).unwrap();
    let times = ["--cell-seconds", cell_seconds, "--seconds", "1000"];
    Running::start(folder, &[&["run", "study.toml", "--out", "record"], &times[..]].concat())
}

#[test]
fn an_interrupt_keeps_the_cells_that_are_whole() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let mut running = long(folder.path(), "1");
    running.wait_for("[1/3]");
    running.signal("INT");
    let seen = running.end();
    seen.assert_said(4, &["record: record"]);
    assert!(seen.stdout.starts_with("INCOMPLETE"), "{}", seen.stdout);
    let again = run(folder.path(), &["diagnose", "record"]);
    assert_eq!((again.code, &again.stdout), (Some(4), &seen.stdout), "{again:?}");
    fs::remove_dir_all(folder.path().join("record")).unwrap();
    fs::remove_file(folder.path().join("study.toml")).unwrap();
    before.assert_same(folder.path());
}

#[test]
fn two_interrupts_stop_a_cell_that_would_last_for_minutes() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let mut running = long(folder.path(), "200");
    // A signal before the first cell finds none to stop after.
    wait_for_phases(&folder.path().join("record"), &["warm_up", "measure"], 1);
    running.signal("INT");
    running.wait_for("stopping after this cell");
    running.signal("INT");
    running.wait_for("stopping now");
    let seen = running.end();
    assert!(matches!(seen.code, Some(3 | 4)), "{seen:?}");
    assert!(run(folder.path(), &["diagnose", "record"]).stdout.starts_with("INCOMPLETE"));
    fs::remove_dir_all(folder.path().join("record")).unwrap();
    fs::remove_file(folder.path().join("study.toml")).unwrap();
    before.assert_same(folder.path());
}

#[test]
fn json_is_the_summary_document_of_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let text = "title = \"t\"\ntarget = \"null:\"\n[stop]\nmeasure = \"50ms\"\n[sweep]\ndepth = [1, 2]\n";
    let seen = study(folder.path(), text, &["--json"]);
    let printed: Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!(printed, summary(&folder.path().join("record")));
    assert_eq!(printed["study"]["title"], "t");
    assert_eq!(printed["study"]["factors"][0]["name"], "depth");
}
