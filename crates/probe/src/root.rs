//! The folder below which `/proc` and `/sys` are read: the running machine, or a recorded tree of another.
//!
//! It knows no file by name; the readers know which files contain which facts.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::{ProbeError, Result};
use crate::parse::mountinfo::unescape;
use crate::parse::{fields, lines, number};

/// No file of /proc or /sys that is read here comes near; a guard against reading something else.
pub(crate) const FILE_BYTES_MAX: usize = 8 << 20;

/// Where a machine's `/proc` and `/sys` are found.
#[derive(Debug, Clone)]
pub struct Root {
    folder: PathBuf,
    recorded: bool,
}

/// Room on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FsCapacity {
    pub(crate) size_bytes: u64,
    /// For users without special rights.
    pub(crate) free_bytes: u64,
}

/// In a recorded tree: one line per path, `size_bytes free_bytes path`, the facts that no file of /proc or /sys
/// contains.
const RECORDED_CAPACITY: &str = "/statvfs";

impl Root {
    /// The machine that this process runs on.
    #[must_use]
    pub fn system() -> Self {
        Self { folder: PathBuf::from("/"), recorded: false }
    }

    /// A recorded tree: a folder that contains `proc/` and `sys/` of a machine.
    ///
    /// # Shape
    /// A file `statvfs` in it, one line a path (`size_bytes free_bytes path`, spaces in the path as `\040`), describes the machine's other
    /// folders: they need not be in the tree. Links in the tree are relative and stay inside it.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), recorded: true }
    }

    /// Where this process finds the machine's `path`.
    pub(crate) fn locate(&self, path: &str) -> PathBuf {
        self.folder.join(path.trim_start_matches('/'))
    }

    pub(crate) fn open(&self, path: &str) -> Result<File> {
        File::open(self.locate(path)).map_err(|error| ProbeError::reading(path, error))
    }

    /// The whole file, at most [`FILE_BYTES_MAX`].
    pub(crate) fn read(&self, path: &str) -> Result<Vec<u8>> {
        let limit = u64::try_from(FILE_BYTES_MAX + 1).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        let read = self.open(path)?.take(limit).read_to_end(&mut bytes);
        read.map_err(|error| ProbeError::reading(path, error))?;
        if bytes.len() > FILE_BYTES_MAX {
            return Err(ProbeError::too_long(path, FILE_BYTES_MAX));
        }
        Ok(bytes)
    }

    /// The file as text without white space around it; bytes that are no UTF-8 are replaced.
    pub(crate) fn text(&self, path: &str) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.read(path)?).trim().to_owned())
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.locate(path).exists()
    }

    pub(crate) fn is_folder(&self, path: &str) -> bool {
        self.locate(path).is_dir()
    }

    /// Names in a folder, sorted; names that are no UTF-8 are replaced.
    pub(crate) fn names(&self, path: &str) -> Result<Vec<String>> {
        let entries = fs::read_dir(self.locate(path)).map_err(|error| ProbeError::reading(path, error))?;
        let mut names = entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<Vec<_>>>()
            .map_err(|error| ProbeError::reading(path, error))?;
        names.sort();
        Ok(names)
    }

    /// The path with every link followed, as the machine names it.
    pub(crate) fn resolve(&self, path: &str) -> Result<String> {
        if self.recorded && self.recorded_capacity(path).is_ok() {
            return Ok(path.to_owned());
        }
        let failed = |error| ProbeError::reading(path, error);
        let resolved = fs::canonicalize(self.locate(path)).map_err(failed)?;
        let folder = fs::canonicalize(&self.folder).map_err(failed)?;
        let inside = resolved.strip_prefix(folder);
        let inside =
            inside.map_err(|_| ProbeError::missing(path, "its links lead out of the recorded tree"))?;
        Ok(Path::new("/").join(inside).to_string_lossy().into_owned())
    }

    /// Room on the file system of `path`.
    pub(crate) fn capacity(&self, path: &str) -> Result<FsCapacity> {
        if self.recorded {
            return self.recorded_capacity(path);
        }
        let stat = rustix::fs::statvfs(self.locate(path));
        let stat = stat.map_err(|errno| ProbeError::reading(path, errno.into()))?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        Ok(FsCapacity { size_bytes: bytes(stat.f_blocks), free_bytes: bytes(stat.f_bavail) })
    }

    fn recorded_capacity(&self, path: &str) -> Result<FsCapacity> {
        let bytes = self.read(RECORDED_CAPACITY)?;
        let entry = lines(&bytes).find_map(|(_, line)| {
            let mut parts = fields(line);
            let size_bytes = parts.next().and_then(number)?;
            let free_bytes = parts.next().and_then(number)?;
            (unescape(parts.next()?) == path).then_some(FsCapacity { size_bytes, free_bytes })
        });
        entry.ok_or_else(|| ProbeError::missing(path, "it is not in the recorded tree"))
    }
}
