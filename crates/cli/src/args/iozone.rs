//! What may be typed after `narrows suite iozone`: long options here; IOzone's own letters are the suite's to read.

use super::{OutputArguments, SuiteCutArguments};
use clap::Args;
use narrows_suites::iozone::{NAME, apart};
use std::ffi::OsString;
use std::path::PathBuf;

/// The long option that carries a word of IOzone's letters; never typed by anybody.
const LETTER: &str = "--letter=";

#[derive(Debug, Args)]
pub(crate) struct IozoneArguments {
    /// Folder of any mounted file system, in which the suite makes a folder of its own for its files
    #[arg(default_value = ".", value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Words of IOzone's letters
    #[arg(long = "letter", hide = true)]
    pub(crate) letters: Vec<String>,
    /// File for every figure as CSV, a line for each test, file and record size (must not exist)
    #[arg(long, value_name = "FILE")]
    pub(crate) surface_csv: Option<PathBuf>,
    /// File for an SVG picture of the surfaces of record and file sizes (must not exist)
    #[arg(long, value_name = "FILE")]
    pub(crate) surface_svg: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cuts: SuiteCutArguments,
    /// Seed of every random choice; without it a new one is drawn and recorded
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// The words of a command line with IOzone's letters as long options, where they are those of its suite.
///
/// Letters such as `-+n` and `-i0`, and one that takes all words up to the next, are none that the parser of all other
/// options could be told of.
pub(crate) fn spelled_out(raw: Vec<OsString>) -> Vec<OsString> {
    let is_suite =
        raw.get(1).is_some_and(|word| word == "suite") && raw.get(2).is_some_and(|word| word == NAME);
    let words: Option<Vec<String>> = raw.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    let Some(words) = words.filter(|_| is_suite) else { return raw };
    let (letters, others) = apart(words.get(3..).unwrap_or_default());
    let start = words.iter().take(3).cloned();
    let letters = letters.into_iter().map(|word| format!("{LETTER}{word}"));
    start.chain(letters).chain(others).map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Arguments, Command, SuiteName};
    use super::*;
    use clap::Parser;

    fn parsed(line: &str) -> IozoneArguments {
        let raw = line.split_whitespace().map(OsString::from).collect();
        let Command::Suite(suite) = Arguments::try_parse_from(spelled_out(raw)).unwrap().command else {
            unreachable!()
        };
        let SuiteName::Iozone(iozone) = suite.name else { unreachable!() };
        *iozone
    }

    #[test]
    fn letters_and_long_options_stand_together() {
        let iozone = parsed("narrows suite iozone -Ra -+n -g 4m /mnt -F a b --out r -b sheet.csv --plan");
        assert_eq!(iozone.letters, ["-Ra", "-+n", "-g", "4m", "-F", "a", "b", "-b", "sheet.csv"]);
        assert_eq!((iozone.dir, iozone.output.plan), ("/mnt".into(), true));
        assert_eq!(iozone.output.out, Some("r".into()));
    }

    #[test]
    fn other_commands_are_left_as_they_are() {
        let raw: Vec<OsString> = ["narrows", "check", "-a"].map(OsString::from).to_vec();
        assert_eq!(spelled_out(raw.clone()), raw);
        assert!(Arguments::try_parse_from(spelled_out(raw)).is_err());
    }
}
