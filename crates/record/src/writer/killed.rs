//! What a writer leaves when its process is killed: a second process writes, and is ended with SIGKILL.
//!
//! No waiting: the second process reports each event it has written, and is killed after a given number.

use super::*;
use crate::{Record, damage::DamageKind, samples};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

/// Called after every event.
const WRITTEN: u8 = 1;

#[test]
#[ignore = "is the second process of the test below; alone it is given no folder and does nothing"]
fn writes_until_it_is_killed() {
    let mut dir = String::new();
    std::io::stdin().read_to_string(&mut dir).unwrap();
    if dir.is_empty() {
        return;
    }
    let mut writer =
        Writer::create(Path::new(&dir), samples::manifest(), &samples::plan(2), &samples::inventory())
            .unwrap();
    let mut out = std::io::stdout();
    for index in 0.. {
        for event in [samples::interval(index, 0), samples::trial(index, 400)] {
            writer.event(&event).unwrap();
            if out.write_all(&[WRITTEN]).and_then(|()| out.flush()).is_err() {
                return;
            }
        }
    }
}

fn start(dir: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "writer::killed::writes_until_it_is_killed", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(dir.to_str().unwrap().as_bytes()).unwrap();
    child
}

/// Lets the second process write `count` events or more, and kills it.
fn killed_after(dir: &Path, count: usize) -> usize {
    let mut child = start(dir);
    let mut out = child.stdout.take().unwrap();
    let mut written = 0;
    let mut byte = [0];
    while written < count && out.read(&mut byte).unwrap() == 1 {
        written += usize::from(byte[0] == WRITTEN);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    written
}

#[test]
fn a_record_is_readable_whenever_its_writer_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    for count in 0..24 {
        let dir = folder.path().join(count.to_string());
        let written = killed_after(&dir, count);
        assert_eq!(written, count);
        if !dir.exists() {
            // Killed before there was a record.
            assert_eq!(count, 0);
            continue;
        }
        let record = Record::open(&dir).unwrap();
        let read = record.timeline().unwrap().map(Result::unwrap).count();
        assert!(read >= count, "{read} of {count} events");
        let damage = record.damage().clone().followed_by(&record.check_samples().unwrap());
        assert!(
            damage.listed().iter().all(|damage| matches!(damage.kind, DamageKind::TornEnd { .. })),
            "{damage:?}"
        );
        assert_eq!(record.manifest().complete, None);
    }
}
