//! What is asked of bonnie++, and what it comes to on a machine.
//!
//! Not here: what can be wrong with it, which is `problems`.

use super::MIB;
use crate::client_hosts::SuiteHosts;
use crate::machine_name;
use narrows_model::Bytes;
use narrows_study::Problem;
use serde::{Deserialize, Serialize};

/// Thousands of 1024 files where none are given.
const FILE_THOUSANDS: u64 = 16;
/// MiB that the phases of characters of version 2.00 move.
pub(super) const CHAR_MIB: u64 = 20;

/// Which bonnie++: how it moves single characters, how many processes seek, its text and its CSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Edition {
    /// `putc` and `getc` over the whole file, 3 processes that seek, 27 fields.
    #[serde(rename = "1.03")]
    V1_03,
    /// A `write` and a `read` for every byte of a part of it, 5 that seek, 50 fields with latencies.
    #[serde(rename = "2.00")]
    V2_00,
}

impl Edition {
    /// Both, the older one first.
    pub(super) const ALL: [Self; 2] = [Self::V1_03, Self::V2_00];

    /// Its number.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V1_03 => "1.03",
            Self::V2_00 => "2.00",
        }
    }

    /// The edition of this number.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|edition| edition.name() == name)
    }

    fn seekers(self) -> u32 {
        match self {
            Self::V1_03 => 3,
            Self::V2_00 => 5,
        }
    }
}

/// The many files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BonnieFiles {
    /// How many, in thousands of 1024; 0 leaves their phases out.
    pub thousands: u64,
    /// Bytes of the largest.
    pub max: Bytes,
    /// Bytes of the smallest.
    pub min: Bytes,
    /// Folders that they are in; 0 means one.
    pub folders: u64,
    /// Bytes of each call that writes or reads one.
    pub chunk: Bytes,
}

impl Default for BonnieFiles {
    fn default() -> Self {
        let (none, chunk) = (Bytes(0), Bytes(8192));
        Self { thousands: FILE_THOUSANDS, max: none, min: none, folders: 0, chunk }
    }
}

impl BonnieFiles {
    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.thousands.saturating_mul(1024)
    }
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is a letter of bonnie++ of its own")]
pub struct Request {
    /// Which bonnie++.
    pub edition: Edition,
    /// Size of the file in MiB; `None` is twice the memory, and 0 leaves the phases of data out.
    pub file_mib: Option<u64>,
    /// Bytes of a block.
    pub chunk: Bytes,
    /// Seeks of each process, by all that seek for it.
    pub seeks: u64,
    /// How many seek at once; `None` is the edition's number.
    pub seekers: Option<u64>,
    /// The many files.
    pub files: BonnieFiles,
    /// MiB that the phases of characters move in edition 2.00; `None` leaves them out.
    pub char_mib: Option<u64>,
    /// Whether every write is made durable before the next.
    pub syncs_each: bool,
    /// Whether blocks bypass the page cache.
    pub direct: bool,
    /// Times that all phases are run.
    pub runs: u32,
    /// Processes that begin each phase together.
    pub processes: u32,
    /// The machine's name; `None` until it is known.
    pub name: Option<String>,
    /// Whether stdout has the CSV alone.
    pub csv_alone: bool,
    /// MiB of memory that count; `None` is the machine's, and 0 lets any size pass.
    pub ram_mib: Option<u64>,
    /// Hosts that the processes run on, in turn; none for this machine.
    #[serde(default, skip_serializing_if = "SuiteHosts::is_empty")]
    pub hosts: SuiteHosts,
    /// Whether cuts of the path are measured beside the phases.
    pub has_cuts: bool,
    /// Memory of the host that has the least, where known.
    pub memory: Option<Bytes>,
    /// Free room for files, where known.
    pub free: Option<Bytes>,
}

impl Request {
    /// The machine's name in the output.
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(machine_name::NAMELESS)
    }

    /// Has the processes run on `hosts`: so many as were asked for on each. Rows have the names of the hosts.
    ///
    /// # Errors
    /// A name for all of them, and more processes than there can be.
    pub(super) fn set_hosts(&mut self, hosts: &SuiteHosts) -> Result<(), Vec<Problem>> {
        self.hosts = hosts.clone();
        self.processes = self.processes.saturating_mul(hosts.count());
        let mut problems = self.typed_problems();
        if let Some(name) = &self.name {
            let hint = "each process has a row with the name of its host: omit -m";
            problems.push(Problem::new("-m", format!("{name}, with --hosts"), "no name", hint));
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// The name in the row of a process, from 1.
    pub(super) fn row_name(&self, process: u64) -> String {
        let clients = self.hosts.client_names(self.processes as usize);
        let index = usize::try_from(process).unwrap_or(usize::MAX).checked_sub(1);
        index.and_then(|index| clients.get(index).cloned()).unwrap_or_else(|| self.name().to_owned())
    }

    /// The memory that a file's size is compared with, in MiB; `None` where it is unknown or 0.
    pub(super) fn memory_mib(&self) -> Option<u64> {
        let found = self.memory.map(|memory| memory.0 / MIB);
        self.ram_mib.or(found).filter(|memory| *memory > 0)
    }

    /// Bytes of the file of each process; 0 without one.
    #[must_use]
    pub fn file_bytes(&self) -> Bytes {
        let default = || self.memory_mib().unwrap_or(0).saturating_mul(2);
        Bytes(self.file_mib.unwrap_or_else(default).saturating_mul(MIB))
    }

    /// Bytes that the phases of characters move; 0 without them.
    #[must_use]
    pub fn char_bytes(&self) -> Bytes {
        let Some(mib) = self.char_mib else { return Bytes(0) };
        match self.edition {
            Edition::V1_03 => self.file_bytes(),
            Edition::V2_00 => Bytes(mib.saturating_mul(MIB)).min(self.file_bytes()),
        }
    }

    /// The size of the file as it is printed: whole GiB, else MiB.
    pub(super) fn printed_size(&self) -> String {
        let mib = self.file_bytes().0 / MIB;
        if mib > 0 && mib.is_multiple_of(1024) { format!("{}G", mib / 1024) } else { format!("{mib}M") }
    }

    /// The chunk as the edition prints it; empty for the usual one.
    pub(super) fn printed_chunk(&self) -> String {
        match (self.chunk.0, self.edition) {
            (8192, _) => String::new(),
            (MIB, Edition::V2_00) => "1m".to_owned(),
            (bytes, _) if bytes.is_multiple_of(1024) => format!("{}k", bytes / 1024),
            (bytes, _) => bytes.to_string(),
        }
    }

    /// Processes that seek for each process.
    #[must_use]
    pub fn seekers(&self) -> u32 {
        self.seekers.map_or(self.edition.seekers(), narrows_model::units::saturate_u32)
    }

    /// Bytes of everything on the disk at once.
    #[must_use]
    pub fn all_bytes(&self) -> Bytes {
        let many = self.files.count().saturating_mul(self.files.max.0.saturating_add(self.files.min.0)) / 2;
        Bytes(self.file_bytes().0.max(many).saturating_mul(u64::from(self.processes.max(1))))
    }
}
