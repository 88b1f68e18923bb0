//! Signals become requests to stop: the first Ctrl-C after the present cell; the second, SIGTERM and a closed terminal
//! at once.
//!
//! Before the load is started, nobody may be there to heed a request: a step of the preparation can be blocked in a
//! call. A signal then removes what was made and ends the process. Storage that answers nothing blocks a load and the
//! removal of its files alike: some time after a request to stop at once the process ends without them. A result that is
//! being printed may wait for its reader without end: a signal after a request to stop at once ends that wait.
//!
//! The thread that receives signals waits for no reader itself: it would not notice the next signal.

use crate::advice::clean_command;
use crate::exit::{CommandFailure, Exit};
use narrows_engines::own_folders::{
    own_folder_paths, remove_own_folders, stop_making_folders, uncleared_disks,
};
use narrows_model::printable;
use narrows_run::{StopFlag, StopRequest};
use narrows_sys::output::write_within;
use narrows_sys::process::end_now;
use narrows_sys::signals::{block_ending_signals, receive_ending_signals};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longest wait for the removal of what a preparation made: its file system may be what is blocked.
const REMOVED_WITHIN: Duration = Duration::from_secs(1);

/// Longest wait for a folder that is half made: it is one call that the file system answers, mostly at once.
const MADE_WITHIN: Duration = Duration::from_secs(4);
/// How long the load and the removal of what it has made may take after a request to stop at once: what answers at all
/// takes a second or two, a peer that does not is given up after five.
const STUCK_AFTER_S: u32 = 20;
/// Longest wait for room in each part of the last words: nobody may read stderr.
const LAST_WORDS_WITHIN: Duration = Duration::from_millis(100);

/// Whether a result is being printed, which may wait for its reader.
static PRINTING: AtomicBool = AtomicBool::new(false);
/// The record that is being written.
static RECORD: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Whether the load of this process has started. Locked by a signal that ends the process, and then for ever.
static LOAD_STARTED: Mutex<bool> = Mutex::new(false);

fn load_started() -> MutexGuard<'static, bool> {
    LOAD_STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on a signal is a request on the stop flag: whoever drives the load heeds it.
pub(crate) fn end_preparation() {
    *load_started() = true;
}

/// From now on `dir` is the record that is being written.
pub(crate) fn note_record(dir: &Path) {
    *RECORD.lock().unwrap_or_else(PoisonError::into_inner) = Some(dir.to_path_buf());
}

/// Does `print`, which may wait for a reader without end: that is no load that does not end.
pub(crate) fn while_printing<T>(print: impl FnOnce() -> T) -> T {
    PRINTING.store(true, Ordering::Release);
    let printed = print();
    PRINTING.store(false, Ordering::Release);
    printed
}

/// Waits for ever if a signal is ending this process, whose exit code is then the signal's.
pub(crate) fn wait_for_ending() {
    drop(load_started());
}

/// What the first Ctrl-C asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// Stop after the present cell; the second one stops now.
    AfterCell,
    /// Stop now.
    Now,
}

/// Turns signals into requests on `stop` from now on, and ends the process if a request to stop at once is not met in time;
/// `notify` is called for each, and must wait for nothing.
///
/// One thread receives all signals: the others, those that the caller starts from now on included, may be waiting for
/// storage that does not answer, and a signal that the kernel gave to such a thread would be noticed by none.
///
/// # Errors
/// When the system refuses a signal handler.
pub(crate) fn install_handlers(
    stop: &StopFlag,
    interrupt: Interrupt,
    notify: impl Fn(StopRequest) + Send + 'static,
) -> Result<(), CommandFailure> {
    let failed = |error: String| CommandFailure::could_not_run(format!("catch Ctrl-C: {error}"));
    block_ending_signals().map_err(|error| failed(error.to_string()))?;
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|error| failed(error.to_string()))?;
    let stop = stop.clone();
    std::thread::spawn(move || {
        // It cannot fail where blocking them did not.
        drop(receive_ending_signals());
        let mut is_watched = false;
        for signal in &mut signals {
            let started = load_started();
            if !*started {
                end_process(signal);
            }
            drop(started);
            if is_watched && PRINTING.load(Ordering::Acquire) {
                end_printing(signal);
            }
            if signal == SIGINT && interrupt == Interrupt::AfterCell {
                stop.ask_sooner();
            } else {
                stop.ask(StopRequest::Now);
            }
            if stop.is_now() && !is_watched {
                is_watched = true;
                std::thread::spawn(move || end_if_stuck(signal));
            }
            notify(stop.request());
        }
    });
    Ok(())
}

/// Ends the process before its load: removes what it has made, as far as that is done in a second after the folder that is
/// being made, if any, is there.
fn end_process(signal: i32) -> ! {
    let left = remove_folders_in_time();
    let first = format!("stopped by {} before the load was started; nothing was measured", name_of(signal));
    let text = messages(std::iter::once(first).chain(left));
    say_last(&text);
    end_now(CommandFailure::could_not_run(text).code())
}

/// Ends the process while a result waits for its reader: the record has all of it.
fn end_printing(signal: i32) -> ! {
    // The main thread must not end with another code.
    let _ending = load_started();
    let left = remove_folders_in_time();
    let record = RECORD.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let text = unread_words(signal, record.as_deref(), left);
    say_last(&text);
    let code = match record {
        Some(_) => Exit::Untrustworthy.code(),
        None => CommandFailure::could_not_run(text).code(),
    };
    end_now(code)
}

/// What is said of a result that nobody reads.
fn unread_words(signal: i32, record: Option<&Path>, left: Vec<String>) -> String {
    let first = format!("stopped by {} while the output waited for its reader", name_of(signal));
    let measured = record.map(|dir| format!("what was measured is in the record {}", dir.display()));
    messages(std::iter::once(first).chain(measured).chain(left))
}

/// Removes the folders that this process has made, in bounded time; what stays or may stay, in sentences.
fn remove_folders_in_time() -> Vec<String> {
    let ((made, whole), (sender, done)) = (channel(), channel());
    std::thread::spawn(move || {
        stop_making_folders();
        // Whoever waited too long has ended the process.
        let _ = made.send(());
        drop(sender.send(remove_own_folders()));
    });
    whole
        .recv_timeout(MADE_WITHIN)
        .and_then(|()| done.recv_timeout(REMOVED_WITHIN))
        .unwrap_or_else(|_| left_behind())
}

/// Ends the process if it has not ended by itself some time after the signal.
fn end_if_stuck(signal: i32) {
    let (_open, pause) = channel::<()>();
    for _ in 0..STUCK_AFTER_S {
        let _ = pause.recv_timeout(Duration::from_secs(1));
        // A result that is being printed waits for its reader alone.
        while PRINTING.load(Ordering::Acquire) {
            let _ = pause.recv_timeout(Duration::from_secs(1));
        }
    }
    // A signal that comes now changes nothing, and the main thread must not end with another code.
    let _ending = load_started();
    let record = RECORD.lock().unwrap_or_else(PoisonError::into_inner).clone();
    say_last(&stuck_words(signal, record.as_deref(), left_behind()));
    end_now(Exit::Untrustworthy.code())
}

/// What this process has made and not removed, and what removes it, in sentences.
fn left_behind() -> Vec<String> {
    let folders = match own_folder_paths() {
        Some(folders) => folders.iter().map(|folder| left_words(folder)).collect(),
        None => vec!["a test folder may stay: `narrows clean` lists it".to_owned()],
    };
    let disks = uncleared_disks().unwrap_or_else(|| {
        vec!["test data may be left on a disk; the next run that may write there clears it".to_owned()]
    });
    folders.into_iter().chain(disks).collect()
}

/// What is said of a load or a removal that does not end.
fn stuck_words(signal: i32, record: Option<&Path>, left: Vec<String>) -> String {
    let first = format!(
        "stopped by {}, but the load and the removal of its files have not ended within {STUCK_AFTER_S} s: \
         storage or a peer does not answer",
        name_of(signal)
    );
    let measured =
        record.map(|dir| format!("what was measured until then is in the record {}", dir.display()));
    messages(std::iter::once(first).chain(measured).chain(left))
}

fn left_words(folder: &Path) -> String {
    let around = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    format!(
        "test folder {} stays; once its storage answers, remove it with: {}",
        folder.display(),
        clean_command(around)
    )
}

/// Writes `text` to stderr, which another thread may have locked while it waits for a reader.
fn say_last(text: &str) {
    write_within(std::io::stderr(), text, LAST_WORDS_WITHIN);
}

fn name_of(signal: i32) -> &'static str {
    signal_hook::low_level::signal_name(signal).unwrap_or("a signal")
}

/// `lines` as messages of this program.
fn messages(lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.map(|line| format!("narrows: {}\n", printable::one_line(&line))).collect();
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_name_the_record_and_what_is_left() {
        let left = ["/mnt/a/.narrows-1", ".narrows-2"].map(|folder| left_words(Path::new(folder)));
        let text = stuck_words(SIGTERM, Some(Path::new("record")), left.to_vec());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("narrows: stopped by SIGTERM"), "{text}");
        assert!(lines[1].ends_with("is in the record record"), "{text}");
        assert!(lines[2].contains("/mnt/a/.narrows-1 stays"), "{text}");
        assert!(lines[2].ends_with("narrows clean /mnt/a --remove"), "{text}");
        assert!(lines[3].ends_with("narrows clean . --remove"), "{text}");
        let text = unread_words(SIGTERM, Some(Path::new("record")), vec!["test folder a: busy".to_owned()]);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains("what was measured is in the record record\n"), "{text}");
    }
}
