//! Facts about effects: each kind is found in the forms it is written in, and nothing else is.

use super::super::source::SourceFile;
use super::super::tables::{CRATES, CodeEffect, EffectException};
use super::{causes, check};

fn pure(body: &str) -> SourceFile {
    SourceFile::parse("crates/model/src/part.rs", body).expect("the snippet is Rust")
}

fn effects(body: &str) -> Vec<(usize, CodeEffect)> {
    causes(&pure(body)).keys().map(|cause| (cause.line, cause.effect)).collect()
}

#[test]
fn every_form_of_unsafe_is_found() {
    for body in [
        "fn f() { unsafe { g() } }",
        "unsafe fn f() {}",
        "struct A; unsafe impl Send for A {}",
        "unsafe trait T {}",
        "unsafe extern \"C\" { fn f(); }",
        "macro_rules! m { () => { unsafe { g() } } }",
        "struct A; impl A { unsafe fn f() {} }",
    ] {
        assert_eq!(effects(body), [(1, CodeEffect::Unsafe)], "{body}");
    }
}

#[test]
fn every_form_of_thread_use_is_found() {
    for body in [
        "fn f() { std::thread::spawn(|| ()); }",
        "use std::thread;",
        "use std::{thread::{self, Builder}, io};",
        "fn f(h: std::thread::JoinHandle<()>) {}",
        "fn f() { assert!(std::thread::panicking()); }",
    ] {
        assert_eq!(effects(body), [(1, CodeEffect::Threads)], "{body}");
    }
}

#[test]
fn every_form_of_clock_reading_is_found() {
    for body in [
        "use std::time::Instant;",
        "fn f() { let t = std::time::SystemTime::now(); }",
        "use core::time as _; fn f() { <std::time::Instant>::now(); }",
        "fn f() { rustix::time::clock_gettime(c); }",
        "fn f() -> u64 { narrows_sys::clock::wall_time() }",
        "use narrows_engines::MonotonicClock; fn f() { MonotonicClock::new(); }",
    ] {
        assert_eq!(effects(body), [(1, CodeEffect::Clock)], "{body}");
    }
}

#[test]
fn a_clock_type_may_be_named_and_a_wait_may_be_called() {
    let body = "use narrows_sys::clock::Monotonic;\nimpl Clock for Monotonic {}\n\
                fn f() { narrows_sys::clock::wait_until(t); }\nuse std::time::Duration;";
    assert_eq!(effects(body), []);
}

#[test]
fn a_clock_made_of_an_imported_type_is_found() {
    let body = "use narrows_sys::clock::Monotonic;\nfn f() { let clock = Monotonic::new(); }";
    assert_eq!(effects(body), [(2, CodeEffect::Clock)]);
}

#[test]
fn every_form_of_file_use_is_found() {
    for body in [
        "use std::fs::File;",
        "use std::fs as disk;",
        "use std::fs::*;",
        "fn f() { rustix::fs::openat(d, p, o, m); }",
        "fn f(p: &Path) { p.canonicalize(); }",
        "fn f(p: &Path) { assert!(p.try_exists()); }",
        "use std::os::unix::fs::FileExt;",
        "fn f() -> String { format!(\"{}\", std::fs::read_to_string(p)) }",
    ] {
        assert_eq!(effects(body), [(1, CodeEffect::Files)], "{body}");
    }
}

#[test]
fn sockets_are_found_and_addresses_are_values() {
    assert_eq!(effects("use std::net::{IpAddr, SocketAddr, TcpStream};"), [(1, CodeEffect::Net)]);
    assert_eq!(effects("use socket2::Socket;"), [(1, CodeEffect::Net)]);
    assert_eq!(effects("use std::net::{IpAddr, Ipv4Addr, SocketAddr};\nfn f(a: SocketAddr) {}"), []);
}

#[test]
fn every_form_of_printing_is_found() {
    for body in [
        "fn f() { println!(\"x\"); }",
        "fn f() { std::eprintln!(\"x\"); }",
        "fn f() { let mut o = std::io::stdout(); }",
        "use std::io; fn f() { io::stderr(); }",
        "macro_rules! say { () => { print!(\"x\") } }",
    ] {
        assert_eq!(effects(body), [(1, CodeEffect::Console)], "{body}");
    }
}

#[test]
fn child_processes_and_exits_are_found() {
    for body in
        ["fn f() { std::process::Command::new(\"x\"); }", "use std::process; fn f() { process::exit(1); }"]
    {
        assert_eq!(effects(body), [(1, CodeEffect::Process)], "{body}");
    }
    assert_eq!(effects("use std::process::ExitCode;"), []);
}

#[test]
fn randomness_without_a_seed_is_found_and_seeded_is_not() {
    for body in [
        "fn f() { getrandom::fill(&mut b); }",
        "fn f() { Xoshiro256PlusPlus::from_os_rng(); }",
        "use std::hash::RandomState;",
    ] {
        assert_eq!(effects(body), [(1, CodeEffect::Random)], "{body}");
    }
    assert_eq!(effects("fn f(seed: u64) { Xoshiro256PlusPlus::seed_from_u64(seed); }"), []);
}

#[test]
fn a_name_of_ones_own_is_no_effect() {
    let body = "mod thread { pub fn spawn() {} }\nfn f() { thread::spawn(); fs::read(); }\n\
                use crate::thread::spawn;\nfn g() { a != b; x.fs.len(); }";
    assert_eq!(effects(body), []);
}

#[test]
fn tests_may_do_what_their_crate_may_not() {
    assert_eq!(effects("#[cfg(test)]\nmod tests {\n    use std::fs;\n}"), []);
}

#[test]
fn a_refusal_names_the_place_the_finding_and_the_remedy() {
    let problems = check(&[pure("//! a\nuse std::fs;")], CRATES, &[]);
    assert_eq!(
        problems[0].to_string(),
        "crates/model/src/part.rs:2: `std::fs` (files); crate model may cause no effect at all; \
         take a reader, a writer or the text as an argument"
    );
    assert_eq!(problems.len(), 1);
}

#[test]
fn a_crate_may_do_what_its_row_says() {
    let record = SourceFile::parse("crates/record/src/part.rs", "use std::fs;").expect("the snippet is Rust");
    assert_eq!(check(&[record], CRATES, &[]), []);
}

#[test]
fn an_exception_covers_one_file_and_one_effect() {
    let exceptions = [EffectException {
        file: "crates/model/src/part.rs",
        effect: CodeEffect::Files,
        reason: "for the test",
    }];
    assert_eq!(check(&[pure("use std::fs;")], CRATES, &exceptions), []);
    assert_eq!(check(&[pure("use std::fs;\nuse std::thread;")], CRATES, &exceptions).len(), 1);
}

#[test]
fn an_exception_that_nothing_needs_is_a_problem() {
    let exceptions = [EffectException {
        file: "crates/model/src/part.rs",
        effect: CodeEffect::Files,
        reason: "for the test",
    }];
    let problems = check(&[pure("fn f() {}")], CRATES, &exceptions);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].found.contains("nothing here needs"), "{}", problems[0]);
}

#[test]
fn a_crate_root_without_the_unsafe_ban_is_a_problem() {
    let root = |path: &str, text: &str| SourceFile::parse(path, text).expect("the snippet is Rust");
    assert_eq!(check(&[root("crates/model/src/lib.rs", "//! a\n")], CRATES, &[]).len(), 1);
    assert_eq!(
        check(&[root("crates/model/src/lib.rs", "//! a\n#![forbid(unsafe_code)]\n")], CRATES, &[]),
        []
    );
    assert_eq!(check(&[root("crates/sys/src/lib.rs", "//! a\n")], CRATES, &[]), []);
    assert_eq!(check(&[root("crates/model/src/units/lib.rs", "//! a\n")], CRATES, &[]), []);
}
