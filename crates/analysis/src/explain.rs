//! What a rule's code or a segment's id means, from the registries.

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
    rule(code_or_segment).map(of_rule).or_else(|| of_segment(code_or_segment))
}

/// Everything that can be explained: codes of rules, then ids of segments.
#[must_use]
pub fn topics() -> Vec<&'static str> {
    let codes = RULES.iter().map(|rule| rule.code);
    codes.chain(Segment::ALL.iter().map(|segment| segment.id())).collect()
}

fn of_rule(rule: &'static Rule) -> Explanation {
    let always = [
        ("segment", format!("{}: {}", rule.segment, rule.segment.title())),
        ("meaning", rule.definition.to_owned()),
        ("test", rule.formula.to_owned()),
        ("example", rule.example.to_owned()),
    ];
    let to_measure = rule.how_to_measure.map(|text| ("how to measure", text.to_owned()));
    let to_write = rule.how_to_write.map(|text| ("in an observation file", text.to_owned()));
    let source = ("source", rule.source.to_owned());
    let paragraphs = always.into_iter().chain(to_measure).chain(to_write).chain([source]).collect();
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
        paragraphs.push(("evaluated by", rules.join(", ")));
    }
    paragraphs.push(("how to measure", crate::diagnose::how_to_measure(segment).to_owned()));
    Some(Explanation { topic: segment.id(), title: segment.title(), paragraphs })
}

/// No segment: a verdict like any other, that no rule of its own gives.
fn of_no_segment() -> Explanation {
    let meaning = "No measured segment was at its limit, or the measurements contradict each other: the limit is a \
                   segment that was not measured, or one whose ceiling is higher than it appeared.";
    let how_to = "Give the run more time (--seconds, --trials). Measure more segments separately: `narrows check` \
                  with --server self, or with `narrows serve` on the storage server. Relieve the segment that the \
                  report lists as nearest to its limit, and measure again.";
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
