//! Figures of suites of collective calls as values: `--json`, and the scaling study of `suite mpi-io-test`.

use crate::job::{Ended, run, run_refused};
use narrows_model::collective::{CollectivePhase, CollectiveRun, PhaseSync};
use narrows_model::{Bytes, Json as _, Op};
use std::path::Path;

fn document(ended: &Ended) -> CollectiveRun {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let run = CollectiveRun::from_json(&ended.stdout).unwrap();
    assert_eq!(run.schema, "narrows.collective/1");
    assert!(run.mpi_library.contains("MPI") && !run.mpi_library.contains('\0'), "{run:?}");
    run
}

/// The rate is that of the slowest rank, and the bytes are those of all.
fn assert_sums(phase: &CollectivePhase, bytes: &[u64]) {
    let found: Vec<u64> = phase.ranks.iter().map(|rank| rank.bytes.0).collect();
    assert_eq!(found, bytes, "{phase:?}");
    assert_eq!(phase.bytes, Bytes(bytes.iter().sum()));
    let slowest_ns = phase.ranks.iter().map(|rank| rank.transfer_ns.0).max().unwrap();
    let expected = phase.bytes.as_f64() / (slowest_ns as f64 / 1e9);
    assert!((phase.rate.unwrap().0 / expected - 1.0).abs() < 1e-9, "{phase:?}");
}

#[test]
fn figures_as_json_are_those_of_each_rank_with_its_place_and_the_hints() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let words = ["suite", "mpi-io-test", "-f", "data", "-b", "64KiB", "-i", "3", "-c", "-y", "-C", "--json"];
    let ended = run(folder.path(), 2, &[&words[..], &["--hint", "cb_nodes=1"]].concat());
    let run_of = document(&ended);
    assert_eq!((run_of.suite.as_str(), run_of.file.as_str()), ("mpi-io-test", "data"));
    assert_eq!(run_of.hints["cb_nodes"], "1");
    assert!(run_of.points[0].reported_hints.is_some(), "{run_of:?}");
    assert_eq!(run_of.command[..2], ["suite", "mpi-io-test"]);
    let (host, ranks) = (std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap(), &run_of.ranks);
    assert!(ranks.len() == 2 && ranks.iter().all(|rank| rank.host == host.trim() && !rank.cpus.is_empty()));
    assert_ne!(ranks[0].pid, ranks[1].pid);
    let [point] = &run_of.points[..] else { panic!("{run_of:?}") };
    let [written, read] = &point.phases[..] else { panic!("{run_of:?}") };
    assert_eq!((point.rank_count, written.op, read.op), (2, Op::Write, Op::Read));
    assert_eq!((written.sync, read.sync), (Some(PhaseSync::EachWrite), None));
    assert_eq!((written.wrong_count, read.wrong_count), (None, Some(0)));
    for phase in [written, read] {
        assert!(phase.is_collective && phase.call_count == 3, "{phase:?}");
        assert_sums(phase, &[3 << 16, 3 << 16]);
    }
}

#[test]
fn ranks_with_parts_of_other_sizes_have_their_own_bytes() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let ended = run(folder.path(), 2, &["suite", "coll-perf", "-f", "data", "--size", "7x5x9", "--json"]);
    let array = document(&ended);
    // Seven planes of 5 x 9 integers: four for the first rank, and the rest for the second.
    for phase in &array.points[0].phases {
        assert_sums(phase, &[4 * 45 * 4, 3 * 45 * 4]);
    }
}

fn scaled(folder: &Path, ranks: u32, more: &[&str]) -> Ended {
    run(folder, ranks, &[&["suite", "mpi-io-test", "-f", "data"][..], more].concat())
}

#[test]
fn scaling_measures_each_number_of_ranks_with_each_block_in_one_job() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let more = ["-b", "4KiB,64KiB", "--scaling", "1,2,4", "-i", "2", "-c"];
    let ended = scaled(folder.path(), 4, &more);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.ends_with("\n# Correctness test passed.\n"), "{ended:?}");
    assert_eq!(ended.stdout.matches("\n\n\n").count(), 1, "one curve for each block: {ended:?}");
    let rows = ended.stdout.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split(' ').collect()).collect();
    let expected = [4096_u64, 65536].into_iter().flat_map(|block| [1, 2, 4].map(|ranks| (ranks, block)));
    assert_eq!(rows.len(), 6, "{ended:?}");
    for (row, (ranks, block)) in rows.iter().zip(expected) {
        let total: u64 = ranks * block * 2;
        assert_eq!(row[..3], [ranks, block, total].map(|number| number.to_string()), "{ended:?}");
        let number = |column: usize| row[column].parse::<f64>().unwrap();
        for (rate, slowest_s) in [(number(3), number(5)), (number(4), number(6))] {
            // Printed with six decimals each.
            let found = total as f64 / (slowest_s * 1e6);
            assert!((rate / found - 1.0).abs() < 1e-6 / slowest_s + 1e-6, "{rate} and {found}: {ended:?}");
        }
    }
    let json = scaled(folder.path(), 2, &["-b", "4KiB", "--scaling", "2,1", "-I", "--json"]);
    let counts: Vec<u32> = document(&json).points.iter().map(|point| point.rank_count).collect();
    assert_eq!(counts, [2, 1]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn numbers_of_ranks_that_the_job_has_not_are_refused_once() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let words = ["suite", "mpi-io-test", "-f", "data", "--scaling", "1,3"];
    let ended = run_refused(folder.path(), 2, &words);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(ended.stderr.matches("--scaling has 3 ranks, and the job has 2").count(), 1, "{ended:?}");
}
