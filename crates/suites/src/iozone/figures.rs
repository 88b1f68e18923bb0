//! The figures of a run: one for each column, file and record, of several processes one for each of them.

use super::columns::IozoneColumn;
use super::request::FigureUnit;
use narrows_model::summary::{CellSummary, ClientSummary};
use narrows_model::units::ratio;
use narrows_model::{Bytes, Cut, Summary};

/// kB are 1024 bytes throughout.
const KB: f64 = 1024.0;

/// What one process did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ProcessFigures {
    pub(super) bytes: f64,
    pub(super) ops: f64,
    pub(super) elapsed_s: f64,
    pub(super) cpu_s: f64,
}

impl ProcessFigures {
    fn new(client: &ClientSummary) -> Self {
        Self {
            bytes: client.bytes.as_f64(),
            ops: client.ops as f64,
            elapsed_s: client.elapsed_s,
            cpu_s: client.user_s + client.system_s,
        }
    }

    /// Its rate, or its time an operation; `None` without time or operations. Who came after the stone wall has moved nothing
    /// in no time: a rate of 0.
    pub(super) fn value(&self, unit: FigureUnit) -> Option<f64> {
        match unit {
            FigureUnit::KbPerS | FigureUnit::OpsPerS if self.ops == 0.0 => Some(0.0),
            FigureUnit::KbPerS => ratio(self.bytes / KB, self.elapsed_s),
            FigureUnit::OpsPerS => ratio(self.ops, self.elapsed_s),
            FigureUnit::MicrosPerOp => ratio(self.elapsed_s * 1e6, self.ops),
        }
    }

    /// What it moved, in the unit of a rate without its second.
    pub(super) fn amount(&self, unit: FigureUnit) -> f64 {
        if unit == FigureUnit::KbPerS { self.bytes / KB } else { self.ops }
    }
}

/// One measured cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IozonePoint {
    pub(super) column: &'static IozoneColumn,
    pub(super) file_kb: u64,
    pub(super) record_kb: u64,
    /// At least one.
    pub(super) children: Vec<ProcessFigures>,
    /// Until all had synced what they wrote and closed their files, where that was noted.
    pub(super) ended_s: Option<f64>,
    /// Some process did less than its records, and no stone wall ended it.
    pub(super) cut_short: bool,
}

impl IozonePoint {
    /// The figure of one process.
    pub(super) fn value(&self, unit: FigureUnit) -> Option<f64> {
        self.children.first().and_then(|child| child.value(unit))
    }

    /// Bytes a second of all processes together.
    pub(super) fn bytes_per_s(&self) -> Option<f64> {
        ratio(self.children.iter().map(|child| child.bytes).sum(), self.wall_s())
    }

    /// From the start that all have to the end of the last.
    pub(super) fn wall_s(&self) -> f64 {
        self.children.iter().map(|child| child.elapsed_s).fold(0.0, f64::max)
    }

    /// From the start to when their parent sees that all have ended.
    pub(super) fn parent_s(&self) -> f64 {
        self.ended_s.unwrap_or(0.0).max(self.wall_s())
    }

    /// CPU time of all processes over the wall time.
    pub(super) fn cpu_percent(&self) -> Option<f64> {
        let cpu: f64 = self.children.iter().map(|child| child.cpu_s).sum();
        ratio(100.0 * cpu, self.wall_s())
    }
}

/// Every cell of the suite that was measured, in the order of the run.
pub(super) fn points(summary: &Summary) -> Vec<IozonePoint> {
    let of_suite = |cell: &&CellSummary| cell.cut == Cut::Path && cell.test.is_some();
    summary.cells.iter().filter(of_suite).filter_map(point).collect()
}

fn point(cell: &CellSummary) -> Option<IozonePoint> {
    let column = IozoneColumn::named(cell.phase.as_deref()?)?;
    let children: Vec<ProcessFigures> = cell.per_client.iter().map(ProcessFigures::new).collect();
    let asked = &cell.requested;
    let records = asked.file_bytes.0 / asked.block_bytes.0.max(1);
    let is_cut = |client: &ClientSummary| client.ops < records && !asked.edges.stone_wall;
    let in_kb = |bytes: Bytes| bytes.0 / 1024;
    (!children.is_empty() && cell.ops_per_s.is_some()).then(|| IozonePoint {
        column,
        file_kb: in_kb(asked.file_bytes),
        record_kb: in_kb(asked.block_bytes),
        cut_short: cell.per_client.iter().any(is_cut),
        ended_s: cell.trials.iter().filter_map(|trial| trial.ended_s).reduce(f64::max),
        children,
    })
}

/// The point of a column at these sizes.
pub(super) fn at<'p>(
    points: &'p [IozonePoint],
    column: &IozoneColumn,
    file_kb: u64,
    record_kb: u64,
) -> Option<&'p IozonePoint> {
    points
        .iter()
        .find(|point| point.column == column && point.file_kb == file_kb && point.record_kb == record_kb)
}

/// File sizes and record sizes that were measured, in kB, each from the smallest on.
pub(super) fn sizes(points: &[IozonePoint]) -> (Vec<u64>, Vec<u64>) {
    let sorted = |of: fn(&IozonePoint) -> u64| {
        let mut all: Vec<u64> = points.iter().map(of).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    (sorted(|point| point.file_kb), sorted(|point| point.record_kb))
}

#[cfg(test)]
mod tests {
    use super::super::testing::point_of;
    use super::*;

    #[test]
    fn a_figure_is_what_was_moved_over_the_time_that_it_took() {
        let child = ProcessFigures { bytes: 65_536.0, ops: 16.0, elapsed_s: 0.5, cpu_s: 0.25 };
        assert_eq!(child.value(FigureUnit::KbPerS), Some(128.0));
        assert_eq!(child.value(FigureUnit::OpsPerS), Some(32.0));
        assert_eq!(child.value(FigureUnit::MicrosPerOp), Some(31_250.0));
        assert_eq!(ProcessFigures { elapsed_s: 0.0, ..child }.value(FigureUnit::KbPerS), None);
        let late = ProcessFigures { bytes: 0.0, ops: 0.0, elapsed_s: 0.0, cpu_s: 0.0 };
        assert_eq!(late.value(FigureUnit::KbPerS), Some(0.0));
        assert_eq!(late.value(FigureUnit::MicrosPerOp), None);
        assert_eq!(ProcessFigures { ops: 0.0, ..child }.value(FigureUnit::MicrosPerOp), None);
    }

    #[test]
    fn processes_together_moved_all_of_it_until_the_last_ended() {
        let mut point = point_of("write", 64, 4, 100.0);
        point.children = [1.0, 2.0]
            .map(|elapsed_s| ProcessFigures { bytes: 1024.0, ops: 1.0, elapsed_s, cpu_s: 0.5 })
            .to_vec();
        assert_eq!((point.bytes_per_s(), point.cpu_percent()), (Some(1024.0), Some(50.0)));
    }
}
