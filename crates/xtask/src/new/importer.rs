//! The skeleton of an importer: its folder in `suites::import`, its module there, and its line in the registry.

use super::{Draft, Insertion, ModuleName, NewFile, SkeletonKind};

/// The kind `importer`.
pub(crate) const KIND: SkeletonKind = SkeletonKind { word: "importer", draft };

const TEMPLATE: &str = include_str!("importer/mod.txt");

/// The file that declares the module.
const PARENT: &str = "crates/suites/src/import/mod.rs";
/// The registry.
const REGISTRY: &str = "crates/suites/src/lib.rs";

fn draft(name: &ModuleName) -> Draft {
    let line = |path, above, text: &str| Insertion { path, above, lines: format!("{}\n", name.fill(text)) };
    Draft {
        unique: None,
        files: vec![NewFile {
            path: name.fill("crates/suites/src/import/@name@/mod.rs"),
            text: name.fill(TEMPLATE),
        }],
        insertions: vec![
            line(PARENT, "// new importer: module", "pub(crate) mod @name@;"),
            line(REGISTRY, "// new importer: entry", "&import::@name@::IMPORTER,"),
        ],
        next: name.fill(
            "next: write what a line means in crates/suites/src/import/@name@/mod.rs, keep real outputs in\n\
             crates/suites/src/import/@name@/outputs, then run `cargo fmt --all`, `cargo xtask gen-docs` and\n\
             `cargo test -p narrows-suites import` (docs/guide/extend.md)",
        ),
    }
}
