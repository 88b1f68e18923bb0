//! Whole JSON files of a record: written beside their place and renamed into it, read with the place of what is wrong.

use crate::error::{ErrorKind, RecordError};
use crate::locate::key_at;
use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const PLAN: &str = "plan.json";
pub(crate) const INVENTORY: &str = "inventory.json";
pub(crate) const EVENTS: &str = "events.jsonl";
pub(crate) const SAMPLES: &str = "samples.jsonl";
pub(crate) const SUMMARY: &str = "summary.json";

/// Ending of a file that is not whole yet.
const PARTIAL: &str = ".partial";
/// Bytes of a whole file at most: plans of thousands of cells have a hundredth of it.
const WHOLE_BYTES_MAX: u64 = 256 << 20;

/// Writes `value` as the file `name` of `dir`; a reader sees the old file or the new one, never a part.
pub(crate) fn write_whole<T: Serialize>(dir: &Path, name: &str, value: &T) -> Result<(), RecordError> {
    let path = dir.join(name);
    let partial = dir.join(format!("{name}{PARTIAL}"));
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| RecordError::io("write", &path, std::io::Error::from(error)))?;
    // JSON leaves some characters as they are that terminals act on.
    let text = format!("{}\n", narrows_model::printable::lines(&text));
    // Somebody else may write in a folder that was there before: what has the name is neither followed nor kept.
    let made = OpenOptions::new().write(true).create_new(true).open(&partial).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => RecordError::found(
            ErrorKind::Io,
            "write",
            &partial,
            "somebody else put a file or a link there while the record was written",
            "write the record into a folder in which nobody else may write, with --out; nothing was changed there",
        ),
        _ => RecordError::io("write", &path, error),
    })?;
    let written = Ok(made).and_then(|mut file: File| {
        file.write_all(text.as_bytes())?;
        // Without it a file system may order the rename before the data, and a crash leaves an empty file.
        file.sync_data()
    });
    let done = written.and_then(|()| fs::rename(&partial, &path));
    done.map_err(|error| {
        // The first failure is the one to report; a partial file that stays is ignored by readers.
        drop(fs::remove_file(&partial));
        RecordError::io("write", &path, error)
    })
}

/// The file at `path` to be read: a regular one that is no link, and never waited for.
///
/// # Source
/// open(2) with `O_NOFOLLOW`, and with `O_NONBLOCK` because opening a pipe waits for its other end.
pub(crate) fn open_to_read(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if opened.metadata()?.is_file() {
        return Ok(opened);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
}

fn read_whole(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let length = open_to_read(path)?.take(WHOLE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if length as u64 > WHOLE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "no file of a record is so long"));
    }
    Ok(text)
}

/// The text of the file `name` of `dir`.
pub(crate) fn read_text(dir: &Path, name: &str) -> Result<String, RecordError> {
    let path = dir.join(name);
    read_whole(&path).map_err(|error| match error.kind() {
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
            "name the folder that a run of narrows wrote",
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
            "correct it according to the schema in docs/reference/schema, or restore the file from a copy"
        };
        RecordError::found(ErrorKind::Malformed, "read", &dir.join(name), without_position(&error), hint)
            .at(line, key_at(text, error.line(), error.column()))
    })
}

/// What the JSON reader says, without its own words for the place.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(what, _)| what.to_owned())
}
