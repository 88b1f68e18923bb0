//! The names in a folder, in the order in which its file system lists them.
//!
//! Hot path: one system call for hundreds of names, as in the C library's `readdir`; no allocation after construction.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd};

use crate::error::SysErrno;

/// Bytes asked for at once: what the C library asks for.
const BUFFER_BYTES: usize = 32 << 10;
/// Where the name starts in an entry: after the inode, the offset, the length and the type.
const NAME_AT: usize = 19;
/// The offset of the length of an entry.
const LENGTH_AT: usize = 16;

/// A place in the listing of one folder at a time.
#[derive(Debug)]
pub struct Listing {
    buffer: Box<[u8]>,
    filled: usize,
    at: usize,
}

impl Default for Listing {
    fn default() -> Self {
        Self { buffer: vec![0; BUFFER_BYTES].into_boxed_slice(), filled: 0, at: 0 }
    }
}

impl Listing {
    /// Forgets what is left of one folder, so that another one may be listed.
    pub fn restart(&mut self) {
        (self.filled, self.at) = (0, 0);
    }

    /// The next name in `folder`, an open folder that is the same for all names since the last restart; `None` at its end.
    /// Names that start with a dot are left out.
    ///
    /// # Errors
    /// The kernel's number: `ENOTDIR` for what is no folder, `ENOENT` for one that was removed.
    ///
    /// # Source
    /// getdents64(2).
    pub fn next_name(&mut self, folder: impl AsFd) -> Result<Option<&CStr>, SysErrno> {
        // Bounded: each turn takes an entry of the folder.
        let (start, end) = loop {
            if self.at >= self.filled {
                self.fill(folder.as_fd())?;
                if self.filled == 0 {
                    return Ok(None);
                }
            }
            let (start, end) = (self.at, self.at + self.entry_bytes()?);
            self.at = end;
            if self.buffer[start + NAME_AT] != b'.' {
                break (start, end);
            }
        };
        let name = CStr::from_bytes_until_nul(&self.buffer[start + NAME_AT..end]);
        name.map(Some).map_err(|_| SysErrno::from_raw(libc::EINVAL))
    }

    /// Bytes of the entry at the present place, which has a name.
    fn entry_bytes(&self) -> Result<usize, SysErrno> {
        let left = &self.buffer[self.at..self.filled];
        let length =
            left.get(LENGTH_AT..LENGTH_AT + 2).map(|two| usize::from(u16::from_ne_bytes([two[0], two[1]])));
        length
            .filter(|length| (NAME_AT + 1..=left.len()).contains(length))
            .ok_or(SysErrno::from_raw(libc::EINVAL))
    }

    fn fill(&mut self, folder: impl AsFd) -> Result<(), SysErrno> {
        self.restart();
        let descriptor = folder.as_fd().as_raw_fd();
        // SAFETY: the descriptor is open, and so many bytes are writable at the pointer.
        let answer = unsafe {
            libc::syscall(libc::SYS_getdents64, descriptor, self.buffer.as_mut_ptr(), self.buffer.len())
        };
        self.filled = usize::try_from(answer).map_err(|_| SysErrno::last())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs::{self, File};

    #[test]
    fn every_name_is_listed_once_over_several_fills_and_again_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let names: BTreeSet<String> =
            (0..3000).map(|number| format!("a-rather-long-name-{number:04}")).collect();
        for name in names.iter().map(String::as_str).chain([".hidden"]) {
            File::create(folder.path().join(name)).unwrap();
        }
        let mut listing = Listing::default();
        for _ in 0..2 {
            let opened = File::open(folder.path()).unwrap();
            let mut listed = Vec::new();
            while let Some(name) = listing.next_name(&opened).unwrap() {
                listed.push(name.to_str().unwrap().to_owned());
            }
            assert_eq!(listed.len(), names.len());
            assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), names);
            listing.restart();
        }
    }

    #[test]
    fn names_that_are_deleted_as_they_come_are_all_listed() {
        let folder = tempfile::tempdir().unwrap();
        (0..2000).for_each(|number| drop(File::create(folder.path().join(number.to_string())).unwrap()));
        let opened = File::open(folder.path()).unwrap();
        let mut listing = Listing::default();
        while let Some(name) = listing.next_name(&opened).unwrap() {
            fs::remove_file(folder.path().join(name.to_str().unwrap())).unwrap();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_no_folder_says_so() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(Listing::default().next_name(&file).err(), Some(SysErrno::from_raw(libc::ENOTDIR)));
    }
}
