//! What a verdict is made of: segments and rules, from their registries.

use crate::markdown::{code, head, properties, section, table};
use narrows_analysis::rules::{Rule, rule};
use narrows_analysis::{explain, topics};
use narrows_model::Segment;

fn all_rules() -> impl Iterator<Item = &'static Rule> {
    topics().into_iter().filter_map(rule)
}

/// The page of segments.
pub(crate) fn segments() -> String {
    let lists = "The stages of a path that can limit it, with fixed ids. Where the evidence does not separate a \
                 segment from its neighbours, the verdict names what it is part of. A segment that no rule evaluates is \
                 never named for itself: where it is on the path it is listed as not measured.";
    let mut page = head("Segments", lists, "the registry `narrows_model::Segment::ALL`");
    let rows = Segment::ALL.iter().map(|segment| {
        let rules: Vec<String> =
            all_rules().filter(|rule| rule.segment == *segment).map(|rule| code(rule.code)).collect();
        let parent = segment.parent().map(|parent| code(parent.id())).unwrap_or_default();
        [code(segment.id()), segment.title().to_owned(), parent, rules.join(", ")]
    });
    page.push('\n');
    page.push_str(&table(["id", "what it is", "part of", "evaluated by"], rows));
    page.push_str("\n## How each is measured\n\n");
    let named = Segment::ALL.iter().filter(|segment| **segment != Segment::Unknown);
    let rows = named.map(|segment| [code(segment.id()), how_to_measure(*segment)]);
    page.push_str(&table(["id", "how"], rows));
    page
}

fn how_to_measure(segment: Segment) -> String {
    let paragraphs = explain(segment.id()).map(|explanation| explanation.paragraphs).unwrap_or_default();
    let found = paragraphs.into_iter().find(|(name, _)| *name == "how to measure");
    found.map(|(_, text)| text).unwrap_or_default()
}

/// The page of rules.
pub(crate) fn rules() -> String {
    let lists = "Each rule looks at one segment and says for each load whether it limits, is cleared, or cannot be evaluated. \
                 One set of rules evaluates runs and observation files (`narrows diagnose FILE.toml`), by the facts that each \
                 has. `narrows explain CODE` prints the same.";
    let mut page = head("Rules", lists, "the registry of `narrows_analysis::rules`");
    let rows = all_rules().map(|rule| {
        [code(rule.code), code(rule.segment.id()), rule.title.to_owned(), fact_sources(rule).to_owned()]
    });
    page.push('\n');
    page.push_str(&table(["code", "segment", "what it finds", "evaluates"], rows));
    for rule in all_rules() {
        let entries = [
            ("meaning", rule.definition.to_owned()),
            ("test", rule.formula.to_owned()),
            ("example", rule.example.to_owned()),
            ("evaluates", fact_sources(rule).to_owned()),
            ("how to measure", rule.how_to_measure.unwrap_or_default().to_owned()),
            ("in an observation file", rule.how_to_write.unwrap_or_default().to_owned()),
            ("source", rule.source.to_owned()),
            ("slug in JSON", code(rule.slug)),
        ];
        let entries: Vec<(&str, String)> = entries.into_iter().filter(|(_, text)| !text.is_empty()).collect();
        let summary = format!("{}: {}.\n\n{}", code(rule.segment.id()), rule.title, properties(&entries));
        page.push_str(&section(rule.code, &summary));
    }
    page
}

/// What has the facts that a rule needs.
fn fact_sources(rule: &Rule) -> &'static str {
    match (rule.how_to_measure, rule.how_to_write) {
        (Some(_), Some(_)) => "runs and files",
        (Some(_), None) => "runs",
        _ => "files",
    }
}
