//! Options that suites share, and IOzone's single-letter options, which cannot be declared to the parser of all others.

use crate::{SUITES, SuiteEntry};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use narrows_model::typed::positive_seconds;
use std::ffi::OsString;
use std::path::PathBuf;

/// How the path below the tests of a suite on a folder is measured.
#[derive(Debug, Clone, Args)]
pub struct CutArguments {
    /// Measure the server's side too: `self` starts an endpoint in the folder, HOST:PORT connects to one that serves it
    #[arg(long, value_name = "self|HOST:PORT")]
    pub server: Option<String>,
    /// File with the token of --server HOST:PORT
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Measure only what the suite prints: no cuts of the path (its layers separately), and thus no verdict
    #[arg(long)]
    pub no_verdict: bool,
    /// Measuring time of each cut of the path, in seconds; without it 1 (iozone: 0.25)
    #[arg(long, value_name = "N", value_parser = positive_seconds)]
    pub cell_seconds: Option<f64>,
}

/// Reads one of `all`, whose names are `name`'s.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|value| name(*value))).try_map(move |text| {
        let found = all.iter().copied().find(|value| name(*value).eq_ignore_ascii_case(&text));
        found.ok_or("no such value")
    })
}

/// The long option that replaces a word of a suite's letters; nobody types it.
const LETTER: &str = "--letter=";

/// The words of a command line, in which letters that only their suite can read (`-+n`, `-i0`, one that takes all words
/// up
/// to the next) are long options with the letters as their values; unchanged for other commands.
#[must_use]
pub fn spelled_out(raw: Vec<OsString>) -> Vec<OsString> {
    let is_suite = raw.get(1).is_some_and(|word| word == "suite");
    let mut apart =
        SUITES.iter().filter(|suite| is_suite && raw.get(2).is_some_and(|word| word == suite.name));
    let apart = apart.find_map(SuiteEntry::letters);
    let words: Option<Vec<String>> = raw.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    let Some((words, apart)) = words.zip(apart) else { return raw };
    let (letters, others) = apart(words.get(3..).unwrap_or_default());
    let start = words.iter().take(3).cloned();
    let letters = letters.into_iter().map(|word| format!("{LETTER}{word}"));
    start.chain(letters).chain(others).map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(line: &str) -> String {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let all: Vec<String> =
            spelled_out(words).into_iter().map(|word| word.into_string().unwrap()).collect();
        all.join(" ")
    }

    #[test]
    fn letters_become_long_options_and_stand_before_the_others() {
        assert_eq!(
            spelled("narrows suite iozone -Ra -+n /mnt -F a b --out r --plan"),
            "narrows suite iozone --letter=-Ra --letter=-+n --letter=-F --letter=a --letter=b /mnt --out r --plan"
        );
    }

    #[test]
    fn other_commands_are_left_as_they_are() {
        for line in ["narrows check -a", "narrows suite bonnie -s 4 -f", "narrows suite", "narrows"] {
            assert_eq!(spelled(line), line);
        }
    }
}
