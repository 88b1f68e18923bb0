//! The cells around a cell, by which a suspect is separated from its neighbours: one more of everything.
//!
//! Not here: which of them are worth measuring, which is `refine`'s.

use narrows_model::{Bytes, Cell, Workload};

/// Twice the depth, one more connection, two clients, four clients.
pub(crate) fn candidates(cell: &Cell) -> [Cell; 4] {
    let load = &cell.workload;
    // A synchronous engine deepens by workers, as a load of whole objects does; another one by its queue.
    let depth = if load.queue_depth == 1 && (is_synchronous(cell) || load.objects.is_some()) {
        Workload { workers: load.workers.saturating_mul(2), ..load.clone() }
    } else {
        Workload { queue_depth: load.queue_depth.saturating_mul(2), ..load.clone() }
    };
    let connection = Workload { workers: load.workers.saturating_add(1), ..load.clone() };
    [depth, connection, clients(cell, 2), clients(cell, 4)].map(|workload| changed(cell, workload))
}

fn is_synchronous(cell: &Cell) -> bool {
    cell.target.form().local_path().is_some()
}

/// So many clients. Each has a file of its own, so that they share the stated bytes; a file that exists is read by all.
fn clients(cell: &Cell, clients: u32) -> Workload {
    let load = &cell.workload;
    let block = load.block_bytes.0.max(1);
    let part = load.file_bytes.0 / u64::from(clients) / block * block;
    let file_bytes = if cell.read_only { load.file_bytes } else { Bytes(part) };
    Workload { clients: load.clients.saturating_mul(clients), file_bytes, ..load.clone() }
}

fn changed(cell: &Cell, workload: Workload) -> Cell {
    Cell { id: Cell::name(cell.cut, &workload), workload, refines: true, ..cell.clone() }
}
