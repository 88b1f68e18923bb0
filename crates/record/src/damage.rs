//! What is missing from a record that can be read all the same.
//!
//! Data for people and programs; nothing here repairs.

use std::fmt;

/// One thing that is missing from a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file's name in the record.
    pub file: &'static str,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong there.
    pub kind: DamageKind,
}

/// What is wrong with a line or between two lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DamageKind {
    /// The file is not there.
    FileMissing,
    /// The last line has no end: the writer was stopped in the middle of it. It is dropped.
    TornEnd {
        /// Bytes dropped.
        dropped_bytes: u64,
    },
    /// The data is not what was written. The line is dropped.
    Checksum {
        /// CRC-32 stored in the line.
        stored: u32,
        /// CRC-32 of the data that is there.
        computed: u32,
    },
    /// The text is no line of a record. It is dropped.
    NotALine {
        /// What the JSON reader says.
        problem: String,
    },
    /// The line is longer than any that narrows writes. It is dropped.
    TooLong,
    /// Lines are missing before this one.
    LinesMissing {
        /// How many.
        count: u64,
    },
    /// Lines that were there when the run ended are missing at the end of the file.
    EndMissing {
        /// How many.
        count: u64,
    },
    /// The sequence number is wrong, the data right. The line is kept.
    SequenceNumber {
        /// Number found.
        found: u64,
        /// Number that belongs there.
        expected: u64,
    },
    /// A line that was there before comes again. It is dropped.
    Repeated {
        /// Its number.
        found: u64,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.kind != DamageKind::FileMissing {
            write!(f, ":{}", self.line)?;
        }
        match &self.kind {
            DamageKind::FileMissing => f.write_str(": the file is missing"),
            DamageKind::TornEnd { dropped_bytes } => {
                write!(f, ": the last line is incomplete; {dropped_bytes} bytes dropped")
            }
            DamageKind::Checksum { stored, computed } => {
                write!(f, ": the line says CRC-32 {stored:08x}, its data has {computed:08x}; dropped")
            }
            DamageKind::NotALine { problem } => write!(f, ": not a line of a record ({problem}); dropped"),
            DamageKind::TooLong => f.write_str(": longer than any line of a record; dropped"),
            DamageKind::LinesMissing { count } => write!(f, ": {count} lines are missing before this one"),
            DamageKind::EndMissing { count } => {
                let noun = if *count == 1 { "line is" } else { "lines are" };
                write!(f, ": {count} {noun} missing from here on, at the end of the file")
            }
            DamageKind::SequenceNumber { found, expected } => {
                write!(f, ": has number {found} instead of {expected}; its data is intact and used")
            }
            DamageKind::Repeated { found } => write!(f, ": number {found} was there before; dropped"),
        }
    }
}
