//! Words of `narrows import`.

use super::value::{parse_block, parse_claim, parse_rate};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use narrows_model::units::{Bytes, BytesPerSec};
use narrows_suites::IMPORTERS;
use std::path::PathBuf;

/// What `--local` means without sections.
pub(crate) const ALL_SECTIONS: &str = "*";

/// The formats by name, and `auto`.
fn formats() -> PossibleValuesParser {
    let auto = PossibleValue::new("auto").help("The format that the file looks like");
    let all = IMPORTERS.iter().map(|importer| PossibleValue::new(importer.name).help(importer.title));
    PossibleValuesParser::new(std::iter::once(auto).chain(all))
}

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The tool that printed the file
    #[arg(value_name = "FORMAT", value_parser = formats())]
    pub(crate) format: String,
    /// What the tool printed; `-` reads it from stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// File for the observations (must not exist); without it they are written to stdout
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) out: Option<PathBuf>,
    /// Memory of each client, or of the one machine of a local path; without it unknown
    #[arg(long, value_name = "SIZE", value_parser = parse_block)]
    pub(crate) memory: Option<Bytes>,
    /// Memory of the server; without it unknown
    #[arg(long, value_name = "SIZE", value_parser = parse_block)]
    pub(crate) server_memory: Option<Bytes>,
    /// Bandwidth of the network, as a declared ceiling: 100Mbit/s, 12MB/s or 12.5e6 (bytes a second); without it
    /// unknown
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) network: Option<BytesPerSec>,
    /// Measured without a network: everything, or with `=SECTION,..` the rows of these sections
    #[arg(long, value_name = "SECTION,..", num_args = 0..=1, require_equals = true, value_delimiter = ',', default_missing_value = ALL_SECTIONS)]
    pub(crate) local: Option<Vec<String>>,
    /// Sections of the table to read, where it has a column `section`; without it all
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub(crate) section: Vec<String>,
    /// Buffer of an I/O, where the file does not state it (`IOPerf`)
    #[arg(long, value_name = "SIZE", value_parser = parse_block)]
    pub(crate) block: Option<Bytes>,
    /// Processes at once, where the file does not state them (NPV rows of `IOPerf`)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) processes: Option<u64>,
    /// The block figures (`bonnie++`) are those of one device of N: write them as ceilings of the device
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) as_device: Option<u64>,
    /// Arithmetic that the source prints, such as "9*1024/47 = 215": recomputed by `diagnose`
    #[arg(long, value_name = "LEFT = RIGHT", value_parser = parse_claim)]
    pub(crate) claim: Vec<(String, f64)>,
    /// Title of the observations; the default is the tool's name
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Source of the numbers, in words; the default is what the output states
    #[arg(long, value_name = "TEXT")]
    pub(crate) source: Option<String>,
}
