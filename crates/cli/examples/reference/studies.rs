//! What a study may contain, from the registry of its keys.

use crate::markdown::{code, head, properties, section, table};
use narrows_study::file::schema;
use narrows_study::schema::{KeySpec, ValueKind};

/// The page of study files.
pub(crate) fn keys() -> String {
    let lists = "The keys of a study file, which `narrows run` takes: what each means, what it may be, and what holds \
                 without it. How to write one: [studies](../guide/studies.md); examples: `docs/examples/studies`.";
    let mut page = head("Study files", lists, "the registry `narrows_study::file::schema`");
    page.push('\n');
    page.push_str(&units());
    for table in &schema().tables {
        let title = if table.path.is_empty() { "Above all tables".to_owned() } else { table.head() };
        let keys: Vec<&KeySpec> = schema().keys.iter().filter(|key| key.table() == table.path).collect();
        let listed = if keys.is_empty() { String::new() } else { format!("\n{}", rows(&keys)) };
        page.push_str(&section(&title, &format!("{}\n{listed}", table.meaning)));
    }
    page
}

fn rows(keys: &[&KeySpec]) -> String {
    let rows = keys.iter().map(|key| {
        [code(key.name()), key.meaning.to_owned(), key.kind.allowed(), default(key), code(key.example)]
    });
    table(["key", "meaning", "takes", "without it", "example"], rows)
}

/// The units of each type that has some, once for all keys.
fn units() -> String {
    let mut named: Vec<(&str, String)> = Vec::new();
    for key in &schema().keys {
        let name = match key.kind {
            ValueKind::ByteRate => "rate of bytes",
            ValueKind::OpRate => "rate of operations",
            ValueKind::Size { .. } => "size",
            ValueKind::Duration { .. } => "duration",
            _ => continue,
        };
        if !named.iter().any(|(known, _)| *known == name) {
            named.push((name, key.kind.unit().to_owned()));
        }
    }
    properties(&named)
}

/// A default that is a value is formatted as code, a sentence is not.
fn default(key: &KeySpec) -> String {
    let default = key.default();
    let is_value =
        default.starts_with(['"', '[', '{']) || default.parse::<f64>().is_ok() || default == "false";
    if is_value && !default.contains(", or") { code(default) } else { default.to_owned() }
}
