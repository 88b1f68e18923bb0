//! Who has connected to a role's port and not shown its ticket yet: all are waited for at once, so that strangers who
//! say nothing keep nobody waiting. They are few and have little time; the one that has had most makes room.

use super::RoleError;
use super::deadline::{ProgressDeadline, SLICE};
use super::socket::{Listener, RelayStream};
use narrows_sys::interval_timer::IntervalTimer;
use narrows_wire::relay::{TICKET_BYTES, Ticket};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::collections::VecDeque;
use std::os::fd::AsFd;

/// Most connections that are accepted between two looks at those that are there.
const ACCEPTED_MAX: u32 = 16;

/// Most at once.
const CALLERS_MAX: usize = 64;

/// Slices that each has to show its ticket.
const TICKET_SLICES_MAX: u32 = 20;

/// A connection and what it has shown.
struct Caller {
    stream: RelayStream,
    shown: [u8; TICKET_BYTES],
    shown_count: usize,
    slices: u32,
}

/// What a connection has turned out to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallerKind {
    Unclear,
    Stranger,
    TicketHolder,
}

impl Caller {
    fn read_ticket(&mut self, ticket: Ticket) -> CallerKind {
        match recv(&self.stream, &mut self.shown[self.shown_count..], RecvFlags::DONTWAIT) {
            Ok((_, 0)) => CallerKind::Stranger,
            Ok((_, length)) => {
                self.shown_count += length;
                match (self.shown_count == TICKET_BYTES, self.shown == ticket.0) {
                    (false, _) => CallerKind::Unclear,
                    (true, false) => CallerKind::Stranger,
                    (true, true) => CallerKind::TicketHolder,
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => CallerKind::Unclear,
            Err(_) => CallerKind::Stranger,
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

    /// Adds one; the oldest is dropped if there would be too many.
    pub(super) fn add(&mut self, stream: RelayStream) {
        if self.waiting.len() == CALLERS_MAX {
            self.waiting.pop_front();
            self.closed_count += 1;
        }
        self.waiting.push_back(Caller { stream, shown: [0; TICKET_BYTES], shown_count: 0, slices: 0 });
    }

    /// Waits until one says something, another comes to `listener`, or a slice is over; whether that is so.
    pub(super) fn wait(&self, listener: impl AsFd, ticks: &IntervalTimer) -> Result<bool, RoleError> {
        let of_role = [PollFd::new(&listener, PollFlags::IN), PollFd::new(ticks, PollFlags::IN)];
        let of_callers = self.waiting.iter().map(|caller| PollFd::new(&caller.stream, PollFlags::IN));
        let mut all: Vec<_> = of_role.into_iter().chain(of_callers).collect();
        match poll(&mut all, None) {
            Ok(_) | Err(Errno::INTR) => Ok(ticks.passed() > 0),
            Err(errno) => Err(RoleError::failed(format!("wait for the previous hop: {errno}"))),
        }
    }

    /// A slice is over: who has had its time is closed.
    pub(super) fn expire(&mut self) {
        self.waiting.iter_mut().for_each(|caller| caller.slices += 1);
        let before = self.waiting.len();
        // A stranger that sends byte by byte has no more time than one that sends nothing.
        self.waiting.retain(|caller| caller.slices < TICKET_SLICES_MAX);
        self.closed_count += (before - self.waiting.len()) as u64;
    }

    /// The connection that has shown the ticket, if one has; who has shown something else is closed.
    pub(super) fn take_admitted(&mut self) -> Option<RelayStream> {
        let mut at = 0;
        while let Some(caller) = self.waiting.get_mut(at) {
            match caller.read_ticket(self.ticket) {
                CallerKind::Unclear => at += 1,
                CallerKind::Stranger => {
                    self.waiting.remove(at);
                    self.closed_count += 1;
                }
                CallerKind::TicketHolder => return self.waiting.remove(at).map(|caller| caller.stream),
            }
        }
        None
    }

    /// What is waited for, and who came instead.
    pub(super) fn describe_wait(&self) -> String {
        match self.closed_count + self.waiting.len() as u64 {
            0 => "the previous hop".to_owned(),
            count => format!(
                "the previous hop ({count} connections to its port had no valid ticket: something else connects there)"
            ),
        }
    }
}

impl Listener {
    /// The hop before: the first connection that shows the ticket. Others are closed.
    pub(super) fn admit(self, deadline: &mut ProgressDeadline<'_>) -> Result<RelayStream, RoleError> {
        let mut callers = Callers::new(self.hop.ticket);
        let ticks = IntervalTimer::start(SLICE)
            .map_err(|errno| RoleError::failed(format!("wait for the previous hop: {errno}")))?;
        loop {
            if callers.wait(&self.socket, &ticks)? {
                callers.expire();
                deadline.check_progress(&callers.describe_wait(), 0)?;
            }
            if let Some(stream) = callers.take_admitted() {
                return Ok(stream);
            }
            // Few at a time, so that each is read before others could take its place.
            for _ in 0..ACCEPTED_MAX {
                // A connection that broke before it was accepted is none.
                let Ok((socket, _)) = self.socket.accept() else { break };
                if let Ok(stream) = RelayStream::new(socket, &self.sockets) {
                    callers.add(stream);
                }
            }
        }
    }
}
