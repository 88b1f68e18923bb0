//! Where suites run and what of it they say: places that take files, a server that serves the folder, what a killed run left.

use crate::support::running::{Running, SOON, Served};
use crate::support::{Surroundings, run};
use std::fs;
use std::path::{Path, PathBuf};

/// Each suite with few and small files, on the folder that replaces `DIR`.
const SUITES: [&str; 6] = [
    "iozone DIR -s 64 -r 4 -i 0 -i 1",
    "ioperf DIR --count 60 --tag here",
    "bonnie -d DIR -s 2 -r 1 -n 0 -f",
    "postmark --location DIR --number 40 --transactions 80",
    "mdtest -d DIR -n 20 --clients 2",
    "io500 -d DIR --bytes-easy 128k --transfer-easy 64k --segments-hard 3 --items 20 --clients 2",
];

fn words(suite: &str, dir: &str, more: &str) -> Vec<String> {
    let line = format!("suite {} {more}", suite.replace("DIR", dir));
    line.split_whitespace().map(str::to_owned).collect()
}

fn run_words(folder: &Path, words: &[String]) -> crate::support::Seen {
    run(folder, &words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn every_suite_refuses_what_is_no_folder_and_says_what_to_give() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let before = Surroundings::of(folder.path());
    let endpoint = ["is an endpoint", "file system that is mounted here", "--server 127.0.0.1:7300"];
    for suite in SUITES {
        let refused = |target: &str, said: &[&str]| {
            run_words(folder.path(), &words(suite, target, "--out record"))
                .assert_said(2, said)
                .assert_no_result();
        };
        refused("tcp://127.0.0.1:7300/disk", &endpoint);
        let said: &[&str] = match suite.split(' ').next() {
            Some("bonnie") => &["calls on an open file", "give -s 0", "give the mount point"],
            Some("postmark") => &["the buffer of C's streams", "--buffering false", "give the mount point"],
            _ => &["is not a folder", "mount it, and give the mount point"],
        };
        refused("nfs://fs2/export", said);
        refused("null:", &["is not a file system"]);
    }
    before.assert_same(folder.path());
}

#[test]
fn every_suite_runs_in_memory_as_on_a_disk() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    for suite in SUITES {
        let seen = run_words(folder.path(), &words(suite, ".", "--no-verdict --quiet --out record"));
        assert!(matches!(seen.code, Some(0 | 4)) && !seen.stdout.is_empty(), "{suite}: {seen:?}");
        fs::remove_dir_all(folder.path().join("record")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{suite}: nothing is left");
    }
}

#[test]
fn a_plan_says_by_which_count_a_test_ends_and_not_after_a_day() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let counts = [
        vec!["64.0 KiB each"],
        vec!["60 operations each"],
        vec!["256 operations each", "8192 operations each"],
        vec!["40 files each", "80 transactions each"],
        vec!["40 folders each", "40 files each"],
        vec!["4 operations each", "6 operations each", "40 files each"],
    ];
    for (suite, counts) in SUITES.iter().zip(counts) {
        let seen = run_words(folder.path(), &words(suite, ".", "--plan --detail --no-verdict"));
        seen.assert_said(0, &[]);
        for count in counts {
            assert!(seen.stdout.contains(count), "{count}: {}", seen.stdout);
        }
        assert!(!seen.stdout.contains("86400"), "{}", seen.stdout);
    }
    let files =
        run_words(folder.path(), &words("bonnie -d DIR -s 0 -n 1 -p 2", ".", "--plan --detail --no-verdict"));
    assert!(files.stdout.contains("2048 files each"), "of both processes: {}", files.stdout);
}

/// Runs `suites` on the folder `served`, of which a server is looked at, and the first on another folder, which is refused.
fn run_beside_a_server(suites: &[&str]) {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    for name in ["served", "other"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let server = Served::start(folder.path(), &["--root", "served"]);
    let more = format!("--server {} --cell-seconds 0.1 --quiet --out record", server.address);
    for suite in suites {
        let seen = run_words(folder.path(), &words(suite, "served", &more));
        assert!(matches!(seen.code, Some(0 | 4)), "{suite}: {seen:?}");
        let events = fs::read_to_string(folder.path().join("record/events.jsonl")).unwrap();
        let trials: Vec<&str> = events.lines().filter(|line| line.contains("\"response_sum_ns\"")).collect();
        let sampled = trials.iter().filter(|line| line.contains("\"role\":\"server\"")).count();
        assert!(trials.len() >= 3 && sampled == trials.len(), "{suite}: {sampled} of {}", trials.len());
        fs::remove_dir_all(folder.path().join("record")).unwrap();
    }
    let more = more.replace("--quiet ", "");
    run_words(folder.path(), &words(suites[0], "other", &more))
        .assert_said(2, &["does not serve the folder given", "narrows serve --root"]);
}

#[test]
fn a_server_of_the_folder_is_sampled_around_every_test_and_one_of_another_is_refused() {
    run_beside_a_server(&SUITES[..1]);
}

#[test]
#[ignore = "campaign: every suite; ./test has the first one"]
fn a_server_of_the_folder_is_sampled_around_every_test_of_every_suite() {
    run_beside_a_server(&SUITES);
}

/// Test folders of narrows in `dir`.
fn test_folders(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.join("made-by-narrows").exists()).collect()
}

#[test]
fn what_a_killed_suite_left_is_named_by_the_next_suite_of_any_kind_and_stays() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    for name in ["one", "two"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    // Two processes, each in a folder of its own beside the suite's: little first, then more than is written before the kill.
    let line = "suite iozone one -t 2 -i 0 -s 64 -s 4g -r 4 -o -F one/a two/b --no-verdict --out record";
    let mut running = Running::start(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    running.wait_for("[1/");
    let pid = running.pid();
    running.signal("KILL");
    running.wait_until_all_are_gone(SOON);
    drop(running);
    let (one, two) = (test_folders(&folder.path().join("one")), test_folders(&folder.path().join("two")));
    assert_eq!((one.len(), two.len()), (2, 1));
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        let parent = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        format!(
            "(process {pid}) left its test folder {parent}/{name} behind; remove it with: narrows clean {parent} --remove"
        )
    };
    let commands: Vec<String> = one.iter().map(named).collect();
    for suite in SUITES {
        let next = run_words(folder.path(), &words(suite, "one", "--no-verdict --plan"));
        next.assert_said(0, &commands.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let next = "suite iozone one -t 2 -s 64 -i 0 -F one/a two/b --no-verdict --plan";
    let next = run(folder.path(), &next.split_whitespace().collect::<Vec<_>>());
    next.assert_said(0, &[&named(&two[0])]);
    assert_eq!(next.stderr.matches("left its test folder ").count(), 3, "{}", next.stderr);
    assert!(one.iter().chain(&two).all(|path| path.exists()), "they are named, not removed");
}
