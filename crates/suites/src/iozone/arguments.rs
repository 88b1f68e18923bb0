//! What may be typed after `narrows suite iozone`, and the request that it makes: long options here, IOzone's own letters
//! in `letters`.

use super::request::Request;
use crate::arguments::CutArguments;
use crate::folder::FolderRun;
use clap::Args;
use narrows_study::Problem;
use std::path::{Path, PathBuf};

/// What may be typed.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder on any mounted file system; the suite creates a subfolder for its files
    #[arg(default_value = HERE, value_name = "DIR")]
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

/// The folder that is given when none is.
const HERE: &str = ".";

/// The folder of the tests: `dir`, or that of the file of `-f`.
fn folder(dir: PathBuf, file: Option<&str>) -> Result<PathBuf, Vec<Problem>> {
    let Some(file) = file.map(Path::new) else { return Ok(dir) };
    if dir != Path::new(HERE) {
        let found = format!("-f beside the folder {}", dir.display());
        return Err(vec![Problem::new("-f", found, "-f, or DIR", "omit one of them")]);
    }
    match (file.file_name(), file.parent()) {
        _ if file.is_dir() => {
            let found = format!("`{}`, which is a folder", file.display());
            Err(vec![Problem::new("-f", found, "the file of the tests", "give a folder as DIR, without -f")])
        }
        (Some(_), Some(parent)) if parent.as_os_str().is_empty() => Ok(dir),
        (Some(_), Some(parent)) => Ok(parent.to_path_buf()),
        _ => {
            let found = format!("`{}`, which names no file", file.display());
            Err(vec![Problem::new("-f", found, "the file of the tests", "give a folder as DIR, without -f")])
        }
    }
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
        let dir = folder(self.dir, request.options.file.as_deref())?;
        Ok(FolderRun { request: Box::new(request), dir, cuts: self.cuts, seed: self.seed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_that_of_the_file_or_the_one_that_is_given() {
        let of = |dir: &str, file: Option<&str>| {
            folder(PathBuf::from(dir), file).map_err(|problems| problems[0].to_string())
        };
        assert_eq!(of(".", Some("/mnt/data/iozone.tmp")), Ok(PathBuf::from("/mnt/data")));
        assert_eq!(of(".", Some("iozone.tmp")), Ok(PathBuf::from(".")));
        assert_eq!(of("/mnt", None), Ok(PathBuf::from("/mnt")));
        assert!(of("/mnt", Some("/tmp/x")).unwrap_err().starts_with("-f: found -f beside the folder /mnt"));
        assert!(of(".", Some("/")).unwrap_err().contains("which is a folder"));
        assert!(of(".", Some("none/..")).unwrap_err().contains("which names no file"));
    }
}
