//! What IOPerf asks of the kernel is what it says it does, as strace sees it.

use std::collections::BTreeMap;
use std::fs;

use crate::support::lab;
use crate::support::strace::{TracedCall, traced_suite};

/// How often a call on the test's file returned a value.
type Calls = BTreeMap<(String, u64), u64>;

/// The calls of one thread on `data-0`.
fn calls_on_the_file(traced: &[TracedCall]) -> Calls {
    let mut calls = Calls::new();
    for TracedCall { text, .. } in traced.iter().filter(|call| call.text.contains("/data-0>")) {
        let Some((call, returned)) = text.rsplit_once(" = ") else { continue };
        let (name, _) = call.split_once('(').unwrap();
        let Ok(returned) = returned.trim().parse::<u64>() else { continue };
        *calls.entry((name.to_owned(), returned)).or_default() += 1;
    }
    calls
}

/// The calls of each thread that did something with the file, where `count` I/Os of `buffer_kb` are followed by `flush`.
fn traced(flush: &str, count: u64, buffer_kb: u64) -> Option<Vec<Calls>> {
    let lab = lab()?;
    let scratch = lab.scratch();
    let folder = scratch.join("target");
    fs::create_dir(&folder).unwrap();
    let (count, buffer_kb) = (count.to_string(), buffer_kb.to_string());
    let folder = folder.to_str().unwrap();
    let suite = ["ioperf", folder, "--flush", flush, "--count", &count, "--buffer", &buffer_kb];
    let run = traced_suite(scratch, "write,writev,pwrite64,pwritev2,fdatasync,fsync,read,lseek", &suite);
    let threads = run.threads.iter().map(|thread| calls_on_the_file(thread));
    Some(threads.filter(|calls| !calls.is_empty()).collect())
}

/// How often `name` returned each value, in each thread that called it.
fn returned(threads: &[Calls], name: &str) -> Vec<BTreeMap<u64, u64>> {
    let of = |calls: &Calls| -> BTreeMap<u64, u64> {
        let same = calls.iter().filter(|((call, _), _)| call == name);
        same.map(|((_, returned), count)| (*returned, *count)).collect()
    };
    threads.iter().map(of).filter(|returned| !returned.is_empty()).collect()
}

#[test]
fn each_flushed_io_is_one_write_by_block_and_by_character() {
    // Of buffers below, at and above that of the C library, which has 4096 bytes on most file systems.
    for (count, buffer_kb) in [(20, 8), (10, 1), (6, 5)] {
        let Some(threads) = traced("fflush", count, buffer_kb) else { return };
        let buffer_bytes = buffer_kb << 10;
        let each = BTreeMap::from([(buffer_bytes, count)]);
        assert_eq!(returned(&threads, "write"), [each.clone(), each], "fwrite and putc");
        assert!(threads.iter().all(|calls| !calls.keys().any(|(name, _)| name.ends_with("sync"))));
    }
}

#[test]
fn fdatasync_and_fsync_follow_every_io_that_writes() {
    for flush in ["fdatasync", "fsync"] {
        let Some(threads) = traced(flush, 3, 1) else { return };
        let each = BTreeMap::from([(0, 3)]);
        assert_eq!(returned(&threads, flush), [each.clone(), each], "fwrite and putc");
    }
}

#[test]
fn a_seek_goes_to_its_place_and_reads_there() {
    let Some(threads) = traced("fflush", 100, 1) else { return };
    let of = |calls: &Calls, wanted: &str| -> u64 {
        calls.iter().filter(|((name, _), _)| name == wanted).map(|(_, count)| count).sum()
    };
    let seeking = threads.iter().max_by_key(|calls| of(calls, "lseek")).unwrap();
    // A few positions are within what the stream has read already.
    assert!((75..=200).contains(&of(seeking, "lseek")), "{seeking:?}");
    assert!((75..=200).contains(&of(seeking, "read")), "{seeking:?}");
}
