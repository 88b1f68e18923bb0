//! Output that nobody reads or that cannot be written ends in no panic.

use crate::support::{narrows, record, strangers_folder};
use std::fs::File;
use std::process::{Command, Stdio};

#[test]
fn a_reader_that_goes_away_early_is_no_failure() {
    let folder = strangers_folder();
    record::write(&folder.path().join("record"));
    let binary = env!("CARGO_BIN_EXE_narrows");
    for command in ["diagnose record --json", "diagnose record", "explain", "--help", "check target --plan"] {
        // `pipefail` is not everywhere: the exit code comes through the second stream.
        let script = format!("{{ '{binary}' {command}; echo \"code $?\" >&2; }} | head -c 1 > head");
        let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("code 0") && !stderr.contains("panicked"), "{command}: {stderr}");
    }
}

#[test]
fn a_full_disk_under_stdout_is_reported() {
    let folder = strangers_folder();
    record::write(&folder.path().join("record"));
    for words in [&["diagnose", "record"][..], &["explain"], &["check", "target", "--plan"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = narrows(folder.path(), words).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{words:?}: {stderr}");
        assert!(stderr.contains("stdout") && stderr.contains("No space left"), "{stderr}");
    }
}

#[test]
fn a_closed_stderr_does_not_change_the_result() {
    let folder = strangers_folder();
    record::write(&folder.path().join("record"));
    let binary = env!("CARGO_BIN_EXE_narrows");
    let run = |tail: &str| {
        let script = format!("'{binary}' diagnose record {tail}");
        Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap()
    };
    let (open, closed) = (run(""), run("2>&-"));
    assert_eq!((open.status.code(), &open.stdout), (closed.status.code(), &closed.stdout));
    let no_output = run(">&-");
    assert!(matches!(no_output.status.code(), Some(0 | 3)), "{no_output:?}");
    assert!(!String::from_utf8_lossy(&no_output.stderr).contains("panicked"));
}
