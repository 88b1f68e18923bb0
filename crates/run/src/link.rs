//! What a run asks of others while it runs: counters of a role, and the server of the path.
//!
//! Traits, so that a run can be driven without a machine's counters and without a network.

use crate::stop::StopFlag;
use narrows_engines::EngineError;
use narrows_engines::endpoint::{ControlClient, RemoteCellParams};
use narrows_model::workload::CacheState;
use narrows_model::{Cell, CounterSample, Event, Nanos};
use narrows_wire::control::CacheWork;

/// Reads the counters of the role that a run's own processes play.
pub trait CounterSource: Send {
    /// The counters at `at_ns`; the CPU time of the processes `child_pids` is charged to the role too.
    fn read(&mut self, at_ns: Nanos, child_pids: &[u32]) -> Option<CounterSample>;
}

/// Reads nothing: for runs on simulated targets.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCounters;

impl CounterSource for NoCounters {
    fn read(&mut self, _at_ns: Nanos, _child_pids: &[u32]) -> Option<CounterSample> {
        None
    }
}

/// A server, where the path has one.
pub type OptionalServer<'a> = Option<&'a mut (dyn ServerLink + 'static)>;

/// The endpoint at the far end of the path.
pub trait ServerLink {
    /// Its session, whose store contains the objects of all cells.
    fn session(&self) -> String;

    /// Gives up waiting for the server from now on when `stop` asks to stop now.
    fn set_stop_flag(&mut self, stop: &StopFlag);

    /// Its counters now.
    ///
    /// # Errors
    /// When the server does not answer.
    fn counters(&mut self) -> Result<CounterSample, EngineError>;

    /// The counters now of the proxy on the way to it; `None` where there is none, or it does not answer: the load itself
    /// shows that.
    fn proxy_counters(&mut self) -> Option<CounterSample> {
        None
    }

    /// Runs `cell` on the server; what happens there is sent to `on_event`.
    ///
    /// # Errors
    /// When the server does not answer or could not run the cell.
    fn run_cell(
        &mut self,
        cell: &Cell,
        params: RemoteCellParams,
        on_event: &mut dyn FnMut(Event),
        stop: &dyn Fn() -> bool,
    ) -> Result<(), EngineError>;

    /// Empties its page cache of `stored`: drops their pages, or displaces them by reading a dummy file. Returns the
    /// mean share that is then cached; `None` where that is not known.
    ///
    /// # Errors
    /// When the server does not answer, has no such objects, or could not do it.
    fn bring_cache_to(
        &mut self,
        stored: &[StoredObjects],
        state: CacheState,
    ) -> Result<Option<f64>, EngineError>;
}

/// Objects in the disk store of one endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredObjects {
    /// The endpoint's host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Names in the run's session there.
    pub names: Vec<String>,
}

impl ServerLink for ControlClient {
    fn session(&self) -> String {
        ControlClient::session(self).to_owned()
    }

    fn set_stop_flag(&mut self, stop: &StopFlag) {
        ControlClient::set_stop_flag(self, stop.clone());
    }

    fn counters(&mut self) -> Result<CounterSample, EngineError> {
        ControlClient::counters(self)
    }

    fn run_cell(
        &mut self,
        cell: &Cell,
        params: RemoteCellParams,
        on_event: &mut dyn FnMut(Event),
        stop: &dyn Fn() -> bool,
    ) -> Result<(), EngineError> {
        ControlClient::run_cell(self, cell, params, on_event, stop)
    }

    /// All of `stored` is this endpoint's.
    fn bring_cache_to(
        &mut self,
        stored: &[StoredObjects],
        state: CacheState,
    ) -> Result<Option<f64>, EngineError> {
        let names: Vec<String> = stored.iter().flat_map(|place| place.names.clone()).collect();
        match state {
            CacheState::Cold => self.cache(&names, CacheWork::Drop),
            CacheState::Displaced { scan_bytes } => {
                self.cache(&names, CacheWork::Sync)?;
                self.displace_cache(scan_bytes.0)?;
                self.cache(&names, CacheWork::Look)
            }
            CacheState::AsFound | CacheState::Warm => self.cache(&names, CacheWork::Look),
        }
    }
}
