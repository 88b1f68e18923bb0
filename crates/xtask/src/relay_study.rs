//! `cargo xtask relay-study`: the published buffer experiment beside a record of this machine, as a page of `docs/studies`.
//!
//! The page is made by the example `relay_study` of the crate `narrows`, which may read records and judge them; this
//! crate depends on neither.

use anyhow::{Context, bail};

use crate::Outcome;
use crate::workspace::{Workspace, cargo};

const WRITE: &[&str] =
    &["run", "--quiet", "--locked", "--package", "narrows", "--example", "relay_study", "--"];

/// Writes the page's tables from the record `subject`, with `--tables` from their CSV files, or with `--check` compares
/// them with these.
///
/// # Errors
/// A generator that could not be built or started; a record that is not the whole experiment, a page that differs.
pub(crate) fn run(subject: &str) -> anyhow::Result<Outcome> {
    let mut command = cargo(&Workspace::load()?.root, WRITE);
    // A record's path is the caller's; the generator runs in the workspace's root.
    let subject = match subject {
        "--check" | "--tables" => subject.into(),
        record => std::path::absolute(record).with_context(|| format!("{record} is no path"))?,
    };
    let status = command.arg(subject).status().context("could not start cargo run")?;
    match status.code() {
        Some(0) => Ok(Outcome::Healthy),
        Some(_) => Ok(Outcome::ProblemsFound),
        None => bail!("the generator of the page was ended by a signal"),
    }
}
