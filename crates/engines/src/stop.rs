//! A request to stop that every loop of a run heeds, and every wait of an engine that opens.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// How soon to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopRequest {
    /// Not at all.
    None,
    /// After the present cell.
    AfterCell,
    /// Now; what is whole is kept.
    Now,
}

/// A request to stop, shared by all who must heed it.
#[derive(Debug, Clone, Default)]
pub struct StopFlag {
    level: Arc<AtomicU8>,
}

impl StopFlag {
    /// What is asked for at present.
    #[must_use]
    pub fn request(&self) -> StopRequest {
        match self.level.load(Ordering::Acquire) {
            0 => StopRequest::None,
            1 => StopRequest::AfterCell,
            _ => StopRequest::Now,
        }
    }

    /// Requests a stop; a sooner stop requested before remains.
    pub fn ask(&self, request: StopRequest) {
        let level = match request {
            StopRequest::None => 0,
            StopRequest::AfterCell => 1,
            StopRequest::Now => 2,
        };
        self.level.fetch_max(level, Ordering::AcqRel);
    }

    /// Asks to stop one step sooner than before: after the cell, then now.
    pub fn ask_sooner(&self) {
        let _ =
            self.level.fetch_update(Ordering::AcqRel, Ordering::Acquire, |level| Some((level + 1).min(2)));
    }

    /// Whether everything is to stop at once.
    #[must_use]
    pub fn is_now(&self) -> bool {
        self.request() == StopRequest::Now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_request_waits_for_the_cell_and_the_second_does_not() {
        let flag = StopFlag::default();
        flag.ask_sooner();
        assert_eq!(flag.request(), StopRequest::AfterCell);
        flag.ask_sooner();
        flag.ask_sooner();
        assert!(flag.is_now());
        flag.ask(StopRequest::AfterCell);
        assert!(flag.is_now(), "a later request does not take back a sooner one");
    }
}
