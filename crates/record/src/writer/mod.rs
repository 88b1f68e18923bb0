//! Writes a record while a run is in progress: a new folder, then one line per event.
//!
//! Every line is one `write` to a file opened for appending, so that what was written survives the death of the
//! process at any moment. Nothing is buffered between lines.

mod append;
mod folder;

use crate::error::RecordError;
use crate::files::{EVENTS, INVENTORY, MANIFEST, PLAN, SAMPLES, SUMMARY, write_whole};
use crate::line;
use crate::manifest::{LineCounts, Manifest};
use append::AppendFile;
use folder::RecordFolder;
use narrows_model::event::EndReason;
use narrows_model::{Event, Inventory, Plan, Sink, SinkError, Summary};
use std::path::{Path, PathBuf};

/// A record that is being written.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
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
    /// place; it is a record once its manifest is there. Missing folders above it are made.
    ///
    /// # Errors
    /// `Occupied` when `dir` is a file or contains anything; `PermissionDenied`, `NoSpace` or `Io` when it cannot be
    /// written. A folder that did not exist before then does not exist either.
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
        let dir = place.publish()?;
        Ok(Writer { dir, manifest, events, samples, data: Vec::new() })
    }

    /// The record's folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
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
        write_whole(&self.dir, SUMMARY, summary)
    }

    /// Notes in the manifest that the run ended, and why, and how many lines its files have.
    ///
    /// # Errors
    /// When the manifest cannot be written; the record then reads as one that was broken off.
    pub fn finish(&mut self, reason: EndReason) -> Result<(), RecordError> {
        self.manifest.complete = Some(reason);
        self.manifest.lines = Some(LineCounts { events: self.events.count(), samples: self.samples.count() });
        write_whole(&self.dir, MANIFEST, &self.manifest)
    }

    fn append(&mut self, event: &Event) -> Result<(), RecordError> {
        let written = line::encode_event(&mut self.data, event);
        let is_sample = matches!(event, Event::Interval(_) | Event::Counters(_));
        let name = if is_sample { SAMPLES } else { EVENTS };
        written.map_err(|error| RecordError::io("append to", &self.dir.join(name), error.into()))?;
        let appended = if is_sample {
            self.samples.append(Some(self.events.count()), &self.data)
        } else {
            self.events.append(None, &self.data)
        };
        appended.map_err(|error| RecordError::io("append to", &self.dir.join(name), error))
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
    folder: &Path,
    manifest: &Manifest,
    plan: &Plan,
    inventory: &Inventory,
) -> Result<(AppendFile, AppendFile), RecordError> {
    let open = |name: &str| {
        let path = folder.join(name);
        AppendFile::create(&path).map_err(|error| RecordError::io("create", &path, error))
    };
    let events = open(EVENTS)?;
    let samples = open(SAMPLES)?;
    write_whole(folder, PLAN, plan)?;
    write_whole(folder, INVENTORY, inventory)?;
    write_whole(folder, MANIFEST, manifest)?;
    Ok((events, samples))
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod killed;
