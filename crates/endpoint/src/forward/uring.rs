//! Bytes move through two buffers of a ring: one is received into while the other is sent from.
//!
//! At most one receive and one send are in flight, each after the one before has ended, so that nothing overtakes
//! anything. A machine that forbids `io_uring` is an error, never a copy. Hot path: no allocation, one system call for
//! what is started and what is waited for.

use super::{Calls, ForwardError, nothing_taken};
use narrows_model::Bytes;
use narrows_run::StopFlag;
use narrows_sys::Errno;
use narrows_sys::ring::{Ring, RingCompletion, RingOp, RingRequest, RingSpec, RingWishes};
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
enum Part {
    /// Nothing.
    Free,
    /// It is received into.
    Receiving,
    /// It holds so many bytes that wait for the other buffer's to be sent.
    Full(u32),
    /// Of so many bytes the first `done` are sent.
    Sending { length: u32, done: u32 },
}

/// See [`super::forward`].
pub(super) fn forward(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    buffer_bytes: usize,
    calls: &mut impl Calls,
    stop: &StopFlag,
) -> Result<Bytes, ForwardError> {
    let mut stream = Stream::open(from, to, buffer_bytes)?;
    while !stream.is_over() {
        if stop.is_now() {
            return Err(ForwardError::Stopped);
        }
        stream.step(calls)?;
    }
    Ok(Bytes(stream.total_bytes))
}

struct Stream {
    ring: Ring,
    parts: [Part; SLOTS as usize],
    buffer_bytes: u32,
    has_ended: bool,
    total_bytes: u64,
}

impl Stream {
    fn open(from: BorrowedFd<'_>, to: BorrowedFd<'_>, buffer_bytes: usize) -> Result<Self, ForwardError> {
        let own = |socket: BorrowedFd<'_>| socket.try_clone_to_owned().map(File::from);
        let files = own(from).and_then(|from| Ok(vec![from, own(to)?])).map_err(ForwardError::Read)?;
        let wishes = RingWishes::default();
        let ring = Ring::new(RingSpec { depth: SLOTS, block_bytes: buffer_bytes, seed: 0, files, wishes })
            .map_err(|error| ForwardError::Refused(error.to_string()))?;
        Ok(Self {
            ring,
            parts: [Part::Free; SLOTS as usize],
            buffer_bytes: u32::try_from(buffer_bytes).unwrap_or(u32::MAX),
            has_ended: false,
            total_bytes: 0,
        })
    }

    fn is_over(&self) -> bool {
        self.has_ended && self.parts.iter().all(|part| *part == Part::Free)
    }

    /// Starts what can be started, waits for something, and takes what has ended.
    fn step(&mut self, calls: &mut impl Calls) -> Result<(), ForwardError> {
        self.receive()?;
        self.send()?;
        let broken = |errno: Errno| ForwardError::Read(io::Error::from_raw_os_error(errno.raw()));
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
        if self.has_ended || self.parts.contains(&Part::Receiving) {
            return Ok(());
        }
        let Some(index) = self.parts.iter().position(|part| *part == Part::Free) else { return Ok(()) };
        self.parts[index] = Part::Receiving;
        self.queue(RingOp::Read, index, FROM, 0, self.buffer_bytes)
    }

    /// Sends the full buffer, unless the other one is being sent.
    fn send(&mut self) -> Result<(), ForwardError> {
        if self.parts.iter().any(|part| matches!(part, Part::Sending { .. })) {
            return Ok(());
        }
        let full = self.parts.iter().enumerate().find_map(|(index, part)| match part {
            Part::Full(length) => Some((index, *length)),
            _ => None,
        });
        let Some((index, length)) = full else { return Ok(()) };
        self.parts[index] = Part::Sending { length, done: 0 };
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

    fn take(&mut self, completion: RingCompletion, calls: &mut impl Calls) -> Result<(), ForwardError> {
        let index = completion.slot as usize;
        match (self.parts[index], completion.result) {
            (Part::Receiving, Ok(0)) => {
                self.has_ended = true;
                self.parts[index] = Part::Free;
                Ok(())
            }
            (Part::Receiving, Ok(length)) => {
                calls.read(length as usize);
                self.parts[index] = Part::Full(length);
                Ok(())
            }
            (Part::Sending { length, done }, Ok(taken)) => self.sent(index, length, done, taken, calls),
            // Interrupted: tried again.
            (Part::Receiving, Err(errno)) if is_not_yet(errno) => {
                self.parts[index] = Part::Free;
                Ok(())
            }
            (Part::Sending { length, done }, Err(errno)) if is_not_yet(errno) => {
                self.queue(RingOp::Write, index, TO, done, length - done)
            }
            (Part::Sending { .. }, Err(errno)) => {
                Err(ForwardError::Write(io::Error::from_raw_os_error(errno.raw())))
            }
            (_, Err(errno)) => Err(ForwardError::Read(io::Error::from_raw_os_error(errno.raw()))),
            // Nothing is in flight for a buffer that is free or full.
            (Part::Free | Part::Full(_), Ok(_)) => Ok(()),
        }
    }

    fn sent(
        &mut self,
        index: usize,
        length: u32,
        done: u32,
        taken: u32,
        calls: &mut impl Calls,
    ) -> Result<(), ForwardError> {
        if taken == 0 {
            return Err(nothing_taken());
        }
        calls.written(taken as usize);
        self.total_bytes += u64::from(taken);
        let done = done + taken;
        if done < length {
            self.parts[index] = Part::Sending { length, done };
            return self.queue(RingOp::Write, index, TO, done, length - done);
        }
        self.parts[index] = Part::Free;
        Ok(())
    }
}

fn is_not_yet(errno: Errno) -> bool {
    [rustix::io::Errno::INTR, rustix::io::Errno::AGAIN]
        .iter()
        .any(|known| known.raw_os_error() == errno.raw())
}
