//! A submission and completion ring (`io_uring`) that owns its files and buffers, so that nobody can use it wrongly.
//!
//! A slot has one block of memory and at most one request; its block cannot be touched while the kernel may. The ring
//! belongs to the thread that made it. It continues no short transfer, retries no failed request and keeps no times:
//! those are the caller's. Hot path: no allocation, no lock, no log; one system call for each submission, none for a
//! wait whose completions are there.
//!
//! # Source
//! `io_uring_setup(2)`, `io_uring_enter(2)`, `io_uring_register(2)`.

use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;

use io_uring::squeue::Flags;
use io_uring::{IoUring, opcode};

use crate::buffer::AlignedBuffer;
use crate::error::{Error, SysErrno};

mod enter;
mod event;
mod refusal;
mod request;
mod setup;
mod spec;
#[cfg(test)]
mod tests;
mod trial;
mod wait;

pub use refusal::RingError;
use request::entry;
pub use request::{RingCompletion, RingOp, RingRequest};
pub use spec::{FeatureMode, RingGrants, RingSetup, RingSpec};
pub use trial::{RingTrialSpec, try_rings};

/// Most slots of a ring; the kernel's own limit is eight times as high.
pub const RING_DEPTH_MAX: u32 = 4096;
/// Blocks start on page boundaries, which satisfies every device's alignment for direct access.
const STRIDE_ALIGNMENT_BYTES: usize = 4096;
/// Longest time that dropping a ring waits for what is in flight; then its memory is left to the kernel for good.
const SETTLE_NS: u64 = 500_000_000;

/// What rings of this machine can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingSupport {
    /// Ranges of files can be discarded.
    pub punch_hole: bool,
}

/// What rings of this machine can do, found by making a small one.
///
/// # Errors
/// Why there can be none.
pub fn support() -> Result<RingSupport, RingError> {
    let (ring, _) = setup::build(1, RingSetup::default())?;
    Ok(RingSupport { punch_hole: setup::probe(&ring)?.is_supported(opcode::Fallocate::CODE) })
}

/// Entries of a ring of so many slots.
fn entries_of(depth: u32, setup: RingSetup) -> u32 {
    // A thread that takes submissions reports it once a batch, when requests of that batch may have completed and their
    // slots be queued again: two entries for each slot are enough for both.
    let entries_per_slot = if setup.submission_polling { 2 } else { 1 };
    depth.next_power_of_two() * entries_per_slot
}

/// A ring with its files and its blocks. Dropping it cancels what is in flight and waits for it; memory that the
/// kernel does not give back within half a second is never freed.
pub struct Ring {
    kernel: IoUring,
    files: Vec<File>,
    // Never used as a slice once the ring exists: the kernel writes into it.
    buffers: ManuallyDrop<AlignedBuffer>,
    start: NonNull<u8>,
    block_bytes: usize,
    stride_bytes: usize,
    grants: RingGrants,
    absolute_deadlines: bool,
    // How the kernel knows each file: its number, or its index where files are registered.
    file_numbers: Vec<i32>,
    entry_flags: Flags,
    slots_per_region: Option<u32>,
    busy: Vec<bool>,
    in_flight_count: u32,
    // Of those in flight, how many the kernel has not taken yet.
    queued_count: u32,
    // Counts completions for who waits for more than this ring; `None` until somebody does.
    event: Option<OwnedFd>,
}

impl Ring {
    /// A ring as `spec` asks for.
    ///
    /// # Errors
    /// Why there is none: the machine forbids rings, refuses what is required, or has no room.
    ///
    /// # Cost
    /// Every page of the blocks is filled and, where they are registered, pinned.
    pub fn new(spec: RingSpec) -> Result<Self, RingError> {
        // Before the kernel is asked for entries that no memory could serve.
        memory_of(spec.depth, spec.block_bytes)?;
        let entries = entries_of(spec.depth, spec.setup);
        let (ring, grants) = setup::build(entries, spec.setup)?;
        Self::over(ring, grants, spec)
    }

    /// A ring as `spec` asks for over one that is set up and registers nothing yet.
    fn over(ring: IoUring, mut grants: RingGrants, spec: RingSpec) -> Result<Self, RingError> {
        let RingSpec { depth, block_bytes, seed, files, setup } = spec;
        let (length_bytes, stride_bytes) = memory_of(depth, block_bytes)?;
        let mut buffers = ManuallyDrop::new(AlignedBuffer::with_entropy(length_bytes, seed)?);
        let start = NonNull::from(&mut **buffers).cast::<u8>();
        // SAFETY: `start` begins the mapping of `buffers`, which this function frees on an error below and `drop` unmaps,
        // both only once nothing is in flight and the blocks are unregistered.
        let slots_per_region = unsafe {
            setup::register_buffers(
                &ring,
                start.as_ptr(),
                length_bytes,
                stride_bytes,
                setup.registered_buffers,
            )
        };
        let registered = slots_per_region.and_then(|slots_per_region| {
            Ok((slots_per_region, setup::register_files(&ring, &files, setup.registered_files)?))
        });
        let (slots_per_region, registered_files) = match registered {
            Ok(registered) => registered,
            Err(error) => {
                // Nothing was submitted: what the kernel knows of the blocks is their registration alone.
                if setup::unregister_buffers(&ring) {
                    drop(ManuallyDrop::into_inner(buffers));
                }
                return Err(error);
            }
        };
        grants.registered_buffers = slots_per_region.is_some();
        grants.registered_files = registered_files;
        Ok(Self {
            absolute_deadlines: setup::grants_absolute_deadlines(&ring),
            kernel: ring,
            file_numbers: file_numbers(&files, registered_files),
            files,
            buffers,
            start,
            block_bytes,
            stride_bytes,
            grants,
            entry_flags: if registered_files { Flags::FIXED_FILE } else { Flags::empty() },
            slots_per_region,
            busy: vec![false; depth as usize],
            in_flight_count: 0,
            queued_count: 0,
            event: None,
        })
    }

    /// What was granted.
    #[must_use]
    pub fn grants(&self) -> RingGrants {
        self.grants
    }

    /// Requests that are queued or in the kernel, or completed and not drained.
    #[must_use]
    pub fn in_flight_count(&self) -> u32 {
        self.in_flight_count
    }

    /// The block of `slot`.
    ///
    /// # Panics
    /// When there is no such slot, or its request is in flight.
    #[must_use]
    pub fn block(&mut self, slot: u32) -> &mut [u8] {
        let index = slot as usize;
        assert!(!self.busy[index], "the block of slot {slot} belongs to the kernel");
        // SAFETY: the slot is in the mapping (`busy` has one entry for each), blocks do not overlap, the kernel uses
        // this one only while its slot is busy, and the exclusive borrow of the ring keeps it free meanwhile.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.start.as_ptr().add(index * self.stride_bytes),
                self.block_bytes,
            )
        }
    }

    /// Queues `request`; [`Ring::submit`] starts it. A polling submission thread may start it at once.
    ///
    /// # Errors
    /// `EBUSY` while the slot's last request is in flight; `EINVAL` for a slot, a file or a part of the block that
    /// there is not.
    pub fn queue(&mut self, request: &RingRequest) -> Result<(), SysErrno> {
        let refused = |number| Err(SysErrno::from_raw(number));
        let Some(busy) = self.busy.get_mut(request.slot as usize) else { return refused(libc::EINVAL) };
        let Some(file) = self.file_numbers.get(request.file as usize) else { return refused(libc::EINVAL) };
        let in_block = matches!(request.op, RingOp::Read | RingOp::Write);
        let end = u64::from(request.block_offset_bytes) + u64::from(request.length_bytes);
        if in_block && end > self.block_bytes as u64 {
            return refused(libc::EINVAL);
        }
        if *busy {
            return refused(libc::EBUSY);
        }
        let place = request.slot as usize * self.stride_bytes + request.block_offset_bytes as usize;
        let place = self.start.as_ptr().wrapping_add(place);
        // Each region but the last has 1 GiB or one block, and there are at most as many as slots: the index fits.
        let region =
            self.slots_per_region.map(|slots| u16::try_from(request.slot / slots).unwrap_or(u16::MAX));
        let entry =
            entry(request, *file, place, region).flags(self.entry_flags).user_data(u64::from(request.slot));
        // SAFETY: the part of the block is in the mapping that outlives the kernel's use of it (see `drop`), and nobody
        // else touches it while the slot is busy; the file is open, or registered, as long as the ring is.
        let pushed = unsafe { self.kernel.submission().push(&entry) };
        // There are entries enough for each slot, and a slot has one request: the queue cannot be full.
        debug_assert!(pushed.is_ok(), "a ring with entries for each slot is full");
        if pushed.is_err() {
            return refused(libc::EBUSY);
        }
        *busy = true;
        self.in_flight_count += 1;
        self.queued_count += 1;
        Ok(())
    }

    /// Hands each completion that is there to `each`, oldest first.
    pub fn drain(&mut self, mut each: impl FnMut(RingCompletion)) {
        for done in self.kernel.completion() {
            // Not one of this ring's own: the answer to a cancellation.
            let Ok(slot) = u32::try_from(done.user_data()) else { continue };
            let Some(busy) = self.busy.get_mut(slot as usize) else { continue };
            if std::mem::take(busy) {
                self.in_flight_count -= 1;
                let result = u32::try_from(done.result()).map_err(|_| SysErrno::from_raw(-done.result()));
                each(RingCompletion { slot, result });
            }
        }
    }
}

/// Bytes of all blocks, and from the start of one block to that of the next.
fn memory_of(depth: u32, block_bytes: usize) -> Result<(usize, usize), Error> {
    if !(1..=RING_DEPTH_MAX).contains(&depth) || block_bytes == 0 {
        let what = format!("an io_uring of {depth} slots of {block_bytes} bytes");
        return Err(Error::invalid("set up", what, "a ring has 1 to 4096 slots of at least one byte"));
    }
    let stride_bytes = block_bytes.checked_next_multiple_of(STRIDE_ALIGNMENT_BYTES);
    let both = stride_bytes.and_then(|stride| Some((stride.checked_mul(depth as usize)?, stride)));
    both.ok_or_else(|| {
        SysErrno::from_raw(libc::ENOMEM).during("allocate", format!("{depth} blocks of {block_bytes} bytes"))
    })
}

fn file_numbers(files: &[File], registered: bool) -> Vec<i32> {
    if registered {
        (0_i32..).take(files.len()).collect()
    } else {
        files.iter().map(AsRawFd::as_raw_fd).collect()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let is_settled = self.settle(SETTLE_NS);
        if is_settled && (self.slots_per_region.is_none() || setup::unregister_buffers(&self.kernel)) {
            // SAFETY: the kernel has nothing in flight that uses the blocks and knows none of them any more, and `buffers`
            // is dropped nowhere else.
            unsafe { ManuallyDrop::drop(&mut self.buffers) };
        }
        // Otherwise the blocks stay mapped for good: a late write of the kernel must not meet other data.
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring")
            .field("depth", &self.busy.len())
            .field("block_bytes", &self.block_bytes)
            .field("files", &self.files)
            .field("grants", &self.grants)
            .field("in_flight_count", &self.in_flight_count)
            .finish_non_exhaustive()
    }
}
