//! `--hosts`: clients started by a remote shell, here one that runs the command on this machine; hosts that cannot be used,
//! and hosts that are lost.

use crate::support::remote_shell::{
    ON_TWO, SHELL, WITHOUT_B, hosts_of, of_record, write_another_build, write_shell,
};
use crate::support::running::{Running, TWO_CELLS_OF_TWO_CLIENTS, wait_for_phases, waited};
use crate::support::{Seen, Surroundings, run, strangers_folder};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// In windows in which each client has a CPU for a while, also beside other tests.
fn scale(folder: &Path, words: &[&str]) -> Seen {
    let short =
        "scale target --clients 1,2,3 --block 64KiB --file 1MiB --cell-seconds 0.3 --trials 1 --seed 5";
    let all: Vec<&str> = short.split(' ').chain(words.iter().copied()).collect();
    run(folder, &all)
}

#[test]
fn clients_run_on_hosts_in_turn_and_the_record_says_which() {
    let folder = strangers_folder();
    write_shell(folder.path(), SHELL);
    let target = folder.path().join("target");
    let before = Surroundings::of(&target);
    let seen = scale(folder.path(), &[&ON_TWO[..], &["--out", "record"]].concat());
    seen.assert_orderly();
    assert!(matches!(seen.code, Some(0 | 4)), "{seen:?}");
    before.assert_same(&target);
    assert!(seen.stderr.contains("clients on a") && seen.stderr.contains("clients on b"), "{seen:?}");

    let summary = of_record(folder.path(), "summary.json");
    for (clients, hosts) in [(1, vec!["a"]), (2, vec!["a", "b"]), (3, vec!["a", "b", "a"])] {
        let cells = summary["cells"].as_array().unwrap();
        let cell = cells.iter().find(|cell| cell["cut"] == "path" && cell["clients"] == clients).unwrap();
        assert_eq!(hosts_of(cell), hosts);
        assert!(cell["per_client"].as_array().unwrap().iter().all(|client| client["ops"].as_u64() > Some(0)));
    }
    let hosts = of_record(folder.path(), "inventory.json")["client_hosts"].clone();
    let names: Vec<&str> =
        hosts.as_array().unwrap().iter().map(|host| host["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(hosts[0]["memory_bytes"].as_u64().unwrap() > 0, "{hosts}");
    assert!(hosts[0]["shares_machine"].as_bool().unwrap() && hosts[0]["clock_offset_ns"] == 0, "{hosts}");

    // A connection to each host, and one for each client: 1 + 2 + 3 of them in one direction and the cuts.
    let calls = fs::read_to_string(folder.path().join("calls")).unwrap();
    let program = env!("CARGO_BIN_EXE_narrows");
    assert!(calls.lines().all(|line| line.ends_with(&format!("{program} __client"))), "{calls}");
    assert!(calls.lines().count() >= 2 + 6, "{calls}");

    let again = run(folder.path(), &["diagnose", "record"]);
    assert_eq!((again.code, &again.stdout), (seen.code, &seen.stdout), "{again:?}");
    assert!(seen.stdout.contains("the clients are processes of the hosts a and b"), "{}", seen.stdout);
}

#[test]
fn a_check_and_a_study_that_ask_for_no_clients_have_one_on_each_host() {
    let folder = strangers_folder();
    write_shell(folder.path(), SHELL);
    let words =
        "check target --block 64KiB --depth 1 --op read --seconds 60 --cell-seconds 0.2 --quiet --out record";
    let words: Vec<&str> = words.split(' ').chain(ON_TWO).collect();
    let seen = run(folder.path(), &words);
    assert!(matches!(seen.code, Some(0 | 4)), "{seen:?}");
    let summary = of_record(folder.path(), "summary.json");
    let cells = summary["cells"].as_array().unwrap();
    let path = cells.iter().find(|cell| cell["cut"] == "path").unwrap();
    assert_eq!((path["clients"].as_u64(), hosts_of(path)), (Some(2), vec!["a".to_owned(), "b".to_owned()]));
    assert!(seen.stdout.contains("target, clients on a, b"), "{}", seen.stdout);

    fs::remove_dir_all(folder.path().join("record")).unwrap();
    let study =
        "target = \"null:\"\nseconds = 10\ncuts = []\n[stop]\nwarm_up = \"0s\"\nmeasure = \"100ms\"\n";
    fs::write(folder.path().join("study.toml"), study).unwrap();
    let words = "run study.toml --trials 1 --quiet --out record";
    let seen = run(folder.path(), &words.split(' ').chain(ON_TWO).collect::<Vec<_>>());
    assert!(matches!(seen.code, Some(0 | 4)), "{seen:?}");
    assert_eq!(hosts_of(&of_record(folder.path(), "summary.json")["cells"][0]), ["a", "b"]);
}

#[test]
fn a_plan_connects_to_no_host_and_has_its_clients() {
    let folder = strangers_folder();
    let words =
        "check target --block 64KiB --depth 1 --plan --detail --hosts a,b --remote-shell /no/such/shell";
    let seen = run(folder.path(), &words.split(' ').collect::<Vec<_>>());
    seen.assert_said(0, &[]);
    assert!(seen.stdout.contains("path/read/64KiB/qd1/c2"), "{}", seen.stdout);
}

#[test]
fn hosts_without_a_client_are_named() {
    let folder = strangers_folder();
    write_shell(folder.path(), SHELL);
    let words = ["--hosts", "a,b,c,d", "--remote-shell", "./shell", "--out", "record"];
    let seen = scale(folder.path(), &words);
    seen.assert_said(seen.code.unwrap(), &["no client runs on d: the load has 3 clients at most"]);
}

#[test]
fn what_is_no_list_of_hosts_is_refused_before_anything_is_made() {
    let folder = strangers_folder();
    write_shell(folder.path(), SHELL);
    let before = Surroundings::of(folder.path());
    let refused = |words: &[&str], said: &[&str]| {
        let commands =
            [&["scale", "target", "--clients", "1,2"][..], &["check", "target"], &["noise", "target"]];
        for command in commands {
            let seen = run(folder.path(), &[command, words].concat());
            seen.assert_said(2, said).assert_no_result();
        }
    };
    refused(&["--hosts", ""], &["found an empty name"]);
    refused(&["--hosts", "a,,b"], &["found an empty name"]);
    refused(&["--hosts", "a,b,a"], &["found a twice"]);
    refused(&["--hosts=a,-oProxyCommand=id"], &["`-oProxyCommand=id`", "for an option"]);
    refused(&["--hosts=-x"], &["`-x`", "for an option"]);
    refused(&["--hosts", "a b"], &["`a b` with a space"]);
    refused(&["--hosts", "a;id"], &["`a;id` with `;`"]);
    refused(&["--hosts", "a", "--remote-shell", " "], &["--remote-shell names no program"]);
    refused(&["--hosts", "a", "--remote-program", "/a b"], &["--remote-program", "with a space"]);
    refused(&["--remote-shell", "ssh"], &["--hosts"]);
    refused(&["--remote-program", "/opt/narrows"], &["--hosts"]);
    let seen = run(folder.path(), &["check", "target", "--server", "self", "--hosts", "a"]);
    seen.assert_said(2, &["--server self", "narrows serve"]).assert_no_result();
    let seen = run(folder.path(), &["suite", "postmark", "target", "--hosts", "a"]);
    assert_eq!(seen.code, Some(2), "{seen:?}");
    before.assert_same(folder.path());
}

#[test]
fn a_host_that_cannot_be_reached_or_has_no_such_program_is_named_once() {
    let folder = strangers_folder();
    write_shell(folder.path(), WITHOUT_B);
    let before = Surroundings::of(folder.path());
    let seen = scale(folder.path(), &ON_TWO);
    seen.assert_said(3, &["host b cannot be used", "ended with exit code 255: ssh: cannot resolve b"]);
    assert_eq!(seen.stderr.matches("host b").count(), 1, "{seen:?}");
    assert!(!seen.stderr.contains("host a"), "{seen:?}");
    let seen = scale(folder.path(), &["--hosts", "a", "--remote-shell", "/no/such/shell"]);
    seen.assert_said(3, &["host a cannot be used", "/no/such/shell could not be started"]);
    let missing = ["--hosts", "a", "--remote-shell", "./shell", "--remote-program", "/no/such/narrows"];
    let seen = scale(folder.path(), &missing);
    seen.assert_said(3, &["host a cannot run /no/such/narrows (exit code 127)", "--remote-program"]);
    before.assert_same(folder.path());
}

#[test]
fn a_login_script_that_prints_is_named_with_what_it_printed() {
    let folder = strangers_folder();
    let greeting = "#!/bin/sh\nprintf 'Welcome\\tto %s\\n' \"$1\"\nshift\nexec sh -c \"exec $*\"\n";
    write_shell(folder.path(), greeting);
    let before = Surroundings::of(folder.path());
    let seen = scale(folder.path(), &["--hosts", "b", "--remote-shell", "./shell"]);
    seen.assert_said(
        3,
        &[
            "host b cannot be used: the remote shell of b wrote something else to its output first: \"Welcome\\tto b",
            "a login script must not print there: check `./shell b true | wc -c`",
        ],
    );
    before.assert_same(folder.path());
}

#[test]
fn a_host_with_another_build_is_bad_input() {
    let folder = strangers_folder();
    write_shell(folder.path(), SHELL);
    write_another_build(&folder.path().join("other"));
    let seen = scale(folder.path(), &[&ON_TWO[..], &["--remote-program", "./other"]].concat());
    seen.assert_said(2, &["host a runs another build", "host b runs another build", "install one build"]);
    assert!(!folder.path().join("record").exists());
}

/// The study on hosts a and b, once its first load runs.
fn running(folder: &Path, study: &str) -> Running {
    write_shell(folder, SHELL);
    fs::write(folder.join("study.toml"), study).unwrap();
    let words = ["run", "study.toml", "--out", "record", "--seed", "7", "--trials", "1"];
    let running = Running::start(folder, &[&words[..], &ON_TWO].concat());
    wait_for_phases(&folder.join("record"), &["measure"], 1);
    running
}

/// The processes of a host that are children of `parent`, the connection first.
fn processes(parent: u32, host: &str) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    let complete = waited(Duration::from_secs(10), || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        found = all.filter(|pid| is_of(*pid, parent, host)).collect();
        found.len() == 2
    });
    assert!(complete, "a connection and a client of {host}: {found:?}");
    found.sort_unstable_by_key(|pid| started(*pid));
    found
}

fn is_of(pid: u32, parent: u32, host: &str) -> bool {
    let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let variable = format!("HOST_OF_TEST={host}");
    let parent = format!("PPid:\t{parent}\n");
    read("environ").split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
        && String::from_utf8_lossy(&read("status")).contains(&parent)
}

fn started(pid: u32) -> u64 {
    narrows_sys::process::started_ticks(pid).unwrap_or_default()
}

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status().unwrap();
    assert!(sent.success(), "kill -{name} {pid}");
}

fn failed_cells(folder: &Path) -> Vec<String> {
    let summary = of_record(folder, "summary.json");
    let failed = summary["failed"].as_array().unwrap();
    failed.iter().map(|cell| cell["reason"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_lost_client_fails_its_cell_with_the_name_of_its_host_and_the_next_cell_has_all_clients() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = running(folder.path(), TWO_CELLS_OF_TWO_CLIENTS);
    signal(processes(running.pid(), "b")[1], "KILL");
    let said = running.wait_for("FAILED");
    assert!(said.contains("client process 2 of 2 on b was killed by signal 9"), "{said}");
    let seen = running.end();
    seen.assert_said(4, &["record: record"]);
    assert_eq!(failed_cells(folder.path()).len(), 1);
    let summary = of_record(folder.path(), "summary.json");
    let cells = summary["cells"].as_array().unwrap();
    // The interrupted load is reported with what is known of it, and marked.
    let (whole, rest): (Vec<&Value>, Vec<&Value>) =
        cells.iter().partition(|cell| !cell["per_client"].as_array().unwrap().is_empty());
    assert_eq!((whole.len(), hosts_of(whole[0])), (1, vec!["a".to_owned(), "b".to_owned()]));
    assert!(rest.iter().all(|cell| cell["flags"].to_string().contains("incomplete")), "{rest:?}");
    let again = run(folder.path(), &["diagnose", "record"]);
    assert_eq!((again.code, &again.stdout), (Some(4), &seen.stdout), "{again:?}");
}

#[test]
fn a_lost_host_ends_the_run_and_what_was_measured_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let three =
        TWO_CELLS_OF_TWO_CLIENTS.replace("\"8KiB\"", "\"8KiB\", \"16KiB\"").replace("\"4s\"", "\"1s\"");
    let mut running = running(folder.path(), &three);
    let connection = processes(running.pid(), "b")[0];
    signal(connection, "KILL");
    let said = running.wait_for("FAILED");
    assert!(said.contains("host b was lost: its connection was killed by signal 9"), "{said}");
    let seen = running.end();
    assert_eq!(seen.code, Some(4), "{seen:?}");
    let summary = of_record(folder.path(), "summary.json");
    // The load that ran when the connection was lost had both of its clients.
    assert_eq!(summary["cells"].as_array().unwrap().len(), 1);
    assert_eq!(hosts_of(&summary["cells"][0]), ["a", "b"]);
    assert_eq!(failed_cells(folder.path()).len(), 1, "the run ends with it");
    assert!(seen.stdout.contains("host b was lost"), "{}", seen.stdout);
}

#[test]
fn a_silent_host_is_named_and_the_run_ends_in_bounded_time() {
    let folder = tempfile::tempdir().unwrap();
    let one = TWO_CELLS_OF_TWO_CLIENTS.replace(", \"8KiB\"", "").replace("\"4s\"", "\"1s\"");
    let mut running = running(folder.path(), &one);
    let stopped = processes(running.pid(), "b")[1];
    signal(stopped, "STOP");
    let said = running.wait_for("FAILED");
    assert!(said.contains("on b does not answer: no message from it for 10 s"), "{said}");
    let seen = running.end();
    assert!(matches!(seen.code, Some(3 | 4)), "{seen:?}");
    assert_eq!(failed_cells(folder.path()).len(), 1);
}
