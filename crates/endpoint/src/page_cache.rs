//! What a client asks to be done about the pages of its session's files in this machine's page cache.
//!
//! Only files of the session are touched, and a dummy of its own; the machine's cache as a whole is never dropped.

use crate::channel::refused;
use crate::session::Session;
use crate::shared::ServerState;
use narrows_engines::page_cache::{COLD_RESIDENT_RATIO_MAX, DummyFile, drop_pages, resident_ratio, sync};
use narrows_model::Bytes;
use narrows_sys::file::OpenMode;
use narrows_wire::control::{CacheWork, SCAN_BYTES_MAX};
use narrows_wire::open::OBJECT_BYTES_MAX;
use narrows_wire::{Error, Refusal};
use std::fs::File;
use std::io;
use std::time::Duration;

/// Longest wait for writes that were acknowledged before they were in their files.
const WRITE_BACK_TIMEOUT: Duration = Duration::from_secs(30);

/// The share of `objects` that is cached once `work` is done; `dummy` keeps the file that is being read.
pub(crate) fn perform(
    shared: &ServerState,
    session: &Session,
    objects: &[String],
    work: CacheWork,
    dummy: &mut Option<DummyFile>,
) -> Result<Option<f64>, Error> {
    if !session.unwritten.wait(WRITE_BACK_TIMEOUT) {
        let message = format!(
            "acknowledged writes are still not in their files after {} s; the disk is too slow for its queue",
            WRITE_BACK_TIMEOUT.as_secs()
        );
        return Err(refused(Refusal::Io, message));
    }
    let _descriptors = session.reserve_files(objects.len())?;
    let files = open_all(shared, session, objects)?;
    let done = match work {
        CacheWork::Look => Ok(()),
        CacheWork::Sync => files.iter().try_for_each(sync),
        CacheWork::Drop => files.iter().try_for_each(drop_pages),
        CacheWork::Scan { file_bytes, from_bytes, length_bytes } => {
            let part = FilePart { file: file_bytes, from: from_bytes, length: length_bytes };
            part.check()?;
            let folder = session.stores().folder(shared.root.as_ref())?.cells_folder()?;
            part.read(&folder, dummy)
        }
    };
    done.map_err(|error| refused(Refusal::Io, format!("the page cache at the server: {error}")))?;
    let shares: Option<Vec<f64>> = files.iter().map(resident_ratio).collect();
    let most = shares.iter().flatten().copied().fold(0.0, f64::max);
    if work == CacheWork::Drop && most > COLD_RESIDENT_RATIO_MAX {
        let message = format!(
            "{:.0} % of a file is still in the server's page cache; serve a folder that is not in memory, or end \
             other processes that keep its pages",
            most * 100.0
        );
        return Err(refused(Refusal::Unsupported, message));
    }
    let mean = |shares: Vec<f64>| shares.iter().sum::<f64>() / shares.len() as f64;
    Ok(shares.filter(|shares| !shares.is_empty()).map(mean))
}

/// A part of a dummy file, in bytes.
struct FilePart {
    file: u64,
    from: u64,
    length: u64,
}

impl FilePart {
    fn check(&self) -> Result<(), Error> {
        let end = self.from.checked_add(self.length);
        let fits = end.is_some_and(|end| end <= self.file && self.file <= OBJECT_BYTES_MAX);
        if fits && self.length <= SCAN_BYTES_MAX {
            return Ok(());
        }
        let message = format!(
            "{} bytes of a dummy file of {} bytes from {} on; at most {SCAN_BYTES_MAX} within it are read at once",
            self.length, self.file, self.from
        );
        Err(refused(Refusal::Unsupported, message))
    }

    fn read(&self, folder: &File, dummy: &mut Option<DummyFile>) -> io::Result<()> {
        let kept = dummy.take().filter(|known| self.from > 0 && known.length() == Bytes(self.file));
        let known = match kept {
            Some(known) => known,
            None => DummyFile::make(folder, Bytes(self.file))?,
        };
        known.read(Bytes(self.from), Bytes(self.length))?;
        if self.from + self.length < self.file {
            *dummy = Some(known);
        }
        Ok(())
    }
}

/// The files of objects that the session has.
fn open_all(shared: &ServerState, session: &Session, objects: &[String]) -> Result<Vec<File>, Error> {
    let mut stores = session.stores();
    let opened = objects.iter().map(|name| {
        stores.check_disk_object(name)?;
        stores.folder(shared.root.as_ref())?.open_object(name, OpenMode::default())
    });
    opened.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_within_its_file_and_is_no_longer_than_the_most() {
        let is_valid = |file, from, length| FilePart { file, from, length }.check().is_ok();
        assert!(is_valid(SCAN_BYTES_MAX * 2, SCAN_BYTES_MAX, SCAN_BYTES_MAX));
        assert!(is_valid(0, 0, 0));
        assert!(!is_valid(SCAN_BYTES_MAX * 2, 0, SCAN_BYTES_MAX + 1));
        assert!(!is_valid(10, 5, 6));
        assert!(!is_valid(u64::MAX, u64::MAX, 1));
        assert!(!is_valid(OBJECT_BYTES_MAX + 1, 0, 1));
    }
}
