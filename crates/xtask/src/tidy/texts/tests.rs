//! Tests of refused texts. Each is put together here, so that this file does not contain one itself.

use super::super::limits::{BUILD_FOLDER, LOCK_SOURCE};
use super::check;

fn count(path: &str, text: &str) -> usize {
    check(path, text).len()
}

#[test]
fn an_absolute_path_into_the_build_folder_is_refused() {
    for text in [
        format!("cd {BUILD_FOLDER}/main"),
        format!("\"{BUILD_FOLDER}/x\""),
        BUILD_FOLDER.to_owned(),
        format!("a={BUILD_FOLDER};"),
    ] {
        assert_eq!(count("notes.md", &text), 1, "{text}");
    }
}

#[test]
fn a_path_that_only_looks_like_it_passes() {
    for text in [
        format!("docs{BUILD_FOLDER}/x"),
        format!("{BUILD_FOLDER}space/x"),
        format!(".{BUILD_FOLDER}/x"),
        format!("${{root}}{BUILD_FOLDER}/x"),
        "read/write and work/rest".to_owned(),
    ] {
        assert_eq!(count("notes.md", &text), 0, "{text}");
    }
}

#[test]
fn a_registry_host_in_an_address_is_refused() {
    for host in ["index.crates.io", "registry.example.org", "cargo-mirror.example.org", "deb.debian.org"] {
        assert_eq!(count("notes.md", &format!("see https:{}{host}/x", "//")), 1, "{host}");
    }
}

#[test]
fn other_addresses_pass() {
    for text in
        ["https://crates.io/crates/syn", "https://docs.rs/syn", "s3://bucket/mirror", "nfs://host:2049/x"]
    {
        assert_eq!(count("notes.md", text), 0, "{text}");
    }
}

#[test]
fn a_registry_setting_of_cargo_is_refused() {
    for text in ["[source.crates-io]", "replace-with = \"x\"", "[registries.x]"] {
        assert_eq!(count(".cargo/config.toml", text), 1, "{text}");
        assert_eq!(count("notes.md", text), 0, "{text}");
    }
    assert_eq!(count(".cargo/config.toml", "[alias]\nxtask = \"run\""), 0);
}

#[test]
fn a_lock_file_names_the_public_registry_alone() {
    assert_eq!(count("Cargo.lock", &format!("source = \"{LOCK_SOURCE}\"")), 0);
    assert_eq!(count("Cargo.lock", "source = \"git+https://example.org/x#1\""), 1);
}

#[test]
fn a_retired_word_in_a_comment_is_refused() {
    for text in ["{} what it tells", "let a = 1; {} It stands there.", "    {}/ Judges: it."] {
        assert_eq!(count("a.rs", &text.replace("{}", "//")), 1, "{text}");
        assert_eq!(count("a.md", &text.replace("{}", "//")), 0, "{text}");
    }
    for text in ["let lies = \"it tells\";", "{} families, foretells", "{} a_carries"] {
        assert_eq!(count("a.rs", &text.replace("{}", "//")), 0, "{text}");
    }
}

#[test]
fn a_problem_names_its_line() {
    let problems = check("notes.md", &format!("first\nsecond {BUILD_FOLDER}/x\n"));
    assert_eq!(problems[0].line, 2);
}

#[test]
fn code_in_a_documentation_comment_is_refused_and_text_is_not() {
    let block = |language: &str| format!("//! ```{language}\n//! let a = 1;\n//! ```\nfn f() {{}}\n");
    assert_eq!(count("src/lib.rs", &block("text")), 0);
    assert_eq!(count("src/lib.rs", &format!("{}{}", block("text"), block(""))), 1);
    assert_eq!(count("src/lib.rs", &block("no_run")), 1);
    assert_eq!(count("guide.md", &block("")), 0);
}
