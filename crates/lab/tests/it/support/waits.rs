//! Waits for what a run or a server does: bounded, and failing where it does not come.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use narrows_lab::clock::monotonic_ns;

/// How long [`wait_until`] waits.
const USUALLY: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(10);
const RARE_LOOK_EVERY: Duration = Duration::from_millis(500);

/// Waits until something is so.
#[track_caller]
pub(crate) fn wait_until(is_so: impl Fn() -> bool) {
    look_until(USUALLY, LOOK_EVERY, is_so);
}

/// Waits until something is so that takes longer than others: it is looked at every half second.
#[track_caller]
pub(crate) fn wait_within(longest: Duration, is_so: impl Fn() -> bool) {
    look_until(longest, RARE_LOOK_EVERY, is_so);
}

#[track_caller]
fn look_until(longest: Duration, every: Duration, is_so: impl Fn() -> bool) {
    let now = || Duration::from_nanos(monotonic_ns());
    let deadline = now() + longest;
    while now() < deadline {
        if is_so() {
            return;
        }
        pause(every);
    }
    panic!("it did not come to be within {longest:?}");
}

/// The place that a run makes in `folder`, once it is there with its marker.
#[track_caller]
pub(crate) fn wait_for_own_place(folder: &Path) -> PathBuf {
    let found = || {
        let entries = fs::read_dir(folder).ok()?.map(|entry| entry.unwrap().path());
        let mut own = entries.filter(|path| path.join("made-by-narrows").exists());
        own.next()
    };
    wait_until(|| found().is_some());
    found().unwrap()
}

/// Returns when a run whose record is in this folder measures a load.
#[track_caller]
pub(crate) fn wait_until_measuring(record: &Path) {
    let events = record.join("events.jsonl");
    wait_until(|| fs::read_to_string(&events).is_ok_and(|text| text.contains(r#""phase":"measure""#)));
}

/// Lets time pass: the load goes on meanwhile.
pub(crate) fn pause(time: Duration) {
    let (_open, waits) = std::sync::mpsc::channel::<()>();
    let _ = waits.recv_timeout(time);
}
