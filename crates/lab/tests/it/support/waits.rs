//! Waits for what a run or a server does: bounded, and failing where it does not come.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Looks at what is waited for, each after [`LOOK_EVERY`]: fifteen seconds in all.
const LOOKS: u32 = 1500;
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Waits until something is so.
#[track_caller]
pub(crate) fn wait_until(is_so: impl Fn() -> bool) {
    for _ in 0..LOOKS {
        if is_so() {
            return;
        }
        pause(LOOK_EVERY);
    }
    panic!("it did not come to be");
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

/// Lets time pass: the load goes on meanwhile.
pub(crate) fn pause(time: Duration) {
    let (_open, waits) = std::sync::mpsc::channel::<()>();
    let _ = waits.recv_timeout(time);
}
