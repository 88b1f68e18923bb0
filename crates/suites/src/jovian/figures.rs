//! The figures of a run by configuration: trimmed means of both directions, and how they scale.

use super::label::{Label, labels};
use super::request::Request;
use crate::figure::{TrimmedMean, trimmed_mean};
use narrows_model::summary::{CellSummary, Metric};
use narrows_model::{Bytes, Cut, Op, Summary};

/// One direction of one configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct JovianRate {
    /// Bytes a second of all clients together.
    pub(super) bytes_per_s: TrimmedMean,
    /// `rate(n) / (n x local)`, n the disks of the servers; `None` without the local rate.
    pub(super) scaling: Option<f64>,
}

/// One configuration.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JovianRow {
    pub(super) label: Label,
    pub(super) request: Bytes,
    /// Disks that the clients use, of all servers together.
    pub(super) disks: u32,
    /// Requests that a client has in flight.
    pub(super) queue_depth: u64,
    pub(super) write: Option<JovianRate>,
    pub(super) read: Option<JovianRate>,
}

impl JovianRow {
    /// The mean in one direction, in bytes a second.
    pub(super) fn mean(&self, op: Op) -> Option<f64> {
        self.rate(op).map(|rate| rate.bytes_per_s.mean)
    }

    pub(super) fn rate(&self, op: Op) -> Option<JovianRate> {
        if op == Op::Write { self.write } else { self.read }
    }
}

/// The rows of a run, in the order in which its configurations ran.
pub(super) fn rows(summary: &Summary, asked: &Request) -> Vec<JovianRow> {
    let mut rows: Vec<JovianRow> = Vec::new();
    for cell in summary.cells.iter().filter(|cell| cell.cut == Cut::Path) {
        let Some(label) = label_of(cell) else { continue };
        let rates: Vec<f64> = cell.trials.iter().map(|trial| trial.rate_bytes_per_s.0).collect();
        let rate = trimmed_mean(&rates).map(|bytes_per_s| JovianRate { bytes_per_s, scaling: None });
        if !rows.iter().any(|row| row.label == label) {
            let (request, queue_depth) = (cell.block_bytes, cell.queue_depth);
            let disks = label.servers().saturating_mul(asked.node_disks);
            rows.push(JovianRow { label, request, disks, queue_depth, write: None, read: None });
        }
        let Some(row) = rows.iter_mut().find(|row| row.label == label) else { continue };
        match cell.op {
            Op::Write => row.write = rate,
            _ => row.read = rate,
        }
    }
    scale(&mut rows);
    rows
}

/// The figures of each cell of the paths by its id, for programs: those that the tables print.
///
/// # Units
/// Bytes a second; trials that the mean is of; a ratio.
pub(super) fn metrics(summary: &Summary, asked: &Request) -> Vec<(String, Metric)> {
    let rows = rows(summary, asked);
    let of_cell = |cell: &CellSummary| {
        let label = label_of(cell)?;
        let rate = rows.iter().find(|row| row.label == label)?.rate(cell.op)?;
        let figures = [
            ("trimmed_rate_bytes_per_s", Some(rate.bytes_per_s.mean), "B/s"),
            ("trimmed_rate_trial_count", Some(rate.bytes_per_s.kept_count as f64), "trials"),
            ("scaling_ratio", rate.scaling, "ratio"),
        ];
        let known = figures.into_iter().filter_map(|(id, value, unit)| {
            Some(Metric { id: id.to_owned(), value: value?, unit: unit.to_owned(), interval: None })
        });
        Some(known.map(|metric| (cell.id.clone(), metric)).collect::<Vec<_>>())
    };
    let paths = summary.cells.iter().filter(|cell| cell.cut == Cut::Path);
    paths.filter_map(of_cell).flatten().collect()
}

/// The configuration that a cell is of.
pub(super) fn label_of(cell: &CellSummary) -> Option<Label> {
    let named = labels(&[cell.test.clone()?]).ok()?;
    named.first().copied()
}

pub(super) fn scale(rows: &mut [JovianRow]) {
    for op in [Op::Write, Op::Read] {
        let local = rows.iter().find(|row| row.label == Label::Local).and_then(|row| row.mean(op));
        for row in rows.iter_mut().filter(|row| row.label != Label::Local) {
            let rate = if op == Op::Write { &mut row.write } else { &mut row.read };
            if let Some(rate) = rate {
                rate.scaling = scaling(rate.bytes_per_s.mean, row.disks, local);
            }
        }
    }
}

/// `rate(n) / (n x local)`: 1 where n servers of a disk each sustain n times what the node sustains by itself.
///
/// # Source
/// The published definition; `None` without a local rate, or with one of 0.
fn scaling(rate: f64, disks: u32, local: Option<f64>) -> Option<f64> {
    let ideal = f64::from(disks) * local.filter(|local| *local > 0.0)?;
    Some(rate / ideal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_is_one_where_every_server_adds_what_a_node_transfers_alone() {
        let near = |found: Option<f64>, wanted: f64| assert!((found.unwrap() - wanted).abs() < 1e-12);
        near(scaling(4.0 * 5.44e6, 4, Some(5.44e6)), 1.0);
        near(scaling(2.0 * 5.44e6, 4, Some(5.44e6)), 0.5);
        assert_eq!(scaling(1.0, 4, None), None);
        assert_eq!(scaling(1.0, 4, Some(0.0)), None);
    }
}
