//! How a load scales with its clients: its curve, the law that it follows, and whether what all clients share is full.
//!
//! Not here: what limits the path at one number of clients, which the rules decide, and rates of more clients than were
//! measured, which are `extrapolate`'s.

mod ceiling;
mod curve;
mod law;
mod stage;

pub(crate) use ceiling::{StageCeiling, member_ceilings, stage_ceilings};
pub(crate) use curve::{BYTES_UNIT, CLIENTS, Curve};
pub(crate) use stage::is_hardware_full;

use narrows_model::Summary;
use narrows_model::summary::Scaling;

/// The scaling of every load of `summary` that was measured with several numbers of clients, in the order of its sweeps.
///
/// # Shape
/// Empty where none was; loads under a cap, a schedule or think time are left out: their rate is what was asked for.
#[must_use]
pub fn scalings(summary: &Summary) -> Vec<Scaling> {
    Curve::all(summary).iter().map(|curve| scaling(summary, curve)).collect()
}

fn scaling(summary: &Summary, curve: &Curve<'_>) -> Scaling {
    let found = law::laws(curve, summary.seed);
    let saturation = curve.saturation(summary.seed);
    let first = curve.first();
    Scaling {
        target: first.target.clone(),
        op: first.op,
        block_bytes: first.block_bytes,
        queue_depth: first.queue_depth,
        unit: curve.unit.to_owned(),
        points: curve.points(found.best.as_ref()),
        model: found.best.as_ref().map(|law| law.law().name().to_owned()),
        parameters: found.best.as_ref().map(law::named).unwrap_or_default(),
        parameter_intervals: found.parameter_intervals,
        peak_clients: found.best.and_then(|law| law.peak_clients()),
        interval: found.peak_interval,
        highest_rate: found.best.and_then(|law| law.highest_rate()),
        highest_rate_interval: found.highest_interval,
        laws: found.laws,
        gain_ratio: curve.gain_ratio(),
        shared_stage: stage::shared_stage(summary, curve, saturation.as_ref()),
        saturation,
    }
}

#[cfg(test)]
mod tests;
