//! The plan of a check, put on by more clients than one.
//!
//! Not here: how many, which is the command's to know.

use narrows_model::{Bytes, Cell, Plan, Site, Target};

/// Files are made of whole units of this.
const FILE_GRAIN_BYTES: u64 = 1 << 20;

/// Puts the load of each cell on by `clients` clients, each as the one client did before. They share the bytes of the files:
/// each has a file of its own, unless the file existed. What the server runs, and what is simulated, stays as it is.
pub fn spread(plan: &mut Plan, clients: u32) {
    let clients = clients.max(1);
    for cell in &mut plan.cells {
        if cell.site == Site::Server || matches!(cell.target.form(), Target::Sim { .. }) {
            continue;
        }
        let load = &mut cell.workload;
        load.clients = load.clients.saturating_mul(clients);
        if !cell.read_only {
            let part = load.file_bytes.0 / u64::from(clients) / FILE_GRAIN_BYTES * FILE_GRAIN_BYTES;
            load.file_bytes =
                Bytes(part.max(load.block_bytes.0).max(FILE_GRAIN_BYTES).min(load.file_bytes.0));
        }
        cell.id = Cell::name(cell.cut, &cell.workload);
    }
    plan.load.in_flight_max = plan.load.in_flight_max.saturating_mul(u64::from(clients));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CheckRequest, plan_check};

    #[test]
    fn clients_share_the_bytes_of_the_files_and_cells_keep_names_of_their_own() {
        let one = plan_check(&CheckRequest::new(Target::File { path: "/srv".into() })).unwrap();
        let mut four = one.clone();
        spread(&mut four, 4);
        assert!(four.cells.iter().all(|cell| cell.workload.clients == 4 && cell.id.0.ends_with("/c4")));
        for (before, after) in one.cells.iter().zip(&four.cells) {
            assert_eq!(after.workload.file_bytes.0, before.workload.file_bytes.0 / 4, "{}", before.id);
        }
        assert_eq!(four.load.in_flight_max, one.load.in_flight_max * 4);
        let mut same = one.clone();
        spread(&mut same, 1);
        assert_eq!(same, one);
    }
}
