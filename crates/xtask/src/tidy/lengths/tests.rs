//! Facts about lengths, at the limit and one line past it.

use super::super::limits::LengthExemption;
use super::super::source::SourceFile;
use super::{check, functions, remarks};

const FILE: &str = "crates/model/src/part.rs";

fn source(text: &str) -> SourceFile {
    SourceFile::parse(FILE, text).expect("the snippet is Rust")
}

fn file_of(lines: usize) -> SourceFile {
    source(&format!("//! a\n{}", "// filler\n".repeat(lines - 1)))
}

fn function_of(name: &str, lines: usize) -> String {
    format!("fn {name}() {{\n{}}}\n", "    g();\n".repeat(lines - 2))
}

/// A file in which one function of `lines` lines is among enough short ones to leave the percentile alone.
fn file_with_function_of(lines: usize) -> SourceFile {
    let short = "fn short() {}\n".repeat(20);
    source(&format!("//! a\n{short}{}", function_of("long", lines)))
}

#[test]
fn a_file_at_the_limit_passes_and_one_line_more_does_not() {
    assert_eq!(check(&[file_of(500)], &[]), []);
    let problems = check(&[file_of(501)], &[]);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].found.contains("501 lines"), "{}", problems[0]);
}

#[test]
fn a_file_past_the_aim_is_a_remark() {
    assert_eq!(remarks(&[file_of(300)]), Vec::<String>::new());
    assert_eq!(remarks(&[file_of(301)]).len(), 1);
}

#[test]
fn lines_of_tests_do_not_make_a_file_long() {
    let text = format!("//! a\n#[cfg(test)]\nmod tests {{\n{}}}\n", "    // filler\n".repeat(600));
    assert_eq!(check(&[source(&text)], &[]), []);
}

#[test]
fn a_function_at_the_limit_passes_and_one_line_more_does_not() {
    assert_eq!(check(&[file_with_function_of(70)], &[]), []);
    let problems = check(&[file_with_function_of(71)], &[]);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].found.contains("`long` of 71 lines"), "{}", problems[0]);
    assert_eq!(problems[0].line, 22);
}

#[test]
fn methods_and_default_methods_are_functions_too() {
    let text =
        "//! a\nstruct A;\nimpl A {\n    fn a() {\n    }\n}\ntrait T {\n    fn t() {}\n    fn u();\n}\n";
    let found = functions(&[source(text)]);
    let lengths: Vec<(&str, usize)> = found.iter().map(|f| (f.name.as_str(), f.line_count)).collect();
    assert_eq!(lengths, [("a", 2), ("t", 1)]);
}

#[test]
fn more_than_a_tenth_of_long_functions_is_a_problem() {
    let short = "fn short() {}\n".repeat(8);
    let with =
        |lines| source(&format!("//! a\n{short}{}{}", function_of("a", lines), function_of("b", lines)));
    assert_eq!(check(&[with(29)], &[]), []);
    let problems = check(&[with(30)], &[]);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].found.contains("90th percentile of 30"), "{}", problems[0]);
}

#[test]
fn a_file_without_an_opening_sentence_is_a_problem() {
    for text in ["fn f() {}\n", "//!\nfn f() {}\n", "\n//! late\n", "// plain\n", ""] {
        assert_eq!(check(&[source(text)], &[]).len(), 1, "{text:?}");
    }
    let mut test_file = source("fn f() {}\n");
    test_file.is_test = true;
    assert_eq!(check(&[test_file], &[]).len(), 1, "test files say what they are for too");
}

fn exemption(function: Option<&'static str>, lines: usize) -> LengthExemption {
    LengthExemption { file: FILE, function, lines, reason: "for the test" }
}

#[test]
fn an_exemption_covers_exactly_what_it_says() {
    assert_eq!(check(&[file_of(600)], &[exemption(None, 600)]), []);
    assert_eq!(check(&[file_with_function_of(90)], &[exemption(Some("long"), 90)]), []);
    assert_eq!(check(&[file_with_function_of(90)], &[exemption(Some("other"), 90)]).len(), 2);
}

#[test]
fn what_outgrows_its_exemption_is_a_problem() {
    let problems = check(&[file_of(601)], &[exemption(None, 600)]);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].hint.contains("move the addition"), "{}", problems[0]);
}

#[test]
fn an_exemption_shrinks_with_its_file_and_goes_when_it_fits() {
    let shrunk = check(&[file_of(599)], &[exemption(None, 600)]);
    assert!(shrunk[0].hint.contains("lower the entry to 599"), "{}", shrunk[0]);
    let fits = check(&[file_of(500)], &[exemption(None, 600)]);
    assert!(fits[0].hint.contains("take the entry out"), "{}", fits[0]);
    let gone = check(&[], &[exemption(None, 600)]);
    assert!(gone[0].found.contains("not there"), "{}", gone[0]);
}
