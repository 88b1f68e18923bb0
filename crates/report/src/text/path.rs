//! The table of the path: its segments from the application to the device, how full each was, what was found.

use super::reading::{SegmentReading, path_cells, reading};
use super::style::{Paint, Style};
use super::table::{Align, Field, TextTable};
use super::units::{NO_FIGURE, storage_column};
use super::wording::{is_delivered, serves_itself};
use super::wrap::{Indent, paragraph};
use narrows_model::counters::Role;
use narrows_model::diagnosis::Relation;
use narrows_model::summary::{CellSummary, SegmentSummary};
use narrows_model::{Limiting, Segment, Summary, Target};
use std::iter;

/// The table of the path of `summary`; empty where no segment is listed.
pub(crate) fn render(summary: &Summary, style: &Style) -> String {
    if summary.segments.is_empty() {
        return String::new();
    }
    let mut table = TextTable::new(&[
        ("segment", Align::Left),
        ("reaches alone", Align::Right),
        ("filled by the path", Align::Left),
        ("", Align::Left),
    ]);
    let mut gap: Vec<&str> = Vec::new();
    for segment in listed(summary) {
        match mark(segment.id, summary) {
            (PathMark::Unmeasured, ..) => gap.push(segment.id.id()),
            (_, text, paint) => {
                close_gap(&mut gap, &mut table, style);
                table.row(row(&segment, summary, Field::new(text, paint), style));
            }
        }
    }
    close_gap(&mut gap, &mut table, style);
    table_end(&mut table, summary);
    let raised = listed(summary).iter().any(|segment| is_raised(&reading(segment, summary)));
    let note = if raised { RAISED_NOTE } else { "" };
    style.heading("PATH", &machines(summary, style)) + &table.render(style) + &style.paint(Paint::Faint, note)
}

/// What `raised` means in the table.
const RAISED_NOTE: &str =
    "  raised: the path was faster than the segment alone, so the path's rate is used as its ceiling\n";

/// Whether the path transferred more than the segment alone. That raises the segment's ceiling to the path's own rate,
/// so nothing is used beyond 100 %.
fn is_raised(reading: &SegmentReading) -> bool {
    reading.used_ratio.is_some_and(|ratio| ratio > 1.0 + RAISED_RATIO)
}

/// The path's own best rate, and whether it was the storage's at all.
fn table_end(table: &mut TextTable, summary: &Summary) {
    let rate = |cell: &&CellSummary| cell.rate_bytes_per_s.map_or(0.0, |rate| rate.0);
    let Some(best) = path_cells(summary).max_by(|a, b| rate(a).total_cmp(&rate(b))) else { return };
    let cached = best.cache_served_ratio.is_some_and(|share| share >= CACHED_RATIO)
        || best.limiting.is_some_and(serves_itself);
    let note = if cached { "from a cache, storage not measured" } else { "" };
    let rate = storage_column(best.rate_bytes_per_s);
    table.row(vec!["whole path".into(), rate.into(), "".into(), note.into()]);
}

/// From here on a rate is the cache's and not the storage's: most of the bytes never reached it.
pub(crate) const CACHED_RATIO: f64 = 0.5;

const NOT_MEASURED: &str = "not measured";

/// Segments of the path, with wider ones that the verdict names before their parts.
pub(super) fn listed(summary: &Summary) -> Vec<SegmentSummary> {
    let mut segments = summary.segments.clone();
    for entry in &summary.diagnosis.limiting {
        if segments.iter().any(|known| known.id == entry.segment) || entry.segment == Segment::Unknown {
            continue;
        }
        let place = segments.iter().position(|known| known.id > entry.segment).unwrap_or(segments.len());
        segments.insert(place, SegmentSummary::unmeasured(entry.segment));
    }
    segments
}

/// Segments that were not measured are in one line, in their place on the path.
fn close_gap(gap: &mut Vec<&str>, table: &mut TextTable, style: &Style) {
    if gap.is_empty() {
        return;
    }
    let text = format!("{}: {NOT_MEASURED}", std::mem::take(gap).join(", "));
    let lines = paragraph(&text, Indent { first: "  ", rest: "    " }, style.width);
    for line in lines.lines() {
        table.line(format!("{}\n", style.paint(Paint::Faint, line)));
    }
}

fn row(segment: &SegmentSummary, summary: &Summary, mark: Field, style: &Style) -> Vec<Field> {
    let reading = reading(segment, summary);
    let raised = if is_raised(&reading) { " raised" } else { "" };
    let share = reading.used();
    let used = reading
        .used_ratio
        .zip(share)
        .map(|(ratio, share)| format!("{} {share:>5}{raised}", style.bar(ratio)));
    let most = reading.most.unwrap_or_else(|| NO_FIGURE.to_owned());
    vec![segment.id.id().into(), most.into(), used.unwrap_or_default().into(), mark]
}

/// Above this a path that transferred more than a segment alone is not just noise.
const RAISED_RATIO: f64 = 0.005;

/// What was found of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathMark {
    /// It limits a load, or served it.
    Limits,
    /// It was measured, and is not the limit.
    Cleared,
    /// It was measured, and the evidence does not decide.
    Undecided,
    /// It was not measured.
    Unmeasured,
}

/// Entries of the verdict that name `segment`: one for each load that it limits.
pub(super) fn entries_of(segment: Segment, summary: &Summary) -> impl Iterator<Item = &Limiting> {
    summary.diagnosis.limiting.iter().filter(move |entry| entry.segment == segment)
}

/// What was found of a segment, in a word.
pub(crate) fn mark(segment: Segment, summary: &Summary) -> (PathMark, String, Paint) {
    let diagnosis = &summary.diagnosis;
    let named: Vec<_> = entries_of(segment, summary).collect();
    if let Some(first) = named.first() {
        let loads: Vec<String> = named.iter().map(|entry| short_regime(&entry.regime)).collect();
        let word = match first.relation {
            _ if serves_itself(segment) => "SERVED HERE",
            _ if is_delivered(first) => "delivered",
            Relation::OneOf => "LIMIT?",
            Relation::Sole | Relation::Joint => "LIMIT",
        };
        return (PathMark::Limits, format!("{word}  {}", loads.join(", ")), Paint::Limit);
    }
    if diagnosis.exonerated.iter().any(|entry| entry.segment == segment) {
        return (PathMark::Cleared, "cleared".to_owned(), Paint::Cleared);
    }
    let measured = summary.segments.iter().any(|known| known.id == segment && known.measured);
    if measured {
        (PathMark::Undecided, "undecided".to_owned(), Paint::Warning)
    } else {
        (PathMark::Unmeasured, NOT_MEASURED.to_owned(), Paint::Faint)
    }
}

/// A regime without its settings: `bulk write`, or `bulk` for both directions.
fn short_regime(regime: &str) -> String {
    let load = regime.split(" (").next().unwrap_or(regime);
    let both = [" read and durable write", " read and write"];
    let load = both.iter().find_map(|both| load.strip_suffix(both)).unwrap_or(load);
    load.replace("synchronous", "sync")
}

/// Names of hosts that are shown; of more, their number is.
const HOSTS_SHOWN: usize = 4;

/// The hosts that the clients ran on; `None` where they ran on one that the command did not name.
fn client_hosts(summary: &Summary) -> Option<String> {
    let client = summary.hosts.iter().find(|host| host.roles.contains(&Role::Client))?;
    let hosts = client.inventory.hosts_of_clients(u32::MAX);
    let more = hosts.len().saturating_sub(HOSTS_SHOWN);
    let named = hosts[..hosts.len() - more].join(", ");
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    (!named.is_empty()).then(|| named + &more)
}

/// The target, and the hosts of the clients where there are several or the command named them.
pub(super) fn place(summary: &Summary) -> String {
    let hosts = client_hosts(summary);
    hosts.map_or_else(|| targets(summary), |hosts| format!("{}, clients on {hosts}", targets(summary)))
}

/// The target, and how many more a study has.
fn targets(summary: &Summary) -> String {
    if summary.study.is_none() {
        return summary.target.to_string();
    }
    let of_cells = path_cells(summary).flat_map(|cell| iter::once(&cell.target).chain(&cell.more_targets));
    let mut others: Vec<&Target> = of_cells.filter(|target| **target != summary.target).collect();
    others.sort_by_key(ToString::to_string);
    others.dedup();
    match others.len() {
        0 => summary.target.to_string(),
        more => format!("{} and {more} more", summary.target),
    }
}

/// Which machines the path leads over.
fn machines(summary: &Summary, style: &Style) -> String {
    let name = |role: Role| {
        let host = summary.hosts.iter().find(|host| host.roles.contains(&role))?;
        Some(host.inventory.host.hostname.as_str())
    };
    let client = client_hosts(summary);
    let client = client.as_deref().or_else(|| name(Role::Client)).unwrap_or("this machine");
    let server = summary.hosts.iter().find_map(|host| host.server.as_ref());
    let Some(server) = server else { return format!("{} on {client}", targets(summary)) };
    let root = match (&summary.target, &server.store_root) {
        (Target::Tcp { .. }, Some(root)) => format!(", store {root}"),
        (target @ Target::File { .. }, _) => format!(", {target}"),
        _ => String::new(),
    };
    let arrow = style.arrow();
    let proxy = summary
        .target
        .via()
        .map_or_else(String::new, |via| format!(" {} ({via}) {arrow}", name(Role::Proxy).unwrap_or("proxy")));
    format!("{client} {arrow}{proxy} {} ({}){root}", server.hostname, server.address)
}
