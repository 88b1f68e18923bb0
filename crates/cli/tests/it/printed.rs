//! Names that somebody else chose, and ends that the shell decides: nothing printed steers a terminal.

use crate::support::{run, strangers_folder};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

/// Clears the screen, sets a title, a control sequence in one character (C1), deletes, turns the direction of writing.
const HOSTILE: &str = "a\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}1m\u{7f}\u{202e}\rb";

/// Characters that a terminal acts on instead of showing them.
fn steering(text: &str) -> Vec<char> {
    let steers =
        |c: char| (c.is_control() && c != '\n' && c != '\t') || ('\u{202a}'..='\u{202e}').contains(&c);
    text.chars().filter(|c| steers(*c)).collect()
}

#[test]
fn control_characters_of_names_are_escaped_in_everything_printed() {
    let folder = strangers_folder();
    let hostile = folder.path().join(HOSTILE);
    std::fs::create_dir(&hostile).unwrap();
    let name = hostile.to_str().unwrap();
    let none = format!("{name}/none");
    let option = format!("--{HOSTILE}");
    let listen = ["--listen", "127.0.0.1:0"];
    for words in [
        &["check", name, "--plan"][..],
        &["check", name, "--plan", "--json"],
        &["check", &none],
        &["check", &option],
        &["run", &none],
        &["diagnose", &none],
        &["compare", &none, name],
        &["import", "fio", &none],
        &["serve", "--root", &none, listen[0], listen[1]],
    ] {
        let seen = run(folder.path(), words);
        assert_eq!(steering(&seen.stdout), [], "{words:?}: {}", seen.stdout);
        assert_eq!(steering(&seen.stderr), [], "{words:?}: {}", seen.stderr);
    }
    let seen = run(folder.path(), &["check", name, "--plan"]);
    assert!(seen.stdout.contains("a\\u001b[2J\\u001b]0;x\\u0007\\u009b1m\\u007f\\u202e\\u000db"), "{seen:?}");
}

#[test]
fn a_word_of_two_lines_is_refused_and_forges_none() {
    let folder = strangers_folder();
    for words in [&["check", "x\nnarrows: all is well"][..], &["diagnose", "x\nnarrows: all is well"]] {
        let seen = run(folder.path(), words);
        seen.assert_said(2, &["x\\u000anarrows: all is well", "line break"]).assert_no_result();
        assert!(!seen.stderr.lines().any(|line| line.starts_with("narrows: all is well")), "{seen:?}");
    }
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_kills_nothing() {
    let folder = strangers_folder();
    // In blocks of 512 or 1024 bytes: too small for the record, then for the load's files alone.
    for limit in [8, 4096] {
        let script =
            format!("ulimit -f {limit}; exec '{}' check target --seconds 10", env!("CARGO_BIN_EXE_narrows"));
        let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.signal(), None, "{stderr}");
        assert!(matches!(output.status.code(), Some(3 | 4)), "{stderr}");
        assert!(stderr.contains("File too large") && stderr.contains("ulimit -f"), "{stderr}");
        let printed = String::from_utf8(output.stdout).unwrap();
        let is_advised = printed.contains("NEXT: fix what failed");
        assert!(is_advised || limit < 4096, "more time mends nothing: {printed}");
        assert!(!stderr.contains("of 0 loads"), "{stderr}");
        let left: Vec<_> = std::fs::read_dir(folder.path().join("target")).unwrap().flatten().collect();
        assert_eq!(left.len(), 3, "more than was there before: {left:?}");
    }
}

#[test]
fn a_plan_is_json_where_that_is_asked_for_and_runs_nothing() {
    let folder = strangers_folder();
    let names = || {
        let listed = std::fs::read_dir(folder.path().join("target")).unwrap();
        listed.map(|entry| entry.unwrap().file_name()).collect::<std::collections::BTreeSet<_>>()
    };
    let before = names();
    let seen = run(folder.path(), &["check", "target", "--plan", "--json"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let plan: serde_json::Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!(plan["schema"], "narrows.plan/1");
    assert!(plan["cells"].as_array().is_some_and(|cells| cells.len() > 5), "{}", seen.stdout);
    assert_eq!(names(), before, "nothing was made");
}
