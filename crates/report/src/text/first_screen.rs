//! The first screen: what limits each load, how full the path was, what to be careful about, what to do next.
//!
//! It answers in at most 24 lines of 80 columns; evidence, requests and lists are behind `--detail`.

use super::headline::{self, LoadText};
use super::names::CellNames;
use super::next;
use super::path::{self, PathMark, listed, mark};
use super::reading::reading;
use super::server_metrics;
use super::style::{Paint, Style};
use super::table::{Align, Field, TextTable};
use super::thresholds;
use super::units::counted_len;
use super::wrap::Indent;
use narrows_analysis::rules::{NOT_ENOUGH_EVIDENCE, rule};
use narrows_model::diagnosis::Severity;
use narrows_model::plan::SkippedCell;
use narrows_model::quantity::percent;
use narrows_model::summary::SegmentSummary;
use narrows_model::{Bytes, Cut, Segment, Summary};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Lines of a terminal that was not enlarged.
const LINES_MAX: usize = 24;
/// The heading of the path and the empty line before it.
const HEADING: usize = 2;
/// The same, and two lines of names behind the bars.
const AROUND_BARS: usize = HEADING + 2;
/// Segments shown with a bar; of more the fullest, and always those that limit.
const BARS_MAX: usize = 5;
/// Of more segments only the number is shown.
const NAMES_MAX: usize = 4;
/// From so many columns on a row has the segment's ceiling and the loads that it limits.
const WIDE_COLUMNS: usize = 78;
/// Cautions shown; the rest is only counted.
const CAUTIONS_MAX: usize = 3;

/// The first screen of `summary`.
///
/// # Shape
/// At most 24 lines of 80 columns for the loads that `check` measures; never empty. Where whole sentences take more, loads are
/// said in short.
pub(crate) fn render(summary: &Summary, style: &Style) -> String {
    let whole = render_with(summary, LoadText::Whole, style);
    if whole.lines().count() <= LINES_MAX { whole } else { render_with(summary, LoadText::Short, style) }
}

fn render_with(summary: &Summary, length: LoadText, style: &Style) -> String {
    let names = CellNames::from_summary(summary);
    let before =
        headline::warnings(summary, style) + &headline::regimes_with_closest(summary, &names, length, style);
    let after = thresholds::render(summary, &names, style)
        + &unconfirmed(summary, style)
        + &without_room(summary, style)
        + &cautions(summary, style)
        + &next::first(summary, style)
        + &more(summary, style);
    let taken = before.lines().count() + after.lines().count();
    let room = |around: usize| LINES_MAX.saturating_sub(taken + around).min(BARS_MAX);
    let path = match length {
        LoadText::Whole => path(summary, room(AROUND_BARS), usize::MAX, style),
        // The loads say what limits; what has no bar is behind `--detail`.
        LoadText::Short => path(summary, room(HEADING), room(HEADING), style),
    };
    before + &path + &after
}

/// One segment of the table, with what orders it.
struct GaugeRow<'a> {
    segment: &'a SegmentSummary,
    mark: (PathMark, String, Paint),
    used_ratio: Option<f64>,
}

impl GaugeRow<'_> {
    fn is_measured(&self) -> bool {
        self.mark.0 != PathMark::Unmeasured
    }
}

/// The segments that limit, or the `limits_max` of them that limit the most loads, and the fullest others with a bar each,
/// `bars_max` where not more of them limit; where all that limit are shown, the rest by name. Empty where there is no bar.
fn path(summary: &Summary, bars_max: usize, limits_max: usize, style: &Style) -> String {
    let segments = listed(summary);
    let rows: Vec<GaugeRow<'_>> = segments.iter().map(|segment| gauge_row(segment, summary)).collect();
    let limits = |row: &&GaugeRow<'_>| row.mark.0 == PathMark::Limits;
    let mut shown: Vec<Segment> = rows.iter().filter(limits).map(|row| row.segment.id).collect();
    let limit_count = shown.len();
    let left_out = if limit_count > limits_max {
        shown.sort_by_key(|segment| Reverse(path::entries_of(*segment, summary).count()));
        shown.truncate(limits_max);
        Some(format!("{limits_max} of {limit_count} segments that limit"))
    } else {
        None
    };
    let mut others: Vec<&GaugeRow<'_>> =
        rows.iter().filter(|row| !limits(row) && row.is_measured() && row.used_ratio.is_some()).collect();
    others.sort_by(|a, b| b.used_ratio.unwrap_or(0.0).total_cmp(&a.used_ratio.unwrap_or(0.0)));
    let room = bars_max.saturating_sub(shown.len());
    shown.extend(others.iter().take(room).map(|row| row.segment.id));
    if shown.is_empty() {
        return String::new();
    }
    let shown_rows = || rows.iter().filter(|row| shown.contains(&row.segment.id));
    let table = heading(&path::place(summary), left_out, style) + &fitting_table(shown_rows, summary, style);
    if limits_max == usize::MAX { table + &rest(&rows, &shown, style) } else { table }
}

/// The heading of the path with its target, and with what was left out, which is there alone where not both fit.
fn heading(place: &str, left_out: Option<String>, style: &Style) -> String {
    const NAME: &str = "PATH";
    let remark = left_out.map_or_else(
        || place.to_owned(),
        |left_out| match format!("{place}  ({left_out})") {
            both if NAME.len() + 2 + both.chars().count() <= style.width => both,
            _ => left_out,
        },
    );
    style.heading(NAME, &remark)
}

/// The rows with as much as fits into a line: what a segment sustains, and the loads that it limits.
fn fitting_table<'r, 's: 'r, I: Iterator<Item = &'r GaugeRow<'s>>>(
    rows: impl Fn() -> I,
    summary: &Summary,
    style: &Style,
) -> String {
    let table = |shown: RowFields| {
        let columns = [Align::Left, Align::Left, Align::Right, Align::Left].map(|align| ("", align));
        let mut table = TextTable::new(&columns);
        rows().for_each(|row| table.row(fields(row, summary, style, shown)));
        table
    };
    let is_wide = style.width >= WIDE_COLUMNS;
    let all = [
        RowFields { most: true, loads: LoadNames::All },
        RowFields { most: true, loads: LoadNames::Count },
        RowFields { most: true, loads: LoadNames::None },
    ];
    let fitting = all.into_iter().filter(|_| is_wide).map(table).find(|table| table.width() <= style.width);
    fitting.unwrap_or_else(|| table(RowFields { most: false, loads: LoadNames::None })).without_header(style)
}

/// How the loads are said that a segment limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoadNames {
    All,
    /// Only of more than one.
    Count,
    None,
}

/// What a row has beside the bar.
#[derive(Debug, Clone, Copy)]
struct RowFields {
    most: bool,
    loads: LoadNames,
}

fn gauge_row<'a>(segment: &'a SegmentSummary, summary: &Summary) -> GaugeRow<'a> {
    let used_ratio = reading(segment, summary).used_ratio;
    GaugeRow { segment, mark: mark(segment.id, summary), used_ratio }
}

fn fields(row: &GaugeRow<'_>, summary: &Summary, style: &Style, shown: RowFields) -> Vec<Field> {
    let most = reading(row.segment, summary).most.filter(|_| shown.most);
    let used = row.used_ratio.map(|used| format!("{} {:>5}", style.bar(used), percent(used.min(1.0))));
    let of = if row.used_ratio.is_some() { "of " } else { "" };
    let (_, mark, paint) = &row.mark;
    let word = match (shown.loads, mark.split_once("  ")) {
        (LoadNames::None, Some((word, _loads))) => word.to_owned(),
        (LoadNames::Count, Some((word, loads))) if loads.contains(", ") => {
            format!("{word}  {}", counted_len(loads.split(", ").count(), "load"))
        }
        _ => mark.clone(),
    };
    vec![
        row.segment.id.id().into(),
        used.unwrap_or_default().into(),
        most.map(|most| format!("{of}{most}")).unwrap_or_default().into(),
        Field::new(word, *paint),
    ]
}

/// The segments without a bar, by what was found of them.
fn rest(rows: &[GaugeRow<'_>], shown: &[Segment], style: &Style) -> String {
    let named = |of: PathMark, what: &str| {
        let left = rows.iter().filter(|row| row.mark.0 == of && !shown.contains(&row.segment.id));
        let ids: Vec<&str> = left.map(|row| row.segment.id.id()).collect();
        match ids.len() {
            0 => None,
            count if count > NAMES_MAX => Some(format!("{what}: {}", counted_len(count, "segment"))),
            _ => Some(format!("{what}: {}", ids.join(", "))),
        }
    };
    let parts = [
        named(PathMark::Cleared, "not the limit"),
        named(PathMark::Undecided, "not decided"),
        named(PathMark::Unmeasured, "not measured"),
    ];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
    if text.is_empty() {
        return text;
    }
    headline::painted(&text, Indent::all("  "), Paint::Faint, style)
}

/// That --confirm changed nothing; empty where it did, or was not asked for.
fn unconfirmed(summary: &Summary, style: &Style) -> String {
    let is_asked = summary.command.iter().any(|word| word == "--confirm");
    let is_changed = summary.diagnosis.limiting.iter().any(|entry| entry.confirmed.is_some());
    if !is_asked || is_changed {
        return String::new();
    }
    let text = "--confirm: nothing that is named could be changed from here, so nothing is confirmed.";
    format!("\n{}", headline::painted(text, Indent { first: "", rest: "  " }, Paint::Warning, style))
}

/// Blocks of which no load was measured, for want of room for their files or because the file is too small; empty where there
/// was room for one load of each.
fn without_room(summary: &Summary, style: &Style) -> String {
    let is_measured =
        |block: Bytes| summary.cells.iter().any(|cell| cell.cut == Cut::Path && cell.block_bytes == block);
    let blocks: BTreeSet<Bytes> = summary
        .skipped
        .iter()
        .filter_map(SkippedCell::block_without_room)
        .filter(|block| !is_measured(*block))
        .collect();
    if blocks.is_empty() {
        return String::new();
    }
    let blocks: Vec<String> = blocks.iter().map(Bytes::to_string).collect();
    let is_small_file = summary.skipped.iter().any(|skip| skip.reason.contains(SkippedCell::FILE_SIZE));
    let why = if is_small_file {
        "the file is too small for them; name a larger one"
    } else {
        "too little space is free"
    };
    let text = format!("Not measured: loads of {} ({why}).", blocks.join(", "));
    format!("\n{}", headline::painted(&text, Indent { first: "", rest: "  " }, Paint::Warning, style))
}

/// Findings that make figures doubtful, in the words of their rules.
fn cautions(summary: &Summary, style: &Style) -> String {
    let limit_codes = |code: &str| {
        summary.diagnosis.limiting.iter().any(|entry| entry.codes.iter().any(|known| known == code))
    };
    let is_named = summary.diagnosis.limiting.iter().any(|entry| entry.segment != Segment::Unknown);
    // Beside a segment that is named it would contradict it.
    let is_refuted = |code: &str| is_named && code == NOT_ENOUGH_EVIDENCE;
    let found = summary.diagnosis.findings.iter();
    let doubtful = found.filter(|finding| {
        finding.severity > Severity::Info && !limit_codes(&finding.code) && !is_refuted(&finding.code)
    });
    let metrics = server_metrics::caution(summary);
    let titles: Vec<&str> = (metrics.as_deref().into_iter())
        .chain(doubtful.filter_map(|finding| rule(&finding.code)).map(|rule| rule.title))
        .collect();
    if titles.is_empty() {
        return String::new();
    }
    let more = titles.len().saturating_sub(CAUTIONS_MAX);
    let shown: Vec<&str> = titles.into_iter().take(CAUTIONS_MAX).collect();
    let more = if more > 0 { format!("; {more} more") } else { String::new() };
    let text = format!("Careful: {}{more}.", shown.join("; "));
    format!("\n{}", headline::painted(&text, Indent { first: "", rest: "  " }, Paint::Warning, style))
}

/// How to see the rest.
fn more(summary: &Summary, style: &Style) -> String {
    let skipped = match summary.skipped.len() {
        0 => String::new(),
        count => format!(", {count} skipped"),
    };
    let measured = headline::measured(summary.cells.iter(), summary);
    let text = format!(
        "{} measured{skipped}. More: narrows diagnose RECORD --detail",
        counted_len(measured, "cell")
    );
    format!("\n{}", headline::painted(&text, Indent::all(""), Paint::Faint, style))
}
