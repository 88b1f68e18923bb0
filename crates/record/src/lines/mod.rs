//! Reading of lines one after the other: whole ones are handed on, damaged ones are listed and left out.
//!
//! Bounded memory: one line at a time, of 64 MiB at most, and the first thousand places of damage; further ones are
//! counted. The data of a line is not understood here.

mod sequence;

use crate::damage::{Damage, DamageKind, DamageList};
use crate::line::{self, LineHeader};
use sequence::{FoundDamage, Sequence};
use std::io::{self, BufRead, Read};

/// Longest line that is read. The longest one narrows writes is a trial with every device of a large server: some
/// hundred kilobytes.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// The whole lines of one file.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    file: &'static str,
    buffer: Vec<u8>,
    line: u64,
    sequence: Sequence,
    /// Lines that the file had when its run ended, until its end is reached.
    count: Option<u64>,
    damage: DamageList,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R, file: &'static str) -> Self {
        let (buffer, sequence) = (Vec::new(), Sequence::default());
        Self { reader, file, buffer, line: 0, sequence, count: None, damage: DamageList::default() }
    }

    /// The same lines, which are known to be `count`: fewer of them are damage.
    pub(crate) fn with_count(self, count: Option<u64>) -> Self {
        Self { count, ..self }
    }

    /// The next whole line's header; its data is then in [`Lines::data`]. `None` at the end.
    pub(crate) fn advance(&mut self) -> io::Result<Option<LineHeader>> {
        loop {
            self.buffer.clear();
            let read = self.reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut self.buffer)?;
            if read == 0 {
                let found = self.sequence.end();
                self.note_found(found);
                let missing = self.count.take().map_or(0, |count| self.sequence.missing_at_end(count));
                if missing > 0 {
                    self.note_at(self.line + 1, DamageKind::EndMissing { count: missing });
                }
                return Ok(None);
            }
            self.line += 1;
            if self.buffer.pop_if(|last| *last == b'\n').is_none() {
                self.unended()?;
                continue;
            }
            match line::parse(&self.buffer) {
                Ok(header) => {
                    let (keep, found) = self.sequence.take(self.line, header.seq);
                    self.note_found(found);
                    if keep {
                        return Ok(Some(header));
                    }
                    self.note(DamageKind::Repeated { found: header.seq });
                }
                Err(kind) => {
                    self.sequence.lost();
                    self.note(kind);
                }
            }
        }
    }

    /// The JSON text of the line that `header` heads.
    pub(crate) fn data(&self, header: &LineHeader) -> &str {
        // The JSON reader has checked the whole line; a header of another line gives no text instead of a panic.
        self.buffer
            .get(header.data.clone())
            .and_then(|data| std::str::from_utf8(data).ok())
            .unwrap_or_default()
    }

    /// The line last read, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// What is missing among the lines read so far.
    pub(crate) fn damage(&self) -> &DamageList {
        &self.damage
    }

    fn note(&mut self, kind: DamageKind) {
        self.note_at(self.line, kind);
    }

    fn note_found(&mut self, found: FoundDamage) {
        if let Some((line, kind)) = found {
            self.note_at(line, kind);
        }
    }

    fn note_at(&mut self, line: u64, kind: DamageKind) {
        self.damage.add(Damage { file: self.file, line, kind });
    }

    /// A line without an end is the torn last one, or longer than any line may be.
    fn unended(&mut self) -> io::Result<()> {
        let dropped_bytes = u64::try_from(self.buffer.len()).unwrap_or(u64::MAX);
        if dropped_bytes < LINE_BYTES_MAX {
            self.note(DamageKind::TornEnd { dropped_bytes });
            self.sequence.lost();
            return Ok(());
        }
        self.sequence.lost();
        self.note(DamageKind::TooLong);
        self.reader.skip_until(b'\n')?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
