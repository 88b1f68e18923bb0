//! Substitution: what changes when one resource is changed and nothing else.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::case::table::{self, Bracket, ObservationTable, RisingAxis, RisingSeries, times};
use crate::method::given;
use crate::thresholds::{
    ELIMINATED_CONFIDENCE, FOLLOWS_ELASTICITY, NO_EFFECT_RATIO, STRONG_GAIN_RATIO, no_effect_ratio,
};
use narrows_model::cell::FactorValue;
use narrows_model::diagnosis::Severity;
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};

/// What its statements rest on.
const COUNTER: &str = "rates of observations that differ in one factor";

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "factor-effect",
    slug: "substitution",
    segment: Segment::Unknown,
    title: "a resource was changed, and nothing else",
    definition: "Two observations that differ in only one factor show whether the segment that it varies limits: with \
                 an effect below 5 % it does not, at either value; where the rate follows the resource, it limited at \
                 the lower value. A setting that is not a number limits where the other setting is a quarter faster. \
                 The segment of a factor is known from its name or given in [factor_segment]; the \
                 effect of a number of another name is reported, and its segment is not known; `protocol`, `layout` \
                 and other settings are never named as the limit. A segment that was measured mostly idle is not named. Resources \
                 that were raised together are cleared together; where the rate follows, one of them limits, with a confidence of 0.6 at most. Figures read off a chart must differ by 5 \
                 % more.",
    formula: "cleared: 1/1.05 < rate ratio < 1.05; limits: ln(rate ratio) / ln(resource ratio) >= 0.5, or rate ratio >= 1.25 \
              for a setting",
    source: "Substitution arguments of published evaluations; intervention as in causal inference",
    example: "2 disks and 4 disks: 41 and 42 MB/s, so the disks do not limit",
    how_to_measure: None,
    how_to_write: Some("change one resource and keep everything else"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    // How much is asked for at once is a load, and its curve is evaluated by the rules of curves.
    let is_resource =
        |factor: &&str| !factor.ends_with("_buffer_bytes") && !RisingAxis::Factor(factor).is_load();
    let of_varied = |factor: &str| match table.segment_of(factor) {
        Some(segment) => of_factor(table, factor, segment),
        None => without_segment(table, factor),
    };
    let tied = table.tied_resources();
    let together = tied.iter().flat_map(|series| of_tied(table, series));
    table.factors().into_iter().filter(is_resource).flat_map(of_varied).chain(together).collect()
}

/// Resources that were raised together: cleared at once where that had no effect; else one of them limits.
fn of_tied(table: &ObservationTable<'_>, series: &RisingSeries<'_>) -> Vec<SegmentVerdict> {
    let mut segments: Vec<Segment> = Vec::new();
    for segment in series.axes.iter().filter_map(|axis| axis.segment(table)) {
        if !segments.contains(&segment) {
            segments.push(segment);
        }
    }
    let of_pair = |pair: &[&Observation]| match pair {
        [less, more] => of_tied_pair(table, series, &segments, [less, more]),
        _ => None,
    };
    series.rows.windows(2).filter_map(of_pair).flatten().collect()
}

fn of_tied_pair(
    table: &ObservationTable<'_>,
    series: &RisingSeries<'_>,
    segments: &[Segment],
    [less, more]: [&Observation; 2],
) -> Option<Vec<SegmentVerdict>> {
    let grown = series.grown(less, more).filter(|grown| *grown > 1.0)?;
    let faster = table::speed_up(less, more)?;
    let text = format!(
        "{} at {} times the rate of {} ({}, {})",
        series.describe(more),
        times(faster),
        series.describe(less),
        less.id,
        more.id
    );
    if is_nothing(faster, less, more) {
        let each = segments.iter().flat_map(|segment| [less, more].map(|one| cleared(*segment, one, &text)));
        return Some(each.collect());
    }
    let elasticity = faster.low.max(f64::MIN_POSITIVE).ln() / grown.ln();
    if elasticity < FOLLOWS_ELASTICITY || faster.low <= NO_EFFECT_RATIO + doubt(less, more) {
        return None;
    }
    let text = format!("{text}; they were raised together, and which of them limits is not known");
    if series.axes.iter().any(|axis| axis.is_load()) {
        // A load that grows with a resource is another load, and may be all that the rate follows.
        let note = SegmentVerdict::note(Segment::Unknown, &more.id, Severity::Info);
        return Some(vec![note.with_evidence(text, COUNTER, "")]);
    }
    let possible = segments.iter().filter(|segment| !given::is_idle(table, **segment, less));
    let one_of = |segment: &Segment| {
        let verdict = SegmentVerdict::new(*segment, &less.id, Stance::Limits, Basis::Utilisation, 1.0);
        let verdict = verdict.with_relief_gain(Some(faster.high)).with_confidence_max(ELIMINATED_CONFIDENCE);
        verdict.without_used().with_evidence(text.clone(), COUNTER, "")
    };
    Some(possible.map(one_of).collect())
}

/// What the rate did where a number was varied that has no known segment.
fn without_segment(table: &ObservationTable<'_>, factor: &str) -> Vec<SegmentVerdict> {
    let number = |one: &Observation| match one.factors.get(factor) {
        Some(FactorValue::Number(number)) => Some(*number),
        _ => None,
    };
    let step = |pair: &[&Observation]| {
        let [less, more] = pair else { return None };
        let grown = number(less)? < number(more)?;
        let faster = table::speed_up(less, more).filter(|_| grown)?;
        let text = format!(
            "{factor} {} -> {}: {} times the rate ({}, {}); its segment is not known",
            describe(less, factor),
            describe(more, factor),
            times(faster),
            less.id,
            more.id
        );
        let note = SegmentVerdict::note(Segment::Unknown, &more.id, Severity::Info);
        Some(note.with_evidence(text, COUNTER, ""))
    };
    table.series(factor).iter().flat_map(|series| series.windows(2).filter_map(step)).collect()
}

fn of_factor(table: &ObservationTable<'_>, factor: &str, segment: Segment) -> Vec<SegmentVerdict> {
    let mut verdicts = Vec::new();
    for series in table.series(factor) {
        let numbers =
            series.iter().all(|one| matches!(one.factors.get(factor), Some(FactorValue::Number(_))));
        if numbers {
            for pair in series.windows(2) {
                if let [less, more] = pair {
                    verdicts.extend(of_numbers(table, factor, segment, [less, more]));
                }
            }
        } else {
            verdicts.extend(of_settings(factor, segment, &series));
        }
    }
    verdicts
}

/// Two values of a resource, the lesser first.
fn of_numbers(
    table: &ObservationTable<'_>,
    factor: &str,
    segment: Segment,
    [less, more]: [&Observation; 2],
) -> Vec<SegmentVerdict> {
    let value = |one: &Observation| match one.factors.get(factor) {
        Some(FactorValue::Number(number)) => Some(*number),
        _ => None,
    };
    let grown =
        value(less).zip(value(more)).and_then(|(less, more)| ratio(more, less)).filter(|grown| *grown > 1.0);
    let (Some(grown), Some(faster)) = (grown, table::speed_up(less, more)) else { return Vec::new() };
    let text = format!(
        "{factor} {} -> {}: {} -> {} at {} times the rate",
        describe(less, factor),
        describe(more, factor),
        less.id,
        more.id,
        times(faster)
    );
    let elasticity = faster.low.max(f64::MIN_POSITIVE).ln() / grown.ln();
    if is_nothing(faster, less, more) {
        [less, more].into_iter().map(|one| cleared(segment, one, &text)).collect()
    } else if elasticity >= FOLLOWS_ELASTICITY && faster.low > NO_EFFECT_RATIO + doubt(less, more) {
        if given::is_idle(table, segment, less) {
            let note = SegmentVerdict::note(segment, &less.id, Severity::Info);
            let text = format!("{text}; {segment} was measured mostly idle, so it is not named for that");
            return vec![note.with_evidence(text, "rates and busy shares of observations", "")];
        }
        vec![limits(segment, less, elasticity.min(1.0), &text).with_relief_gain(Some(faster.high))]
    } else {
        Vec::new()
    }
}

/// Settings that are no numbers: each against the fastest.
fn of_settings(factor: &str, segment: Segment, series: &[&Observation]) -> Vec<SegmentVerdict> {
    let quicker = |a: &&&Observation, b: &&&Observation| {
        let ratio = table::speed_up(a, b).map_or(1.0, |faster| faster.low);
        1.0_f64.total_cmp(&ratio)
    };
    let Some(best) = series.iter().max_by(quicker) else { return Vec::new() };
    let against = |one: &&Observation| {
        let faster = table::speed_up(one, best).filter(|_| one.id != best.id)?;
        let text = format!(
            "{factor} {} -> {}: {} -> {} at {} times the rate",
            describe(one, factor),
            describe(best, factor),
            one.id,
            best.id,
            times(faster)
        );
        if is_nothing(faster, one, best) {
            return Some(vec![cleared(segment, one, &text), cleared(segment, best, &text)]);
        }
        let strong = faster.low >= STRONG_GAIN_RATIO + doubt(one, best);
        strong.then(|| vec![limits(segment, one, 1.0, &text).with_relief_gain(Some(faster.high))])
    };
    series.iter().filter_map(against).flatten().collect()
}

fn is_nothing(faster: Bracket, one: &Observation, other: &Observation) -> bool {
    let free = no_effect_ratio(doubt(one, other));
    faster.high < free && faster.low > 1.0 / free
}

fn doubt(one: &Observation, other: &Observation) -> f64 {
    table::doubt_ratio(one).max(table::doubt_ratio(other))
}

fn cleared(segment: Segment, one: &Observation, text: &str) -> SegmentVerdict {
    let verdict = SegmentVerdict::new(segment, &one.id, Stance::Clears, Basis::State, 0.0);
    verdict.with_evidence(text.to_owned(), COUNTER, "")
}

fn limits(segment: Segment, one: &Observation, load: f64, text: &str) -> SegmentVerdict {
    let verdict = SegmentVerdict::new(segment, &one.id, Stance::Limits, Basis::State, load);
    verdict.with_evidence(text.to_owned(), COUNTER, "")
}

fn describe(one: &Observation, factor: &str) -> String {
    one.factors.get(factor).map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::observed::{cleared, finding_text, first, named, read};

    fn two(factor: (&str, &str), rates: (f64, f64), rest: &str) -> narrows_model::Observations {
        read(&format!(
            "[[observation]]\nid = \"a\"\nop = \"write\"\nbytes_per_s = {}\nfactor = {{ {} }}\n[[observation]]\nid = \"b\"\nop = \"write\"\nbytes_per_s = {}\nfactor = {{ {} }}\n{rest}",
            rates.0, factor.0, rates.1, factor.1
        ))
    }

    #[test]
    fn a_resource_without_effect_is_cleared() {
        assert!(cleared(&two(("disks = 2", "disks = 4"), (41e6, 42e6), ""), Segment::Device));
    }

    #[test]
    fn a_resource_that_the_rate_follows_limits_at_its_lesser_value() {
        let all = two(("server_threads = 2", "server_threads = 8"), (10e6, 36e6), "");
        assert_eq!(first(&all), Segment::ServerThreads);
        assert!(!cleared(&all, Segment::ServerThreads));
    }

    #[test]
    fn rows_of_other_loads_are_not_compared() {
        let of = |a: &str, b: &str| {
            let rows = [("a", 2, 50e6, a), ("b", 4, 100e6, b)].map(|(id, disks, rate, rest)| {
                format!("[[observation]]\nid = \"{id}\"\nop = \"write\"\nbytes_per_s = {rate}\nfactor = {{ disks = {disks} }}\n{rest}\n")
            });
            named(&read(&rows.concat())).contains(&Segment::Device)
        };
        assert!(of("in_flight_configured = 8", "in_flight_configured = 8"));
        assert!(!of("in_flight_configured = 8", "in_flight_configured = 16"));
        assert!(!of("file_bytes = 1000000", "file_bytes = 2000000"));
        assert!(!of("offered_bytes_per_s = 200e6", "offered_bytes_per_s = 400e6"));
    }

    #[test]
    fn a_number_without_a_known_segment_is_reported_and_synonyms_are_known() {
        let text = finding_text(&two(("frobs = 2", "frobs = 4"), (50e6, 95e6), ""), "substitution");
        assert!(
            text.contains("frobs 2 -> 4: 1.90 times the rate (a, b); its segment is not known"),
            "{text}"
        );
        for (name, segment) in [("nfsd_threads", Segment::ServerThreads), ("ssds", Segment::Device)] {
            let (few, many) = (format!("{name} = 2"), format!("{name} = 4"));
            assert_eq!(first(&two((&few, &many), (50e6, 95e6), "")), segment, "{name}");
        }
    }

    #[test]
    fn response_times_alone_show_what_a_resource_does() {
        let of = |deeper: &str| {
            read(&format!(
                "[[observation]]\nid = \"a\"\nop = \"read\"\nlatency_s = 0.010\nfactor = {{ disks = 1 }}\n\
                 [[observation]]\nid = \"b\"\nop = \"read\"\nlatency_s = 0.005\nfactor = {{ disks = 2 }}\n{deeper}"
            ))
        };
        assert_eq!(first(&of("")), Segment::Device);
        assert!(!named(&of("offered_ops_per_s = 100\n")).contains(&Segment::Device));
    }

    #[test]
    fn what_was_measured_idle_is_not_blamed_by_scaling() {
        let of = |busy: &str| {
            let row = |id: &str, cpus: u32, rate: f64| {
                format!(
                    "[[observation]]\nid = \"{id}\"\nop = \"write\"\nbytes_per_s = {rate}\ncpu_ratio = {{ server = {busy} }}\nfactor = {{ server_cpus = {cpus} }}\n"
                )
            };
            read(&(row("a", 2, 50e6) + &row("b", 4, 98e6)))
        };
        assert!(!named(&of("0.10")).contains(&Segment::ServerCpu));
        assert!(finding_text(&of("0.10"), "substitution").contains("mostly idle"));
        assert_eq!(first(&of("0.85")), Segment::ServerCpu);
    }

    #[test]
    fn a_setting_with_a_segment_is_blamed_and_one_without_is_not() {
        let segment = "[factor_segment]\ndaemon = \"proxy.queue\"\n";
        let factors = ("daemon = \"old\"", "daemon = \"new\"");
        assert_eq!(first(&two(factors, (325e6, 640e6), segment)), Segment::ProxyQueue);
        assert_eq!(
            first(&two(("protocol = \"nfs\"", "protocol = \"iscsi\""), (10e6, 90e6), "")),
            Segment::Unknown
        );
    }
}
