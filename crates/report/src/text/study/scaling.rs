//! How the load scales with its clients: a row for each number of them, the law, and whether what they share is full.

use super::super::style::{Paint, Style};
use super::super::units::NO_FIGURE;
use super::super::wrap::{Indent, paragraph};
use super::columns::{TextColumn, render as tables};
use narrows_model::Summary;
use narrows_model::quantity::{op_rate, percent, storage_rate};
use narrows_model::summary::{Interval, Scaling, ScalingLawSummary, ScalingPointSummary, SharedStageState};

const INDENT: Indent<'_> = Indent { first: "  ", rest: "    " };
/// Letters of the longest bar.
const BAR: usize = 24;
/// Fewest points of a law.
const LAW_POINTS: usize = 5;
/// Below this a fairness is worth a look: one client of ten then has half of what it should.
const FAIR_RATIO: f64 = 0.97;

/// The section of each load; empty where the clients were not varied.
pub(super) fn render(summary: &Summary, style: &Style) -> String {
    let all = summary.scaling.iter().chain(&summary.more_scaling);
    all.map(|scaling| section(scaling, style)).collect()
}

fn section(scaling: &Scaling, style: &Style) -> String {
    let load = format!(
        "{} of {}, {} in flight of each client",
        scaling.op, scaling.block_bytes, scaling.queue_depth
    );
    let mut out = style.heading("SCALING", &load);
    let verdict = paragraph(&headline(scaling), INDENT, style.width);
    out.extend(verdict.lines().map(|line| style.paint(Paint::Heading, line) + "\n"));
    for sentence in &scaling.shared_stage.evidence {
        let indent = Indent { first: "    - ", rest: "      " };
        out.push_str(&paragraph(&format!("{sentence}."), indent, style.width));
    }
    out.push('\n');
    out.push_str(&table(scaling, style));
    out.push('\n');
    for sentence in
        [Some(law(scaling)), highest(scaling), unfair(scaling), apart(scaling)].into_iter().flatten()
    {
        out.push_str(&paragraph(&sentence, INDENT, style.width));
    }
    if style.detail {
        out.extend(scaling.laws.iter().map(|law| paragraph(&law_line(law), INDENT, style.width)));
    }
    out
}

/// The verdict in one sentence.
fn headline(scaling: &Scaling) -> String {
    // Which of them was full may not have been measured.
    let stage = match scaling.shared_stage.full.first() {
        Some(full) => format!("{} is full", full.segment),
        None => "what all clients share limits".to_owned(),
    };
    let knee = scaling.saturation.as_ref().and_then(|found| found.knee_in_flight).unwrap_or(1.0);
    match scaling.shared_stage.state {
        SharedStageState::FullWithOneClient => {
            format!("Full with one client: {stage}, and more clients add nothing.")
        }
        SharedStageState::NothingAdded => {
            "More clients add nothing: what they share limits, and not the clients. Whether it is full with one client, or \
             serves one request after the other, was not measured."
                .to_owned()
        }
        SharedStageState::SaturatedWithMany => {
            format!("Saturated with many: from {knee:.0} clients on {stage}.")
        }
        SharedStageState::NotReached => {
            "Not saturated: more clients still add to the rate, and no stage that they share is full.".to_owned()
        }
        SharedStageState::Undecided => {
            "Undecided: the figures do not show whether more clients still add to the rate; more trials, or more clients, \
             decide it."
                .to_owned()
        }
    }
}

fn table(scaling: &Scaling, style: &Style) -> String {
    let points = &scaling.points;
    let of = |text: &dyn Fn(&ScalingPointSummary) -> String| points.iter().map(text).collect::<Vec<_>>();
    let rate = |value: f64| rate_text(scaling, value);
    let most = points.iter().map(|point| point.rate).fold(0.0, f64::max);
    let names = [TextColumn::right("clients", of(&|point| point.clients.to_string()))];
    let half = |point: &ScalingPointSummary| {
        let share = point.interval.as_ref().and_then(|interval| interval.half_width_ratio(point.rate));
        share.map_or_else(|| NO_FIGURE.to_owned(), percent)
    };
    let least_and_most = |point: &ScalingPointSummary| match (point.client_rate_min, point.client_rate_max) {
        (Some(least), Some(most)) => format!("{} to {}", rate(least), rate(most)),
        _ => String::new(),
    };
    let or_none = |value: Option<f64>, text: fn(f64) -> String| value.map_or_else(String::new, text);
    let values = vec![
        TextColumn::right("all", of(&|point| rate(point.rate))),
        TextColumn::right("+/-", of(&half)),
        TextColumn::left("", of(&|point| bar(point.rate, most))),
        TextColumn::right("each", of(&|point| rate(point.client_rate_mean))),
        TextColumn::right("least to most", of(&least_and_most)),
        TextColumn::right(
            "fairness",
            of(&|point| or_none(point.fairness_ratio, |ratio| format!("{ratio:.3}"))),
        ),
        TextColumn::right("efficiency", of(&|point| or_none(point.efficiency_ratio, percent))),
        TextColumn::right("by the law", of(&|point| point.law_rate.map_or_else(String::new, rate))),
    ];
    tables(&names, values, style)
}

/// A bar as long as the rate is of the highest one.
fn bar(rate: f64, most: f64) -> String {
    let letters = (1..=BAR).take_while(|letter| rate * BAR as f64 >= (*letter as f64 - 0.5) * most).count();
    "#".repeat(letters)
}

/// The law in words.
fn law(scaling: &Scaling) -> String {
    let value = |name: &str| scaling.parameters.get(name).copied().unwrap_or(0.0);
    let rate = |name: &str| {
        let interval = scaling.parameter_intervals.get(name);
        format!("{}{}", rate_text(scaling, value(name)), between(interval, &|end| rate_text(scaling, end)))
    };
    let share = |name: &str| {
        let interval = scaling.parameter_intervals.get(name);
        format!("{:.4}{}", value(name), between(interval, &|end| format!("{end:.4}")))
    };
    let deviation = scaling.laws.first().and_then(|law| law.deviation_ratio);
    let deviation =
        deviation.map_or_else(String::new, |ratio| format!(" Points deviate from it by {}.", percent(ratio)));
    match scaling.model.as_deref() {
        Some("min") => format!(
            "Law min(gamma N, C): in proportion to the clients, gamma {}, up to the ceiling C {}.{deviation}",
            rate("gamma"),
            rate("ceiling")
        ),
        Some("serial") => format!(
            "Law of Amdahl, gamma N / (1 + alpha (N - 1)): gamma {}, serial share alpha {}.{deviation}",
            rate("gamma"),
            share("alpha")
        ),
        Some(_) => format!(
            "Universal scalability law, gamma N / (1 + alpha (N - 1) + beta N (N - 1)): gamma {}, contention alpha {}, \
             coherency beta {}.{deviation}",
            rate("gamma"),
            share("alpha"),
            share("beta")
        ),
        None if scaling.points.len() < LAW_POINTS => format!(
            "No law: {} numbers of clients were measured, and at least {LAW_POINTS} are needed to choose one.",
            scaling.points.len()
        ),
        None => "No law could be fitted.".to_owned(),
    }
}

/// The end of the growth by the law.
fn highest(scaling: &Scaling) -> Option<String> {
    let rate = |value: f64| rate_text(scaling, value);
    let highest = scaling.highest_rate?;
    let range = between(scaling.highest_rate_interval.as_ref(), &rate);
    match scaling.peak_clients {
        Some(peak) => {
            let clients = between(scaling.interval.as_ref(), &|end| format!("{end:.1}"));
            Some(format!(
                "By it the peak is at {peak:.1}{clients} clients with {}{range}; more clients lower the rate.",
                rate(highest)
            ))
        }
        None if scaling.model.as_deref() == Some("min") => None,
        // What points exceed is no end, as with a serial share of nearly all.
        None if scaling.points.iter().any(|point| point.rate > highest) => None,
        None => Some(format!("By it no number of clients passes {}{range}.", rate(highest))),
    }
}

/// The point whose clients had the least equal shares, where they were unequal.
fn unfair(scaling: &Scaling) -> Option<String> {
    let known = scaling.points.iter().filter_map(|point| Some((point.fairness_ratio?, point.clients)));
    let (fairness, clients) =
        known.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|(ratio, _)| *ratio < FAIR_RATIO)?;
    Some(format!(
        "Unequal shares: with {clients} clients Jain's index is {fairness:.3}, where 1 is equal shares and {:.3} is one client \
         that has all.",
        1.0 / f64::from(clients)
    ))
}

/// The points whose clients did not run at the same time.
fn apart(scaling: &Scaling) -> Option<String> {
    let point = scaling.points.iter().find(|point| point.bracket.is_some())?;
    let bracket = point.bracket?;
    Some(format!(
        "With {} clients the longest took more than 1.2 times as long as the shortest: together they transferred between {} \
         (all bytes over the longest time) and {} (the sum of their rates).",
        point.clients,
        rate_text(scaling, bracket.low),
        rate_text(scaling, bracket.high)
    ))
}

fn law_line(law: &ScalingLawSummary) -> String {
    let parameters: Vec<String> =
        law.parameters.iter().map(|(name, value)| format!("{name} {value:.6e}")).collect();
    let aicc = law
        .aicc
        .map_or_else(|| "too few points for a criterion".to_owned(), |aicc| format!("AICc {aicc:.2}"));
    let deviation =
        law.deviation_ratio.map_or_else(String::new, |ratio| format!(", deviation {}", percent(ratio)));
    format!("{}: {}; {aicc}{deviation}", law.model, parameters.join(", "))
}

fn between(interval: Option<&Interval>, text: &dyn Fn(f64) -> String) -> String {
    interval
        .map_or_else(String::new, |interval| format!(" ({} to {})", text(interval.low), text(interval.high)))
}

fn rate_text(scaling: &Scaling, rate: f64) -> String {
    if scaling.unit == "B/s" { storage_rate(rate) } else { op_rate(rate) }
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn a_bar_is_as_long_as_the_rate_is_of_the_highest() {
        assert_eq!((bar(10.0, 10.0).len(), bar(5.0, 10.0).len(), bar(0.0, 10.0).len()), (24, 12, 0));
        assert_eq!(bar(0.0, 0.0).len(), 24, "all are the highest where all are 0");
    }
}
