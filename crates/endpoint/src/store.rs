//! The server's root, and what its kernel says of names below it.

use crate::channel::refused;
use narrows_sys::file::{OpenMode, TransferResult, open_beneath, pread};
use narrows_wire::control::STORE_PROOF;
use narrows_wire::{Error, Refusal};
use std::fs::File;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Start of the folder's name; the session's id follows.
pub(crate) const PREFIX: &str = ".narrows-";

/// Longest content of a proof.
const PROOF_BYTES_MAX: usize = 256;

/// The server's root, open.
#[derive(Debug)]
pub(crate) struct StoreRoot {
    pub(crate) path: PathBuf,
    pub(crate) folder: Arc<File>,
    /// Folders that could not be removed, with the reason.
    pub(crate) leftovers: Arc<Mutex<Vec<String>>>,
}

impl StoreRoot {
    /// Whether the proof `name` below the root, which a client wrote through its own mount, contains exactly `content`.
    ///
    /// Only such a proof is read: otherwise the answer would reveal other files.
    pub(crate) fn proof_matches(&self, name: &str, content: &str) -> Result<bool, Error> {
        if !is_proof(Path::new(name)) {
            let message = format!(
                "`{}` is not a proof of a mount; the name ends in {PREFIX}<16 hexadecimal digits>/{STORE_PROOF}",
                name.chars().take(80).filter(|c| !c.is_control()).collect::<String>()
            );
            return Err(refused(Refusal::Permission, message));
        }
        if content.len() > PROOF_BYTES_MAX {
            let message = format!("a proof has up to {PROOF_BYTES_MAX} bytes, not {}", content.len());
            return Err(refused(Refusal::Unsupported, message));
        }
        let file = match open_beneath(&self.folder, Path::new(name), OpenMode::default(), 0) {
            Ok(file) => file,
            Err(error) if error.kind() == narrows_sys::ErrorKind::Missing => return Ok(false),
            Err(error) => return Err(name_error(name, &error)),
        };
        let length_bytes = file.metadata().map_or(u64::MAX, |status| status.len());
        if length_bytes != content.len() as u64 {
            return Ok(false);
        }
        let mut found = vec![0; content.len()];
        let read = pread(&file, &mut found, 0).map_or(0, TransferResult::done_bytes);
        Ok(read == content.len() && found == content.as_bytes())
    }
}

/// Whether a name is that of a proof: in a folder that a check made for itself.
fn is_proof(name: &Path) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let mut parts = name.components().rev().map(Component::as_os_str);
    let (last, folder) = (parts.next(), parts.next().and_then(|part| part.to_str()));
    let digits = folder.and_then(|folder| folder.strip_prefix(PREFIX)).map(str::as_bytes);
    last.is_some_and(|last| last == STORE_PROOF)
        && digits.is_some_and(|digits| digits.len() == 16 && digits.iter().all(is_digit))
}

/// What the kernel's answer to a name means to who asked for it.
pub(crate) fn name_error(name: &str, error: &narrows_sys::Error) -> Error {
    let reason = match (error.errno().name(), error.kind()) {
        ("EXDEV" | "ELOOP", _) => {
            let message = format!("`{name}` is outside the server's folder; give a name inside it");
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
