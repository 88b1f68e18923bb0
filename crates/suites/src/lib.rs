//! The classic benchmarks: from a suite's options to a plan, and from the summary of its run to its native output.
//!
//! Each suite is a module with a request that implements [`Suite`]: its plan's cells run as all others do, and its
//! native output is made from the summary alone, so that a record gives the same output later. Deliberately absent:
//! measuring, verdicts (those of `analysis` apply to a suite's cells too), and printing.
#![forbid(unsafe_code)]

pub mod arguments;
pub mod bonnie;
mod client_hosts;
mod creator;
pub mod figure;
mod folder;
mod host_list;
mod host_rates;
pub mod import;
pub mod io500;
pub mod ioperf;
pub mod iozone;
pub mod jovian;
mod limits;
pub mod machine_name;
pub mod mdtest;
pub mod postmark;
mod process_cpu;
mod suite;
mod suite_load;
// new suite: module
#[cfg(test)]
mod testing;

use narrows_model::Summary;
use std::ffi::OsString;

pub use client_hosts::SuiteHosts;
pub use folder::{
    FolderRoom, FolderRun, ObjectSupport, OnFolder, OutputFile, OutputTextFn, PreparedFolder, SuiteMachine,
};
pub use host_list::{HostList, HostPlacement, ListedHost};
pub use suite::{ArgumentError, CellMetrics, IsUser, Suite, SuiteEntry};

/// Every suite.
pub const SUITES: &[SuiteEntry] = &[
    bonnie::ENTRY,
    io500::ENTRY,
    ioperf::ENTRY,
    iozone::ENTRY,
    jovian::ENTRY,
    mdtest::ENTRY,
    postmark::ENTRY,
    // new suite: entry
];

/// Every importer, in the order in which a text is tried.
pub static IMPORTERS: &[&import::Importer] = &[
    &postmark::IMPORTER,
    &iozone::IMPORTER,
    &bonnie::IMPORTER,
    &ioperf::IMPORTER,
    &mdtest::IMPORTER,
    &import::dd::IMPORTER,
    // new importer: entry
];

/// What a command line asks for, by what has to be prepared for it.
#[derive(Debug)]
pub enum SuiteStart {
    /// One run on a folder.
    Folder(FolderRun),
    /// Runs on folders, one after another, that a script asks for.
    Script(Box<postmark::Arguments>),
    /// One run on endpoints.
    Nodes(Box<jovian::NodesRun>),
}

/// The long option that replaces a word of a suite's letters; nobody types it.
const LETTER: &str = "--letter=";

/// The words of a command line, in which letters that only their suite can read (`-+n`, `-i0`, one that takes all words
/// up to the next) are long options with the letters as their values; unchanged for other commands.
#[must_use]
pub fn spelled_out(raw: Vec<OsString>) -> Vec<OsString> {
    let is_suite = raw.get(1).is_some_and(|word| word == "suite");
    let mut apart =
        SUITES.iter().filter(|suite| is_suite && raw.get(2).is_some_and(|word| word == suite.name));
    let apart = apart.find_map(SuiteEntry::letters);
    let words: Option<Vec<String>> = raw.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    let Some((words, apart)) = words.zip(apart) else { return raw };
    let (letters, others) = apart(words.get(3..).unwrap_or_default());
    let start = words.iter().take(3).cloned();
    let letters = letters.into_iter().map(|word| format!("{LETTER}{word}"));
    start.chain(letters).chain(others).map(OsString::from).collect()
}

/// `summary` with the figures of its suite in their cells; unchanged where it is of none.
#[must_use]
pub fn with_metrics(mut summary: Summary) -> Summary {
    let metrics = entry_of(&summary).map(|entry| entry.metrics(&summary)).unwrap_or_default();
    for (id, metric) in metrics {
        if let Some(cell) = summary.cells.iter_mut().find(|cell| cell.id == id) {
            cell.metrics.push(metric);
        }
    }
    summary
}

/// The suite that `summary` is of; `None` where it is of none.
#[must_use]
pub fn entry_of(summary: &Summary) -> Option<&'static SuiteEntry> {
    let source = summary.suite.as_ref()?;
    SUITES.iter().find(|entry| entry.name == source.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(line: &str) -> String {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let all: Vec<String> =
            spelled_out(words).into_iter().map(|word| word.into_string().unwrap()).collect();
        all.join(" ")
    }

    #[test]
    fn letters_become_long_options_and_stand_before_the_others() {
        assert_eq!(
            spelled("narrows suite iozone -Ra -+n /mnt -F a b --out r --plan"),
            "narrows suite iozone --letter=-Ra --letter=-+n --letter=-F --letter=a --letter=b /mnt --out r --plan"
        );
    }

    #[test]
    fn other_commands_are_left_as_they_are() {
        for line in ["narrows check -a", "narrows suite bonnie -s 4 -f", "narrows suite", "narrows"] {
            assert_eq!(spelled(line), line);
        }
    }
}
