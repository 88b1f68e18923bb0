//! Who a test folder belongs to: the process that its marker names, and whether that process is still there.
//!
//! Folders are only named to the user, never removed here: on shared storage the owner may run on another machine.

use narrows_engines::psync::TestFolder;
use narrows_sys::process::started_ticks;
use std::fs;
use std::path::Path;

/// Words of a marker, in order: process, its start, its machine.
const PROCESS: &str = "narrows, process ";
const STARTED: &str = " started at tick ";
const MACHINE: &str = " on ";

/// The line of a marker that names this process.
pub(super) fn line() -> String {
    let pid = std::process::id();
    let started = started_ticks(pid).unwrap_or(0);
    format!("{PROCESS}{pid}{STARTED}{started}{MACHINE}{}", machine())
}

/// For each test folder in `parent` whose process is gone: a sentence that names it and the command to remove it.
pub(crate) fn leftovers(parent: &Path) -> Vec<String> {
    let left = TestFolder::left_behind(parent).into_iter();
    left.filter(|(_, owner)| is_gone(owner)).map(|(path, owner)| sentence(&path, &owner)).collect()
}

fn sentence(path: &Path, owner: &str) -> String {
    let process = parsed(owner).map_or_else(String::new, |(pid, _, _)| format!(" (process {pid})"));
    format!(
        "narrows: a run that was killed{process} left its test folder behind; remove it with: rm -r {}",
        quoted(&path.display().to_string())
    )
}

/// Whether the process named by `line` ran on this machine and has ended. Unknown counts as not gone.
fn is_gone(line: &str) -> bool {
    let Some((pid, started, machine_name)) = parsed(line) else { return false };
    machine_name == machine() && started_ticks(pid) != Some(started)
}

fn parsed(line: &str) -> Option<(u32, u64, &str)> {
    let (pid, rest) = line.strip_prefix(PROCESS)?.split_once(STARTED)?;
    let (started, machine) = rest.split_once(MACHINE)?;
    Some((pid.parse().ok()?, started.parse().ok()?, machine))
}

fn machine() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// `text` as one word of a shell.
fn quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+,:@%=".contains(letter);
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with('-') {
        return text.to_owned();
    }
    let dashed = if text.starts_with('-') { "./" } else { "" };
    format!("'{dashed}{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_process_is_not_gone() {
        assert!(!is_gone(&line()), "{}", line());
    }

    #[test]
    fn a_process_that_was_waited_for_is_gone() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(is_gone(&format!("{PROCESS}{pid}{STARTED}1{MACHINE}{}", machine())));
    }

    #[test]
    fn a_later_process_with_the_same_number_does_not_keep_a_folder() {
        let pid = std::process::id();
        assert!(is_gone(&format!("{PROCESS}{pid}{STARTED}0{MACHINE}{}", machine())));
    }

    #[test]
    fn the_process_of_another_machine_is_never_called_gone() {
        let elsewhere = format!("{PROCESS}4000000{STARTED}1{MACHINE}not-{}", machine());
        assert!(!is_gone(&elsewhere));
        assert!(!is_gone("some other line"));
    }

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(quoted("/srv/a b/it's"), r"'/srv/a b/it'\''s'");
        assert_eq!(quoted("-rf/x"), "'./-rf/x'");
        assert_eq!(quoted("./.narrows-01"), "./.narrows-01");
    }
}
