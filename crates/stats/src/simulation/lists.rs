//! What waits in a simulation: events in the order of time, and tokens in the order of their arrival.
//!
//! Hot path: nothing is allocated while there are no more events than before.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// What happens at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathEvent {
    /// The delay of a request is over.
    Passed { request: usize },
    /// A server of a station is done with a token.
    Served { station: usize, token: usize },
    /// The device of a memory is done with a request.
    Emptied { memory: usize },
}

#[derive(Debug, Clone, Copy)]
struct DueEvent {
    at_s: f64,
    /// Of two at one time the one that was added first comes first.
    sequence: u64,
    event: PathEvent,
}

impl Ord for DueEvent {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at_s.total_cmp(&other.at_s).then(self.sequence.cmp(&other.sequence))
    }
}

impl PartialOrd for DueEvent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for DueEvent {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for DueEvent {}

/// Events by time.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    heap: BinaryHeap<Reverse<DueEvent>>,
    sequence: u64,
}

impl EventQueue {
    /// Adds an event.
    pub(super) fn push(&mut self, at_s: f64, event: PathEvent) {
        self.sequence += 1;
        self.heap.push(Reverse(DueEvent { at_s, sequence: self.sequence, event }));
    }

    /// The next event with its time; `None` when there is none.
    pub(super) fn pop(&mut self) -> Option<(f64, PathEvent)> {
        self.heap.pop().map(|Reverse(due)| (due.at_s, due.event))
    }
}

/// Tokens, each in at most one list: the links between them are common to all lists.
#[derive(Debug)]
pub(super) struct TokenLinks {
    next: Vec<Option<usize>>,
}

impl TokenLinks {
    /// Links of so many tokens, none of which is in a list.
    pub(super) fn new(token_count: usize) -> Self {
        Self { next: vec![None; token_count] }
    }

    /// Adds `token` at the end of `list`.
    pub(super) fn push(&mut self, list: &mut TokenList, token: usize) {
        self.next[token] = None;
        match list.last {
            Some(last) => self.next[last] = Some(token),
            None => list.first = Some(token),
        }
        list.last = Some(token);
    }

    /// Takes the first token of `list`; `None` when there is none.
    pub(super) fn pop(&mut self, list: &mut TokenList) -> Option<usize> {
        let token = list.first?;
        list.first = self.next[token];
        if list.first.is_none() {
            list.last = None;
        }
        Some(token)
    }
}

/// The ends of one list.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TokenList {
    first: Option<usize>,
    last: Option<usize>,
}
