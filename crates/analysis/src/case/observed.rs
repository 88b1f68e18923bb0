//! A case from an observation: numbers that somebody wrote down, or that the buffer experiment has as such.

use super::table::{self, ObservationTable};
use super::{Case, GeneratorLoad, ModalFigure, OfferedLoad, Origin, cpu};
use crate::text;
use crate::thresholds::CONTRADICTION_RATIO;
use narrows_model::observation::{Capacity, Ceiling};
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};

/// The case of `one`.
pub(super) fn case<'a>(table: &ObservationTable<'a>, one: &'a Observation) -> Case<'a> {
    let is_one = |count: Option<u64>| count == Some(1);
    Case {
        id: &one.id,
        origin: Origin::Observed(one),
        quality: one.quality,
        error_ratio: None,
        offered: offered(one),
        generator: generator(table, one),
        cpu: cpu::of_observation(one),
        stations: Vec::new(),
        is_single: one.in_flight_configured.is_some_and(|asked| asked > 0.0 && asked <= 1.0),
        is_one_connection: is_one(one.clients) && is_one(one.connections),
        elapsed_s: one.elapsed_s.or_else(|| {
            let bytes = one.file_bytes?.as_f64() * one.clients.unwrap_or(1) as f64;
            ratio(bytes, table::bytes_per_s(one)?.high)
        }),
        failures: one
            .errors
            .filter(|errors| *errors > 0)
            .map(|errors| format!("{errors} requests failed"))
            .into_iter()
            .collect(),
        mixtures: table.modes(one).map(|modes| parts(one, modes)).into_iter().collect(),
    }
}

/// What was asked for; nothing where clearly more came, for then one of the figures is another's.
fn offered(one: &Observation) -> Option<OfferedLoad> {
    let of_ops = || {
        let (rate, asked) = (table::ops_per_s(one)?, one.offered_ops_per_s?.0);
        Some(OfferedLoad {
            share: ratio(rate, asked)?,
            moved: text::op_rate(rate),
            wanted: text::op_rate(asked),
        })
    };
    let of_bytes = || {
        let (rate, asked) = (table::bytes_per_s(one)?.low, one.offered_bytes_per_s?.0);
        let (moved, wanted) = (text::storage_rate(rate), text::storage_rate(asked));
        Some(OfferedLoad { share: ratio(rate, asked)?, moved, wanted })
    };
    of_ops().or_else(of_bytes).filter(|offered| offered.share <= CONTRADICTION_RATIO)
}

/// The fullest of the ceilings of the generator.
fn generator(table: &ObservationTable<'_>, one: &Observation) -> Option<GeneratorLoad> {
    let own = table.all.ceilings.iter().filter(|ceiling| ceiling.segment == Segment::Generator);
    own.filter_map(|ceiling| against_generator(ceiling, one)).max_by(|a, b| a.load.total_cmp(&b.load))
}

fn against_generator(ceiling: &Ceiling, one: &Observation) -> Option<GeneratorLoad> {
    let count = ObservationTable::count_of(ceiling, one);
    let (rate, most, shown): (f64, f64, fn(f64) -> String) = match ceiling.capacity {
        Capacity::BytesPerS(most) => (table::bytes_per_s(one)?.low, most.0 * count, text::storage_rate),
        Capacity::OpsPerS(most) => (table::ops_per_s(one)?, most.0 * count, text::op_rate),
        Capacity::LatencyS(_) => return None,
    };
    Some(GeneratorLoad {
        load: ratio(rate, most)?,
        error_ratio: None,
        rate: shown(rate),
        most: shown(most),
        is_limited: None,
    })
}

fn parts(one: &Observation, modes: &[narrows_stats::modes::ModeOfValues]) -> ModalFigure {
    let of = format!("{} clients", one.per_client_bytes_per_s.len());
    let modes = modes.iter().map(|mode| (mode.share, text::storage_rate(mode.centre))).collect();
    ModalFigure { of: Some(of), modes }
}
