//! Moving bytes one way between two stream sockets until the end of the stream, in one of three ways.
//!
//! Used by the proxy and by the proxy's role in the buffer experiment. Each read asks for the whole buffer and each
//! buffer is written out before it is filled again, so that the memory of a direction is its buffer (twice that with
//! `io_uring`) and a slow reader stops the sender. Deliberately absent: opening, closing and half-closing sockets,
//! which belong to the caller. Hot path: no allocation, no lock, no log; two system calls a buffer.

mod copy;
mod splice;
mod table;
mod uring;

pub(crate) use copy::forward as copy;
pub(crate) use table::CallTable;

use narrows_model::Bytes;
use narrows_model::relay::ForwardMode;
use narrows_run::StopFlag;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::io;
use std::os::fd::BorrowedFd;

/// Is notified of every call that moved bytes, with what it returned.
pub(crate) trait CallObserver {
    /// A read returned so many bytes, above zero.
    fn read(&mut self, bytes: usize);
    /// A write returned so many bytes, above zero.
    fn written(&mut self, bytes: usize);
}

/// Why a stream was not moved to its end. What was written before was read before, whole and in order.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForwardError {
    /// The side that is read from failed: a reset, or a connection that timed out.
    #[error("read: {0}")]
    Read(io::Error),
    /// The side that is written to failed: it was closed or reset.
    #[error("write: {0}")]
    Write(io::Error),
    /// A stop was asked for.
    #[error("a stop was requested")]
    Stopped,
    /// The machine refuses what the mode needs.
    #[error("{0}")]
    Refused(String),
}

impl From<ForwardError> for io::Error {
    fn from(error: ForwardError) -> Self {
        match error {
            ForwardError::Read(error) | ForwardError::Write(error) => error,
            ForwardError::Stopped => io::Error::new(io::ErrorKind::Interrupted, "a stop was requested"),
            ForwardError::Refused(why) => io::Error::new(io::ErrorKind::Unsupported, why),
        }
    }
}

/// Whether this machine has what `mode` needs.
///
/// # Errors
/// What it lacks or forbids, and what to do.
pub(crate) fn check(mode: ForwardMode) -> Result<(), String> {
    match mode {
        ForwardMode::Copy | ForwardMode::Splice => Ok(()),
        ForwardMode::Uring => narrows_sys::ring::support().map(drop).map_err(|error| error.to_string()),
    }
}

/// Moves all that comes from `from` to `to`; how many bytes that was, once `from` has ended.
///
/// Both sockets must be blocking. `stop` is looked at between calls, and in a call where the sockets have timeouts
/// (`SO_RCVTIMEO`, `SO_SNDTIMEO`) or are shut down by who asks for the stop.
///
/// # Errors
/// Which side failed and how, that a stop was asked for, or what the machine refuses.
pub(crate) fn forward(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    mode: ForwardMode,
    buffer_bytes: usize,
    calls: &mut impl CallObserver,
    stop: &StopFlag,
) -> Result<Bytes, ForwardError> {
    match mode {
        ForwardMode::Copy => copy(from, to, RecvFlags::empty(), buffer_bytes, calls, stop),
        ForwardMode::Splice => splice::forward(from, to, buffer_bytes, calls, stop),
        ForwardMode::Uring => uring::forward(from, to, buffer_bytes, calls, stop),
    }
}

/// What a call returned, called again until it is neither interrupted nor timed out, or a stop is asked for.
fn retry_interrupted(
    stop: &StopFlag,
    failed: impl Fn(io::Error) -> ForwardError,
    mut call: impl FnMut() -> Result<usize, Errno>,
) -> Result<usize, ForwardError> {
    loop {
        if stop.is_now() {
            return Err(ForwardError::Stopped);
        }
        match call() {
            Ok(bytes) => return Ok(bytes),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => return Err(failed(errno.into())),
        }
    }
}

/// A write that takes nothing of something would be tried for ever.
fn zero_write_error() -> ForwardError {
    ForwardError::Write(io::ErrorKind::WriteZero.into())
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
