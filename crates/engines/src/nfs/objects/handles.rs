//! The handles of objects whose attributes are asked for by GETATTR: found before the load, or kept since a CREATE or LOOKUP.
//!
//! Each object has a place by its number; one with the same place takes it over, so that the memory has a bound.
//! Hot path: no allocation, no search.

use super::super::session::RpcSession;
use super::folders::SetFolders;
use crate::error::EngineError;
use crate::objects::names::ObjectNames;
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_wire::nfs::attributes::FileHandle;

/// Most handles that a worker keeps, in 5 MiB.
const KEPT_HANDLES_MAX: u64 = 1 << 16;

#[derive(Debug, Clone, Copy)]
struct ObjectHandle {
    number: u32,
    handle: FileHandle,
}

/// Handles of objects by their numbers.
#[derive(Debug)]
pub(super) struct KeptHandles {
    places: Vec<Option<ObjectHandle>>,
}

impl KeptHandles {
    /// None, and none is ever kept.
    pub(super) fn none() -> Self {
        Self { places: Vec::new() }
    }

    /// None yet, with room for those of `count` objects, as far as the bound allows.
    pub(super) fn with_room(count: u64) -> Self {
        Self { places: vec![None; saturate_usize(count.clamp(1, KEPT_HANDLES_MAX))] }
    }

    /// Those of the first objects of a set of `count`, as far as they exist, each by a LOOKUP.
    pub(super) fn look_up(
        session: &mut RpcSession,
        folders: &SetFolders,
        names: &mut ObjectNames,
        count: u64,
    ) -> Result<Self, EngineError> {
        let mut kept = Self::with_room(count);
        for number in 0..saturate_u32(count.min(KEPT_HANDLES_MAX)) {
            let folder = folders.folder(names.folder_of(number));
            if let Some(found) = session.find(&folder, names.name_of(number))? {
                kept.keep(number, &found.handle);
            }
        }
        Ok(kept)
    }

    fn place_of(&self, number: u32) -> usize {
        number as usize % self.places.len().max(1)
    }

    /// The handle of an object, where it is known.
    pub(super) fn find(&self, number: u32) -> Option<FileHandle> {
        let known = self.places.get(self.place_of(number)).copied().flatten()?;
        (known.number == number).then_some(known.handle)
    }

    /// Keeps the handle of an object.
    pub(super) fn keep(&mut self, number: u32, handle: &FileHandle) {
        let place = self.place_of(number);
        if let Some(place) = self.places.get_mut(place) {
            *place = Some(ObjectHandle { number, handle: *handle });
        }
    }

    /// The object of this number is gone.
    pub(super) fn forget(&mut self, number: u32) {
        let place = self.place_of(number);
        if self.find(number).is_some() {
            self.places[place] = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_found_until_its_object_is_gone_or_another_has_its_place() {
        let handle = |byte: u8| FileHandle::new(&[byte]).unwrap();
        let mut kept = KeptHandles::with_room(4);
        kept.keep(1, &handle(1));
        assert_eq!((kept.find(1), kept.find(5)), (Some(handle(1)), None));
        kept.forget(5);
        assert_eq!(kept.find(1), Some(handle(1)), "the place is another object's");
        kept.keep(5, &handle(5));
        assert_eq!((kept.find(1), kept.find(5)), (None, Some(handle(5))));
        kept.forget(5);
        assert_eq!(kept.find(5), None);
        let mut none = KeptHandles::none();
        none.keep(0, &handle(1));
        assert_eq!(none.find(0), None);
        assert_eq!(KeptHandles::with_room(u64::MAX).places.len() as u64, KEPT_HANDLES_MAX);
    }
}
