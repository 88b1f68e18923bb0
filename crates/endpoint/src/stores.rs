//! What one session stores, and the room that it takes: objects in memory, files on disk, files of cells.
//!
//! An opening reserves all that it needs first and makes objects after; what fails takes no room and leaves no file.

use crate::channel::refused;
use crate::folder::SessionFolder;
use crate::objects::{DiskObject, MemoryObject, OBJECT_BYTES};
use crate::quota::{Quota, Reservation};
use crate::store::StoreRoot;
use narrows_wire::open::OpenRequest;
use narrows_wire::{Error, Refusal};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The limits that all sessions share.
#[derive(Debug, Clone)]
pub(crate) struct Quotas {
    /// Stores in memory, and what connections and cells need in flight.
    pub(crate) memory: Arc<Quota>,
    /// Stores on disk.
    pub(crate) disk: Arc<Quota>,
}

/// What new and growing objects on disk are charged.
#[derive(Debug)]
pub(crate) struct DiskReservation {
    /// Room for their files.
    pub(crate) disk: Reservation,
    /// Memory for the names of new ones.
    memory: Reservation,
}

/// What one session stores.
#[derive(Debug)]
pub(crate) struct Stores {
    id: String,
    quotas: Quotas,
    /// Declared before the charges, so dropped before them: room is free once the files are gone.
    folder: Option<Arc<SessionFolder>>,
    memory: HashMap<String, Arc<MemoryObject>>,
    disk: HashMap<String, Arc<DiskObject>>,
    /// The charge of the files of cells, which no name of a client reaches.
    cells: Option<Reservation>,
}

impl Stores {
    pub(crate) fn new(id: &str, quotas: &Quotas) -> Self {
        Self {
            id: id.to_owned(),
            quotas: quotas.clone(),
            folder: None,
            memory: HashMap::new(),
            disk: HashMap::new(),
            cells: None,
        }
    }

    /// Removes all that is stored; what others still use is charged until they release it.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(&self.id, &self.quotas);
    }

    /// The memory objects of `open`, in its order; those that are missing are made if they may be.
    pub(crate) fn memory_objects(&mut self, open: &OpenRequest) -> Result<Vec<Arc<MemoryObject>>, Error> {
        let charge_bytes = MemoryObject::charge_bytes(open.object_bytes);
        let mut needed_bytes: u64 = 0;
        let names: BTreeSet<&String> = open.objects.iter().collect();
        for name in &names {
            match self.memory.get(*name) {
                Some(object) => check_length(name, object.length_bytes(), open.object_bytes)?,
                None if open.create => needed_bytes = needed_bytes.saturating_add(charge_bytes),
                None => return Err(missing(name)),
            }
        }
        let mut reserved = self.quotas.memory.reserve(needed_bytes)?;
        for name in names {
            self.memory.entry(name.clone()).or_insert_with(|| {
                Arc::new(MemoryObject::new(open.object_bytes, reserved.take(charge_bytes)))
            });
        }
        open.objects.iter().map(|name| self.memory.get(name).cloned().ok_or_else(|| missing(name))).collect()
    }

    pub(crate) fn remove_memory_object(&mut self, name: &str) {
        self.memory.remove(name);
    }

    /// The session's folder, made when it is missing.
    pub(crate) fn folder(&mut self, root: Option<&StoreRoot>) -> Result<Arc<SessionFolder>, Error> {
        if let Some(folder) = &self.folder {
            return Ok(Arc::clone(folder));
        }
        let root = root.ok_or_else(|| {
            refused(Refusal::NotFound, "this server has no disk store; start it with --root FOLDER")
        })?;
        let folder = Arc::new(SessionFolder::make(root, &self.id)?);
        self.folder = Some(Arc::clone(&folder));
        Ok(folder)
    }

    /// Room for the disk objects of `open` to grow as it says, and memory for the names of new ones; objects that are not
    /// to be made must have it.
    pub(crate) fn reserve_disk(&self, open: &OpenRequest) -> Result<DiskReservation, Error> {
        let charge_bytes = DiskObject::charge_bytes(open.object_bytes);
        let (mut needed_bytes, mut new_count) = (0_u64, 0_u64);
        for name in open.objects.iter().collect::<BTreeSet<_>>() {
            let have_bytes = self.disk.get(name).map(|object| object.charged_bytes());
            match have_bytes {
                _ if SessionFolder::is_own(name) => return Err(reserved_name(name)),
                have if open.create => {
                    new_count += u64::from(have.is_none());
                    let growth_bytes = charge_bytes.saturating_sub(have.unwrap_or(0));
                    needed_bytes = needed_bytes.saturating_add(growth_bytes);
                }
                Some(have) => check_length(name, have, open.object_bytes)?,
                None => return Err(missing(name)),
            }
        }
        let memory = self.quotas.memory.reserve(new_count.saturating_mul(OBJECT_BYTES))?;
        Ok(DiskReservation { disk: self.quotas.disk.reserve(needed_bytes)?, memory })
    }

    /// Takes the disk objects of `open` in, which are opened and for which `reserved` is; in the order of `open`.
    pub(crate) fn keep_disk(
        &mut self,
        open: &OpenRequest,
        mut reserved: DiskReservation,
    ) -> Vec<Arc<DiskObject>> {
        let charge_bytes = DiskObject::charge_bytes(open.object_bytes);
        let mut kept = Vec::with_capacity(open.objects.len());
        for name in &open.objects {
            let object = self.disk.entry(name.clone()).or_insert_with(|| {
                Arc::new(DiskObject::new(
                    reserved.disk.take(charge_bytes),
                    reserved.memory.take(OBJECT_BYTES),
                ))
            });
            object.grow(reserved.disk.take(charge_bytes.saturating_sub(object.charged_bytes())));
            kept.push(Arc::clone(object));
        }
        kept
    }

    /// Fails for a name that no object on disk of this session has.
    pub(crate) fn check_disk_object(&self, name: &str) -> Result<(), Error> {
        if self.disk.contains_key(name) { Ok(()) } else { Err(missing(name)) }
    }

    /// Removes the files that an opening which failed has made.
    pub(crate) fn undo_disk(&self, open: &OpenRequest) {
        let Some(folder) = &self.folder else { return };
        for name in open.objects.iter().filter(|name| !self.disk.contains_key(*name)) {
            // One that stays is removed with the folder, or is somebody else's.
            let _ = folder.remove_object(name);
        }
    }

    /// Removes a file; one that is not there counts as removed. Its charge stays with who has it open.
    pub(crate) fn remove_disk_object(&mut self, name: &str) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        folder.remove_object(name)?;
        self.disk.remove(name);
        Ok(())
    }

    /// Room for the file of cells to grow to `file_bytes`.
    pub(crate) fn reserve_cells(&self, file_bytes: u64) -> Result<Reservation, Error> {
        let have_bytes = self.cells.as_ref().map_or(0, Reservation::bytes);
        self.quotas.disk.reserve(DiskObject::charge_bytes(file_bytes).saturating_sub(have_bytes))
    }

    pub(crate) fn keep_cells(&mut self, reserved: Reservation) {
        match &mut self.cells {
            Some(cells) => cells.add(reserved),
            None => self.cells = Some(reserved),
        }
    }
}

fn check_length(name: &str, have_bytes: u64, object_bytes: u64) -> Result<(), Error> {
    if have_bytes >= object_bytes {
        return Ok(());
    }
    let message = format!("object `{name}` has space for {have_bytes} bytes, not {object_bytes}");
    Err(refused(Refusal::Unsupported, message))
}

fn missing(name: &str) -> Error {
    refused(Refusal::NotFound, format!("there is no object `{name}` in this session"))
}

fn reserved_name(name: &str) -> Error {
    refused(Refusal::Permission, format!("`{name}` is reserved by the server; choose another name"))
}
