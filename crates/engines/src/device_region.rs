//! A region of a block device that a run may write: the device opened exclusively, a mark in its first block, and zeroes at
//! the end.
//!
//! The exclusive opening is the kernel's word that nothing is mounted, no other device is built on it, and no second run has
//! it; it lasts as long as the region. What is on the device is the caller's to find, before and again under that opening.

use crate::block::{is_device, know_device, number_of};
use crate::error::{EngineError, ErrorKind};
use crate::files::{clear_disk, forget_disk, lock_making, note_disk, note_problem};
use crate::region::{DATA_AT_BYTES, LOOK_BYTES, RegionMark, RegionNeed};
use narrows_model::Bytes;
use narrows_model::target::{BlockAddress, UnitClaim};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Zeroes written at once where the kernel does not zero a range itself.
const ZERO_STEP_BYTES: usize = 1 << 20;

/// Why a device was not claimed.
#[derive(Debug)]
pub enum DeviceFailure {
    /// It may not be written: in words.
    Refused(String),
    /// It does not work.
    Failed(EngineError),
}

impl From<EngineError> for DeviceFailure {
    fn from(error: EngineError) -> Self {
        Self::Failed(error)
    }
}

/// A region of a device that this run may write; dropping it clears it.
#[derive(Debug)]
pub struct DeviceRegion {
    address: BlockAddress,
    end_bytes: u64,
    /// What a killed run had left; `None` where there was nothing.
    left: Option<Bytes>,
    /// Open exclusively; what is at its path later is not looked at.
    device: Arc<File>,
}

impl DeviceRegion {
    /// Claims what `need` states of the device at `path`, by a mark with `nonce` and `owner`, the line that states which run
    /// it is of. `problem` says what is on the device of the number that was opened (`major:minor`), which is asked once it
    /// is open exclusively; `None` is nothing.
    ///
    /// # Errors
    /// When it is in use, too small, has something on it, or cannot be written.
    pub fn claim(
        path: &Path,
        need: RegionNeed,
        nonce: u64,
        owner: &str,
        problem: &dyn Fn(&str) -> Result<Option<String>, String>,
    ) -> Result<Self, DeviceFailure> {
        let mut held = open_exclusively(path)?;
        let number = number_of(&held)
            .map_err(|source| EngineError::from_io("look at", path.display().to_string(), source))?;
        match problem(&number) {
            Ok(None) => know_device(path, &number),
            Ok(Some(why)) | Err(why) => return Err(DeviceFailure::Refused(why)),
        }
        let failed = |source| EngineError::from_io("claim", path.display().to_string(), source);
        let (stride_bytes, end_bytes) = (need.stride_bytes(), need.end_bytes().0);
        let length = length_bytes(&mut held).map_err(failed)?;
        if end_bytes > length {
            return Err(EngineError::new(ErrorKind::NoSpace, "write to", path.display().to_string())
                .detail(format!("it has {}, and the run needs {end_bytes} bytes", Bytes(length)))
                .hint("use smaller files, fewer clients or a larger device")
                .into());
        }
        let left =
            RegionMark::parse(&head_of(&held).map_err(failed)?).filter(|mark| mark.end_bytes <= length);
        let end_bytes = end_bytes.max(left.as_ref().map_or(0, |mark| mark.end_bytes));
        let address =
            BlockAddress { path: path.to_path_buf(), claim: Some(UnitClaim { nonce, stride_bytes }) };
        let device = Arc::new(held);
        // Until the mark is whole: a signal meanwhile waits for it, and removes it.
        let _making = lock_making();
        note_disk(&key(path), remover(Arc::clone(&device), nonce, end_bytes));
        let left = left.map(|mark| Bytes(mark.end_bytes));
        let region = Self { address, end_bytes, left, device };
        let mark = RegionMark { owner: owner.to_owned(), nonce, end_bytes };
        // Dropping the region removes what was written.
        region.put(&mark).map_err(failed)?;
        Ok(region)
    }

    /// The address that engines write to.
    #[must_use]
    pub fn address(&self) -> &BlockAddress {
        &self.address
    }

    /// Bytes up to which a killed run had written; `None` where none had.
    #[must_use]
    pub fn left_by_run(&self) -> Option<Bytes> {
        self.left
    }

    /// Where the region ends, which begins with the device.
    #[must_use]
    pub fn end(&self) -> Bytes {
        Bytes(self.end_bytes)
    }

    /// Puts the mark, durable before anything else is written, then zeroes behind it up to the data: a kill in between
    /// leaves a mark, that of this run or of the one before it.
    fn put(&self, mark: &RegionMark) -> io::Result<()> {
        self.device.write_all_at(&mark.to_block(LOOK_BYTES), 0)?;
        self.device.sync_all()?;
        zero(&self.device, LOOK_BYTES, DATA_AT_BYTES)?;
        self.device.sync_all()
    }
}

impl Drop for DeviceRegion {
    fn drop(&mut self) {
        let Some(claim) = self.address.claim else { return };
        let name = key(&self.address.path);
        if let Err(left) = clear_disk(&name, &|| cleared(&self.device, claim.nonce, self.end_bytes)) {
            note_problem(left);
        }
        forget_disk(&name);
    }
}

fn key(path: &Path) -> String {
    format!("blk:{}", path.display())
}

fn remover(
    device: Arc<File>,
    nonce: u64,
    end_bytes: u64,
) -> Arc<dyn Fn() -> Result<(), String> + Send + Sync> {
    Arc::new(move || cleared(&device, nonce, end_bytes))
}

/// The device, open for reading and writing and exclusively: the kernel opens none so that is mounted, used for swap, or that
/// another device is built on.
fn open_exclusively(path: &Path) -> Result<File, DeviceFailure> {
    let shown = || path.display().to_string();
    let opened = rustix::fs::open(path, OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty());
    let opened = match opened {
        Ok(opened) => File::from(opened),
        Err(rustix::io::Errno::BUSY) => {
            return Err(DeviceFailure::Refused(format!(
                "{} is in use: the kernel does not open it exclusively (a mount, swap, a device built on it, or another \
                 run); end what uses it",
                shown()
            )));
        }
        Err(errno) => return Err(EngineError::from_io("open", shown(), errno.into()).into()),
    };
    if is_device(&opened) {
        return Ok(opened);
    }
    Err(DeviceFailure::Refused(format!("{} is no block device", shown())))
}

/// The bytes in which the mark is.
fn head_of(device: &File) -> io::Result<Vec<u8>> {
    let mut head = vec![0; usize::try_from(LOOK_BYTES).unwrap_or(4096)];
    device.read_exact_at(&mut head, 0)?;
    Ok(head)
}

/// Clears the data, then the mark: a kill in between leaves what the next run knows.
fn cleared(device: &File, nonce: u64, end_bytes: u64) -> Result<(), String> {
    let clear = || -> io::Result<bool> {
        let head = head_of(device)?;
        match RegionMark::parse(&head) {
            Some(mark) if mark.nonce == nonce => {}
            // Never marked, or cleared already.
            None if head.iter().all(|byte| *byte == 0) => return Ok(true),
            _ => return Ok(false),
        }
        zero(device, DATA_AT_BYTES, end_bytes)?;
        device.sync_all()?;
        zero(device, 0, DATA_AT_BYTES)?;
        device.sync_all()?;
        Ok(true)
    };
    match clear() {
        Ok(true) => Ok(()),
        Ok(false) => {
            Err("its beginning was written by somebody else, and nothing more was touched".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Zeroes from `start_bytes` up to `end_bytes`: by the device where it does that, else written.
fn zero(device: &File, start_bytes: u64, end_bytes: u64) -> io::Result<()> {
    let length_bytes = end_bytes.saturating_sub(start_bytes);
    if length_bytes == 0 {
        return Ok(());
    }
    let flags = FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE;
    if rustix::fs::fallocate(device, flags, start_bytes, length_bytes).is_ok() {
        return Ok(());
    }
    let zeroes = vec![0; ZERO_STEP_BYTES];
    let mut at_bytes = start_bytes;
    while at_bytes < end_bytes {
        let step = ZERO_STEP_BYTES.min(usize::try_from(end_bytes - at_bytes).unwrap_or(ZERO_STEP_BYTES));
        device.write_all_at(&zeroes[..step], at_bytes)?;
        at_bytes += step as u64;
    }
    Ok(())
}

/// The bytes of the block device `opened`; its position is at the end then.
fn length_bytes(opened: &mut File) -> io::Result<u64> {
    opened.seek(SeekFrom::End(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_block_device_is_not_claimed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        std::fs::write(&path, vec![7; 4 << 20]).unwrap();
        let need = RegionNeed { client_bytes: Bytes(1 << 20), client_count: 1 };
        let refused = DeviceRegion::claim(&path, need, 1, "narrows", &|_| Ok(None)).unwrap_err();
        assert!(matches!(refused, DeviceFailure::Refused(why) if why.contains("is no block device")));
        assert_eq!(std::fs::read(&path).unwrap(), vec![7; 4 << 20]);
    }
}
