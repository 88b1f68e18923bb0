//! What every kind promises: a draft that fits the project as it is.

use super::*;
use std::path::PathBuf;

fn root() -> PathBuf {
    Workspace::load().expect("the workspace is there").root
}

#[test]
fn a_name_is_one_of_modules() {
    for text in ["zero", "nfs3", "read_back"] {
        assert!(ModuleName::parse(text).is_some(), "{text}");
    }
    for text in ["", "Zero", "3nfs", "_a", "a_", "a__b", "a-b", "a/b", "../a"] {
        assert_eq!(ModuleName::parse(text), None, "{text}");
    }
    assert_eq!(ModuleName::parse("read_back").expect("a name").camel(), "ReadBack");
}

#[test]
fn lines_come_above_their_marker_with_its_indentation() {
    let insertion = Insertion { path: "f", above: "// new", lines: "one\ntwo\n".to_owned() };
    assert_eq!(
        inserted("a\n    // new\nb\n", &insertion).as_deref(),
        Some("a\n    one\n    two\n    // new\nb\n")
    );
    assert_eq!(inserted("a\n", &insertion), None);
    assert_eq!(inserted("// new\n// new\n", &insertion), None);
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
            assert!(file.text.starts_with("//! "), "{}", file.path);
        }
        for insertion in &draft.insertions {
            let text = std::fs::read_to_string(root().join(insertion.path)).expect(insertion.path);
            assert!(inserted(&text, insertion).is_some(), "{}: {}", insertion.path, insertion.above);
        }
        if let Some(taken) = &draft.unique {
            assert_eq!(holder(&root(), taken).expect("it is readable"), None, "{}", kind.word);
        }
    }
}

#[test]
fn a_draft_is_written_whole_and_never_over_anything() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("list.rs"), "// new\n").expect("it is writable");
    let draft = |path: &str| Draft {
        unique: None,
        files: vec![NewFile { path: path.to_owned(), text: "//! A file.\n".to_owned() }],
        insertions: vec![
            Insertion { path: "list.rs", above: "// new", lines: "mod a;\n".to_owned() },
            Insertion { path: "list.rs", above: "// new", lines: "mod b;\n".to_owned() },
        ],
        next: String::new(),
    };
    let written = write(folder.path(), &draft("in/it.rs")).expect("nothing is in the way");
    assert_eq!(written, ["wrote in/it.rs", "changed list.rs"]);
    let list = || std::fs::read_to_string(folder.path().join("list.rs")).expect("it is there");
    assert_eq!(list(), "mod a;\nmod b;\n// new\n");
    assert!(write(folder.path(), &draft("in/it.rs")).is_err());
    assert_eq!(list(), "mod a;\nmod b;\n// new\n", "what is refused changes nothing");
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

#[test]
fn a_rule_with_the_code_of_another_is_refused() {
    let name = ModuleName::parse("per_call_bound").expect("a name");
    let taken = (rule::KIND.draft)(&name).unique.expect("a code is unique");
    assert_eq!(
        holder(&root(), &taken).expect("it is readable").as_deref(),
        Some("crates/analysis/src/rules/per_call.rs")
    );
    let folder = tempfile::tempdir().expect("a folder");
    let rules = folder.path().join(taken.folder);
    std::fs::create_dir_all(&rules).expect("it is writable");
    std::fs::write(rules.join("other.rs"), "    code: \"per-call-bound\",\n").expect("it is writable");
    let refused = write(folder.path(), &(rule::KIND.draft)(&name)).expect_err("the code is taken");
    assert!(refused.to_string().contains("other.rs has `code: \"per-call-bound\"`"), "{refused}");
    assert!(!rules.join("per_call_bound.rs").exists());
}

/// The templates are text, which no rename of what they use reaches.
#[test]
#[ignore = "campaign: checks the crates that have kinds with a skeleton of each"]
fn a_skeleton_of_each_kind_compiles_with_its_tests() {
    let folder = tempfile::tempdir().expect("a folder");
    for file in crate::workspace::files(&root()).expect("git lists the files") {
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
        .env("CARGO_TARGET_DIR", Workspace::load().expect("the workspace is there").metadata.target_directory)
        .env("CARGO_INCREMENTAL", "0")
        .current_dir(folder.path())
        .status()
        .expect("cargo starts");
    assert!(status.success());
}
