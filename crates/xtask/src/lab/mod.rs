//! `cargo xtask lab`: campaigns that are too long for `./test`, seen by whoever changes what they are about.

mod compare;
mod diagnose;
mod hostile;
mod kills;
mod predict;
mod quickstarts;
mod surroundings;

use crate::{TaskOutcome, output};

pub(crate) const USAGE: &str = "\
usage: cargo xtask lab CAMPAIGN

  compare [PART]... [--runs N]
                      equal runs of three kinds of path, and a true difference of 5 %, compared with each other
  diagnose [PART OF A FAULT]...
                      real paths with one known fault each, and simulated machines; all faults where none is named
  hostile [--cases N] [--seed N]
                      changed answers of NFS servers, iSCSI targets and S3 servers for the decoders of each, ten million
  kills [--checks N] [--serves N] [--seed N]
                      checks and servers killed at random moments
  predict [PART OF A LIMIT]...
                      rates of 16 clients predicted from 1, 2 and 4, and then measured; all paths where none is named
  quickstarts [FILE SYSTEM]... [--tries N]
                      what `narrows check FOLDER` names on local file systems; all of them where none is named

Each builds the release first. All but hostile and kills need root.
";

/// Runs the campaign that `words` name; prints the usage, and builds nothing, where that is asked for.
///
/// # Errors
/// A build that fails, a folder that cannot be made.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<TaskOutcome> {
    if words.iter().any(|word| matches!(*word, "--help" | "-h" | "help")) {
        output::line(USAGE);
        return Ok(TaskOutcome::Healthy);
    }
    let refused = match words {
        ["compare", options @ ..] => match options_of("compare", options, "--runs") {
            Ok(options) => return compare::run(&options),
            Err(why) => why,
        },
        ["diagnose", faults @ ..] => match option_among(faults) {
            None => return diagnose::run(faults),
            Some(option) => format!("diagnose has no option {option}"),
        },
        ["hostile", options @ ..] => match hostile::HostileRequest::parse(options) {
            Ok(request) => return hostile::run(request),
            Err(why) => why,
        },
        ["kills", options @ ..] => match kills::KillsRequest::parse(options) {
            Ok(request) => return kills::run(request),
            Err(why) => why,
        },
        ["predict", limits @ ..] => match option_among(limits) {
            None => return predict::run(limits),
            Some(option) => format!("predict has no option {option}"),
        },
        ["quickstarts", options @ ..] => match options_of("quickstarts", options, "--tries") {
            Ok(options) => return quickstarts::run(&options),
            Err(why) => why,
        },
        _ => format!(
            "lab has the campaigns `compare`, `diagnose`, `hostile`, `kills`, `predict` and `quickstarts`, and no {:?}",
            words.join(" ")
        ),
    };
    output::complaint(&format!("xtask: {refused}\n{USAGE}"));
    Ok(TaskOutcome::BadCommand)
}

/// What a campaign of several parts was asked for.
#[derive(Debug, PartialEq, Eq)]
struct PartsRequest<'w> {
    /// All of them where none is named.
    parts: Vec<&'w str>,
    /// How often; `None` is what the campaign does unless asked.
    count: Option<u32>,
}

/// Reads the parts of `campaign`, and the number behind `counted`.
fn options_of<'w>(campaign: &str, words: &[&'w str], counted: &str) -> Result<PartsRequest<'w>, String> {
    let mut request = PartsRequest { parts: Vec::new(), count: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word == counted {
            let value = words.next().ok_or_else(|| format!("{counted} needs a number"))?;
            let count = value.parse().ok().filter(|count| *count > 0);
            request.count =
                Some(count.ok_or_else(|| format!("{counted} takes a number from 1 on, not {value}"))?);
        } else if word.starts_with('-') {
            return Err(format!("{campaign} has no option {word}"));
        } else {
            request.parts.push(word);
        }
    }
    Ok(request)
}

/// The first word that is an option.
fn option_among<'w>(words: &[&'w str]) -> Option<&'w str> {
    words.iter().copied().find(|word| word.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_builds_nothing_and_an_unknown_option_is_refused() {
        for words in [["diagnose", "--help"], ["compare", "-h"], ["kills", "help"], ["quickstarts", "--help"]]
        {
            assert_eq!(run(&words).expect("help needs nothing"), TaskOutcome::Healthy, "{words:?}");
        }
        for words in [
            ["diagnose", "--hlep"],
            ["compare", "--tries"],
            ["quickstarts", "--runs"],
            ["predict", "--tries"],
            ["launder", ""],
        ] {
            assert_eq!(run(&words).expect("refusing needs nothing"), TaskOutcome::BadCommand, "{words:?}");
        }
    }

    #[test]
    fn parts_and_their_number_are_read_in_any_order() {
        let read = |words: &[&'static str]| options_of("compare", words, "--runs");
        let request = PartsRequest { parts: vec!["disk", "link"], count: Some(5) };
        assert_eq!(read(&["disk", "--runs", "5", "link"]), Ok(request));
        assert_eq!(read(&["--runs"]), Err("--runs needs a number".to_owned()));
        assert_eq!(read(&["--runs", "0"]), Err("--runs takes a number from 1 on, not 0".to_owned()));
    }
}
