//! Cells that a client asks the server to run on itself, in the session's folder and within the server's limits.

use crate::channel::refused;
use crate::facts::{Sampler, read_inventory};
use crate::random;
use crate::server::Shared;
use crate::session::Session;
use narrows_engines::EngineRegistry;
use narrows_model::{Cell, Event, Nanos, Op, Sink, SinkError, Site, Target};
use narrows_run::site::ANSWER_TIMEOUT_NS;
use narrows_run::{CellSite, Prepared, RunError, RunErrorKind, StopFlag, ThreadCoordinator};
use narrows_wire::control::Answer;
use narrows_wire::open::{BLOCK_BYTES_MAX, DEPTH_MAX};
use narrows_wire::{Error, Refusal};
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

/// Most workers that a client may start on the server.
const WORKERS_MAX: u32 = 256;

/// Most memory that a cell's blocks may take.
const BLOCKS_BYTES_MAX: u64 = 1 << 30;

/// Shortest interval of a series: a shorter one would measure its own reporting.
const INTERVAL_NS_MIN: u64 = 10_000_000;

/// Name under which the files of cells are charged to the session.
const CHARGED_AS: &str = "files of cells run on the server";

/// What a cell that runs here needs.
pub(crate) struct CellRun<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) stop: &'a StopFlag,
    pub(crate) interval_ns: u64,
}

impl CellRun<'_> {
    /// Runs the cell and sends its events; `prepared` keeps what was made, for the session's next cells.
    pub(crate) fn run(&self, cell: &Cell, prepared: &mut Prepared, sender: &TcpStream) -> Result<(), Error> {
        check(cell)?;
        let bytes = cell.workload.file_bytes.0.saturating_mul(u64::from(cell.workload.clients.max(1)));
        let folder = match &cell.target {
            Target::File { .. } => {
                self.session.reserve_disk(CHARGED_AS, bytes)?;
                self.shared.check_free_space(bytes)?;
                let folder = self.session.folder(self.shared.root.as_ref())?.folder.try_clone();
                Some(folder.map_err(|error| refused(Refusal::Io, error.to_string()))?)
            }
            _ => None,
        };
        let inventory = read_inventory(self.shared);
        let mut site = CellSite {
            registry: EngineRegistry::confined(folder),
            clock: Arc::clone(&self.shared.options.clock),
            stop: self.stop.clone(),
            coordinator: Box::new(ThreadCoordinator),
            counters: Box::new(Sampler::new(&inventory, self.session)),
            hostname: inventory.host.hostname,
            seed: random::seed()?,
            interval_ns: Nanos(self.interval_ns.max(INTERVAL_NS_MIN)),
            token: None,
            answer_timeout_ns: Nanos(ANSWER_TIMEOUT_NS),
            prepared: std::mem::take(prepared),
        };
        let here = Cell { site: Site::Client, ..cell.clone() };
        let ran = narrows_run::run_cell(&here, &mut site, None, &mut EventSender { socket: sender });
        *prepared = site.prepared;
        ran.map_err(|error| told(&error))
    }
}

fn check(cell: &Cell) -> Result<(), Error> {
    let refuse = |message: String| Err(refused(Refusal::Unsupported, message));
    if !matches!(cell.target, Target::File { .. } | Target::Null { .. }) {
        return refuse(format!("a server runs cells on its own store or on null:, not on {}", cell.target));
    }
    let workload = &cell.workload;
    let blocks = workload.block_bytes.0.saturating_mul(u64::from(workload.queue_depth));
    let blocks = blocks.saturating_mul(u64::from(workload.workers));
    let fits = (1..=BLOCK_BYTES_MAX).contains(&workload.block_bytes.0)
        && (1..=DEPTH_MAX).contains(&workload.queue_depth)
        && (1..=WORKERS_MAX).contains(&workload.workers)
        && blocks <= BLOCKS_BYTES_MAX;
    if !fits {
        return refuse(format!(
            "a server runs up to {WORKERS_MAX} workers with blocks of {BLOCKS_BYTES_MAX} bytes together; {} of depth {} and {} bytes were asked for",
            workload.workers, workload.queue_depth, workload.block_bytes.0
        ));
    }
    if !matches!(workload.op, Op::Read | Op::Write) {
        return refuse(format!("a server reads and writes its store; it does not {}", workload.op));
    }
    Ok(())
}

fn told(error: &RunError) -> Error {
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
            message: format!("the client took no more events: {error}"),
            source: Some(Box::new(error)),
        })
    }
}
