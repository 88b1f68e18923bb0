//! Facts about names: each refusal, and the neighbours that it must leave alone.

use super::super::source::SourceFile;
use super::{check, words};

fn count(text: &str) -> usize {
    check(&[SourceFile::parse("crates/model/src/part.rs", text).expect("the snippet is Rust")]).len()
}

#[test]
fn a_name_falls_into_its_words() {
    assert_eq!(words("TcpInfo"), ["tcp", "info"]);
    assert_eq!(words("tcp_info"), ["tcp", "info"]);
    assert_eq!(words("MAX_LINK_BPS"), ["max", "link", "bps"]);
    assert_eq!(words("P99Latency"), ["p99", "latency"]);
}

#[test]
fn functions_named_get_are_refused() {
    assert_eq!(count("fn get_rate() {}"), 1);
    assert_eq!(count("struct A; impl A { fn get_rate(&self) {} }"), 1);
    assert_eq!(count("trait T { fn get_rate(&self); }"), 1);
    assert_eq!(count("fn get() {}\nfn target() {}\nfn together() {}"), 0);
}

#[test]
fn names_that_a_foreign_trait_gave_are_left_alone() {
    assert_eq!(count("struct A; impl Foreign for A { fn get_rate(&self, size: u32) {} }"), 0);
}

#[test]
fn empty_words_are_refused_at_either_end_of_a_type() {
    for text in [
        "struct RecordManager;",
        "enum HelperKind {}",
        "trait CommonThings {}",
        "type DiskInfo = u8;",
        "struct TcpInfoManager;",
        "struct Utils;",
        "mod util { }",
        "union Info { a: u8 }",
    ] {
        assert_eq!(count(text), 1, "{text}");
    }
}

#[test]
fn a_word_that_only_looks_empty_passes() {
    for text in [
        "struct TcpInfo;",
        "struct KernelTcpInfo;",
        "struct Utilisation;",
        "struct Commonwealth;",
        "struct Information;",
    ] {
        assert_eq!(count(text), 0, "{text}");
    }
}

#[test]
fn a_file_named_with_an_empty_word_is_refused() {
    let named = |path: &str| check(&[SourceFile::parse(path, "//! a").expect("the snippet is Rust")]).len();
    assert_eq!(named("crates/model/src/util.rs"), 1);
    assert_eq!(named("crates/model/src/disk_helpers.rs"), 1);
    assert_eq!(named("crates/sys/src/tcp_info.rs"), 0);
    assert_eq!(named("crates/model/src/lib.rs"), 0);
}

#[test]
fn abbreviated_units_are_refused_everywhere() {
    for text in [
        "struct A { link_bps: u64 }",
        "fn f(bw: u64) {}",
        "const MAX_BW: u64 = 1;",
        "static BPS: u64 = 1;",
        "enum E { BwLimit }",
        "fn read_bw() {}",
        "struct A; impl A { const BW: u8 = 1; }",
    ] {
        assert_eq!(count(text), 1, "{text}");
    }
    assert_eq!(count("struct A { rate_bytes_per_s: u64, subway: u8, kbpsx: u8 }"), 0);
}

#[test]
fn a_bare_quantity_is_refused_in_fields_and_arguments() {
    assert_eq!(count("struct A { size: u64 }"), 1);
    assert_eq!(count("fn f(time: u64) {}"), 1);
    assert_eq!(count("struct A { block_size: u64, started_time: u64 }\nfn size() {}"), 0);
}

#[test]
fn names_in_tests_are_free() {
    assert_eq!(count("#[cfg(test)]\nmod tests { fn get_it() {} }"), 0);
}
