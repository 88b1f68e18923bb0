//! Replies that are not due yet, and the one thread that gives each when it is.
//!
//! Many requests wait at a time without a thread each: a wait is an entry, ordered by its end.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io;
use std::num::NonZeroU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use narrows_lab::clock::monotonic_ns;

/// The kernel may otherwise be 50 us late with every wake-up.
const TIMER_SLACK_NS: NonZeroU64 = NonZeroU64::new(1000).unwrap();

/// What is done when a request has been served.
pub(crate) type Reply = Box<dyn FnOnce() + Send>;

/// The replies that wait; a cheap handle.
#[derive(Clone)]
pub(crate) struct ReplyScheduler {
    queue: Arc<ReplyQueue>,
}

struct ReplyQueue {
    pending: Mutex<PendingReplies>,
    changed: Condvar,
}

/// As many as the kernel has requests under way, which the file system bounds.
#[derive(Default)]
struct PendingReplies {
    replies: BinaryHeap<DueReply>,
    /// How many there have been: of two that are due together the older one comes first.
    count: u64,
}

struct DueReply {
    at_ns: u64,
    number: u64,
    reply: Reply,
}

impl ReplyScheduler {
    /// An empty queue, and its thread, which ends with the process.
    pub(crate) fn start() -> io::Result<Self> {
        let queue = Arc::new(ReplyQueue { pending: Mutex::default(), changed: Condvar::new() });
        let replies = Self { queue };
        let served = replies.clone();
        thread::Builder::new().name("replies".to_owned()).spawn(move || served.serve())?;
        Ok(replies)
    }

    /// Gives the reply at that time: at once, by the caller, if it has come.
    pub(crate) fn give_at(&self, at_ns: u64, reply: Reply) {
        if at_ns <= monotonic_ns() {
            return reply();
        }
        let mut pending = self.queue.pending();
        let number = pending.count;
        pending.count += 1;
        pending.replies.push(DueReply { at_ns, number, reply });
        drop(pending);
        self.queue.changed.notify_one();
    }

    fn serve(&self) {
        // Without it replies come up to 50 us late, and the lab's tolerances are wider.
        let _as_it_is = rustix::thread::set_current_timer_slack(Some(TIMER_SLACK_NS));
        loop {
            let reply = self.queue.next();
            reply();
        }
    }
}

impl ReplyQueue {
    /// Waits for the next reply to be due.
    fn next(&self) -> Reply {
        let mut pending = self.pending();
        loop {
            let left_ns = pending.replies.peek().map(|next| next.at_ns.saturating_sub(monotonic_ns()));
            match left_ns {
                Some(0) => {
                    if let Some(next) = pending.replies.pop() {
                        return next.reply;
                    }
                }
                Some(left_ns) => {
                    let left = Duration::from_nanos(left_ns);
                    let woken = self.changed.wait_timeout(pending, left);
                    pending = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
                None => {
                    pending = self.changed.wait(pending).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// No reply is sent while the lock is taken, so a panic in one leaves the queue intact.
    fn pending(&self) -> MutexGuard<'_, PendingReplies> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ord for DueReply {
    /// The heap has its greatest on top: that is the one that is due first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_ns, other.number).cmp(&(self.at_ns, self.number))
    }
}

impl PartialOrd for DueReply {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for DueReply {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for DueReply {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn replies_come_when_they_are_due_in_the_order_of_their_ends() {
        let replies = ReplyScheduler::start().unwrap();
        let (given, got) = mpsc::channel();
        let from_ns = monotonic_ns() + 5_000_000;
        for (number, later_ns) in [(3, 2_000_000), (1, 0), (2, 0)] {
            let (given, at_ns) = (given.clone(), from_ns + later_ns);
            let reply = move || given.send((number, monotonic_ns().checked_sub(at_ns))).unwrap();
            replies.give_at(at_ns, Box::new(reply));
        }
        let numbers: Vec<i32> = got
            .iter()
            .take(3)
            .map(|(number, late_ns)| {
                assert!(late_ns.is_some(), "{number} came too early");
                number
            })
            .collect();
        assert_eq!(numbers, [1, 2, 3]);
    }

    #[test]
    fn what_is_due_is_given_before_the_call_returns() {
        let replies = ReplyScheduler::start().unwrap();
        let (given, got) = mpsc::channel();
        replies.give_at(monotonic_ns(), Box::new(move || given.send(()).unwrap()));
        assert!(got.try_recv().is_ok());
    }
}
