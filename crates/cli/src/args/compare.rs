//! Words of `narrows compare`.

use super::value::parse_margin;
use clap::Args;
use std::path::PathBuf;

/// What the exit codes say, below the help.
pub(crate) const COMPARE_EXITS: &str = "Exit code 0 for any verdict; 1 with --fail-if-worse if a load is worse; 4 if \
     a run is not trustworthy, as shown by `narrows diagnose`.";

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Record of the baseline (the run before), or a folder of records: repetitions of that run; or a file: observations
    /// (.toml) or the output of another tool, beside another file, or the record of the same suite or a folder of them
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// Record, or folder of records, of what is evaluated: the run after; or a file, as A
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,
    /// Folder that `narrows noise` wrote for this path: shows how much runs differ with nothing changed, where A or B has
    /// fewer than three
    #[arg(long, value_name = "DIR")]
    pub(crate) noise: Option<PathBuf>,
    /// Differences up to this share are ignored: a load is better or worse only if it differs by more than chance, and
    /// its ratio is beyond the share; it is the same if its whole interval is between 1/(1 + share) and 1 + share
    #[arg(long, value_name = "SHARE%", value_parser = parse_margin, default_value = "3%")]
    pub(crate) margin: f64,
    /// End with exit code 1 if any load of the path is worse, for scripts
    #[arg(long)]
    pub(crate) fail_if_worse: bool,
    /// Print JSON (narrows.comparison/1) instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print every figure and every cell without a counterpart
    #[arg(long)]
    pub(crate) detail: bool,
}

#[cfg(test)]
mod tests {
    use super::parse_margin;

    #[test]
    fn a_margin_is_written_in_percent_and_nothing_else() {
        for (text, ratio) in [("3%", 0.03), ("0.5 %", 0.005), ("0%", 0.0), ("100%", 1.0)] {
            assert!((parse_margin(text).unwrap() - ratio).abs() < 1e-12, "{text}");
        }
        for text in ["3", "0.03", "-1%", "101%", "x%", "%", "", "nan%", "inf%"] {
            assert!(parse_margin(text).is_err(), "{text}");
        }
    }
}
