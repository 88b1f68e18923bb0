//! The calls of MPI that the crate `mpi` has no safe form for: messages and barriers that are not waited for.
//!
//! Not here: when they are made, which is the messenger's.

use mpi::ffi;
use mpi::topology::{Communicator as _, SimpleCommunicator};
use mpi::traits::AsRaw as _;
use std::mem::MaybeUninit;
use std::os::raw::c_int;

/// A message on its way, with its bytes.
pub(crate) struct SentMessage {
    request: ffi::MPI_Request,
    /// Read by the library until the request is complete.
    bytes: Vec<u8>,
}

impl SentMessage {
    /// Starts to send `bytes`; `None` where the library refuses.
    pub(crate) fn start(world: &SimpleCommunicator, rank: c_int, tag: c_int, bytes: Vec<u8>) -> Option<Self> {
        let count = c_int::try_from(bytes.len()).ok()?;
        if rank < 0 || rank >= world.size() {
            return None;
        }
        let mut request = MaybeUninit::uninit();
        // SAFETY: the buffer has `count` bytes and stays where it is, in the returned value, which is kept until the
        // request is complete or the process ends (`is_done`, `Drop`); rank and tag are valid in this communicator.
        let status = unsafe {
            ffi::MPI_Isend(
                bytes.as_ptr().cast(),
                count,
                ffi::RSMPI_UINT8_T,
                rank,
                tag,
                world.as_raw(),
                request.as_mut_ptr(),
            )
        };
        // SAFETY: a successful call has set the request.
        (status == 0).then(|| Self { request: unsafe { request.assume_init() }, bytes })
    }

    /// Whether the bytes are not needed any more.
    pub(crate) fn is_done(&mut self) -> bool {
        is_complete(&mut self.request)
    }
}

impl Drop for SentMessage {
    fn drop(&mut self) {
        if !is_complete(&mut self.request) {
            // The library may still read the bytes: they stay for as long as the process does.
            std::mem::forget(std::mem::take(&mut self.bytes));
        }
    }
}

/// A barrier of all ranks that is not waited for.
pub(crate) struct StartedBarrier {
    request: ffi::MPI_Request,
}

impl StartedBarrier {
    /// Enters the barrier; `None` where the library refuses.
    pub(crate) fn enter(world: &SimpleCommunicator) -> Option<Self> {
        let mut request = MaybeUninit::uninit();
        // SAFETY: the communicator is valid, and the request is written by the call.
        let status = unsafe { ffi::MPI_Ibarrier(world.as_raw(), request.as_mut_ptr()) };
        // SAFETY: a successful call has set the request.
        (status == 0).then(|| Self { request: unsafe { request.assume_init() } })
    }

    /// Whether all ranks have entered it.
    pub(crate) fn is_done(&mut self) -> bool {
        is_complete(&mut self.request)
    }
}

/// Whether `request` is complete; one that is stays so, as the null request.
fn is_complete(request: &mut ffi::MPI_Request) -> bool {
    let mut flag: c_int = 0;
    // SAFETY: the request is one that a call of this file has set, or the null request, which is complete; the status is
    // not asked for.
    let status = unsafe { ffi::MPI_Test(request, &raw mut flag, ffi::RSMPI_STATUS_IGNORE) };
    status != 0 || flag != 0
}

/// From now on calls on `world` that fail return: a rank that is gone must not end all others.
pub(crate) fn return_errors(world: &SimpleCommunicator) {
    // SAFETY: communicator and handler are valid; the call changes nothing else.
    let status = unsafe { ffi::MPI_Comm_set_errhandler(world.as_raw(), ffi::RSMPI_ERRORS_RETURN) };
    debug_assert_eq!(status, 0, "the standard's own handler is accepted");
}
