//! What may be typed after `narrows suite`: the suites of the registry, each with its own options and those of all commands
//! that measure.

use super::{HostArguments, OutputArguments};
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};
use narrows_suites::{SUITES, SuiteEntry};

#[derive(Debug, Args)]
pub(crate) struct SuiteArguments {
    #[command(subcommand)]
    pub(crate) choice: SuiteChoice,
}

/// A suite with what was typed behind its name.
#[derive(Debug)]
pub(crate) struct SuiteChoice {
    pub(crate) suite: &'static SuiteEntry,
    /// Of the suite, to be read by it.
    pub(crate) typed: ArgMatches,
    /// The hosts of its clients, where it can have some.
    pub(crate) hosts: HostArguments,
    pub(crate) output: OutputArguments,
}

impl Subcommand for SuiteChoice {
    fn augment_subcommands(command: Command) -> Command {
        let all = SUITES.iter().fold(command, |command, suite| {
            let own = suite.command();
            let about = own.get_about().cloned();
            let own = if suite.runs_on_hosts() { HostArguments::augment_args(own) } else { own };
            command.subcommand(
                OutputArguments::augment_args(own).about(about.unwrap_or_default()).long_about(None),
            )
        });
        all.subcommand_required(true).arg_required_else_help(true)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        SUITES.iter().any(|suite| suite.name == name)
    }
}

impl FromArgMatches for SuiteChoice {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let found = matches
            .subcommand()
            .and_then(|(name, typed)| Some((SUITES.iter().find(|suite| suite.name == name)?, typed)));
        let (suite, typed) = found.ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        let hosts = if suite.runs_on_hosts() {
            HostArguments::from_arg_matches(typed)?
        } else {
            HostArguments::default()
        };
        Ok(Self { suite, typed: typed.clone(), hosts, output: OutputArguments::from_arg_matches(typed)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
