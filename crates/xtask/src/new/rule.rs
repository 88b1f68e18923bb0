//! The skeleton of a rule: its file in `analysis::rules`, and its lines in the registry there.

use super::{Draft, Insertion, ModuleName, NewFile, SkeletonKind, Taken};

/// The kind `rule`.
pub(crate) const KIND: SkeletonKind = SkeletonKind { word: "rule", draft };

const TEMPLATE: &str = include_str!("rule/rule.txt");

/// Where every rule is.
const RULES: &str = "crates/analysis/src/rules";
/// The registry. A rule on runs also needs a row in design 0010, which is written by hand.
const REGISTRY: &str = "crates/analysis/src/rules/mod.rs";

fn draft(name: &ModuleName) -> Draft {
    let words = |separator| name.module().replace('_', separator);
    let code = words("-");
    let line =
        |above, text: &str| Insertion { path: REGISTRY, above, lines: format!("{}\n", name.fill(text)) };
    Draft {
        unique: Some(Taken { folder: RULES, text: format!("code: \"{code}\"") }),
        files: vec![NewFile {
            path: name.fill("crates/analysis/src/rules/@name@.rs"),
            text: name.fill(TEMPLATE).replace("@code@", &code).replace("@words@", &words(" ")),
        }],
        insertions: vec![
            line("// new rule: module", "mod @name@;"),
            line("// new rule: entry", "&@name@::RULE,"),
        ],
        next: name.fill(
            "next: write what it finds in crates/analysis/src/rules/@name@.rs, move its line in RULES to its\n\
             neighbours on the path, then run `cargo fmt --all`, `cargo xtask gen-docs` and\n\
             `cargo test -p narrows-analysis @name@`; a rule on runs also needs a row in\n\
             docs/design/0010-lab-proofs.md (docs/guide/extend.md)",
        ),
    }
}
