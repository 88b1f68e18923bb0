//! What mdtest asks of the kernel is what it says it does, as strace sees it.

use std::collections::BTreeMap;
use std::fs;

use crate::support::lab;
use crate::support::strace::{TracedCall, traced_suite};

/// How often each call was made in one thread: on items of a folder by the rank that they are named after, on open files by the
/// bytes that it returned.
type Calls = BTreeMap<String, u64>;

/// The folder and the rank of an item of this path: `objects-1/file.mdtest.0.7` is of rank 0 in `objects-1`.
fn item(folder: &str, name: &str) -> Option<String> {
    let mut parts = name.split('.');
    let kind = parts.next().filter(|kind| ["file", "dir"].contains(kind))?;
    let rank = parts.next().filter(|word| *word == "mdtest").and(parts.next())?;
    parts.next()?.parse::<u64>().ok()?;
    Some(format!("{kind} {rank} in {}", folder.rsplit('/').next()?))
}

/// The calls of one thread on items.
fn calls(traced: &[TracedCall]) -> Calls {
    let mut calls = Calls::new();
    for TracedCall { text, .. } in traced {
        let Some((call, returned)) = text.rsplit_once(" = ") else { continue };
        let Some((name, arguments)) = call.split_once('(') else { continue };
        let opened = arguments.split(['<', '>']).nth(1).unwrap_or_default();
        let path = arguments.split('"').nth(1).unwrap_or_default();
        let by_name = item(opened, path).filter(|_| !returned.contains("-1 E"));
        let key = match (name, by_name) {
            ("mkdirat", Some(item)) => format!("mkdir {item}"),
            ("newfstatat" | "statx", Some(item)) => format!("stat {item}"),
            ("unlinkat", Some(item)) if arguments.contains("AT_REMOVEDIR") => format!("rmdir {item}"),
            ("unlinkat", Some(item)) => format!("unlink {item}"),
            ("openat", Some(item)) if arguments.contains("O_CREAT|O_EXCL") => format!("create {item}"),
            ("openat", Some(item)) => format!("open {item}"),
            ("read" | "write" | "fsync", _) => {
                let Some((folder, file)) = opened.rsplit_once('/') else { continue };
                let Some(item) = item(folder, file) else { continue };
                format!("{name} {} of {item}", returned.trim())
            }
            _ => continue,
        };
        *calls.entry(key).or_default() += 1;
    }
    calls
}

/// The calls of each thread with any, sorted.
fn traced(words: &str) -> Option<Vec<Calls>> {
    let lab = lab()?;
    let scratch = lab.scratch();
    let folder = scratch.join("target");
    fs::create_dir(&folder).unwrap();
    let mut suite = vec!["mdtest", "-d", folder.to_str().unwrap()];
    suite.extend(words.split_whitespace());
    let run = traced_suite(scratch, "openat,mkdirat,newfstatat,statx,unlinkat,read,write,fsync", &suite);
    let mut all: Vec<Calls> =
        run.threads.iter().map(|thread| calls(thread)).filter(|calls| !calls.is_empty()).collect();
    all.sort();
    Some(all)
}

fn expected(phases: &[&[&str]], count: u64) -> Vec<Calls> {
    let of_phase = |keys: &&[&str]| keys.iter().map(|key| ((*key).to_owned(), count)).collect();
    let mut all: Vec<Calls> = phases.iter().map(of_phase).collect();
    all.sort();
    all
}

#[test]
fn each_phase_of_each_rank_is_a_process_with_the_calls_on_its_own_items_in_one_folder() {
    let Some(found) = traced("-n 6 -w 100 -e 40 -y --clients 2") else { return };
    let phases: [&[&str]; 14] = [
        &["mkdir dir 0 in objects-0"],
        &["mkdir dir 1 in objects-0"],
        &["stat dir 0 in objects-0"],
        &["stat dir 1 in objects-0"],
        &["rmdir dir 0 in objects-0"],
        &["rmdir dir 1 in objects-0"],
        &["create file 0 in objects-1", "write 100 of file 0 in objects-1", "fsync 0 of file 0 in objects-1"],
        &["create file 1 in objects-1", "write 100 of file 1 in objects-1", "fsync 0 of file 1 in objects-1"],
        &["stat file 0 in objects-1"],
        &["stat file 1 in objects-1"],
        &["open file 0 in objects-1", "read 40 of file 0 in objects-1"],
        &["open file 1 in objects-1", "read 40 of file 1 in objects-1"],
        &["unlink file 0 in objects-1"],
        &["unlink file 1 in objects-1"],
    ];
    assert_eq!(found, expected(&phases, 6));
}

#[test]
fn shifted_ranks_visit_the_items_of_others_in_the_folders_of_these() {
    let Some(found) = traced("-F -n 5 -u -N 1 --clients 3") else { return };
    // In which process it is done cannot be seen here, only that each is done by one: the test of the run has that.
    let phases: [&[&str]; 12] = [
        &["create file 0 in objects-0-0"],
        &["create file 1 in objects-0-1"],
        &["create file 2 in objects-0-2"],
        &["stat file 0 in objects-0-0"],
        &["stat file 1 in objects-0-1"],
        &["stat file 2 in objects-0-2"],
        &["open file 0 in objects-0-0"],
        &["open file 1 in objects-0-1"],
        &["open file 2 in objects-0-2"],
        &["unlink file 0 in objects-0-0"],
        &["unlink file 1 in objects-0-1"],
        &["unlink file 2 in objects-0-2"],
    ];
    assert_eq!(found, expected(&phases, 5));
}
