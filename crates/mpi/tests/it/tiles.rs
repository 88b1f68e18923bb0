//! `suite mpi-tile-io` by real ranks: where each tile is in the file, what is read again, and what is refused.

use crate::job::{Ended, run, run_refused};
use std::path::Path;

/// A data set as the guide describes it: word by word its number times the multiplier, little-endian.
fn data_set(length: usize) -> Vec<u8> {
    let words = (0_u64..).map(|word| word.wrapping_mul(6_364_136_223_846_793_005).to_le_bytes());
    words.flatten().take(length).collect()
}

fn tile_io(folder: &Path, ranks: u32, words: &str) -> Ended {
    let all: Vec<&str> =
        ["suite", "mpi-tile-io", "--filename", "data"].into_iter().chain(words.split_whitespace()).collect();
    run(folder, ranks, &all)
}

#[test]
fn the_tiles_of_all_ranks_are_the_data_set_whatever_calls_wrote_them() {
    // Ranks, options, and the elements of the data set in X and Y with the bytes of one: 5 + 5 - 1 by 4 + 4 - 2 with overlaps.
    for (ranks, words, [x, y, element]) in [
        (1, "--sz_tile_x 5 --sz_tile_y 3 --sz_element 7 --json", [5, 3, 7]),
        (2, "--nr_tiles_x 1 --sz_tile_x 6 --sz_tile_y 4 --sz_element 3 --collective", [6, 8, 3]),
        (4, "--sz_tile_x 5 --sz_tile_y 4 --sz_element 9 --overlap_x 1 --overlap_y 2 --collective", [9, 6, 9]),
    ] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let ended = tile_io(folder.path(), ranks, &format!("{words} --write_file"));
        assert_eq!(ended.code, Some(0), "{words}: {ended:?}");
        assert!(!ended.stdout.contains("\"open_ns\": null"), "opening is timed: {ended:?}");
        let found = std::fs::read(folder.path().join("data")).unwrap();
        assert!(found == data_set(x * y * element), "{ranks} ranks, {words}");
    }
}

#[test]
fn what_was_written_is_read_again_and_what_was_changed_meanwhile_is_counted() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    // 5 x 2 elements of 2 bytes: 3 + 3 - 1 in X.
    let sizes = "--sz_tile_x 3 --sz_tile_y 2 --sz_element 2 --overlap_x 1";
    assert_eq!(tile_io(folder.path(), 2, &format!("{sizes} --write_file")).code, Some(0));
    let passed = tile_io(folder.path(), 2, &format!("{sizes} --check --collective"));
    assert_eq!(passed.code, Some(0), "{passed:?}");
    assert!(passed.stdout.contains("# Data read are those written.\n"), "{passed:?}");
    let path = folder.path().join("data");
    let mut bytes = std::fs::read(&path).unwrap();
    // The second and the third element: the third one is in both tiles.
    bytes[2] ^= 0xFF;
    bytes[5] ^= 0xFF;
    std::fs::write(&path, bytes).unwrap();
    let words = format!("suite mpi-tile-io --filename data {sizes} --check");
    let changed = run_refused(folder.path(), 2, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(changed.code, Some(4), "{changed:?}");
    assert_eq!(changed.stderr.matches("3 bytes of those read differ").count(), 1, "{changed:?}");
}

#[test]
fn mpi_tile_io_prints_the_lines_of_the_original_and_removes_what_it_has_read() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let words = "--sz_tile_x 64 --sz_tile_y 32 --sz_element 256 --write_file --read_file --collective";
    let ended = tile_io(folder.path(), 2, words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let starts = [
        "# 2 process(es) available, 2 used",
        "# filename: data",
        "# collective I/O on",
        "# 0 byte header",
        "# 128 x 32 element dataset, 256 bytes per element",
        "# 2 x 1 tiles, each tile is 64 x 32 elements",
        "# tiles overlap by 0 elements in X, 0 elements in Y",
        "# total file size is ~1.00 Mbytes, 1 file(s) total.",
        "# Times are total for all operations of the given type",
        "# Open:  min_t = ",
        "# Write: min_t = ",
        "# Close: min_t = ",
        "# Note: bandwidth values based on max_t (worst case)",
        "Write Bandwidth = ",
        "# Open:  min_t = ",
        "# Read:  min_t = ",
        "# Close: min_t = ",
        "# Note: bandwidth values based on max_t (worst case)",
        "Read Bandwidth = ",
        "# Data read are those written.",
    ];
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines.len(), starts.len(), "{ended:?}");
    assert!(lines.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{ended:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{ended:?}");
}

#[test]
fn tiles_that_do_not_match_and_files_that_cannot_be_used_are_refused_once() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::write(folder.path().join("data"), "kept").unwrap();
    for (file, words, said) in [
        ("new", "--nr_tiles_x 3 --nr_tiles_y 1 --write_file", "3 x 1 tiles are 3, and the job has 2 ranks"),
        ("data", "--write_file", "data exists, and nothing is written over"),
        ("none/data", "--write_file", "none is no folder"),
    ] {
        let words = ["suite", "mpi-tile-io", "--filename", file].into_iter().chain(words.split(' '));
        let ended = run_refused(folder.path(), 2, &words.collect::<Vec<_>>());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_eq!(ended.stderr.matches(said).count(), 1, "{ended:?}");
        assert_eq!(ended.stderr.matches("narrows: ").count(), 1, "{ended:?}");
    }
    assert_eq!(std::fs::read(folder.path().join("data")).unwrap(), b"kept");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
