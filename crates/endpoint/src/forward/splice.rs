//! Bytes move through a pipe and stay in the kernel: what one call takes in is drained before the next.
//!
//! Hot path: two system calls a buffer, and one that asks how much is waiting after a small buffer that was full. Only
//! if some is does a write announce that more follows (`SPLICE_F_MORE`), so that small buffers leave in large packets:
//! with that flag, the last bytes of a request would be delayed by 200 ms.

use super::{CallObserver, ForwardError, retry_interrupted, zero_write_error};
use narrows_model::Bytes;
use narrows_run::StopFlag;
use rustix::io::ioctl_fionread;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::os::fd::{BorrowedFd, OwnedFd};

/// A pipe's capacity counts pieces, not bytes: a piece from the network may be a few hundred bytes, so that a pipe of a
/// buffer's size is full before the buffer is.
const PIPE_BYTES_MIN: usize = 1 << 20;

/// What the kernel sends as one packet at most. Larger buffers fill it by themselves, and gathering them cost a tenth of the
/// rate.
const PACKET_BYTES: usize = 1 << 16;

/// See [`super::forward`].
pub(super) fn forward(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    buffer_bytes: usize,
    calls: &mut impl CallObserver,
    stop: &StopFlag,
) -> Result<Bytes, ForwardError> {
    let (outlet, inlet) = pipe(buffer_bytes)?;
    let gathers = buffer_bytes < PACKET_BYTES;
    let mut total_bytes: u64 = 0;
    loop {
        let read = retry_interrupted(stop, ForwardError::Read, || {
            splice(from, None, &inlet, None, buffer_bytes, SpliceFlags::MOVE)
        })?;
        if read == 0 {
            return Ok(Bytes(total_bytes));
        }
        calls.read(read);
        // Then the next read does not wait, and its write sends what this one may leave queued.
        let more_waits = gathers && read == buffer_bytes && ioctl_fionread(from).is_ok_and(|bytes| bytes > 0);
        let flags = if more_waits { SpliceFlags::MOVE | SpliceFlags::MORE } else { SpliceFlags::MOVE };
        let mut left = read;
        while left > 0 {
            let written = retry_interrupted(stop, ForwardError::Write, || {
                splice(&outlet, None, to, None, left, flags)
            })?;
            if written == 0 {
                return Err(zero_write_error());
            }
            calls.written(written);
            left -= written;
        }
        total_bytes += read as u64;
    }
}

/// A pipe for buffers of `buffer_bytes`, as large as the system grants; a smaller one takes more calls.
fn pipe(buffer_bytes: usize) -> Result<(OwnedFd, OwnedFd), ForwardError> {
    let (outlet, inlet) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| {
        ForwardError::Refused(format!("the system cannot create a pipe for splice: {errno}"))
    })?;
    // Above /proc/sys/fs/pipe-max-size or the user's share of pipes, the pipe stays as it is.
    let _ = fcntl_setpipe_size(&inlet, buffer_bytes.max(PIPE_BYTES_MIN))
        .or_else(|_| fcntl_setpipe_size(&inlet, PIPE_BYTES_MIN));
    Ok((outlet, inlet))
}
