//! Who has connected to a role's port and not shown its ticket yet: all are waited for at once, so that strangers who
//! say nothing keep nobody waiting. They are few and have little time; the one that has had most makes room.

use super::RoleError;
use super::socket::Stream;
use narrows_sys::ticks::Ticks;
use narrows_wire::relay::{TICKET_BYTES, Ticket};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::collections::VecDeque;
use std::os::fd::AsFd;

/// Most at once.
const CALLERS_MAX: usize = 64;

/// Slices that each has to show its ticket.
const TICKET_SLICES_MAX: u32 = 20;

/// A connection and what it has shown.
struct Caller {
    stream: Stream,
    shown: [u8; TICKET_BYTES],
    shown_count: usize,
    slices: u32,
}

/// What a connection has turned out to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Unclear,
    Stranger,
    TicketHolder,
}

impl Caller {
    fn hear(&mut self, ticket: Ticket) -> Whose {
        match recv(&self.stream, &mut self.shown[self.shown_count..], RecvFlags::DONTWAIT) {
            Ok((_, 0)) => Whose::Stranger,
            Ok((_, length)) => {
                self.shown_count += length;
                match (self.shown_count == TICKET_BYTES, self.shown == ticket.0) {
                    (false, _) => Whose::Unclear,
                    (true, false) => Whose::Stranger,
                    (true, true) => Whose::TicketHolder,
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => Whose::Unclear,
            Err(_) => Whose::Stranger,
        }
    }
}

/// All of them, the first to come first.
pub(super) struct Callers {
    ticket: Ticket,
    waiting: VecDeque<Caller>,
    closed_count: u64,
}

impl Callers {
    pub(super) fn new(ticket: Ticket) -> Self {
        Self { ticket, waiting: VecDeque::new(), closed_count: 0 }
    }

    /// One more; the first goes where they would be too many.
    pub(super) fn add(&mut self, stream: Stream) {
        if self.waiting.len() == CALLERS_MAX {
            self.waiting.pop_front();
            self.closed_count += 1;
        }
        self.waiting.push_back(Caller { stream, shown: [0; TICKET_BYTES], shown_count: 0, slices: 0 });
    }

    /// Waits until one says something, another comes to `listener`, or a slice is over; whether that is so.
    pub(super) fn wait(&self, listener: impl AsFd, ticks: &Ticks) -> Result<bool, RoleError> {
        let of_role = [PollFd::new(&listener, PollFlags::IN), PollFd::new(ticks, PollFlags::IN)];
        let of_callers = self.waiting.iter().map(|caller| PollFd::new(&caller.stream, PollFlags::IN));
        let mut all: Vec<_> = of_role.into_iter().chain(of_callers).collect();
        match poll(&mut all, None) {
            Ok(_) | Err(Errno::INTR) => Ok(ticks.passed() > 0),
            Err(errno) => Err(RoleError::failed(format!("wait for the hop before: {errno}"))),
        }
    }

    /// A slice is over: who has had its time is closed.
    pub(super) fn age(&mut self) {
        self.waiting.iter_mut().for_each(|caller| caller.slices += 1);
        let before = self.waiting.len();
        // A stranger that sends byte by byte has no more time than one that sends nothing.
        self.waiting.retain(|caller| caller.slices < TICKET_SLICES_MAX);
        self.closed_count += (before - self.waiting.len()) as u64;
    }

    /// The connection that has shown the ticket, if one has; who has shown something else is closed.
    pub(super) fn hear(&mut self) -> Option<Stream> {
        let mut at = 0;
        while let Some(caller) = self.waiting.get_mut(at) {
            match caller.hear(self.ticket) {
                Whose::Unclear => at += 1,
                Whose::Stranger => {
                    self.waiting.remove(at);
                    self.closed_count += 1;
                }
                Whose::TicketHolder => return self.waiting.remove(at).map(|caller| caller.stream),
            }
        }
        None
    }

    /// What is waited for, and who came instead.
    pub(super) fn awaited(&self) -> String {
        match self.closed_count + self.waiting.len() as u64 {
            0 => "the hop before".to_owned(),
            count => format!(
                "the hop before ({count} connections came to its port without its ticket: something else connects there)"
            ),
        }
    }
}
