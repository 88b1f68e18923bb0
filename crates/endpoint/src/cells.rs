//! Cells that a client asks the server to run on itself, in the session's folder and within the server's limits.

use crate::channel::refused;
use crate::facts::{Sampler, read_inventory};
use crate::random;
use crate::server::Shared;
use crate::session::Session;
use narrows_engines::EngineRegistry;
use narrows_model::{Cell, Event, Nanos, Op, Sink, SinkError, Site, Target, Workload};
use narrows_run::site::ANSWER_TIMEOUT_NS;
use narrows_run::{CellSite, Prepared, RunError, RunErrorKind, StopFlag, ThreadCoordinator};
use narrows_wire::control::Answer;
use narrows_wire::open::{BLOCK_BYTES_MAX, DEPTH_MAX};
use narrows_wire::{Error, Refusal};
use std::fs::File;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

/// Most workers that a client may start on the server.
const WORKERS_MAX: u32 = 256;

/// Most memory that a cell may take.
const MEMORY_BYTES_MAX: u64 = 1 << 30;

/// Memory that a worker takes besides its blocks: histograms of the intervals in flight, and its stack.
const WORKER_BYTES: u64 = 512 << 10;

/// Most repetitions of a cell.
const TRIALS_MAX: u32 = 1000;

/// Longest time of a cell with its repetitions: a day.
const CELL_NS_MAX: u64 = 86_400_000_000_000;

/// Shortest interval of a series: a shorter one would measure its own reporting.
const INTERVAL_NS_MIN: u64 = 10_000_000;

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
        let _memory = self.shared.sessions.reserve_memory(memory_bytes(&cell.workload))?;
        let folder = match &cell.target {
            Target::File { .. } => Some(self.folder(cell.workload.file_bytes.0)?),
            _ => None,
        };
        let inventory = read_inventory(self.shared);
        let mut site = CellSite {
            registry: EngineRegistry::confined(folder),
            clock: Arc::clone(&self.shared.options.clock),
            stop: self.stop.clone(),
            coordinator: Box::new(ThreadCoordinator),
            counters: Box::new(Sampler::new(&inventory, self.session, &self.shared.workers)),
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

    /// The folder for the cell's file, with room for it.
    fn folder(&self, file_bytes: u64) -> Result<File, Error> {
        let mut stores = self.session.stores();
        let reserved = stores.reserve_cells(file_bytes)?;
        self.shared.check_free_space(reserved.bytes())?;
        let folder = stores.folder(self.shared.root.as_ref())?.cells()?;
        stores.keep_cells(reserved);
        Ok(folder)
    }
}

/// Memory that a cell takes: the blocks in flight, and what each worker counts with.
fn memory_bytes(workload: &Workload) -> u64 {
    let blocks = workload.block_bytes.0.saturating_mul(u64::from(workload.queue_depth));
    blocks.saturating_add(WORKER_BYTES).saturating_mul(u64::from(workload.workers))
}

/// Refuses what a server does not run, before anything is made for it.
fn check(cell: &Cell) -> Result<(), Error> {
    let refuse = |message: String| Err(refused(Refusal::Unsupported, message));
    let workload = &cell.workload;
    match &cell.target {
        Target::File { path } if path.as_os_str() == "." && !cell.read_only => {}
        Target::Null { .. } => {}
        other => {
            return refuse(format!("a server runs cells in its own store, `.`, or on null:, not on {other}"));
        }
    }
    let one_client = workload.clients == 1;
    let blocks = (1..=BLOCK_BYTES_MAX).contains(&workload.block_bytes.0)
        && workload.block_bytes <= workload.file_bytes
        && (1..=DEPTH_MAX).contains(&workload.queue_depth)
        && (1..=WORKERS_MAX).contains(&workload.workers)
        && memory_bytes(workload) <= MEMORY_BYTES_MAX;
    if !one_client || !blocks {
        return refuse(format!(
            "a server runs one client of up to {WORKERS_MAX} workers with {MEMORY_BYTES_MAX} bytes of memory \
             together and blocks no larger than their file; {} clients of {} workers of depth {} with blocks of {} \
             bytes in {} were asked for",
            workload.clients,
            workload.workers,
            workload.queue_depth,
            workload.block_bytes.0,
            workload.file_bytes.0
        ));
    }
    let window_ns = cell.stop.warm_up_ns.0.checked_add(cell.stop.measure_ns.0);
    let all_ns = window_ns.and_then(|window| window.checked_mul(u64::from(cell.trials)));
    if !(1..=TRIALS_MAX).contains(&cell.trials) || all_ns.is_none_or(|all| all > CELL_NS_MAX) {
        return refuse(format!(
            "a server repeats a cell up to {TRIALS_MAX} times within a day; {} times {} ns were asked for",
            cell.trials,
            window_ns.unwrap_or(u64::MAX)
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
