//! The socket of a connection that transfers the load: each call waits in the kernel for a bounded time, or not at all.
//!
//! A call that may wait spares the `poll` before it, which at depth 1 is a third of a request's system calls. It is
//! only for waits that are long enough for the kernel's coarse timer; who waits for an instant polls. Hot path: one
//! system call each, no allocation.

use super::facts::{ConnectionLocality, tcp_counters};
use narrows_model::counters::TcpCounters;
use rustix::net::{RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::TcpStream;
use std::time::Duration;

/// Longest wait inside one call.
const CALL_WAITS: Duration = Duration::from_millis(20);

/// A call may wait when there is at least this much time: its own 20 ms, and two of the kernel's ticks (10 ms at
/// 100 Hz, the coarsest there is) by which it may wake late.
pub(crate) const LONG_NS: u64 = 40_000_000;

/// Whether a call may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitMode {
    /// It does what can be done at once, or fails as `WouldBlock`.
    Never,
    /// It waits for up to 20 ms, and fails as `WouldBlock` when nothing could be done by then.
    Short,
}

/// A connected socket.
#[derive(Debug)]
pub(crate) struct DataSocket {
    socket: TcpStream,
    ends: ConnectionLocality,
}

impl DataSocket {
    /// The line over `socket`, which blocks.
    ///
    /// # Errors
    /// When the socket's timeouts cannot be set.
    pub(crate) fn new(socket: TcpStream) -> io::Result<Self> {
        socket.set_read_timeout(Some(CALL_WAITS))?;
        socket.set_write_timeout(Some(CALL_WAITS))?;
        Ok(Self { ends: ConnectionLocality::from_socket(&socket), socket })
    }

    /// The socket itself, for what is no transfer.
    pub(crate) fn tcp_stream(&self) -> &TcpStream {
        &self.socket
    }

    /// The connection's counters; `None` where the kernel does not report them.
    pub(crate) fn counters(&self) -> Option<TcpCounters> {
        tcp_counters(&self.socket, self.ends)
    }

    /// Sends from the front of `parts` and returns how many bytes were sent.
    ///
    /// # Errors
    /// `WouldBlock` when none did within the patience, otherwise those of the connection.
    pub(crate) fn send(&self, parts: &[IoSlice<'_>], wait_mode: WaitMode) -> io::Result<usize> {
        let flags = match wait_mode {
            WaitMode::Never => SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
            WaitMode::Short => SendFlags::NOSIGNAL,
        };
        let sent = match parts {
            [only] => rustix::net::send(&self.socket, only, flags),
            _ => rustix::net::sendmsg(&self.socket, parts, &mut SendAncillaryBuffer::default(), flags),
        };
        Ok(sent?)
    }

    /// Receives into `parts`, from the first on, and returns how many bytes came; 0 when the peer sends no more.
    ///
    /// # Errors
    /// `WouldBlock` when none came within the patience, otherwise those of the connection.
    pub(crate) fn receive(&self, parts: &mut [IoSliceMut<'_>], wait_mode: WaitMode) -> io::Result<usize> {
        let flags = match wait_mode {
            WaitMode::Never => RecvFlags::DONTWAIT,
            WaitMode::Short => RecvFlags::empty(),
        };
        if let [only] = parts {
            return Ok(rustix::net::recv(&self.socket, &mut **only, flags)?.0);
        }
        let mut no_ancillary = RecvAncillaryBuffer::default();
        Ok(rustix::net::recvmsg(&self.socket, parts, &mut no_ancillary, flags)?.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (DataSocket, DataSocket) {
        let (near, far) = narrows_testkit::tcp_pair().unwrap();
        (DataSocket::new(near).unwrap(), DataSocket::new(far).unwrap())
    }

    #[test]
    fn a_silent_line_would_block_with_and_without_patience() {
        let (near, _far) = pair();
        for wait_mode in [WaitMode::Never, WaitMode::Short] {
            for spare in [1, 2] {
                let mut bytes = [[0; 8], [0; 8]];
                let mut parts: Vec<_> =
                    bytes.iter_mut().take(spare).map(|part| IoSliceMut::new(part)).collect();
                let error = near.receive(&mut parts, wait_mode).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{wait_mode:?} {spare}");
            }
        }
    }

    #[test]
    fn what_is_sent_in_parts_arrives_in_parts() {
        let (near, far) = pair();
        assert_eq!(near.send(&[IoSlice::new(b"abc"), IoSlice::new(b"defg")], WaitMode::Never).unwrap(), 7);
        let (mut first, mut second) = ([0; 2], [0; 9]);
        let parts = &mut [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
        assert_eq!(far.receive(parts, WaitMode::Short).unwrap(), 7);
        assert_eq!((&first, &second[..5]), (b"ab", &b"cdefg"[..]));
    }

    #[test]
    fn a_line_that_is_full_would_block_and_one_that_is_closed_is_at_its_end() {
        let (near, far) = pair();
        let block = vec![1; 1 << 20];
        let full = loop {
            if let Err(error) = near.send(&[IoSlice::new(&block)], WaitMode::Never) {
                break error;
            }
        };
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
        drop(near);
        let mut bytes = vec![0; 1 << 20];
        while far.receive(&mut [IoSliceMut::new(&mut bytes)], WaitMode::Short).unwrap() > 0 {}
    }
}
