//! The skeleton of a suite: its folder in `suites`, and its lines in the registry.

use super::{Draft, Insertion, ModuleName, NewFile, SkeletonKind};

/// The kind `suite`.
pub(crate) const KIND: SkeletonKind = SkeletonKind { word: "suite", draft };

const PARTS: [(&str, &str); 4] = [
    ("mod.rs", include_str!("suite/mod.txt")),
    ("arguments.rs", include_str!("suite/arguments.txt")),
    ("plan.rs", include_str!("suite/plan.txt")),
    ("tests.rs", include_str!("suite/tests.txt")),
];

const GUIDE: &str = include_str!("suite/guide.txt");

/// The registry, the only file that an added suite changes.
const REGISTRY: &str = "crates/suites/src/lib.rs";

fn draft(name: &ModuleName) -> Draft {
    let file = |(part, template): (&str, &str)| NewFile {
        path: format!("crates/suites/src/{}/{part}", name.module()),
        text: name.fill(template),
    };
    let guide = NewFile { path: name.fill("docs/guide/@name@.md"), text: name.fill(GUIDE) };
    let line =
        |above, text: &str| Insertion { path: REGISTRY, above, lines: format!("{}\n", name.fill(text)) };
    Draft {
        // Its folder, its module and its guide are its only names.
        unique: Vec::new(),
        files: PARTS.map(file).into_iter().chain([guide]).collect(),
        insertions: vec![
            line("// new suite: module", "pub mod @name@;"),
            line("// new suite: entry", "@name@::ENTRY,"),
        ],
        next: name.fill(
            "next: write its options in crates/suites/src/@name@/arguments.rs, its tests in plan.rs and its output in\n\
             mod.rs, then run `cargo xtask gen-docs`, `cargo test -p narrows-suites @name@` and\n\
             `cargo run -- suite @name@ --plan`. Its guide is docs/guide/@name@.md; link it in README.md\n\
             (docs/guide/extend.md)",
        ),
    }
}
