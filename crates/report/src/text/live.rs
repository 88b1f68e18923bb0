//! What a terminal shows while a run lasts: the path with a gauge for each segment, the rate now, the suspect, the time
//! left. A pure function from the state to lines; when they are drawn is the caller's business.

use super::progress::{LiveRate, RunPosition, now_words, running_words, time_left_words};
use super::reading::reading;
use super::style::{Paint, Style};
use super::wrap::{Indent, paragraph};
use narrows_model::quantity::percent;
use narrows_model::{Cell, Nanos, Segment, Summary};

/// Segments with a gauge at most; of more the fullest.
const GAUGES_MAX: usize = 12;
/// The path, the running cell, the suspect: lines beside the gauges.
const LINES_BESIDE: usize = 3;
/// Columns of the longest segment's name.
const NAME_COLUMNS: usize = 20;
/// The parts of a path in its order, and what the ids of their segments begin with.
const PARTS: [(&str, &[&str]); 5] = [
    ("client", &["generator", "offered-load", "workload", "host", "client"]),
    ("network", &["network"]),
    ("proxy", &["proxy"]),
    ("server", &["server"]),
    ("device", &["device"]),
];

/// What is known of a segment so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiveSegment {
    /// The segment.
    pub id: Segment,
    /// How full the path made it; `None` while that is not known.
    pub used_ratio: Option<f64>,
}

/// What seems to limit so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiveSuspect {
    /// The segment.
    pub segment: Segment,
    /// How sure that is, 0 to 1.
    pub confidence: f64,
}

/// The state of a run between two drawings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LiveView {
    /// The segments of the path, in its order.
    pub segments: Vec<LiveSegment>,
    /// What seems to limit; `None` while that is not known.
    pub suspect: Option<LiveSuspect>,
    /// The running cell, with its place in the run; `None` before the first.
    pub running: Option<(RunPosition, Cell)>,
    /// Its rate now; `None` before its first interval.
    pub rate: Option<LiveRate>,
}

impl LiveView {
    /// The view of a run that has not begun.
    #[must_use]
    pub fn new(segments: &[Segment]) -> Self {
        let segments = segments.iter().map(|id| LiveSegment { id: *id, used_ratio: None }).collect();
        Self { segments, ..Self::default() }
    }

    /// Takes over what `summary`, of the cells measured so far, says of the path.
    pub fn update(&mut self, summary: &Summary) {
        let used = |segment| LiveSegment { id: segment, used_ratio: None };
        let measured = summary.segments.iter().map(|segment| LiveSegment {
            used_ratio: reading(segment, summary).used_ratio.filter(|ratio| ratio.is_finite()),
            ..used(segment.id)
        });
        self.segments = measured.collect();
        let named = summary.diagnosis.limiting.iter().find(|entry| entry.segment != Segment::Unknown);
        self.suspect =
            named.map(|entry| LiveSuspect { segment: entry.segment, confidence: entry.confidence });
    }
}

/// The lines of a frame with at most `lines_max` of them.
///
/// # Shape
/// No line is longer than [`Style::width`] columns, colours not counted, and none breaks a word; at least one line where a
/// cell runs.
#[must_use]
pub fn live_frame(view: &LiveView, style: &Style, lines_max: usize) -> Vec<String> {
    let room = lines_max.saturating_sub(LINES_BESIDE).min(GAUGES_MAX);
    let mut lines = Vec::new();
    if room > 0 && !view.segments.is_empty() {
        lines.push(path_line(view, style));
        lines.extend(gauges(view, room, style));
    }
    if let Some((position, cell)) = &view.running {
        let now = view.rate.map(|rate| format!(": {}", now_words(cell, rate))).unwrap_or_default();
        lines.push(
            style.paint(Paint::Heading, &fitting(&format!("{}{now}", running_words(*position, cell)), style)),
        );
    }
    lines.extend(suspect_line(view, style));
    lines
}

/// `client --- [network] --- server --- device`, the suspect's part in brackets.
fn path_line(view: &LiveView, style: &Style) -> String {
    let part = |id: Segment| PARTS.iter().position(|(_, starts)| starts.contains(&head(id)));
    let suspected = view.suspect.and_then(|suspect| part(suspect.segment));
    let is_there = |index: &usize| view.segments.iter().any(|segment| part(segment.id) == Some(*index));
    let names = (0..PARTS.len()).filter(is_there).filter_map(|index| {
        let (name, _) = PARTS.get(index)?;
        Some(if suspected == Some(index) { format!("[{name}]") } else { (*name).to_owned() })
    });
    let join = if style.unicode { " ─── " } else { " --- " };
    fitting(&names.collect::<Vec<_>>().join(join), style)
}

/// The part of an id before its dot.
fn head(id: Segment) -> &'static str {
    id.id().split('.').next().unwrap_or_default()
}

/// A line for each segment, `room` at most: the fullest, then those of which nothing is known yet, in the order of the
/// path; the rest as a number.
fn gauges(view: &LiveView, room: usize, style: &Style) -> Vec<String> {
    let mut order: Vec<usize> = (0..view.segments.len()).collect();
    let used =
        |index: &usize| view.segments.get(*index).and_then(|segment| segment.used_ratio).unwrap_or(-1.0);
    order.sort_by(|a, b| used(b).total_cmp(&used(a)));
    let is_cut = order.len() > room;
    order.truncate(if is_cut { room.saturating_sub(1) } else { room });
    order.sort_unstable();
    let shown = order.iter().filter_map(|index| view.segments.get(*index));
    let mut lines: Vec<String> = shown.map(|segment| gauge(segment, view.suspect, style)).collect();
    if is_cut {
        let more = view.segments.len() - order.len();
        lines.push(style.paint(Paint::Faint, &fitting(&format!("  and {more} more segments"), style)));
    }
    lines
}

fn gauge(segment: &LiveSegment, suspect: Option<LiveSuspect>, style: &Style) -> String {
    let is_suspect = suspect.is_some_and(|suspect| suspect.segment == segment.id);
    let name = format!("{:<NAME_COLUMNS$}", segment.id.id());
    let (share, paint) = match segment.used_ratio {
        None => ("    -".to_owned(), Paint::Faint),
        Some(ratio) if is_suspect => (format!("{:>5}", percent(ratio.min(1.0))), Paint::Limit),
        Some(ratio) => (format!("{:>5}", percent(ratio.min(1.0))), Paint::Plain),
    };
    let mark = if is_suspect { "  suspect" } else { "" };
    let bar = style.bar(segment.used_ratio.unwrap_or(0.0));
    style.paint(paint, &fitting(&format!("  {name} {bar} {share}{mark}"), style))
}

/// `suspect: network.bandwidth, 60 % sure; 34 s left`.
fn suspect_line(view: &LiveView, style: &Style) -> Option<String> {
    let suspect = view
        .suspect
        .map(|suspect| format!("suspect: {}, {} sure", suspect.segment, percent(suspect.confidence)));
    let left = view.running.as_ref().and_then(|(position, _)| time_left_words(position.remaining_ns));
    let words: Vec<String> = suspect.into_iter().chain(left).collect();
    (!words.is_empty()).then(|| fitting(&words.join("; "), style))
}

/// `line` cut behind its last word that fits.
fn fitting(line: &str, style: &Style) -> String {
    if line.chars().count() <= style.width {
        return line.to_owned();
    }
    let most: String = line.chars().take(style.width.saturating_sub(3)).collect();
    let end = most.rfind(' ').unwrap_or(most.len());
    format!("{}...", most.get(..end).unwrap_or(&most).trim_end())
}

/// A line that is printed above the view, broken between words.
///
/// # Shape
/// At least one line; a word that is longer than the width stays whole.
#[must_use]
pub fn live_lines(line: &str, width: usize) -> Vec<String> {
    paragraph(line, Indent { first: "", rest: "  " }, width).lines().map(str::to_owned).collect()
}

/// Time without a line on a log after which the rate of the running cell is printed.
pub const PLAIN_EVERY_NS: Nanos = Nanos(2_000_000_000);
/// Time over which the rate of the running cell is taken.
pub const RATE_OVER_NS: Nanos = Nanos(500_000_000);
