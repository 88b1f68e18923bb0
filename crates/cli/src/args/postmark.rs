//! What may be typed after `narrows suite postmark`.

use super::{OutputArguments, SuiteCutArguments};
use clap::Args;
use narrows_suites::postmark::{
    PUBLISHED_BIAS, PUBLISHED_BLOCK, PUBLISHED_NUMBER, PUBLISHED_SEED, PUBLISHED_SIZE_HIGH,
    PUBLISHED_SIZE_LOW, PUBLISHED_TRANSACTIONS, Settings, set,
};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct PostmarkArguments {
    /// File of PostMark's commands; `-` reads them from stdin, as does a command line without any of the options from --size
    /// to --report, after .pmrc of the current folder; with one of these and no file a run begins at once
    #[arg(value_name = "SCRIPT")]
    pub(crate) script: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingArguments,
    #[command(flatten)]
    pub(crate) cuts: SuiteCutArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// PostMark's own settings, each as its command takes them: what is allowed stands there and not here.
#[derive(Debug, Args)]
pub(crate) struct SettingArguments {
    #[arg(long = "size", value_name = "LOW[,HIGH]", help = of_default("Size of new files in bytes: LOW, or from LOW to HIGH", &format!("{PUBLISHED_SIZE_LOW},{PUBLISHED_SIZE_HIGH}")))]
    size_bytes: Option<String>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = of_default("Files at the start of a run", PUBLISHED_NUMBER))]
    number: Option<String>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = of_default("Transactions of a run", PUBLISHED_TRANSACTIONS))]
    transactions: Option<String>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = of_default("Seed of every random choice", PUBLISHED_SEED))]
    seed: Option<String>,
    /// Folder of any mounted file system, in which the suite makes a folder of its own for its files [default: .]
    #[arg(long, value_name = "DIR")]
    location: Option<String>,
    /// Subdirectories that files are spread over; 0 and 1 are none [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    subdirectories: Option<String>,
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, help = of_default("Bytes that one read asks for", PUBLISHED_BLOCK))]
    read: Option<String>,
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, help = of_default("Bytes that one write has", PUBLISHED_BLOCK))]
    write: Option<String>,
    /// Whether blocks go through a buffer, as C's streams do [default: true]
    #[arg(long, value_name = "true|false")]
    buffering: Option<String>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = of_default("Chance in ten to read a file, else append to it; -1 for neither", PUBLISHED_BIAS))]
    bias_read: Option<String>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = of_default("Chance in ten to create a file, else delete one; -1 for neither", PUBLISHED_BIAS))]
    bias_create: Option<String>,
    /// Form of the report [default: verbose]
    #[arg(long, value_name = "verbose|terse")]
    report: Option<String>,
}

fn of_default(help: &str, default: impl std::fmt::Display) -> String {
    format!("{help} [default: {default}]")
}

impl SettingArguments {
    /// Each that was given: its command, its option, its words.
    fn given(&self) -> Vec<(&'static str, &'static str, String)> {
        let all = [
            ("set size", "--size", &self.size_bytes),
            ("set number", "--number", &self.number),
            ("set transactions", "--transactions", &self.transactions),
            ("set seed", "--seed", &self.seed),
            ("set location", "--location", &self.location),
            ("set subdirectories", "--subdirectories", &self.subdirectories),
            ("set read", "--read", &self.read),
            ("set write", "--write", &self.write),
            ("set buffering", "--buffering", &self.buffering),
            ("set bias read", "--bias-read", &self.bias_read),
            ("set bias create", "--bias-create", &self.bias_create),
            ("set report", "--report", &self.report),
        ];
        let words = |option: &str, text: &String| match option {
            "--size" => text.replace(',', " "),
            _ => text.clone(),
        };
        all.into_iter()
            .filter_map(|(command, option, text)| Some((command, option, words(option, text.as_ref()?))))
            .collect()
    }

    /// Whether none was given.
    pub(crate) fn are_none(&self) -> bool {
        self.given().is_empty()
    }

    /// The settings that they make of the defaults.
    ///
    /// # Errors
    /// All that is wrong with them, a line each.
    pub(crate) fn settings(&self) -> Result<Settings, Vec<String>> {
        let mut settings = Settings::default();
        let wrong = |(command, option, words): (&str, &str, String)| {
            let said = set(&mut settings, command, option, &words).err()?;
            Some(format!("{}: found {}; allowed: {}; {}", said.key, said.found, said.allowed, said.hint))
        };
        let problems: Vec<String> = self.given().into_iter().filter_map(wrong).collect();
        if problems.is_empty() { Ok(settings) } else { Err(problems) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Arguments, Command, SuiteName};
    use super::*;
    use clap::Parser;

    fn typed(words: &[&str]) -> PostmarkArguments {
        let all = ["narrows", "suite", "postmark"].iter().chain(words);
        let Command::Suite(suite) = Arguments::parse_from(all).command else { unreachable!() };
        let SuiteName::Postmark(postmark) = suite.name else { unreachable!() };
        *postmark
    }

    #[test]
    fn each_option_is_its_command() {
        let words = "--size 5,9 --number 7 --transactions 8 --seed 9 --location /x --subdirectories 3 --read 1024 --write \
                     2048 --buffering false --bias-read -1 --bias-create 10 --report terse";
        let asked = typed(&words.split_whitespace().collect::<Vec<_>>()).settings;
        let settings = asked.settings().unwrap();
        assert_eq!((settings.size_low, settings.size_high, settings.number), (5, 9, 7));
        assert_eq!((settings.transactions, settings.seed, settings.subdirectories), (8, 9, 3));
        assert_eq!((settings.read_bytes, settings.write_bytes, settings.is_buffered), (1024, 2048, false));
        assert_eq!((settings.bias_read, settings.bias_create), (None, Some(10)));
        assert_eq!((settings.locations[0].path.as_str(), settings.report.name()), ("/x", "terse"));
        assert!(!asked.are_none() && typed(&["script"]).settings.are_none());
    }

    #[test]
    fn all_that_is_wrong_with_options_is_told_by_their_names() {
        let asked = typed(&["--size", "9,5", "--number", "-3", "--bias-read", "11"]).settings;
        let problems = asked.settings().unwrap_err();
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(
            problems[0].starts_with("--size: found `9 5`") && problems[1].starts_with("--number: found `-3`")
        );
    }
}
