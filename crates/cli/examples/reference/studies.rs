//! What a study may hold, from the registry of its keys.

use crate::markdown::{code, head, properties, section, table};
use narrows_study::file::{KEYS, Key, Kind, TABLES};

/// The page of study files.
pub(crate) fn keys() -> String {
    let lists = "The keys of a study file, which `narrows run` takes: what each means, what it may be, and what holds \
                 without it. How to write one: [studies](../guide/studies.md); examples: `docs/examples/studies`.";
    let mut page = head("Study files", lists, "the registry `narrows_study::KEYS`");
    page.push('\n');
    page.push_str(&units());
    for (name, holds) in TABLES {
        let title = if name.is_empty() { "Above all tables".to_owned() } else { format!("[{name}]") };
        let keys: Vec<&Key> = KEYS.iter().filter(|key| key.table() == *name).collect();
        let listed = if keys.is_empty() { String::new() } else { format!("\n{}", rows(&keys)) };
        page.push_str(&section(&title, &format!("{holds}\n{listed}")));
    }
    page
}

fn rows(keys: &[&Key]) -> String {
    let rows = keys
        .iter()
        .map(|key| [code(key.name()), key.meaning.to_owned(), takes(key), default(key), code(key.example)]);
    table(["key", "meaning", "takes", "without it", "example"], rows)
}

/// The units of each type that has some, once for all keys.
fn units() -> String {
    let mut named: Vec<(&str, String)> = Vec::new();
    for key in
        KEYS.iter().filter(|key| !matches!(key.kind, Kind::Number { .. }) && !key.kind.unit().is_empty())
    {
        let name = match key.kind {
            Kind::ByteRate => "rate of bytes",
            Kind::OpRate => "rate of operations",
            kind => kind.type_words(),
        };
        if !named.iter().any(|(known, _)| *known == name) {
            named.push((name, key.kind.unit().to_owned()));
        }
    }
    properties(&named)
}

/// What is allowed, with what a number counts.
fn takes(key: &Key) -> String {
    match key.kind {
        Kind::Number { unit, .. } if !unit.is_empty() => format!("{}; {unit}", key.kind.allowed()),
        kind => kind.allowed(),
    }
}

/// A default that is a value stands as code, a sentence as it is.
fn default(key: &Key) -> String {
    let value = key.default.starts_with(['"', '[', '{'])
        || key.default.parse::<f64>().is_ok()
        || key.default == "false";
    if value && !key.default.contains(", or") { code(key.default) } else { key.default.to_owned() }
}
