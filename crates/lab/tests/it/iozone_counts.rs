//! What IOzone asks of the kernel is what it says it does, as strace sees it.

use std::collections::BTreeMap;
use std::fs;

use crate::support::lab;
use crate::support::strace::{TracedCall, traced_suite};

/// The calls of one thread on a test's file: their name, what they returned, and at which offset where they have one.
type Calls = Vec<(String, u64, Option<u64>)>;

/// What a run asked of its files.
struct Traced {
    /// The calls of each thread that moves data, thread by thread in the order of the cells.
    threads: Vec<Calls>,
    /// Every call, as it began: which thread that moves data it is of, or `None` for another, and its name.
    all: Vec<(Option<usize>, String)>,
}

/// The calls on files of tests in one thread, in their order, each with its time.
fn calls_on_files(traced: &[TracedCall]) -> (Vec<String>, Calls) {
    let call = |TracedCall { at_s, text }: &TracedCall| {
        let (call, returned) = text.rsplit_once(" = ")?;
        let (name, arguments) = call.split_once('(')?;
        let last = || arguments.trim_end().strip_suffix(')')?.rsplit_once(", ")?.1.parse().ok();
        let offset = if name.starts_with('p') { last() } else { None };
        Some((at_s.clone(), (name.to_owned(), returned.trim().parse().ok()?, offset)))
    };
    traced.iter().filter(|call| call.text.contains("/data-")).filter_map(call).unzip()
}

/// What the suite with these letters asks of its files.
fn traced(letters: &str) -> Option<Traced> {
    let lab = lab()?;
    let scratch = lab.scratch();
    let folder = scratch.join("target");
    fs::create_dir(&folder).unwrap();
    let traced = "lseek,write,pwrite64,pwritev,pwritev2,pread64,preadv,preadv2,read,fdatasync,fsync";
    let mut suite = vec!["iozone", "--seed", "7"];
    suite.extend(letters.split_whitespace());
    suite.push(folder.to_str().unwrap());
    let run = traced_suite(scratch, traced, &suite);
    let (mut threads, mut all) = (Vec::new(), Vec::new());
    let on_files = run.threads.iter().map(|thread| calls_on_files(thread));
    for (times, calls) in on_files.filter(|(_, calls)| !calls.is_empty()) {
        let moves = calls.iter().any(|(name, _, _)| !name.ends_with("sync"));
        let thread = moves.then_some(threads.len());
        all.extend(times.into_iter().zip(&calls).map(|(at, (name, _, _))| (at, thread, name.clone())));
        threads.extend(moves.then_some(calls));
    }
    // Times of one width: seconds since 1970 and microseconds.
    all.sort();
    Some(Traced { threads, all: all.into_iter().map(|(_, thread, name)| (thread, name)).collect() })
}

/// The records of one thread's calls, which must all be of this name and return a record of 4 KB; calls at the file's
/// own position have a seek between them where they do not continue at that position, and only there.
#[track_caller]
fn records(calls: &Calls, name: &str) -> Vec<u64> {
    let (mut position, mut sought, mut found) = (0, false, Vec::new());
    for (call, returned, offset) in calls {
        if call == "lseek" {
            assert!(!sought && position != *returned, "{name}: a seek that is not needed: {calls:?}");
            (position, sought) = (*returned, true);
            continue;
        }
        assert_eq!((call.as_str(), *returned), (name, 4096), "{calls:?}");
        let at = offset.unwrap_or(position);
        (position, sought) = (at + 4096, false);
        found.push(at / 4096);
    }
    assert!(!sought, "{name}: a seek that nothing follows: {calls:?}");
    found
}

/// The calls of test 1 of one process without what precedes its clock, as in the original: the first record is read once,
/// and the position set back.
#[track_caller]
fn past_first_record(calls: &Calls) -> Calls {
    let (first, timed) = calls.split_at(2.min(calls.len()));
    assert_eq!(first, [("read".to_owned(), 4096, None), ("lseek".to_owned(), 0, None)], "{calls:?}");
    timed.to_vec()
}

/// Files of 128 KB in records of 4 KB: 32 records.
const SIZES: &str = "-s 128 -r 4";

#[test]
fn every_test_runs_over_its_file_in_its_own_order() {
    let Some(Traced { threads, .. }) = traced(&format!("{SIZES} -i 0 -i 1 -i 2 -i 3 -i 4 -i 5 -i 9 -i 10"))
    else {
        return;
    };
    assert_eq!(threads.len(), 13, "{threads:?}");
    let forward: Vec<u64> = (0..32).collect();
    for index in [2, 3] {
        assert_eq!(records(&past_first_record(&threads[index]), "read"), forward, "{index}");
    }
    for index in [0, 1] {
        assert_eq!(records(&threads[index], "write"), forward, "{index}");
    }
    for (index, name) in [(9, "pwrite64"), (10, "pwrite64"), (11, "pread64"), (12, "pread64")] {
        assert_eq!(records(&threads[index], name), forward, "{index}");
        assert!(threads[index].iter().all(|(call, _, _)| call == name), "no seeks: {:?}", threads[index]);
    }
    for (index, name) in [(4, "read"), (5, "write")] {
        let mut random = records(&threads[index], name);
        assert_ne!(random, forward);
        random.sort_unstable();
        assert_eq!(random, forward, "each record once");
    }
    assert!(records(&threads[6], "read").into_iter().eq((0..32).rev()));
    assert_eq!(records(&threads[7], "write"), vec![0; 32]);
    // A turn ends where the record behind the next stride is no longer in the file; as many records as the file has.
    let stride: Vec<u64> = (0..13).flat_map(|first| [first, first + 17]).chain(13..19).collect();
    assert_eq!(records(&threads[8], "read"), stride);
}

#[test]
fn vectors_are_one_call_a_record_and_streams_those_of_the_c_library() {
    let Some(Traced { threads, .. }) = traced(&format!("{SIZES} -i 6 -i 7 -i 11 -i 12 -+n")) else { return };
    assert_eq!(threads.len(), 4, "{threads:?}");
    let total = |calls: &Calls, name: &str| -> u64 {
        calls.iter().filter(|(call, _, _)| call == name).map(|(_, returned, _)| returned).sum()
    };
    assert_eq!((total(&threads[0], "write"), total(&threads[1], "read")), (128 << 10, 128 << 10));
    for (index, name) in [(2, "pwritev"), (3, "preadv")] {
        let count =
            threads[index].iter().filter(|(call, returned, _)| call == name && *returned == 4096).count();
        assert_eq!((count, threads[index].len()), (32, 32), "{:?}", threads[index]);
    }
}

#[test]
fn a_sync_in_the_timing_is_one_behind_each_test_that_writes() {
    let Some(Traced { threads, .. }) = traced(&format!("{SIZES} -e -i 0 -i 1")) else { return };
    let syncs = |calls: &Calls| calls.iter().filter(|(name, _, _)| name == "fdatasync").count();
    assert_eq!(threads.len(), 4, "{threads:?}");
    let reads = threads[2..].iter().map(past_first_record);
    let timed: Vec<Calls> = threads[..2].iter().cloned().chain(reads).collect();
    let found: Vec<usize> = timed.iter().map(syncs).collect();
    assert_eq!(found, [1, 1, 0, 0], "{threads:?}");
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, _, _) in timed.iter().flatten() {
        *names.entry(name).or_default() += 1;
    }
    assert_eq!(names, BTreeMap::from([("fdatasync", 2), ("read", 64), ("write", 64)]));
}

#[test]
fn what_a_test_wrote_is_synced_once_behind_it_and_before_the_next() {
    let Some(Traced { threads, all }) = traced(&format!("{SIZES} -i 0 -i 1 -i 2 -i 6 -+n")) else { return };
    assert_eq!(threads.len(), 5, "{threads:?}");
    // The threads that move data, which the tests' times are of, sync nothing themselves.
    past_first_record(&threads[1]);
    let timed = threads.iter();
    assert!(timed.flatten().all(|(name, _, _)| !name.ends_with("sync")), "{threads:?}");
    let mut steps: Vec<Option<usize>> = all.iter().map(|(thread, _)| *thread).collect();
    let syncs = steps.iter().filter(|step| step.is_none()).count();
    steps.dedup();
    // Write, read, random read, random write, fwrite.
    let wanted = [Some(0), None, Some(1), Some(2), Some(3), None, Some(4), None];
    assert_eq!((steps.as_slice(), syncs), (wanted.as_slice(), 3), "{all:?}");
}

#[test]
fn processes_are_synced_too_and_a_file_whose_closing_is_timed_is_not() {
    let Some(Traced { all, .. }) = traced(&format!("{SIZES} -i 0 -+n -t 2")) else { return };
    let syncs =
        |all: &[(Option<usize>, String)]| all.iter().filter(|(_, name)| name.ends_with("sync")).count();
    // Each process syncs its file once; what the stone wall left of a file is written behind that.
    assert_eq!(syncs(&all), 2, "{all:?}");
    for process in 0..2 {
        let own: Vec<&str> = all
            .iter()
            .filter(|(thread, _)| *thread == Some(process))
            .map(|(_, name)| name.as_str())
            .collect();
        let syncs = own.iter().filter(|name| name.ends_with("sync")).count();
        assert_eq!((syncs, own.len()), (1, 33), "{own:?}");
    }
    let Some(Traced { threads, all }) = traced(&format!("{SIZES} -i 0 -c")) else { return };
    assert!(all.iter().all(|(thread, name)| thread.is_some() || !name.ends_with("sync")), "{all:?}");
    assert!(
        threads.len() == 2 && threads.iter().flatten().all(|(name, _, _)| name == "write"),
        "{threads:?}"
    );
}
