//! `cargo xtask lab hostile`: the decoders of what NFS servers, iSCSI targets and S3 servers answer, each with millions of
//! changed answers, from a seed that no run had before.

use crate::workspace::{Workspace, cargo};
use crate::{TaskOutcome, output};
use anyhow::Context;
use std::process::Stdio;

/// Crates and their campaigns.
const CAMPAIGNS: [(&str, &str); 3] = [
    ("narrows-wire", "ten_million_changed_replies_are_never_a_panic"),
    ("narrows-wire", "ten_million_changed_pdus_are_never_a_panic"),
    ("narrows-remote", "ten_million_changed_answers_are_never_a_panic"),
];

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HostileRequest {
    cases: u64,
    seed: Option<u64>,
}

impl HostileRequest {
    /// Reads the options.
    ///
    /// # Errors
    /// Why they are refused.
    pub(super) fn parse(words: &[&str]) -> Result<Self, String> {
        let mut request = Self { cases: 10_000_000, seed: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
            let number = value.parse::<u64>().map_err(|_| format!("{word} takes a number, not {value}"))?;
            match *word {
                "--cases" => request.cases = number,
                "--seed" => request.seed = Some(number),
                _ => return Err(format!("hostile has no option {word}")),
            }
        }
        Ok(request)
    }
}

/// Runs the campaigns, built as a release is.
///
/// # Errors
/// Cargo that cannot be started.
pub(super) fn run(request: HostileRequest) -> anyhow::Result<TaskOutcome> {
    let workspace = Workspace::load()?;
    let since_epoch = narrows_sys::clock::wall_time().duration_since(std::time::UNIX_EPOCH);
    let usual = since_epoch.context("the clock is before 1970")?.as_secs();
    let (seed, cases) = (request.seed.unwrap_or(usual), request.cases);
    output::line(&format!("{cases} cases each of seed {seed} (again with: --seed {seed})"));
    let mut outcome = TaskOutcome::Healthy;
    for (package, test) in CAMPAIGNS {
        let ended = cargo(&workspace.root, &["test", "--release", "--locked", "-p", package, "--lib", test])
            .args(["--", "--ignored", "--nocapture"])
            .env("NARROWS_HOSTILE_SEED", seed.to_string())
            .env("NARROWS_HOSTILE_CASES", cases.to_string())
            .stderr(Stdio::inherit())
            .output()
            .context("could not start cargo test")?;
        let printed = String::from_utf8_lossy(&ended.stdout);
        output::line(printed.trim_end());
        // Of a test that was renamed none is run, which cargo calls a success.
        if !ended.status.success() || !printed.contains("1 passed") {
            output::complaint(&format!("lab hostile: {test} failed, or was not run, see above"));
            outcome = TaskOutcome::ProblemsFound;
        }
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_and_a_seed_are_taken_and_all_else_is_refused() {
        let parsed = HostileRequest::parse(&["--cases", "5", "--seed", "7"]);
        assert_eq!(parsed, Ok(HostileRequest { cases: 5, seed: Some(7) }));
        assert_eq!(HostileRequest::parse(&[]), Ok(HostileRequest { cases: 10_000_000, seed: None }));
        for words in [&["--cases"][..], &["--cases", "x"], &["--more", "1"]] {
            assert!(HostileRequest::parse(words).is_err(), "{words:?}");
        }
    }
}
