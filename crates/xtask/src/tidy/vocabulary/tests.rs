//! Facts about the vocabulary: each refusal, and the neighbours that it must leave alone.

use super::super::source::SourceFile;
use super::check;

fn found(files: &[(&str, &str)]) -> Vec<String> {
    let sources: Vec<SourceFile> = files
        .iter()
        .map(|(path, text)| SourceFile::parse(path, text).expect("the snippet is Rust"))
        .collect();
    check(&sources).iter().map(ToString::to_string).collect()
}

fn count(text: &str) -> usize {
    found(&[("crates/model/src/part.rs", text)]).len()
}

#[test]
fn a_type_that_two_files_declare_is_found_once_and_names_the_other() {
    let found = found(&[
        ("crates/model/src/a.rs", "struct Window;"),
        ("crates/run/src/b.rs", "\nenum Window { Open }"),
        ("crates/run/src/c.rs", "struct Trial;"),
    ]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("crates/run/src/b.rs:2: type `Window`, which crates/model/src/a.rs:1"));
}

#[test]
fn each_suite_may_have_a_request_and_no_other_crate_two() {
    let suites = [
        ("crates/suites/src/a/mod.rs", "struct Request;"),
        ("crates/suites/src/b/mod.rs", "struct Request;"),
    ];
    assert!(found(&suites).is_empty());
    let others = [("crates/run/src/a.rs", "struct Request;"), ("crates/wire/src/b.rs", "struct Request;")];
    assert_eq!(found(&others).len(), 1);
}

#[test]
fn tests_and_examples_may_repeat_a_name() {
    let files = [
        ("crates/run/src/a.rs", "struct Window; #[cfg(test)] mod tests { struct Window; }"),
        ("crates/run/tests/it/b.rs", "struct Window;"),
        ("crates/run/examples/c.rs", "struct Window;"),
    ];
    assert!(found(&files).is_empty());
}

#[test]
fn retired_words_are_refused_in_every_kind_of_name() {
    for text in [
        "fn told() {}",
        "fn f(told: u8) {}",
        "fn f() { let told_lines = 1; }",
        "fn f() { for told in 0..1 {} }",
        "struct A { told: u8 }",
        "enum A { Told }",
        "struct ToldText;",
        "const TOLD: u8 = 1;",
        "static TOLD: u8 = 1;",
        "struct A; impl A { fn told(&self) {} }",
        "struct A; impl Foreign for A { fn f(&self) { let told = 1; } }",
        "mod told;",
        "fn of() {}",
        "fn judge() {}",
        "struct Place;",
    ] {
        assert_eq!(count(text), 1, "{text}");
    }
}

#[test]
fn names_with_the_letters_of_a_retired_word_are_left_alone() {
    assert_eq!(count("fn officer() {} fn f() { let untold = 1; let place = 2; }"), 0);
    assert_eq!(count("struct Placement; fn kind_of() {}"), 0);
}

#[test]
fn names_that_a_foreign_trait_gave_are_left_alone() {
    assert_eq!(count("struct A; impl Foreign for A { fn of(told: u8) {} }"), 0);
}
