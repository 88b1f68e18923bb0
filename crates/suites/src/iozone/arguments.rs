//! What may be typed after `narrows suite iozone`, and the request that it makes: long options here, IOzone's own letters
//! in `letters`.

use super::request::Request;
use crate::arguments::CutArguments;
use crate::folder::FolderRun;
use clap::Args;
use narrows_study::Problem;
use std::path::PathBuf;

/// What may be typed.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder on any mounted file system; the suite creates a subfolder for its files
    #[arg(default_value = ".", value_name = "DIR")]
    pub(super) dir: PathBuf,
    /// IOzone's options
    #[arg(long = "letter", hide = true)]
    pub(super) letters: Vec<String>,
    /// Write every figure to this file as CSV, one line per test, file and record size (must not exist)
    #[arg(long, value_name = "FILE")]
    pub(super) surface_csv: Option<PathBuf>,
    /// Write an SVG picture of the surfaces of record and file sizes to this file (must not exist)
    #[arg(long, value_name = "FILE")]
    pub(super) surface_svg: Option<PathBuf>,
    #[command(flatten)]
    pub(super) cuts: CutArguments,
    /// Seed of all random choices; the default is a new one, which is recorded
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
}

impl Arguments {
    /// The run that they ask for.
    ///
    /// # Errors
    /// All that is wrong with them, whatever the machine is.
    pub(super) fn run(self) -> Result<FolderRun, Vec<Problem>> {
        let request = Request {
            has_cuts: !self.cuts.no_verdict,
            surface_csv: self.surface_csv,
            surface_svg: self.surface_svg,
            ..Request::from_words(&self.letters)?
        };
        Ok(FolderRun { request: Box::new(request), dir: self.dir, cuts: self.cuts, seed: self.seed })
    }
}
