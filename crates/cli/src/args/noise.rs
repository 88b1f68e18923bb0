//! Words of `narrows noise`.

use super::CheckArguments;
use clap::{Arg, Args};

/// What may be typed after `narrows noise`: a check, and how often.
#[derive(Debug, Args)]
pub(crate) struct NoiseArguments {
    /// The check that is repeated.
    #[command(flatten)]
    pub(crate) check: CheckArguments,
    /// How often it is run; from five on, the deviation is known well enough to be used
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100))]
    pub(crate) runs: u32,
}

/// The help of `--seconds`, which is another time than that of a check.
pub(crate) fn seconds_of_a_run(seconds: Arg) -> Arg {
    seconds.help("Time of one run, in seconds").default_value("30")
}

/// The help of `--out`, which is another folder than that of a check.
pub(crate) fn folder_of_records(out: Arg) -> Arg {
    out.help(
        "Folder for the records, one for each run (must not exist or be empty); the default is narrows-noise-TIME in the \
         current folder",
    )
}

#[cfg(test)]
mod tests {
    use super::super::{CliArguments, CliCommand};
    use clap::Parser;

    #[test]
    fn noise_is_five_runs_of_half_a_minute_unless_said_otherwise() {
        let noise = |words: &[&str]| match CliArguments::parse_from(words).command {
            CliCommand::Noise(noise) => (noise.runs, noise.check.seconds),
            _ => unreachable!(),
        };
        assert_eq!(noise(&["narrows", "noise", "/srv"]), (5, 30.0));
        assert_eq!(noise(&["narrows", "noise", "--runs", "3", "--seconds", "8"]), (3, 8.0));
        assert!(CliArguments::try_parse_from(["narrows", "noise", "--runs", "1"]).is_err());
    }
}
