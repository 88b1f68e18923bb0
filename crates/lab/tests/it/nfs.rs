//! The engine `nfs` against a real server: conformance, restarts in the middle of a load, refusals.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::support::ganesha::Ganesha;
use crate::support::waits::{pause, wait_for_own_place, wait_until};
use crate::support::{SOON, assert_nothing_left, conform, lab_with_nfs};
use narrows_lab::{Lab, LabProcess, narrows_bin};
use narrows_model::Summary;
use narrows_model::rpc::ProcedureCounters;
use narrows_model::summary::CellSummary;

/// No squashing: tests run as root.
/// A user without an account.
const OTHER_USER: u32 = 54_321;
pub(crate) const OPEN: &str = "Squash = No_Root_Squash;";

pub(crate) fn export(lab: &Lab) -> std::path::PathBuf {
    let folder = lab.scratch().join("export");
    fs::create_dir(&folder).unwrap();
    folder
}

#[test]
fn the_engine_conforms_at_every_depth_and_size() {
    let Some(lab) = lab_with_nfs() else { return };
    let folder = export(&lab);
    let server = Ganesha::start(&lab, 1, &folder, OPEN);
    for (target, depth, options) in [
        (server.target("/data"), 1, &[][..]),
        (server.mapped_target("/data"), 32, &[]),
        (server.target("/data"), 32, &[("connections", 4)]),
        // A request of 4 KiB is then several calls.
        (server.target("/data"), 8, &[("rsize", 1024), ("wsize", 1500)]),
    ] {
        conform(&target, depth, options, |_| ());
    }
    assert_nothing_left(&folder);
}

/// A study of verified writes and reads for long enough to restart the server in it.
fn study(target: &str, sync: &str, seconds: u32) -> String {
    format!(
        "title = \"a restart\"\ntarget = \"{target}\"\ncuts = []\n\n[workload]\nverify = true\nops = {{ read = 1, write = \
         1 }}\norder = \"random_with_replacement\"\nfile = \"8MiB\"\nblock = \"4KiB\"\ndepth = 8\nsync = {sync}\n\n\
         [stop]\nwarm_up = \"100ms\"\nmeasure = \"{seconds}s\"\n"
    )
}

/// A run of a study, started; its record is in `NAME`.
pub(crate) fn start_run(lab: &Lab, name: &str, text: &str) -> LabProcess {
    start_trials(lab, name, text, (&narrows_bin().unwrap(), 1))
}

/// The same by this program, with so many trials of each cell.
pub(crate) fn start_trials(lab: &Lab, name: &str, text: &str, (program, trials): (&Path, u32)) -> LabProcess {
    let file = lab.scratch().join(format!("{name}.toml"));
    fs::write(&file, text).unwrap();
    let mut command = Command::new(program);
    command.args(["run", "--yes", "--trials", &trials.to_string(), "--json", "--out"]);
    command.arg(lab.scratch().join(name)).arg(&file).current_dir(lab.scratch());
    if trials > 1 {
        // Longer than any of them takes.
        command.args(["--seconds", "600"]);
    }
    lab.start(name, command).unwrap()
}

pub(crate) fn summary_of(run: &LabProcess) -> Summary {
    let json = run.stdout().unwrap();
    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}\n{}", run.stderr().unwrap()))
}

pub(crate) fn calls(cell: &CellSummary, procedure: &str) -> ProcedureCounters {
    let found = cell.protocol.iter().find(|known| known.procedure == procedure);
    found.unwrap_or_else(|| panic!("no {procedure}: {:?}", cell.protocol)).clone()
}

#[test]
fn a_server_that_is_killed_and_started_again_loses_nothing_and_what_was_sent_again_is_counted() {
    let Some(lab) = lab_with_nfs() else { return };
    let folder = export(&lab);
    let mut server = Ganesha::start(&lab, 1, &folder, OPEN);
    let mut run = start_run(&lab, "restart", &study(&server.target("/data"), "\"none\"", 6));
    let own = wait_for_own_place(&folder);
    // In the window, whose preparation is over when the file has its length.
    wait_until(|| fs::metadata(own.join("data-0")).is_ok_and(|file| file.len() == 8 << 20));
    pause(Duration::from_millis(1500));
    server.kill();
    pause(Duration::from_millis(300));
    server.start_again();
    run.wait(SOON).unwrap();
    let summary = summary_of(&run);
    let cell = &summary.cells[0];
    let verified = cell.verification.as_ref().unwrap();
    assert_eq!((verified.wrong_bytes.0, verified.mismatch_count), (0, 0), "{verified:?}");
    assert!(verified.checked_bytes.0 > 0 && cell.errors.is_empty(), "{verified:?} {:?}", cell.errors);
    let events = cell.protocol_events.unwrap();
    assert_eq!((events.reconnect_count, events.verifier_change_count), (1, 1), "{events:?}");
    assert!(
        events.rewritten_count > 0 && events.rewritten_bytes.0 >= events.rewritten_count * 4096,
        "{events:?}"
    );
    let again: u64 = cell.protocol.iter().map(|one| one.retransmit_count).sum();
    assert!((1..=8).contains(&again), "what was in flight, of a depth of 8: {:?}", cell.protocol);
    for procedure in ["READ", "WRITE"] {
        let counts = calls(cell, procedure);
        assert!(counts.reply_count > 100 && counts.latency_sum_ns.0 > 0, "{counts:?}");
        assert_eq!(counts.error_count, 0, "{counts:?}");
    }
    assert!(calls(cell, "COMMIT").call_count > 0);
    assert_nothing_left(&folder);
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next_and_an_interrupted_one_leaves_nothing() {
    let Some(lab) = lab_with_nfs() else { return };
    let folder = export(&lab);
    fs::write(folder.join("precious"), "x").unwrap();
    let server = Ganesha::start(&lab, 1, &folder, OPEN);
    let text = study(&server.target("/data"), "\"at_end\"", 5);
    let mut killed = start_run(&lab, "killed", &text);
    let left = wait_for_own_place(&folder);
    wait_until(|| left.join("data-0").exists());
    killed.kill9().unwrap();
    assert!(left.exists());
    let mut interrupted = start_run(&lab, "interrupted", &text);
    wait_until(|| !left.exists());
    let own = wait_for_own_place(&folder);
    wait_until(|| own.join("data-0").exists());
    // Twice: the first one waits for the end of the cell.
    interrupted.interrupt().unwrap();
    pause(Duration::from_millis(200));
    interrupted.interrupt().unwrap();
    interrupted.wait(SOON).unwrap();
    assert!(interrupted.stderr().unwrap().contains("which a run that was killed had left"));
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["precious"], "{}", interrupted.stderr().unwrap());
}

#[test]
fn a_folder_of_another_user_stays_whichever_run_its_marker_names() {
    let Some(lab) = lab_with_nfs() else { return };
    let folder = export(&lab);
    let mut server = Ganesha::start(&lab, 1, &folder, OPEN);
    let text = study(&server.target("/data"), "\"at_end\"", 5);
    let mut killed = start_run(&lab, "killed", &text);
    let left = wait_for_own_place(&folder);
    wait_until(|| left.join("data-0").exists());
    killed.kill9().unwrap();
    // The server remembers owners for a minute.
    server.kill();
    std::os::unix::fs::chown(&left, Some(OTHER_USER), None).unwrap();
    server.start_again();
    let mut next = start_run(&lab, "next", &study(&server.target("/data"), "\"at_end\"", 1));
    next.wait(SOON).unwrap();
    assert!(left.join("made-by-narrows").exists() && left.join("data-0").exists());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "{}", next.stderr().unwrap());
}

#[test]
fn a_server_that_speaks_version_4_alone_is_named_with_what_to_do() {
    let Some(lab) = lab_with_nfs() else { return };
    let folder = export(&lab);
    let server = Ganesha::start_version(&lab, 1, &folder, 4);
    for (name, target) in [("ports", server.target("/data")), ("mapped", server.mapped_target("/data"))] {
        let mut check = Command::new(narrows_bin().unwrap());
        check.args(["check", &target]);
        let mut check = lab.start(name, check).unwrap();
        let status = check.wait(SOON).unwrap();
        let message = check.stderr().unwrap();
        assert!(!status.success(), "{message}");
        assert!(message.contains("the server speaks version 4 of NFS alone"), "{name}: {message}");
        assert!(message.contains("check the mounted folder"), "{name}: {message}");
    }
}

#[test]
fn refusals_of_a_server_say_what_to_do() {
    let Some(lab) = lab_with_nfs() else { return };
    let folder = export(&lab);
    let server = Ganesha::start(&lab, 1, &folder, "Squash = Root_Squash;");
    let refused = |target: &str| {
        let mut run = start_run(&lab, "refused", &study(target, "\"none\"", 1));
        run.wait(SOON).unwrap();
        run.stderr().unwrap()
    };
    let message = refused(&server.target("/nowhere"));
    assert!(message.contains("/nowhere") && message.contains("the server exports /data"), "{message}");
    let message = refused(&server.target("/data"));
    assert!(message.contains("root_squash") && message.contains("uid=N"), "{message}");
    let message = refused(&server.target("/data/missing"));
    assert!(message.contains("missing") && message.contains("NFS3ERR_NOENT"), "{message}");
    let message = refused(&server.target("/data").replace("20490", "20491"));
    assert!(message.contains("Connection refused") && message.contains("20491"), "{message}");
    let mut check = Command::new(narrows_bin().unwrap());
    check.args(["check", &server.target("/data")]);
    let mut check = lab.start("check", check).unwrap();
    check.wait(SOON).unwrap();
    assert!(check.stderr().unwrap().contains("root_squash"), "{}", check.stderr().unwrap());
    assert_nothing_left(&folder);
}
