//! `narrows explain LAST`: every figure of a run's first screen with what it was computed from.

use super::evidence::{self, PageContext};
use super::headline::capitalised;
use super::names::CellNames;
use super::reading::{path_cells, reading};
use super::style::Style;
use super::units::counted_len;
use super::wrap::{Indent, paragraph};
use narrows_analysis::rules::rule;
use narrows_analysis::view::SummaryView;
use narrows_model::diagnosis::{Limiting, Severity};
use narrows_model::quantity::{amount, op_rate, percent, seconds, storage_rate};
use narrows_model::summary::{CellSummary, Interval, SegmentSummary, UsedOf};
use narrows_model::units::NANOS_PER_SEC;
use narrows_model::{Bytes, Segment, Summary};

/// Rows of a study that are explained one by one.
const ROWS_MAX: usize = 24;

const INDENT: Indent<'static> = Indent { first: "  ", rest: "    " };

/// Every figure of the first screen of `summary`, which `name` is the record of.
#[must_use]
pub fn screen_figures(summary: &Summary, name: &str, style: &Style) -> String {
    let names = CellNames::from_summary(summary);
    let page = PageContext { names: &names, style };
    let view = SummaryView::new(summary);
    let mut out = paragraph(
        &format!(
            "The figures of {name}, in the order of its first screen. `narrows explain WORD` explains a word."
        ),
        Indent::all(""),
        style.width,
    );
    for regime in view.regimes() {
        out += &load(&regime.name(), regime.cell, style);
    }
    out += &rows(summary, &view, page);
    for entry in &summary.diagnosis.limiting {
        out += &limit(entry, page);
    }
    out += &path(summary, page);
    out += &cautions(summary, page);
    out += &counts(summary, style);
    out
}

/// The rows of a study or of a suite that no load of the verdict is of.
fn rows(summary: &Summary, view: &SummaryView<'_>, page: PageContext<'_>) -> String {
    if summary.study.is_none() && summary.suite.is_none() {
        return String::new();
    }
    let is_shown = |cell: &&CellSummary| view.regimes().iter().any(|regime| regime.cell.id == cell.id);
    let others: Vec<&CellSummary> = path_cells(summary).filter(|cell| !is_shown(cell)).collect();
    let shown = others.iter().take(ROWS_MAX);
    let text: String = shown.map(|cell| load(page.names.name(&cell.id), cell, page.style)).collect();
    match others.len().saturating_sub(ROWS_MAX) {
        0 => text,
        more => text + &format!("\nAnd {} of the path, each alike.\n", counted_len(more, "more cell")),
    }
}

/// The figures of one load in one direction.
fn load(name: &str, cell: &CellSummary, style: &Style) -> String {
    let item = |text: &str| paragraph(text, INDENT, style.width);
    let mut out = format!("\n{}", paragraph(&capitalised(name), Indent::all(""), style.width));
    if let (Some(rate), Some(ops)) = (cell.rate_bytes_per_s, cell.ops_per_s) {
        let moved = cell.bytes.application;
        let basis = if moved == Bytes(0) {
            String::new()
        } else {
            let trials = counted_len(cell.trials.len(), "trial");
            format!("{} in {} of {trials}, ", amount(moved), seconds(cell.elapsed_s.last_done))
        };
        let text =
            format!("{} and {}: {basis}by the cell {}.", storage_rate(rate.0), op_rate(ops.0), cell.id);
        out += &item(&text);
        out += &item(&interval(cell.interval.as_ref()));
    }
    for text in times(cell) {
        out += &item(&text);
    }
    out
}

fn interval(interval: Option<&Interval>) -> String {
    interval.map_or_else(
        || "Its interval is not known: too few samples.".to_owned(),
        |interval| {
            let (low, high) = (storage_rate(interval.low), storage_rate(interval.high));
            format!("Its {} interval is {low} to {high} ({}).", percent(interval.level), interval.method)
        },
    )
}

/// The response times of a load.
fn times(cell: &CellSummary) -> Vec<String> {
    let latency = &cell.latency_ns;
    let span = |ns: f64| seconds(ns / NANOS_PER_SEC as f64);
    let mean = latency.mean.map(|mean| format!("{} each: the mean time of its requests.", span(mean)));
    let p99 = latency.p99.map(|p99| {
        let others = [("p50", latency.p50), ("p99.9", latency.p999), ("the longest", latency.max)];
        let others: Vec<String> =
            others.iter().filter_map(|(name, ns)| Some(format!("{name} {}", span((*ns)? as f64)))).collect();
        format!(
            "p99 {}: 99 of 100 requests were answered within it; {}.",
            span(p99 as f64),
            others.join(", ")
        )
    });
    mean.into_iter().chain(p99).collect()
}

/// What one entry of the verdict is based on.
fn limit(entry: &Limiting, page: PageContext<'_>) -> String {
    let style = page.style;
    let mut out = format!("\n{}", paragraph(&heading(entry), Indent::all(""), style.width));
    for evidence in &entry.evidence {
        out += &evidence::render("", evidence, INDENT, page);
    }
    if let Some(gain) = entry.relief_gain_ratio.filter(|_| entry.segment != Segment::Unknown) {
        let text = format!(
            "At most {gain:.1} times as fast without it: what the next segment of the path sustains for this load, over \
             its rate."
        );
        out += &paragraph(&text, INDENT, style.width);
    }
    out
}

fn heading(entry: &Limiting) -> String {
    if entry.segment == Segment::Unknown {
        return format!("Not found for {}: no segment of it is named", entry.regime);
    }
    let rules = entry.codes.join(", ");
    format!("{} sure that {} limits {}: by {rules}", percent(entry.confidence), entry.segment, entry.regime)
}

/// The figures of each segment that has one.
fn path(summary: &Summary, page: PageContext<'_>) -> String {
    let rows: Vec<String> =
        summary.segments.iter().filter_map(|segment| segment_figures(segment, summary, page.names)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let heading =
        page.style.heading("PATH", "what each segment reaches alone, and how full the path made it");
    rows.iter().fold(heading, |out, row| out + &paragraph(row, INDENT, page.style.width))
}

fn segment_figures(segment: &SegmentSummary, summary: &Summary, names: &CellNames<'_>) -> Option<String> {
    let found = reading(segment, summary);
    let source = segment.source.as_deref().map(|source| format!(" (from {source})")).unwrap_or_default();
    let most = found.most.as_ref().map(|most| format!("{most}{source}"));
    let used = found.used_ratio.map(|ratio| {
        let under = segment.uses.first().map(|used| format!(" under {}", names.name(&used.cell)));
        let of = if found.of == Some(UsedOf::Time) { "of the time" } else { "of that" };
        format!("{} {of}{}", percent(ratio.min(1.0)), under.unwrap_or_default())
    });
    let parts: Vec<String> = most.into_iter().chain(used).collect();
    (!parts.is_empty()).then(|| format!("{}: {}.", segment.id, parts.join("; ")))
}

/// What the cautions are based on.
fn cautions(summary: &Summary, page: PageContext<'_>) -> String {
    let doubtful = summary.diagnosis.findings.iter().filter(|finding| finding.severity > Severity::Info);
    let mut out = String::new();
    for finding in doubtful {
        let title = rule(&finding.code).map_or(finding.slug.as_str(), |rule| rule.title);
        let cells: Vec<&str> = finding.cells.iter().map(|cell| page.names.name(cell)).collect();
        let cells = if cells.is_empty() { "the whole run".to_owned() } else { cells.join(", ") };
        let text = format!("{}: {cells} ({})", capitalised(title), finding.code);
        out.push('\n');
        out += &paragraph(&text, Indent::all(""), page.style.width);
        for evidence in &finding.evidence {
            out += &evidence::render("", evidence, INDENT, page);
        }
    }
    out
}

fn counts(summary: &Summary, style: &Style) -> String {
    let skipped = match summary.skipped.first() {
        Some(first) => format!(
            ", and {} planned but not measured, the first ({}) because: {}",
            counted_len(summary.skipped.len(), "cell"),
            first.cell,
            first.reason
        ),
        None => String::new(),
    };
    let text = format!("{} measured{skipped}.", counted_len(summary.cells.len(), "cell"));
    format!("\n{}", paragraph(&text, Indent::all(""), style.width))
}
