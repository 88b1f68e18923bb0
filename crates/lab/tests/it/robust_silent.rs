//! Storage that answers nothing: a file system whose daemon is stopped, as a network file system whose server is gone.
//!
//! The kernel cannot end a process while a thread of it waits for such storage. What is asserted before the storage answers
//! again is what is said; the end is asserted after that.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::robust::{Mounted, narrows, see};
use crate::support::lab_with_disks;
use narrows_lab::{Lab, LabProcess};

/// Longer than anything here takes, the 20 s until last words included, however busy the machine is.
const LATEST: Duration = Duration::from_mins(1);

/// A folder that is served by a process which can be stopped; it is killed first of all when the test ends, however it ends:
/// whatever waits for it fails then.
struct ServedFolder {
    daemon: LabProcess,
    mounted: Mounted,
}

impl ServedFolder {
    fn mount(lab: &Lab) -> Self {
        let [below, point] = ["below", "served"].map(|name| lab.scratch().join(name));
        fs::create_dir(&below).unwrap();
        fs::create_dir(&point).unwrap();
        let mut command = Command::new("bindfs");
        command.arg("-f").args([&below, &point]);
        let daemon = lab.start("bindfs", command).unwrap();
        let served = Self { daemon, mounted: Mounted::found(&point) };
        let device = |path: &Path| fs::metadata(path).unwrap().dev();
        wait_until("bindfs has mounted its folder", || device(&point) != device(&below));
        served
    }

    fn path(&self) -> &Path {
        self.mounted.path()
    }

    #[track_caller]
    fn signal(&self, name: &str) {
        signal(name, &self.daemon);
    }
}

impl Drop for ServedFolder {
    fn drop(&mut self) {
        drop(self.daemon.kill9());
    }
}

#[track_caller]
fn signal(name: &str, process: &LabProcess) {
    let sent = Command::new("kill").args([name, &process.pid().to_string()]).status().unwrap();
    assert!(sent.success(), "kill {name}");
}

#[track_caller]
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let (_open, pause) = channel::<()>();
    for _ in 0..6000 {
        if holds() {
            return;
        }
        let _ = pause.recv_timeout(Duration::from_millis(10));
    }
    panic!("not within a minute: {what}");
}

/// The only test folder in `folder`.
fn test_folder(folder: &Path) -> PathBuf {
    let mut entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.find(|path| path.join("made-by-narrows").exists()).unwrap()
}

#[test]
fn a_terminate_is_heeded_while_storage_answers_nothing() {
    let Some(lab) = lab_with_disks() else { return };
    let served = ServedFolder::mount(&lab);
    let study = "title = \"silent\"\ntarget = \"served\"\nseconds = 300\n[workload]\nop = \"write\"\n\
                 file = \"4MiB\"\n[stop]\nmeasure = \"200s\"\ntrials = 1\n";
    fs::write(lab.scratch().join("study.toml"), study).unwrap();
    let mut run = lab.start("run", narrows(&lab, &["run", "study.toml", "--out", "record"])).unwrap();
    let events = lab.scratch().join("record/events.jsonl");
    wait_until("the load runs", || {
        fs::read_to_string(&events).is_ok_and(|text| text.contains(r#""phase":"measure""#))
    });
    let folder = test_folder(served.path());
    served.signal("-STOP");
    signal("-TERM", &run);
    let line = run.wait_for_line("stopped by SIGTERM", LATEST).unwrap();
    assert!(line.contains("does not answer"), "{line}");
    let name = folder.file_name().unwrap().to_str().unwrap();
    run.wait_for_line(&format!("test folder served/{name} stays"), LATEST).unwrap();
    served.signal("-CONT");
    let status = run.wait(LATEST).unwrap();
    let stderr = run.stderr().unwrap();
    assert_eq!(status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("is in the record record"), "{stderr}");
    let diagnosed = see(&mut narrows(&lab, &["diagnose", "record"]));
    assert!(matches!(diagnosed.code, Some(3 | 4)), "{diagnosed:#?}");
    assert!(!diagnosed.stderr.contains("panicked"), "{diagnosed:#?}");
    // As the last words advise.
    see(&mut narrows(&lab, &["clean", "served", "--remove"])).assert_said(0, &[]);
    assert!(!folder.exists(), "{}", folder.display());
}
