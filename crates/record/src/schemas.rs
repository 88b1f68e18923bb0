//! The published JSON Schemas: those of the model, and those of a record's own documents.

use crate::line::RecordLine;
use crate::manifest::Manifest;
use narrows_model::schema::{self, PublishedSchema};
use schemars::schema_for;

/// The schemas of every document that a record or `--json` contains, sorted by name.
#[must_use]
pub fn published() -> Vec<PublishedSchema> {
    let mut all = schema::published();
    all.push(PublishedSchema { name: "narrows.line.1", schema: schema_for!(RecordLine) });
    all.push(PublishedSchema { name: "narrows.record.1", schema: schema_for!(Manifest) });
    all.sort_by_key(|schema| schema.name);
    all
}

/// A published schema as the text of its file, its end included.
///
/// # Errors
/// When it cannot be written as JSON, which would be an error of this program.
pub fn text(published: &PublishedSchema) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&published.schema).map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    fn folder() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/schema")
    }

    #[test]
    fn the_files_in_the_reference_are_those_of_the_types() {
        for published in published() {
            let path = folder().join(format!("{}.json", published.name));
            let there = std::fs::read_to_string(&path).unwrap_or_default();
            let again =
                "write it again with: cargo run -p narrows-record --features schemas --example write_schemas";
            assert!(
                there == text(&published).unwrap(),
                "{} is not that of the types; {again}",
                path.display()
            );
        }
    }

    #[test]
    fn no_schema_is_left_over() {
        let known: BTreeSet<String> =
            published().iter().map(|schema| format!("{}.json", schema.name)).collect();
        let there = std::fs::read_dir(folder()).unwrap();
        let there: BTreeSet<String> =
            there.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(there, known);
    }
}
