//! What no native output contains and its owner knows: memory, the wire, whose path it was. Applied after the import.
//!
//! Not here: the reading of any format.

use super::Import;
use narrows_model::cell::FactorValue;
use narrows_model::counters::Role;
use narrows_model::observation::{Capacity, Ceiling, CeilingBasis, Claim, Scope};
use narrows_model::units::BytesPerSec;
use narrows_model::{Bytes, Segment};

/// Factor that says whose path an observation took.
pub(crate) const PATH: &str = "path";
/// Its value for a path without a network.
pub(crate) const LOCAL: &str = "local";

/// Options that not every output has a use for, as they are typed.
pub(crate) const BLOCK: &str = "--block";
pub(crate) const PROCESSES: &str = "--processes";
pub(crate) const SECTION: &str = "--section";
pub(crate) const LOCAL_SECTIONS: &str = "--local=SECTION";
pub(crate) const AS_DEVICE: &str = "--as-device";

/// Which results were measured on a path without a network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LocalResults {
    /// None, as far as is known.
    #[default]
    None,
    /// All of them.
    All,
    /// Those of these sections.
    Sections(Vec<String>),
}

/// What completes an import.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ImportOptions {
    /// Title instead of the importer's own.
    pub title: Option<String>,
    /// Where the numbers come from.
    pub source: Option<String>,
    /// Memory of a client.
    pub client_memory: Option<Bytes>,
    /// Memory of the server.
    pub server_memory: Option<Bytes>,
    /// The capacity of the network, as declared.
    pub network: Option<BytesPerSec>,
    /// What was measured without a network.
    pub local: LocalResults,
    /// Sections of a table to read; all where empty.
    pub sections: Vec<String>,
    /// Buffer of an I/O, where the format does not print it.
    pub block: Option<Bytes>,
    /// Processes at once, where the format does not print it.
    pub processes: Option<u64>,
    /// The figures are those of one device of so many: they become ceilings of the device.
    pub device_count: Option<u64>,
    /// Arithmetic that the source prints.
    pub claims: Vec<Claim>,
}

impl ImportOptions {
    /// The options that not every output has a use for, of those that are given.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let by_section = matches!(self.local, LocalResults::Sections(_));
        let all = [
            (BLOCK, self.block.is_some()),
            (PROCESSES, self.processes.is_some()),
            (SECTION, !self.sections.is_empty()),
            (LOCAL_SECTIONS, by_section),
            (AS_DEVICE, self.device_count.is_some()),
        ];
        all.into_iter().filter(|(_, given)| *given).map(|(option, _)| option).collect()
    }

    /// Adds what is known to `made`, and says what is not.
    pub(crate) fn apply(&self, made: &mut Import) {
        let all = &mut made.observations;
        if let Some(title) = &self.title {
            all.title.clone_from(title);
        }
        all.source = self.source.clone().or_else(|| all.source.take());
        for one in &mut all.observations {
            let memory = [(Role::Client, self.client_memory), (Role::Server, self.server_memory)];
            one.memory_bytes.extend(memory.into_iter().filter_map(|(role, bytes)| Some((role, bytes?))));
            if self.local == LocalResults::All {
                one.factors.insert(PATH.to_owned(), FactorValue::Text(LOCAL.to_owned()));
            }
        }
        all.ceilings.extend(self.network.map(wire));
        all.claims.extend(self.claims.iter().cloned());
        made.missing = self.missing();
    }

    /// What the owner of the figures may add, as lines of the file that are not yet true.
    fn missing(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.client_memory.is_none() {
            lines.push(
                "Unknown: memory. memory_bytes = { client = BYTES } below an observation, or --memory SIZE, makes it \
                 possible to distinguish caches from devices.",
            );
        }
        if self.network.is_none() && self.local != LocalResults::All {
            lines.push(
                "Unknown: the path. Give --network RATE for the bandwidth of the wire, or --local if there is none: a \
                 rate above the wire came from a cache.",
            );
        }
        lines.into_iter().map(str::to_owned).collect()
    }
}

fn wire(rate: BytesPerSec) -> Ceiling {
    Ceiling {
        segment: Segment::NetworkBandwidth,
        capacity: Capacity::BytesPerS(rate),
        scope: Scope::Shared,
        count: None,
        op: None,
        basis: CeilingBasis::Declared,
        note: None,
    }
}
