//! A server on loopback, and engines that work against it.

use narrows_endpoint::{ServeError, ServeOptions, Server};
use narrows_engines::endpoint::{ControlClient, EndpointFactory, RemoteCellParams};
use narrows_engines::{
    Clock, Completions, Engine, EngineError, EngineFactory, IoRequest, MonotonicClock, OpenSpec, Slot, Tick,
    WorkerContext,
};
use narrows_model::{Bytes, Cell, CellId, Cut, Layer, Nanos, Op, Site, Stop, Target, Workload};
use narrows_run::{StopFlag, StopRequest};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

pub(crate) mod proxied;
pub(crate) mod raw;

/// Long enough for a loaded machine; no test waits for it when all is well.
pub(crate) const TIMEOUT_NS: u64 = 20_000_000_000;

/// What cells at the server are run with.
pub(crate) const TERMS: RemoteCellParams =
    RemoteCellParams { interval_ns: Nanos(20_000_000), seed: 1, left_ns: Nanos(u64::MAX) };

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(MonotonicClock::new())
}

/// A clock that a test moves.
#[derive(Default)]
pub(crate) struct HandClock(AtomicU64);

impl Clock for HandClock {
    fn now(&self) -> Tick {
        Tick(self.0.load(Ordering::SeqCst))
    }

    fn wait_until(&self, deadline: Tick) {
        self.0.fetch_max(deadline.0, Ordering::SeqCst);
    }
}

/// Attempts at what other threads bring about: tens of seconds where an attempt is a system call or two.
const ATTEMPTS: u32 = 2_000_000;

/// Tries until `is_so`; what never becomes so fails the test instead of hanging it.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..ATTEMPTS {
        if is_so() {
            return;
        }
        std::thread::yield_now();
    }
    unreachable!("after {ATTEMPTS} attempts it is still not so that {what}");
}

/// A short cell for the server itself.
pub(crate) fn server_cell(target: Target) -> Cell {
    let workload = Workload { file_bytes: Bytes(1 << 20), ..workload(Op::Write, 65_536, 1) };
    Cell {
        id: CellId("server-storage/write/64KiB/qd1/c1".into()),
        site: Site::Server,
        trials: 2,
        ..Cell::new(
            Cut::ServerStorage,
            target,
            workload,
            Stop {
                warm_up_ns: Nanos(0),
                measure_ns: Nanos::from_millis(50),
                bytes_max: None,
                ops_max: Some(200),
            },
        )
    }
}

pub(crate) fn options() -> ServeOptions {
    ServeOptions::new(SocketAddr::from(([127, 0, 0, 1], 0)), clock())
}

/// A server in a thread of its own.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: StopFlag,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Running {
    pub(crate) fn start(options: ServeOptions) -> Self {
        let server = Server::bind(options).unwrap();
        let (address, stop) = (server.local_address(), StopFlag::default());
        let flag = stop.clone();
        let thread = Some(std::thread::spawn(move || server.run(&flag)));
        Self { address, stop, thread }
    }

    pub(crate) fn with_root(root: &Path) -> Self {
        Self::start(ServeOptions { root: Some(root.to_owned()), ..options() })
    }

    pub(crate) fn stop(mut self) -> Result<(), ServeError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), ServeError> {
        self.stop.ask(StopRequest::Now);
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap())
    }

    pub(crate) fn spec(&self, layer: Layer, workload: Workload) -> OpenSpec {
        spec(self.address, layer, workload)
    }

    pub(crate) fn control(&self) -> ControlClient {
        control(self.address, None).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

pub(crate) fn control(address: SocketAddr, token: Option<&[u8]>) -> Result<ControlClient, EngineError> {
    ControlClient::connect(&address.ip().to_string(), address.port(), token, clock(), TIMEOUT_NS)
}

pub(crate) fn spec(address: SocketAddr, layer: Layer, workload: Workload) -> OpenSpec {
    OpenSpec {
        target: Target::Tcp { host: address.ip().to_string(), port: address.port(), layer, via: None },
        objects: vec!["data-0".to_owned()],
        object_bytes: workload.file_bytes,
        workload,
        create: true,
        laid_down: false,
        token: None,
        session: None,
        answer_timeout_ns: TIMEOUT_NS,
    }
}

pub(crate) fn workload(op: Op, block_bytes: u64, queue_depth: u32) -> Workload {
    Workload {
        op,
        block_bytes: Bytes(block_bytes),
        queue_depth,
        file_bytes: Bytes(8 << 20),
        ..Workload::default()
    }
}

pub(crate) fn open(spec: &OpenSpec) -> Result<Box<dyn Engine>, EngineError> {
    let worker = WorkerContext {
        client_index: 0,
        worker_index: 0,
        seed: 7,
        clock: clock(),
        stop: StopFlag::default(),
    };
    EndpointFactory.open(spec, &worker)
}

/// Issues one request and waits for its completion.
pub(crate) fn one(
    engine: &mut dyn Engine,
    op: Op,
    offset_bytes: u64,
    length_bytes: u32,
) -> Result<u32, String> {
    let request = IoRequest { tag: 1, op, object: 0, offset_bytes, length_bytes, slot: Slot(0) };
    let mut done = Completions::with_capacity(1);
    engine.queue(&[request]).map_err(|error| error.to_string())?;
    engine.commit().map_err(|error| error.to_string())?;
    engine.reap(1, Tick(u64::MAX), &mut done).map_err(|error| error.to_string())?;
    done.as_slice()[0].result.map_err(narrows_engines::request::Errno::name)
}

/// Byte `index` of the content that the tests write at `offset`.
pub(crate) fn pattern(offset: u64, index: usize) -> u8 {
    let at = offset + index as u64;
    u8::try_from((at ^ (at >> 8) ^ (at >> 17)) & 0xff).unwrap()
}

/// Moves `count` blocks of `block` bytes at full depth, filling writes with the pattern and checking reads against it.
pub(crate) fn pass(engine: &mut dyn Engine, op: Op, block: u32, count: u64) {
    let depth = engine.effective().queue_depth;
    let mut free: Vec<u32> = (0..depth).collect();
    let mut place = vec![0; depth as usize];
    let (mut next, mut finished) = (0, 0);
    let mut done = Completions::with_capacity(depth as usize);
    while finished < count {
        let mut batch = Vec::new();
        while next < count {
            let Some(slot) = free.pop() else { break };
            let offset_bytes = next * u64::from(block);
            place[slot as usize] = offset_bytes;
            if op == Op::Write {
                let bytes = engine.buffer(Slot(slot));
                bytes.iter_mut().enumerate().for_each(|(index, byte)| *byte = pattern(offset_bytes, index));
            }
            batch.push(IoRequest {
                tag: slot,
                op,
                object: 0,
                offset_bytes,
                length_bytes: block,
                slot: Slot(slot),
            });
            next += 1;
        }
        assert_eq!(engine.queue(&batch).unwrap(), batch.len());
        engine.commit().unwrap();
        engine.reap(1, Tick(u64::MAX), &mut done).unwrap();
        for completion in done.as_slice() {
            assert_eq!(completion.result, Ok(block));
            if op == Op::Read {
                let offset = place[completion.tag as usize];
                let bytes = engine.buffer(Slot(completion.tag));
                let wrong = bytes.iter().enumerate().find(|(index, byte)| **byte != pattern(offset, *index));
                assert_eq!(wrong, None, "block at {offset}");
            }
            free.push(completion.tag);
            finished += 1;
        }
        done.clear();
    }
}

/// Names in a folder.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}
