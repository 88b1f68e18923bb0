//! The open files of one disk connection, with their charges and memory.
//!
//! An opening that fails takes no room and leaves no file.

use crate::folder::SessionFolder;
use crate::grant;
use crate::objects::DiskObject;
use crate::quota::Reservation;
use crate::session::{OpenFilesReservation, Session};
use crate::shared::ServerState;
use crate::store::name_error;
use narrows_model::workload::{Access, Acknowledgement};
use narrows_sys::file::{self, Caching, Create, OpenMode, WriteDone};
use narrows_wire::Error;
use narrows_wire::open::{Grant, OpenRequest};
use std::fs::File;
use std::sync::Arc;

/// Most workers of one connection: more threads than that only wait for each other.
const WORKERS_MAX: u32 = 64;

/// What a connection owns for its lifetime. Files are dropped before their charges.
pub(crate) struct OpenFiles {
    pub(crate) granted: Grant,
    pub(crate) files: Vec<File>,
    _charges: Vec<Arc<DiskObject>>,
    _memory: Reservation,
    _descriptors: OpenFilesReservation,
}

/// Buffers of a connection: all that may be in flight, and one a worker.
pub(crate) fn buffer_count(granted: &Grant) -> usize {
    grant::index(granted.credits.requests) + grant::index(worker_count(granted))
}

/// Workers of a connection.
pub(crate) fn worker_count(granted: &Grant) -> u32 {
    granted.credits.requests.min(WORKERS_MAX)
}

/// Opens the files that are asked for, or leaves everything as it is; `arrived_bytes` are what the connection reads
/// into.
pub(crate) fn prepare(
    shared: &ServerState,
    open: &OpenRequest,
    session: &Session,
    arrived_bytes: usize,
) -> Result<OpenFiles, Error> {
    // What contradicts itself is refused before anything is made; the alignment is known once files are open.
    let granted = grant::grant_disk(open, 1)?;
    let buffers = (buffer_count(&granted) as u64).saturating_mul(open.block_bytes);
    let memory = buffers + grant::conversation_bytes(open) + arrived_bytes as u64;
    let memory = shared.sessions.reserve_memory(memory)?;
    let descriptors = session.reserve_files(open.objects.len())?;
    let mut stores = session.stores();
    let reserved = stores.reserve_disk(open)?;
    shared.check_free_space(reserved.disk.bytes())?;
    let folder = stores.folder(shared.root.as_ref())?;
    let opened = open_all(&folder, open).and_then(|(files, alignment_bytes)| {
        let granted = grant::grant_disk(open, alignment_bytes)?;
        Ok((granted, files))
    });
    match opened {
        Ok((granted, files)) => {
            let charges = stores.keep_disk(open, reserved);
            Ok(OpenFiles { granted, files, _charges: charges, _memory: memory, _descriptors: descriptors })
        }
        Err(error) => {
            stores.undo_disk(open);
            Err(error)
        }
    }
}

/// The files, and the alignment that all of them need.
fn open_all(folder: &SessionFolder, open: &OpenRequest) -> Result<(Vec<File>, u64), Error> {
    let mut files = Vec::with_capacity(open.objects.len());
    let mut alignment_bytes = 1;
    for name in &open.objects {
        let file = open_object(folder, name, open)?;
        if open.access == Access::Direct {
            let needed = file::direct_alignment(&file).map_err(|error| name_error(name, &error))?;
            alignment_bytes = alignment_bytes.max(u64::from(needed.offset_bytes));
        }
        files.push(file);
    }
    Ok((files, alignment_bytes))
}

fn open_object(folder: &SessionFolder, name: &str, open: &OpenRequest) -> Result<File, Error> {
    let late = open.acknowledgement == Acknowledgement::Late;
    let mode = OpenMode {
        access: file::FileAccess::ReadWrite,
        caching: if open.access == Access::Direct { Caching::Direct } else { Caching::Buffered },
        write_done: if late { WriteDone::Durable } else { WriteDone::Accepted },
        create: if open.create { Create::IfMissing } else { Create::Never },
    };
    folder.open_object(name, mode)
}
