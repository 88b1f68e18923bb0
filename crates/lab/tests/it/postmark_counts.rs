//! What PostMark asks of the kernel is what its report says, as strace sees it.

use std::fs;

use crate::support::lab;
use crate::support::strace::traced_suite;

/// Calls on files that are named by numbers, as PostMark's are.
#[derive(Debug, Default, PartialEq, Eq)]
struct Calls {
    created: u64,
    appended: u64,
    read: u64,
    deleted: u64,
    bytes_read: u64,
    bytes_written: u64,
    largest_read: u64,
    largest_written: u64,
}

/// Whether `name` is that of one of PostMark's files.
fn is_file(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or_default();
    !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())
}

/// Adds what one line of `strace -y` says.
fn add(line: &str, calls: &mut Calls) {
    let Some((call, returned)) = line.rsplit_once(" = ") else { return };
    let returned = returned.split(['<', ' ']).next().unwrap_or_default();
    let Ok(returned) = returned.parse::<u64>() else { return };
    let Some((name, rest)) = call.split_once('(') else { return };
    let path = rest.split('"').nth(1).unwrap_or_default();
    let of_open_file = rest.split(['<', '>']).nth(1).is_some_and(is_file);
    match name {
        "openat" if is_file(path) && rest.contains("O_CREAT") => calls.created += 1,
        "openat" if is_file(path) && rest.contains("O_APPEND") => calls.appended += 1,
        "openat" if is_file(path) && rest.contains("O_RDONLY") && !rest.contains("O_DIRECTORY") => {
            calls.read += 1;
        }
        "unlinkat" if is_file(path) && !rest.contains("AT_REMOVEDIR") => calls.deleted += 1,
        "read" if of_open_file => {
            calls.bytes_read += returned;
            calls.largest_read = calls.largest_read.max(returned);
        }
        "write" if of_open_file => {
            calls.bytes_written += returned;
            calls.largest_written = calls.largest_written.max(returned);
        }
        _ => {}
    }
}

/// The report of a run with `words`, and the calls of all its threads.
fn traced(words: &str) -> Option<(String, Calls)> {
    let lab = lab()?;
    let scratch = lab.scratch();
    let folder = scratch.join("target");
    fs::create_dir(&folder).unwrap();
    let mut suite = vec!["postmark", "--location", folder.to_str().unwrap()];
    suite.extend(words.split_whitespace());
    let run = traced_suite(scratch, "openat,unlinkat,read,write", &suite);
    let mut calls = Calls::default();
    run.threads.iter().flatten().for_each(|call| add(&call.text, &mut calls));
    Some((run.stdout, calls))
}

fn figure(report: &str, words: &str) -> f64 {
    let line =
        report.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}: {report}"));
    line.split_whitespace().find_map(|word| word.parse().ok()).unwrap()
}

#[track_caller]
fn assert_same(report: &str, calls: &Calls) {
    let count = |words: &str| figure(report, words);
    let near = |reported: f64, seen: u64, what: &str| {
        assert!((reported - seen as f64).abs() < 0.5, "{what}: {reported}, {calls:?}\n{report}");
    };
    near(count(" created"), calls.created, "created");
    near(count(" read ("), calls.read, "read");
    near(count(" appended"), calls.appended, "appended");
    near(count(" deleted"), calls.deleted, "deleted");
    let kilobytes = |words: &str, bytes: u64| {
        let reported = figure(report, words);
        assert!(
            (reported - bytes as f64 / 1024.0).abs() < 0.0051,
            "{words}: {reported}, {calls:?}\n{report}"
        );
    };
    kilobytes("kilobytes read", calls.bytes_read);
    kilobytes("kilobytes written", calls.bytes_written);
}

#[test]
fn the_report_has_the_files_and_bytes_that_the_kernel_was_asked_for() {
    let words = "--number 50 --transactions 120 --size 100,4000 --subdirectories 3";
    let Some((report, calls)) = traced(&format!("{words} --buffering false")) else { return };
    assert_same(&report, &calls);
    // Each call moves a block of 512 bytes at most.
    assert_eq!((calls.largest_read, calls.largest_written), (512, 512));
    let (report, streamed) = traced(&format!("{words} --buffering true")).unwrap();
    assert_same(&report, &streamed);
    assert_eq!(
        (streamed.created, streamed.bytes_written, streamed.bytes_read),
        (calls.created, calls.bytes_written, calls.bytes_read)
    );
    assert!(streamed.largest_written > 512 && streamed.largest_read > 512, "{streamed:?}");
}

#[test]
fn blocks_of_reading_and_of_writing_are_set_apart() {
    let words = "--number 40 --transactions 100 --size 5000 --read 1000 --write 3000 --buffering false --bias-read 10";
    let Some((report, calls)) = traced(words) else { return };
    assert_same(&report, &calls);
    assert_eq!((calls.largest_read, calls.largest_written), (1000, 3000));
}
