//! Whole JSON files of a record: written beside their place and renamed into it, read with the place of what is wrong.

use crate::error::{ErrorKind, RecordError};
use crate::locate::key_at;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const PLAN: &str = "plan.json";
pub(crate) const INVENTORY: &str = "inventory.json";
pub(crate) const EVENTS: &str = "events.jsonl";
pub(crate) const SAMPLES: &str = "samples.jsonl";
pub(crate) const SUMMARY: &str = "summary.json";

/// Ending of a file that is not whole yet.
const PARTIAL: &str = ".partial";

/// Writes `value` as the file `name` of `dir`; a reader sees the old file or the new one, never a part.
pub(crate) fn write_whole<T: Serialize>(dir: &Path, name: &str, value: &T) -> Result<(), RecordError> {
    let path = dir.join(name);
    let partial = dir.join(format!("{name}{PARTIAL}"));
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| RecordError::io("write", &path, std::io::Error::from(error)))?;
    text.push(b'\n');
    let written = File::create(&partial).and_then(|mut file| {
        file.write_all(&text)?;
        // Without it a file system may order the rename before the data, and a crash leaves an empty file.
        file.sync_data()
    });
    let done = written.and_then(|()| fs::rename(&partial, &path));
    done.map_err(|error| {
        // The first failure is the one to tell; a partial file that stays is ignored by readers.
        drop(fs::remove_file(&partial));
        RecordError::io("write", &path, error)
    })
}

/// The text of the file `name` of `dir`.
pub(crate) fn read_text(dir: &Path, name: &str) -> Result<String, RecordError> {
    let path = dir.join(name);
    fs::read_to_string(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => RecordError::found(
            ErrorKind::Malformed,
            "read",
            &path,
            "it is not UTF-8 text",
            "the file was damaged after it was written; restore it from a copy",
        ),
        std::io::ErrorKind::NotADirectory => RecordError::found(
            ErrorKind::NotARecord,
            "read",
            dir,
            "it is a file, and a record is a folder",
            "name the folder that a run of narrows left",
        ),
        _ => RecordError::io("read", &path, error),
    })
}

/// The value in `text`, which is the content of the file `name` of `dir`.
pub(crate) fn parse_whole<T: DeserializeOwned>(dir: &Path, name: &str, text: &str) -> Result<T, RecordError> {
    serde_json::from_str(text).map_err(|error| {
        let line = u64::try_from(error.line()).ok().filter(|line| *line > 0);
        let hint = if error.is_eof() {
            "the file ends too early; restore it from a copy"
        } else {
            "put back what the schema in docs/reference/schema says, or restore the file from a copy"
        };
        RecordError::found(ErrorKind::Malformed, "read", &dir.join(name), without_place(&error), hint)
            .at(line, key_at(text, error.line(), error.column()))
    })
}

/// What the JSON reader says, without its own words for the place.
pub(crate) fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(what, _)| what.to_owned())
}
