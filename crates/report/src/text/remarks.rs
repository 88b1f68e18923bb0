//! What is printed beside the verdict: findings, what the segments predict, cells that were left out.

use super::evidence::{PageContext, render as evidence, some_of};
use super::faults::unit;
use super::path::CACHED_RATIO;
use super::reading::path_cells;
use super::server_metrics;
use super::style::{Paint, Style};
use super::units::{counted_len, factor, storage_column};
use super::wrap::{Indent, columns, paragraph};
use narrows_analysis::UNEXPLAINED_RATIO;
use narrows_model::diagnosis::Severity;
use narrows_model::plan::SkippedCell;
use narrows_model::quantity::percent;
use narrows_model::summary::CellSummary;
use narrows_model::{Diagnosis, Finding, Summary};

/// Statements and names shown of each before the rest is only counted.
const SHOWN: usize = 2;
/// Up to here a difference is that of cuts measured one after the other.
const EXPLAINED_RATIO: f64 = 0.10;

/// Findings that the lists do not show already, the prediction, the skipped cells.
pub(crate) fn render(summary: &Summary, page: PageContext<'_>) -> String {
    let style = page.style;
    let mut out = findings(&summary.diagnosis, page);
    if let Some(text) = prediction(summary) {
        out.push_str(&style.heading("PREDICTION", ""));
        out.push_str(&paragraph(&text, Indent::all("  "), style.width));
    }
    if let Some(text) = server_metrics::sentence(summary) {
        out.push_str(&style.heading("SERVER METRICS", ""));
        out.push_str(&paragraph(&text, Indent::all("  "), style.width));
    }
    if !summary.skipped.is_empty() {
        out.push_str(&style.heading("SKIPPED", &counted_len(summary.skipped.len(), unit(summary))));
        out.push_str(&skipped(&summary.skipped, style));
    }
    out
}

/// Findings that the lists do not show already; empty where there are none.
pub(crate) fn findings(diagnosis: &Diagnosis, page: PageContext<'_>) -> String {
    let style = page.style;
    let mut out = String::new();
    let limit_codes: Vec<&str> =
        diagnosis.limiting.iter().flat_map(|entry| entry.codes.iter().map(String::as_str)).collect();
    let news = |finding: &&Finding| {
        finding.severity > Severity::Info || !limit_codes.contains(&finding.code.as_str())
    };
    let findings: Vec<&Finding> = diagnosis.findings.iter().filter(news).collect();
    if !findings.is_empty() {
        out.push_str(&style.heading("FINDINGS", ""));
        out.extend(findings.iter().map(|one| finding(one, &limit_codes, page)));
    }
    out
}

fn finding(finding: &Finding, limit_codes: &[&str], page: PageContext<'_>) -> String {
    let style = page.style;
    let (word, paint) = match finding.severity {
        Severity::Info => ("note", Paint::Plain),
        Severity::Warning => ("warning", Paint::Warning),
        Severity::Error => ("error", Paint::Limit),
    };
    let (cells, more) = some_of(&finding.cells, SHOWN, style);
    let cells: Vec<&str> = cells.iter().map(|id| page.names.name(id)).collect();
    let mut about = cells.join(", ");
    about.extend(more.map(|more| format!(", {more}")));
    let head_columns = columns(word) + columns(&finding.code) + 5;
    let about = match about.as_str() {
        "" => "\n".to_owned(),
        short if head_columns + columns(short) <= style.width => format!("  {short}\n"),
        long => format!("\n{}", paragraph(long, Indent::all("    "), style.width)),
    };
    let mut out = format!("  {} {}{about}", style.paint(paint, word), finding.code);
    // A rule that names the limit has its evidence in the list of limits.
    if !limit_codes.contains(&finding.code.as_str()) {
        let (shown, _) = some_of(&finding.evidence, 1, style);
        out.extend(shown.iter().map(|one| evidence("", one, Indent::all("    "), page)));
    }
    out
}

/// What the segments promise at the fastest cell, and how far the path is from it.
fn prediction(summary: &Summary) -> Option<String> {
    let composed = summary.prediction.composed_bytes_per_s?;
    let residual = summary.prediction.residual_ratio?;
    let promised = storage_column(Some(composed));
    let measured = composed.0 * (1.0 + residual);
    let measured = storage_column(Some(narrows_model::BytesPerSec(measured)));
    let missing = missing_cuts(summary);
    if !missing.is_empty() {
        return Some(format!(
            "No prediction for the fastest cell: {} was not measured under its load (see SKIPPED). What was measured \
             allows {promised} at most; measured {measured}.",
            missing.join(", ")
        ));
    }
    let reading = if residual.abs() <= EXPLAINED_RATIO {
        "the segments explain the path"
    } else if residual.abs() <= UNEXPLAINED_RATIO {
        "the segments explain most of the path"
    } else if residual < 0.0 {
        "something that was not measured slows the path"
    } else if is_from_cache(summary) {
        "a cache served the path, as the bytes beside it show"
    } else {
        "a segment's ceiling is higher than measured"
    };
    Some(format!(
        "The segments predict {promised} for the fastest cell; measured {measured}, {}: {reading}.",
        distance(residual)
    ))
}

/// Whether most of the bytes of the fastest cell were counted in no place behind a cache: a rate above the prediction alone
/// shows no cache.
fn is_from_cache(summary: &Summary) -> bool {
    let rate = |cell: &CellSummary| cell.rate_bytes_per_s.map_or(0.0, |rate| rate.0);
    let fastest = path_cells(summary).max_by(|a, b| rate(a).total_cmp(&rate(b)));
    fastest.and_then(|cell| cell.cache_served_ratio).is_some_and(|share| share >= CACHED_RATIO)
}

/// The cuts below the path that a prediction for its fastest cell needs and that were left out.
fn missing_cuts(summary: &Summary) -> Vec<&str> {
    let predicted = summary.prediction.cells.iter();
    let fastest = predicted.max_by(|a, b| a.measured_bytes_per_s.0.total_cmp(&b.measured_bytes_per_s.0));
    let path = fastest.and_then(|fastest| summary.cells.iter().find(|cell| cell.id == fastest.cell));
    let Some(path) = path else { return Vec::new() };
    let block = path.block_bytes.to_string();
    let writes = path.op.moves_towards_device();
    let is_measured = |cut: &str| {
        let same = |cell: &&narrows_model::summary::CellSummary| {
            cell.cut.name() == cut
                && cell.block_bytes == path.block_bytes
                && cell.op.moves_towards_device() == writes
        };
        summary.cells.iter().any(|cell| same(&cell))
    };
    let mut missing = Vec::new();
    for skip in &summary.skipped {
        let mut parts = skip.cell.0.split('/');
        let (Some(cut), Some(op), Some(size)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let needed = ["page-cache", "network-stream", "server-memory", "server-storage", "local-device"];
        let is_same_way = matches!(op, "write" | "send") == writes;
        let is_needed = needed.contains(&cut) && is_same_way && size == block && !is_measured(cut);
        if is_needed && !missing.contains(&cut) {
            missing.push(cut);
        }
    }
    missing
}

/// How far a figure is from another, as a share, or as a factor where shares get large.
fn distance(residual_ratio: f64) -> String {
    if residual_ratio >= 1.0 {
        return format!("{} times that", factor(1.0 + residual_ratio));
    }
    let side = if residual_ratio < 0.0 { "below" } else { "above" };
    format!("{} {side}", percent(residual_ratio.abs()))
}

/// Cells left out, joined by reason.
pub(crate) fn skipped(cells: &[SkippedCell], style: &Style) -> String {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for skipped in cells {
        match reasons.iter_mut().find(|(reason, _)| *reason == skipped.reason) {
            Some((_, names)) => names.push(skipped.cell.to_string()),
            None => reasons.push((&skipped.reason, vec![skipped.cell.to_string()])),
        }
    }
    let mut out = String::new();
    for (reason, names) in &reasons {
        let (shown, more) = some_of(names, SHOWN, style);
        let more = more.map(|more| format!(", {more}")).unwrap_or_default();
        let text = format!("{reason}: {}{more}", shown.join(", "));
        out.push_str(&paragraph(&text, Indent { first: "  ", rest: "    " }, style.width));
    }
    out
}
