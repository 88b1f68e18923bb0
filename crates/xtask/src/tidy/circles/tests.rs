//! Circles that must be refused, and the neighbours of them that must be left alone.

use super::super::limits::CircleExemption;
use super::super::source::SourceFile;
use super::check;

fn sources(files: &[(&str, &str)]) -> Vec<SourceFile> {
    let parsed = files.iter().map(|(path, text)| {
        SourceFile::parse(&format!("crates/model/src/{path}"), text).expect("the snippet is Rust")
    });
    parsed.collect()
}

fn count(files: &[(&str, &str)]) -> usize {
    check(&sources(files), &[]).len()
}

#[test]
fn two_modules_that_need_each_other_are_refused_with_both_places() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::B; pub struct A;"),
        ("b.rs", "use crate::a::A; pub struct B;"),
    ];
    let problems = check(&sources(&files), &[]);
    assert_eq!(problems.len(), 1);
    let text = problems[0].to_string();
    assert!(text.contains("a needs b (crates/model/src/a.rs:1, `crate::b::B`)"), "{text}");
    assert!(text.contains("b needs a"), "{text}");
}

#[test]
fn a_circle_of_three_and_needs_from_below_are_refused() {
    let three = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use super::b::B;"),
        ("b.rs", "pub struct B; fn f() { crate::c::f() }"),
        ("c/mod.rs", "mod inner;"),
        ("c/inner.rs", "macro_rules! m { () => { $crate::a::f() } }"),
    ];
    assert_eq!(count(&three), 1);
}

#[test]
fn a_name_is_followed_through_re_exports_to_where_it_is_declared() {
    let through_the_root = [
        ("lib.rs", "mod a; mod b; pub use a::A;"),
        ("a.rs", "use crate::b::B; pub struct A;"),
        ("b.rs", "use crate::A; pub struct B;"),
    ];
    assert_eq!(count(&through_the_root), 1);
    let past_the_exporter = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "pub use crate::c::C; use crate::b::B;"),
        ("b.rs", "use crate::a::C; pub struct B;"),
        ("c.rs", "pub struct C;"),
    ];
    assert_eq!(count(&past_the_exporter), 0);
}

#[test]
fn a_parent_and_its_children_are_one_unit() {
    let registry = [
        ("lib.rs", "mod rules;"),
        (
            "rules/mod.rs",
            "mod one; mod two; pub struct Rule; static ALL: [&Rule; 2] = [&one::RULE, &two::RULE];",
        ),
        ("rules/one.rs", "use super::Rule; pub static RULE: Rule = Rule;"),
        ("rules/two.rs", "use super::{Rule, one}; pub static RULE: Rule = one::RULE;"),
    ];
    assert_eq!(count(&registry), 0);
}

#[test]
fn siblings_further_down_are_limited_to_it_too() {
    let files = [
        ("lib.rs", "mod top;"),
        ("top/mod.rs", "mod one; mod two;"),
        ("top/one.rs", "use super::two::T;"),
        ("top/two.rs", "pub struct T; fn f() { super::one::f() }"),
    ];
    assert_eq!(count(&files), 1);
}

#[test]
fn tests_and_other_crates_make_no_circle() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::B; use std::b::C;"),
        ("b.rs", "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }"),
    ];
    assert_eq!(count(&files), 0);
}

#[test]
fn an_exemption_applies_for_exactly_its_circle() {
    let entry = |modules: &'static [&'static str]| CircleExemption {
        crate_name: "model",
        parent: "",
        modules,
        reason: "of the test",
    };
    let circle = [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::a::A;")];
    assert!(check(&sources(&circle), &[entry(&["a", "b"])]).is_empty());
    assert_eq!(check(&sources(&circle), &[entry(&["a", "b", "c"])]).len(), 2);
    let mended = [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "pub struct B;")];
    assert_eq!(check(&sources(&mended), &[entry(&["a", "b"])]).len(), 1);
}
