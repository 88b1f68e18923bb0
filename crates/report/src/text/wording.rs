//! What it is called that a segment limits: the registry's titles as parts of a sentence.

use super::units::factor;
use narrows_model::Segment;
use narrows_model::change::Confirmation;
use narrows_model::diagnosis::{Limiting, Relation};
use narrows_model::quantity::percent;

/// What limits one regime and how sure that is, without what relieving it gains: `Limited by the server's CPU (60 % sure).`
pub(crate) fn short_sentence(entries: &[&Limiting]) -> String {
    let Some(first) = entries.first() else { return String::new() };
    let text = limit(first, entries);
    if first.segment == Segment::Unknown || first.relation == Relation::OneOf {
        return text;
    }
    format!("{} ({} sure).", text.trim_end_matches('.'), percent(first.confidence))
}

/// The sentences of one regime's verdict: what limits, how sure that is, what relieving it gains.
pub(crate) fn sentences(entries: &[&Limiting]) -> String {
    let Some(first) = entries.first() else { return String::new() };
    let text = limit(first, entries);
    if first.segment == Segment::Unknown {
        return text;
    }
    let sure = (first.relation != Relation::OneOf).then(|| format!("{} sure.", percent(first.confidence)));
    let gain = first.relief_gain_ratio.filter(|_| relievable(first));
    let gain = gain.map(|gain| gain_sentence(gain, entries.len()));
    let confirmed = first.confirmed.map(|outcome| confirmed_sentence(outcome).to_owned());
    [Some(text), sure, confirmed, gain].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What changing a segment said of the verdict on it.
fn confirmed_sentence(outcome: Confirmation) -> &'static str {
    match outcome {
        Confirmation::Confirmed => "Confirmed: changing it moved the rate as predicted.",
        Confirmation::Refuted => "Not confirmed: changing it did not move the rate as predicted.",
        Confirmation::Undecided => "Changing it decided nothing.",
    }
}

/// Whether the segment served the data itself, so that what is behind it was not measured.
pub(crate) fn serves_itself(segment: Segment) -> bool {
    matches!(segment, Segment::ClientCache | Segment::ServerCache)
}

/// Whether nothing of the path limits, because it sustains the whole offered load. Users with think time ask for more
/// in between.
pub(crate) fn is_delivered(entry: &Limiting) -> bool {
    let think = entry.codes.iter().any(|code| code == narrows_analysis::rules::USERS_THINK);
    entry.segment == Segment::OfferedLoad && !think
}

/// Whether programs that are no part of the path limit, and not its roles.
pub(crate) fn is_foreign(entry: &Limiting) -> bool {
    entry.codes.iter().any(|code| narrows_analysis::rules::CPU_OF_OTHERS.contains(&code.as_str()))
}

fn relievable(entry: &Limiting) -> bool {
    !serves_itself(entry.segment) && !is_delivered(entry)
}

fn limit(first: &Limiting, entries: &[&Limiting]) -> String {
    match (first.relation, entries) {
        (Relation::OneOf, [_, _, ..]) => {
            let each = |entry: &&Limiting| format!("{} ({})", noun(entry), percent(entry.confidence));
            // What limits beside any of them is no alternative to them.
            let (beside, one_of): (Vec<&Limiting>, Vec<&Limiting>) =
                entries.iter().partition(|entry| entry.relation == Relation::Joint);
            let names: Vec<String> = one_of.iter().map(each).collect();
            let beside: Vec<String> = beside.iter().map(|entry| noun(entry)).collect();
            let all = std::iter::once(names.join(" or ")).chain(beside).collect::<Vec<_>>();
            format!("Limited by {}: the evidence does not distinguish them.", all.join(", together with "))
        }
        (Relation::Joint, [_, _, ..]) => {
            let names: Vec<String> = entries.iter().map(|entry| noun(entry)).collect();
            let (first, others) =
                names.split_first().map_or(("", &[][..]), |(first, others)| (first, others));
            format!("Limited by {first} together with {}.", listed(others))
        }
        _ => alone(first),
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

fn alone(entry: &Limiting) -> String {
    match entry.segment {
        Segment::Unknown => "Not found: nothing that was measured was full.".to_owned(),
        _ if is_delivered(entry) => "Nothing limits it: the offered load is delivered.".to_owned(),
        Segment::ClientCache => "Served by the client's cache, storage not measured.".to_owned(),
        Segment::ServerCache => "Served by the server's cache, storage not measured.".to_owned(),
        Segment::Generator => {
            "Limited by the load generator itself: this is narrows' own speed, not the path's.".to_owned()
        }
        _ => format!("Limited by {}.", noun(entry)),
    }
}

/// The segment as what something is limited by.
fn noun(entry: &Limiting) -> String {
    let name = match entry.segment {
        Segment::WorkloadConcurrency => "too few requests in flight",
        Segment::ClientCache => "the client's cache (storage not measured)",
        Segment::ServerCache => "the server's cache (storage not measured)",
        _ if is_delivered(entry) => "the offered load",
        Segment::OfferedLoad => "the think time of its users",
        Segment::Unknown => "a segment that is not known",
        Segment::HostCpu if is_foreign(entry) => "other programs, which use the CPUs that the load needs",
        Segment::HostCpu => "the CPUs of the one machine that all roles share",
        segment => segment.title(),
    };
    match &entry.scope {
        Some(scope) if name.ends_with(')') => format!("{name}, {scope}"),
        Some(scope) => format!("{name} ({scope})"),
        None => name.to_owned(),
    }
}

fn gain_sentence(gain: f64, limit_count: usize) -> String {
    let what = if limit_count > 1 { "Without these limits" } else { "Without this limit" };
    if gain < 1.05 {
        return format!("{what} the gain would be less than 5 %.");
    }
    format!("{what} it would run at most {} times as fast.", factor(gain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(segment: Segment, relation: Relation) -> Limiting {
        Limiting {
            segment,
            confidence: 0.6,
            relation,
            scope: None,
            regime: String::new(),
            codes: Vec::new(),
            evidence: Vec::new(),
            relief_gain_ratio: Some(4.13),
            confirmed: None,
        }
    }

    #[test]
    fn cpus_that_others_used_are_theirs_by_whichever_rule_says_it() {
        let by = |code: &str| {
            let limit = Limiting { codes: vec![code.to_owned()], ..entry(Segment::HostCpu, Relation::Sole) };
            short_sentence(&[&limit])
        };
        for code in narrows_analysis::rules::CPU_OF_OTHERS {
            assert_eq!(
                by(code),
                "Limited by other programs, which use the CPUs that the load needs (60 % sure)."
            );
        }
        assert_eq!(
            by("host-cpu-full"),
            "Limited by the CPUs of the one machine that all roles share (60 % sure)."
        );
    }

    #[test]
    fn a_sole_limit_is_reported_with_confidence_and_gain() {
        let limit = entry(Segment::ServerCpu, Relation::Sole);
        assert_eq!(
            sentences(&[&limit]),
            "Limited by the server's CPU. 60 % sure. Without this limit it would run at most 4.1 times as fast."
        );
    }

    #[test]
    fn a_cache_is_never_called_a_limit_and_promises_no_gain() {
        let cache = entry(Segment::ClientCache, Relation::Sole);
        assert_eq!(sentences(&[&cache]), "Served by the client's cache, storage not measured. 60 % sure.");
    }

    #[test]
    fn users_who_think_limit_and_a_load_that_is_delivered_is_none() {
        let mut load = entry(Segment::OfferedLoad, Relation::Sole);
        assert_eq!(sentences(&[&load]), "Nothing limits it: the offered load is delivered. 60 % sure.");
        load.codes = vec![narrows_analysis::rules::USERS_THINK.to_owned()];
        assert_eq!(
            sentences(&[&load]),
            "Limited by the think time of its users. 60 % sure. Without this limit it would run at most 4.1 times as fast."
        );
    }

    #[test]
    fn alternatives_have_their_own_confidence() {
        let (cpu, device) =
            (entry(Segment::ServerCpu, Relation::OneOf), entry(Segment::DeviceBandwidth, Relation::OneOf));
        let text = sentences(&[&cpu, &device]);
        assert!(
            text.starts_with("Limited by the server's CPU (60 %) or the device's bandwidth (60 %)"),
            "{text}"
        );
    }

    #[test]
    fn every_segment_makes_a_sentence() {
        for segment in Segment::ALL {
            let text = sentences(&[&entry(*segment, Relation::Sole)]);
            assert!(text.ends_with('.') && !text.contains(": served there"), "{text}");
        }
    }
}
