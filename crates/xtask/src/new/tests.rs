//! What every kind promises: a draft that fits the project as it is.

use super::write::{changes, holder, inserted, write};
use super::*;
use std::path::Path;
use std::sync::OnceLock;

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}

/// The workspace, for which cargo is asked once.
fn workspace() -> &'static Workspace {
    static WORKSPACE: OnceLock<Workspace> = OnceLock::new();
    WORKSPACE.get_or_init(|| Workspace::load().expect("the workspace is there"))
}

fn root() -> &'static Path {
    &workspace().root
}

#[test]
fn every_draft_is_of_new_files_and_of_markers_that_are_there() {
    let name = ModuleName::parse("skeleton").expect("a name");
    for kind in KINDS {
        let draft = (kind.draft)(&name);
        assert!(!draft.files.is_empty() && !draft.next.is_empty(), "{}", kind.word);
        for file in &draft.files {
            assert!(!root().join(&file.path).exists(), "{}", file.path);
            assert!(!file.text.contains('@') && file.text.ends_with('\n'), "{}:\n{}", file.path, file.text);
            let head = if is_rust(&file.path) { "//! " } else { "# " };
            assert!(file.text.starts_with(head), "{}", file.path);
        }
        for insertion in &draft.insertions {
            let text = std::fs::read_to_string(root().join(insertion.path)).expect(insertion.path);
            assert!(inserted(&text, insertion).is_some(), "{}: {}", insertion.path, insertion.above);
        }
        for taken in &draft.unique {
            assert_eq!(holder(root(), taken).expect("it is readable"), None, "{}", kind.word);
        }
    }
}

#[test]
fn a_kind_changes_no_more_files_than_its_limit() {
    let name = ModuleName::parse("skeleton").expect("a name");
    for (kind, files_max) in [("engine", 4), ("rule", 2), ("suite", 3), ("importer", 2)] {
        let kind = KINDS.iter().find(|known| known.word == kind).expect("it is a kind");
        let insertions = (kind.draft)(&name).insertions;
        let changed: std::collections::BTreeSet<&str> =
            insertions.iter().map(|insertion| insertion.path).collect();
        assert!(changed.len() <= files_max, "{}: {changed:?}", kind.word);
    }
}

/// Why a part of this name is refused in the project as it is.
fn refusal(kind: &SkeletonKind, name: &str) -> String {
    let draft = (kind.draft)(&ModuleName::parse(name).expect("a name"));
    changes(root(), &draft).expect_err("it is taken").to_string()
}

#[test]
fn what_is_registered_is_refused_by_the_file_that_has_it() {
    for (kind, name, expected) in [
        (
            rule::KIND,
            "per_call_bound",
            "crates/analysis/src/rules/per_call.rs has `code: \"per-call-bound\",` already",
        ),
        (rule::KIND, "cache_served", "has `slug: \"cache_served\",` already"),
        (rule::KIND, "proxy", "crates/model/src/segment.rs has `, \"proxy\",` already"),
        (rule::KIND, "planned", "crates/analysis/src/rules/planned.rs exists already"),
        (engine::KIND, "psync", "crates/model/src/engine/psync.rs exists already"),
        (engine::KIND, "tcp", "crates/model/src/target/forms.rs has `\"tcp\"` already"),
        (engine::KIND, "stripe", "crates/engines/src/stripe/mod.rs exists already"),
        (engine::KIND, "request", "crates/engines/src/lib.rs has the module `request` already"),
        (suite::KIND, "postmark", "crates/suites/src/postmark/mod.rs exists already"),
        (suite::KIND, "figure", "crates/suites/src/lib.rs has the module `figure` already"),
        (suite::KIND, "relay", "docs/guide/relay.md exists already"),
        (importer::KIND, "iozone", "crates/suites/src/iozone/import/mod.rs has `name: \"iozone\","),
        (importer::KIND, "dd", "crates/suites/src/import/dd/mod.rs exists already"),
        (importer::KIND, "auto", "crates/cli/src/args/import.rs has `PossibleValue::new(\"auto\")` already"),
        (importer::KIND, "source", "crates/suites/src/import/mod.rs has the module `source` already"),
    ] {
        let refused = refusal(&kind, name);
        assert!(refused.contains(expected), "{} {name}: {refused}", kind.word);
        assert!(refused.ends_with("; choose another name"), "{refused}");
    }
}

#[test]
fn a_command_line_that_asks_for_nothing_is_answered_with_what_is_wrong() {
    let wrong = |words: &[&str]| asked(words).map(|(kind, _)| kind.word).expect_err("it asks for nothing");
    assert_eq!(wrong(&["rule"]), "usage: cargo xtask new engine|rule|suite|importer NAME");
    assert_eq!(wrong(&["rules", "a"]), "`rules` is no kind of part; there are engine, rule, suite, importer");
    assert!(
        wrong(&["rule", "a-b"]).contains("it contains `-`") && wrong(&["rule", "a-b"]).ends_with("try `a_b`")
    );
    let (kind, name) = asked(&["rule", "a_b"]).expect("a rule");
    assert_eq!((kind.word, name.module()), ("rule", "a_b"));
}

#[test]
fn every_draft_is_formatted_by_rustfmt() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = ModuleName::parse("skeleton").expect("a name");
    for kind in KINDS {
        let mut draft = (kind.draft)(&name);
        draft.unique.clear();
        for insertion in &draft.insertions {
            let copy = folder.path().join(insertion.path);
            std::fs::create_dir_all(copy.parent().expect("a file is in a folder")).expect("it is writable");
            std::fs::copy(root().join(insertion.path), copy).expect("it is readable");
        }
        std::fs::copy(root().join("rustfmt.toml"), folder.path().join("rustfmt.toml"))
            .expect("it is readable");
        let written = write(folder.path(), &draft).expect("nothing is in the way");
        let paths = written.iter().filter_map(|line| line.split_once(' ')).map(|(_, path)| path);
        for path in paths.filter(|path| is_rust(path)) {
            let text = std::fs::read(folder.path().join(path)).expect("it was written");
            let mut check = std::process::Command::new("rustfmt");
            check.arg("--check").current_dir(folder.path()).stdin(std::process::Stdio::piped());
            let mut check = check.spawn().expect("rustfmt starts");
            let mut input = check.stdin.take().expect("it has an input");
            std::io::Write::write_all(&mut input, &text).expect("it reads");
            drop(input);
            assert!(check.wait().expect("it ends").success(), "{path}");
        }
    }
}

/// The templates are text, which no rename of what they use reaches.
#[test]
#[ignore = "campaign: checks the crates that have kinds with a skeleton of each"]
fn a_skeleton_of_each_kind_compiles_with_its_tests() {
    let folder = tempfile::tempdir().expect("a folder");
    for file in crate::workspace::files(root()).expect("git lists the files") {
        let copy = folder.path().join(&file);
        std::fs::create_dir_all(copy.parent().expect("a file is in a folder")).expect("it is writable");
        std::fs::copy(root().join(&file), copy).expect("it is readable");
    }
    for kind in KINDS {
        let name = ModuleName::parse(&format!("skeleton_{}", kind.word)).expect("a name");
        write(folder.path(), &(kind.draft)(&name)).expect("nothing is in the way");
    }
    let status = std::process::Command::new(env!("CARGO"))
        .args(["check", "--locked", "--lib", "--tests", "-p", "narrows-engines", "-p", "narrows-analysis"])
        .args(["-p", "narrows-suites"])
        // What has been checked of the dependencies is used again.
        .env("CARGO_TARGET_DIR", &workspace().metadata.target_directory)
        .env("CARGO_INCREMENTAL", "0")
        // The tests' own, of which build scripts take notice: they would run anew here, and anew again in the next build.
        .env_remove("RUSTC_BOOTSTRAP")
        .current_dir(folder.path())
        .status()
        .expect("cargo starts");
    assert!(status.success());
}
