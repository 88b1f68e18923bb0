//! The table of a study's cells: a row for each, in the order of the sweep.

use super::super::flags::Legend;
use super::super::stuck;
use super::super::style::{Paint, Style};
use super::super::units::{NO_FIGURE, op_column, storage_column};
use super::super::wrap::{Indent, paragraph};
use super::columns::{TextColumn, render as tables};
use super::sweep::SweepCells;
use narrows_model::counters::Role;
use narrows_model::quantity::{percent, seconds, span};
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Bytes, Nanos, Repeat};

/// Up to here operations are what is counted, above bytes: what SNIA reports as IOPS and as throughput.
const SMALL_BYTES: Bytes = Bytes(16 << 10);

/// The table; empty where no cell of the path was measured.
pub(super) fn render(sweep: &SweepCells<'_>, style: &Style) -> String {
    if sweep.cells.is_empty() {
        return String::new();
    }
    let mut legend = Legend::default();
    let names = NameColumns::new(sweep, &sweep.cells, style);
    let mut out = style.heading("CELLS", "in the order of the sweep, not of the run");
    out.push_str(&tables(&names.columns, figures(sweep, &mut legend, style), style));
    for line in notes(sweep).into_iter().chain(legend.lines()) {
        for line in paragraph(&line, Indent { first: "  ", rest: "     " }, style.width).lines() {
            out.push_str(&style.paint(Paint::Faint, line));
            out.push('\n');
        }
    }
    out
}

/// The columns that name rows.
pub(super) struct NameColumns {
    pub(super) columns: Vec<TextColumn>,
}

impl NameColumns {
    /// The names of `cells`, which may be shown more than once.
    pub(super) fn new(sweep: &SweepCells<'_>, cells: &[&CellSummary], style: &Style) -> Self {
        let rows: Vec<Vec<String>> = cells.iter().map(|cell| sweep.name(cell, style)).collect();
        let headings = sweep.headings().into_iter().enumerate();
        let columns = headings.map(|(index, (heading, is_number))| {
            let fields = rows.iter().map(|row| row.get(index).cloned().unwrap_or_default()).collect();
            if is_number { TextColumn::right(&heading, fields) } else { TextColumn::left(&heading, fields) }
        });
        Self { columns: columns.collect() }
    }
}

fn figures(sweep: &SweepCells<'_>, legend: &mut Legend, style: &Style) -> Vec<TextColumn> {
    let of = |text: fn(&CellSummary) -> String| sweep.cells.iter().map(|cell| text(cell)).collect::<Vec<_>>();
    let ops = TextColumn::right("op/s", of(|cell| op_column(cell.ops_per_s)));
    let bytes = TextColumn::right("rate", of(|cell| storage_column(cell.rate_bytes_per_s)));
    let small = sweep.cells.iter().all(|cell| cell.block_bytes <= SMALL_BYTES);
    let mut columns = match (style.detail, small) {
        (true, _) => vec![bytes, ops],
        (false, true) => vec![ops],
        (false, false) => vec![bytes],
    };
    columns.push(TextColumn::right("+/-", of(half_width)));
    if sweep.cells.iter().any(|cell| is_until_steady(cell)) {
        columns.push(TextColumn::right("rounds", of(rounds)));
    }
    columns.push(TextColumn::right("p50", of(|cell| stuck::response(cell, cell.latency_ns.p50))));
    columns.push(TextColumn::right("p99", of(|cell| stuck::response(cell, cell.latency_ns.p99))));
    columns.push(TextColumn::right("p99.9", of(|cell| stuck::response(cell, cell.latency_ns.p999))));
    if style.detail {
        columns.push(TextColumn::right("max", of(stuck::largest)));
    }
    columns.push(TextColumn::right("in flight", of(in_flight)));
    columns.push(TextColumn::right("CPU/op", of(|cell| demand(cell, Role::Client))));
    if style.detail {
        columns.push(TextColumn::right("polling/op", of(polling)));
    }
    columns.push(TextColumn::right("server CPU/op", of(|cell| demand(cell, Role::Server))));
    let marks = sweep.cells.iter().map(|cell| marks(cell, legend)).collect();
    columns.push(TextColumn::left("notes", marks));
    if style.detail {
        columns.push(TextColumn::left("limit", of(limit)));
    }
    columns
}

/// Half the width of the rate's interval, as a share of the rate.
fn half_width(cell: &CellSummary) -> String {
    let share = || cell.interval.as_ref()?.half_width_ratio(cell.rate_bytes_per_s?.0);
    share().map_or_else(|| NO_FIGURE.to_owned(), percent)
}

fn is_until_steady(cell: &CellSummary) -> bool {
    matches!(cell.repeat.rule, Repeat::UntilSteady { .. })
}

/// The rounds that the figures are of, after those before the steady window: `14 + 5`; all of them without one.
fn rounds(cell: &CellSummary) -> String {
    let (before, own) = (cell.repeat.trials_before.len(), cell.trials.len());
    if cell.repeat.reached == Some(true) { format!("{before} + {own}") } else { own.to_string() }
}

/// A response time, or a dash.
pub(super) fn wait(quantile: Option<u64>) -> String {
    quantile.map_or_else(|| NO_FIGURE.to_owned(), |ns| span(Nanos(ns)))
}

/// Requests in flight by Little's law, of those asked for: `15.9/16`. An open loop asks for none.
fn in_flight(cell: &CellSummary) -> String {
    let Some(measured) = cell.in_flight.measured else { return NO_FIGURE.to_owned() };
    let measured = if measured < 100.0 { format!("{measured:.1}") } else { format!("{measured:.0}") };
    if cell.offered_ops_per_s.is_some() {
        measured
    } else {
        format!("{measured}/{}", cell.in_flight.configured)
    }
}

fn demand(cell: &CellSummary, role: Role) -> String {
    let demand = cell.cpu.get(&role).and_then(|cpu| cpu.service_demand_s_per_op);
    // The kernel counts CPU time in ticks: none of them is less than one, and not nothing.
    match demand {
        Some(0.0) => NO_FIGURE.to_owned(),
        demand => demand.map_or_else(String::new, seconds),
    }
}

/// CPU time per operation of the client's threads that poll for submissions, which no other figure includes.
fn polling(cell: &CellSummary) -> String {
    let polling_s = cell.cpu.get(&Role::Client).and_then(|cpu| cpu.polling_s);
    let ops = cell.ops_per_s.map_or(0.0, |rate| rate.0) * cell.elapsed_s.last_done;
    polling_s.and_then(|polling_s| ratio(polling_s, ops)).map_or_else(String::new, seconds)
}

/// Letters of the flags.
fn marks(cell: &CellSummary, legend: &mut Legend) -> String {
    let letters = legend.letters(&cell.flags);
    if letters.is_empty() { letters } else { format!("[{letters}]") }
}

/// What limits the cell; shown in the table with detail, in the verdict without.
fn limit(cell: &CellSummary) -> String {
    cell.limiting.map_or_else(String::new, |segment| segment.id().to_owned())
}

/// What the columns mean beyond their headings.
fn notes(sweep: &SweepCells<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(interval) = sweep.cells.iter().find_map(|cell| cell.interval.as_ref()) {
        notes.push(format!(
            "+/-: half of the {} interval of the rate ({})",
            percent(interval.level),
            interval.method
        ));
    }
    if sweep.cells.iter().any(|cell| is_until_steady(cell) && cell.repeat.reached == Some(true)) {
        let meaning = "rounds: before the steady state + in its window, from which the figures are taken";
        notes.push(meaning.to_owned());
    }
    if sweep.cells.iter().any(|cell| cell.in_flight.measured.is_some()) {
        notes.push("in flight: by Little's law, rate x response time, of those requested".to_owned());
    }
    notes.extend(stuck::note(&sweep.cells));
    notes
}
