//! What killed runs and servers leave, as `narrows clean` lists and removes it.

use crate::support::running::{Running, waited};
use crate::support::{Guarded, Seen, Surroundings, narrows, record, run, strangers_folder};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How soon all processes of a killed check are gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);
const TEST_MARKER: &str = "made-by-narrows";

/// A check of `target` that lasts for minutes, with a test file.
fn check(folder: &Path) -> Running {
    let words = [
        "check",
        "target",
        "--whole-plan",
        "--out",
        "record",
        "--op",
        "read",
        "--block",
        "4KiB",
        "--depth",
        "1",
    ];
    let mut running =
        Running::start(folder, &[&words[..], &["--cell-seconds", "0.2", "--seconds", "600"]].concat());
    let has_file = |path: &PathBuf| path.join("data-0").exists();
    wait_for_cells(&mut running, || marked(&folder.join("target"), TEST_MARKER).iter().any(has_file));
    running
}

/// Waits from cell to cell until `is_there`; the first cells store nothing.
fn wait_for_cells(running: &mut Running, is_there: impl Fn() -> bool) {
    for number in 1.. {
        running.wait_for(&format!("[{number}/"));
        if is_there() {
            return;
        }
    }
}

fn marked(folder: &Path, marker: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.join(marker).exists()).collect()
}

#[track_caller]
fn assert_listed(seen: &Seen, code: i32, words: &[&str]) {
    assert_eq!(seen.code, Some(code), "{seen:?}");
    for word in words {
        assert!(seen.stdout.contains(word), "`{word}` is not listed: {seen:?}");
    }
    seen.assert_orderly();
}

/// What a check left that was killed, in `target` of `folder`.
fn killed(folder: &Path) -> PathBuf {
    let mut running = check(folder);
    running.signal("KILL");
    running.wait_until_all_are_gone(GONE_WITHIN);
    drop(running);
    fs::remove_dir_all(folder.join("record")).unwrap();
    let left = marked(&folder.join("target"), TEST_MARKER);
    assert_eq!(left.len(), 1, "{left:?}");
    left[0].clone()
}

#[test]
fn what_a_killed_check_left_is_listed_then_removed_and_all_else_stays() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let left = killed(folder.path());
    let name = left.file_name().unwrap().to_str().unwrap().to_owned();
    assert_listed(&run(folder.path(), &["clean", "target"]), 0, &[&name, "--remove removes it"]);
    assert!(left.join("data-0").exists(), "listing changes nothing");
    assert_listed(&run(folder.path(), &["clean", "target", "--remove"]), 0, &[&name, "removed"]);
    before.assert_same(folder.path());
    let again = run(&folder.path().join("target"), &["clean", "--remove"]);
    assert_listed(&again, 0, &["nothing is left in ."]);
}

#[test]
fn what_a_living_check_uses_is_named_and_stays() {
    let folder = strangers_folder();
    let running = check(folder.path());
    let own = marked(&folder.path().join("target"), TEST_MARKER);
    assert_listed(&run(folder.path(), &["clean", "target", "--remove"]), 0, &["in use"]);
    assert!(own[0].join("data-0").exists());
    running.signal("TERM");
    running.end();
}

#[test]
fn a_folder_of_another_user_container_or_maker_stays() {
    let folder = strangers_folder();
    let left = killed(folder.path());
    let marker = left.join(TEST_MARKER);
    let text = fs::read_to_string(&marker).unwrap();
    // Not the marker of narrows: a link to one.
    let linked = folder.path().join("target/.narrows-0000000000000001");
    fs::create_dir(&linked).unwrap();
    symlink(&marker, linked.join(TEST_MARKER)).unwrap();
    symlink(&left, folder.path().join("target/.narrows-0000000000000002")).unwrap();
    let from = text.find(", process ids of ").unwrap();
    fs::write(&marker, format!("{}, process ids of 7 on elsewhere\n", &text[..from])).unwrap();
    let seen = run(folder.path(), &["clean", "target", "--remove"]);
    assert_listed(&seen, 4, &["target/.narrows-", "another container", "give this command there"]);
    assert_eq!(seen.stdout.lines().count(), 1, "links and folders without a marker are not ours: {seen:?}");
    assert!(left.join("data-0").exists() && linked.exists());
    fs::write(&marker, text).unwrap();
    if fs::metadata(&left).unwrap().uid() != 0 {
        drop(writeln!(std::io::stderr(), "skipped in part: only root may act as two users"));
        return;
    }
    for path in [&left, &marker] {
        chown(path, Some(61_001), Some(61_001)).unwrap();
    }
    let seen = run(folder.path(), &["clean", "target", "--remove"]);
    assert_listed(&seen, 0, &["belongs to user 61001"]);
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let daemon = users.lines().find(|line| line.starts_with("daemon:"));
    if let Some(id) = daemon.and_then(|line| line.split(':').nth(2)?.parse().ok()) {
        for path in [&left, &marker] {
            chown(path, Some(id), None).unwrap();
        }
        let seen = run(folder.path(), &["clean", "target", "--remove"]);
        assert_listed(&seen, 0, &["belongs to user daemon, who may remove it"]);
    }
    assert!(left.join("data-0").exists());
}

/// Whether this process is of the machine itself, which has an id: nothing is known of earlier starts elsewhere.
fn machine_is_known() -> bool {
    let first = fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link == Path::new("pid:[4026531836]"));
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    first && id.trim().len() == 32
}

#[test]
fn a_folder_from_before_the_last_start_of_this_machine_is_removed() {
    let folder = strangers_folder();
    let left = killed(folder.path());
    let marker = left.join(TEST_MARKER);
    let text = fs::read_to_string(&marker).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let before = text.replace(boot.trim(), "00000000-0000-0000-0000-000000000000");
    assert_ne!(before, text);
    // Another machine of the same name, or one of an earlier version that does not name it.
    let (without, _) = before.split_once(", machine ").unwrap();
    for namesake in [format!("{without}\n"), format!("{without}, machine 0123456789abcdef\n")] {
        fs::write(&marker, namesake).unwrap();
        let seen = run(folder.path(), &["clean", "target", "--remove"]);
        assert_listed(&seen, 4, &["another machine of the same name"]);
        let next = run(folder.path(), &["check", "target", "--plan"]);
        next.assert_said(0, &["remove it with: narrows clean target --remove"]);
    }
    fs::write(&marker, before).unwrap();
    if !machine_is_known() {
        drop(writeln!(std::io::stderr(), "skipped in part: this machine has no id, or this is a container"));
        return;
    }
    assert_listed(&run(folder.path(), &["clean", "target"]), 0, &["its process has ended"]);
    assert_listed(&run(folder.path(), &["clean", "target", "--remove"]), 0, &["removed"]);
    assert!(!left.exists());
}

#[test]
fn what_a_killed_server_left_is_removed() {
    let folder = strangers_folder();
    let mut command = narrows(folder.path(), &["serve", "--listen", "127.0.0.1:0", "--root", "target"]);
    let mut server = Guarded(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap();
    let endpoint = format!("tcp://{address}/disk");
    let words = [
        "check",
        &endpoint,
        "--whole-plan",
        "--out",
        "record",
        "--op",
        "read",
        "--block",
        "4KiB",
        "--depth",
        "1",
    ];
    let mut running =
        Running::start(folder.path(), &[&words[..], &["--cell-seconds", "0.2", "--seconds", "600"]].concat());
    let target = folder.path().join("target");
    wait_for_cells(&mut running, || !marked(&target, "made-by-narrows-serve").is_empty());
    let session = marked(&folder.path().join("target"), "made-by-narrows-serve");
    assert_eq!(session.len(), 1, "{session:?}");
    let in_use = run(folder.path(), &["clean", "target", "--remove"]);
    assert_listed(&in_use, 0, &["session of a server", "in use"]);
    drop(server);
    running.signal("KILL");
    running.wait_until_all_are_gone(GONE_WITHIN);
    drop(running);
    assert_listed(&run(folder.path(), &["clean", "target", "--remove"]), 0, &["removed"]);
    assert!(!session[0].exists());
}

#[test]
fn a_folder_that_is_not_there_is_bad_input() {
    let folder = strangers_folder();
    run(folder.path(), &["clean", "missing"]).assert_said(2, &["missing"]).assert_no_result();
    run(folder.path(), &["clean", "precious.txt"]).assert_said(2, &["precious.txt"]).assert_no_result();
}

#[test]
fn a_folder_whose_making_was_killed_is_named_and_removed_and_a_fuller_one_is_not() {
    let folder = strangers_folder();
    let target = folder.path().join("target");
    for (name, files) in
        [("1", &[][..]), ("2", &[(TEST_MARKER, "")]), ("3", &[(TEST_MARKER, ""), ("mine", "x")])]
    {
        let path = target.join(format!(".narrows-000000000000000{name}"));
        fs::create_dir(&path).unwrap();
        for (file, content) in files {
            fs::write(path.join(file), content).unwrap();
        }
        age(&path);
    }
    let next = run(folder.path(), &["check", "target", "--plan"]);
    next.assert_said(
        0,
        &[
            "target/.narrows-0000000000000001 behind; remove it with: narrows clean target --remove",
            "target/.narrows-0000000000000002 behind",
        ],
    );
    let listed = run(folder.path(), &["clean", "target"]);
    assert_listed(&listed, 0, &[".narrows-0000000000000002 (unfinished folder): its process has ended"]);
    let removed = run(folder.path(), &["clean", "target", "--remove"]);
    assert_listed(&removed, 4, &["0001 (unfinished folder): removed", "0002 (unfinished folder): removed"]);
    assert!(target.join(".narrows-0000000000000003/mine").exists());
    assert!(!target.join(".narrows-0000000000000001").exists());
    assert!(!target.join(".narrows-0000000000000002").exists());
}

/// Makes `path` look as if nothing in it had changed for years.
fn age(path: &Path) {
    let long_ago = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
}

#[test]
fn a_record_whose_making_was_killed_is_removed_if_it_has_its_own_files_alone() {
    let folder = strangers_folder();
    record::write(&folder.path().join("record"));
    let at = |name: &str| folder.path().join(name);
    let staging = |name: &str| format!(".{name}.0123456789abcdef.partial");
    fs::create_dir(at(&staging("empty"))).unwrap();
    fs::create_dir(at(&staging("foreign"))).unwrap();
    fs::write(at(&staging("foreign")).join("thesis.txt"), "years").unwrap();
    fs::create_dir(at(&staging("recent"))).unwrap();
    symlink("record", at(&staging("link"))).unwrap();
    fs::rename(at("record"), at(&staging("whole"))).unwrap();
    fs::rename(
        at(&staging("whole")).join("manifest.json"),
        at(&staging("whole")).join("manifest.json.partial"),
    )
    .unwrap();
    for name in ["empty", "foreign", "whole"] {
        age(&at(&staging(name)));
    }
    let line = |name: &str, what: &str| format!("./{} (unfinished record): {what}", staging(name));
    let stays = line("foreign", "stays: thesis.txt in it is of somebody else");
    let recent = line("recent", "stays: it may be in use");
    let removable = ["empty", "whole"].map(|name| line(name, "its process has ended; --remove removes it"));
    assert_listed(&run(folder.path(), &["clean"]), 0, &[&removable[0], &removable[1], &stays, &recent]);
    assert!(at(&staging("whole")).join("plan.json").exists(), "listing changes nothing");
    let removed = ["empty", "whole"].map(|name| line(name, "removed"));
    let seen = run(folder.path(), &["clean", "--remove"]);
    assert_listed(&seen, 4, &[&removed[0], &removed[1], &stays, &recent]);
    assert_eq!(seen.stdout.lines().count(), 4, "{seen:?}");
    let is_there = ["empty", "whole", "foreign", "recent", "link"]
        .map(|name| at(&staging(name)).symlink_metadata().is_ok());
    assert_eq!(is_there, [false, false, true, true, true]);
    assert!(at(&staging("foreign")).join("thesis.txt").exists());
    if chown(at(&staging("foreign")), Some(61_001), None).is_err() {
        drop(writeln!(std::io::stderr(), "skipped in part: only root may act as two users"));
        return;
    }
    let foreign = line("foreign", "stays: it belongs to user 61001, who may remove it");
    assert_listed(&run(folder.path(), &["clean", "--remove"]), 0, &[&foreign]);
}

#[test]
fn a_record_that_a_process_fills_for_long_is_in_use() {
    let folder = strangers_folder();
    let at = folder.path().join(".slow.0123456789abcdef.partial");
    fs::create_dir(&at).unwrap();
    age(&at);
    let filled = fs::File::open(&at).unwrap();
    filled.lock().unwrap();
    let line = |what: &str| format!("./.slow.0123456789abcdef.partial (unfinished record): {what}");
    assert_listed(&run(folder.path(), &["clean", "--remove"]), 0, &[&line("in use, its process runs")]);
    assert!(at.is_dir());
    drop(filled);
    assert_listed(&run(folder.path(), &["clean", "--remove"]), 0, &[&line("removed")]);
}

#[test]
fn what_a_check_leaves_that_is_killed_while_it_makes_its_record_is_removed() {
    if Command::new("strace").arg("-V").output().is_err() {
        drop(writeln!(std::io::stderr(), "skipped: strace is missing"));
        return;
    }
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    // Its first file has been written for ten seconds when it gets its name.
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "--signal=none", "-o", "/dev/null", "-e", "trace=/^rename"]);
    traced.args(["-e", "inject=/^rename:delay_enter=10000000", env!("CARGO_BIN_EXE_narrows")]);
    traced
        .args(["check", "target", "--whole-plan", "--cell-seconds", "0.2", "--out", "record"])
        .current_dir(folder.path());
    let mut running = Running::start_command(traced);
    let staging = || {
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        names.into_iter().find(|path| path.join("plan.json.partial").exists())
    };
    assert!(waited(Duration::from_mins(1), || staging().is_some()), "no record is made");
    let tracer = running.pid();
    let children = fs::read_to_string(format!("/proc/{tracer}/task/{tracer}/children")).unwrap();
    assert!(Command::new("kill").args(["-KILL", children.trim()]).status().unwrap().success());
    running.wait_until_all_are_gone(Duration::from_secs(20));
    drop(running);
    let left = staging().unwrap();
    age(&left);
    let name = left.file_name().unwrap().to_str().unwrap();
    assert_listed(
        &run(folder.path(), &["clean", "--remove"]),
        0,
        &[&format!("./{name} (unfinished record): removed")],
    );
    run(folder.path(), &["clean", "target", "--remove"]);
    before.assert_same(folder.path());
}

#[test]
fn every_file_of_a_real_record_is_known_to_clean() {
    let folder = strangers_folder();
    // The names that a record has in fact.
    fs::write(folder.path().join("s.toml"), "target = \"null:\"\n[stop]\nmeasure = \"100ms\"\ntrials = 1\n")
        .unwrap();
    let seen = run(folder.path(), &["run", "s.toml", "--out", "record", "--quiet"]);
    assert!(matches!(seen.code, Some(0 | 4)), "{seen:?}");
    let staging = folder.path().join(".record.0123456789abcdef.partial");
    fs::rename(folder.path().join("record"), &staging).unwrap();
    age(&staging);
    assert_listed(&run(folder.path(), &["clean", "--remove"]), 0, &["(unfinished record): removed"]);
    assert!(!staging.exists());
}

#[test]
fn a_name_with_a_line_break_is_one_line_of_the_list() {
    let folder = strangers_folder();
    let path = folder.path().join("target/.narrows-x\ny (test folder): removed");
    fs::create_dir(&path).unwrap();
    age(&path);
    let seen = run(folder.path(), &["clean", "target"]);
    assert_listed(&seen, 0, &["target/.narrows-x\\u000ay (test folder): removed (unfinished folder)"]);
    assert_eq!(seen.stdout.lines().count(), 1, "{seen:?}");
}
