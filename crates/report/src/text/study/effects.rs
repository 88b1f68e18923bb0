//! What each factor did: best and worst value, where more stops to help, the law over block sizes.

use super::super::evidence::{painted_label, some_of};
use super::super::factor_value::{fixed_values, format_value};
use super::super::style::{Paint, Style};
use super::super::units::{counted_len, factor as times};
use super::super::wrap::{Indent, paragraph};
use narrows_analysis::{Effect, Gain, effects};
use narrows_model::cell::FactorValue;
use narrows_model::quantity::{amount, percent, seconds, storage_rate};
use narrows_model::summary::{
    CellSummary, Interval, Saturation, SaturationState, SegmentFit, Sweep, SweepPoint,
};
use narrows_model::units::round_to_u64;
use narrows_model::{Bytes, Summary};
use std::cmp::Ordering;

const INDENT: Indent<'_> = Indent { first: "  ", rest: "    " };
/// A factor that changes the rate by less than this had no effect worth reporting.
const NOTHING_RATIO: f64 = 1.03;
/// Sweeps whose law is shown before the rest is only counted.
const LAWS: usize = 2;
/// Below this probability the points do not follow the law.
const LACK_OF_FIT: f64 = 0.01;

/// The section; empty where no factor was varied.
pub(super) fn render(summary: &Summary, style: &Style) -> String {
    let effects = effects(summary);
    if effects.is_empty() {
        return String::new();
    }
    let heading = style.heading("FACTORS", "the effect of each on the rate, all others being equal");
    effects.iter().fold(heading, |out, effect| {
        let sweeps: Vec<&Sweep> =
            summary.sweeps.iter().filter(|sweep| sweep.factor == effect.factor).collect();
        let text = format!("{}: {}", effect.factor, sentences(effect, &sweeps, summary));
        let text = paragraph(&text, INDENT, style.width);
        out + &painted_label(&text, &effect.factor, Paint::Heading, style) + &laws(summary, &sweeps, style)
    })
}

fn sentences(effect: &Effect, sweeps: &[&Sweep], summary: &Summary) -> String {
    let parts = [Some(best_and_worst(effect)), doubtful(effect), saturated(effect, sweeps, summary)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn best_and_worst(effect: &Effect) -> String {
    let (best, worst) = (format_value(&effect.best, effect.unit), format_value(&effect.worst, effect.unit));
    let Gain { mean_ratio, low_ratio, high_ratio, sweep_count } = effect.gain;
    if high_ratio < NOTHING_RATIO {
        let within = percent(high_ratio - 1.0);
        return format!("made no difference: {best} and {worst} are within {within} of each other.");
    }
    let range = if sweep_count > 1 && times(low_ratio) != times(high_ratio) {
        format!(" ({} to {} by the other factors)", times(low_ratio), times(high_ratio))
    } else {
        String::new()
    };
    if mean_ratio < NOTHING_RATIO {
        return format!(
            "no difference overall: {best} gives {} times the rate of {worst}{range}.",
            times(mean_ratio)
        );
    }
    format!("best {best}, worst {worst}: {} times the rate{range}.", times(mean_ratio))
}

/// What keeps the difference from being one.
fn doubtful(effect: &Effect) -> Option<String> {
    let sweep_count = effect.gain.sweep_count;
    if effect.gain.high_ratio < NOTHING_RATIO {
        return None;
    }
    match effect.apart_count? {
        0 => Some("Their intervals overlap: this may be chance.".to_owned()),
        apart if apart < sweep_count => Some(format!(
            "Their intervals do not overlap in {apart} of {}.",
            counted_len(sweep_count, "sweep")
        )),
        _ => None,
    }
}

/// Where more of a factor stops to help.
fn saturated(effect: &Effect, sweeps: &[&Sweep], summary: &Summary) -> Option<String> {
    let assessed: Vec<(&Sweep, &Saturation)> =
        sweeps.iter().filter_map(|sweep| Some((*sweep, sweep.saturation.as_ref()?))).collect();
    let in_state = |state: SaturationState| assessed.iter().filter(move |(_, found)| found.state == state);
    let reached: Vec<&FactorValue> = in_state(SaturationState::Reached)
        .filter_map(|(sweep, found)| knee(sweep, found.knee_in_flight?, summary))
        .collect();
    let open = in_state(SaturationState::NotReached).count();
    let low = reached.iter().copied().min_by(|a, b| by_number(a, b));
    let ends = low.zip(reached.iter().copied().max_by(|a, b| by_number(a, b)));
    match (ends, assessed.len()) {
        (_, 0) => None,
        (None, all) if open == all => {
            Some("Not saturated: the last doubling still added 3 % or more.".to_owned())
        }
        (None, _) => Some("The figures do not show whether it is saturated.".to_owned()),
        (Some((low, high)), all) => {
            let value_text = |value: &FactorValue| format_value(value, effect.unit);
            let from = if low == high {
                value_text(low)
            } else {
                format!("{} to {}", value_text(low), value_text(high))
            };
            let part = if reached.len() < all {
                format!(" in {} of {all} sweeps", reached.len())
            } else {
                String::new()
            };
            Some(format!("Saturated from {from} on{part}: doubling it adds under 3 %."))
        }
    }
}

/// The factor's own value at the knee of a sweep, whose law is over the number in flight: other factors are in that too.
fn knee<'s>(sweep: &'s Sweep, knee_in_flight: f64, summary: &Summary) -> Option<&'s FactorValue> {
    let in_flight = |point: &'s SweepPoint| {
        let cell = summary.cells.iter().find(|cell| cell.id == point.cell)?;
        Some((cell.in_flight.configured, &point.value))
    };
    let from_knee = sweep.points.iter().filter_map(in_flight).filter(|at| at.0 as f64 >= knee_in_flight);
    from_knee.min_by_key(|at| at.0).map(|at| at.1)
}

fn by_number(a: &FactorValue, b: &FactorValue) -> Ordering {
    match (a, b) {
        (FactorValue::Number(a), FactorValue::Number(b)) => a.total_cmp(b),
        _ => Ordering::Equal,
    }
}

/// The laws over block sizes that were fitted, each for the values of the other factors.
fn laws(summary: &Summary, sweeps: &[&Sweep], style: &Style) -> String {
    let fitted: Vec<(&Sweep, &SegmentFit)> =
        sweeps.iter().filter_map(|sweep| Some((*sweep, sweep.fit.as_ref()?))).collect();
    let (shown, more) = some_of(&fitted, LAWS, style);
    let indent = Indent { first: "    ", rest: "      " };
    let mut out: String = shown
        .iter()
        .map(|(sweep, fit)| {
            let at = fixed_values(sweep, summary);
            let at = if at.is_empty() { String::new() } else { format!("{at}: ") };
            paragraph(&format!("{at}{}", law(fit)), indent, style.width)
        })
        .collect();
    out.extend(more.map(|more| format!("    {more}\n")));
    let unfitted =
        sweeps.iter().filter(|sweep| sweep.fit.is_none() && is_over_blocks(sweep, summary)).count();
    if unfitted > 0 {
        let of = if fitted.is_empty() { String::new() } else { format!(" in {unfitted} more") };
        let none = format!(
            "no law of a fixed time per request and a byte rate fits the points over block sizes{of}"
        );
        out.push_str(&paragraph(&none, indent, style.width));
    }
    out
}

/// Whether a law over block sizes could have been fitted: three sizes or more, one request in flight, nothing that paces it.
fn is_over_blocks(sweep: &Sweep, summary: &Summary) -> bool {
    let cells =
        sweep.points.iter().filter_map(|point| summary.cells.iter().find(|cell| cell.id == point.cell));
    let cells: Vec<_> = cells.filter(|cell| cell.ops_per_s.is_some()).collect();
    let mut blocks: Vec<Bytes> = cells.iter().map(|cell| cell.block_bytes).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks.len() >= 3 && blocks.len() == cells.len() && cells.iter().all(|cell| is_serial(cell))
}

fn is_serial(cell: &CellSummary) -> bool {
    let load = &cell.requested;
    let is_paced = cell.offered_ops_per_s.is_some()
        || load.max_bytes_per_s.is_some()
        || load.max_ops_per_s.is_some()
        || load.think_ns.0 > 0;
    cell.in_flight.configured == 1 && !load.is_mixed() && !is_paced
}

/// Hockney's law in words: a fixed time and a rate for the bytes.
fn law(fit: &SegmentFit) -> String {
    let between = |interval: &Option<Interval>, text: fn(f64) -> String| {
        interval.as_ref().map_or_else(String::new, |interval| {
            format!(" ({} to {})", text(interval.low), text(interval.high))
        })
    };
    let size = |bytes: f64| amount(Bytes(round_to_u64(bytes)));
    let fixed = format!("{}{}", seconds(fit.a_s), between(&fit.a_s_interval, seconds));
    let rate =
        format!("{}{}", storage_rate(fit.b_bytes_per_s), between(&fit.b_bytes_per_s_interval, storage_rate));
    let half =
        fit.n_half_bytes.map_or_else(String::new, |bytes| format!(", half of that at {}", size(bytes)));
    let holds = match fit.lack_of_fit_p_value {
        Some(p_value) if p_value < LACK_OF_FIT => {
            format!(
                " The points do not follow it (off by up to {}): use it only as a rough guide.",
                percent(fit.deviation_ratio_max)
            )
        }
        _ => format!(" Points are within {} of it.", percent(fit.deviation_ratio_max)),
    };
    format!("a request takes {fixed}, and its bytes move at {rate}{half}.{holds}")
}
