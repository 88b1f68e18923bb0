//! Writes the reference pages to `docs/reference`, or with `--check` says which of them differ from the registries.
//!
//! `cargo xtask gen-docs` is the way to start it. Deliberately absent: prose beyond a heading; what a page says
//! is in the registry that it is made of.
#![forbid(unsafe_code)]

mod commands;
mod markdown;
mod measuring;
mod observed;
mod outcome;
mod studies;
mod verdicts;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// A page: its file's name and its text.
struct Page {
    name: &'static str,
    text: String,
}

fn pages() -> Vec<Page> {
    vec![
        Page { name: "engines.md", text: measuring::engines() },
        Page { name: "cuts.md", text: measuring::cuts() },
        Page { name: "segments.md", text: verdicts::segments() },
        Page { name: "study.md", text: studies::keys() },
        Page { name: "observations.md", text: observed::keys() },
        Page { name: "imports.md", text: observed::imports() },
        Page { name: "rules.md", text: verdicts::rules() },
        Page { name: "exit-codes.md", text: outcome::exit_codes() },
        Page { name: "cli.md", text: commands::all() },
    ]
}

fn main() -> io::Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => {
            for page in pages() {
                fs::write(folder.join(page.name), page.text)?;
            }
            Ok(ExitCode::SUCCESS)
        }
        ["--check"] => compare(&folder),
        _ => {
            writeln!(io::stderr(), "usage: reference [--check]")?;
            Ok(ExitCode::from(2))
        }
    }
}

fn compare(folder: &Path) -> io::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for page in pages() {
        let found = fs::read_to_string(folder.join(page.name)).unwrap_or_default();
        if found != page.text {
            writeln!(
                io::stderr(),
                "docs/reference/{} differs from what it is made of; run `cargo xtask gen-docs`",
                page.name
            )?;
            code = ExitCode::from(1);
        }
    }
    Ok(code)
}
