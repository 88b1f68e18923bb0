//! Options that suites share.
//!
//! Not here: single letters, which the parser of all others cannot read; the crate's root separates them.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use narrows_model::Bytes;
use narrows_model::quantity::parse_size;
use narrows_model::typed::positive_seconds;
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
    /// Measure only what the suite prints: no cuts of the path (its layers separately). The verdict then rests on the figures of its own tests alone
    #[arg(long)]
    pub no_verdict: bool,
    /// Measuring time of each cut of the path, in seconds; without it 1 (iozone: 0.25)
    #[arg(long, value_name = "N", value_parser = positive_seconds)]
    pub cell_seconds: Option<f64>,
}

/// Reads a size, which may be 0.
///
/// # Errors
/// What is wrong with a text that is none.
pub(crate) fn size(text: &str) -> Result<Bytes, String> {
    parse_size(text).map_err(|error| error.to_string())
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
