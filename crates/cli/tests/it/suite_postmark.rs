//! `narrows suite postmark` on this machine: its report, its records, what it leaves; scripts and mistakes in them.

use crate::support::running::{Running, waited};
use crate::support::suites::{Mistakes, with_verdict};
use crate::support::{Seen, Surroundings, narrows, run, strangers_folder};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::time::Duration;

/// Small, and without cuts: no test proves our own speed.
const SMALL: &str = "--number 60 --transactions 200 --no-verdict --quiet";

fn suite(folder: &Path, words: &str) -> Seen {
    let words: Vec<&str> = ["suite", "postmark"].into_iter().chain(words.split_whitespace()).collect();
    run(folder, &words)
}

/// The suite with commands on stdin.
fn run_script(folder: &Path, words: &str, commands: &str) -> Seen {
    let words: Vec<&str> = ["suite", "postmark"].into_iter().chain(words.split_whitespace()).collect();
    let mut command = assert_cmd::Command::from_std(narrows(folder, &words));
    let output = command.write_stdin(commands).timeout(Duration::from_mins(1)).output().unwrap();
    Seen {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The number before the words of a line of the report.
fn figure(report: &str, words: &str) -> f64 {
    let line =
        report.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}: {report}"));
    let numbers = line.split_whitespace().filter_map(|word| word.parse().ok());
    numbers.into_iter().next().unwrap()
}

/// Counts of the report, which follow from the seed alone.
fn counts(report: &str) -> Vec<String> {
    let files = report.lines().filter(|line| line.contains('(') && !line.contains("seconds"));
    files.map(|line| line.split('(').next().unwrap().trim().to_owned()).collect()
}

#[test]
fn a_run_leaves_nothing_and_is_reported_again_from_its_record() {
    let folder = strangers_folder();
    fs::create_dir(folder.path().join("own")).unwrap();
    let before = Surroundings::of(&folder.path().join("target"));
    let seen =
        suite(folder.path(), &format!("--location target --subdirectories 7 --out own/record {SMALL}"));
    assert_eq!(seen.code, Some(0), "{seen:?}");
    before.assert_same(&folder.path().join("target"));
    let report = &seen.stdout;
    assert!(
        report.starts_with("PostMark v1.51 : by narrows\nCreating subdirectories...Done\nCreating files...Done\nPerforming transactions")
    );
    let number = |words: &str| figure(report, words);
    assert!((number("Creation alone") - 60.0).abs() < 0.5, "{report}");
    assert!((number(" created") - number(" deleted")).abs() < 0.5, "{report}");
    assert!((number("seconds total") - number("seconds of transactions")) > 0.0, "{report}");
    for words in [
        "transactions: read p50",
        "append p50",
        "create p50",
        "delete p50",
        "a CPU was busy with",
        "too short",
    ] {
        assert!(seen.stderr.contains(words), "{words}: {}", seen.stderr);
    }
    let again = run(folder.path(), &["diagnose", "own/record"]);
    assert!(again.stdout.starts_with(report.as_str()), "{}", again.stdout);
}

#[test]
fn the_same_seed_does_the_same_and_another_one_something_else() {
    let folder = tempfile::tempdir().unwrap();
    let of = |seed: u64, out: &str| {
        let seen = suite(folder.path(), &format!("--seed {seed} --out {out} {SMALL}"));
        assert_eq!(seen.code, Some(0), "{seen:?}");
        counts(&seen.stdout)
    };
    let first = of(42, "a");
    assert_eq!(first.len(), 10);
    assert_eq!(of(42, "b"), first);
    assert_ne!(of(43, "c"), first);
}

#[test]
fn a_run_with_the_default_settings_has_the_counts_that_people_know_it_by() {
    let folder = tempfile::tempdir().unwrap();
    let seen = suite(folder.path(), "--seed 42 --no-verdict --quiet --out record");
    // As the packaged PostMark prints them.
    let known = [
        "764 created",
        "Creation alone: 500 files",
        "Mixed with transactions: 264 files",
        "243 read",
        "257 appended",
        "764 deleted",
        "Deletion alone: 528 files",
        "Mixed with transactions: 236 files",
    ];
    assert_eq!(counts(&seen.stdout)[..known.len()], known, "{seen:?}");
    assert!(
        seen.stdout.contains("\t1.36 megabytes read (") && seen.stdout.contains("\t4.45 megabytes written (")
    );
}

/// Of both folders of [`two_locations`].
const LOCATIONS: &str = "set location one 3\nset location +two\n";

/// Two folders with files of others in them.
fn two_locations() -> (tempfile::TempDir, Surroundings) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("1"), "theirs").unwrap();
    }
    let before = Surroundings::of(folder.path());
    (folder, before)
}

#[test]
fn several_locations_have_the_counts_of_the_original_and_nothing_is_left_in_any() {
    let (folder, before) = two_locations();
    let records = tempfile::tempdir().unwrap();
    let of = |name: &str, commands: &str| {
        let record = records.path().join(name);
        let words = format!("--no-verdict --quiet --out {}", record.display());
        let seen = run_script(folder.path(), &words, commands);
        assert_eq!(seen.code, Some(0), "{seen:?}");
        before.assert_same(folder.path());
        let plan = fs::read_to_string(record.join("plan.json")).unwrap();
        (seen.stdout, serde_json::from_str::<Value>(&plan).unwrap())
    };
    // As the packaged PostMark prints them.
    let (report, plan) = of("weights", &format!("{LOCATIONS}set seed 1\nshow\nrun\n"));
    assert!(report.contains("Working directories: \n\tone (weight=3)\n\ttwo (weight=1)\n"), "{report}");
    let cell = &plan["cells"][0];
    assert_eq!(cell["workload"]["objects"]["member_weights"], serde_json::json!([3, 1]), "{cell}");
    let target = cell["target"].as_str().unwrap();
    assert!(target.starts_with("stripe:one/") && target.contains(",two/"), "{target}");
    let (report, _) = of("equal", "set location one\nset location +two\nrun\n");
    let known =
        ["748 created", "Creation alone: 500 files", "Mixed with transactions: 248 files", "232 read"];
    assert_eq!(counts(&report)[..4], known, "{report}");
    // Two names of one folder are one folder, with the draw of both.
    let (report, plan) = of("twice", "set seed 5\nset location one\nset location +./two/../one\nrun\n");
    assert_eq!(
        counts(&report)[..4],
        ["742 created", "Creation alone: 500 files", "Mixed with transactions: 242 files", "241 read"]
    );
    assert_eq!(plan["cells"][0]["workload"]["objects"]["member_weights"], serde_json::json!([2]));
}

#[test]
fn a_location_that_is_missing_is_named_before_anything_is_made_in_the_others() {
    let (folder, before) = two_locations();
    let seen = run_script(folder.path(), "--out record", &format!("{LOCATIONS}set location +three\nrun\n"));
    seen.assert_said(2, &["stdin:4: the location three: No such file"]).assert_no_result();
    before.assert_same(folder.path());
    // A plan makes nothing either, and names both.
    let plan = run_script(folder.path(), "--no-verdict --plan", &format!("{LOCATIONS}run\n"));
    assert!(plan.code == Some(0) && plan.stdout.contains("two"), "{plan:?}");
    before.assert_same(folder.path());
}

#[test]
fn a_terminate_while_files_are_in_several_locations_leaves_nothing_in_any() {
    let (folder, before) = two_locations();
    let script = folder.path().with_extension("script");
    fs::write(&script, format!("{LOCATIONS}set transactions 400000\nset subdirectories 3\nrun\n")).unwrap();
    let record = folder.path().with_extension("record");
    let words =
        ["suite", "postmark", script.to_str().unwrap(), "--no-verdict", "--out", record.to_str().unwrap()];
    let mut running = Running::start(folder.path(), &words);
    let has_files = |name: &str| {
        let made = fs::read_dir(folder.path().join(name)).unwrap().flatten();
        made.map(|entry| entry.path().join("objects-0-0/00001"))
            .any(|inner| fs::read_dir(inner).is_ok_and(|mut files| files.next().is_some()))
    };
    assert!(waited(Duration::from_mins(1), || has_files("one") && has_files("two")));
    running.signal("TERM");
    running.wait_until_all_are_gone(Duration::from_secs(10));
    // With the first phase completed there is a record, though not of a whole run.
    let code = running.end().code;
    assert!(matches!(code, Some(3 | 4)), "{code:?}");
    before.assert_same(folder.path());
    fs::remove_file(&script).unwrap();
    drop(fs::remove_dir_all(&record));
}

#[test]
fn counts_of_the_report_are_those_of_the_record_and_its_data_the_sum_of_the_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let seen = suite(folder.path(), &format!("--size 100,200 --out record {SMALL}"));
    let text = fs::read_to_string(folder.path().join("record/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let cells = summary["cells"].as_array().unwrap();
    let names: Vec<&str> = cells.iter().map(|cell| cell["id"].as_str().unwrap()).collect();
    assert_eq!(names, ["create", "transactions", "delete"]);
    let kinds = cells[1]["kinds"].as_array().unwrap();
    let count = |op: &str| kinds.iter().find(|kind| kind["op"] == op).unwrap()["op_count"].as_f64().unwrap();
    let near = |words: &str, value: f64| {
        let reported = figure(&seen.stdout, words);
        assert!((reported - value).abs() < 0.5, "{words} {value}: {}", seen.stdout);
    };
    near(" read", count("get"));
    near(" appended", count("append"));
    near(" created", 60.0 + count("put"));
    assert!((count("put") + count("delete") - 200.0).abs() < 0.5, "{kinds:?}");
    let client = |cell: &Value, key: &str| cell["per_client"][0][key].as_f64().unwrap();
    let created_bytes = client(&cells[0], "bytes");
    assert!(
        (6000.0..=12_000.0).contains(&created_bytes),
        "60 files of 100 to 200 bytes have {created_bytes}"
    );
    let all = created_bytes + client(&cells[1], "bytes");
    let kilobytes = figure(&seen.stdout, "kilobytes read") + figure(&seen.stdout, "kilobytes written");
    assert!((all / 1024.0 - kilobytes).abs() < 0.011, "{all}: {}", seen.stdout);
}

#[test]
fn a_script_runs_several_times_each_with_a_record_and_a_file_if_named() {
    let folder = tempfile::tempdir().unwrap();
    let script = "# two runs\nset number 30\nset transactions 40\nset location .\nrun\nset report terse\nset seed 7\n\
                  show\nrun out.txt\nrun out.txt\nquit\nrun\n";
    fs::write(folder.path().join("script"), script).unwrap();
    let seen = suite(folder.path(), "script --out record --no-verdict --quiet");
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert_eq!(seen.stdout.matches("Performing transactions..........Done").count(), 3, "{}", seen.stdout);
    assert_eq!(seen.stdout.matches("Time:").count(), 1, "{}", seen.stdout);
    assert!(seen.stdout.contains("Random number generator seed is 7\nReport format is terse.\n"));
    let terse = fs::read_to_string(folder.path().join("out.txt")).unwrap();
    let rows: Vec<usize> = terse.lines().map(|line| line.split_whitespace().count()).collect();
    assert_eq!(rows, [13, 13]);
    for record in ["record", "record-2", "record-3"] {
        assert_eq!(run(folder.path(), &["diagnose", record]).code, Some(0), "{record}");
    }
    assert!(!folder.path().join("record-4").exists());
}

#[test]
fn what_may_last_longer_than_fifteen_minutes_needs_yes_and_a_script_is_added_up_before_its_first_run() {
    let folder = tempfile::tempdir().unwrap();
    let many = run_script(folder.path(), "--out many --no-verdict", "set transactions 500000000\nrun\n");
    assert_eq!(many.code, Some(2), "{many:?}");
    assert!(many.stderr.contains("longer than 15 min") && many.stderr.contains("--yes"), "{many:?}");
    // Each of both lasts less than 15 minutes.
    let half = "set transactions 600000\nrun\n";
    let twice = run_script(folder.path(), "--out twice --no-verdict", &half.repeat(2));
    assert_eq!((twice.code, twice.stdout.contains("Transactions per second")), (Some(2), false), "{twice:?}");
    assert!(twice.stderr.contains("longer than 15 min"), "{twice:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn commands_from_stdin_are_a_script_and_other_settings_do_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let commands = "set number 20\nset transactions 9\nset size 3000\nset buffering false\nset bias create -1\n\
                    set bias read 10\nrun\n";
    let seen = run_script(folder.path(), "--out record --no-verdict --quiet", commands);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(seen.stdout.contains("Performing transactions.........Done"), "{}", seen.stdout);
    for words in
        ["\t20 created", "\t9 read", "\t0 appended", "Mixed with transactions: 0 files", "\t20 deleted"]
    {
        assert!(seen.stdout.contains(words), "{words}: {}", seen.stdout);
    }
    // Nine of 3000 bytes; twenty of them.
    assert!(seen.stdout.contains("26.37 kilobytes read") && seen.stdout.contains("58.59 kilobytes written"));
}

#[test]
fn a_run_out_of_files_has_no_report_and_says_what_to_set() {
    let folder = tempfile::tempdir().unwrap();
    let words = "--number 20 --transactions 100 --bias-create 0 --out record --no-verdict --quiet";
    let seen = suite(folder.path(), words);
    // Deleting what is left is deleting none, and no failure.
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(seen.stdout.contains("Performing transactions..out of files!\nFor this workload"), "{seen:?}");
    assert!(seen.stdout.ends_with("Deleting files...Done\n"), "{seen:?}");
    assert!(!seen.stdout.contains("Time:"), "{}", seen.stdout);
    assert!(seen.stderr.contains("out of files after 20 of 100 transactions"), "{}", seen.stderr);
    assert!(seen.stderr.contains("there was nothing left to delete"), "{}", seen.stderr);
}

#[test]
fn the_report_is_what_the_importer_reads() {
    let folder = tempfile::tempdir().unwrap();
    for (form, remark) in [("verbose", "4 of 4 printed sums and rates are correct"), ("terse", "")] {
        let seen = suite(folder.path(), &format!("--report {form} --out {form} {SMALL}"));
        assert_eq!(seen.code, Some(0), "{seen:?}");
        let name = format!("{form}.txt");
        fs::write(folder.path().join(&name), &seen.stdout).unwrap();
        let read = run(folder.path(), &["import", "postmark", &name]);
        assert_eq!(read.code, Some(0), "{read:?}");
        assert!(
            read.stdout.contains(remark) && read.stdout.contains("id = \"transactions\""),
            "{}",
            read.stdout
        );
        assert!(!read.stdout.contains("lower_bound"), "{}", read.stdout);
    }
}

#[test]
fn a_verdict_stands_beside_the_report_and_the_server_is_looked_at() {
    let seen = with_verdict("postmark", "--number 60 --transactions 200");
    assert!(seen.stdout.contains("seconds of transactions"), "{}", seen.stdout);
}

#[test]
fn mistakes_in_options_are_refused_before_anything_is_made() {
    let mistakes = Mistakes::of("postmark");
    let refused = |words, said: &[&str]| mistakes.refused(words, said);
    refused("--size 500,100", &["--size: found `500 100`", "the lower one comes first: 100 500"]);
    refused(
        "--number -3 --bias-read 11",
        &["--number: found `-3`", "--bias-read: found `11`", "from 0 to 10, or -1"],
    );
    refused("--transactions 0", &["--transactions: found `0`", "give 1 or more"]);
    refused("--bias-read -1 --bias-create -1", &["both biases at -1", "otherwise transactions do nothing"]);
    refused("--location missing", &["missing", "give a folder or file that exists"]);
    refused("--location file", &["file is a file; give the folder"]);
    refused("--number 4000000 --size 1073741824", &["that are free there"]);
    refused("nowhere", &["read the script nowhere", "give a file with a command in each line"]);
}

#[test]
fn files_that_do_not_fit_in_several_locations_together_are_refused() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    for name in ["a", "b"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let script =
        "set location a 1\nset location b 1\nset number 4000000\nset size 1073741824 1073741824\nrun\n";
    fs::write(folder.path().join("script"), script).unwrap();
    let before = Surroundings::of(folder.path());
    for more in ["--out record", "--plan"] {
        let seen = suite(folder.path(), &format!("script {more}"));
        seen.assert_said(2, &["4000000 files of", "that are free there"]);
        before.assert_same(folder.path());
    }
}

#[test]
fn a_mistake_anywhere_in_a_script_is_reported_with_its_line_and_nothing_is_done() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("script"), "show\nset numbr 5\nrun\nload more\n").unwrap();
    fs::write(folder.path().join("more"), "set bias read 12\n").unwrap();
    let before = Surroundings::of(folder.path());
    let seen = suite(folder.path(), "script --out record");
    let said = [
        "script:2:1: found `set numbr 5`",
        "did you mean `set number`?",
        "more:1:1: set bias read: found `12`",
    ];
    seen.assert_said(2, &said).assert_no_result();
    before.assert_same(folder.path());
    let typed = run_script(
        folder.path(),
        "--out record",
        "set location a 2000000000\nset location +b 2000000000\nrun\n",
    );
    typed
        .assert_said(2, &["stdin:3:1: run: found weights with the sum 4000000000", "give smaller weights"])
        .assert_no_result();
    run_script(folder.path(), "", "show\n").assert_said(0, &["no `run`: nothing is measured"]);
    run_script(folder.path(), "--out record", "run none/out.txt\n")
        .assert_said(2, &["stdin:1: run: cannot write to none/out.txt"]);
    before.assert_same(folder.path());
}

#[test]
fn the_folders_own_script_is_read_first_where_none_is_named_and_what_is_shown_goes_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".pmrc"), "set number 33\nshow set.txt\n").unwrap();
    rights(&folder.path().join(".pmrc"), 0o644);
    let seen = run_script(folder.path(), "", "show set.txt\nexit\nnonsense\n");
    let printed = "PostMark v1.51 : by narrows\nReading configuration from file '.pmrc'\n";
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), printed), "{seen:?}");
    let shown = fs::read_to_string(folder.path().join("set.txt")).unwrap();
    assert_eq!(shown.matches("The base number of files is 33\n").count(), 2, "{shown}");
    fs::write(folder.path().join("named"), "show\n").unwrap();
    let named = suite(folder.path(), "named");
    assert!(named.stdout.contains("Reading configuration from file 'named'\n"), "{named:?}");
    assert!(named.stdout.contains("number of files is 500\n"), "{named:?}");
    fs::write(folder.path().join(".pmrc"), "set number 0\n").unwrap();
    run_script(folder.path(), "", "show\n").assert_said(2, &[".pmrc:1:1: set number: found `0`"]);
    run_script(folder.path(), "-", "show gone/file\n")
        .assert_said(2, &["stdin:1: show: cannot write to gone/file: No such file"]);
}

fn rights(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_script_of_the_folder_that_others_can_have_written_is_not_used_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join(".pmrc");
    fs::write(&own, "set number 33\n").unwrap();
    let refused = |why: &str| {
        let seen = run_script(folder.path(), "", "show\n");
        assert!(seen.stdout.contains("number of files is 500\n"), "{why}: {seen:?}");
        seen.assert_said(0, &["'.pmrc' of this folder is not used: ", why]);
    };
    rights(&own, 0o666);
    refused("others may write to it");
    rights(&own, 0o600);
    rights(folder.path(), 0o1777);
    refused("others may write in its folder");
    rights(folder.path(), 0o700);
    let used = run_script(folder.path(), "", "show\n");
    assert!(used.stdout.contains("number of files is 33\n"), "{used:?}");
    if chown(&own, Some(61_001), None).is_ok() {
        refused("it belongs to another user");
    } else {
        drop(writeln!(std::io::stderr(), "skipped in part: only root may give files away"));
    }
    fs::rename(&own, folder.path().join("other")).unwrap();
    symlink("other", &own).unwrap();
    refused("it is a symbolic link");
}

#[test]
fn what_is_written_to_a_file_steers_no_terminal_and_follows_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("precious"), "mine").unwrap();
    symlink("precious", at("link")).unwrap();
    symlink("made", at("dangling")).unwrap();
    let seen = run_script(folder.path(), "", "set location a\u{1b}[2Jb\nshow set.txt\n");
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let shown = fs::read_to_string(at("set.txt")).unwrap();
    assert!(shown.contains("a\\u001b[2Jb") && !shown.contains('\u{1b}'), "{shown}");
    for name in ["link", "dangling"] {
        let command = format!("show {name}\nset number 20\nset transactions 20\nrun {name}\n");
        let said = ["stdin:1: show: ", "stdin:4: run: ", "it is a symbolic link, which is not followed"];
        run_script(folder.path(), "--out record --no-verdict", &command).assert_said(2, &said);
    }
    assert_eq!(fs::read_to_string(at("precious")).unwrap(), "mine");
    assert!(!at("made").exists() && !at("record").exists());
}

#[test]
fn what_a_later_run_cannot_use_is_reported_before_the_first_one() {
    let folder = tempfile::tempdir().unwrap();
    let before = Surroundings::of(folder.path());
    let commands =
        "set number 20\nset transactions 20\nrun first.txt\nset location gone\nrun none/out.txt\nrun\n";
    let seen = run_script(folder.path(), "--out record --no-verdict --quiet", commands);
    let said = [
        "stdin:5: the location gone",
        "stdin:5: run: cannot write to none/out.txt: No such file",
        "stdin:6: the location gone",
    ];
    seen.assert_said(2, &said).assert_no_result();
    before.assert_same(folder.path());
}

#[test]
fn a_word_that_is_no_utf8_is_refused_with_what_to_do() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let mut command = narrows(folder.path(), &["suite", "postmark", "--location"]);
    let output = command.arg(std::ffi::OsStr::from_bytes(b"a\xff")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("found `a\u{fffd}`, which is not UTF-8; allowed:") && said.contains("ln -s"),
        "{said}"
    );
}
