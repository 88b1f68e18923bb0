//! Every option that takes a number, a size or a list refuses what is none, and says what is allowed.

use crate::support::{Surroundings, run, strangers_folder};

/// What is no number for any option, and too large for all of them.
const NEVER: [&str; 7] = ["", "x", "-1", "1x", "1 2", "0x10", "99999999999999999999999999"];

#[track_caller]
fn refuses(command: &[&str], option: &str, values: &[&str]) {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    for value in NEVER.iter().chain(values) {
        let word = format!("{option}={value}");
        let seen = run(folder.path(), &[command, &[word.as_str()]].concat());
        assert_eq!(seen.code, Some(2), "{word}: {seen:?}");
        seen.assert_said(2, &[option.trim_start_matches('-')]).assert_no_result();
    }
    before.assert_same(folder.path());
}

const CHECK: [&str; 2] = ["check", "target"];

#[test]
fn times_are_above_zero_and_end() {
    for option in ["--seconds", "--cell-seconds"] {
        refuses(&CHECK, option, &["0", "-0.0", "nan", "inf", "1e300", "0.00001s"]);
    }
    refuses(&["serve"], "--max-seconds", &["0", "nan", "inf"]);
}

#[test]
fn counts_are_whole_and_bounded() {
    refuses(&CHECK, "--trials", &["0", "1001", "1.5"]);
    refuses(&CHECK, "--depth", &["0", "1025", "1,,2", "1,0", "1.5"]);
    refuses(&["serve"], "--max-connections", &["0", "65537", "1.5"]);
    refuses(&CHECK, "--seed", &["1.5", "18446744073709551616"]);
}

#[test]
fn sizes_are_above_zero_and_fit_into_memory_addresses() {
    for option in ["--block", "--max-rate"] {
        refuses(&CHECK, option, &["0", "1.5.5K", "4Q", "KiB", "18446744073709551615G"]);
    }
    refuses(&["serve"], "--max-bytes", &["0", "4Q"]);
}

#[test]
fn blocks_too_large_for_a_request_are_refused_before_memory_is_taken() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    for block in ["16EiB", "8EiB", "1TiB", "64GiB"] {
        let seen = run(folder.path(), &["check", "target", "--block", block]);
        assert_eq!(seen.code, Some(2), "{block}: {seen:?}");
        seen.assert_orderly();
    }
    before.assert_same(folder.path());
}

#[test]
fn words_are_from_their_lists() {
    refuses(&CHECK, "--op", &["erase", "read,erase"]);
    refuses(&["serve"], "--listen", &["localhost", "127.0.0.1", "127.0.0.1:99999"]);
}

#[test]
fn unknown_commands_options_and_codes_are_refused() {
    let folder = strangers_folder();
    for words in
        [&["measure"][..], &["check", "--fast"], &["check", "a", "b"], &["diagnose"], &["explain", "no.such"]]
    {
        run(folder.path(), words).assert_said(2, &[]).assert_no_result();
    }
}
