//! The first lines: what must be known before, then the verdict of each regime in plain words.

use super::names::CellNames;
use super::style::{Paint, Style};
use super::units::counted_len;
use super::wording::{self, is_delivered, serves_itself};
use super::wrap::{Indent, paragraph};
use super::{faults, units};
use narrows_analysis::is_unbounded;
use narrows_analysis::view::{Regime, RegimeKind, SummaryView};
use narrows_model::quantity::{op_rate, seconds, storage_rate};
use narrows_model::summary::{CellSummary, RelayPointSummary, RelaySummary};
use narrows_model::units::NANOS_PER_SEC;
use narrows_model::workload::SyncPolicy;
use narrows_model::{Limiting, Op, Segment, Summary};
use std::collections::BTreeMap;

/// The headline of `summary`.
pub(crate) fn render(summary: &Summary, style: &Style) -> String {
    warnings(summary, style) + &regimes(summary, style)
}

/// What must be known before any figure, and an empty line after it; empty where there is nothing.
pub(crate) fn warnings(summary: &Summary, style: &Style) -> String {
    let lines = faults::lines(summary).into_iter().chain(summary.diagnosis.preface.clone());
    let mut out: String = lines.map(|line| painted(&line, Indent::all(""), Paint::Warning, style)).collect();
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// The verdict of each regime in plain words.
pub(crate) fn regimes(summary: &Summary, style: &Style) -> String {
    let view = SummaryView::new(summary);
    format_limits(&summary.diagnosis.limiting, NO_PATH, &|regime| rates(regime, &view), style)
}

/// What is said where no load of the path was measured.
const NO_PATH: &str = "No verdict: no part of the path was measured.";

/// How much is said of each load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadText {
    /// Its verdict below its rates, with what relieving the limit gains.
    Whole,
    /// One paragraph, without that.
    Short,
}

/// The verdict of each regime as [`regimes`]; where no segment is named, with the one that came closest to its limit.
pub(crate) fn regimes_with_closest(
    summary: &Summary,
    names: &CellNames<'_>,
    length: LoadText,
    style: &Style,
) -> String {
    let view = SummaryView::new(summary);
    let groups = by_regime(&summary.diagnosis.limiting);
    if groups.is_empty() {
        return painted(NO_PATH, Indent::all(""), Paint::Limit, style);
    }
    let format_group = |entries: &Vec<&Limiting>| {
        let first = entries.first()?;
        let closest = first.evidence.first().filter(|_| first.segment == Segment::Unknown);
        let sentences = match closest {
            _ if length == LoadText::Short => wording::short_sentence(entries),
            Some(closest) => {
                let text = names.replace_ids(&closest.text);
                format!("Not found: nothing that was measured was full. Closest: {text}.")
            }
            None => wording::sentences(entries),
        };
        let rates = rates(&first.regime, &view);
        Some(match length {
            LoadText::Whole => regime_with(first, &rates, &sentences, style),
            LoadText::Short => regime_in_short(first, &rates, &sentences, style),
        })
    };
    groups.iter().filter_map(format_group).collect()
}

/// The verdict of each regime of `limiting` in plain words, with the rates that `rates` returns for its name; `none`
/// where there is no regime.
pub(crate) fn format_limits(
    limiting: &[Limiting],
    none: &str,
    rates: &dyn Fn(&str) -> String,
    style: &Style,
) -> String {
    let groups = by_regime(limiting);
    if groups.is_empty() {
        return painted(none, Indent::all(""), Paint::Limit, style);
    }
    let format_group = |entries: &Vec<&Limiting>| {
        let rates = entries.first().map(|first| rates(&first.regime)).unwrap_or_default();
        regime(entries, &rates, style)
    };
    groups.iter().map(format_group).collect()
}

/// The entries of each regime, in their order.
fn by_regime(limiting: &[Limiting]) -> Vec<Vec<&Limiting>> {
    let mut groups: Vec<Vec<&Limiting>> = Vec::new();
    for entry in limiting {
        match groups.last_mut().filter(|group| group.first().is_some_and(|e| e.regime == entry.regime)) {
            Some(group) => group.push(entry),
            None => groups.push(vec![entry]),
        }
    }
    groups
}

fn regime(entries: &[&Limiting], rates: &str, style: &Style) -> String {
    let Some(first) = entries.first() else { return String::new() };
    regime_with(first, rates, &wording::sentences(entries), style)
}

/// The load of `first` with its `rates`, and the `sentences` of its verdict below.
fn regime_with(first: &Limiting, rates: &str, sentences: &str, style: &Style) -> String {
    let mut out = painted(&load_line(first, rates), Indent { first: "", rest: "  " }, Paint::Heading, style);
    out.push_str(&painted(sentences, Indent::all("  "), paint_of(first), style));
    out
}

/// The same in one paragraph.
fn regime_in_short(first: &Limiting, rates: &str, sentence: &str, style: &Style) -> String {
    let text = format!("{} {sentence}", load_line(first, rates));
    painted(&text, Indent { first: "", rest: "  " }, paint_of(first), style)
}

/// The load of `first` with its rates.
fn load_line(first: &Limiting, rates: &str) -> String {
    let load = capitalised(&first.regime);
    if rates.is_empty() { format!("{load}:") } else { format!("{load}: {rates}.") }
}

fn paint_of(first: &Limiting) -> Paint {
    match first.segment {
        _ if is_delivered(first) => Paint::Cleared,
        segment if serves_itself(segment) || segment == Segment::Unknown => Paint::Warning,
        _ => Paint::Limit,
    }
}

/// What the path did under a regime: `read 11.2 MiB/s, write 11.3 MiB/s`, of small requests `read 78.1 thousand op/s (p99
/// 1.20 ms)`; empty where no cell represents it.
fn rates(name: &str, view: &SummaryView<'_>) -> String {
    let regimes = view.regimes();
    let of_both = |regime: &Regime<'_>| {
        let same_kind = regimes.iter().filter(|other| other.kind == regime.kind);
        same_kind.into_iter().any(|other| regime.name_with(other) == name || other.name_with(regime) == name)
    };
    // What is done with files has a name of its own for each operation, whatever the other is.
    let has_directions = |regime: &Regime<'_>| regime.kind != RegimeKind::Files;
    let stands = |regime: &&Regime<'_>| regime.name() == name || (has_directions(regime) && of_both(regime));
    let each = regimes.iter().filter(stands).filter_map(|regime| {
        let is_named = regime.kind == RegimeKind::Files || regime.mixes_directions();
        let op = if is_named { String::new() } else { format!("{} ", regime.cell.op) };
        Some(format!("{op}{}{}", rate_of(regime)?, response(regime)))
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The part that each operation of a mix has of its rate; empty of a load that is none.
fn by_operation(regime: &Regime<'_>) -> Vec<String> {
    if !regime.mixes_directions() {
        return Vec::new();
    }
    let mut parts: BTreeMap<Op, f64> = BTreeMap::new();
    for kind in &regime.cell.kinds {
        let ops = kind.ops_per_s.map(|rate| rate.0);
        let bytes = kind.rate_bytes_per_s.map(|rate| rate.0);
        let part = if counts_operations(regime) { ops } else { bytes };
        *parts.entry(kind.op).or_default() += part.unwrap_or_default();
    }
    let shown = if counts_operations(regime) { op_rate } else { storage_rate };
    parts.into_iter().map(|(op, part)| format!("{op} {}", shown(part))).collect()
}

/// Response times of a load whose requests are few at a time or small, and the parts of a mix, in parentheses; empty for
/// others.
fn response(regime: &Regime<'_>) -> String {
    let cell = regime.cell;
    let in_seconds = |ns: f64| seconds(ns / NANOS_PER_SEC as f64);
    // The mean, which matches the rate: where read-ahead serves most requests, half of them take far less.
    let mean = cell.latency_ns.mean.or(cell.latency_ns.p50.map(|ns| ns as f64));
    let mean = mean.filter(|_| cell.in_flight.configured == 1).map(|ns| {
        // The rate counts the time of the syncs too, which no request has.
        let apart = if is_mostly_sync(cell, ns) { ", syncs apart" } else { "" };
        format!("{} each{apart}", in_seconds(ns))
    });
    let p99 = cell.latency_ns.p99.filter(|_| counts_operations(regime));
    // Requests that were given up took at least so long.
    let sign = |ns: u64| if cell.is_at_least(ns) { ">= " } else { "" };
    let p99 = p99.map(|ns| format!("p99 {}{}", sign(ns), in_seconds(ns as f64)));
    let parts = by_operation(regime).into_iter().chain(mean).chain(p99);
    match parts.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => none,
        times => format!(" ({times})"),
    }
}

/// Whether one request at a time, which takes so long, leaves a fifth or more of the time to the calls that make data durable.
fn is_mostly_sync(cell: &CellSummary, mean_ns: f64) -> bool {
    const REQUESTS_SHARE_MIN: f64 = 0.8;
    let busy = cell.ops_per_s.map_or(1.0, |rate| rate.0 * mean_ns / NANOS_PER_SEC as f64);
    let has_syncs = matches!(cell.requested.sync, SyncPolicy::AtEnd | SyncPolicy::Every(2..));
    has_syncs && is_unbounded(cell) && busy < REQUESTS_SHARE_MIN
}

/// Whether operations a second say more of a load than bytes: one of small blocks.
fn counts_operations(regime: &Regime<'_>) -> bool {
    matches!(regime.kind, RegimeKind::Single | RegimeKind::SmallParallel) && regime.cell.is_small_block()
}

/// The rate of what the load does: bytes of blocks, operations on files.
fn rate_of(regime: &Regime<'_>) -> Option<String> {
    let cell = regime.cell;
    if counts_operations(regime) {
        return Some(op_rate(cell.ops_per_s?.0));
    }
    if regime.kind != RegimeKind::Files {
        return Some(storage_rate(cell.rate_bytes_per_s?.0));
    }
    let bytes = cell.rate_bytes_per_s.map(|rate| rate.0).filter(|rate| *rate > 0.0);
    let moved = bytes.map(|rate| format!(", {}", storage_rate(rate)));
    Some(format!("{}{}", op_rate(cell.ops_per_s?.0), moved.unwrap_or_default()))
}

/// How many of `cells` were measured to their end: of one that failed there may be figures of a part.
pub(crate) fn measured<'a>(cells: impl Iterator<Item = &'a CellSummary>, summary: &Summary) -> usize {
    let has_failed = |cell: &CellSummary| summary.failed.iter().any(|failure| failure.cell.0 == cell.id);
    cells.filter(|cell| !has_failed(cell)).count()
}

/// `text` with a capital first letter.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A paragraph whose lines are painted one by one, so that breaking does not count colours as columns.
pub(crate) fn painted(text: &str, indent: Indent<'_>, paint: Paint, style: &Style) -> String {
    paragraph(text, indent, style.width).lines().fold(String::new(), |mut out, line| {
        out.push_str(&style.paint(paint, line));
        out.push('\n');
        out
    })
}

/// What the run measured, in one faint line at the end.
pub(crate) fn origin(summary: &Summary, style: &Style) -> String {
    let measured = if let Some(relay) = &summary.relay {
        points_measured(relay)
    } else {
        let count = measured(summary.cells.iter(), summary);
        format!("{} measured", units::counted_len(count, "cell"))
    };
    let text = format!(
        "{measured} from {} by narrows {}, seed {}.",
        summary.started_at, summary.narrows_version, summary.seed
    );
    format!("\n{}", painted(&text, Indent::all(""), Paint::Faint, style))
}

/// How many points were measured, for the last line: `7 of 9 points measured, 1 more in part`.
pub(crate) fn points_measured(relay: &RelaySummary) -> String {
    let is_whole = |point: &&RelayPointSummary| point.is_measured() && point.problems.is_empty();
    let whole = relay.points.iter().filter(is_whole).count();
    let part = relay.points.iter().filter(|point| point.is_measured()).count() - whole;
    let all = counted_len(relay.points.len(), "point");
    let measured = if whole == relay.points.len() { all } else { format!("{whole} of {all}") };
    let more = if part > 0 { format!(", {part} more in part,") } else { String::new() };
    format!("{measured} measured{more}")
}
