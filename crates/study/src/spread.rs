//! The plan of a check, put on by more clients than one.
//!
//! Not here: how many, which is the command's to know.

use crate::check::written;
use narrows_model::plan::SkippedCell;
use narrows_model::{Bytes, Cell, Op, Plan, Site, Target, Workload};

/// Files are made of whole units of this.
const FILE_GRAIN_BYTES: u64 = 1 << 20;

/// Puts the load of each cell on by `clients` clients, each as the one client did before. They share the bytes of the files:
/// each has a file of its own, unless the file existed. A cell of which not even a block is left for each is skipped: files
/// take no more room together than was planned. What the server runs, and what is simulated, stays as it is.
pub fn spread(plan: &mut Plan, clients: u32) {
    let clients = clients.max(1);
    let Plan { cells, skipped, load, .. } = plan;
    cells.retain_mut(|cell| {
        if cell.site == Site::Server || matches!(cell.target.form(), Target::Sim { .. }) {
            return true;
        }
        let planned = cell.workload.file_bytes;
        let has_room = share(&mut cell.workload, cell.read_only, clients);
        cell.id = Cell::name(cell.cut, &cell.workload);
        if !has_room {
            let reason = format!(
                "{clients} clients with a block of {} each need more than the {planned} that are planned for files; use \
                 fewer ranks or hosts, use smaller blocks, or free space",
                cell.workload.block_bytes
            );
            skipped.push(SkippedCell { cell: cell.id.clone(), reason });
        }
        has_room
    });
    load.in_flight_max = load.in_flight_max.saturating_mul(u64::from(clients));
    if clients > 1 {
        load.write_bytes_max = written(cells);
    }
}

/// Gives the load of one client to `clients`, which share the bytes of its file, or the objects that it puts; whether there is
/// a block for each.
fn share(load: &mut Workload, read_only: bool, clients: u32) -> bool {
    load.clients = load.clients.saturating_mul(clients);
    if let Some(set) = load.objects.as_mut().filter(|_| load.op == Op::Put) {
        // Fewer than workers would leave some of them without a request.
        set.count = (set.count / u64::from(clients)).max(u64::from(load.workers));
        return true;
    }
    let part =
        if read_only { Some(load.file_bytes) } else { part(load.file_bytes, load.block_bytes, clients) };
    load.file_bytes = part.unwrap_or(load.file_bytes);
    part.is_some()
}

/// Bytes of the file of each of `clients`, which have `planned` together: whole grains, or whole blocks where a grain is too
/// much; `None` where a block is.
fn part(planned: Bytes, block: Bytes, clients: u32) -> Option<Bytes> {
    if clients == 1 {
        return Some(planned);
    }
    let (share, block) = (planned.0 / u64::from(clients), block.0.max(1));
    let grains = share / FILE_GRAIN_BYTES * FILE_GRAIN_BYTES;
    let part = if grains >= block { grains } else { share / block * block };
    (part > 0).then_some(Bytes(part))
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
        // No plan of one is changed.
        let mut same = one.clone();
        spread(&mut same, 1);
        assert_eq!(same, one);
    }

    #[test]
    fn hundreds_of_clients_take_no_more_room_than_was_planned() {
        let request = CheckRequest {
            free_bytes: Some(Bytes(10 << 30)),
            ..CheckRequest::new(Target::File { path: "/srv".into() })
        };
        let one = plan_check(&request).unwrap();
        for clients in [2, 100, 511, 512, 1000, 100_000] {
            let mut many = one.clone();
            spread(&mut many, clients);
            for cell in many.cells.iter().filter(|cell| !cell.read_only && cell.site == Site::Client) {
                let load = &cell.workload;
                let together = load.file_bytes.0.saturating_mul(u64::from(load.clients));
                let planned = one.cells.iter().map(|cell| cell.workload.file_bytes.0).max().unwrap();
                assert!(together <= planned, "{clients}: {} of {planned}", cell.id);
                assert!(load.file_bytes >= load.block_bytes, "{clients}: {}", cell.id);
            }
            assert_eq!(
                many.cells.len() + many.skipped.len(),
                one.cells.len() + one.skipped.len(),
                "none is lost"
            );
        }
        let mut many = one.clone();
        spread(&mut many, 100_000);
        let reason = &many.skipped.last().unwrap().reason;
        assert!(
            reason.contains("100000 clients with a block of") && reason.contains("fewer ranks"),
            "{reason}"
        );
    }
}
