//! Cells that are worth a second measurement: others disturbed the first, or a verdict rests on that one alone.

use super::verdicts;
use crate::facts::flags::{FOREIGN_LOAD, MEASURED_AGAIN, has};
use crate::method::gain::RateGain;
use crate::method::{protocol, saturation};
use crate::view::SummaryView;
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Segment, Summary};

/// Below this ratio a gain of more requests or connections may be one slow measurement of fewer: a neighbour that the kernel
/// does not show, or a window in which a server had used up its quota, rarely takes half of a cell's rate.
const CONFIRMED_RATIO: f64 = 2.0;

/// Why a cell is worth a second measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepeatReason {
    /// Others disturbed the first measurement.
    Disturbed,
    /// Too few requests in flight are named as the limit, by a gain over this one measurement.
    UnconfirmedGain,
    /// One connection of a storage protocol is named as the limit, by a gain that rests on this one measurement.
    UnconfirmedConnections,
}

impl RepeatReason {
    /// The reason in the record.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Disturbed => "others disturbed its first measurement",
            Self::UnconfirmedGain => "more requests in flight gained over its first measurement alone",
            Self::UnconfirmedConnections => {
                "the gain from more connections rests on its first measurement alone"
            }
        }
    }
}

/// The ids of the cells that were measured once and are worth a second time, and why: those that others disturbed, of the
/// path first, then those of loads that are called limited by too few requests in flight or by one connection.
#[must_use]
pub fn repeats(summary: &Summary) -> Vec<(&str, RepeatReason)> {
    let is_disturbed = |cell: &&CellSummary| has(cell, FOREIGN_LOAD) && !has(cell, MEASURED_AGAIN);
    let mut cells: Vec<&CellSummary> = summary.cells.iter().filter(is_disturbed).collect();
    cells.sort_by_key(|cell| cell.cut != Cut::Path);
    let disturbed = cells.into_iter().map(|cell| (cell.id.as_str(), RepeatReason::Disturbed));
    disturbed.chain(unconfirmed(summary)).collect()
}

/// Cells of loads whose first limit is known by a small gain alone: those that it compares.
fn unconfirmed(summary: &Summary) -> Vec<(&str, RepeatReason)> {
    let view = SummaryView::new(summary);
    let mut found = Vec::new();
    for load in verdicts(summary) {
        let Some(cell) = summary.cells.iter().find(|cell| cell.id == load.cell) else { continue };
        let (gain, compared, reason) = match load.segment {
            Segment::WorkloadConcurrency => {
                (deepest_gain(&view, cell), vec![cell], RepeatReason::UnconfirmedGain)
            }
            Segment::ClientConnection => {
                let base =
                    Some(protocol::best_of_one_connection(&view, cell)).filter(|base| base.id != cell.id);
                let compared = [Some(cell), base, protocol::over_more_connections(&view, cell)];
                let gain = protocol::more_connections(&view, cell);
                (gain, compared.into_iter().flatten().collect(), RepeatReason::UnconfirmedConnections)
            }
            _ => continue,
        };
        if gain.is_some_and(|gain| gain.ratio < CONFIRMED_RATIO) {
            let once = compared.into_iter().filter(|cell| !has(cell, MEASURED_AGAIN));
            found.extend(once.map(|cell| (cell.id.as_str(), reason)));
        }
    }
    found
}

/// The largest gain of the same load with more requests in flight.
fn deepest_gain(view: &SummaryView<'_>, cell: &CellSummary) -> Option<RateGain> {
    let others = saturation::same_load(view, cell);
    let more = others.into_iter().filter(|other| other.in_flight.configured > cell.in_flight.configured);
    let gains = more.filter_map(|more| RateGain::between(cell, more));
    gains.max_by(|one, other| one.ratio.total_cmp(&other.ratio))
}

/// Whether others disturbed the cell with this id in both of its measurements.
#[must_use]
pub fn stays_disturbed(summary: &Summary, id: &str) -> bool {
    let cell = summary.cells.iter().find(|cell| cell.id == id);
    cell.is_some_and(|cell| has(cell, FOREIGN_LOAD) && has(cell, MEASURED_AGAIN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::by_protocol::{scaled, spoken};
    use crate::testing::{builtin, machine, named, refined};
    use narrows_model::{Bytes, Op};

    #[test]
    fn disturbed_cells_of_the_path_come_first_and_those_measured_again_not_at_all() {
        let mut summary = builtin("gigabit-nfs");
        let of_path: Vec<usize> =
            (0..summary.cells.len()).filter(|index| summary.cells[*index].cut == Cut::Path).collect();
        let cut = summary.cells.iter().position(|cell| cell.cut != Cut::Path).unwrap();
        let flag = |summary: &mut Summary, index: usize, flag: &str| {
            summary.cells[index].flags.push(flag.to_owned());
        };
        for index in [cut, of_path[0], of_path[1]] {
            flag(&mut summary, index, FOREIGN_LOAD);
        }
        flag(&mut summary, of_path[1], MEASURED_AGAIN);
        let ids = |index: usize| summary.cells[index].id.clone();
        let (path, cut, again) = (ids(of_path[0]), ids(cut), ids(of_path[1]));
        let disturbed: Vec<&str> = repeats(&summary).into_iter().map(|(id, _)| id).collect();
        assert_eq!(disturbed, [path.as_str(), cut.as_str()]);
        assert!(stays_disturbed(&summary, &again) && !stays_disturbed(&summary, &path));
    }

    /// Random reads of which 32 in flight give so many times the rate of 16.
    fn with_gain(times: f64) -> (Summary, String) {
        let mut summary = refined(&machine("many-threads"));
        let at = |depth| {
            let is_random = |cell: &CellSummary| {
                cell.cut == Cut::Path && cell.op == Op::Read && cell.block_bytes == Bytes(4096)
            };
            summary.cells.iter().position(|cell| is_random(cell) && cell.queue_depth == depth).unwrap()
        };
        let (fewer, more) = (at(16), at(32));
        let rate = |index: usize| summary.cells[index].rate_bytes_per_s.unwrap().0;
        let factor = rate(more) / times / rate(fewer);
        summary.cells[fewer] = scaled(&summary.cells[fewer], factor);
        summary.diagnosis = crate::diagnose(&summary);
        let id = summary.cells[fewer].id.clone();
        (summary, id)
    }

    #[test]
    fn a_load_that_gains_a_third_from_more_in_flight_is_measured_again_before_too_few_are_named() {
        let (mut summary, id) = with_gain(1.38);
        assert_eq!(named(&summary, "random"), [Segment::WorkloadConcurrency]);
        assert!(repeats(&summary).contains(&(id.as_str(), RepeatReason::UnconfirmedGain)));
        let cell = summary.cells.iter_mut().find(|cell| cell.id == id).unwrap();
        cell.flags.push(MEASURED_AGAIN.to_owned());
        assert!(repeats(&summary).iter().all(|(other, _)| *other != id), "once");
    }

    #[test]
    fn without_a_gain_and_with_a_large_one_nothing_is_measured_again() {
        let (summary, id) = with_gain(1.0);
        assert!(repeats(&summary).iter().all(|(other, _)| *other != id));
        let summary = builtin("ten-gigabit-nfs");
        assert_eq!(named(&summary, "single"), [Segment::WorkloadConcurrency]);
        assert_eq!(repeats(&summary), []);
    }

    #[test]
    fn a_load_that_gains_half_from_more_connections_is_measured_again_with_them() {
        let gaining = |times| spoken(|cell| cell.arrival(1.05).hot(1.1).over_more_connections(times));
        let mut summary = gaining(1.5);
        assert_eq!(named(&summary, "bulk read"), [Segment::ClientConnection]);
        let worth = |summary: &Summary| -> Vec<(String, RepeatReason)> {
            repeats(summary).into_iter().map(|(id, reason)| (id.to_owned(), reason)).collect()
        };
        let found = worth(&summary);
        assert!(found.iter().all(|(_, reason)| *reason == RepeatReason::UnconfirmedConnections), "{found:?}");
        let cut = |summary: &Summary, id: &str| summary.cells.iter().find(|cell| cell.id == id).unwrap().cut;
        let cuts: Vec<Cut> = found.iter().map(|(id, _)| cut(&summary, id)).collect();
        assert_eq!(cuts[..3], [Cut::Path, Cut::HotBlocks, Cut::MoreConnections], "{found:?}");
        for (id, _) in &found {
            let cell = summary.cells.iter_mut().find(|cell| cell.id == *id).unwrap();
            cell.flags.push(MEASURED_AGAIN.to_owned());
        }
        assert_eq!(worth(&summary), [], "each once");
        assert_eq!(worth(&gaining(2.5)), [], "no window is so slow");
    }
}
