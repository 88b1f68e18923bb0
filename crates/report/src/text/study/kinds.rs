//! Mixes: what the requests of each kind did.

use super::super::style::Style;
use super::super::units::{op_column, storage_column};
use super::columns::{TextColumn, render as tables};
use super::rows::{NameColumns, wait};
use super::sweep::SweepCells;
use narrows_model::quantity::percent;
use narrows_model::summary::{CellSummary, KindSummary};
use narrows_model::units::ratio;

/// One row: a kind of request of one cell.
type KindRow<'a> = (&'a CellSummary, &'a KindSummary);

/// The table of the kinds; empty where no cell mixes any.
pub(super) fn render(sweep: &SweepCells<'_>, style: &Style) -> String {
    let kinds = |cell: &&CellSummary| cell.kinds.len() > 1;
    let mixed = sweep.cells.iter().copied().filter(kinds);
    let rows: Vec<KindRow<'_>> =
        mixed.flat_map(|cell| cell.kinds.iter().map(move |kind| (cell, kind))).collect();
    if rows.is_empty() {
        return String::new();
    }
    let of = |text: fn(&KindRow<'_>) -> String| rows.iter().map(text).collect::<Vec<_>>();
    let cells: Vec<&CellSummary> = rows.iter().map(|(cell, _)| *cell).collect();
    let mut names = NameColumns::new(sweep, &cells, style).columns;
    names.push(TextColumn::left("kind", of(|(_, kind)| format!("{} {}", kind.op, kind.block_bytes))));
    let values = vec![
        TextColumn::right("share", of(share)),
        TextColumn::right("rate", of(|(_, kind)| storage_column(kind.rate_bytes_per_s))),
        TextColumn::right("op/s", of(|(_, kind)| op_column(kind.ops_per_s))),
        TextColumn::right("p50", of(|(_, kind)| wait(kind.latency_ns.p50))),
        TextColumn::right("p99", of(|(_, kind)| wait(kind.latency_ns.p99))),
        TextColumn::right("p99.9", of(|(_, kind)| wait(kind.latency_ns.p999))),
    ];
    style.heading("MIXES", "the requests of each kind; share: of all requests")
        + &tables(&names, values, style)
}

fn share((cell, kind): &KindRow<'_>) -> String {
    let all: u64 = cell.kinds.iter().map(|kind| kind.op_count).fold(0, u64::saturating_add);
    ratio(kind.op_count as f64, all as f64).map_or_else(String::new, percent)
}
