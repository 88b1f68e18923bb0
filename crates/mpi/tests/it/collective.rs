//! `suite mpi-io-test` and `suite coll-perf` by real ranks: their output, their data, and the calls that they make.

use crate::job::{Ended, launcher, mpirun, narrows_mpi, run, run_refused, wait};
use std::path::Path;

fn number(text: &str, before: &str) -> f64 {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no `{before}` in {text}")).1;
    rest.split(|c: char| !(c.is_ascii_digit() || c == '.')).next().unwrap().parse().unwrap()
}

fn assert_passed(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.ends_with("Correctness test passed.\n"), "{ended:?}");
}

#[test]
fn mpi_io_test_prints_the_lines_of_the_original_and_bandwidth_follows_from_them() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let ended = run(folder.path(), 3, &["suite", "mpi-io-test", "-f", "data", "-b", "1MiB", "-i", "4", "-c"]);
    assert_passed(&ended);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "# Using mpi-io calls.",
            "nr_procs = 3, nr_iter = 4, blk_sz = 1048576, coll = 0",
            "# total_size = 12582912",
        ]
    );
    for (line, start) in [
        (3, "# Write: min_t = "),
        (4, "# Read:  min_t = "),
        (5, "Write bandwidth = "),
        (6, "Read bandwidth = "),
    ] {
        assert!(lines[line].starts_with(start), "{ended:?}");
    }
    // Printed with six decimals each, so that the quotient is as exact as the shorter of both.
    let (longest_s, bandwidth) = (number(lines[3], "max_t = "), number(lines[5], "Write bandwidth = "));
    let expected = 12_582_912.0 / (longest_s * 1e6);
    assert!((bandwidth / expected - 1.0).abs() < 1e-6 / longest_s + 1e-6, "{bandwidth} and {expected}");
    assert!(!folder.path().join("data").exists(), "what was written and read is removed");
}

#[test]
fn every_way_to_place_blocks_reads_what_it_wrote() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for more in [&["-C"][..], &["-I"], &["-S"], &["-y"], &["-I", "-C", "-y"], &["--hint", "cb_nodes=1", "-C"]]
    {
        let mut words = vec!["suite", "mpi-io-test", "-f", "data", "-b", "100000", "-i", "3", "-c"];
        words.extend(more);
        assert_passed(&run(folder.path(), 2, &words));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn data_that_was_changed_between_write_and_read_is_counted() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let words = ["suite", "mpi-io-test", "-f", "data", "-b", "64KiB", "-i", "2"];
    let with = |more: &[&'static str]| run(folder.path(), 2, &[&words[..], more].concat());
    assert_eq!(with(&["-w", "-c"]).code, Some(0));
    let path = folder.path().join("data");
    let mut bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 4 * 65536, "nprocs x block x iterations");
    assert_passed(&with(&["-r", "-c"]));
    for place in [0, 70_000, 262_143] {
        bytes[place] ^= 0xFF;
    }
    std::fs::write(&path, bytes).unwrap();
    let ended = with(&["-r", "-c"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert_eq!(ended.stderr.matches("3 bytes of those read differ").count(), 1, "{ended:?}");
    let again = with(&["-w"]);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert_eq!(again.stderr.matches("nothing is written over").count(), 1, "{again:?}");
}

#[test]
fn coll_perf_writes_the_array_in_its_order_whoever_has_which_block() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for (ranks, size) in [(4, "16x24x33"), (3, "7x5x9")] {
        let ended =
            run(folder.path(), ranks, &["suite", "coll-perf", "-f", "array", "--size", size, "--keep"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let spaced = size.replace('x', " x ");
        assert!(
            ended
                .stdout
                .starts_with(&format!("Global array size {spaced} integers\nCollective write time = "))
        );
        assert!(ended.stdout.contains("\nCollective read time = "), "{ended:?}");
        let path = folder.path().join("array");
        let bytes = std::fs::read(&path).unwrap();
        let count: usize = size.split('x').map(|number| number.parse::<usize>().unwrap()).product();
        assert_eq!(bytes.len(), count * 4);
        let all = bytes.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap()));
        assert!((0_u32..).zip(all).all(|(index, found)| index == found), "{ranks} ranks");
        std::fs::remove_file(path).unwrap();
    }
}

/// Calls of one name on the file `name`, and the bytes that they returned, as strace saw them.
fn traced(folder: &Path, call: &str, name: &str) -> (usize, u64) {
    let mut found = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if !entry.file_name().unwrap().to_string_lossy().starts_with("trace.") {
            continue;
        }
        let text = String::from_utf8_lossy(&std::fs::read(&entry).unwrap()).into_owned();
        for line in text.lines().filter(|line| line.starts_with(call) && line.contains(name)) {
            found.0 += 1;
            found.1 += line.rsplit_once("= ").unwrap().1.trim().parse::<u64>().unwrap_or_default();
        }
    }
    found
}

#[test]
fn independent_calls_move_each_block_once_as_strace_counts() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let trace = folder.path().join("trace");
    let words = [
        "-np",
        "2",
        "strace",
        "-ff",
        "-y",
        "-s",
        "0",
        "-e",
        "signal=none",
        "-e",
        "trace=pwrite64,pread64,pwritev,preadv,write,read",
        "-o",
        trace.to_str().unwrap(),
        narrows_mpi(),
        "suite",
        "mpi-io-test",
        "-f",
        "moved",
        "-b",
        "64KiB",
        "-i",
        "5",
    ];
    let ended = wait(mpirun(folder.path(), &words));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let sum = |names: &[&str]| names.iter().map(|name| traced(folder.path(), name, "/moved>").1).sum::<u64>();
    let expected = 2 * 5 * 65536;
    assert_eq!(sum(&["pwrite64(", "pwritev(", "write("]), expected);
    assert_eq!(sum(&["pread64(", "preadv(", "read("]), expected);
}

#[test]
fn wrong_words_and_places_are_refused_once() {
    let folder = tempfile::tempdir().unwrap();
    for (words, said) in [
        (&["suite", "mpi-io-test", "-f", "none/data"][..], "is no folder"),
        (&["suite", "mpi-io-test", "-f", "data", "-r"], "is no file"),
        (&["suite", "mpi-io-test", "-f", "data", "-b", "4GiB"], "a block is"),
        (&["suite", "coll-perf", "-f", "data", "--size", "1x2"], "three numbers"),
    ] {
        let ended = run_refused(folder.path(), 2, words);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_eq!(ended.stderr.matches(said).count(), 1, "{ended:?}");
    }
}

#[test]
fn a_file_that_was_not_written_as_a_whole_does_not_stay() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for suite in [
        &["coll-perf", "-f", "data", "--size", "512x256x256"][..],
        &["mpi-io-test", "-f", "data", "-b", "64MiB"],
        // The first rank alone, for which the second one waits.
        &["mpi-io-test", "-f", "data", "-b", "65MiB", "--scaling", "1,2"],
    ] {
        // 64 MiB, in blocks of 1024 bytes: more than the library's own files have, less than the suite's.
        let limited = [
            launcher().kill_at_once(),
            &["-np", "2", "bash", "-c", "ulimit -f 65536; exec \"$@\"", "bash", narrows_mpi(), "suite"],
        ]
        .concat();
        let ended = wait(mpirun(folder.path(), &[&limited[..], suite].concat()));
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert_eq!(ended.stderr.matches("narrows: rank ").count(), 1, "{ended:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{ended:?}");
    }
}

#[test]
fn files_that_do_not_fit_are_refused_before_any_is_made() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for suite in [
        &["coll-perf", "-f", "data", "--size", "1048576x1048576x256"][..],
        &["mpi-io-test", "-f", "data", "-b", "1GiB", "-i", "1000000"],
        &["mpi-io-test", "-f", "data", "-b", "1GiB", "-i", "1000000", "-I"],
    ] {
        let ended = run_refused(folder.path(), 2, &[&["suite"], suite].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_eq!(ended.stderr.matches("are free there; nothing was written").count(), 1, "{ended:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{ended:?}");
    }
}

#[test]
fn a_load_of_many_times_the_memory_needs_yes() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    // 80 GiB: half an hour on a slow path.
    let words = ["suite", "mpi-io-test", "-f", "data", "-b", "1MiB", "-i", "40000", "-r"];
    std::fs::write(folder.path().join("data"), "x").unwrap();
    let ended = run_refused(folder.path(), 2, &words);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(ended.stderr.matches("It needs a confirmation").count(), 1, "{ended:?}");
    assert!(ended.stderr.contains("Add --yes to run it, or make it smaller"), "{ended:?}");
    // What is there is read then, and is too short.
    let ended = run(folder.path(), 2, &[&words[..], &["--yes"]].concat());
    assert_eq!(ended.code, Some(3), "{ended:?}");
}
