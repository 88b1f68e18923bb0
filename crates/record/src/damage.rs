//! What is missing from a record that can be read all the same.
//!
//! Data for people and programs; nothing here repairs. Bounded memory: a file of nothing but bad lines is listed in part
//! and counted whole.

use std::fmt;

/// Places of damage that are listed of one file. A person reads some of them, and a file with more is worth nothing.
pub const DAMAGE_LISTED_MAX: usize = 1000;
/// Characters of what the JSON reader says of a line: it repeats texts of the line, which may be the whole of it.
const PROBLEM_CHARS_MAX: usize = 200;

/// Places where a record is damaged, in the order of each file: the first ones listed, the rest counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DamageList {
    listed: Vec<Damage>,
    unlisted_count: u64,
}

impl DamageList {
    /// The places that are listed: at most [`DAMAGE_LISTED_MAX`] of each file.
    #[must_use]
    pub fn listed(&self) -> &[Damage] {
        &self.listed
    }

    /// Places, those included that are not listed.
    #[must_use]
    pub fn count(&self) -> u64 {
        u64::try_from(self.listed.len()).unwrap_or(u64::MAX).saturating_add(self.unlisted_count)
    }

    /// Whether there is no damage.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// These places and those of another file behind them.
    #[must_use]
    pub fn followed_by(mut self, other: &DamageList) -> Self {
        self.listed.extend_from_slice(&other.listed);
        self.unlisted_count = self.unlisted_count.saturating_add(other.unlisted_count);
        self
    }

    /// One more place; it is counted alone where so many are listed.
    pub(crate) fn add(&mut self, damage: Damage) {
        if self.listed.len() < DAMAGE_LISTED_MAX {
            self.listed.push(damage);
        } else {
            self.unlisted_count = self.unlisted_count.saturating_add(1);
        }
    }
}

impl FromIterator<Damage> for DamageList {
    fn from_iter<T: IntoIterator<Item = Damage>>(places: T) -> Self {
        let mut list = Self::default();
        places.into_iter().for_each(|damage| list.add(damage));
        list
    }
}

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
        /// What the JSON reader says, at most 200 characters of it.
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

impl DamageKind {
    /// The text of a line is no line, as `problem` says.
    pub(crate) fn not_a_line(problem: &str) -> Self {
        Self::NotALine { problem: problem.chars().take(PROBLEM_CHARS_MAX).collect() }
    }
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
