//! Reading of a record: whole where it is whole, with a list of what is missing where it is not.
//!
//! Opening checks every line of `events.jsonl` and reads the additions to the plan; all else is read when it is asked
//! for. Nothing is ever written.
//!
//! Bounded memory, whatever a record contains: a line at a time, a number of places of damage, and a plan with a maximum
//! of cells.

mod growing_plan;

use crate::damage::{Damage, DamageKind, DamageList};
use crate::decode::{self, PLAN_EXTENDED};
use crate::error::{ErrorKind, RecordError};
use crate::files::{EVENTS, INVENTORY, MANIFEST, PLAN, SAMPLES, SUMMARY, parse_whole, read_text};
use crate::folder::OpenFolder;
use crate::line::LineHeader;
use crate::lines::Lines;
use crate::manifest::{Manifest, RECORD_SCHEMA, check_schema};
use growing_plan::{ADDED_BYTES_MAX, GrowingPlan, PLAN_CELLS_MAX};
use narrows_model::plan::PLAN_SCHEMA;
use narrows_model::summary::SUMMARY_SCHEMA;
use narrows_model::{Event, Inventory, Json, Plan, Summary};
use serde::Deserialize;
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::Arc;

/// A record on disk.
#[derive(Debug)]
pub struct Record {
    folder: Arc<OpenFolder>,
    manifest: Manifest,
    plan: Plan,
    inventory: Inventory,
    event_count: u64,
    damage: DamageList,
}

impl Record {
    /// The record in `dir`.
    ///
    /// # Errors
    /// `NotARecord` when there is none; `FromTheFuture` when a newer narrows wrote it; `Malformed` with file, line and
    /// key when manifest, plan, inventory or an addition to the plan are not what their schema says;
    /// `Malformed` too when its plan has more than 250 000 cells, or more than 64 MiB of events add to it;
    /// `PermissionDenied` or `Io` when it cannot be read. Damaged lines are no error: see [`Record::damage`].
    ///
    /// # Cost
    /// Reads `events.jsonl` once and decodes none of its trials; `samples.jsonl` is not touched.
    pub fn open(dir: &Path) -> Result<Record, RecordError> {
        let opened = OpenFolder::open(dir).map_err(|error| match error.kind() {
            io::ErrorKind::NotADirectory => RecordError::found(
                ErrorKind::NotARecord,
                "read",
                dir,
                "it is a file, and a record is a folder",
                "name the folder that a run of narrows wrote",
            ),
            _ => RecordError::io("read", &dir.join(MANIFEST), error),
        })?;
        Self::from_folder(Arc::new(opened))
    }

    /// The record in `folder`.
    pub(crate) fn from_folder(folder: Arc<OpenFolder>) -> Result<Record, RecordError> {
        let manifest: Manifest = versioned(&folder, MANIFEST, RECORD_SCHEMA)?;
        let mut plan = GrowingPlan::new(versioned(&folder, PLAN, PLAN_SCHEMA)?);
        let inventory =
            parse_whole(&folder.file_path(INVENTORY), &read_text(&folder, INVENTORY)?, Inventory::from_json)?;
        let mut lines = open_lines(&folder, EVENTS, manifest.lines.map(|lines| lines.events))?;
        let mut event_count = 0;
        while let Some(header) = advance(&mut lines, &folder, EVENTS)? {
            event_count += 1;
            if lines.data(&header).starts_with(PLAN_EXTENDED) {
                extend(&mut plan, &lines, &header, &folder)?;
            }
        }
        let absent = [EVENTS, SAMPLES].iter().filter_map(|name| missing(&folder, name)).collect();
        let damage = lines.damage().clone().followed_by(&absent);
        let plan = plan.whole();
        Ok(Record { folder, manifest, plan, inventory, event_count, damage })
    }

    /// The record's folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.folder.path()
    }

    /// What ran, and how it ended.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The plan, with everything that was added to it while it ran.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The machine of the command.
    #[must_use]
    pub fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// Whole lines in `events.jsonl` when the record was opened.
    #[must_use]
    pub fn event_count(&self) -> u64 {
        self.event_count
    }

    /// What is missing from the record, samples apart: see [`Record::check_samples`].
    #[must_use]
    pub fn damage(&self) -> &DamageList {
        &self.damage
    }

    /// What happened, interval samples and counter readings apart, in order.
    ///
    /// # Errors
    /// When the file cannot be opened; each event is an error when it is not what the schema says.
    pub fn events(&self) -> Result<Events, RecordError> {
        Events::open(&self.folder, EVENTS, self.manifest.lines.map(|lines| lines.events))
    }

    /// Interval samples and counter readings, in order.
    ///
    /// # Errors
    /// As for [`Record::events`].
    pub fn samples(&self) -> Result<Events, RecordError> {
        Events::open(&self.folder, SAMPLES, self.manifest.lines.map(|lines| lines.samples))
    }

    /// What is missing from the samples.
    ///
    /// # Errors
    /// When the file cannot be read.
    ///
    /// # Cost
    /// Reads `samples.jsonl` once and decodes nothing.
    pub fn check_samples(&self) -> Result<DamageList, RecordError> {
        let mut lines = open_lines(&self.folder, SAMPLES, self.manifest.lines.map(|lines| lines.samples))?;
        while advance(&mut lines, &self.folder, SAMPLES)?.is_some() {}
        Ok(lines.damage().clone())
    }

    /// The summary as it was written; `None` without one.
    ///
    /// # Errors
    /// As for the plan in [`Record::open`]. The summary can be made from the events again.
    pub fn summary(&self) -> Result<Option<Summary>, RecordError> {
        match missing(&self.folder, SUMMARY) {
            Some(_) => Ok(None),
            None => versioned(&self.folder, SUMMARY, SUMMARY_SCHEMA).map(Some),
        }
    }
}

/// The events of one file, read one after the other.
#[derive(Debug)]
pub struct Events {
    folder: Arc<OpenFolder>,
    file: &'static str,
    lines: Lines<LineSource>,
}

impl Events {
    fn open(folder: &Arc<OpenFolder>, file: &'static str, count: Option<u64>) -> Result<Self, RecordError> {
        Ok(Self { folder: Arc::clone(folder), file, lines: open_lines(folder, file, count)? })
    }

    /// What is missing among the lines read so far.
    #[must_use]
    pub fn damage(&self) -> &DamageList {
        self.lines.damage()
    }

    /// The next event with its line's header; `None` at the end.
    pub(crate) fn advance(&mut self) -> Option<Result<(LineHeader, Event), RecordError>> {
        let header = match advance(&mut self.lines, &self.folder, self.file) {
            Ok(header) => header?,
            Err(error) => return Some(Err(error)),
        };
        let event = decode_line(&self.lines, &header, &self.folder, self.file);
        Some(event.map(|event| (header, event)))
    }
}

impl Iterator for Events {
    type Item = Result<Event, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().map(|next| next.map(|(_, event)| event))
    }
}

/// A file of lines, or nothing where it is missing.
type LineSource = Box<dyn ReadLines>;

/// What lines are read from.
trait ReadLines: io::BufRead + std::fmt::Debug + Send {}

impl<T: io::BufRead + std::fmt::Debug + Send> ReadLines for T {}

/// The lines of `file`, which had `count` when the run ended, where that is known. A missing file reads as an empty one;
/// that it is missing is among the damage.
fn open_lines(
    folder: &OpenFolder,
    file: &'static str,
    count: Option<u64>,
) -> Result<Lines<LineSource>, RecordError> {
    match folder.open_to_read(file) {
        Ok(opened) => {
            let source: LineSource = Box::new(BufReader::with_capacity(256 << 10, opened));
            Ok(Lines::new(source, file).with_count(count))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Lines::new(Box::new(io::empty()), file)),
        Err(error) => Err(RecordError::io("read", &folder.file_path(file), error)),
    }
}

fn advance(
    lines: &mut Lines<LineSource>,
    folder: &OpenFolder,
    file: &str,
) -> Result<Option<LineHeader>, RecordError> {
    lines.advance().map_err(|error| RecordError::io("read", &folder.file_path(file), error))
}

fn decode_line(
    lines: &Lines<LineSource>,
    header: &LineHeader,
    folder: &OpenFolder,
    file: &str,
) -> Result<Event, RecordError> {
    decode::event(lines.data(header)).map_err(|mismatch| {
        RecordError::found(
            ErrorKind::Malformed,
            "read",
            &folder.file_path(file),
            mismatch.found,
            "the line is undamaged, but does not match its schema in docs/reference/schema; read it with the narrows \
             that wrote it (narrows_version in manifest.json)",
        )
        .at(Some(lines.line()), mismatch.key)
    })
}

/// Adds to `plan` what the line under `header` says.
fn extend(
    plan: &mut GrowingPlan,
    lines: &Lines<LineSource>,
    header: &LineHeader,
    folder: &OpenFolder,
) -> Result<(), RecordError> {
    let refused = |found: String| {
        let hint = "no run of narrows plans so much: the file is not what one wrote; restore it from a copy";
        let error = RecordError::found(ErrorKind::Malformed, "read", &folder.file_path(EVENTS), found, hint);
        Err(error.at(Some(lines.line()), None))
    };
    if !plan.takes(lines.data(header).len()) {
        return refused(format!("up to here {} MiB and more are added to the plan", ADDED_BYTES_MAX >> 20));
    }
    plan.extend(decode_line(lines, header, folder, EVENTS)?);
    if !plan.is_within_limits() {
        return refused(format!("up to here the plan has more than {PLAN_CELLS_MAX} cells"));
    }
    Ok(())
}

fn missing(folder: &OpenFolder, file: &'static str) -> Option<Damage> {
    folder.lacks(file).then_some(Damage { file, line: 0, kind: DamageKind::FileMissing })
}

/// A document whose schema is looked at before anything else is believed of it.
fn versioned<T: Json>(folder: &OpenFolder, file: &str, known: &str) -> Result<T, RecordError> {
    #[derive(Deserialize)]
    struct Schema {
        #[serde(default)]
        schema: Option<String>,
    }
    let (path, text) = (folder.file_path(file), read_text(folder, file)?);
    let found = parse_whole(&path, &text, |text| serde_json::from_str::<Schema>(text))?;
    check_schema(&path, found.schema.as_deref(), known)?;
    parse_whole(&path, &text, T::from_json)
}

#[cfg(test)]
mod tests;
