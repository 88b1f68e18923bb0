//! What an observation file may contain and what can be imported into one, from their registries.

use crate::markdown::{code, head, properties, section, table};
use narrows_analysis::known_factors;
use narrows_study::observations::schema;
use narrows_study::schema::{KeySpec, TableSpec};
use narrows_suites::IMPORTERS;

/// The page of observation files.
pub(crate) fn keys() -> String {
    let lists = "The keys of an observation file, `narrows.observations/1`, which `narrows diagnose FILE.toml` takes: what \
                 each means, what it may be, and what holds without it. Numbers are in base units: bytes, seconds, bytes a \
                 second, ratios from 0 to 1. How to write one: [observations](../guide/observations.md); examples: \
                 `docs/examples/observations`.";
    let mut page = head("Observation files", lists, "the registry `narrows_study::observations::schema`");
    for table in &schema().tables {
        let title = if table.path.is_empty() { "Above all tables".to_owned() } else { table.head() };
        page.push_str(&section(&title, &format!("{}\n\n{}", table.meaning, rows(table))));
    }
    page.push_str(&section("[factor_segment]", &factors()));
    page
}

fn rows(of: &TableSpec) -> String {
    let rows = schema().keys.iter().filter(|key| key.table() == of.path).map(|key| {
        [code(key.name()), key.meaning.to_owned(), key.kind.allowed(), without(key), code(key.example)]
    });
    table(["key", "meaning", "takes", "without it", "example"], rows)
}

/// A default that is a value is formatted as code, a sentence is not.
fn without(key: &KeySpec) -> String {
    let default = key.default();
    let is_value = default.starts_with('"') || default.parse::<f64>().is_ok();
    if is_value { code(default) } else { default.to_owned() }
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
    let mut page = head("Imports", lists, "the registry `narrows_suites::IMPORTERS`");
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
