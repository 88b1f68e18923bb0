//! What each factor did, in sentences.

use super::super::evidence::painted_label;
use super::super::style::{Paint, Style};
use super::super::units::{counted_len, factor as times};
use super::super::wrap::{Indent, paragraph};
use super::value::words;
use narrows_analysis::text::percent;
use narrows_analysis::{Effect, Gain, SATURATED_GAIN_RATIO, Saturation, effects};
use narrows_model::Summary;
use narrows_model::cell::FactorValue;
use narrows_model::factor::FactorUnit;

const INDENT: Indent<'_> = Indent { first: "  ", rest: "    " };
/// A factor that changes the rate by less than this did nothing worth telling.
const NOTHING_RATIO: f64 = 1.03;

/// The section; empty where no factor was varied.
pub(super) fn render(summary: &Summary, style: &Style) -> String {
    let effects = effects(summary);
    if effects.is_empty() {
        return String::new();
    }
    let heading = style.heading("FACTORS", "what each did to the rate, all others being equal");
    effects.iter().fold(heading, |out, effect| {
        let text = paragraph(&format!("{}: {}", effect.factor, sentences(effect)), INDENT, style.width);
        out + &painted_label(&text, &effect.factor, Paint::Heading, style)
    })
}

fn sentences(effect: &Effect) -> String {
    let saturation = effect.saturation.as_ref().and_then(|saturation| saturated(saturation, effect.unit));
    [Some(best_and_worst(effect)), doubtful(effect), saturation]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

fn best_and_worst(effect: &Effect) -> String {
    let (best, worst) = (words(&effect.best, effect.unit), words(&effect.worst, effect.unit));
    let Gain { mean_ratio, low_ratio, high_ratio, line_count } = effect.gain;
    if high_ratio < NOTHING_RATIO {
        return format!(
            "made no difference: {best} and {worst} are within {} of each other.",
            percent(high_ratio - 1.0)
        );
    }
    let range = if line_count > 1 && times(low_ratio) != times(high_ratio) {
        format!(" ({} to {} by the other factors)", times(low_ratio), times(high_ratio))
    } else {
        String::new()
    };
    format!("best {best}, worst {worst}: {} times the rate{range}.", times(mean_ratio))
}

/// What keeps the difference from being one.
fn doubtful(effect: &Effect) -> Option<String> {
    let line_count = effect.gain.line_count;
    if effect.gain.high_ratio < NOTHING_RATIO {
        return None;
    }
    match effect.apart_count? {
        0 => Some("Their intervals overlap: it may be chance.".to_owned()),
        apart if apart < line_count => Some(format!(
            "Their intervals lie apart in {apart} of {}.",
            counted_len(line_count, "comparison")
        )),
        _ => None,
    }
}

fn saturated(saturation: &Saturation, unit: FactorUnit) -> Option<String> {
    if saturation.line_count == 0 {
        return None;
    }
    let share = percent(SATURATED_GAIN_RATIO);
    let Some((low, high)) = saturation.from else {
        return Some(format!("Not saturated: the last doubling still added {share} or more."));
    };
    let word = |number: f64| words(&FactorValue::Number(number), unit);
    let from = if low < high { format!("{} to {}", word(low), word(high)) } else { word(low) };
    let lines = if saturation.saturated_count < saturation.line_count {
        format!(" in {} of {}", saturation.saturated_count, counted_len(saturation.line_count, "series"))
    } else {
        String::new()
    };
    Some(format!("Saturated from {from} on{lines}: doubling it adds under {share}."))
}
