//! What a command keeps from its first moment: the clock, when it began, and the user's wish to stop.

use crate::console::Console;
use crate::exit::CommandFailure;
use crate::signals::{self, Interrupt};
use narrows_engines::{Clock, MonotonicClock};
use narrows_model::Nanos;
use narrows_run::{StopFlag, StopRequest};
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for room for what a signal is answered with: the thread that writes it receives the next signal too.
const NOTICE_WITHIN: Duration = Duration::from_millis(100);

/// The clock of a command and the wish to stop it.
pub(crate) struct Watch {
    /// The clock that everything is timed by.
    pub(crate) clock: Arc<dyn Clock>,
    /// The smallest step of that clock.
    pub(crate) clock_resolution_ns: u64,
    /// The user's wish to stop.
    pub(crate) stop: StopFlag,
    began_ns: u64,
}

impl Watch {
    /// Starts the clock and heeds Ctrl-C from now on: before anything is made that an interrupt would leave behind.
    ///
    /// # Errors
    /// When the system refuses a signal handler.
    pub(crate) fn start(console: &Console) -> Result<Self, CommandFailure> {
        let monotonic = MonotonicClock::new();
        let clock: Arc<dyn Clock> = Arc::new(monotonic);
        let began_ns = clock.now().0;
        let stop = StopFlag::default();
        let stop_console = console.clone();
        signals::install_handlers(&stop, Interrupt::AfterCell, move |request| {
            stop_console.say_within(stop_words(request), NOTICE_WITHIN);
        })?;
        Ok(Self { clock, clock_resolution_ns: monotonic.resolution_ns(), stop, began_ns })
    }

    /// The same clock and the same wish, for one more run of the command, which begins now.
    pub(crate) fn again(&self) -> Self {
        Self {
            clock: Arc::clone(&self.clock),
            stop: self.stop.clone(),
            began_ns: self.clock.now().0,
            ..*self
        }
    }

    /// The time now, on the load's clock.
    pub(crate) fn now(&self) -> Nanos {
        Nanos(self.clock.now().0)
    }

    /// Time since the command began.
    pub(crate) fn spent(&self) -> Nanos {
        Nanos(self.clock.now().0.saturating_sub(self.began_ns))
    }
}

fn stop_words(request: StopRequest) -> &'static str {
    match request {
        StopRequest::Now => "stopping now; complete results are kept",
        _ => "stopping after this cell; press Ctrl-C again to stop now",
    }
}
