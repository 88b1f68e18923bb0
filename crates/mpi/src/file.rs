//! A file that all ranks of a communicator have open together, and its calls.
//!
//! Every call that is collective in the standard is one here: all ranks call it. Not here: what is written and when.

use crate::calls::{NamedCall, RankTransfer};
use crate::constants::constant;
use crate::failure::{MpiFailure, checked};
use crate::hints::Hints;
use crate::view::{ArrayPart, Element};
use mpi::ffi;
use mpi::traits::AsRaw;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::raw::c_int;
use std::path::Path;

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MpiOpenMode {
    /// Made new, for writing and reading; one that exists is refused.
    New,
    /// One that exists, for writing and reading.
    Existing,
    /// One that exists, for reading.
    ReadOnly,
}

/// The file.
pub(crate) struct MpiFile {
    file: ffi::MPI_File,
    path: String,
    is_open: bool,
}

impl MpiFile {
    /// Opens `path` on all ranks of `group` together, with these hints.
    ///
    /// # Errors
    /// What the library reports.
    pub(crate) fn open(
        group: &impl AsRaw<Raw = ffi::MPI_Comm>,
        path: &Path,
        mode: MpiOpenMode,
        hints: &[(String, String)],
    ) -> Result<Self, MpiFailure> {
        let shown = path.display().to_string();
        // Open MPI 4.1 fails to open a name of one letter; with its folder it is longer.
        let placed = if path.components().count() == 1 { Path::new(".").join(path) } else { path.to_owned() };
        let name = CString::new(placed.as_os_str().as_encoded_bytes())
            .map_err(|_| MpiFailure::invalid(format!("{shown}: a name with a zero byte")))?;
        let read_write = constant(ffi::MPI_MODE_RDWR)?;
        let flags = match mode {
            MpiOpenMode::New => read_write | constant(ffi::MPI_MODE_CREATE)? | constant(ffi::MPI_MODE_EXCL)?,
            MpiOpenMode::Existing => read_write,
            MpiOpenMode::ReadOnly => constant(ffi::MPI_MODE_RDONLY)?,
        };
        let info = Hints::new(hints)?;
        let mut file = MaybeUninit::uninit();
        // SAFETY: the communicator and the hints are valid, the name ends with a zero byte, and the handle is written by the
        // call.
        let outcome = unsafe {
            ffi::MPI_File_open(group.as_raw(), name.as_ptr(), flags, info.as_raw(), file.as_mut_ptr())
        };
        checked(outcome, "MPI_File_open", &shown)?;
        // SAFETY: a successful call has set the handle.
        Ok(Self { file: unsafe { file.assume_init() }, path: shown, is_open: true })
    }

    /// The hints that the library reports of it.
    ///
    /// # Errors
    /// What the library reports.
    pub(crate) fn reported_hints(&self) -> Result<BTreeMap<String, String>, MpiFailure> {
        let mut info = MaybeUninit::uninit();
        // SAFETY: the handle is open, and that of the hints is written by the call.
        let outcome = unsafe { ffi::MPI_File_get_info(self.file, info.as_mut_ptr()) };
        checked(outcome, "MPI_File_get_info", &self.path)?;
        // SAFETY: a successful call has set the handle, which is this program's to free.
        let hints = unsafe { Hints::from_raw(info.assume_init()) };
        hints.pairs()
    }

    /// Shows this rank the elements of `part` alone.
    ///
    /// # Errors
    /// What the library reports.
    pub(crate) fn set_view(&self, part: &ArrayPart) -> Result<(), MpiFailure> {
        let info = Hints::new(&[])?;
        // SAFETY: the handle is open, both data types are committed, and the name of the representation ends with a zero
        // byte.
        let outcome = unsafe {
            ffi::MPI_File_set_view(
                self.file,
                0,
                part.element(),
                part.as_raw(),
                c"native".as_ptr(),
                info.as_raw(),
            )
        };
        checked(outcome, "MPI_File_set_view", &self.path)
    }

    /// Moves this rank's own pointer, in units of the view: bytes without one.
    ///
    /// # Errors
    /// What the library reports.
    pub(crate) fn seek(&self, offset: u64) -> Result<(), MpiFailure> {
        let offset = self.offset(offset)?;
        let from_start = constant(ffi::MPI_SEEK_SET)?;
        // SAFETY: the handle is open.
        let outcome = unsafe { ffi::MPI_File_seek(self.file, offset, from_start) };
        checked(outcome, "MPI_File_seek", &self.path)
    }

    /// Writes `elements` at this rank's pointer.
    ///
    /// # Errors
    /// What the library reports, and fewer elements than asked for.
    pub(crate) fn write<T: Element>(&self, transfer: RankTransfer, elements: &[T]) -> Result<(), MpiFailure> {
        let count = count(elements)?;
        let NamedCall { call, name } = transfer.write();
        let mut status = MaybeUninit::zeroed();
        // SAFETY: the handle is open, and the buffer has `count` elements of this type.
        let outcome =
            unsafe { call(self.file, elements.as_ptr().cast(), count, T::kind(), status.as_mut_ptr()) };
        checked(outcome, name, &self.path)?;
        // SAFETY: the call has set the status, which was zero before.
        self.check_count::<T>(name, unsafe { status.assume_init() }, count)
    }

    /// Reads `elements` at this rank's pointer.
    ///
    /// # Errors
    /// What the library reports, and fewer elements than asked for.
    pub(crate) fn read<T: Element>(
        &self,
        transfer: RankTransfer,
        elements: &mut [T],
    ) -> Result<(), MpiFailure> {
        let count = count(elements)?;
        let NamedCall { call, name } = transfer.read();
        let mut status = MaybeUninit::zeroed();
        // SAFETY: the handle is open, and the buffer has room for `count` elements of this type.
        let outcome =
            unsafe { call(self.file, elements.as_mut_ptr().cast(), count, T::kind(), status.as_mut_ptr()) };
        checked(outcome, name, &self.path)?;
        // SAFETY: the call has set the status, which was zero before.
        self.check_count::<T>(name, unsafe { status.assume_init() }, count)
    }

    /// Writes those of `elements` that `part` selects, at this rank's pointer.
    ///
    /// # Errors
    /// What the library reports, and fewer elements than asked for.
    pub(crate) fn write_part<T: Element>(
        &self,
        transfer: RankTransfer,
        elements: &[T],
        part: &ArrayPart,
    ) -> Result<(), MpiFailure> {
        let expected = part.selected_of(elements)?;
        let NamedCall { call, name } = transfer.write();
        let mut status = MaybeUninit::zeroed();
        // SAFETY: the handle is open, and all that the data type selects is in the buffer (`selected_of`).
        let outcome =
            unsafe { call(self.file, elements.as_ptr().cast(), 1, part.as_raw(), status.as_mut_ptr()) };
        checked(outcome, name, &self.path)?;
        // SAFETY: the call has set the status, which was zero before.
        self.check_count::<T>(name, unsafe { status.assume_init() }, expected)
    }

    /// Reads into those of `elements` that `part` selects, at this rank's pointer; all others stay as they are.
    ///
    /// # Errors
    /// What the library reports, and fewer elements than asked for.
    pub(crate) fn read_part<T: Element>(
        &self,
        transfer: RankTransfer,
        elements: &mut [T],
        part: &ArrayPart,
    ) -> Result<(), MpiFailure> {
        let expected = part.selected_of(elements)?;
        let NamedCall { call, name } = transfer.read();
        let mut status = MaybeUninit::zeroed();
        // SAFETY: the handle is open, and all that the data type selects is in the buffer (`selected_of`).
        let outcome =
            unsafe { call(self.file, elements.as_mut_ptr().cast(), 1, part.as_raw(), status.as_mut_ptr()) };
        checked(outcome, name, &self.path)?;
        // SAFETY: the call has set the status, which was zero before.
        self.check_count::<T>(name, unsafe { status.assume_init() }, expected)
    }

    /// Writes `bytes` at an offset of this rank's view; returns how many were moved.
    ///
    /// # Errors
    /// What the library reports.
    pub(crate) fn write_at(
        &self,
        transfer: RankTransfer,
        offset: u64,
        bytes: &[u8],
    ) -> Result<u32, MpiFailure> {
        let (offset, count) = (self.offset(offset)?, count(bytes)?);
        let NamedCall { call, name } = transfer.write_at();
        let mut status = MaybeUninit::zeroed();
        // SAFETY: the handle is open, and the buffer has `count` bytes.
        let outcome =
            unsafe { call(self.file, offset, bytes.as_ptr().cast(), count, u8::kind(), status.as_mut_ptr()) };
        checked(outcome, name, &self.path)?;
        // SAFETY: the call has set the status, which was zero before.
        self.moved::<u8>(unsafe { status.assume_init() })
    }

    /// Reads `bytes` at an offset of this rank's view; returns how many were moved.
    ///
    /// # Errors
    /// What the library reports.
    pub(crate) fn read_at(
        &self,
        transfer: RankTransfer,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<u32, MpiFailure> {
        let (offset, count) = (self.offset(offset)?, count(bytes)?);
        let NamedCall { call, name } = transfer.read_at();
        let mut status = MaybeUninit::zeroed();
        // SAFETY: the handle is open, and the buffer has room for `count` bytes.
        let outcome = unsafe {
            call(self.file, offset, bytes.as_mut_ptr().cast(), count, u8::kind(), status.as_mut_ptr())
        };
        checked(outcome, name, &self.path)?;
        // SAFETY: the call has set the status, which was zero before.
        self.moved::<u8>(unsafe { status.assume_init() })
    }

    fn offset(&self, offset: u64) -> Result<ffi::MPI_Offset, MpiFailure> {
        ffi::MPI_Offset::try_from(offset)
            .map_err(|_| MpiFailure::invalid(format!("{}: offset {offset}", self.path)))
    }

    /// The elements that a call has moved.
    fn moved<T: Element>(&self, status: ffi::MPI_Status) -> Result<u32, MpiFailure> {
        let mut moved: c_int = 0;
        // SAFETY: the status was set by a call that has ended, and the count is written by this one.
        let outcome = unsafe { ffi::MPI_Get_count(&raw const status, T::kind(), &raw mut moved) };
        checked(outcome, "MPI_Get_count", &self.path)?;
        u32::try_from(moved)
            .map_err(|_| MpiFailure::invalid(format!("{}: a part of an element was moved", self.path)))
    }

    fn check_count<T: Element>(
        &self,
        name: &str,
        status: ffi::MPI_Status,
        expected: c_int,
    ) -> Result<(), MpiFailure> {
        let moved = self.moved::<T>(status)?;
        if u32::try_from(expected) == Ok(moved) {
            return Ok(());
        }
        Err(MpiFailure::io(format!(
            "{name} on {} moved {moved} of {expected} elements; is the file system full, or the file shorter?",
            self.path
        )))
    }

    /// Waits until what was written is on the device.
    ///
    /// # Errors
    /// What the library reports.
    pub(crate) fn sync(&self) -> Result<(), MpiFailure> {
        // SAFETY: the handle is open.
        checked(unsafe { ffi::MPI_File_sync(self.file) }, "MPI_File_sync", &self.path)
    }

    /// Closes it on all ranks together.
    ///
    /// # Errors
    /// What the library reports.
    pub(crate) fn close(mut self) -> Result<(), MpiFailure> {
        self.is_open = false;
        // SAFETY: the handle is open, and not used any more.
        checked(unsafe { ffi::MPI_File_close(&raw mut self.file) }, "MPI_File_close", &self.path)
    }

    /// Leaves it open for as long as the process lives: closing waits for ranks of which one does not come.
    pub(crate) fn abandon(mut self) {
        self.is_open = false;
    }
}

impl Drop for MpiFile {
    fn drop(&mut self) {
        if self.is_open {
            // A step has failed: all ranks know, and drop it together.
            // SAFETY: the handle is open, and not used any more.
            unsafe { ffi::MPI_File_close(&raw mut self.file) };
        }
    }
}

fn count<T>(elements: &[T]) -> Result<c_int, MpiFailure> {
    let length = elements.len();
    c_int::try_from(length)
        .map_err(|_| MpiFailure::invalid(format!("{length} elements in one call; MPI counts to 2147483647")))
}
