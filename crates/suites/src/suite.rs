//! What a suite is: a request, from which its cells, its native output and its reading follow.
//!
//! A suite implements [`Suite`] for its request and has an [`SuiteEntry`] in the registry. Deliberately absent: starting
//! anything, and printing.

use crate::SuiteStart;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use narrows_model::plan::SuiteSource;
use narrows_model::summary::Metric;
use narrows_model::{Plan, Summary};
use narrows_study::Problem;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Whether `USER[:GROUP]` is who runs this program.
pub type IsUser<'a> = &'a dyn Fn(&str) -> bool;

/// Why a command line is refused.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgumentError {
    /// All that is wrong with what is asked for.
    Problems(Vec<Problem>),
    /// The same, as lines.
    Lines(Vec<String>),
    /// Options that do not go together, in a sentence.
    Options(String),
}

impl From<Vec<Problem>> for ArgumentError {
    fn from(problems: Vec<Problem>) -> Self {
        Self::Problems(problems)
    }
}

/// Figures, each with the id of its cell.
pub type CellMetrics = Vec<(String, Metric)>;

/// The request of a suite.
pub trait Suite {
    /// What may be typed after its name.
    type Arguments: clap::Args
    where
        Self: Sized;

    /// What has to be prepared before the cells can be planned.
    type Prepared;

    /// What `arguments` ask for.
    ///
    /// # Errors
    /// All that is wrong with them, whatever the machine is.
    fn parse(arguments: Self::Arguments, is_user: IsUser<'_>) -> Result<SuiteStart, ArgumentError>
    where
        Self: Sized;

    /// All problems of the request; none where it can be planned.
    fn problems(&self) -> Vec<Problem>;

    /// The plan of the request on what was prepared.
    ///
    /// # Errors
    /// All problems of the request.
    fn plan(&self, prepared: Self::Prepared) -> Result<Plan, Vec<Problem>>;

    /// The request as the plan and the record store it.
    fn source(&self) -> SuiteSource;

    /// The request of a record that has it as words and numbers ([`SuiteSource::options`]).
    #[must_use]
    fn from_options(_: &SuiteSource) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// The output that the original prints, from the summary of a run of this request.
    fn native(&self, summary: &Summary) -> String;

    /// Remarks on the figures, a sentence each.
    fn reading(&self, summary: &Summary) -> Vec<String>;

    /// Figures beside those that every cell has, each with the id of its cell.
    fn metrics(&self, _: &Summary) -> CellMetrics {
        Vec::new()
    }
}

/// Parts the words of a command line into letters that only the suite can read, and all others.
pub(crate) type LetterSplitter = fn(&[String]) -> (Vec<String>, Vec<String>);

/// A suite in the registry.
#[derive(Debug, Clone, Copy)]
pub struct SuiteEntry {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it measures, in a line.
    pub title: &'static str,
    /// Where it was published.
    pub source: &'static str,
    after_help: Option<fn() -> String>,
    letters: Option<LetterSplitter>,
    runs_on_hosts: bool,
    arguments: fn(Command) -> Command,
    parse: fn(&ArgMatches, IsUser<'_>) -> Result<SuiteStart, ArgumentError>,
    native: fn(&SuiteSource, &Summary) -> Option<String>,
    reading: fn(&SuiteSource, &Summary) -> Option<Vec<String>>,
    metrics: fn(&SuiteSource, &Summary) -> Option<CellMetrics>,
}

impl SuiteEntry {
    /// The entry of the suite whose request is an `S`.
    pub(crate) const fn new<S: Suite + DeserializeOwned>(
        name: &'static str,
        title: &'static str,
        source: &'static str,
    ) -> Self {
        Self {
            name,
            title,
            source,
            after_help: None,
            letters: None,
            runs_on_hosts: false,
            arguments: S::Arguments::augment_args,
            parse: |typed, is_user| {
                let arguments = S::Arguments::from_arg_matches(typed);
                S::parse(arguments.map_err(|error| ArgumentError::Options(error.to_string()))?, is_user)
            },
            native: |source, summary| Some(request_of::<S>(source)?.native(summary)),
            reading: |source, summary| Some(request_of::<S>(source)?.reading(summary)),
            metrics: |source, summary| Some(request_of::<S>(source)?.metrics(summary)),
        }
    }

    /// The same with a text below the help of its options.
    pub(crate) const fn with_after_help(self, text: fn() -> String) -> Self {
        Self { after_help: Some(text), ..self }
    }

    /// The same with letters that the parser of all other options cannot read.
    pub(crate) const fn with_letters(self, apart: LetterSplitter) -> Self {
        Self { letters: Some(apart), ..self }
    }

    /// The same, whose clients can run on hosts that are named.
    pub(crate) const fn with_hosts(self) -> Self {
        Self { runs_on_hosts: true, ..self }
    }

    /// Whether its clients can run on hosts that are named.
    #[must_use]
    pub fn runs_on_hosts(&self) -> bool {
        self.runs_on_hosts
    }

    /// What finds the letters that the parser of all other options cannot read.
    pub(crate) fn letters(&self) -> Option<LetterSplitter> {
        self.letters
    }

    /// The command `narrows suite NAME` with the suite's own options and their help.
    #[must_use]
    pub fn command(&self) -> Command {
        let command = (self.arguments)(Command::new(self.name)).about(self.title).long_about(None);
        match self.after_help {
            Some(text) => command.after_help(text()),
            None => command,
        }
    }

    /// What was typed behind the suite's name.
    ///
    /// # Errors
    /// All that is wrong with it, whatever the machine is.
    pub fn parse(&self, typed: &ArgMatches, is_user: IsUser<'_>) -> Result<SuiteStart, ArgumentError> {
        (self.parse)(typed, is_user)
    }

    /// The native output; `None` where `summary` is of another suite, or its request cannot be read.
    #[must_use]
    pub fn native(&self, summary: &Summary) -> Option<String> {
        (self.native)(self.own(summary)?, summary)
    }

    /// Remarks on the figures, a sentence each; none if `summary` is of another suite.
    #[must_use]
    pub fn reading(&self, summary: &Summary) -> Vec<String> {
        self.own(summary).and_then(|source| (self.reading)(source, summary)).unwrap_or_default()
    }

    /// Figures beside those that every cell has; none where `summary` is of another suite.
    pub(crate) fn metrics(&self, summary: &Summary) -> CellMetrics {
        self.own(summary).and_then(|source| (self.metrics)(source, summary)).unwrap_or_default()
    }

    fn own<'s>(&self, summary: &'s Summary) -> Option<&'s SuiteSource> {
        summary.suite.as_ref().filter(|source| source.name == self.name)
    }
}

/// The request that `source` stores.
pub(crate) fn request_of<S: Suite + DeserializeOwned>(source: &SuiteSource) -> Option<S> {
    if source.request.is_null() {
        return S::from_options(source);
    }
    S::deserialize(&source.request).ok()
}

/// `request` as the plan and the record of the suite `name` store it.
pub(crate) fn to_source(name: &str, has_cuts: bool, request: &impl Serialize) -> SuiteSource {
    // A request has text keys alone, so that its serialization cannot fail.
    SuiteSource::new(name, has_cuts, serde_json::to_value(request).unwrap_or_default())
}
