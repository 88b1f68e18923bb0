//! Real outputs of dd, and damaged ones.

use super::*;
use crate::import::{import, importer};

/// Copies of many sizes, one after the other.
const SIZES: &str = include_str!("outputs/sizes.txt");
/// With `status=progress`.
const PROGRESS: &str = include_str!("outputs/progress.txt");
/// Onto a device that is full, then onto one that has room.
const FULL: &str = include_str!("outputs/full.txt");
/// With truncated records, and asked by SIGUSR1.
const RECORDS: &str = include_str!("outputs/records.txt");

fn made(text: &str) -> Import {
    let made = import(text.as_bytes(), "test", None, &ImportOptions::default());
    let made = made.unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(made.format, "dd");
    made
}

fn refusal(text: &str) -> String {
    import(text.as_bytes(), "test", importer("dd"), &ImportOptions::default()).unwrap_err().render()
}

fn bytes(made: &Import) -> Vec<u64> {
    made.observations.observations.iter().filter_map(|one| Some(one.file_bytes?.0)).collect()
}

#[test]
fn every_form_of_the_line_is_read_and_a_copy_of_nothing_is_left_out() {
    let made = made(SIZES);
    assert_eq!(bytes(&made), [67_108_864, 512, 1, 1000, 1010, 1024, 1_073_741_824, 1500]);
    assert!(made.remarks.contains(&"Run 7 copied nothing and is left out.".to_owned()), "{:?}", made.remarks);
}

#[test]
fn the_rate_is_computed_and_the_block_is_that_of_whole_records() {
    let all = made(SIZES).observations.observations;
    let (first, last) = (&all[0], all.last().unwrap());
    assert_eq!(first.elapsed_s, Some(0.016_232_9));
    assert!((first.bytes_per_s.unwrap().0 / 4.134e9 - 1.0).abs() < 1e-3);
    assert_eq!((first.block_bytes, last.block_bytes), (Some(Bytes(1 << 20)), None));
}

#[test]
fn the_last_line_alone_is_enough() {
    let made = made(&format!("{EXAMPLE}\n"));
    assert_eq!(bytes(&made), [1 << 30]);
    assert_eq!(made.observations.observations[0].bytes_per_s, Some(BytesPerSec(2_147_483_648.0)));
}

#[test]
fn progress_is_left_out_with_and_without_its_carriage_returns() {
    for text in [PROGRESS.to_owned(), PROGRESS.replace('\r', "")] {
        let made = made(&text);
        assert_eq!(bytes(&made), [314_572_800]);
        assert!(made.remarks.iter().any(|remark| remark == "1 lines of progress are left out."));
    }
}

#[test]
fn a_copy_that_ended_with_an_error_is_remarked() {
    let made = made(FULL);
    assert_eq!(bytes(&made), [1_048_576, 1_048_576]);
    let with_errors: Vec<&String> =
        made.remarks.iter().filter(|one| one.contains("error or a warning")).collect();
    assert!(matches!(with_errors[..], [one] if one.starts_with("Run 1:")), "{:?}", made.remarks);
}

#[test]
fn truncated_records_and_reports_on_a_signal_are_runs() {
    let made = made(RECORDS);
    assert_eq!(bytes(&made), [2, 35_645_292_544, 41_942_396_928]);
    assert_eq!(made.observations.observations[0].block_bytes, None);
}

#[test]
fn a_lost_digit_is_refused_wherever_it_is() {
    let first = "67108864 bytes (67 MB, 64 MiB) copied, 0.0162329 s, 4.1 GB/s";
    for damaged in [
        first.replace("67108864", "6710886"),
        first.replace("67 MB", "6 MB"),
        first.replace("64 MiB", "4 MiB"),
        first.replace("0.0162329", "0.062329"),
        first.replace("4.1", ".1"),
        first.replace("GB/s", "MB/s"),
    ] {
        let message = refusal(&format!("{damaged}\n"));
        assert!(message.contains("figures that contradict each other"), "{damaged}: {message}");
    }
}

#[test]
fn a_line_that_is_cut_or_of_another_locale_is_refused_with_its_position() {
    for damaged in [
        "1024 bytes (1.0 kB, 1.0 KiB) copied, 0.000140058 s, 7.3 MB",
        "1024 bytes (1.0 kB, 1.0 KiB) copied, 0.000140058 s",
        "1024 bytes (1.0 kB, 1.0 copied, 0.000140058 s, 7.3 MB/s",
        "1024 bytes (1,0 kB, 1,0 KiB) copied, 0,000140058 s, 7,3 MB/s",
        "1024 bytes (1.0 kB) copied, 0 s, Infinity B/s",
    ] {
        let message = refusal(&format!("1+0 records in\n1+0 records out\n{damaged}\n"));
        assert!(message.contains("test:3:1") && message.contains("LC_ALL=C"), "{damaged}: {message}");
    }
    let later = refusal(&format!("{EXAMPLE}\n1+0 records in\n1+0 records out\n1024 bytes (1.0 kB)\n"));
    assert!(later.contains("test:4:1"), "{later}");
}

#[test]
fn figures_out_of_range_are_refused() {
    for damaged in
        ["9223372036854775807 bytes (9.2 EB, 8.0 EiB) copied, 1 s, 9.2 EB/s", "1 byte copied, 0 s, 1 B/s"]
    {
        assert!(refusal(&format!("{damaged}\n")).contains("a figure out of range"), "{damaged}");
    }
}
