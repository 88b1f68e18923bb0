//! Frames of the live view, at the widths of terminals.

use crate::compare;
use crate::fixtures::{builders, cases};
use narrows_model::quantity::parse_size;
use narrows_model::workload::Workload;
use narrows_model::{BytesPerSec, Cell, Cut, Nanos, OpsPerSec, Segment};
use narrows_report::text::Style;
use narrows_report::text::live::{LiveView, live_frame, live_lines};
use narrows_report::text::progress::{LiveRate, RunPosition};

use std::fmt::Write as _;

const WIDTHS: [usize; 2] = [80, 60];

fn cell() -> Cell {
    let workload =
        Workload { block_bytes: parse_size("4KiB").unwrap(), queue_depth: 16, ..Workload::default() };
    let stop = narrows_model::cell::Stop {
        warm_up_ns: Nanos(0),
        measure_ns: Nanos(1_000_000_000),
        bytes_max: None,
        ops_max: None,
    };
    Cell::new(Cut::Path, builders::target(), workload, stop)
}

fn running(view: LiveView) -> LiveView {
    let position = RunPosition { number: 7, count: 31, remaining_ns: Some(Nanos(34_000_000_000)) };
    let rate = LiveRate { bytes_per_s: BytesPerSec(11.7e6), ops_per_s: OpsPerSec(2870.0) };
    LiveView { running: Some((position, cell())), rate: Some(rate), ..view }
}

/// A run that has begun, one that has a suspect, and one on a terminal of few lines.
fn frames() -> Vec<(&'static str, LiveView, usize)> {
    let begun = LiveView::new(&Segment::ALL[..16]);
    let mut known = LiveView::default();
    known.update(&cases::network());
    vec![
        ("begun", running(begun), 24),
        ("suspect", running(known.clone()), 24),
        ("few_lines", running(known.clone()), 8),
        ("one_line", running(known), 2),
    ]
}

#[test]
fn frames_of_the_live_view_read_as_kept_and_fit_their_terminal() {
    let mut text = String::new();
    for width in WIDTHS {
        for (name, view, lines_max) in frames() {
            for unicode in [false, true] {
                let style = Style { width, unicode, ..Style::default() };
                let lines = live_frame(&view, &style, lines_max);
                assert!(lines.len() <= lines_max.max(2), "{name}: {} lines", lines.len());
                assert!(lines.iter().all(|line| line.chars().count() <= width), "{name}: {lines:#?}");
                assert!(unicode || lines.iter().all(|line| line.is_ascii()), "{name}: {lines:#?}");
                if width == 80 || !unicode {
                    let letters = if unicode { "UTF-8" } else { "ASCII" };
                    writeln!(text, "== {name}, {width} columns, {letters}\n{}", lines.join("\n")).unwrap();
                }
            }
        }
    }
    compare("live_frames", &text);
}

#[test]
fn a_line_above_the_view_breaks_between_words() {
    let line =
        "after 5.0 s: bulk read (1MiB, 16 in flight) moves 634 MiB/s; suspect so far: host.cpu (60 % sure)";
    let lines = live_lines(line, 60);
    assert!(lines.iter().all(|part| part.len() <= 60), "{lines:#?}");
    let joined: Vec<&str> = lines.iter().flat_map(|part| part.split_whitespace()).collect();
    assert_eq!(joined.join(" "), line);
}

#[test]
fn colour_repeats_what_a_word_says() {
    let mut view = LiveView::default();
    view.update(&cases::network());
    let plain = live_frame(&running(view.clone()), &Style::default(), 24);
    let coloured = live_frame(&running(view), &Style { colour: true, ..Style::default() }, 24);
    let mut stripped = coloured.join("\n");
    for colour in narrows_report::text::COLOURS {
        stripped = stripped.replace(colour, "");
    }
    assert_eq!(stripped, plain.join("\n"));
    assert!(coloured.join("\n").contains("\u{1b}[1;31m"), "the suspect is marked");
}
