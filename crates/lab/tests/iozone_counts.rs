//! What IOzone asks of the kernel is what it says it does, as strace sees it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use narrows_lab::narrows_bin;
use support::lab;

/// The calls of one thread on a test's file: their name, what they returned, and at which offset where they have one.
type Calls = Vec<(String, u64, Option<u64>)>;

/// The calls on `data-0` in one thread's `strace -ff -y` file, in their order.
fn calls_on_the_file(trace: &Path) -> Calls {
    let text = fs::read_to_string(trace).unwrap();
    let call = |line: &str| {
        let (call, returned) = line.rsplit_once(" = ")?;
        let (name, arguments) = call.split_once('(')?;
        let offset =
            arguments.trim_end().strip_suffix(')')?.rsplit_once(", ").and_then(|(_, last)| last.parse().ok());
        Some((name.to_owned(), returned.trim().parse().ok()?, offset))
    };
    text.lines().filter(|line| line.contains("/data-0>")).filter_map(call).collect()
}

/// The calls of each thread that did something with the file, thread by thread in the order of the cells.
fn traced(letters: &str) -> Option<Vec<Calls>> {
    let lab = lab()?;
    let scratch = lab.scratch();
    let folder = scratch.join("target");
    fs::create_dir(&folder).unwrap();
    let mut command = Command::new("strace");
    command.args(["-ff", "-y", "-s", "0", "--seccomp-bpf", "-e", "signal=none"]);
    command.args(["-e", "trace=write,pwrite64,pwritev,pwritev2,pread64,preadv,preadv2,read,fdatasync,fsync"]);
    command.arg("-o").arg(scratch.join("trace")).arg(narrows_bin().unwrap());
    command.args(["suite", "iozone"]).args(letters.split_whitespace()).arg(&folder);
    command.args(["--no-verdict", "--quiet", "--seed", "7"]).arg("--out").arg(scratch.join("record"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let entries = fs::read_dir(scratch).unwrap().map(|entry| entry.unwrap().path());
    let is_trace =
        |path: &std::path::PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("trace.");
    let mut traces: Vec<_> = entries.filter(is_trace).collect();
    // Threads are named by their number, which rises from cell to cell.
    traces.sort_by_key(|path| path.extension().unwrap().to_string_lossy().parse::<u64>().unwrap());
    let threads = traces.iter().map(|path| calls_on_the_file(path));
    Some(threads.filter(|calls| !calls.is_empty()).collect())
}

/// The offsets of one thread's calls, which must all be of this name and return a record of 4 KB.
#[track_caller]
fn offsets(calls: &Calls, name: &str) -> Vec<u64> {
    assert!(calls.iter().all(|(call, returned, _)| call == name && *returned == 4096), "{name}: {calls:?}");
    calls.iter().map(|(_, _, offset)| offset.unwrap() / 4096).collect()
}

/// Files of 128 KB in records of 4 KB: 32 records.
const SIZES: &str = "-s 128 -r 4";

#[test]
fn every_test_goes_once_over_its_file_in_its_own_order() {
    let Some(threads) = traced(&format!("{SIZES} -i 0 -i 1 -i 2 -i 3 -i 4 -i 5")) else { return };
    assert_eq!(threads.len(), 9, "{threads:?}");
    let forward: Vec<u64> = (0..32).collect();
    for (index, name) in [(0, "pwrite64"), (1, "pwrite64"), (2, "pread64"), (3, "pread64")] {
        assert_eq!(offsets(&threads[index], name), forward, "{index}");
    }
    for (index, name) in [(4, "pread64"), (5, "pwrite64")] {
        let mut random = offsets(&threads[index], name);
        assert_ne!(random, forward);
        random.sort_unstable();
        assert_eq!(random, forward, "each record once");
    }
    assert!(offsets(&threads[6], "pread64").into_iter().eq((0..32).rev()));
    assert_eq!(offsets(&threads[7], "pwrite64"), vec![0; 32]);
    let stride: Vec<u64> =
        (0..17).flat_map(|first| [first, first + 17]).filter(|record| *record < 32).collect();
    assert_eq!(offsets(&threads[8], "pread64"), stride);
}

#[test]
fn vectors_are_one_call_a_record_and_streams_those_of_the_c_library() {
    let Some(threads) = traced(&format!("{SIZES} -i 6 -i 7 -i 11 -i 12 -+n")) else { return };
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
    let Some(threads) = traced(&format!("{SIZES} -e -i 0 -i 1")) else { return };
    let syncs = |calls: &Calls| calls.iter().filter(|(name, _, _)| name == "fdatasync").count();
    let found: Vec<usize> = threads.iter().map(syncs).collect();
    assert_eq!(found, [1, 1, 0, 0], "{threads:?}");
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, _, _) in threads.iter().flatten() {
        *names.entry(name).or_default() += 1;
    }
    assert_eq!(names, BTreeMap::from([("fdatasync", 2), ("pread64", 64), ("pwrite64", 64)]));
}
