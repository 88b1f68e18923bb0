//! Open loops: what was offered and what was achieved, response time and service time side by side.

use super::super::stuck;
use super::super::style::Style;
use super::super::units::{NO_FIGURE, op_column};
use super::super::wrap::{Indent, paragraph};
use super::columns::{TextColumn, render as tables};
use super::rows::{NameColumns, wait};
use super::sweep::SweepCells;
use narrows_model::OpsPerSec;
use narrows_model::quantity::percent;
use narrows_model::summary::CellSummary;

/// The table of the open loops; empty where all loops are closed.
pub(super) fn render(sweep: &SweepCells<'_>, style: &Style) -> String {
    let open = sweep.filter_cells(|cell| cell.offered_ops_per_s.is_some());
    if open.cells.is_empty() {
        return String::new();
    }
    let of = |text: fn(&CellSummary) -> String| open.cells.iter().map(|cell| text(cell)).collect::<Vec<_>>();
    let service = |quantile: fn(&narrows_model::summary::LatencySummary) -> Option<u64>| {
        let text = |cell: &&CellSummary| wait(cell.service_ns.as_ref().and_then(quantile));
        open.cells.iter().map(text).collect::<Vec<_>>()
    };
    let values = vec![
        TextColumn::right("offered", of(|cell| op_column(cell.offered_ops_per_s))),
        TextColumn::right("achieved", of(|cell| op_column(cell.ops_per_s))),
        TextColumn::right("", of(achieved_share)),
        TextColumn::right("response p50", of(|cell| stuck::response(cell, cell.latency_ns.p50))),
        TextColumn::right("p99", of(|cell| stuck::response(cell, cell.latency_ns.p99))),
        TextColumn::right("service p50", service(|quantiles| quantiles.p50)),
        TextColumn::right("p99", service(|quantiles| quantiles.p99)),
    ];
    let remark = "response time counts from the scheduled start, service time from the submission: in between a \
                  request waited in the backlog";
    let mut out = style.heading("OPEN LOOPS", "operations a second");
    out.push_str(&tables(&NameColumns::new(&open, &open.cells, style).columns, values, style));
    if let Some(backlog) = backlog(&open) {
        out.push_str(&paragraph(&backlog, Indent { first: "  ", rest: "  " }, style.width));
    }
    out.push_str(&paragraph(remark, Indent { first: "  ", rest: "  " }, style.width));
    out
}

/// How many requests had not even been started when their window ended, and how many never completed.
fn backlog(open: &SweepCells<'_>) -> Option<String> {
    let behind = open.cells.iter().filter_map(|cell| cell.open_loop).filter(|open| open.unstarted_count > 0);
    let (scheduled, unstarted) = behind.fold((0_u64, 0_u64), |(scheduled, unstarted), open| {
        (scheduled.saturating_add(open.scheduled_count), unstarted.saturating_add(open.unstarted_count))
    });
    let all = open.cells.iter().filter_map(|cell| cell.open_loop);
    let censored = all.fold(0_u64, |sum, open| sum.saturating_add(open.censored_count));
    let given_up = format!(
        "{}{} abandoned at the end: times at or above the shortest of their waits are lower bounds (>=)",
        if unstarted > 0 { "; " } else { "" },
        super::super::units::counted(censored, "request"),
    );
    let backlog = format!(
        "backlog: {unstarted} of {scheduled} requests were due and had not been started when their window ended"
    );
    let parts = [(unstarted, backlog), (censored, given_up)];
    let joined: String = parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
    (unstarted > 0 || censored > 0).then_some(joined)
}

fn achieved_share(cell: &CellSummary) -> String {
    let share = |offered: OpsPerSec, achieved: OpsPerSec| narrows_model::units::ratio(achieved.0, offered.0);
    let share =
        cell.offered_ops_per_s.zip(cell.ops_per_s).and_then(|(offered, achieved)| share(offered, achieved));
    share.map_or_else(|| NO_FIGURE.to_owned(), percent)
}
