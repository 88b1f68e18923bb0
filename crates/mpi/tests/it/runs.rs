//! `run` and `check` by several ranks: one plan, one record, all ranks as clients; and jobs that are refused.

use crate::job::{events_of, json, launcher, mpirun, narrows_mpi, run, run_refused, wait};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a study of one short verified write on the folder of its test.
fn study(folder: &Path, more: &str) {
    let text = format!(
        "target = \"{}\"\nseconds = 30\n\n[workload]\nop = \"write\"\nblock = \"64KiB\"\nfile = \"4MiB\"\n{more}\n\
         [stop]\nmeasure = \"500ms\"\n",
        folder.display()
    );
    std::fs::write(folder.join("study.toml"), text).unwrap();
}

#[test]
fn all_ranks_are_clients_of_one_run_and_one_record_has_the_figures_of_each() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    study(folder.path(), "verify = true");
    let ended = run(folder.path(), 4, &["run", "study.toml", "--out", "record"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("ranks 0-3 on "), "placement: {}", ended.stderr);
    assert_eq!(ended.stderr.matches("record: record").count(), 1, "one rank prints: {}", ended.stderr);
    let record = folder.path().join("record");
    let ranks = json(record.join("inventory.json"))["ranks"].clone();
    let pids: std::collections::BTreeSet<u64> =
        ranks.as_array().unwrap().iter().map(|rank| rank["pid"].as_u64().unwrap()).collect();
    assert_eq!(pids.len(), 4, "{ranks}");
    let trials = events_of(&record, "trial_finished");
    assert!(!trials.is_empty());
    for trial in &trials {
        let clients = trial["clients"].as_array().unwrap();
        let sum = |key: &str| clients.iter().map(|client| client[key].as_u64().unwrap()).sum::<u64>();
        assert_eq!(clients.len(), 4);
        assert!(clients.iter().all(|client| client["op_count"].as_u64().unwrap() > 0), "{clients:?}");
        assert_eq!(trial["op_count"].as_u64().unwrap(), sum("op_count"), "the tree loses nothing");
        assert_eq!(trial["bytes"].as_u64().unwrap(), sum("bytes"));
        if trial["cell"].as_str().unwrap().starts_with("path/") {
            let verified = &trial["verification"];
            // Each of four files of 4 MiB is read back as a whole, whichever rank found that.
            assert_eq!(verified["read_back_bytes"].as_u64(), Some(4 * (4 << 20)), "{verified}");
            assert_eq!(verified["wrong_bytes"].as_u64(), Some(0), "{verified}");
        }
        assert!(trial["first_done_ns"].as_u64().unwrap() <= trial["last_done_ns"].as_u64().unwrap());
        assert_eq!(trial["complete"], Value::Bool(true));
    }
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "only the study and the record are left: {left:?}");
}

#[test]
fn a_check_by_two_ranks_names_its_loads_with_two_clients() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let words = [
        "check",
        ".",
        "--seconds",
        "8",
        "--cell-seconds",
        "0.2",
        "--block",
        "64KiB",
        "--depth",
        "1",
        "--out",
        "r",
    ];
    let ended = run(folder.path(), 2, &words);
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
    let trials = events_of(&folder.path().join("r"), "trial_finished");
    let path: Vec<&Value> =
        trials.iter().filter(|trial| trial["cell"].as_str().unwrap().starts_with("path/")).collect();
    assert!(!path.is_empty(), "{ended:?}");
    for trial in path {
        assert!(trial["cell"].as_str().unwrap().ends_with("/c2"), "{trial}");
        assert_eq!(trial["clients"].as_array().unwrap().len(), 2, "{trial}");
    }
}

#[test]
fn more_clients_than_ranks_are_refused_with_what_to_do() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    study(folder.path(), "clients = 3");
    let ended = run(folder.path(), 2, &["run", "study.toml", "--out", "record"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.stderr.contains("the job has 2 ranks") && ended.stderr.contains("-np 3"),
        "{}",
        ended.stderr
    );
}

#[test]
fn ranks_with_other_words_end_with_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let other = |name: &'static str| ["-np", "1", narrows_mpi(), "run", name];
    let words: Vec<&str> = other("a.toml").into_iter().chain([":"]).chain(other("b.toml")).collect();
    let ended = wait(mpirun(folder.path(), &words));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(ended.stderr.matches("started with other words than rank 0").count(), 1, "{}", ended.stderr);
}

#[test]
fn an_error_of_the_command_is_said_once_with_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let ended = run(folder.path(), 3, &["run", "no-such.toml"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(ended.stderr.matches("no-such.toml").count(), 1, "{}", ended.stderr);
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that the machine cannot make says so")]
fn ranks_with_a_monotonic_clock_of_their_own_start_and_count_as_the_others() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let can = std::process::Command::new("unshare").args(["--time", "--monotonic", "1000", "true"]).status();
    if !can.is_ok_and(|status| status.success()) {
        eprintln!("not run: unshare --time is not possible here");
        return;
    }
    study(folder.path(), "");
    let ended = wait(mpirun(folder.path(), &with_another_clock(&["run", "study.toml", "--out", "record"])));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let record = folder.path().join("record");
    let offset_ns = json(record.join("inventory.json"))["ranks"][1]["clock_offset_ns"].as_i64().unwrap();
    // The namespace's own setting, within what a busy machine delays the shortest of the round trips.
    assert!((offset_ns - 1_000_000_000_000).abs() < 50_000_000, "{offset_ns}");
    for trial in events_of(&record, "trial_finished") {
        let clients = trial["clients"].as_array().unwrap();
        assert!(clients.iter().all(|client| client["op_count"].as_u64().unwrap() > 0), "{clients:?}");
        let elapsed_ns = clients[1]["elapsed_ns"].as_u64().unwrap();
        assert!(elapsed_ns < 5_000_000_000, "not a thousand seconds: {elapsed_ns}");
    }
    // A rank with another clock is on another machine for all that is known: nothing of this one's is charged to the load but
    // what its threads have measured themselves.
    let cells = json(record.join("summary.json"))["cells"].clone();
    let of_path: Vec<&Value> =
        cells.as_array().unwrap().iter().filter(|cell| cell["cut"] == "path").collect();
    assert!(!of_path.is_empty(), "{cells}");
    for cell in of_path {
        assert_eq!(cell["cpu"]["client"]["basis"], "thread", "{cell}");
        assert_eq!(cell["foreign_cpu"], Value::Array(Vec::new()), "{cell}");
    }
    let refused = wait(mpirun(folder.path(), &with_another_clock(&["check", "blk:/dev/null", "--out", "r"])));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert_eq!(
        refused.stderr.matches("that name is another disk; place all ranks").count(),
        1,
        "{refused:?}"
    );
}

/// Words of the launcher for two ranks with these words, the second of which has a clock of its own.
fn with_another_clock<'w>(own: &[&'w str]) -> Vec<&'w str> {
    let mut words = vec!["-np", "1", narrows_mpi()];
    words.extend(own);
    words.extend([":", "-np", "1", "unshare", "--time", "--monotonic", "1000", narrows_mpi()]);
    words.extend(own);
    words
}

/// The binary as a launcher of another MPI starts it: that launcher's variables, which the library does not know.
fn started_by_another(folder: &Path, rank: &str, words: &[&str]) -> Command {
    let mut command = started_alone(folder, words);
    command.envs([("MV2_COMM_WORLD_RANK", rank), ("MV2_COMM_WORLD_SIZE", "2")]);
    command
}

/// The binary without any launcher.
fn started_alone(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(narrows_mpi());
    launcher().prepare(&mut command);
    command
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[test]
fn ranks_that_another_mpi_s_launcher_started_end_with_one_sentence() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    study(folder.path(), "");
    for words in [&["run", "study.toml", "--out", "record"][..], &["suite", "coll-perf", "-f", "data"]] {
        let ended = ["0", "1"].map(|rank| wait(started_by_another(folder.path(), rank, words)));
        // A launcher kills all once one has ended with a code: the others leave it to the one that says why.
        assert_eq!(ended.each_ref().map(|one| one.code), [Some(2), Some(0)], "{ended:?}");
        let said = "built with another MPI than the launcher's";
        assert_eq!(ended.each_ref().map(|one| one.stderr.matches(said).count()), [1, 0], "{ended:?}");
        assert!(!folder.path().join("record").exists() && !folder.path().join("data").exists(), "{ended:?}");
    }
}

#[test]
fn without_a_launcher_it_is_one_rank_though_the_library_then_sets_variables_of_a_launcher() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    study(folder.path(), "");
    let ended = wait(started_alone(folder.path(), &["run", "study.toml", "--out", "record"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!events_of(&folder.path().join("record"), "trial_finished").is_empty());
}

#[test]
fn noise_is_of_all_ranks_and_what_loads_from_fewer_says_so() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let words = "noise . --runs 2 --seconds 4 --cell-seconds 0.1 --block 64KiB --depth 1 --op read --out r";
    let ended = run(folder.path(), 2, &words.split(' ').collect::<Vec<_>>());
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
    let trials = events_of(&folder.path().join("r").join("run-001"), "trial_finished");
    let is_of_both = |trial: &Value| trial["cell"].as_str().unwrap().ends_with("/c2");
    assert!(!trials.is_empty() && trials.iter().all(is_of_both), "{trials:?}");
    let words = "suite ioperf . --count 60 --tag here --no-verdict --out s";
    let ended = run(folder.path(), 2, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(ended.stderr.matches("rank 1 of this job does nothing").count(), 1, "{ended:?}");
}

#[test]
fn the_ranks_of_a_suite_of_files_are_those_of_the_job_and_nothing_is_left_but_the_record() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let words = "suite mdtest -d . -n 20 -w 100 -e 100 -N 1 --print-all-procs --no-verdict --out r";
    let ended = run(folder.path(), 3, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("launched with 3 total task(s) on 1 node(s)"), "{}", ended.stdout);
    assert_eq!(ended.stdout.matches("SUMMARY rate").count(), 1, "rank 0 alone prints: {}", ended.stdout);
    assert!(!ended.stderr.contains("nothing: the load"), "no rank is idle: {}", ended.stderr);
    let trials = events_of(&folder.path().join("r"), "trial_finished");
    assert_eq!(trials.len(), 7);
    for trial in &trials {
        let clients = trial["clients"].as_array().unwrap();
        let done: Vec<u64> = clients.iter().map(|client| client["op_count"].as_u64().unwrap()).collect();
        assert_eq!((done, trial["errors"].as_array().map(Vec::len)), (vec![20; 3], Some(0)), "{trial}");
    }
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["r"]);
    let words = "suite mdtest -d . -n 20 --clients 4 --no-verdict --out s";
    let ended = run_refused(folder.path(), 2, &words.split(' ').collect::<Vec<_>>());
    assert!(ended.code == Some(3) && ended.stderr.contains("the job has 2 ranks"), "{ended:?}");
}

#[test]
fn the_phases_of_io500_are_those_of_all_ranks_of_the_job_and_nothing_is_left_but_the_record() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let words = "suite io500 -d . --bytes-easy 256k --transfer-easy 64k --segments-hard 5 --items 20 --no-verdict --out r";
    let ended = run(folder.path(), 3, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout.matches("[RESULT]").count(), 12, "rank 0 alone prints: {}", ended.stdout);
    assert!(
        ended.stdout.contains("\n3 rank(s) on 1 node(s); ") && ended.stdout.contains("[SCORE ] "),
        "{}",
        ended.stdout
    );
    let trials = events_of(&folder.path().join("r"), "trial_finished");
    let expected = [4, 20, 5, 20, 20, 20, 4, 20, 5, 20, 20, 20, 20];
    assert_eq!(trials.len(), expected.len());
    for (trial, count) in trials.iter().zip(expected) {
        let clients = trial["clients"].as_array().unwrap();
        let done: Vec<u64> = clients.iter().map(|client| client["op_count"].as_u64().unwrap()).collect();
        assert_eq!((done, trial["errors"].as_array().map(Vec::len)), (vec![count; 3], Some(0)), "{trial}");
    }
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["r"]);
}

/// Words of the launcher for ranks on hosts of these names, each in a namespace of its own; `None` where that is not possible.
fn on_hosts<'w>(hosts: &[&str], command: &'w [&'w str]) -> Option<Vec<String>> {
    let can = Command::new("unshare").args(["--uts", "true"]).status();
    can.ok().filter(std::process::ExitStatus::success)?;
    let rank = |host: &&str| {
        let named = format!("hostname {host} && exec \"$@\"");
        let start = ["-np", "1", "unshare", "--uts", "sh", "-c", &named, "sh", narrows_mpi()];
        start.iter().chain(command).map(|word| (*word).to_owned()).collect::<Vec<_>>()
    };
    Some(hosts.iter().map(rank).collect::<Vec<_>>().join(&":".to_owned()))
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that the machine cannot make says so")]
fn ranks_are_shifted_to_the_next_host_however_they_are_placed() {
    let io500 = "suite io500 -d . --bytes-easy 64k --transfer-easy 64k --segments-hard 1 --items 4 --no-verdict --out r";
    let mdtest = "suite mdtest -d . -F -n 4 -N 1 --no-verdict --out r";
    for (hosts, command, said) in [
        (
            ["a", "a", "b", "b"],
            io500,
            "what the rank 2 further on has written: there are 2 on the first host",
        ),
        (["a", "b", "a", "b"], io500, "what the rank 1 further on has written\n"),
        (["a", "a", "b", "b"], mdtest, "Shifting ranks by 2 for each phase.\n"),
        (["a", "b", "a", "b"], mdtest, "Shifting ranks by 1 for each phase.\n"),
    ] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let command: Vec<&str> = command.split(' ').collect();
        let Some(words) = on_hosts(&hosts, &command) else {
            eprintln!("not run: unshare --uts is not possible here");
            return;
        };
        let ended = wait(mpirun(folder.path(), &words.iter().map(String::as_str).collect::<Vec<_>>()));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(
            ended.stdout.contains(said) && ended.stdout.contains(" on 2 node(s)"),
            "{hosts:?}: {ended:?}"
        );
        // What is looked up first was created by ranks of the other host.
        let remarks = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        for titles in
            ["File stat: ", "File stat, File read: ", "mdtest-easy-stat: ", "mdtest-easy-stat, ior-hard-read"]
        {
            assert!(!remarks.contains(titles), "{hosts:?}: {ended:?}");
        }
    }
}

#[test]
fn hosts_are_refused_with_where_to_name_them_by_ranks_and_by_one_rank_alone() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let words = ["check", ".", "--hosts", "a,b"];
    let refused = [run_refused(folder.path(), 2, &words), wait(started_alone(folder.path(), &words))];
    for ended in refused {
        assert_eq!(ended.code, Some(2), "{ended:?}");
        let said =
            "--hosts starts clients by a remote shell, and narrows-mpi has the ranks of its job as clients";
        assert_eq!(ended.stderr.matches(said).count(), 1, "{ended:?}");
    }
}
