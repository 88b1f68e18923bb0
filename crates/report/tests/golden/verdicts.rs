//! What a verdict reads as.

use crate::fixtures::{cases, suites};
use crate::{Case, compare};
use narrows_model::Segment;
use narrows_report::text::{self, Style};

pub(crate) const CASES: &[Case] = &[
    ("network", cases::network),
    ("latency", cases::latency),
    ("server_cpu", cases::server_cpu),
    ("device", cases::device),
    ("cached", cases::cached),
    ("shared_machine", cases::shared_machine),
    ("incomplete", cases::incomplete),
    ("generator_limited", cases::generator_limited),
    ("nothing_measured", cases::nothing_measured),
    ("suite_files", suites::files),
    ("suite_records", suites::records),
];

#[test]
fn a_run_without_a_study_shows_its_verdict_whole_where_detail_is_asked_for() {
    let (summary, style) = (cases::network(), Style { detail: true, ..Style::default() });
    assert_eq!(text::results(&summary, &style), text::verdict(&summary, &style));
}

#[test]
fn first_screens_read_as_kept() {
    let style = Style { width: 80, ..Style::default() };
    for (name, case) in CASES {
        compare(&format!("first_{name}"), &text::results(&case(), &style));
    }
}

#[test]
fn the_first_screen_has_at_most_24_lines_of_80_columns_and_breaks_no_word_at_60() {
    for (name, case) in CASES {
        let rendered = text::results(&case(), &Style { width: 80, ..Style::default() });
        assert!(rendered.lines().count() <= 24, "{name}: {} lines\n{rendered}", rendered.lines().count());
        let narrow = text::results(&case(), &Style { width: 60, ..Style::default() });
        let is_command = |line: &str| line.starts_with("  narrows ");
        let wide = narrow.lines().find(|line| line.chars().count() > 60 && !is_command(line));
        assert_eq!(wide, None, "{name}\n{narrow}");
    }
}

#[test]
fn verdicts_read_as_kept() {
    for (name, case) in CASES {
        compare(name, &text::verdict(&case(), &Style::default()));
    }
}

#[test]
fn a_verdict_with_detail_reads_as_kept() {
    let style = Style { detail: true, unicode: true, ..Style::default() };
    compare("network_detail", &text::verdict(&cases::network(), &style));
}

#[test]
fn figures_from_a_cache_are_said_not_to_be_storage_before_any_table() {
    let rendered = text::verdict(&cases::cached(), &Style::default());
    let headline = rendered.split("\nPATH").next().unwrap();
    assert!(headline.contains("Served by the client's cache, storage not measured."), "{headline}");
}

#[test]
fn no_segment_is_fuller_than_full_and_a_raised_ceiling_is_said() {
    let mut summary = cases::device();
    let exceeded =
        summary.segments.iter_mut().find(|segment| segment.id == Segment::DeviceBandwidth).unwrap();
    exceeded.utilisation_ratio = Some(1.31);
    let rendered = text::verdict(&summary, &Style::default());
    assert!(rendered.contains("100 % raised") && !rendered.contains("131 %"), "{rendered}");
    assert!(rendered.contains("raised: the path was faster"), "{rendered}");
    assert!(!text::verdict(&cases::network(), &Style::default()).contains("raised"));
}

#[test]
fn requests_of_one_queue_and_of_two_workers_are_told_apart() {
    let mut summary = cases::network();
    let mut two = summary.cells.last().unwrap().clone();
    two.id = "path/write/1MiB/qd16/w2/c1".to_owned();
    (two.requested.workers, two.queue_depth, two.in_flight.configured) = (2, 32, 32);
    let mut one = two.clone();
    one.id = "path/write/1MiB/qd32/c1".to_owned();
    (one.requested.workers, one.requested.queue_depth) = (1, 32);
    summary.cells.extend([two, one]);
    let rendered = text::verdict(&summary, &Style::default());
    assert!(rendered.contains(" w2 x16 ") && rendered.contains("    x32 "), "{rendered}");
    assert!(rendered.contains("w2: each of two workers"), "{rendered}");
}

#[test]
fn lost_data_is_the_first_line() {
    let rendered = text::verdict(&cases::incomplete(), &Style::default());
    assert!(rendered.starts_with("DATA LOST: 33 requests failed in 3 cells"), "{rendered}");
}
