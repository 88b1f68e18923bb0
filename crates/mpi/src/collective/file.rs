//! A file that all ranks of a communicator have open together, and its calls.
//!
//! Every call that is collective in the standard is one here: all ranks call it. Not here: what is written and when.

use super::constants::constant;
use super::darray::FileView;
use mpi::ffi;
use mpi::traits::AsRaw;
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::raw::{c_char, c_int};
use std::path::Path;

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MpiOpenMode {
    /// Made new, for writing and reading; one that exists is refused.
    New,
    /// One that exists, for writing and reading.
    Existing,
    /// One that exists, for reading.
    ReadOnly,
}

/// Whether all ranks take part in a transfer together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RankTransfer {
    /// `MPI_File_write`, `MPI_File_read`.
    Independent,
    /// `MPI_File_write_all`, `MPI_File_read_all`.
    Collective,
}

/// The file.
pub(super) struct MpiFile {
    file: ffi::MPI_File,
    path: String,
    is_open: bool,
}

/// `outcome` of the call `what` on `path`.
fn checked(outcome: c_int, what: &str, path: &str) -> Result<(), String> {
    if outcome == 0 {
        return Ok(());
    }
    let mut text = [0_u8; 1024];
    let mut length: c_int = 0;
    // SAFETY: the text has room for the longest message of either library (512 bytes), and both pointers are valid.
    let known =
        unsafe { ffi::MPI_Error_string(outcome, text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
    let length = usize::try_from(length).unwrap_or_default().min(text.len());
    let said = if known == 0 { String::from_utf8_lossy(&text[..length]).into_owned() } else { String::new() };
    Err(format!("{what} on {path} failed: {said} (error {outcome})"))
}

impl MpiFile {
    /// Opens `path` on all ranks of `group` together, with these hints.
    ///
    /// # Errors
    /// What the library reports.
    pub(super) fn open(
        group: &impl AsRaw<Raw = ffi::MPI_Comm>,
        path: &Path,
        mode: MpiOpenMode,
        hints: &[(String, String)],
    ) -> Result<Self, String> {
        let shown = path.display().to_string();
        let name = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|_| format!("{shown}: a name with a zero byte"))?;
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
        let outcome =
            unsafe { ffi::MPI_File_open(group.as_raw(), name.as_ptr(), flags, info.info, file.as_mut_ptr()) };
        checked(outcome, "MPI_File_open", &shown)?;
        // SAFETY: a successful call has set the handle.
        Ok(Self { file: unsafe { file.assume_init() }, path: shown, is_open: true })
    }

    /// Shows this rank the elements of `view` alone.
    ///
    /// # Errors
    /// What the library reports.
    pub(super) fn set_view(&self, view: &FileView) -> Result<(), String> {
        let info = Hints::new(&[])?;
        // SAFETY: the handle is open, both data types are committed, and the name of the representation ends with a zero
        // byte.
        let outcome = unsafe {
            ffi::MPI_File_set_view(
                self.file,
                0,
                ffi::RSMPI_INT32_T,
                view.as_raw(),
                c"native".as_ptr(),
                info.info,
            )
        };
        checked(outcome, "MPI_File_set_view", &self.path)
    }

    /// Moves this rank's own pointer, in units of the view: bytes without one.
    ///
    /// # Errors
    /// What the library reports.
    pub(super) fn seek(&self, offset: u64) -> Result<(), String> {
        let offset =
            ffi::MPI_Offset::try_from(offset).map_err(|_| format!("{}: offset {offset}", self.path))?;
        let from_start = constant(ffi::MPI_SEEK_SET)?;
        // SAFETY: the handle is open.
        let outcome = unsafe { ffi::MPI_File_seek(self.file, offset, from_start) };
        checked(outcome, "MPI_File_seek", &self.path)
    }

    /// Writes `elements` at this rank's pointer.
    ///
    /// # Errors
    /// What the library reports, and fewer elements than asked for.
    pub(super) fn write<T: Element>(&self, transfer: RankTransfer, elements: &[T]) -> Result<(), String> {
        let count = count(elements)?;
        let (call, name) = match transfer {
            RankTransfer::Independent => (ffi::MPI_File_write as WriteFn, "MPI_File_write"),
            RankTransfer::Collective => (ffi::MPI_File_write_all as WriteFn, "MPI_File_write_all"),
        };
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
    pub(super) fn read<T: Element>(&self, transfer: RankTransfer, elements: &mut [T]) -> Result<(), String> {
        let count = count(elements)?;
        let (call, name) = match transfer {
            RankTransfer::Independent => (ffi::MPI_File_read as ReadFn, "MPI_File_read"),
            RankTransfer::Collective => (ffi::MPI_File_read_all as ReadFn, "MPI_File_read_all"),
        };
        let mut status = MaybeUninit::zeroed();
        // SAFETY: the handle is open, and the buffer has room for `count` elements of this type.
        let outcome =
            unsafe { call(self.file, elements.as_mut_ptr().cast(), count, T::kind(), status.as_mut_ptr()) };
        checked(outcome, name, &self.path)?;
        // SAFETY: the call has set the status, which was zero before.
        self.check_count::<T>(name, unsafe { status.assume_init() }, count)
    }

    fn check_count<T: Element>(
        &self,
        name: &str,
        status: ffi::MPI_Status,
        expected: c_int,
    ) -> Result<(), String> {
        let mut moved: c_int = 0;
        // SAFETY: the status was set by a call that has ended, and the count is written by this one.
        let outcome = unsafe { ffi::MPI_Get_count(&raw const status, T::kind(), &raw mut moved) };
        checked(outcome, "MPI_Get_count", &self.path)?;
        if moved == expected {
            return Ok(());
        }
        Err(format!(
            "{name} on {} moved {moved} of {expected} elements; is the file system full, or the file shorter?",
            self.path
        ))
    }

    /// Waits until what was written is on the device.
    ///
    /// # Errors
    /// What the library reports.
    pub(super) fn sync(&self) -> Result<(), String> {
        // SAFETY: the handle is open.
        checked(unsafe { ffi::MPI_File_sync(self.file) }, "MPI_File_sync", &self.path)
    }

    /// Closes it on all ranks together.
    ///
    /// # Errors
    /// What the library reports.
    pub(super) fn close(mut self) -> Result<(), String> {
        self.is_open = false;
        // SAFETY: the handle is open, and not used any more.
        checked(unsafe { ffi::MPI_File_close(&raw mut self.file) }, "MPI_File_close", &self.path)
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

type WriteFn = unsafe extern "C" fn(
    ffi::MPI_File,
    *const std::os::raw::c_void,
    c_int,
    ffi::MPI_Datatype,
    *mut ffi::MPI_Status,
) -> c_int;
type ReadFn = unsafe extern "C" fn(
    ffi::MPI_File,
    *mut std::os::raw::c_void,
    c_int,
    ffi::MPI_Datatype,
    *mut ffi::MPI_Status,
) -> c_int;

fn count<T>(elements: &[T]) -> Result<c_int, String> {
    c_int::try_from(elements.len())
        .map_err(|_| format!("{} elements in one call; MPI counts to 2147483647", elements.len()))
}

/// What files consist of.
pub(super) trait Element {
    /// Its data type.
    fn kind() -> ffi::MPI_Datatype;
}

impl Element for u8 {
    fn kind() -> ffi::MPI_Datatype {
        // SAFETY: a constant of the library.
        unsafe { ffi::RSMPI_UINT8_T }
    }
}

impl Element for i32 {
    fn kind() -> ffi::MPI_Datatype {
        // SAFETY: a constant of the library.
        unsafe { ffi::RSMPI_INT32_T }
    }
}

/// Hints as the library takes them.
struct Hints {
    info: ffi::MPI_Info,
}

impl Hints {
    fn new(hints: &[(String, String)]) -> Result<Self, String> {
        let mut info = MaybeUninit::uninit();
        // SAFETY: the handle is written by the call.
        checked(unsafe { ffi::MPI_Info_create(info.as_mut_ptr()) }, "MPI_Info_create", "hints")?;
        // SAFETY: a successful call has set the handle.
        let made = Self { info: unsafe { info.assume_init() } };
        for (key, value) in hints {
            let shown = format!("the hint {key}={value}");
            let text = |text: &str| CString::new(text).map_err(|_| format!("{shown} has a zero byte"));
            let (key, value) = (text(key)?, text(value)?);
            // SAFETY: the handle is valid, and both texts end with a zero byte.
            let outcome = unsafe { ffi::MPI_Info_set(made.info, key.as_ptr(), value.as_ptr()) };
            checked(outcome, "MPI_Info_set", &shown)?;
        }
        Ok(made)
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        // SAFETY: the handle is valid, and not used any more; files keep a copy.
        unsafe { ffi::MPI_Info_free(&raw mut self.info) };
    }
}
