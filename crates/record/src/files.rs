//! Whole JSON files of a record: written beside their place and renamed into it, read with the place of what is wrong.
//!
//! Not here: files of lines, and the folder.

use crate::error::{ErrorKind, RecordError};
use crate::folder::OpenFolder;
use crate::locate::key_at;
use narrows_model::Json;
use narrows_model::json::indented;
use std::io::{self, Read, Write};
use std::path::Path;

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const PLAN: &str = "plan.json";
pub(crate) const INVENTORY: &str = "inventory.json";
pub(crate) const EVENTS: &str = "events.jsonl";
pub(crate) const SAMPLES: &str = "samples.jsonl";
pub(crate) const SUMMARY: &str = "summary.json";

/// Ending of a file that is not whole yet.
pub(crate) const PARTIAL: &str = ".partial";
/// Bytes of a whole file at most: plans of thousands of cells have a hundredth of it.
const WHOLE_BYTES_MAX: u64 = 256 << 20;

/// Writes `value` as the file `name` of `folder`; a reader sees the old file or the new one, never a part.
pub(crate) fn write_whole<T: Json>(folder: &OpenFolder, name: &str, value: &T) -> Result<(), RecordError> {
    let failed = |error| RecordError::io("write", &folder.file_path(name), error);
    let json = value.to_json().map_err(|error| failed(io::Error::from(error)))?;
    // JSON leaves some characters as they are that terminals act on.
    let text = format!("{}\n", narrows_model::printable::lines(&indented(&json)));
    let partial = format!("{name}{PARTIAL}");
    let mut made = folder.create_new("write", &partial)?;
    let written = made.write_all(text.as_bytes()).and_then(|()| {
        // Without it a file system may order the rename before the data, and a crash leaves an empty file.
        made.sync_data()
    });
    let done = written.and_then(|()| folder.replace(&partial, name));
    done.map_err(|error| {
        // The first failure is the one to report; a partial file that stays is ignored by readers.
        drop(folder.remove(&partial));
        failed(error)
    })
}

fn read_whole(folder: &OpenFolder, name: &str) -> io::Result<String> {
    let mut text = String::new();
    let length = folder.open_to_read(name)?.take(WHOLE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if length as u64 > WHOLE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "no file of a record is so long"));
    }
    Ok(text)
}

/// The text of the file `name` of `folder`.
pub(crate) fn read_text(folder: &OpenFolder, name: &str) -> Result<String, RecordError> {
    let path = folder.file_path(name);
    read_whole(folder, name).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => RecordError::found(
            ErrorKind::Malformed,
            "read",
            &path,
            "it is not UTF-8 text",
            "the file was damaged after it was written; restore it from a copy",
        ),
        _ => RecordError::io("read", &path, error),
    })
}

/// The value that `read` makes of `text`, which is the content of the file at `path`.
pub(crate) fn parse_whole<T>(
    path: &Path,
    text: &str,
    read: impl FnOnce(&str) -> serde_json::Result<T>,
) -> Result<T, RecordError> {
    read(text).map_err(|error| {
        let line = u64::try_from(error.line()).ok().filter(|line| *line > 0);
        let hint = if error.is_eof() {
            "the file ends too early; restore it from a copy"
        } else {
            "correct it according to the schema in docs/reference/schema, or restore the file from a copy"
        };
        RecordError::found(ErrorKind::Malformed, "read", path, without_position(&error), hint)
            .at(line, key_at(text, error.line(), error.column()))
    })
}

/// What the JSON reader says, without its own words for the place.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(what, _)| what.to_owned())
}
