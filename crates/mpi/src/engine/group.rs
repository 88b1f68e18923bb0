//! The ranks that have one file open together, and what they agree on, without a call that cannot be given up.
//!
//! Calls here come from the threads of clients, beside those of the messenger: the library must allow several threads
//! (`MPI_THREAD_MULTIPLE`). Hot path: `combined` neither allocates nor takes a lock.

use super::lockstep::RankBits;
use crate::failure::{MpiFailure, checked};
use crate::raw::{RequestState, state_of};
use mpi::Threading;
use mpi::ffi;
use mpi::topology::{Communicator as _, SimpleCommunicator};
use mpi::traits::AsRaw;
use narrows_engines::{Clock, StopFlag};
use std::mem::MaybeUninit;
use std::os::raw::c_int;
use std::sync::Arc;

/// Tag by which the clients of a trial form their group.
const GROUP_TAG: c_int = 7703;
/// Bytes of a reason that one rank gives to all others.
const REASON_BYTES: usize = 1024;
/// Looks at a reduction before the processor is given to others that wait for it.
const LOOKS_BEFORE_YIELD: u32 = 200;
/// After a request to stop, others are waited for no longer than this: one of them does not come any more.
const GIVE_UP_NS: u64 = 3_000_000_000;

/// The ranks of a job, for calls from the threads of clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IoRanks {
    world: ffi::MPI_Comm,
    rank_count: c_int,
    threading: Threading,
}

// SAFETY: a handle is a number or an address that the library alone uses, and it is used from other threads only where the
// library allows calls of several threads (`IoRanks::problem`).
unsafe impl Send for IoRanks {}
// SAFETY: as for `Send`.
unsafe impl Sync for IoRanks {}

impl IoRanks {
    /// The ranks of `world`, which all make this call together, in a library that allows `threading`.
    ///
    /// # Errors
    /// What the library reports.
    pub(crate) fn new(world: &SimpleCommunicator, threading: Threading) -> Result<Self, MpiFailure> {
        let mut copy = MaybeUninit::uninit();
        // SAFETY: the communicator is valid, and the handle is written by the call.
        let outcome = unsafe { ffi::MPI_Comm_dup(world.as_raw(), copy.as_mut_ptr()) };
        checked(outcome, "MPI_Comm_dup", "all ranks")?;
        // SAFETY: a successful call has set the handle.
        Ok(Self { world: unsafe { copy.assume_init() }, rank_count: world.size(), threading })
    }

    /// Why clients may make no calls; `None` where they may.
    pub(crate) fn problem(&self) -> Option<String> {
        let granted = match self.threading {
            Threading::Multiple => return None,
            Threading::Serialized => "MPI_THREAD_SERIALIZED",
            Threading::Funneled => "MPI_THREAD_FUNNELED",
            Threading::Single => "MPI_THREAD_SINGLE",
        };
        Some(format!(
            "each rank calls MPI-IO from the thread of its client, which needs MPI_THREAD_MULTIPLE, and this MPI library grants \
             {granted} alone; use one that was built with it"
        ))
    }

    /// Ranks of the job.
    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.rank_count).unwrap_or_default()
    }

    /// The first `count` ranks, which all make this call together.
    ///
    /// # Errors
    /// What the library reports.
    pub(super) fn first(&self, count: u32, wait: RankWait) -> Result<RankGroup, MpiFailure> {
        let rank_count = c_int::try_from(count).unwrap_or(c_int::MAX).clamp(1, self.rank_count);
        let all = LibraryGroup::of_communicator(self.world)?;
        let first = all.first(rank_count)?;
        let mut comm = MaybeUninit::uninit();
        // SAFETY: communicator and group are valid, and the handle is written by the call.
        let outcome =
            unsafe { ffi::MPI_Comm_create_group(self.world, first.0, GROUP_TAG, comm.as_mut_ptr()) };
        checked(outcome, "MPI_Comm_create_group", "the ranks of a trial")?;
        // SAFETY: a successful call has set the handle.
        let comm = unsafe { comm.assume_init() };
        // SAFETY: communicator and handler are valid; the call changes nothing else.
        let outcome = unsafe { ffi::MPI_Comm_set_errhandler(comm, ffi::RSMPI_ERRORS_RETURN) };
        checked(outcome, "MPI_Comm_set_errhandler", "the ranks of a trial")?;
        let mut rank: c_int = 0;
        // SAFETY: the communicator is valid, and the rank is written by the call.
        let outcome = unsafe { ffi::MPI_Comm_rank(comm, &raw mut rank) };
        checked(outcome, "MPI_Comm_rank", "the ranks of a trial")?;
        Ok(RankGroup { comm, rank, rank_count, numbers: Box::new([0; 2]), wait, is_given_up: false })
    }
}

/// A group of the library.
struct LibraryGroup(ffi::MPI_Group);

impl LibraryGroup {
    fn of_communicator(comm: ffi::MPI_Comm) -> Result<Self, MpiFailure> {
        let mut group = MaybeUninit::uninit();
        // SAFETY: the communicator is valid, and the handle is written by the call.
        checked(unsafe { ffi::MPI_Comm_group(comm, group.as_mut_ptr()) }, "MPI_Comm_group", "all ranks")?;
        // SAFETY: a successful call has set the handle.
        Ok(Self(unsafe { group.assume_init() }))
    }

    fn first(&self, rank_count: c_int) -> Result<Self, MpiFailure> {
        let mut ranges = [[0, rank_count - 1, 1]];
        let mut group = MaybeUninit::uninit();
        // SAFETY: there is one range, of ranks that the group has, and the handle is written by the call.
        let outcome =
            unsafe { ffi::MPI_Group_range_incl(self.0, 1, ranges.as_mut_ptr(), group.as_mut_ptr()) };
        checked(outcome, "MPI_Group_range_incl", "the ranks of a trial")?;
        // SAFETY: a successful call has set the handle.
        Ok(Self(unsafe { group.assume_init() }))
    }
}

impl Drop for LibraryGroup {
    fn drop(&mut self) {
        // SAFETY: the group is valid, and not used any more; communicators keep their own.
        unsafe { ffi::MPI_Group_free(&raw mut self.0) };
    }
}

/// How long others are waited for: until they come, or for some time after a request to stop.
#[derive(Clone)]
pub(super) struct RankWait {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) stop: StopFlag,
}

impl RankWait {
    /// Waits for `request`.
    ///
    /// # Errors
    /// When the library reports a failure, or the others are given up.
    fn wait(&self, request: &mut ffi::MPI_Request) -> Result<(), WaitFailure> {
        let mut looks = 0_u32;
        let mut stopped_ns = None;
        loop {
            match state_of(request) {
                RequestState::Complete => return Ok(()),
                RequestState::Failed => return Err(WaitFailure),
                RequestState::Pending => {}
            }
            looks = looks.saturating_add(1);
            if looks < LOOKS_BEFORE_YIELD {
                std::hint::spin_loop();
                continue;
            }
            std::thread::yield_now();
            if self.stop.is_now() {
                let now_ns = self.clock.now().0;
                if now_ns.saturating_sub(*stopped_ns.get_or_insert(now_ns)) > GIVE_UP_NS {
                    return Err(WaitFailure);
                }
            }
        }
    }
}

/// Why a wait ended without its end: the library reports a failure, or others do not come.
struct WaitFailure;

/// Ranks that have one file open together.
pub(super) struct RankGroup {
    comm: ffi::MPI_Comm,
    rank: c_int,
    rank_count: c_int,
    /// What this rank gives to a reduction, and what comes of it.
    numbers: Box<[c_int; 2]>,
    wait: RankWait,
    is_given_up: bool,
}

// SAFETY: the communicator is valid for as long as the value lives.
unsafe impl AsRaw for RankGroup {
    type Raw = ffi::MPI_Comm;

    fn as_raw(&self) -> Self::Raw {
        self.comm
    }
}

impl RankGroup {
    /// Whether the others do not come any more: nothing that waits for them may be called.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    /// `own`, unless a rank has failed: then the first failure, with its rank, on all of them.
    ///
    /// # Errors
    /// That failure.
    pub(super) fn agreed(&mut self, own: Result<(), String>) -> Result<(), String> {
        let failing = if own.is_err() { self.rank } else { self.rank_count };
        // SAFETY: a constant of the library.
        let least = unsafe { ffi::RSMPI_MIN };
        let first = self.reduced(failing, least)?;
        if first >= self.rank_count {
            return Ok(());
        }
        let reason = self.reason_of(first, &own.err().unwrap_or_default())?;
        Err(format!("rank {first}: {reason}"))
    }

    /// The same of a value, which is kept where no rank has failed.
    ///
    /// # Errors
    /// The first failure.
    pub(super) fn agreed_on<T>(&mut self, own: Result<T, String>) -> Result<T, String> {
        let (own, problem) = match own {
            Ok(value) => (Some(value), Ok(())),
            Err(problem) => (None, Err(problem)),
        };
        self.agreed(problem)?;
        own.ok_or_else(|| "a rank failed without a reason".to_owned())
    }

    /// The reason that `rank` gives.
    fn reason_of(&mut self, rank: c_int, own: &str) -> Result<String, MpiFailure> {
        let mut bytes = own.as_bytes().to_vec();
        bytes.resize(REASON_BYTES, 0);
        let count = c_int::try_from(bytes.len()).unwrap_or_default();
        let mut request = MaybeUninit::uninit();
        // SAFETY: the buffer has `count` bytes and stays where it is until the request is complete, or for ever; the rank is
        // one of the communicator, and the request is written by the call.
        let outcome = unsafe {
            ffi::MPI_Ibcast(
                bytes.as_mut_ptr().cast(),
                count,
                ffi::RSMPI_UINT8_T,
                rank,
                self.comm,
                request.as_mut_ptr(),
            )
        };
        checked(outcome, "MPI_Ibcast", "the ranks of a trial")?;
        // SAFETY: a successful call has set the request.
        if self.wait.wait(&mut unsafe { request.assume_init() }).is_err() {
            std::mem::forget(bytes);
            return Err(self.given_up());
        }
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    /// What `op` makes of the numbers of all ranks.
    fn reduced(&mut self, own: c_int, op: ffi::MPI_Op) -> Result<c_int, MpiFailure> {
        if self.is_given_up {
            return Err(self.given_up());
        }
        self.numbers[0] = own;
        let numbers = self.numbers.as_mut_ptr();
        let mut request = MaybeUninit::uninit();
        // SAFETY: both numbers are in memory of their own, which stays where it is until the request is complete, or for ever
        // (`Drop`); the request is written by the call.
        let outcome = unsafe {
            ffi::MPI_Iallreduce(
                numbers.cast_const().cast(),
                numbers.add(1).cast(),
                1,
                ffi::RSMPI_INT32_T,
                op,
                self.comm,
                request.as_mut_ptr(),
            )
        };
        checked(outcome, "MPI_Iallreduce", "the ranks of a trial")?;
        // SAFETY: a successful call has set the request.
        match self.wait.wait(&mut unsafe { request.assume_init() }) {
            // SAFETY: the call that has ended has written it.
            Ok(()) => Ok(unsafe { numbers.add(1).read() }),
            Err(WaitFailure) => Err(self.given_up()),
        }
    }

    fn given_up(&mut self) -> MpiFailure {
        self.is_given_up = true;
        MpiFailure::io(
            "the other ranks were waited for, and one of them does not come any more; see which of them was lost".to_owned(),
        )
    }
}

impl RankBits for RankGroup {
    fn combined(&mut self, own: i32) -> Result<i32, MpiFailure> {
        // SAFETY: a constant of the library.
        let any = unsafe { ffi::RSMPI_BOR };
        self.reduced(own, any)
    }
}

impl Drop for RankGroup {
    fn drop(&mut self) {
        if self.is_given_up {
            // The library may still use them: they stay for as long as the process does.
            std::mem::forget(std::mem::take(&mut self.numbers));
            return;
        }
        // SAFETY: the communicator is valid and not used any more; files keep a copy.
        unsafe { ffi::MPI_Comm_free(&raw mut self.comm) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_grants_fewer_threads_is_refused_with_what_it_grants() {
        // SAFETY: a constant of the library, with which nothing is called.
        let world = unsafe { ffi::RSMPI_COMM_WORLD };
        let problem = |threading| IoRanks { world, rank_count: 1, threading }.problem();
        assert_eq!(problem(Threading::Multiple), None);
        let refused = problem(Threading::Funneled).unwrap();
        assert!(
            refused.contains("needs MPI_THREAD_MULTIPLE")
                && refused.contains("grants MPI_THREAD_FUNNELED alone"),
            "{refused}"
        );
    }
}
