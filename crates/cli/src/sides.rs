//! The runs of one side of a comparison: a record, or a folder of records, read with what shows how far figures vary.

use crate::console::Console;
use crate::exit::{CommandFailure, Exit, verdict_of};
use crate::record_events::{facts_of, say_damage, take_events};
use narrows_analysis::{ComparisonSide, MeasuredRun, NamedRun, RunReader};
use narrows_model::event::EndReason;
use narrows_record::{ErrorKind, Record};
use narrows_report::text::Style;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The records of a side, opened.
pub(crate) struct OpenSide {
    name: String,
    records: Vec<(PathBuf, Record)>,
}

/// The runs of a side, read.
pub(crate) struct Side {
    name: String,
    /// The earliest first; one at least.
    pub(crate) runs: Vec<NamedRun>,
    /// Whether any of them cannot be relied on.
    pub(crate) is_doubtful: bool,
}

impl OpenSide {
    /// The record at `path`, or those directly in it.
    ///
    /// # Errors
    /// When there is none, or any of them cannot be opened.
    pub(crate) fn open(path: &Path) -> Result<Self, CommandFailure> {
        let name = path.display().to_string();
        if path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return Err(CommandFailure::bad_input(format!(
                "{name} does not exist; name a record, a folder of records, or a file of figures"
            )));
        }
        if path.is_file() {
            return Err(CommandFailure::bad_input(format!(
                "{name} is a file, but a record is a folder; name the folder that a run of narrows wrote"
            )));
        }
        match Record::open(path) {
            Ok(record) => Ok(Self { name, records: vec![(path.to_path_buf(), record)] }),
            Err(error) if error.kind() == ErrorKind::NotARecord => {
                Self::inside(path)?.ok_or_else(|| error.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The records directly in the folder `path`; `None` where there are none.
    ///
    /// # Errors
    /// When there are records, and something beside them that is none.
    pub(crate) fn inside(path: &Path) -> Result<Option<Self>, CommandFailure> {
        let records = records_in(path)?;
        Ok((!records.is_empty()).then(|| Self { name: path.display().to_string(), records }))
    }

    /// The identities of its runs, each with its path.
    pub(crate) fn ids(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.records.iter().map(|(path, record)| (record.manifest().record_id.as_str(), path.as_path()))
    }

    /// Its records, each with its path.
    pub(crate) fn records(&self) -> &[(PathBuf, Record)] {
        &self.records
    }

    /// Reads every run.
    ///
    /// # Errors
    /// When a record cannot be read, or nothing was measured in it.
    pub(crate) fn read(&self, console: &Console) -> Result<Side, CommandFailure> {
        let mut is_doubtful = false;
        let mut runs = Vec::new();
        let mut failed = Vec::new();
        for (path, record) in &self.records {
            let run = read(record, path, console)?;
            match trust(&run, record, path) {
                Ok(exit) => is_doubtful |= exit == Exit::Untrustworthy,
                Err(failure) => failed.push(failure),
            }
            runs.push(NamedRun { name: path.display().to_string(), run });
        }
        CommandFailure::combine(&failed)?;
        runs.sort_by(|a, b| a.run.summary.started_at.cmp(&b.run.summary.started_at));
        Ok(Side { name: self.name.clone(), runs, is_doubtful })
    }
}

impl Side {
    /// As the comparison takes it.
    pub(crate) fn compared(&self) -> ComparisonSide<'_> {
        ComparisonSide { name: &self.name, runs: &self.runs }
    }

    /// Prints how much its runs differ.
    ///
    /// # Errors
    /// When stdout cannot be written.
    pub(crate) fn print_noise(
        &self,
        json: bool,
        style: &Style,
        console: &Console,
    ) -> Result<(), CommandFailure> {
        let found = narrows_analysis::noise(self.compared(), env!("CARGO_PKG_VERSION"));
        let text = match self.runs.first() {
            Some(first) if !json => narrows_report::text::noise(&found, &first.run.summary, style),
            _ => narrows_report::json::noise(&found),
        };
        console.result(&text)
    }
}

/// All of them; those that failed are reported together.
pub(crate) fn combined<T>(
    all: impl Iterator<Item = Result<T, CommandFailure>>,
) -> Result<Vec<T>, CommandFailure> {
    let (good, bad): (Vec<_>, Vec<_>) = all.partition(Result::is_ok);
    let failed: Vec<CommandFailure> = bad.into_iter().filter_map(Result::err).collect();
    CommandFailure::combine(&failed)?;
    Ok(good.into_iter().flatten().collect())
}

/// Fails where a run is given twice: it would be taken as two independent ones.
pub(crate) fn check_distinct(sides: &[OpenSide]) -> Result<(), CommandFailure> {
    let mut known: BTreeMap<&str, &Path> = BTreeMap::new();
    for (id, path) in sides.iter().flat_map(OpenSide::ids) {
        if let Some(first) = known.insert(id, path) {
            return Err(CommandFailure::bad_input(format!(
                "{} and {} are records of the same run; name each run once",
                first.display(),
                path.display()
            )));
        }
    }
    Ok(())
}

/// The records directly in `path`, in the order of their names.
fn records_in(path: &Path) -> Result<Vec<(PathBuf, Record)>, CommandFailure> {
    let Ok(entries) = fs::read_dir(path) else { return Ok(Vec::new()) };
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|inner| inner.is_dir() && !is_hidden(inner))
        .collect();
    folders.sort();
    let opened = folders.into_iter().map(|folder| (Record::open(&folder), folder));
    let (good, bad): (Vec<_>, Vec<_>) = opened.partition(|(record, _)| record.is_ok());
    if good.is_empty() {
        return Ok(Vec::new());
    }
    let failed: Vec<CommandFailure> =
        bad.into_iter().filter_map(|(record, _)| record.err()).map(CommandFailure::from).collect();
    CommandFailure::combine(&failed)?;
    Ok(good.into_iter().filter_map(|(record, folder)| Some((folder, record.ok()?))).collect())
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

fn read(record: &Record, path: &Path, console: &Console) -> Result<MeasuredRun, CommandFailure> {
    let mut reader = RunReader::new(facts_of(record), record.plan(), record.inventory());
    let damage = take_events(record, &mut |event| reader.event(event))?;
    say_damage(&path.display().to_string(), &damage, console);
    let mut run = reader.finish();
    run.summary.complete &= damage.is_empty();
    Ok(run)
}

/// Whether the run can be relied on, as its own command said.
fn trust(run: &MeasuredRun, record: &Record, path: &Path) -> Result<Exit, CommandFailure> {
    let reason = record.manifest().complete.unwrap_or(EndReason::Interrupted);
    verdict_of(&run.summary, reason).map_err(|failure| {
        CommandFailure::could_not_run(format!("{}: {}", path.display(), failure.message()))
    })
}
