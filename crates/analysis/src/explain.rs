//! What a rule's code or a segment's id means, from the registries.

use crate::observations::{ObservationRule, observation_rules};
use crate::rules::{RULES, Rule, rule};
use narrows_model::Segment;

/// A page of explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// What was asked for.
    pub topic: &'static str,
    /// One line.
    pub title: &'static str,
    /// Named paragraphs, in the order in which to read them.
    pub paragraphs: Vec<(&'static str, String)>,
}

/// The explanation of a rule's code or a segment's id; `None` when there is neither.
#[must_use]
pub fn explain(code_or_segment: &str) -> Option<Explanation> {
    let explanation = of_rule(code_or_segment).or_else(|| of_segment(code_or_segment));
    explanation.or_else(|| observed(code_or_segment).map(explanation_of))
}

/// Everything that can be explained: codes of rules, then ids of segments.
#[must_use]
pub fn topics() -> Vec<&'static str> {
    let codes = RULES.iter().map(|rule| rule.code);
    let of_observations =
        observation_rules().iter().map(|rule| rule.code).filter(|code| rule(code).is_none());
    codes.chain(of_observations).chain(Segment::ALL.iter().map(|segment| segment.id())).collect()
}

/// A rule on runs, with what its namesake on observation files adds.
fn of_rule(code: &str) -> Option<Explanation> {
    let mut explanation = explanation_of(rule(code)?);
    if let Some(namesake) = observed(code) {
        let text = format!("{} Test: {}.", namesake.definition, namesake.formula);
        explanation.paragraphs.push(("in observation files", text));
    }
    Some(explanation)
}

/// The rule on observations with this code.
fn observed(code: &str) -> Option<&'static ObservationRule> {
    observation_rules().iter().copied().find(|rule| rule.code == code)
}

fn explanation_of<Test>(rule: &'static Rule<Test>) -> Explanation {
    let paragraphs = vec![
        ("segment", format!("{}: {}", rule.segment, rule.segment.title())),
        ("meaning", rule.definition.to_owned()),
        ("test", rule.formula.to_owned()),
        ("example", rule.example.to_owned()),
        ("how to measure", rule.how_to_measure.to_owned()),
        ("source", rule.source.to_owned()),
    ];
    Explanation { topic: rule.code, title: rule.title, paragraphs }
}

fn of_segment(id: &str) -> Option<Explanation> {
    let segment = Segment::from_id(id)?;
    if segment == Segment::Unknown {
        return Some(of_no_segment());
    }
    let rules: Vec<&str> =
        RULES.iter().filter(|rule| rule.segment == segment).map(|rule| rule.code).collect();
    let mut paragraphs = Vec::new();
    if let Some(parent) = segment.parent() {
        paragraphs.push(("part of", format!("{parent}: {}", parent.title())));
    }
    if !rules.is_empty() {
        paragraphs.push(("judged by", rules.join(", ")));
    }
    paragraphs.push(("how to measure", crate::diagnose::how_to_measure(segment).to_owned()));
    Some(Explanation { topic: segment.id(), title: segment.title(), paragraphs })
}

/// No segment: a verdict like any other, that no rule of its own gives.
fn of_no_segment() -> Explanation {
    let meaning = "No segment that was measured was at its limit, or what was measured of them does not agree: the limit is \
                   a segment that was not measured, or one whose ceiling is higher than it seemed.";
    let how_to = "Give the run more time (--seconds, --trials). Measure more of the path alone: `narrows check` with \
                  --server self, or with `narrows serve` on the storage server. Relieve what the list of limits calls \
                  nearest, and measure again.";
    let paragraphs = vec![("meaning", meaning.to_owned()), ("how to measure", how_to.to_owned())];
    Explanation { topic: Segment::Unknown.id(), title: Segment::Unknown.title(), paragraphs }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_has_an_explanation_with_text() {
        for topic in topics() {
            let explanation = explain(topic).unwrap();
            assert!(!explanation.title.is_empty(), "{topic}");
            assert!(explanation.paragraphs.iter().all(|(_, text)| !text.is_empty()), "{topic}");
        }
    }

    #[test]
    fn an_unknown_limit_is_explained_by_what_it_is_and_not_by_a_rule_about_failures() {
        let explanation = explain(Segment::Unknown.id()).unwrap();
        let text: String = explanation.paragraphs.iter().map(|(_, text)| text.as_str()).collect();
        assert!(text.contains("not measured") && !text.contains("fail"), "{text}");
    }

    #[test]
    fn an_unknown_topic_has_none() {
        assert_eq!(explain("no-such-thing"), None);
    }
}
