//! When a peer is given up: nothing came from it for the answer timeout, and nothing of what it was sent was acknowledged.
//!
//! A large request over a slow link takes longer to be sent than an answer is waited for. Meanwhile the other side's kernel
//! acknowledges what arrives, though no byte comes back and a full send buffer has no room yet. A kernel acknowledges for a
//! program that hangs too, until its receive buffer is full.

use crate::clock::Tick;
use narrows_sys::tcp_info::TcpInfo;
use std::net::TcpStream;

/// How often the acknowledged bytes are read in a timeout without any sign of life.
const LOOK_COUNT: u64 = 8;

/// The last sign of life of a peer on one connection: bytes from it, or an acknowledgement.
///
/// # Cost
/// A few stores for bytes that came, and a system call for each eighth of the timeout without any.
#[derive(Debug)]
pub(super) struct SilenceTimer {
    timeout_ns: u64,
    last_sign: Tick,
    next_look: Tick,
    /// The acknowledged bytes at the last look, 0 where the kernel does not count them; `None` before the first since
    /// something came.
    acked_bytes: Option<u64>,
}

impl SilenceTimer {
    pub(super) fn new(now: Tick, timeout_ns: u64) -> Self {
        Self { timeout_ns, last_sign: now, next_look: now.after(timeout_ns / LOOK_COUNT), acked_bytes: None }
    }

    /// Notes that bytes came at `now`.
    pub(super) fn restart(&mut self, now: Tick) {
        *self = Self::new(now, self.timeout_ns);
    }

    /// When [`Self::is_over`] is to be asked next.
    pub(super) fn next_look(&self) -> Tick {
        self.next_look
    }

    /// Whether the timeout has passed since the last sign of life on `socket`.
    pub(super) fn is_over(&mut self, now: Tick, socket: &TcpStream) -> bool {
        if now < self.next_look {
            return false;
        }
        let acked_bytes = TcpInfo::read(socket).ok().and_then(|now| now.bytes_acked).unwrap_or(0);
        let before = self.acked_bytes.replace(acked_bytes);
        if before.is_some_and(|before| before != acked_bytes) {
            self.last_sign = now;
        }
        let limit = self.last_sign.after(self.timeout_ns);
        // After a pause of this process, too, the counts of two looks are compared.
        if before.is_some() && now >= limit {
            return true;
        }
        let next_look = now.after(self.timeout_ns / LOOK_COUNT);
        self.next_look = if now < limit { next_look.min(limit) } else { next_look };
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    const TIMEOUT_NS: u64 = 800;

    /// Sends, and waits until it is acknowledged.
    fn send_acknowledged(near: &mut TcpStream, far: &mut TcpStream) {
        near.write_all(&[0; 100]).unwrap();
        far.read_exact(&mut [0; 100]).unwrap();
        while TcpInfo::read(&*near).unwrap().unacked_segs > 0 {
            std::thread::yield_now();
        }
    }

    /// The time from `start` at which the peer is given up, asked whenever it is to be.
    fn over_after_ns(timer: &mut SilenceTimer, start: Tick, socket: &TcpStream) -> u64 {
        let mut now = timer.next_look();
        while !timer.is_over(now, socket) {
            now = timer.next_look();
        }
        now.since(start)
    }

    #[test]
    fn a_silent_peer_is_given_up_after_the_timeout() {
        let (near, _far) = narrows_testkit::tcp_pair().unwrap();
        let start = Tick(5);
        let mut timer = SilenceTimer::new(start, TIMEOUT_NS);
        assert!(!timer.is_over(start.after(TIMEOUT_NS / LOOK_COUNT - 1), &near));
        assert_eq!(over_after_ns(&mut timer, start, &near), TIMEOUT_NS);
        let sign = start.after(5_000);
        timer.restart(sign);
        assert_eq!(over_after_ns(&mut timer, sign, &near), TIMEOUT_NS);
    }

    #[test]
    fn a_peer_that_acknowledges_is_given_up_a_timeout_after_the_last_time() {
        let (mut near, mut far) = narrows_testkit::tcp_pair().unwrap();
        let mut timer = SilenceTimer::new(Tick(0), TIMEOUT_NS);
        for look in 1..30 {
            assert!(!timer.is_over(Tick(look * TIMEOUT_NS / LOOK_COUNT), &near), "{look}");
            send_acknowledged(&mut near, &mut far);
        }
        assert_eq!(over_after_ns(&mut timer, Tick(30 * TIMEOUT_NS / LOOK_COUNT), &near), TIMEOUT_NS);
    }

    #[test]
    fn after_a_pause_of_this_process_two_looks_are_made() {
        let (near, _far) = narrows_testkit::tcp_pair().unwrap();
        let mut timer = SilenceTimer::new(Tick(0), TIMEOUT_NS);
        assert!(!timer.is_over(Tick(10 * TIMEOUT_NS), &near));
        assert!(timer.is_over(timer.next_look(), &near));
    }
}
