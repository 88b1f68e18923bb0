//! The names of engines, as in records and studies.
//!
//! Not here: what an engine does and whether a machine lets it, which are the engine's own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineId {
    /// Completes every request at once.
    Null,
    /// A declared machine, simulated.
    Sim,
    /// `pread` and `pwrite`.
    Psync,
    /// `io_uring`.
    Uring,
    /// A file mapped into memory.
    Mmap,
    /// The C library's buffered streams.
    Stdio,
    /// Whole files: made, read, looked at, deleted.
    Objects,
    /// A `narrows serve` endpoint.
    Endpoint,
}

impl EngineId {
    /// Every engine, in the order of the reference.
    pub const ALL: [EngineId; 8] = [
        EngineId::Null,
        EngineId::Sim,
        EngineId::Psync,
        EngineId::Uring,
        EngineId::Mmap,
        EngineId::Stdio,
        EngineId::Objects,
        EngineId::Endpoint,
    ];

    /// The name as in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            EngineId::Null => "null",
            EngineId::Sim => "sim",
            EngineId::Psync => "psync",
            EngineId::Uring => "uring",
            EngineId::Mmap => "mmap",
            EngineId::Stdio => "stdio",
            EngineId::Objects => "objects",
            EngineId::Endpoint => "endpoint",
        }
    }

    /// Whether a worker has one request in flight at most, so that more of them take more workers.
    #[must_use]
    pub fn is_synchronous(self) -> bool {
        matches!(self, EngineId::Psync | EngineId::Mmap | EngineId::Stdio | EngineId::Objects)
    }

    /// The engine of this name; `None` when there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }
}

impl fmt::Display for EngineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_its_engine_in_records_too() {
        for engine in EngineId::ALL {
            assert_eq!(EngineId::from_name(engine.name()), Some(engine));
            assert_eq!(serde_json::to_value(engine).unwrap(), engine.name());
        }
    }
}
