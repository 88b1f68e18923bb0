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

    /// Whether nothing is waited for any more: it is sent, or the library failed.
    pub(crate) fn is_over(&mut self) -> bool {
        let state = state_of(&mut self.request);
        if state == RequestState::Failed {
            self.keep_bytes();
        }
        state != RequestState::Pending
    }

    /// The library may still read the bytes: they stay for as long as the process does.
    fn keep_bytes(&mut self) {
        std::mem::forget(std::mem::take(&mut self.bytes));
    }
}

impl Drop for SentMessage {
    fn drop(&mut self) {
        if state_of(&mut self.request) != RequestState::Complete {
            self.keep_bytes();
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

    /// Whether nothing is waited for any more: all ranks have entered it, or the library failed.
    pub(crate) fn is_over(&mut self) -> bool {
        state_of(&mut self.request) != RequestState::Pending
    }
}

/// Where a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestState {
    /// It goes on, and its buffer is the library's.
    Pending,
    /// It is complete, and its buffer is this program's.
    Complete,
    /// The library could not say: its buffer may still be the library's.
    Failed,
}

impl RequestState {
    /// What the call `MPI_Test` has returned and set.
    fn from_test(status: c_int, flag: c_int) -> Self {
        match (status, flag) {
            (0, 0) => Self::Pending,
            (0, _) => Self::Complete,
            _ => Self::Failed,
        }
    }
}

/// Where `request` is; one that is complete stays so, as the null request.
pub(crate) fn state_of(request: &mut ffi::MPI_Request) -> RequestState {
    let mut flag: c_int = 0;
    // SAFETY: the request is one that a call of this file has set, or the null request, which is complete; the status is
    // not asked for.
    let status = unsafe { ffi::MPI_Test(request, &raw mut flag, ffi::RSMPI_STATUS_IGNORE) };
    RequestState::from_test(status, flag)
}

/// From now on calls on `world` that fail return: a rank that is gone must not end all others.
pub(crate) fn return_errors(world: &SimpleCommunicator) {
    // SAFETY: communicator and handler are valid; the call changes nothing else.
    let status = unsafe { ffi::MPI_Comm_set_errhandler(world.as_raw(), ffi::RSMPI_ERRORS_RETURN) };
    debug_assert_eq!(status, 0, "the standard's own handler is accepted");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_given_back_by_a_test_that_succeeds_alone() {
        for (status, flag, state) in [
            (0, 0, RequestState::Pending),
            (0, 1, RequestState::Complete),
            // MPI_ERR_OTHER, with what the flag was or became.
            (16, 0, RequestState::Failed),
            (16, 1, RequestState::Failed),
        ] {
            assert_eq!(RequestState::from_test(status, flag), state, "{status} {flag}");
        }
    }
}
