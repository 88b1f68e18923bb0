//! Reading of a record: whole where it is whole, with a list of what is missing where it is not.
//!
//! Opening checks every line of `events.jsonl` and reads the additions to the plan; all else is read when it is asked
//! for. Nothing is ever written.

use crate::damage::{Damage, DamageKind};
use crate::decode::{self, PLAN_EXTENDED};
use crate::error::{ErrorKind, RecordError};
use crate::files::{
    EVENTS, INVENTORY, MANIFEST, PLAN, SAMPLES, SUMMARY, open_to_read, parse_whole, read_text,
};
use crate::line::LineHeader;
use crate::lines::Lines;
use crate::manifest::{Manifest, RECORD_SCHEMA, check_schema};
use narrows_model::plan::PLAN_SCHEMA;
use narrows_model::summary::SUMMARY_SCHEMA;
use narrows_model::{Event, Inventory, Plan, Summary};
use serde::Deserialize;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

/// A record on disk.
#[derive(Debug)]
pub struct Record {
    dir: PathBuf,
    manifest: Manifest,
    plan: Plan,
    inventory: Inventory,
    event_count: u64,
    damage: Vec<Damage>,
}

impl Record {
    /// The record in `dir`.
    ///
    /// # Errors
    /// `NotARecord` when there is none; `FromTheFuture` when a newer narrows wrote it; `Malformed` with file, line and
    /// key when manifest, plan, inventory or an addition to the plan are not what their schema says;
    /// `PermissionDenied` or `Io` when it cannot be read. Damaged lines are no error: see [`Record::damage`].
    ///
    /// # Cost
    /// Reads `events.jsonl` once and decodes none of its trials; `samples.jsonl` is not touched.
    pub fn open(dir: &Path) -> Result<Record, RecordError> {
        let manifest: Manifest = versioned(dir, MANIFEST, RECORD_SCHEMA)?;
        let mut plan: Plan = versioned(dir, PLAN, PLAN_SCHEMA)?;
        let inventory = parse_whole(dir, INVENTORY, &read_text(dir, INVENTORY)?)?;
        let mut lines = open_lines(dir, EVENTS, manifest.lines.map(|lines| lines.events))?;
        let mut event_count = 0;
        while let Some(header) = advance(&mut lines, dir, EVENTS)? {
            event_count += 1;
            if lines.data(&header).starts_with(PLAN_EXTENDED) {
                extend(&mut plan, decode_line(&lines, &header, dir, EVENTS)?);
            }
        }
        let mut damage = lines.damage().to_vec();
        damage.extend([EVENTS, SAMPLES].iter().filter_map(|name| missing(dir, name)));
        Ok(Record { dir: dir.to_owned(), manifest, plan, inventory, event_count, damage })
    }

    /// The record's folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
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

    /// What is missing from the record, samples apart: see [`Events::damage`].
    #[must_use]
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// What happened, interval samples and counter readings apart, in order.
    ///
    /// # Errors
    /// When the file cannot be opened; each event is an error when it is not what the schema says.
    pub fn events(&self) -> Result<Events, RecordError> {
        Events::open(&self.dir, EVENTS, self.manifest.lines.map(|lines| lines.events))
    }

    /// Interval samples and counter readings, in order.
    ///
    /// # Errors
    /// As for [`Record::events`].
    pub fn samples(&self) -> Result<Events, RecordError> {
        Events::open(&self.dir, SAMPLES, self.manifest.lines.map(|lines| lines.samples))
    }

    /// The summary as it was written; `None` without one.
    ///
    /// # Errors
    /// As for the plan in [`Record::open`]. The summary can be made from the events again.
    pub fn summary(&self) -> Result<Option<Summary>, RecordError> {
        match missing(&self.dir, SUMMARY) {
            Some(_) => Ok(None),
            None => versioned(&self.dir, SUMMARY, SUMMARY_SCHEMA).map(Some),
        }
    }
}

/// The events of one file, read one after the other.
#[derive(Debug)]
pub struct Events {
    dir: PathBuf,
    file: &'static str,
    lines: Lines<LineSource>,
}

impl Events {
    fn open(dir: &Path, file: &'static str, count: Option<u64>) -> Result<Self, RecordError> {
        Ok(Self { dir: dir.to_owned(), file, lines: open_lines(dir, file, count)? })
    }

    /// What is missing among the lines read so far.
    #[must_use]
    pub fn damage(&self) -> &[Damage] {
        self.lines.damage()
    }

    /// The next event with its line's header; `None` at the end.
    pub(crate) fn advance(&mut self) -> Option<Result<(LineHeader, Event), RecordError>> {
        let header = match advance(&mut self.lines, &self.dir, self.file) {
            Ok(header) => header?,
            Err(error) => return Some(Err(error)),
        };
        let event = decode_line(&self.lines, &header, &self.dir, self.file);
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
fn open_lines(dir: &Path, file: &'static str, count: Option<u64>) -> Result<Lines<LineSource>, RecordError> {
    let path = dir.join(file);
    match open_to_read(&path) {
        Ok(opened) => {
            let source: LineSource = Box::new(BufReader::with_capacity(256 << 10, opened));
            Ok(Lines::new(source, file).with_count(count))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Lines::new(Box::new(io::empty()), file)),
        Err(error) => Err(RecordError::io("read", &path, error)),
    }
}

fn advance(lines: &mut Lines<LineSource>, dir: &Path, file: &str) -> Result<Option<LineHeader>, RecordError> {
    lines.advance().map_err(|error| RecordError::io("read", &dir.join(file), error))
}

fn decode_line(
    lines: &Lines<LineSource>,
    header: &LineHeader,
    dir: &Path,
    file: &str,
) -> Result<Event, RecordError> {
    decode::event(lines.data(header)).map_err(|mismatch| {
        RecordError::found(
            ErrorKind::Malformed,
            "read",
            &dir.join(file),
            mismatch.found,
            "the line is undamaged, but does not match its schema in docs/reference/schema; read it with the narrows \
             that wrote it (narrows_version in manifest.json)",
        )
        .at(Some(lines.line()), mismatch.key)
    })
}

fn extend(plan: &mut Plan, event: Event) {
    if let Event::PlanExtended { cells, skipped } = event {
        plan.cells.extend(cells);
        plan.skipped.extend(skipped);
    }
}

fn missing(dir: &Path, file: &'static str) -> Option<Damage> {
    let absent = matches!(dir.join(file).try_exists(), Ok(false));
    absent.then_some(Damage { file, line: 0, kind: DamageKind::FileMissing })
}

/// A document whose schema is looked at before anything else is believed of it.
fn versioned<T: serde::de::DeserializeOwned>(dir: &Path, file: &str, known: &str) -> Result<T, RecordError> {
    #[derive(Deserialize)]
    struct Schema {
        #[serde(default)]
        schema: Option<String>,
    }
    let text = read_text(dir, file)?;
    let found: Schema = parse_whole(dir, file, &text)?;
    check_schema(&dir.join(file), found.schema.as_deref(), known)?;
    parse_whole(dir, file, &text)
}

#[cfg(test)]
mod tests;
