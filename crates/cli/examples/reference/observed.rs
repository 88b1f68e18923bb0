//! What an observation file may hold, what can be imported into one, and the rules that judge it, from their registries.

use crate::markdown::{code, head, properties, section, table};
use narrows_analysis::{known_factors, observation_rules};
use narrows_record::import::IMPORTERS;
use narrows_study::observations::{KEYS, Key, Need, TABLES, Table};

/// The page of observation files.
pub(crate) fn keys() -> String {
    let lists = "The keys of an observation file, `narrows.observations/1`, which `narrows diagnose FILE.toml` takes: what \
                 each means, what it may be, and what holds without it. Numbers are in base units: bytes, seconds, bytes a \
                 second, ratios from 0 to 1. How to write one: [observations](../guide/observations.md); examples: \
                 `docs/examples/observations`.";
    let mut page = head("Observation files", lists, "the registry `narrows_study::observations::KEYS`");
    for (place, holds) in TABLES {
        let title = if *place == Table::Top {
            "Above all tables".to_owned()
        } else {
            format!("[[{}]]", place.name())
        };
        page.push_str(&section(&title, &format!("{holds}\n\n{}", rows(*place))));
    }
    page.push_str(&section("[factor_segment]", &factors()));
    page
}

fn rows(place: Table) -> String {
    let rows = KEYS.iter().filter(|key| key.table == place).map(|key| {
        [code(key.name), key.meaning.to_owned(), key.kind.allowed(), without(key), code(key.example)]
    });
    table(["key", "meaning", "takes", "without it", "example"], rows)
}

/// A default that is a value stands as code, a sentence as it is.
fn without(key: &Key) -> String {
    match key.need {
        Need::Required => "required".to_owned(),
        Need::Else(value) if value.starts_with('"') || value.parse::<f64>().is_ok() => code(value),
        Need::Else(words) => words.to_owned(),
    }
}

fn factors() -> String {
    let rows = known_factors().into_iter().map(|(name, segment)| [code(name), code(segment.id())]);
    format!(
        "Names of factors with the id of the segment that each varies, such as `osds = \"server.threads\"`. These names are \
         known without it; all others, such as `protocol` and `layout`, are compared and not blamed. `path = \"local\"` says \
         that an observation crossed no network: it was measured on the server itself.\n\n{}",
        table(["factor", "segment"], rows)
    )
}

/// The page of importers.
pub(crate) fn imports() -> String {
    let lists = "The tools whose native output `narrows import FORMAT FILE` turns into an observation file. How to use it: \
                 [import](../guide/import.md).";
    let mut page = head("Imports", lists, "the registry `narrows_record::import::IMPORTERS`");
    for importer in IMPORTERS {
        let entries = [
            ("reads", importer.definition.to_owned()),
            ("example", code(importer.example)),
            ("source", importer.source.to_owned()),
        ];
        page.push_str(&section(&format!("{}: {}", importer.name, importer.title), &properties(&entries)));
    }
    page
}

/// The part of the page of rules that judges observations.
pub(crate) fn rules() -> String {
    let mut part = section(
        "On observation files",
        "The rules that judge numbers measured elsewhere (`narrows diagnose FILE.toml`). One with the code of a rule above \
         means the same.\n",
    );
    for rule in observation_rules() {
        let entries = [
            ("meaning", rule.definition.to_owned()),
            ("test", rule.formula.to_owned()),
            ("example", rule.example.to_owned()),
            ("how to measure", rule.how_to_measure.to_owned()),
            ("source", rule.source.to_owned()),
            ("slug in JSON", code(rule.slug)),
        ];
        let named = format!("\n### {}\n\n{}: {}.\n\n", rule.code, code(rule.segment.id()), rule.title);
        part.push_str(&named);
        part.push_str(&properties(&entries));
    }
    part
}
