//! What may be typed after `narrows suite postmark`, and the settings that it makes.

use super::request::Request;
use super::script::{PostmarkRun, set};
use super::settings::{
    PUBLISHED_BIAS, PUBLISHED_BLOCK, PUBLISHED_NUMBER, PUBLISHED_SEED, PUBLISHED_SIZE_HIGH,
    PUBLISHED_SIZE_LOW, PUBLISHED_TRANSACTIONS, PostmarkSettings,
};
use crate::arguments::CutArguments;
use crate::folder::FolderRun;
use crate::suite::ArgumentError;
use clap::Args;
use std::path::PathBuf;

/// What may be typed.
#[derive(Debug, Args)]
pub struct Arguments {
    /// File of PostMark's commands; `-` reads them from stdin, as does a command line without any of the options from
    /// --size
    /// to --report, after .pmrc of the current folder; with one of these and no file a run starts immediately
    #[arg(value_name = "SCRIPT")]
    pub script: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingArguments,
    #[command(flatten)]
    cuts: CutArguments,
}

/// PostMark's own settings, each as its command takes them: what is allowed is defined there and not here.
#[derive(Debug, Args)]
struct SettingArguments {
    #[arg(long = "size", value_name = "LOW[,HIGH]", help = help_with_default("Size of new files in bytes: LOW, or from LOW to HIGH", &format!("{PUBLISHED_SIZE_LOW},{PUBLISHED_SIZE_HIGH}")))]
    size_bytes: Option<String>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = help_with_default("Files at the start of a run", PUBLISHED_NUMBER))]
    number: Option<String>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = help_with_default("Transactions of a run", PUBLISHED_TRANSACTIONS))]
    transactions: Option<String>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = help_with_default("Seed of all random \
        choices", PUBLISHED_SEED))]
    seed: Option<String>,
    /// Folder on any mounted file system; the suite creates a subfolder for its files [default: .]
    #[arg(long, value_name = "DIR")]
    location: Option<String>,
    /// Number of subdirectories for the files; 0 and 1 mean none [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    subdirectories: Option<String>,
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, help = help_with_default("Bytes of one \
        read", PUBLISHED_BLOCK))]
    read: Option<String>,
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, help = help_with_default("Bytes of one \
        write", PUBLISHED_BLOCK))]
    write: Option<String>,
    /// Whether blocks use a buffer, as C's streams do [default: true]
    #[arg(long, value_name = "true|false")]
    buffering: Option<String>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = help_with_default("Chance in ten to read a file, else append to it; -1 for neither", PUBLISHED_BIAS))]
    bias_read: Option<String>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = help_with_default("Chance in ten to create a file, else delete one; -1 for neither", PUBLISHED_BIAS))]
    bias_create: Option<String>,
    /// Form of the report [default: verbose]
    #[arg(long, value_name = "verbose|terse")]
    report: Option<String>,
}

fn help_with_default(help: &str, default: impl std::fmt::Display) -> String {
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
}

impl Arguments {
    /// Whether none of PostMark's settings was given.
    #[must_use]
    pub fn has_settings(&self) -> bool {
        !self.settings.given().is_empty()
    }

    /// The settings that the options make of the defaults.
    ///
    /// # Errors
    /// All that is wrong with them, a line each.
    pub fn settings(&self) -> Result<PostmarkSettings, ArgumentError> {
        let mut settings = PostmarkSettings::default();
        let wrong = |(command, option, words): (&str, &str, String)| {
            let said = set(&mut settings, command, option, &words).err()?;
            Some(format!("{}: found {}; allowed: {}; {}", said.key, said.found, said.allowed, said.hint))
        };
        let problems: Vec<String> = self.settings.given().into_iter().filter_map(wrong).collect();
        if problems.is_empty() { Ok(settings) } else { Err(ArgumentError::Lines(problems)) }
    }

    /// The run that the options ask for, with the settings that they make.
    ///
    /// # Errors
    /// What is wrong with them, or with their being together.
    pub fn run(&self) -> Result<PostmarkRun, ArgumentError> {
        PostmarkRun::new(self.settings()?, None, "options").map_err(|said| {
            ArgumentError::Lines(vec![format!(
                "{}: found {}; allowed: {}; {}",
                said.key, said.found, said.allowed, said.hint
            )])
        })
    }

    /// `run` on its folder.
    #[must_use]
    pub fn on_folder(&self, run: &PostmarkRun) -> FolderRun {
        let settings = run.settings.clone();
        let seed = Some(settings.seed);
        let has_cuts = !self.cuts.no_verdict;
        let request = Request { settings, has_cuts, memory: None, free: None, rooms: Vec::new() };
        let dir = run.locations().first().map_or_else(|| PathBuf::from("."), PathBuf::from);
        FolderRun { request: Box::new(request), dir, cuts: self.cuts.clone(), seed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    fn typed(words: &[&str]) -> Arguments {
        let words = ["postmark"].iter().chain(words);
        let matches = Arguments::augment_args(clap::Command::new("postmark")).get_matches_from(words);
        Arguments::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn each_option_is_its_command() {
        let words = "--size 5,9 --number 7 --transactions 8 --seed 9 --location /x --subdirectories 3 --read 1024 --write \
                     2048 --buffering false --bias-read -1 --bias-create 10 --report terse";
        let asked = typed(&words.split_whitespace().collect::<Vec<_>>());
        let settings = asked.settings().unwrap();
        assert_eq!((settings.size_low, settings.size_high, settings.number), (5, 9, 7));
        assert_eq!((settings.transactions, settings.seed, settings.subdirectories), (8, 9, 3));
        assert_eq!((settings.read_bytes, settings.write_bytes, settings.is_buffered), (1024, 2048, false));
        assert_eq!((settings.bias_read, settings.bias_create), (None, Some(10)));
        assert_eq!((settings.locations[0].path.as_str(), settings.report.name()), ("/x", "terse"));
        assert!(asked.has_settings() && !typed(&["script"]).has_settings());
    }

    #[test]
    fn all_that_is_wrong_with_options_is_reported_by_their_names() {
        let asked = typed(&["--size", "9,5", "--number", "-3", "--bias-read", "11"]);
        let ArgumentError::Lines(problems) = asked.settings().unwrap_err() else { panic!() };
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(
            problems[0].starts_with("--size: found `9 5`") && problems[1].starts_with("--number: found `-3`")
        );
    }
}
