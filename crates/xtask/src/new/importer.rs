//! The skeleton of an importer: its folder in `suites::import`, its module there, and its line in the registry.

use super::{Draft, Insertion, ModuleName, NewFile, SkeletonKind, Taken};

/// The kind `importer`.
pub(crate) const KIND: SkeletonKind = SkeletonKind { word: "importer", draft };

const TEMPLATE: &str = include_str!("importer/mod.txt");
const OUTPUTS: &str = include_str!("importer/outputs.txt");

/// The file that declares the module.
const PARENT: &str = "crates/suites/src/import/mod.rs";
/// The registry.
const REGISTRY: &str = "crates/suites/src/lib.rs";

fn draft(name: &ModuleName) -> Draft {
    let line = |path, above, text: &str| Insertion { path, above, lines: format!("{}\n", name.fill(text)) };
    let file = |path: &str, template: &str| NewFile { path: name.fill(path), text: name.fill(template) };
    let taken = |below, text: &str| Taken { below, text: name.fill(text) };
    Draft {
        unique: vec![
            taken("crates/suites/src", "    name: \"@name@\",\n    title: "),
            taken("crates/cli/src/args/import.rs", "PossibleValue::new(\"@name@\")"),
        ],
        files: vec![
            file("crates/suites/src/import/@name@/mod.rs", TEMPLATE),
            file("crates/suites/src/import/@name@/outputs/README.md", OUTPUTS),
        ],
        insertions: vec![
            line(PARENT, "// new importer: module", "pub(crate) mod @name@;"),
            line(REGISTRY, "// new importer: entry", "&import::@name@::IMPORTER,"),
        ],
        next: name.fill(
            "next: write what a line means in crates/suites/src/import/@name@/mod.rs, with its operation (`OP`), and put real\n\
             outputs into crates/suites/src/import/@name@/outputs; tests fail until both are there. Then run\n\
             `cargo xtask gen-docs` and `cargo test -p narrows-suites import` (docs/guide/extend.md)",
        ),
    }
}
