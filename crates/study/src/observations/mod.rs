//! Observation files: numbers measured elsewhere, in TOML, become [`Observations`], or the list of everything that is
//! wrong with the text.
//!
//! In the order of the steps: `table` reads rows of keys and values by the registry [`KEYS`], `assemble` makes values of
//! the model of them and says what a row lacks, `whole` what the rows lack together. Deliberately absent: files (the text
//! is handed in), and any judgement of the numbers, which is `analysis`'.

mod arithmetic;
mod assemble;
mod hint;
mod keys;
mod kind;
mod table;
mod value;
mod whole;

pub use keys::{KEYS, Key, Need, TABLES, Table};
pub use kind::Kind;

use crate::located::{Complaint, FileProblems, Findings, document};
use narrows_model::Observations;

/// Most bytes of a file: the longest paper's tables are a few thousand lines, and more is some other file.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

/// The observations of `text`; `name` is what its file was called, for messages.
///
/// # Errors
/// Everything that is wrong with it, at once and located: what is no TOML, keys that do not exist, values of a wrong
/// type or out of range, segments that are none, ids given twice, arithmetic that is none.
///
/// # Cost
/// Linear in the text but for a sort; at most 4 MiB and 10,000 observations.
pub fn parse(text: &str, name: &str) -> Result<Observations, FileProblems> {
    let mut findings = Findings::new(name, text);
    let read = checked(text, &mut findings);
    match (findings.into_result(), read) {
        (Ok(()), Some(observations)) => Ok(observations),
        (Ok(()), None) => Err(FileProblems { name: name.to_owned(), list: Vec::new(), more_count: 0 }),
        (Err(problems), _) => Err(problems),
    }
}

fn checked(text: &str, findings: &mut Findings<'_>) -> Option<Observations> {
    if text.len() > TEXT_BYTES_MAX {
        let found = format!("{} bytes", text.len());
        let allowed = format!("observations of {TEXT_BYTES_MAX} bytes or fewer");
        findings.add(&(0..0), Complaint::new("", found, allowed, "is this the right file?"));
        return None;
    }
    let rows = document(text, findings, table::rows)?;
    let observations = assemble::observations(&rows);
    whole::whole(&rows, findings);
    Some(observations)
}

#[cfg(test)]
mod tests;
