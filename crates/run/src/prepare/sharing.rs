//! An object that all clients of a load share: how large it is made, and what each has of it.
//!
//! Not here: where in the object a client's blocks are, which its engine decides.

use narrows_model::{Bytes, Workload};

/// Name of the object that all clients share.
pub(super) const SHARED_OBJECT: &str = "data-shared";

/// Clients that one object is made for.
fn sharers(workload: &Workload) -> u32 {
    if workload.shares_file() { workload.clients.max(1) } else { 1 }
}

/// The load as the object of one client sees it, or that of all where they share one.
pub(super) fn asked_of_object(workload: &Workload) -> Workload {
    let sharers = sharers(workload);
    Workload {
        file_bytes: Bytes(workload.file_bytes.0.saturating_mul(u64::from(sharers))),
        workers: workload.workers.saturating_mul(sharers),
        ..workload.clone()
    }
}

/// What each client has of an object of `bytes`: whole blocks where several share it.
pub(super) fn part_of_each(workload: &Workload, bytes: Bytes) -> Bytes {
    match u64::from(sharers(workload)) {
        1 => bytes,
        sharers => {
            let part = bytes.0 / sharers;
            Bytes(part - part % workload.block_bytes.0.clamp(1, part.max(1)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::EngineId;

    fn load(file: &str) -> Workload {
        let mut load = Workload {
            engine: Some(EngineId::Mpiio),
            clients: 3,
            file_bytes: Bytes(1 << 20),
            ..Workload::default()
        };
        load.engine_options.set("file", file);
        load
    }

    #[test]
    fn a_shared_object_has_the_parts_of_all_clients_and_an_own_one_its_own() {
        let (shared, own) = (load("shared"), load("own"));
        assert_eq!(asked_of_object(&shared).file_bytes, Bytes(3 << 20));
        assert_eq!(asked_of_object(&own), own);
        assert_eq!(part_of_each(&shared, Bytes(3 << 20)), Bytes(1 << 20));
        assert_eq!(part_of_each(&own, Bytes(12_345)), Bytes(12_345));
    }

    #[test]
    fn parts_of_an_object_that_time_did_not_suffice_for_are_whole_blocks() {
        let shared = load("shared");
        for bytes in [3 * 4096, 3 * 4096 + 11, 1 << 20, (1 << 20) + 1] {
            let part = part_of_each(&shared, Bytes(bytes)).0;
            assert!(
                part.is_multiple_of(4096) && part > 0 && part * 3 <= bytes && bytes < part * 3 + 3 * 4096
            );
        }
        assert_eq!(part_of_each(&shared, Bytes(0)), Bytes(0));
    }
}
