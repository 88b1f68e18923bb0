//! The files that a suite writes beside its output.

use crate::exit::CommandFailure;
use crate::new_file::{check_new, write_new};
use narrows_model::{Summary, printable};
use narrows_suites::OutputFile;

/// Files that can be written: none of them is there, and each has a folder.
pub(super) struct OutputFiles(Vec<OutputFile>);

impl OutputFiles {
    /// The files that are asked for.
    ///
    /// # Errors
    /// Where one is there already, or could not be written: that must not show after hours of measuring.
    pub(super) fn new(asked: Result<Vec<OutputFile>, String>) -> Result<Self, CommandFailure> {
        let files = asked.map_err(CommandFailure::bad_input)?;
        for OutputFile { option, path, .. } in &files {
            check_new(option, path)?;
        }
        Ok(Self(files))
    }

    /// Writes all of them; what was written where, a line each.
    ///
    /// # Errors
    /// When the record has nothing for one of them, or it cannot be written.
    pub(super) fn write(&self, summary: &Summary) -> Result<Vec<String>, CommandFailure> {
        let mut all = Vec::new();
        for OutputFile { option, path, what, text } in &self.0 {
            let failed =
                |why: &str| CommandFailure::could_not_run(format!("{option} {}: {why}", path.display()));
            let text = text(summary).ok_or_else(|| failed("the record has nothing to write there"))?;
            write_new(option, path, &printable::lines(&text))?;
            all.push(format!("wrote {}: {what}", path.display()));
        }
        Ok(all)
    }
}
