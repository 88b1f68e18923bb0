//! The skeleton of an engine: its declaration, its folder, and its lines in the registries of `model` and `engines`.

use super::{Draft, Insertion, ModuleName, NewFile, SkeletonKind, Taken};

/// The kind `engine`.
pub(crate) const KIND: SkeletonKind = SkeletonKind { word: "engine", draft };

const DECLARATION: &str = include_str!("engine/declaration.txt");
const FACTORY: &str = include_str!("engine/factory.txt");
const TESTS: &str = include_str!("engine/tests.txt");

fn draft(name: &ModuleName) -> Draft {
    let file = |path: &str, template: &str| NewFile { path: name.fill(path), text: name.fill(template) };
    let insertion =
        |path, above, lines: &str| Insertion { path, above, lines: format!("{}\n", name.fill(lines)) };
    // An engine is also the name of its targets.
    let taken = |text: &str| Taken { below: "crates/model/src/target/forms.rs", text: name.fill(text) };
    Draft {
        unique: vec![taken("\"@name@\""), taken("\"@name@:")],
        files: vec![
            file("crates/model/src/engine/@name@.rs", DECLARATION),
            file("crates/engines/src/@name@/mod.rs", FACTORY),
            file("crates/engines/src/@name@/tests.rs", TESTS),
        ],
        insertions: vec![
            insertion("crates/model/src/engine/mod.rs", "// new engine: module", "pub mod @name@;"),
            insertion(
                "crates/model/src/engine/mod.rs",
                "// new engine: name",
                "@Name@ = @name@, \"Targets `@name@:`.\";",
            ),
            insertion("crates/engines/src/lib.rs", "// new engine: module", "pub mod @name@;"),
            insertion(
                "crates/engines/src/registry.rs",
                "// new engine: factory",
                "(EngineId::@Name@, FactoryMaker::Harmless(|| Arc::new(crate::@name@::@Name@Factory))),",
            ),
        ],
        next: name.fill(
            "next: describe it in crates/model/src/engine/@name@.rs, write how it issues requests in\n\
             crates/engines/src/@name@/mod.rs, then run `cargo xtask gen-docs`,\n\
             `cargo run -p narrows-record --features schemas --example write_schemas` and `cargo test -p narrows-engines @name@`\n\
             (docs/guide/extend.md)",
        ),
    }
}
