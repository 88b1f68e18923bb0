//! The calls of MPI-IO that move data: one for each direction, way to place the data, and number of ranks that take part.
//!
//! Not here: files and buffers.

use mpi::ffi;
use std::os::raw::{c_int, c_void};

/// Whether all ranks take part in a transfer together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RankTransfer {
    /// `MPI_File_write`, `MPI_File_read`.
    Independent,
    /// `MPI_File_write_all`, `MPI_File_read_all`.
    Collective,
}

/// A call with the name that messages give it.
#[derive(Clone, Copy)]
pub(crate) struct NamedCall<F> {
    pub(crate) call: F,
    pub(crate) name: &'static str,
}

pub(crate) type WriteFn = unsafe extern "C" fn(
    ffi::MPI_File,
    *const c_void,
    c_int,
    ffi::MPI_Datatype,
    *mut ffi::MPI_Status,
) -> c_int;
pub(crate) type ReadFn =
    unsafe extern "C" fn(ffi::MPI_File, *mut c_void, c_int, ffi::MPI_Datatype, *mut ffi::MPI_Status) -> c_int;
pub(crate) type WriteAtFn = unsafe extern "C" fn(
    ffi::MPI_File,
    ffi::MPI_Offset,
    *const c_void,
    c_int,
    ffi::MPI_Datatype,
    *mut ffi::MPI_Status,
) -> c_int;
pub(crate) type ReadAtFn = unsafe extern "C" fn(
    ffi::MPI_File,
    ffi::MPI_Offset,
    *mut c_void,
    c_int,
    ffi::MPI_Datatype,
    *mut ffi::MPI_Status,
) -> c_int;

impl RankTransfer {
    /// The call that writes at a rank's own pointer.
    pub(crate) fn write(self) -> NamedCall<WriteFn> {
        match self {
            Self::Independent => NamedCall { call: ffi::MPI_File_write, name: "MPI_File_write" },
            Self::Collective => NamedCall { call: ffi::MPI_File_write_all, name: "MPI_File_write_all" },
        }
    }

    /// The call that reads at a rank's own pointer.
    pub(crate) fn read(self) -> NamedCall<ReadFn> {
        match self {
            Self::Independent => NamedCall { call: ffi::MPI_File_read, name: "MPI_File_read" },
            Self::Collective => NamedCall { call: ffi::MPI_File_read_all, name: "MPI_File_read_all" },
        }
    }

    /// The call that writes at an offset.
    pub(crate) fn write_at(self) -> NamedCall<WriteAtFn> {
        match self {
            Self::Independent => NamedCall { call: ffi::MPI_File_write_at, name: "MPI_File_write_at" },
            Self::Collective => NamedCall { call: ffi::MPI_File_write_at_all, name: "MPI_File_write_at_all" },
        }
    }

    /// The call that reads at an offset.
    pub(crate) fn read_at(self) -> NamedCall<ReadAtFn> {
        match self {
            Self::Independent => NamedCall { call: ffi::MPI_File_read_at, name: "MPI_File_read_at" },
            Self::Collective => NamedCall { call: ffi::MPI_File_read_at_all, name: "MPI_File_read_at_all" },
        }
    }
}
