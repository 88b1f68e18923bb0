//! The skeleton of a rule: its file in `analysis::rules`, and its lines in the registry there.

use super::{Draft, Insertion, ModuleName, NewFile, SkeletonKind, Taken};

/// The kind `rule`.
pub(crate) const KIND: SkeletonKind = SkeletonKind { word: "rule", draft };

const TEMPLATE: &str = include_str!("rule/rule.txt");

/// Where every rule is.
const RULES: &str = "crates/analysis/src/rules";
/// The ids of segments.
const SEGMENTS: &str = "crates/model/src/segment.rs";
/// The registry. A rule on runs also needs a row in design 0010, which is written by hand.
const REGISTRY: &str = "crates/analysis/src/rules/mod.rs";

fn draft(name: &ModuleName) -> Draft {
    let line =
        |above, text: &str| Insertion { path: REGISTRY, above, lines: format!("{}\n", name.fill(text)) };
    let taken = |below, text: &str| Taken { below, text: name.fill(text) };
    Draft {
        unique: vec![
            taken(RULES, "    code: \"@code@\","),
            taken(RULES, "    slug: \"@name@\","),
            // A code is asked for like a segment.
            taken(SEGMENTS, ", \"@code@\", "),
        ],
        files: vec![NewFile {
            path: name.fill("crates/analysis/src/rules/@name@.rs"),
            text: name.fill(TEMPLATE),
        }],
        insertions: vec![
            line("// new rule: module", "mod @name@;"),
            line("// new rule: entry", "&@name@::RULE,"),
        ],
        next: name.fill(
            "next: write what it finds in crates/analysis/src/rules/@name@.rs, move its line in RULES to its\n\
             neighbours on the path, then run `cargo xtask gen-docs` and `cargo test -p narrows-analysis @name@`\n\
             (docs/guide/extend.md). Once it is about runs, docs/design/0010-lab-proofs.md needs its row, in the order of RULES:\n\
             | `@code@` | `verdict_FILE::TEST_ON_A_MACHINE_WITH_THE_FAULT` | `verdict_FILE::TEST_ON_A_HEALTHY_MACHINE` |\n\
             | `@code@` | none: REASON OF MORE THAN 40 CHARACTERS | |",
        ),
    }
}
