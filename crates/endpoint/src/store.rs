//! What is stored: objects in memory, and the folder on disk that a session makes below the server's root.
//!
//! Every byte is reserved against a quota when its object is opened, so that no write can be the one too many.

use crate::channel::refused;
use narrows_sys::file::{Access, Create, OpenMode, open_beneath};
use narrows_wire::{Error, Refusal};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Memory of an object is taken in stripes of this size when they are first written, each with a lock of its own.
const STRIPE_BYTES: usize = 1 << 20;

/// Name of the file that marks a folder as made by a server.
pub(crate) const MARKER: &str = "made-by-narrows-serve";

/// A limit on bytes that several sessions share.
#[derive(Debug)]
pub(crate) struct Quota {
    name: &'static str,
    limit_bytes: u64,
    used_bytes: AtomicU64,
}

impl Quota {
    pub(crate) fn new(name: &'static str, limit_bytes: u64) -> Self {
        Self { name, limit_bytes, used_bytes: AtomicU64::new(0) }
    }

    pub(crate) fn reserve(&self, bytes: u64) -> Result<(), Error> {
        let grow = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.limit_bytes);
        let reserved = self.used_bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, grow);
        reserved.map(|_| ()).map_err(|used| {
            refused(
                Refusal::NoSpace,
                format!(
                    "{bytes} bytes were asked for; the server's {} holds {used} of {} bytes; ask for less, or raise its limit",
                    self.name, self.limit_bytes
                ),
            )
        })
    }

    pub(crate) fn release(&self, bytes: u64) {
        let shrink = |used: u64| Some(used.saturating_sub(bytes));
        let _ = self.used_bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, shrink);
    }
}

/// An object in memory. What was never written reads as zeros and takes no memory.
#[derive(Debug)]
pub(crate) struct MemoryObject {
    length_bytes: u64,
    stripes: Vec<RwLock<Option<Box<[u8]>>>>,
}

impl MemoryObject {
    pub(crate) fn new(length_bytes: u64) -> Self {
        let count = narrows_model::units::saturate_usize(length_bytes).div_ceil(STRIPE_BYTES);
        Self { length_bytes, stripes: (0..count).map(|_| RwLock::new(None)).collect() }
    }

    pub(crate) fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    /// Fills `into` from `offset_bytes`; the range must lie in the object.
    pub(crate) fn read(&self, offset_bytes: u64, into: &mut [u8]) {
        for (stripe, within, part) in parts(offset_bytes, into.len()) {
            let Some(lock) = self.stripes.get(stripe) else { return };
            let held = lock.read().unwrap_or_else(PoisonError::into_inner);
            match held.as_ref() {
                Some(bytes) => into[part.clone()].copy_from_slice(&bytes[within..within + part.len()]),
                None => into[part].fill(0),
            }
        }
    }

    /// Stores `from` at `offset_bytes`; the range must lie in the object.
    pub(crate) fn write(&self, offset_bytes: u64, from: &[u8]) {
        for (stripe, within, part) in parts(offset_bytes, from.len()) {
            let Some(lock) = self.stripes.get(stripe) else { return };
            let mut held = lock.write().unwrap_or_else(PoisonError::into_inner);
            let bytes = held.get_or_insert_with(|| vec![0; STRIPE_BYTES].into_boxed_slice());
            bytes[within..within + part.len()].copy_from_slice(&from[part]);
        }
    }
}

/// The stripes of a range: index, place in the stripe, place in the range.
fn parts(offset_bytes: u64, length: usize) -> impl Iterator<Item = (usize, usize, std::ops::Range<usize>)> {
    let start = narrows_model::units::saturate_usize(offset_bytes);
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = start.saturating_add(done);
        let within = at % STRIPE_BYTES;
        let part = done..length.min(done + STRIPE_BYTES - within);
        done = part.end;
        (!part.is_empty()).then_some((at / STRIPE_BYTES, within, part))
    })
}

/// The server's root, open.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) path: PathBuf,
    pub(crate) folder: File,
    /// Folders that could not be removed, with the reason.
    pub(crate) leftovers: Arc<Mutex<Vec<String>>>,
}

impl Root {
    /// Whether the file `name` below the root holds just `content`.
    pub(crate) fn holds(&self, name: &str, content: &str) -> Result<bool, Error> {
        match open_beneath(&self.folder, Path::new(name), OpenMode::default(), 0) {
            Ok(file) => {
                let mut found = vec![0; content.len() + 1];
                let length = narrows_sys::file::pread(&file, &mut found, 0)
                    .map_or(0, narrows_sys::file::Transfer::done_bytes);
                Ok(&found[..length] == content.as_bytes())
            }
            Err(error) if error.kind() == narrows_sys::ErrorKind::Missing => Ok(false),
            Err(error) => Err(name_error(name, &error)),
        }
    }
}

/// What the kernel's answer to a name means to who asked for it.
pub(crate) fn name_error(name: &str, error: &narrows_sys::Error) -> Error {
    let reason = match (error.errno().name(), error.kind()) {
        ("EXDEV" | "ELOOP", _) => {
            let message = format!("`{name}` leads out of the server's folder; give a name that lies in it");
            return refused(Refusal::Permission, message);
        }
        (_, narrows_sys::ErrorKind::Missing) => Refusal::NotFound,
        (_, narrows_sys::ErrorKind::Denied) => Refusal::Permission,
        (_, narrows_sys::ErrorKind::Exhausted) => Refusal::NoSpace,
        (_, narrows_sys::ErrorKind::Unsupported | narrows_sys::ErrorKind::Invalid) => Refusal::Unsupported,
        _ => Refusal::Io,
    };
    refused(reason, error.to_string())
}

/// A folder that one session made; it goes with this value.
#[derive(Debug)]
pub(crate) struct SessionFolder {
    pub(crate) path: PathBuf,
    pub(crate) folder: File,
    leftovers: Arc<Mutex<Vec<String>>>,
}

impl SessionFolder {
    /// Makes `.narrows-<id>` below `root`, with the marker in it.
    pub(crate) fn make(root: &Root, id: &str) -> Result<Self, Error> {
        let name = format!(".narrows-{id}");
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("the server cannot make {name} in {}: {error}", root.path.display());
            refused(Refusal::Permission, message)
        };
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mkdirat(&root.folder, &name, mode).map_err(|errno| failed(&errno))?;
        let path = root.path.join(&name);
        let folder = open_beneath(&root.folder, Path::new(&name), OpenMode::default(), 0);
        let folder = folder.map_err(|error| failed(&error))?;
        let made = Self { path, folder, leftovers: Arc::clone(&root.leftovers) };
        let marker = OpenMode { access: Access::Write, create: Create::New, ..OpenMode::default() };
        let file = open_beneath(&made.folder, Path::new(MARKER), marker, 0o600);
        let mut file = file.map_err(|error| failed(&error))?;
        file.write_all(b"narrows serve made this folder and removes it when its session ends.\n")
            .map_err(|error| failed(&error))?;
        Ok(made)
    }
}

impl Drop for SessionFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            let sentence = format!("{}: {error}", self.path.display());
            self.leftovers.lock().unwrap_or_else(PoisonError::into_inner).push(sentence);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_reads_what_was_written_across_stripes_and_zeros_elsewhere() {
        let length = 3 * STRIPE_BYTES as u64;
        let object = MemoryObject::new(length);
        let written: Vec<u8> = (0..=255).cycle().take(STRIPE_BYTES + 10).collect();
        object.write(STRIPE_BYTES as u64 - 5, &written);
        let mut read = vec![1; written.len() + 10];
        object.read(STRIPE_BYTES as u64 - 10, &mut read);
        assert_eq!(read[..5], [0; 5]);
        assert_eq!(read[5..5 + written.len()], written);
        assert_eq!(read[5 + written.len()..], [0; 5]);
    }

    #[test]
    fn a_quota_gives_back_what_was_released_and_never_more_than_it_has() {
        let quota = Quota::new("memory", 100);
        quota.reserve(60).unwrap();
        let message = quota.reserve(41).unwrap_err().to_string();
        assert!(message.contains("41 bytes") && message.contains("60 of 100"), "{message}");
        assert!(quota.reserve(u64::MAX).is_err());
        quota.release(60);
        quota.reserve(100).unwrap();
    }
}
