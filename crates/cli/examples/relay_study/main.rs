//! Writes the tables of `docs/studies/relay-buffers.md`: a record of `narrows relay --sweep all` beside the published
//! figures; or with `--check` says whether page and tables differ.
//!
//! `cargo xtask relay-study RECORD` is the way to start it. The record's figures are kept in `relay-buffers-2026.csv`
//! beside the page, and the page is made of that file and of the published one alone. Deliberately absent: the text
//! around the tables, which is written by hand.
#![forbid(unsafe_code)]

mod facts;
mod fits;
mod page;
mod recorded;
mod rows;
mod tables;

use anyhow::{Context, ensure};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The files, from the root of the workspace.
const PAGE: &str = "docs/studies/relay-buffers.md";
const MEASURED: &str = "docs/studies/relay-buffers-2026.csv";
const PUBLISHED: &str = "docs/examples/observations/relay_buffer_sweeps.csv";

fn main() -> io::Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--check"] => check(),
        ["--tables"] => tables(),
        [record] if !record.starts_with('-') => write(Path::new(record)),
        _ => {
            writeln!(io::stderr(), "usage: relay_study RECORD | --tables | --check")?;
            return Ok(ExitCode::from(2));
        }
    };
    match done {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            writeln!(io::stderr(), "relay-study: {error:#}")?;
            Ok(ExitCode::from(1))
        }
    }
}

/// Keeps the figures of `record` and writes the page's tables of them.
fn write(record: &Path) -> anyhow::Result<()> {
    let found = recorded::read(record)?;
    let measured = rows::csv(&found.rows);
    let page = page::with_facts(&read(PAGE)?, &found.facts)?;
    let page = page::with_tables(&page, &read(PUBLISHED)?, &measured)?;
    for (name, text) in [(MEASURED, measured), (PAGE, page)] {
        fs::write(at(name), text).with_context(|| format!("{name} cannot be written"))?;
        writeln!(io::stdout(), "relay-study: {name} is written")?;
    }
    Ok(())
}

/// Writes the page's tables of the two files as they are: after a change of how figures are judged.
fn tables() -> anyhow::Result<()> {
    let page = page::with_tables(&read(PAGE)?, &read(PUBLISHED)?, &read(MEASURED)?)?;
    fs::write(at(PAGE), page).with_context(|| format!("{PAGE} cannot be written"))?;
    writeln!(io::stdout(), "relay-study: {PAGE} is written")?;
    Ok(())
}

/// Whether the page's tables are those of the two files.
fn check() -> anyhow::Result<()> {
    let page = read(PAGE)?;
    let expected = page::with_tables(&page, &read(PUBLISHED)?, &read(MEASURED)?)?;
    ensure!(
        page == expected,
        "{PAGE} differs from its two CSV files; run `cargo xtask relay-study RECORD`, or with --tables"
    );
    Ok(())
}

fn at(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn read(name: &str) -> anyhow::Result<String> {
    fs::read_to_string(at(name)).with_context(|| format!("{name} cannot be read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_page_are_those_of_its_two_csv_files() {
        let page = read(PAGE).unwrap();
        assert_eq!(
            page,
            page::with_tables(&page, &read(PUBLISHED).unwrap(), &read(MEASURED).unwrap()).unwrap()
        );
    }

    #[test]
    fn a_figure_that_is_changed_in_a_csv_file_changes_the_page() {
        let (published, measured) = (read(PUBLISHED).unwrap(), read(MEASURED).unwrap());
        let page = read(PAGE).unwrap();
        let wrong = published.replace("14649.99", "14640.99");
        assert_ne!(page, page::with_tables(&page, &wrong, &measured).unwrap());
        let mut rows = rows::parse(&measured).unwrap();
        rows[3].rate_kib_per_s *= 1.5;
        assert_ne!(page, page::with_tables(&page, &published, &rows::csv(&rows)).unwrap());
    }
}
