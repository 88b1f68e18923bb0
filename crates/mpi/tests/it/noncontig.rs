//! `suite noncontig` by real ranks: what is in the file and in memory, and what is refused.

use crate::job::{run, run_refused};

#[test]
fn every_pattern_reads_what_it_wrote_and_leaves_the_gaps_of_memory() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for (ranks, more, calls) in [(4, None, "independent"), (2, Some("-C"), "collective")] {
        let words = ["suite", "noncontig", "-f", "data", "--veclen", "500", "--elmtcount", "3"];
        let ended = run(folder.path(), ranks, &words.into_iter().chain(more).collect::<Vec<_>>());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.ends_with("\n No Errors\n"), "{ended:?}");
        for pattern in [
            "noncontiguous in memory, noncontiguous in file",
            "noncontiguous in memory, contiguous in file",
            "contiguous in memory, noncontiguous in file",
            "contiguous in memory, contiguous in file",
        ] {
            let line = format!("# testing {pattern} using {calls} I/O\n");
            assert_eq!(ended.stdout.matches(&line).count(), 1, "{ended:?}");
        }
        let total = format!("# nr_procs = {ranks}, total_size = {}\n", u64::from(ranks) * 500 * 3 * 4);
        assert_eq!(ended.stdout.matches(&total).count(), 4, "{ended:?}");
        for line in ["# Write: min_t = ", "# Read:  min_t = ", "Write bandwidth = ", "Read bandwidth = "] {
            assert_eq!(ended.stdout.matches(line).count(), 4, "{ended:?}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{ended:?}");
    }
}

#[test]
fn each_integer_of_the_file_is_its_index_whoever_wrote_it() {
    // Open MPI 4.1 opens no file whose name is one letter without a folder.
    for (ranks, pattern, calls) in [(4, "nc-nc", Some("-C")), (1, "c-nc", None)] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let words = ["suite", "noncontig", "-f", "d", "--veclen", "77", "--elmtcount", "5", "--keep"];
        let words = words.into_iter().chain(["--pattern", pattern]).chain(calls).collect::<Vec<_>>();
        let ended = run(folder.path(), ranks, &words);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let bytes = std::fs::read(folder.path().join("d")).unwrap();
        assert_eq!(bytes.len(), 77 * 5 * 4 * ranks as usize, "{words:?}");
        let all = bytes.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap()));
        assert!((0_u32..).zip(all).all(|(index, found)| index == found), "{ranks} ranks, {words:?}");
    }
}

#[test]
fn a_file_that_is_there_stays_as_it_is() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("there");
    std::fs::write(&path, "kept").unwrap();
    let ended = run_refused(folder.path(), 2, &["suite", "noncontig", "-f", "there"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(ended.stderr.matches("nothing is written over").count(), 1, "{ended:?}");
    assert_eq!(std::fs::read(path).unwrap(), b"kept");
}
