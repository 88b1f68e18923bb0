//! Texts that are refused: in any file hosts of package registries and the folder that the project was written in, in
//! comments words that the project does not use and code that no test runs.
//!
//! The first two would make a build work on one machine alone. Files that are not UTF-8 are not looked at.

use std::path::Path;

use super::limits::{
    BUILD_FOLDER, LOCK_SOURCE, REGISTRY_HOSTS, REGISTRY_KEYS, REGISTRY_LABELS, RETIRED_COMMENT_WORDS,
};
use super::problem::TidyProblem;

/// Every refused text in one file.
pub(crate) fn check(path: &str, text: &str) -> Vec<TidyProblem> {
    let is_rust = Path::new(path).extension().is_some_and(|extension| extension == "rs");
    let mut is_block_open = false;
    text.lines()
        .enumerate()
        .flat_map(move |(index, line)| {
            let is_example = is_rust && opens_example(line, &mut is_block_open);
            let findings = [
                names_build_folder(line).then(build_folder),
                registry_host(line).map(registry),
                (is_cargo_config(path) && sets_registry(line)).then(registry_key),
                (path.ends_with("Cargo.lock") && is_foreign_source(line)).then(lock_source),
                is_rust.then(|| retired_comment_word(line)).flatten().map(comment_word),
                is_example.then(example),
            ];
            findings.into_iter().flatten().map(move |finding| finding.at(path, index + 1))
        })
        .collect()
}

struct RefusedText {
    found: String,
    allowed: &'static str,
    hint: &'static str,
}

impl RefusedText {
    fn at(self, path: &str, line: usize) -> TidyProblem {
        TidyProblem {
            file: path.to_owned(),
            line,
            found: self.found,
            allowed: self.allowed.to_owned(),
            hint: self.hint.to_owned(),
        }
    }
}

fn build_folder() -> RefusedText {
    RefusedText {
        found: format!("an absolute path below {BUILD_FOLDER}"),
        allowed: "paths start at the project's root or at a variable",
        hint: "write it from the root of the project",
    }
}

fn registry(host: &str) -> RefusedText {
    RefusedText {
        found: format!("the registry host `{host}`"),
        allowed: "where packages come from is the machine's choice",
        hint: "take the address out; each machine configures its own",
    }
}

fn registry_key() -> RefusedText {
    RefusedText {
        found: "a registry setting".to_owned(),
        allowed: "the project's cargo configuration names no registry",
        hint: "put it in the configuration of the machine that needs it",
    }
}

fn lock_source() -> RefusedText {
    RefusedText {
        found: "a package from another source".to_owned(),
        allowed: "Cargo.lock names the public registry alone",
        hint: "depend on a published version",
    }
}

fn comment_word(&(word, instead): &'static (&'static str, &'static str)) -> RefusedText {
    RefusedText {
        found: format!("the word `{word}` in a comment"),
        allowed: "comments use the words of the field (STYLE.md, Vocabulary)",
        hint: instead,
    }
}

fn example() -> RefusedText {
    RefusedText {
        found: "code in a documentation comment".to_owned(),
        allowed: "blocks of text (```text)",
        hint: "./test compiles no documentation: write it as a test, and name that",
    }
}

/// Whether the line begins a block of anything but plain text in a documentation comment.
fn opens_example(line: &str, is_block_open: &mut bool) -> bool {
    let comment = line.trim_start();
    let text = comment.strip_prefix("///").or_else(|| comment.strip_prefix("//!"));
    let Some(language) = text.and_then(|text| text.trim_start().strip_prefix("```")) else { return false };
    *is_block_open = !*is_block_open;
    *is_block_open && language.trim() != "text"
}

/// Whether the line contains the folder as the start of an absolute path, or alone.
fn names_build_folder(line: &str) -> bool {
    let in_path =
        |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '_' | '-' | '/' | '}' | '~');
    let in_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    line.match_indices(BUILD_FOLDER).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + BUILD_FOLDER.len()..].chars().next();
        !before.is_some_and(in_path) && !after.is_some_and(in_word)
    })
}

/// The first host in an address on the line that serves packages.
fn registry_host(line: &str) -> Option<&str> {
    line.split("://").skip(1).find_map(|rest| {
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '.' | '-'));
        let host = &rest[..end.unwrap_or(rest.len())];
        let mut labels = host.split(['.', '-']);
        (REGISTRY_HOSTS.contains(&host) || labels.any(|label| REGISTRY_LABELS.contains(&label)))
            .then_some(host)
    })
}

/// The first word that comments do without, in the comment of the line.
fn retired_comment_word(line: &str) -> Option<&'static (&'static str, &'static str)> {
    let code = line.trim_start();
    let comment = code.strip_prefix("//").or_else(|| code.split_once(" // ").map(|(_, comment)| comment))?;
    let mut words = comment.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words
        .find_map(|word| RETIRED_COMMENT_WORDS.iter().find(|(retired, _)| word.eq_ignore_ascii_case(retired)))
}

fn is_cargo_config(path: &str) -> bool {
    path.ends_with(".cargo/config.toml") || path.ends_with(".cargo/config")
}

fn sets_registry(line: &str) -> bool {
    REGISTRY_KEYS.iter().any(|key| line.trim_start().starts_with(key))
}

fn is_foreign_source(line: &str) -> bool {
    line.strip_prefix("source = ").is_some_and(|source| source.trim_matches('"') != LOCK_SOURCE)
}

#[cfg(test)]
mod tests;
