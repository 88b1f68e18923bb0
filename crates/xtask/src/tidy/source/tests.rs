//! Tests of distinguishing test code from the rest.

use super::{SourceFile, mark_test_modules};

fn parse(path: &str, text: &str) -> SourceFile {
    SourceFile::parse(path, text).expect("the snippet is Rust")
}

#[test]
fn lines_of_test_items_are_not_counted() {
    let source = parse(
        "crates/a/src/lib.rs",
        "//! a\nfn kept() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n",
    );
    assert_eq!(source.line_count, 2);
    assert_eq!(source.syntax.items.len(), 1);
}

#[test]
fn a_test_only_method_is_taken_out() {
    let source = parse(
        "crates/a/src/lib.rs",
        "struct A;\nimpl A {\n    #[cfg(all(test, unix))]\n    fn t() {}\n    fn kept() {}\n}\n",
    );
    assert_eq!(source.line_count, 4);
}

#[test]
fn code_that_another_build_may_contain_is_not_test_code() {
    for condition in ["any(test, feature = \"x\")", "not(test)", "unix", "feature = \"test\""] {
        let source = parse("crates/a/src/lib.rs", &format!("#[cfg({condition})]\nfn kept() {{}}\n"));
        assert_eq!(source.syntax.items.len(), 1, "{condition}");
    }
}

#[test]
fn tests_files_and_folders_are_test_code() {
    for path in ["crates/a/src/tests.rs", "crates/a/tests/all.rs", "crates/a/src/x/tests/deep/b.rs"] {
        let source = parse(path, "not Rust");
        assert!(source.is_test && source.syntax.items.is_empty() && source.text == "not Rust", "{path}");
    }
    for path in ["crates/a/src/lib.rs", "crates/a/src/contests.rs", "crates/tests.d/src/lib.rs"] {
        assert!(!parse(path, "").is_test, "{path}");
    }
}

#[test]
fn the_file_of_a_module_declared_for_tests_is_test_code() {
    let mut sources = vec![
        parse("crates/a/src/x/mod.rs", "#[cfg(test)]\nmod fixtures;\nmod kept;\n"),
        parse("crates/a/src/x/fixtures.rs", ""),
        parse("crates/a/src/x/fixtures/tree.rs", ""),
        parse("crates/a/src/x/kept.rs", ""),
        parse("crates/a/src/fixtures.rs", ""),
    ];
    mark_test_modules(&mut sources);
    let marks: Vec<bool> = sources.iter().map(|source| source.is_test).collect();
    assert_eq!(marks, [false, true, true, false, false]);
}

#[test]
fn a_test_module_put_elsewhere_by_path_is_test_code() {
    let mut sources = vec![
        parse("crates/a/src/x.rs", "#[cfg(test)]\n#[path = \"x_tests.rs\"]\nmod tests;\n"),
        parse("crates/a/src/x_tests.rs", ""),
        parse("crates/a/src/y_tests.rs", ""),
    ];
    mark_test_modules(&mut sources);
    let marks: Vec<bool> = sources.iter().map(|source| source.is_test).collect();
    assert_eq!(marks, [false, true, false]);
}

#[test]
fn the_crate_is_the_folder_below_crates() {
    assert_eq!(parse("crates/sys/src/lib.rs", "").crate_name(), Some("sys"));
    assert_eq!(parse("build.rs", "").crate_name(), None);
}
