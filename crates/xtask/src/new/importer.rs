//! The skeleton of an importer: its folder in `suites::import`, and its lines in the registry there.

use super::{Draft, Insertion, ModuleName, NewFile, SkeletonKind};

/// The kind `importer`.
pub(crate) const KIND: SkeletonKind = SkeletonKind { word: "importer", draft };

const TEMPLATE: &str = include_str!("importer/mod.txt");

/// The registry, the only file that an added importer changes.
const REGISTRY: &str = "crates/suites/src/import/mod.rs";

fn draft(name: &ModuleName) -> Draft {
    let line =
        |above, text: &str| Insertion { path: REGISTRY, above, lines: format!("{}\n", name.fill(text)) };
    Draft {
        unique: None,
        files: vec![NewFile {
            path: name.fill("crates/suites/src/import/@name@/mod.rs"),
            text: name.fill(TEMPLATE),
        }],
        insertions: vec![
            line("// new importer: module", "mod @name@;"),
            line("// new importer: entry", "&@name@::IMPORTER,"),
        ],
        next: name.fill(
            "next: write what a line means in crates/suites/src/import/@name@/mod.rs, keep real outputs in\n\
             crates/suites/src/import/@name@/outputs, then run `cargo fmt --all`, `cargo xtask gen-docs` and\n\
             `cargo test -p narrows-suites import` (docs/guide/extend.md)",
        ),
    }
}
