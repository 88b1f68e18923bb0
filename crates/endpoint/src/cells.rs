//! Cells that a client asks the server to run on itself, in the session's folder and within the server's limits.

use crate::admission::{check, memory_bytes};
use crate::channel::refused;
use crate::facts::{ServerSampler, read_inventory};
use crate::session::Session;
use crate::shared::ServerState;
use narrows_engines::EngineRegistry;
use narrows_engines::endpoint::RemoteCellParams;
use narrows_engines::own_folders::ConfinedFolder;
use narrows_model::units::saturate_usize;
use narrows_model::{Cell, Event, Nanos, Sink, SinkError, Site, Target};
use narrows_run::site::ANSWER_TIMEOUT_NS;
use narrows_run::{
    CellSite, Overruns, PeerLoss, PreparedObjects, RunError, RunErrorKind, StopFlag, ThreadCoordinator,
};
use narrows_wire::control::Answer;
use narrows_wire::{Error, Refusal};
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

/// Shortest interval of a series: a shorter one would measure its own reporting.
const INTERVAL_NS_MIN: Nanos = Nanos(10_000_000);

/// What a cell that runs here needs.
pub(crate) struct CellRun<'a> {
    pub(crate) shared: &'a ServerState,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) stop: &'a StopFlag,
    pub(crate) terms: RemoteCellParams,
}

impl CellRun<'_> {
    /// Runs the cell and sends its events; `prepared` keeps what was made, for the session's next cells.
    pub(crate) fn run(
        &self,
        cell: &Cell,
        prepared: &mut PreparedObjects,
        sender: &TcpStream,
    ) -> Result<(), Error> {
        check(cell)?;
        let _memory = self.shared.sessions.reserve_memory(memory_bytes(&cell.workload))?;
        let (folder, _files) = match &cell.target {
            Target::File { .. } => {
                let files = self.session.reserve_files(saturate_usize(u64::from(cell.workload.workers)))?;
                (Some(self.folder(cell.workload.file_bytes.0)?), Some(files))
            }
            _ => (None, None),
        };
        let inventory = read_inventory(self.shared);
        let mut site = CellSite {
            registry: EngineRegistry::confined(folder),
            clock: Arc::clone(&self.shared.options.clock),
            stop: self.stop.clone(),
            peer_loss: PeerLoss::default(),
            coordinator: Box::new(ThreadCoordinator),
            counters: Box::new(ServerSampler::new(&inventory, self.session, &self.shared.workers)),
            server_metrics: None,
            hostname: inventory.host.hostname,
            seed: self.terms.seed,
            interval_ns: self.terms.interval_ns.max(INTERVAL_NS_MIN),
            token: None,
            answer_timeout_ns: Nanos(ANSWER_TIMEOUT_NS),
            prepared: std::mem::take(prepared),
            overruns: Overruns::default(),
        };
        let here = Cell { site: Site::Client, ..cell.clone() };
        let until_ns = site.clock.now().0.saturating_add(self.terms.left_ns.0);
        let mut events = EventSender { socket: sender };
        let ran = narrows_run::run_cell_within(&here, until_ns, &mut site, None, &mut events);
        *prepared = site.prepared;
        ran.map_err(|error| refusal_of_run(&error))
    }

    /// The folder for the cell's file, with room for it.
    fn folder(&self, file_bytes: u64) -> Result<ConfinedFolder, Error> {
        let mut stores = self.session.stores();
        let reserved = stores.reserve_cells(file_bytes)?;
        self.shared.check_free_space(reserved.bytes())?;
        let folder = stores.folder(self.shared.root.as_ref())?.cells()?;
        stores.keep_cells(reserved);
        Ok(folder)
    }
}

fn refusal_of_run(error: &RunError) -> Error {
    let reason = match error.kind() {
        RunErrorKind::Target => Refusal::Unsupported,
        RunErrorKind::Stopped => Refusal::Ended,
        RunErrorKind::Client | RunErrorKind::Sink => Refusal::Io,
    };
    refused(reason, error.to_string())
}

/// Sends each event as an answer.
struct EventSender<'a> {
    socket: &'a TcpStream,
}

impl Sink for EventSender<'_> {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        let bytes = Answer::Event(Box::new(event.clone())).encode().map_err(|error| SinkError {
            message: format!("an event could not be sent to the client: {error}"),
            source: Some(Box::new(error)),
        })?;
        self.socket.write_all(&bytes).map_err(|error| SinkError {
            message: format!("the client accepted no more events: {error}"),
            source: Some(Box::new(error)),
        })
    }
}
