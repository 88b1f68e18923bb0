//! Traces the block requests of the path's devices while a run lasts, in a thread of its own.
//!
//! Each event is taken to cost half a microsecond, an estimate that no measurement has confirmed yet. At up to 20 thousand events a second, of some 7 thousand requests, all are
//! recorded; beyond that the recording is on for as small a part of the time as keeps to that. Requests are then so short that
//! a slice of the time has thousands from beginning to end.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use narrows_model::counters::BlockTrace;
use narrows_probe::{RequestTracer, Root};

/// Time between two looks at the rings: each has room for the events of 10 ms at a million a second.
const TICK: Duration = Duration::from_millis(10);
/// What is spent in a tick on average: at half a microsecond each (an estimate), one percent of one CPU.
const EVENTS_PER_TICK: i64 = 200;
/// What may be saved for a burst: that of a quarter of a second.
const SAVED_MAX: i64 = 25 * EVENTS_PER_TICK;
/// What is paid back at most: the recording is off for two seconds or less.
const DEBT_MAX: i64 = 200 * EVENTS_PER_TICK;
/// The recording is on for so many ticks at least, which is long beside the requests of a device with many of them.
const SLICE_TICKS: u32 = 3;
/// A trial begins with the recording on, unless it was on as recently as this.
const PAUSE_TICKS: u32 = 5;

/// The tracing of some devices; it ends with this value.
#[derive(Debug)]
pub(crate) struct BlockTracing {
    state: Result<Arc<SharedTracer>, String>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread and the reader of the sums share.
#[derive(Debug)]
struct SharedTracer {
    work: Mutex<TracerWork>,
    changed: Condvar,
}

#[derive(Debug)]
struct TracerWork {
    tracer: RequestTracer,
    budget: EventBudget,
    /// Why it goes on no more.
    failure: Option<String>,
    is_over: bool,
}

impl BlockTracing {
    /// Traces the block devices with these kernel names from now on; where that cannot be done, each reading says why.
    pub(crate) fn start(devices: &[String]) -> Self {
        match Self::started(devices) {
            Ok(tracing) => tracing,
            Err(reason) => Self { state: Err(reason), thread: None },
        }
    }

    fn started(devices: &[String]) -> Result<Self, String> {
        let mut tracer = RequestTracer::open(&Root::system(), devices).map_err(|error| error.to_string())?;
        tracer.set_enabled(true).map_err(|error| error.to_string())?;
        let work = TracerWork { tracer, budget: EventBudget::default(), failure: None, is_over: false };
        let shared = Arc::new(SharedTracer { work: Mutex::new(work), changed: Condvar::new() });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("block-trace".to_owned())
            .spawn(move || of_thread.follow())
            .map_err(|error| format!("cannot start a thread that takes trace events: {error}"))?;
        Ok(Self { state: Ok(shared), thread: Some(thread) })
    }

    /// The sums of all requests up to now, or why there are none. The recording is on afterwards.
    pub(crate) fn read(&self) -> BlockTrace {
        match &self.state {
            Ok(shared) => shared.locked().read(),
            Err(reason) => BlockTrace::missing(reason.as_str()),
        }
    }
}

impl Drop for BlockTracing {
    fn drop(&mut self) {
        if let Ok(shared) = &self.state {
            shared.locked().is_over = true;
            shared.changed.notify_all();
        }
        if let Some(thread) = self.thread.take() {
            // A thread that panicked takes no more events either.
            drop(thread.join());
        }
    }
}

impl SharedTracer {
    fn locked(&self) -> MutexGuard<'_, TracerWork> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes events until the tracing is over.
    fn follow(&self) {
        let mut work = self.locked();
        while !work.is_over {
            work.take_turn();
            let waited = self.changed.wait_timeout(work, TICK);
            work = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl TracerWork {
    fn take_turn(&mut self) {
        let event_count = self.tracer.take();
        let was_on = self.budget.is_on;
        if self.budget.spend(event_count) != was_on {
            self.switch();
        }
    }

    fn read(&mut self) -> BlockTrace {
        let event_count = self.tracer.take();
        self.budget.charge(event_count);
        if self.budget.begin_trial() {
            self.switch();
        }
        match &self.failure {
            Some(reason) => BlockTrace::missing(reason.as_str()),
            None => self.tracer.counters(),
        }
    }

    /// Switches the recording as the budget has it.
    fn switch(&mut self) {
        if let Err(error) = self.tracer.set_enabled(self.budget.is_on) {
            self.failure = Some(error.to_string());
        }
    }
}

/// How many events may still be recorded.
#[derive(Debug, PartialEq, Eq)]
struct EventBudget {
    is_on: bool,
    /// Events that may be recorded now; negative where too many were.
    left: i64,
    /// Ticks since the recording was switched.
    tick_count: u32,
}

impl Default for EventBudget {
    /// On, with all that may be saved.
    fn default() -> Self {
        Self { is_on: true, left: SAVED_MAX, tick_count: 0 }
    }
}

impl EventBudget {
    /// Notes the events of a tick; whether the recording is on from now on.
    fn spend(&mut self, event_count: u64) -> bool {
        self.charge(event_count);
        self.left = (self.left + EVENTS_PER_TICK).clamp(-DEBT_MAX, SAVED_MAX);
        self.tick_count = self.tick_count.saturating_add(1);
        let ends = self.is_on && self.left < 0 && self.tick_count >= SLICE_TICKS;
        let begins = !self.is_on && self.left >= 0;
        if ends || begins {
            (self.is_on, self.tick_count) = (begins, 0);
        }
        self.is_on
    }

    fn charge(&mut self, event_count: u64) {
        self.left = self.left.saturating_sub_unsigned(event_count);
    }

    /// Makes the recording be on as a trial begins; whether it is to be switched on for that.
    fn begin_trial(&mut self) -> bool {
        let begins = !self.is_on && self.tick_count >= PAUSE_TICKS;
        if begins {
            (self.is_on, self.tick_count) = (true, 0);
        }
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events recorded, and ticks with the recording on, of `ticks` in which `rate` happen each.
    fn spent(budget: &mut EventBudget, ticks: u64, rate: u64) -> (u64, u64) {
        let (mut events, mut on) = (0, 0);
        for _ in 0..ticks {
            let recorded = if budget.is_on { rate } else { 0 };
            events += recorded;
            on += u64::from(budget.is_on);
            budget.spend(recorded);
        }
        (events, on)
    }

    #[test]
    fn a_rate_within_the_budget_is_recorded_all_the_time() {
        assert_eq!(spent(&mut EventBudget::default(), 1000, 200), (200_000, 1000));
    }

    #[test]
    fn a_rate_beyond_it_is_recorded_in_slices_that_keep_to_it() {
        // 30 to 900 thousand events a second in 10 s of 10 ms ticks, of 20 thousand allowed.
        for rate in [300, 3000, 9000] {
            let (events, on) = spent(&mut EventBudget::default(), 1000, rate);
            let allowed = 1000 * EVENTS_PER_TICK.unsigned_abs();
            assert!(events < allowed + 4 * 9000 + SAVED_MAX.unsigned_abs(), "{events} of {rate}");
            assert!(on >= u64::from(SLICE_TICKS) && events * 2 > allowed, "{events} in {on}");
        }
    }

    #[test]
    fn a_trial_begins_with_the_recording_on_unless_it_was_on_just_before() {
        let mut budget = EventBudget::default();
        assert!(!budget.begin_trial(), "it is on");
        spent(&mut budget, 3, 9000);
        assert!(!budget.is_on && !budget.begin_trial(), "it was on just before");
        spent(&mut budget, 6, 9000);
        assert!(budget.begin_trial() && budget.is_on);
        spent(&mut budget, 2, 9000);
        assert!(budget.is_on, "a slice is long enough for requests from beginning to end");
    }

    #[test]
    fn requests_of_no_device_are_not_traced_and_the_reason_is_given() {
        let tracing = BlockTracing::start(&["no-such-device".to_owned()]);
        let read = tracing.read();
        assert!(read.devices.is_empty() && read.missing_reason.is_some(), "{read:?}");
    }
}
