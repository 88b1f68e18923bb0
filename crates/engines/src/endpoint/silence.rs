//! When a peer is given up: nothing came from it, and nothing of what it was sent has been acknowledged.
//!
//! A large request over a slow link takes longer to be sent than an answer is waited for. The kernel acknowledges what
//! arrives meanwhile, though no byte comes back and a full send buffer has no room yet.

use crate::clock::Tick;
use narrows_sys::tcp_info::TcpInfo;
use std::net::TcpStream;

/// Time since a peer last gave a sign of life on one connection.
///
/// # Cost
/// Two stores for each sign, and a system call for each half of the timeout without one.
#[derive(Debug)]
pub(super) struct SilenceTimer {
    /// Half of the answer timeout.
    half_ns: u64,
    next_look: Tick,
    /// The acknowledged bytes at the last look, 0 where the kernel does not count them; `None` before the first since
    /// something came.
    acked_bytes: Option<u64>,
}

impl SilenceTimer {
    pub(super) fn new(now: Tick, timeout_ns: u64) -> Self {
        let half_ns = timeout_ns.div_ceil(2);
        Self { half_ns, next_look: now.after(half_ns), acked_bytes: None }
    }

    /// Notes a sign of life at `now`.
    pub(super) fn restart(&mut self, now: Tick) {
        self.next_look = now.after(self.half_ns);
        self.acked_bytes = None;
    }

    /// When [`Self::is_over`] is to be asked next.
    pub(super) fn next_look(&self) -> Tick {
        self.next_look
    }

    /// Whether the timeout has passed without a sign of life, and its second half without an acknowledgement on `socket`.
    pub(super) fn is_over(&mut self, now: Tick, socket: &TcpStream) -> bool {
        if now < self.next_look {
            return false;
        }
        let acked_bytes = TcpInfo::read(socket).ok().and_then(|now| now.bytes_acked).unwrap_or(0);
        if self.acked_bytes == Some(acked_bytes) {
            return true;
        }
        self.acked_bytes = Some(acked_bytes);
        self.next_look = now.after(self.half_ns);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    const TIMEOUT_NS: u64 = 1_000;

    #[test]
    fn a_peer_that_acknowledges_is_not_silent_though_nothing_comes() {
        let (mut near, mut far) = narrows_testkit::tcp_pair().unwrap();
        let start = Tick::default();
        let mut timer = SilenceTimer::new(start, TIMEOUT_NS);
        assert!(!timer.is_over(start.after(TIMEOUT_NS / 2 - 1), &near));
        for half in 1..5 {
            near.write_all(&[0; 100]).unwrap();
            far.read_exact(&mut [0; 100]).unwrap();
            assert_eq!(timer.next_look(), start.after(half * TIMEOUT_NS / 2));
            assert!(!timer.is_over(timer.next_look(), &near), "{half}");
        }
        let last = timer.next_look();
        assert!(timer.is_over(last, &near), "nothing was acknowledged since the last look");
    }

    #[test]
    fn a_sign_of_life_gives_a_whole_timeout_again() {
        let (near, _far) = narrows_testkit::tcp_pair().unwrap();
        let start = Tick::default();
        let mut timer = SilenceTimer::new(start, TIMEOUT_NS);
        assert!(!timer.is_over(start.after(TIMEOUT_NS / 2), &near));
        let sign = start.after(TIMEOUT_NS - 1);
        timer.restart(sign);
        assert!(!timer.is_over(sign.after(TIMEOUT_NS / 2), &near));
        assert!(!timer.is_over(sign.after(TIMEOUT_NS - 1), &near));
        assert!(timer.is_over(sign.after(TIMEOUT_NS), &near));
    }
}
