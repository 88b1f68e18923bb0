//! Asks the peers of a run, all the while, whether they still answer; the run ends when one does not.
//!
//! A peer that is stopped, cut off or without power sends nothing that could be noticed: its data connections only wait.
//! Each peer is asked on a connection of its own, so that neither the load nor a long question delays the answer.

use crate::stop::{StopFlag, StopRequest};
use narrows_engines::EngineError;
use narrows_engines::endpoint::PeerProbe;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest wait for an answer of a peer that has been asked whether it is there.
pub const PEER_TIMEOUT_NS: u64 = 4_000_000_000;

/// Time between an answer and the next question.
const PAUSE: Duration = Duration::from_millis(500);

/// What happened to a peer that the run depends on; empty while all answer. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct PeerLoss {
    message: Arc<OnceLock<String>>,
}

impl PeerLoss {
    /// Which peer was lost, and how, for people; `None` while all answer.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.message.get().map(String::as_str)
    }

    /// Notes the loss; of several the first is kept.
    pub fn note(&self, message: String) {
        let _ = self.message.set(message);
    }
}

/// The threads that ask; they end with this value.
#[derive(Debug)]
pub struct PeerMonitor {
    ending: Arc<Ending>,
    threads: Vec<JoinHandle<()>>,
}

/// That the monitor is over.
#[derive(Debug, Default)]
struct Ending {
    is_over: Mutex<bool>,
    changed: Condvar,
    /// Whether peers that are lost end nothing any more.
    are_losses_ignored: AtomicBool,
    /// The same for waits for answers.
    stop: StopFlag,
}

impl Ending {
    fn locked(&self) -> MutexGuard<'_, bool> {
        self.is_over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self) {
        self.stop.ask(StopRequest::Now);
        *self.locked() = true;
        self.changed.notify_all();
    }

    /// Waits; whether the monitor is over.
    fn pause(&self) -> bool {
        let waited = self.changed.wait_timeout_while(self.locked(), PAUSE, |is_over| !*is_over);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl PeerMonitor {
    /// Connects by `probes`, which is given the flag that ends their waits, and asks from now on. The first peer that
    /// is lost is noted in `loss`, and `stop` asks all of the run to stop now.
    ///
    /// # Errors
    /// When a peer takes no second connection, or the machine starts no thread.
    pub fn start(
        probes: impl FnOnce(&StopFlag) -> Result<Vec<PeerProbe>, EngineError>,
        stop: &StopFlag,
        loss: &PeerLoss,
    ) -> Result<Self, EngineError> {
        let ending = Arc::new(Ending::default());
        let mut monitor = Self { ending: Arc::clone(&ending), threads: Vec::new() };
        for probe in probes(&ending.stop)? {
            let name = probe.name();
            let (ending, stop, loss) = (Arc::clone(&ending), stop.clone(), loss.clone());
            let started = std::thread::Builder::new()
                .name("peer-monitor".to_owned())
                .spawn(move || watch(probe, &ending, &stop, &loss));
            monitor.threads.push(started.map_err(|error| no_thread(&name, error))?);
        }
        Ok(monitor)
    }

    /// From now on peers are asked only so that they know that this process lives: their loss is not noted and ends nothing.
    pub fn ignore_losses(&self) {
        self.ending.are_losses_ignored.store(true, Ordering::Relaxed);
    }
}

impl Drop for PeerMonitor {
    fn drop(&mut self) {
        self.ending.request();
        for thread in self.threads.drain(..) {
            // A thread that panicked asks no more either.
            drop(thread.join());
        }
    }
}

/// Asks until the monitor is over or the peer is lost.
fn watch(mut probe: PeerProbe, ending: &Ending, stop: &StopFlag, loss: &PeerLoss) {
    loop {
        if let Err(error) = probe.answer() {
            if !ending.stop.is_now() && !ending.are_losses_ignored.load(Ordering::Relaxed) {
                loss.note(error.to_string());
                stop.ask(StopRequest::Now);
            }
            return;
        }
        if ending.pause() {
            return;
        }
    }
}

fn no_thread(name: &str, error: io::Error) -> EngineError {
    EngineError::from_io("watch", name.to_owned(), error)
}
