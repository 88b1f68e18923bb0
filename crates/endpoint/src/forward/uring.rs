//! Bytes move through two buffers of a ring: one is received into while the other is sent from.
//!
//! At most one receive and one send are in flight, each after the one before has ended, so that nothing overtakes
//! anything. A machine that forbids `io_uring` is an error, never a copy. Hot path: no allocation, one system call for
//! what is started and what is waited for.

use super::{CallObserver, ForwardError, zero_write_error};
use narrows_model::Bytes;
use narrows_run::StopFlag;
use narrows_sys::SysErrno;
use narrows_sys::ring::{Ring, RingCompletion, RingOp, RingRequest, RingSetup, RingSpec};
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

/// Buffers: one to receive into, one to send from.
const SLOTS: u32 = 2;

/// Index of each socket in the ring.
const FROM: u32 = 0;
const TO: u32 = 1;

/// How often a stop is looked for while nothing comes.
const WAIT_NS: u64 = 100_000_000;

/// What a buffer is for at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BufferState {
    /// Nothing.
    Free,
    /// It is received into.
    Receiving,
    /// It contains this many bytes, which wait until the other buffer's are sent.
    Full(u32),
    /// Of so many bytes the first `done` are sent.
    Sending { length: u32, done: u32 },
}

/// See [`super::forward`].
pub(super) fn forward(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    buffer_bytes: usize,
    calls: &mut impl CallObserver,
    stop: &StopFlag,
) -> Result<Bytes, ForwardError> {
    let mut stream = RingForwarder::open(from, to, buffer_bytes)?;
    while !stream.is_over() {
        if stop.is_now() {
            return Err(ForwardError::Stopped);
        }
        stream.step(calls)?;
    }
    Ok(Bytes(stream.total_bytes))
}

struct RingForwarder {
    ring: Ring,
    buffers: [BufferState; SLOTS as usize],
    buffer_bytes: u32,
    has_ended: bool,
    total_bytes: u64,
}

impl RingForwarder {
    fn open(from: BorrowedFd<'_>, to: BorrowedFd<'_>, buffer_bytes: usize) -> Result<Self, ForwardError> {
        let own = |socket: BorrowedFd<'_>| socket.try_clone_to_owned().map(File::from);
        let files = own(from).and_then(|from| Ok(vec![from, own(to)?])).map_err(ForwardError::Read)?;
        let setup = RingSetup::default();
        let ring = Ring::new(RingSpec { depth: SLOTS, block_bytes: buffer_bytes, seed: 0, files, setup })
            .map_err(|error| ForwardError::Refused(error.to_string()))?;
        Ok(Self {
            ring,
            buffers: [BufferState::Free; SLOTS as usize],
            buffer_bytes: u32::try_from(buffer_bytes).unwrap_or(u32::MAX),
            has_ended: false,
            total_bytes: 0,
        })
    }

    fn is_over(&self) -> bool {
        self.has_ended && self.buffers.iter().all(|part| *part == BufferState::Free)
    }

    /// Starts what can be started, waits for something, and takes what has ended.
    fn step(&mut self, calls: &mut impl CallObserver) -> Result<(), ForwardError> {
        self.receive()?;
        self.send()?;
        let broken = |errno: SysErrno| ForwardError::Read(io::Error::from_raw_os_error(errno.raw()));
        self.ring.submit().map_err(broken)?;
        self.ring.wait_for(1, WAIT_NS).map_err(broken)?;
        let mut done = [None; SLOTS as usize];
        let mut count = 0;
        self.ring.drain(|completion| {
            // A slot has one request, so that there are no more than slots.
            if let Some(place) = done.get_mut(count) {
                *place = Some(completion);
            }
            count += 1;
        });
        done.into_iter().flatten().try_for_each(|completion| self.take(completion, calls))
    }

    /// Receives into a free buffer, unless one is being received into.
    fn receive(&mut self) -> Result<(), ForwardError> {
        if self.has_ended || self.buffers.contains(&BufferState::Receiving) {
            return Ok(());
        }
        let Some(index) = self.buffers.iter().position(|part| *part == BufferState::Free) else {
            return Ok(());
        };
        self.buffers[index] = BufferState::Receiving;
        self.queue(RingOp::Read, index, FROM, 0, self.buffer_bytes)
    }

    /// Sends the full buffer, unless the other one is being sent.
    fn send(&mut self) -> Result<(), ForwardError> {
        if self.buffers.iter().any(|part| matches!(part, BufferState::Sending { .. })) {
            return Ok(());
        }
        let full = self.buffers.iter().enumerate().find_map(|(index, part)| match part {
            BufferState::Full(length) => Some((index, *length)),
            _ => None,
        });
        let Some((index, length)) = full else { return Ok(()) };
        self.buffers[index] = BufferState::Sending { length, done: 0 };
        self.queue(RingOp::Write, index, TO, 0, length)
    }

    fn queue(
        &mut self,
        op: RingOp,
        index: usize,
        file: u32,
        from_bytes: u32,
        length_bytes: u32,
    ) -> Result<(), ForwardError> {
        let slot = u32::try_from(index).unwrap_or(u32::MAX);
        let request =
            RingRequest { op, slot, file, offset_bytes: 0, length_bytes, block_offset_bytes: from_bytes };
        self.ring
            .queue(&request)
            .map_err(|errno| ForwardError::Read(io::Error::from_raw_os_error(errno.raw())))
    }

    fn take(
        &mut self,
        completion: RingCompletion,
        calls: &mut impl CallObserver,
    ) -> Result<(), ForwardError> {
        let index = completion.slot as usize;
        match (self.buffers[index], completion.result) {
            (BufferState::Receiving, Ok(0)) => {
                self.has_ended = true;
                self.buffers[index] = BufferState::Free;
                Ok(())
            }
            (BufferState::Receiving, Ok(length)) => {
                calls.read(length as usize);
                self.buffers[index] = BufferState::Full(length);
                Ok(())
            }
            (BufferState::Sending { length, done }, Ok(taken)) => {
                self.sent(index, length, done, taken, calls)
            }
            // Interrupted: tried again.
            (BufferState::Receiving, Err(errno)) if is_not_yet(errno) => {
                self.buffers[index] = BufferState::Free;
                Ok(())
            }
            (BufferState::Sending { length, done }, Err(errno)) if is_not_yet(errno) => {
                self.queue(RingOp::Write, index, TO, done, length - done)
            }
            (BufferState::Sending { .. }, Err(errno)) => {
                Err(ForwardError::Write(io::Error::from_raw_os_error(errno.raw())))
            }
            (_, Err(errno)) => Err(ForwardError::Read(io::Error::from_raw_os_error(errno.raw()))),
            // Nothing is in flight for a buffer that is free or full.
            (BufferState::Free | BufferState::Full(_), Ok(_)) => Ok(()),
        }
    }

    fn sent(
        &mut self,
        index: usize,
        length: u32,
        done: u32,
        taken: u32,
        calls: &mut impl CallObserver,
    ) -> Result<(), ForwardError> {
        if taken == 0 {
            return Err(zero_write_error());
        }
        calls.written(taken as usize);
        self.total_bytes += u64::from(taken);
        let done = done + taken;
        if done < length {
            self.buffers[index] = BufferState::Sending { length, done };
            return self.queue(RingOp::Write, index, TO, done, length - done);
        }
        self.buffers[index] = BufferState::Free;
        Ok(())
    }
}

fn is_not_yet(errno: SysErrno) -> bool {
    [rustix::io::Errno::INTR, rustix::io::Errno::AGAIN]
        .iter()
        .any(|known| known.raw_os_error() == errno.raw())
}
