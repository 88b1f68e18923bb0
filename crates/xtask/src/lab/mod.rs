//! `cargo xtask lab`: campaigns that are too long for `./test`, seen by whoever changes what they are about.

mod compare;
mod diagnose;
mod kills;
mod surroundings;

use crate::{TaskOutcome, output};

pub(crate) const USAGE: &str = "lab compare [PART]... [--runs N] | lab diagnose [PART OF A FAULT]... | lab kills [--checks N] [--serves N] [--seed N]";

/// Runs the campaign that `words` name.
///
/// # Errors
/// A build that fails, a folder that cannot be made.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<TaskOutcome> {
    let request = match words {
        ["compare", parts @ ..] => return compare::run(parts),
        ["diagnose", faults @ ..] => return diagnose::run(faults),
        ["kills", options @ ..] => kills::KillsRequest::parse(options),
        _ => Err(format!(
            "lab has the campaigns `compare`, `diagnose` and `kills`, and no {:?}",
            words.join(" ")
        )),
    };
    match request {
        Ok(request) => kills::run(request),
        Err(why) => {
            output::complaint(&format!("xtask: {why}\nusage: cargo xtask {USAGE}"));
            Ok(TaskOutcome::BadCommand)
        }
    }
}
