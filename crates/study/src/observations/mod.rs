//! Observation files: numbers measured elsewhere, in TOML, become [`Observations`], or the list of everything that is
//! wrong with the text.
//!
//! In the order of the steps: the keys of [`schema`] are read, `whole` checks what they lack together, `assemble` makes
//! values of the model of them. Deliberately absent: files (the text is handed in), and any judgement of the numbers,
//! which is `analysis`'.

mod assemble;
mod keys;
mod whole;

pub use keys::schema;

use crate::schema::{DeclaredEntry, FileProblems, FileReader, FileType, TableRow, parsed};
use keys::{CeilingKeys, ClaimKeys, HeadKeys, ObservationKeys};
use narrows_model::Observations;
use toml::de::DeTable;

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
    let file = FileType { schema: schema(), name: "observations", bytes_max: TEXT_BYTES_MAX };
    parsed(text, name, &file, read, |read, findings| {
        whole::whole(&read, findings);
        Some(assemble::observations(read))
    })
}

/// The keys of an observation file with their values.
#[derive(Debug, Default)]
struct ObservationFile {
    head: HeadKeys,
    ceilings: Vec<TableRow<CeilingKeys>>,
    observations: Vec<TableRow<ObservationKeys>>,
    claims: Vec<TableRow<ClaimKeys>>,
}

fn read(document: &DeTable<'_>, reader: &mut FileReader<'_, '_>) -> ObservationFile {
    let mut file = ObservationFile::default();
    for (declared, name, found) in reader.entries("", document, &mut file.head) {
        match declared {
            DeclaredEntry::Key(key) => reader.set(key, found, &mut file.head),
            DeclaredEntry::Table(table) => match table.path {
                "ceiling" => file.ceilings = reader.rows(table, name, found),
                "observation" => file.observations = reader.rows(table, name, found),
                _ => file.claims = reader.rows(table, name, found),
            },
        }
    }
    file
}

#[cfg(test)]
mod tests;
