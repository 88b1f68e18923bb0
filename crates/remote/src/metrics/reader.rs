//! Reads a server's metrics in a thread of its own, so that a load never waits for them.
//!
//! At most a few questions are under way, each ends with its deadline, and the thread ends with its reader. A server that keeps
//! failing to answer in time is not asked any more: each reading of it would hold the run up.

use super::request::{DEADLINE, MetricsError, MetricsUrl, agent, counters};
use narrows_engines::{Clock, StopFlag};
use narrows_model::counters::{CounterOrigin, Role};
use narrows_model::{CounterSample, Nanos};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Most questions under way: one at each border of a window, and one that a trial before left.
const UNDER_WAY_MAX: usize = 4;
/// How often a wish to stop is looked at while an answer is waited for.
const SLICE: Duration = Duration::from_millis(20);
/// So many readings in a row that end by the deadline are the last.
const LATE_IN_A_ROW_MAX: u32 = 2;
/// So much sooner than the deadline a timer may end a reading.
const TIMER_GRAIN: Duration = Duration::from_millis(50);

/// The counters at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricsReading {
    /// The counters of the server, at the middle of the time that the answer took.
    pub sample: CounterSample,
    /// From the question to the answer.
    pub took_ns: Nanos,
}

type MetricsAnswer = Result<MetricsReading, MetricsError>;

/// What came of a question.
struct Answered {
    answer: MetricsAnswer,
    /// Whether it failed, and the deadline ended it.
    by_deadline: bool,
}

/// How many readings in a row ended by the deadline.
#[derive(Debug, Clone, Copy, Default)]
struct LateRow {
    count: u32,
}

impl LateRow {
    fn add(&mut self, by_deadline: bool) {
        // What was given up stays so, whatever a question that was under way then still brings.
        if !self.is_last() {
            self.count = if by_deadline { self.count + 1 } else { 0 };
        }
    }

    fn is_last(self) -> bool {
        self.count >= LATE_IN_A_ROW_MAX
    }
}

/// Reads the metrics of one server; its thread ends with it.
pub struct MetricsReader {
    url: MetricsUrl,
    questions: SyncSender<u64>,
    answers: Receiver<Answered>,
    clock: Arc<dyn Clock>,
    boot_time_s: Option<u64>,
    under_way: usize,
    late: LateRow,
    /// Questions that were not sent since the last call for answers, because nothing is asked any more.
    unsent_count: usize,
}

impl std::fmt::Debug for MetricsReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetricsReader").field("url", &self.url).finish_non_exhaustive()
    }
}

impl MetricsReader {
    /// Reads the metrics at `url` once, and starts the thread that reads them from then on.
    ///
    /// # Errors
    /// When nothing answers, when it is no `node_exporter`, and when the machine starts no thread.
    pub fn connect(url: MetricsUrl, clock: Arc<dyn Clock>) -> Result<Self, MetricsError> {
        let boot_time_s = counters(&agent(), &url)?.boot_time_s;
        let (questions, asked) = sync_channel(UNDER_WAY_MAX);
        let (answered, answers) = sync_channel(UNDER_WAY_MAX);
        let (place, thread_clock) = (url.clone(), Arc::clone(&clock));
        let started = std::thread::Builder::new()
            .name("server-metrics".to_owned())
            .spawn(move || answer_all(&place, &asked, &answered, thread_clock.as_ref()));
        started.map_err(|error| MetricsError::no_thread(&error))?;
        let late = LateRow::default();
        Ok(Self { url, questions, answers, clock, boot_time_s, under_way: 0, late, unsent_count: 0 })
    }

    /// Where they are.
    #[must_use]
    pub fn url(&self) -> &MetricsUrl {
        &self.url
    }

    /// When the machine booted whose metrics they are, in seconds of the wall clock; `None` where it does not say.
    #[must_use]
    pub fn boot_time_s(&self) -> Option<u64> {
        self.boot_time_s
    }

    /// Asks for a reading now; returns at once. Asks nothing any more where readings kept ending by the deadline.
    pub fn ask(&mut self) {
        if self.late.is_last() {
            self.unsent_count += 1;
        } else if self.questions.try_send(self.clock.now().0).is_ok() {
            self.under_way += 1;
        }
    }

    /// The answers to all questions since the last call, in their order; none any more once `stop` asks to stop now. That to a
    /// question that was not sent is an error of the kind [`GivenUp`](super::MetricsErrorKind::GivenUp).
    pub fn answers(&mut self, stop: &StopFlag) -> Vec<MetricsAnswer> {
        let mut found = Vec::with_capacity(self.under_way);
        let end_ns = self.clock.now().0.saturating_add(saturating_nanos(DEADLINE) * UNDER_WAY_MAX as u64);
        while self.under_way > 0 && !stop.is_now() && self.clock.now().0 < end_ns {
            match self.answers.recv_timeout(SLICE) {
                Ok(answered) => {
                    self.under_way -= 1;
                    self.late.add(answered.by_deadline);
                    found.push(answered.answer);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.under_way = 0,
            }
        }
        for _ in 0..std::mem::take(&mut self.unsent_count) {
            found.push(Err(MetricsError::given_up(LATE_IN_A_ROW_MAX)));
        }
        found
    }
}

fn saturating_nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Answers questions until nobody asks any more.
fn answer_all(url: &MetricsUrl, asked: &Receiver<u64>, answered: &SyncSender<Answered>, clock: &dyn Clock) {
    let agent = agent();
    while let Ok(asked_ns) = asked.recv() {
        let began_ns = clock.now().0;
        let answer = counters(&agent, url).map(|found| {
            let ended_ns = clock.now().0;
            let middle_ns = began_ns + ended_ns.saturating_sub(began_ns) / 2;
            let sample = CounterSample {
                origin: CounterOrigin::NodeExporter,
                host_cpu: Some(found.host_cpu),
                disks: found.disks,
                nics: found.nics,
                memory: found.memory,
                ..CounterSample::unread(Role::Server, Nanos(middle_ns))
            };
            MetricsReading { sample, took_ns: Nanos(ended_ns.saturating_sub(asked_ns)) }
        });
        let took_ns = clock.now().0.saturating_sub(began_ns);
        let by_deadline =
            answer.is_err() && took_ns >= saturating_nanos(DEADLINE.saturating_sub(TIMER_GRAIN));
        if answered.send(Answered { answer, by_deadline }).is_err() {
            return;
        }
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
