//! A file of lines that only grows, a whole line at a time.

use crate::error::RecordError;
use crate::folder::OpenFolder;
use crate::line;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::File;
use std::io::{self, Write};

/// A file of lines.
#[derive(Debug)]
pub(super) struct AppendFile {
    file: File,
    count: u64,
    length_bytes: u64,
    /// A part of a line could not be taken back: what follows would be glued to it.
    broken: bool,
    line: Vec<u8>,
}

impl AppendFile {
    /// The new, empty file `name` of `folder`; one that exists is left alone and is an error.
    pub(super) fn create(folder: &OpenFolder, name: &str) -> Result<Self, RecordError> {
        let file = folder.create_new("create", name)?;
        // Each write is at the end, also after a part of a line was taken back.
        fcntl_getfl(&file)
            .and_then(|flags| fcntl_setfl(&file, flags | OFlags::APPEND))
            .map_err(|errno| RecordError::io("create", &folder.file_path(name), errno.into()))?;
        Ok(Self::from_file(file))
    }

    fn from_file(file: File) -> Self {
        Self { file, count: 0, length_bytes: 0, broken: false, line: Vec::new() }
    }

    /// Lines written.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Adds one line with one `write`. A line of which only a part could be written is taken back.
    pub(super) fn append(&mut self, after_events: Option<u64>, data: &[u8]) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other(
                "an earlier line was written only in part, and nothing may follow it",
            ));
        }
        line::encode(&mut self.line, self.count, after_events, data);
        let written = self.write_line();
        if written.is_err() {
            self.broken = self.file.set_len(self.length_bytes).is_err();
            return written;
        }
        self.count += 1;
        self.length_bytes += u64::try_from(self.line.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    fn write_line(&mut self) -> io::Result<()> {
        let written = loop {
            match self.file.write(&self.line) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if written < self.line.len() {
            // A short write means a full disk or a limit; the rest of the line brings out which, or gets in.
            self.file.write_all(&self.line[written..])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    #[test]
    fn a_full_disk_is_reported_and_nothing_follows_what_could_not_be_taken_back() {
        // The device that is always full (`full(4)`) cannot be truncated either.
        let mut lines = AppendFile::from_file(OpenOptions::new().append(true).open("/dev/full").unwrap());
        assert_eq!(lines.append(None, b"1").unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(lines.append(None, b"1").unwrap_err().kind(), io::ErrorKind::Other);
        assert_eq!(lines.count(), 0);
    }

    #[test]
    fn a_file_that_exists_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        std::fs::write(&path, "mine").unwrap();
        let opened = OpenFolder::open(folder.path()).unwrap();
        let error = AppendFile::create(&opened, "events.jsonl").unwrap_err();
        assert!(error.to_string().contains("somebody else put a file or a link there"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }

    #[test]
    fn every_line_is_written_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let opened = OpenFolder::open(folder.path()).unwrap();
        let mut lines = AppendFile::create(&opened, "events.jsonl").unwrap();
        lines.append(None, b"1").unwrap();
        let path = folder.path().join("events.jsonl");
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more\n").unwrap();
        lines.append(None, b"2").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("more\n{\"seq\":1"), "{text}");
    }
}
