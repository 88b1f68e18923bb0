//! Displacing what is cached, as programs without rights do it: by reading a file that is larger than the memory.
//!
//! The file has no blocks, so that it takes no room and loads no device: the kernel fills its pages with zeros, and they
//! take the place of others all the same. Only one's own reading does that; no setting of the machine is touched.

use narrows_model::Bytes;
use narrows_sys::file::{Caching, Create, FileAccess, OpenMode, fdatasync, nameless, open_own, pread};
use rustix::fs::{AtFlags, ftruncate, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io;

/// Names that are tried on a file system without files that have none.
const NAMES_MAX: u32 = 16;
/// Bytes of one read.
const STEP_BYTES: usize = 1 << 20;

/// A file without blocks and without a name; its pages are cached as long as this value lives.
#[derive(Debug)]
pub struct DummyFile {
    file: File,
    length: Bytes,
}

impl DummyFile {
    /// A dummy of `length` on the file system of `folder`.
    ///
    /// # Errors
    /// When no file can be made there, or none of that length.
    pub fn make(folder: &File, length: Bytes) -> io::Result<Self> {
        let file = nameless(folder, Caching::Buffered).or_else(|_| unlinked(folder))?;
        ftruncate(&file, length.0)?;
        Ok(Self { file, length })
    }

    /// Bytes of it.
    #[must_use]
    pub fn length(&self) -> Bytes {
        self.length
    }

    /// Reads `length` of it from `from` on; nothing beyond its end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, from: Bytes, length: Bytes) -> io::Result<()> {
        let end = from.0.saturating_add(length.0).min(self.length.0);
        let mut buffer = vec![0; STEP_BYTES];
        let mut at = from.0;
        while at < end {
            let step = usize::try_from(end - at).unwrap_or(STEP_BYTES).min(STEP_BYTES);
            let read = pread(&self.file, &mut buffer[..step], at).map_err(failed)?.done_bytes();
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            at += read as u64;
        }
        Ok(())
    }
}

/// A new file whose name is removed at once. A process that is killed in between leaves the name, and the next one takes
/// another.
fn unlinked(folder: &File) -> io::Result<File> {
    let mode = OpenMode { access: FileAccess::ReadWrite, create: Create::New, ..OpenMode::default() };
    let mut index = 0;
    loop {
        let name = format!(".narrows-dummy-{}-{index}", std::process::id());
        match open_own(folder, OsStr::new(&name), mode, 0o600) {
            Ok(file) => {
                unlinkat(folder, &name, AtFlags::empty())?;
                return Ok(file);
            }
            Err(error) if error.errno().raw() == Errno::EXIST.raw_os_error() && index < NAMES_MAX => {
                index += 1;
            }
            Err(error) => return Err(io::Error::other(error)),
        }
    }
}

/// Waits until what was written to `file` is on its device: only then its pages give way.
///
/// # Errors
/// When the device does not take it.
pub fn sync(file: &File) -> io::Result<()> {
    fdatasync(file).map_err(failed)
}

fn failed(errno: narrows_sys::SysErrno) -> io::Error {
    io::Error::from_raw_os_error(errno.raw())
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_sys::file::resident_bytes;

    #[test]
    fn without_nameless_files_a_name_that_is_taken_is_passed_over_and_none_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let taken = format!(".narrows-dummy-{}-0", std::process::id());
        std::fs::write(folder.path().join(&taken), "somebody's").unwrap();
        let file = unlinked(&File::open(folder.path()).unwrap()).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 0);
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, [std::ffi::OsString::from(taken)]);
    }

    #[test]
    fn a_dummy_fills_the_page_cache_takes_no_blocks_and_has_no_name() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let opened = File::open(folder.path()).unwrap();
        let dummy = DummyFile::make(&opened, Bytes(8 << 20)).unwrap();
        dummy.read(Bytes(0), Bytes(4 << 20)).unwrap();
        dummy.read(Bytes(4 << 20), Bytes(1 << 40)).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!((dummy.file.metadata().unwrap().blocks(), dummy.length()), (0, Bytes(8 << 20)));
        assert_eq!(resident_bytes(&dummy.file, 0, 8 << 20).unwrap(), 8 << 20);
    }
}
