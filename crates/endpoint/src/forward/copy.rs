//! Bytes move through a buffer of this process: what a read brings is written out before the next read.
//!
//! Hot path: two system calls a buffer, and nothing else.

use super::{CallObserver, ForwardError, retry_interrupted, zero_write_error};
use narrows_model::Bytes;
use narrows_run::StopFlag;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::os::fd::BorrowedFd;

/// See [`super::forward`]; with `flags`, how it reads.
pub(crate) fn forward(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    flags: RecvFlags,
    buffer_bytes: usize,
    calls: &mut impl CallObserver,
    stop: &StopFlag,
) -> Result<Bytes, ForwardError> {
    let mut buffer = vec![0; buffer_bytes];
    let mut total_bytes: u64 = 0;
    loop {
        let read = retry_interrupted(stop, ForwardError::Read, || {
            recv(from, &mut buffer[..], flags).map(|(_, received)| received)
        })?;
        if read == 0 {
            return Ok(Bytes(total_bytes));
        }
        calls.read(read);
        let mut done = 0;
        while done < read {
            let written = retry_interrupted(stop, ForwardError::Write, || {
                send(to, &buffer[done..read], SendFlags::NOSIGNAL)
            })?;
            if written == 0 {
                return Err(zero_write_error());
            }
            calls.written(written);
            done += written;
        }
        total_bytes += read as u64;
    }
}
