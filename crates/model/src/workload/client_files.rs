//! Which file each client of a load of blocks accesses, and where in it its blocks are.
//!
//! Not here: files of MPI-IO, which has options of its own, and whole objects, which name the folder of their client.

use super::{EngineId, Workload};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the files of a load belong to its clients; without an option each client has a file and accesses its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(default)]
pub struct ClientFiles {
    /// Whether all clients access one file, in which the blocks of each alternate with those of the others: of `n` clients,
    /// block `k` of client `i` is block `k n + i` of the file, from 0.
    #[serde(skip_serializing_if = "super::is_false")]
    pub interleaved: bool,
    /// Clients by which the load is shifted: client i accesses what is the part of client i + shift. 0 is its own.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub shift: u32,
}

impl ClientFiles {
    /// Whether each client has a file and accesses its own.
    #[must_use]
    pub fn are_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Bytes of the file that all clients share; `None` where no file has so many.
    fn shared_bytes(self, load: &Workload) -> Option<u64> {
        let clients = if self.interleaved { u64::from(load.clients.max(1)) } else { 1 };
        load.file_bytes.0.checked_mul(clients).filter(|bytes| i64::try_from(*bytes).is_ok())
    }

    /// What of `load` cannot be done with files that belong to its clients so, as a phrase; `None` where all can.
    #[must_use]
    pub fn problem(&self, load: &Workload) -> Option<&'static str> {
        let rules = [
            (load.engine == Some(EngineId::Psync), "the engine psync, by its name"),
            (load.objects.is_none(), "blocks, not whole objects"),
            (!load.verify, "no verification"),
            (!self.interleaved || load.block_mix.is_empty(), "blocks of one size"),
            (self.shared_bytes(load).is_some(), "a file of less than 8 EiB"),
        ];
        let broken = rules.into_iter().find(|(holds, _)| !holds && !self.are_plain());
        broken.map(|(_, words)| words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes;
    use crate::workload::{BlockShare, ObjectSet};

    #[test]
    fn files_that_clients_share_or_exchange_need_psync_blocks_and_no_verification() {
        let load = || Workload { engine: Some(EngineId::Psync), ..Workload::default() };
        let plain = ClientFiles::default();
        assert_eq!(plain.problem(&Workload::default()), None);
        for files in [ClientFiles { interleaved: true, ..plain }, ClientFiles { shift: 1, ..plain }] {
            assert_eq!(files.problem(&load()), None);
            let cases = [
                (Workload { engine: None, ..load() }, "psync"),
                (Workload { engine: Some(EngineId::Uring), ..load() }, "psync"),
                (Workload { objects: Some(ObjectSet::default()), ..load() }, "not whole objects"),
                (Workload { verify: true, ..load() }, "no verification"),
            ];
            if files.interleaved {
                let mix = vec![BlockShare { block_bytes: Bytes(3000), weight: 1.0 }];
                let mixed = Workload { block_mix: mix, ..load() };
                assert!(files.problem(&mixed).is_some_and(|problem| problem.contains("one size")));
                let large = Workload { file_bytes: Bytes(1 << 62), clients: 2, ..load() };
                assert!(files.problem(&large).is_some_and(|problem| problem.contains("8 EiB")));
            }
            for (load, words) in cases {
                assert!(files.problem(&load).is_some_and(|problem| problem.contains(words)), "{words}");
            }
        }
    }

    #[test]
    fn what_older_versions_do_not_know_is_left_out_where_it_is_usual() {
        let text = serde_json::to_string(&Workload::default()).unwrap();
        assert!(!text.contains("client_files"), "{text}");
        let files = ClientFiles { interleaved: true, shift: 2 };
        let load = Workload { client_files: files, ..Workload::default() };
        let text = serde_json::to_string(&load).unwrap();
        assert!(text.contains(r#""client_files":{"interleaved":true,"shift":2}"#), "{text}");
        assert_eq!(serde_json::from_str::<Workload>(&text).unwrap(), load);
        assert!(load.shares_file());
    }
}
