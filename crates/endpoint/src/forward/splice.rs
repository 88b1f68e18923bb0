//! Bytes move through a pipe and stay in the kernel: what one call takes in is drained before the next.
//!
//! Hot path: two system calls a buffer, and nothing else. Never with `SPLICE_F_MORE`, which would hold the last bytes
//! of a request back for 200 ms.

use super::{Calls, ForwardError, again, nothing_taken};
use narrows_model::Bytes;
use narrows_run::StopFlag;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::os::fd::{BorrowedFd, OwnedFd};

/// Pipes hold pieces, not bytes: a piece of the network may be a few hundred bytes, so that a pipe of a buffer's
/// size is full before the buffer is.
const PIPE_BYTES_MIN: usize = 1 << 20;

/// See [`super::forward`].
pub(super) fn forward(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    buffer_bytes: usize,
    calls: &mut impl Calls,
    stop: &StopFlag,
) -> Result<Bytes, ForwardError> {
    let (outlet, inlet) = pipe(buffer_bytes)?;
    let mut total_bytes: u64 = 0;
    loop {
        let read = again(stop, ForwardError::Read, || {
            splice(from, None, &inlet, None, buffer_bytes, SpliceFlags::MOVE)
        })?;
        if read == 0 {
            return Ok(Bytes(total_bytes));
        }
        calls.read(read);
        let mut left = read;
        while left > 0 {
            let written = again(stop, ForwardError::Write, || {
                splice(&outlet, None, to, None, left, SpliceFlags::MOVE)
            })?;
            if written == 0 {
                return Err(nothing_taken());
            }
            calls.written(written);
            left -= written;
        }
        total_bytes += read as u64;
    }
}

/// A pipe for buffers of `buffer_bytes`, as large as the system grants; a smaller one takes more calls.
fn pipe(buffer_bytes: usize) -> Result<(OwnedFd, OwnedFd), ForwardError> {
    let (outlet, inlet) = pipe_with(PipeFlags::CLOEXEC)
        .map_err(|errno| ForwardError::Refused(format!("the system makes no pipe for splice: {errno}")))?;
    // Above /proc/sys/fs/pipe-max-size or the user's share of pipes, the pipe stays as it is.
    let _ = fcntl_setpipe_size(&inlet, buffer_bytes.max(PIPE_BYTES_MIN))
        .or_else(|_| fcntl_setpipe_size(&inlet, PIPE_BYTES_MIN));
    Ok((outlet, inlet))
}
