//! Writes a record while a run is in progress: a new folder, then one line per event.
//!
//! Every line is one `write` to a file opened for appending, so that what was written survives the death of the
//! process at any moment. Nothing is buffered between lines. All files are in the folder that was made, even if its path
//! leads elsewhere by then.

mod append;
mod folder;

use crate::error::RecordError;
use crate::files::{EVENTS, INVENTORY, MANIFEST, PLAN, SAMPLES, SUMMARY, write_whole};
use crate::folder::OpenFolder;
use crate::line;
use crate::manifest::{LineCounts, Manifest};
use crate::reader::Record;
use append::AppendFile;
use folder::RecordFolder;
use narrows_model::event::EndReason;
use narrows_model::{Event, Inventory, Plan, Sink, SinkError, Summary};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A record that is being written.
#[derive(Debug)]
pub struct Writer {
    folder: Arc<OpenFolder>,
    manifest: Manifest,
    events: AppendFile,
    samples: AppendFile,
    data: Vec<u8>,
}

impl Writer {
    /// A new record in `dir`, with its manifest, plan and inventory written.
    ///
    /// A folder that does not exist yet is filled under another name beside it and renamed, so that it is a whole
    /// record from the moment it appears. An empty folder that exists is kept as it is (rights, mount) and filled in
    /// place; it is a record once its manifest is there. Missing folders above it are made. What is made is for this user
    /// alone, whatever the umask is.
    ///
    /// # Errors
    /// `Occupied` when `dir` is a file or a link, or contains anything; `NotPrivate` when it belongs to another user or
    /// others may write in it; `Replaced` when somebody else puts another folder in its place meanwhile;
    /// `PermissionDenied`, `NoSpace` or `Io` when it cannot be written. A folder that did not exist before then does not
    /// exist either.
    pub fn create(
        dir: &Path,
        manifest: Manifest,
        plan: &Plan,
        inventory: &Inventory,
    ) -> Result<Writer, RecordError> {
        let place = RecordFolder::claim(dir, &manifest.record_id)?;
        let filled = fill(place.folder(), &manifest, plan, inventory);
        let (events, samples) = match filled {
            Ok(files) => files,
            Err(error) => return Err(place.abandon(error)),
        };
        let folder = Arc::new(place.publish()?);
        Ok(Writer { folder, manifest, events, samples, data: Vec::new() })
    }

    /// Whether a record may be made at `dir`, for who wants to know before a load is announced. Nothing is changed, and
    /// [`Writer::create`] looks again.
    ///
    /// # Errors
    /// When `dir` is there and is no empty folder of this user alone.
    pub fn check(dir: &Path) -> Result<(), RecordError> {
        RecordFolder::check(dir)
    }

    /// The path of the record's folder when it was made.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.folder.path()
    }

    /// The record as far as it is written, read from the folder that is written, whatever its path leads to.
    ///
    /// # Errors
    /// As for [`Record::open`].
    pub fn record(&self) -> Result<Record, RecordError> {
        Record::from_folder(Arc::clone(&self.folder))
    }

    /// Where the record is if [`Writer::dir`] does not lead to it any more; `None` as long as it does.
    #[must_use]
    pub fn moved(&self) -> Option<MovedRecord> {
        if self.folder.is_at_its_path() {
            return None;
        }
        Some(MovedRecord { dir: self.dir().to_owned(), current: self.folder.current_path() })
    }

    /// The current manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Writes `summary.json`, in place of an earlier one.
    ///
    /// # Errors
    /// When it cannot be written; the events stay readable, and the summary can be made from them again.
    pub fn write_summary(&self, summary: &Summary) -> Result<(), RecordError> {
        write_whole(&self.folder, SUMMARY, summary)
    }

    /// Notes in the manifest that the run ended, and why, and how many lines its files have.
    ///
    /// # Errors
    /// When the manifest cannot be written; the record then reads as one that was broken off.
    pub fn finish(&mut self, reason: EndReason) -> Result<(), RecordError> {
        self.manifest.complete = Some(reason);
        self.manifest.lines = Some(LineCounts { events: self.events.count(), samples: self.samples.count() });
        write_whole(&self.folder, MANIFEST, &self.manifest)
    }

    fn append(&mut self, event: &Event) -> Result<(), RecordError> {
        let written = line::encode_event(&mut self.data, event);
        let is_sample = matches!(event, Event::Interval(_) | Event::Counters(_));
        let name = if is_sample { SAMPLES } else { EVENTS };
        written.map_err(|error| RecordError::io("append to", &self.folder.file_path(name), error.into()))?;
        let appended = if is_sample {
            self.samples.append(Some(self.events.count()), &self.data)
        } else {
            self.events.append(None, &self.data)
        };
        appended.map_err(|error| RecordError::io("append to", &self.folder.file_path(name), error))
    }
}

/// A record whose folder was moved, replaced or removed by somebody else while it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedRecord {
    dir: PathBuf,
    current: Option<PathBuf>,
}

impl fmt::Display for MovedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dir = self.dir.display();
        write!(
            f,
            "{dir} no longer leads to the record of this run: somebody moved or replaced the folder; "
        )?;
        match &self.current {
            Some(current) => write!(f, "the record is in {} now", current.display())?,
            None => f.write_str("the record was removed with it, or nobody knows where it is")?,
        }
        write!(
            f,
            ", and what is at {dir} was not touched; write records into a folder in which nobody else may write"
        )
    }
}

impl Sink for Writer {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        self.append(event)
            .map_err(|error| SinkError { message: error.to_string(), source: Some(Box::new(error)) })
    }
}

/// Writes what a record starts with; the manifest last, because it is what makes the folder a record.
fn fill(
    folder: &OpenFolder,
    manifest: &Manifest,
    plan: &Plan,
    inventory: &Inventory,
) -> Result<(AppendFile, AppendFile), RecordError> {
    let events = AppendFile::create(folder, EVENTS)?;
    let samples = AppendFile::create(folder, SAMPLES)?;
    write_whole(folder, PLAN, plan)?;
    write_whole(folder, INVENTORY, inventory)?;
    write_whole(folder, MANIFEST, manifest)?;
    Ok((events, samples))
}

/// A record that is filled and has no name yet.
#[cfg(test)]
pub(crate) fn begun(
    dir: &Path,
    manifest: &Manifest,
    plan: &Plan,
    inventory: &Inventory,
) -> Result<impl std::fmt::Debug + use<>, RecordError> {
    let place = RecordFolder::claim(dir, &manifest.record_id)?;
    fill(place.folder(), manifest, plan, inventory)?;
    Ok(place)
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod killed;

#[cfg(test)]
mod other_users;
