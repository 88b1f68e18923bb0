//! What bonnie++ asks of the kernel is what it says it does, as strace sees it.

use std::collections::BTreeMap;
use std::fs;

use crate::support::lab;
use crate::support::strace::{TracedCall, traced_suite};

/// How often each call was made in one thread: on a process's file by its name and what it returned, with `back` where it
/// writes what was read last, on the many files by what it does.
type Calls = BTreeMap<String, u64>;

/// The key of the call that gives a thread a table of open files of its own.
const OWN_TABLE: &str = "own table";

/// The calls of one thread.
fn calls(traced: &[TracedCall]) -> Calls {
    let mut calls = Calls::new();
    let (mut position, mut read_last) = (0, None);
    for TracedCall { text, .. } in traced {
        let Some((call, returned)) = text.rsplit_once(" = ") else { continue };
        let Some((name, arguments)) = call.split_once('(') else { continue };
        let first = arguments.split('>').next().unwrap_or_default();
        let key = if first.contains("/data-") && name == "lseek" {
            position = returned.trim().parse().unwrap();
            name.to_owned()
        } else if first.contains("/data-") && !name.starts_with("open") {
            let returned = returned.trim();
            let back = if name == "write" && read_last == Some(position) { " back" } else { "" };
            read_last = (name == "read").then_some(position);
            if matches!(name, "read" | "write") {
                position += returned.parse::<u64>().unwrap();
            }
            format!("{name} {returned}{back}")
        } else if name == "close_range" && arguments.contains("UNSHARE") && returned.trim() == "0" {
            OWN_TABLE.to_owned()
        } else if first.contains("/objects-") && !returned.contains("-1 E") {
            match name {
                "openat" if arguments.contains("O_CREAT") => "create".to_owned(),
                "newfstatat" | "statx" => "stat".to_owned(),
                "unlinkat" => "delete".to_owned(),
                _ => continue,
            }
        } else {
            continue;
        };
        *calls.entry(key).or_default() += 1;
    }
    calls
}

/// The calls of each thread with any, in the order in which threads were started.
fn traced(words: &str) -> Option<Vec<Calls>> {
    let lab = lab()?;
    let scratch = lab.scratch();
    let folder = scratch.join("target");
    fs::create_dir(&folder).unwrap();
    let traced =
        "openat,newfstatat,statx,unlinkat,lseek,read,write,pread64,pwrite64,fdatasync,fsync,close_range";
    let mut suite = vec!["bonnie", "-r", "0", "-z", "4", "-d", folder.to_str().unwrap()];
    suite.extend(words.split_whitespace());
    let run = traced_suite(scratch, traced, &suite);
    Some(run.threads.iter().map(|thread| calls(thread)).filter(|calls| !calls.is_empty()).collect())
}

/// The calls that move bytes or make them durable, of threads with any.
fn of_data(threads: &[Calls]) -> Vec<Calls> {
    let moves = |key: &str| {
        ["lseek", "pread64", "pwrite64", "read", "write", "fdatasync"]
            .iter()
            .any(|name| key.starts_with(name))
    };
    let kept = threads.iter().map(|calls| {
        calls.iter().filter(|(key, _)| moves(key)).map(|(key, count)| (key.clone(), *count)).collect()
    });
    kept.filter(|calls: &Calls| !calls.is_empty()).collect()
}

/// Places that each seeker reads, and seeks with those back to the two that it writes back.
const SOUGHT: u64 = 20;
const SEEKS: u64 = SOUGHT + 2;

fn expected(calls: &[(&str, u64)]) -> Calls {
    calls.iter().map(|(key, count)| ((*key).to_owned(), *count)).collect()
}

/// Blocks written, rewritten, read; then two seekers of twenty seeks, each of which writes back every tenth block. A
/// write-back seeks to its block again; with the seed of these tests no seek is to where the one before it ended.
fn blocks() -> Vec<Calls> {
    let seeker = [("lseek", SEEKS), ("read 8192", SOUGHT), ("write 8192 back", 2), ("fdatasync 0", 1)];
    vec![
        expected(&[("write 8192", 128), ("fdatasync 0", 1)]),
        expected(&[("lseek", 128), ("read 8192", 128), ("write 8192 back", 128), ("fdatasync 0", 1)]),
        expected(&[("read 8192", 128)]),
        expected(&seeker),
        expected(&seeker),
    ]
}

#[test]
fn blocks_are_a_call_each_and_every_tenth_seek_is_written_back() {
    let Some(threads) = traced("-s 1:8k:40:2 -f -n 0") else { return };
    assert_eq!(of_data(&threads), blocks());
}

#[test]
fn every_process_does_all_of_each_phase() {
    let Some(threads) = traced("-s 1:8k:40:2 -f -n 0 -p 2") else { return };
    let mut found = of_data(&threads);
    let mut wanted: Vec<Calls> = blocks().into_iter().flat_map(|calls| [calls.clone(), calls]).collect();
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
}

#[test]
fn with_b_every_write_is_followed_by_a_sync() {
    let Some(threads) = traced("-s 1:8k:40:2 -f -n 0 -b") else { return };
    let found = of_data(&threads);
    assert_eq!(found[0], expected(&[("write 8192", 128), ("fdatasync 0", 128)]));
    assert_eq!(found[1]["fdatasync 0"], 128, "{found:?}");
}

#[test]
fn a_thousand_files_are_made_looked_at_and_deleted_once_each_in_both_orders() {
    let Some(threads) = traced("-s 0 -n 1") else { return };
    let most = |calls: &Calls| {
        calls.iter().find(|(_, count)| **count >= 1024).map(|(key, count)| (key.clone(), *count))
    };
    let found: Vec<(String, u64)> = threads.iter().filter_map(most).collect();
    let phases = ["create", "stat", "delete", "create", "stat", "delete"];
    assert_eq!(found, phases.map(|phase| (phase.to_owned(), 1024)), "{threads:?}");
}

#[test]
fn who_is_alone_in_a_phase_shares_its_open_files_with_no_thread() {
    let Some(threads) = traced("-s 1:8k:40:2 -f -n 1") else { return };
    let loads = |calls: &&Calls| {
        calls.iter().any(|(key, count)| key.starts_with("read") || key.starts_with("write") || *count >= 1024)
    };
    let tables: Vec<u64> =
        threads.iter().filter(loads).map(|calls| calls.get(OWN_TABLE).copied().unwrap_or_default()).collect();
    // Three phases of blocks, two that seek together, six of many files.
    assert_eq!(tables, [1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1], "{threads:?}");
}
