//! A case from a measured cell.

use super::{Case, GeneratorLoad, ModalFigure, OfferedLoad, Origin, cpu};
use crate::facts::flags::{self, GENERATOR_LIMITED};
use crate::facts::offered_load::cell_offered_load;
use crate::text;
use crate::view::SummaryView;
use narrows_model::Cut;
use narrows_model::observation::Quality;
use narrows_model::summary::{CellSummary, MixedFigure, Mixture};
use narrows_model::units::ratio;

/// The case of `cell`.
pub(super) fn case<'a>(view: &SummaryView<'a>, cell: &'a CellSummary) -> Case<'a> {
    let offered = cell_offered_load(cell);
    Case {
        id: &cell.id,
        origin: Origin::Measured(cell),
        quality: Quality::Exact,
        error_ratio: error_ratio(cell),
        offered: offered.map(|asked| OfferedLoad {
            share: asked.share,
            moved: asked.moved,
            wanted: asked.wanted,
        }),
        generator: generator(view, cell),
        cpu: cpu::of_cell(cell),
        stations: Vec::new(),
        is_single: cell.in_flight.configured == 1,
        is_one_connection: cell.requested.workers == 1 && cell.clients == 1,
        elapsed_s: Some(cell.elapsed_s.last_done),
        failures: cell
            .errors
            .iter()
            .map(|error| {
                format!("{} {} {} times, first: {}", error.op, error.errno, error.count, error.first_message)
            })
            .collect(),
        mixtures: cell.mixtures.iter().map(parts).collect(),
    }
}

fn generator(view: &SummaryView<'_>, cell: &CellSummary) -> Option<GeneratorLoad> {
    let alone = view.ceiling(Cut::Generator, cell).filter(|found| found.same_settings)?.cell;
    let (rate, most) = (cell.ops_per_s?.0, alone.ops_per_s?.0);
    Some(GeneratorLoad {
        load: ratio(rate, most)?,
        error_ratio: joint_error(cell, alone),
        rate: text::op_rate(rate),
        most: text::op_rate(most),
        is_limited: Some(flags::has(cell, GENERATOR_LIMITED)),
    })
}

fn parts(mixture: &Mixture) -> ModalFigure {
    let shown = |centre: f64| match mixture.figure {
        MixedFigure::RateBytesPerS => text::storage_rate(centre),
        MixedFigure::LatencyNs => text::seconds(centre / 1e9),
    };
    let modes = mixture.modes.iter().map(|mode| (mode.share_ratio, shown(mode.centre))).collect();
    ModalFigure { of: None, modes }
}

/// Relative standard error of a cell's rate; `None` without an interval.
///
/// A 95 % interval is taken as two standard errors to each side, a little wide for few samples.
pub(crate) fn error_ratio(cell: &CellSummary) -> Option<f64> {
    Some(cell.interval.as_ref()?.half_width_ratio(cell.rate_bytes_per_s?.0)? / 2.0)
}

/// Error of a ratio of two rates.
pub(crate) fn joint_error(a: &CellSummary, b: &CellSummary) -> Option<f64> {
    Some(error_ratio(a)?.hypot(error_ratio(b)?))
}
