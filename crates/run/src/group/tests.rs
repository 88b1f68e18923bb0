//! Which workers are a process's first thread, and have a table of open files of their own.

use super::*;
use narrows_engines::{
    Engine, MonotonicClock, OpenSpec, WorkerContext, null::NullFactory, psync::PsyncFactory,
};
use narrows_model::Bytes;
use narrows_model::capabilities::Capabilities;
use narrows_model::workload::CacheState;
use narrows_model::{Cell, CellId, Cut, Nanos, Op, Stop, Target, Workload};
use std::sync::Mutex;
use std::thread::ThreadId;

const OBJECT_BYTES: u64 = 1 << 20;
/// Long enough that each thread gets a CPU for some of it on a busy machine.
const WINDOW_NS: u64 = 100_000_000;

/// A load of one window.
struct Brief<'a> {
    clock: &'a Arc<dyn Clock>,
}

impl GroupHooks for Brief<'_> {
    fn ready(&mut self) -> Option<WindowTimes> {
        let start_ns = self.clock.now().0;
        Some(WindowTimes { start_ns, measure_from_ns: start_ns, measure_until_ns: start_ns + WINDOW_NS })
    }

    fn interval(&mut self, _sample: &IntervalSample) {}

    fn turned(&mut self) {}
    fn load_ended(&mut self, _: u64) {}

    fn poll(&mut self) -> bool {
        false
    }

    fn moved(&mut self) -> Option<WindowTimes> {
        None
    }
}

fn assignment(target: Target, workers: u32, own_process: bool) -> Assignment {
    let object_bytes = Bytes(OBJECT_BYTES);
    let workload =
        Workload { op: Op::Write, workers, own_process, file_bytes: object_bytes, ..Workload::default() };
    let stop = Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(WINDOW_NS), bytes_max: None, ops_max: None };
    let cell = Cell { id: CellId("cell".to_owned()), ..Cell::new(Cut::Path, target, workload, stop) };
    Assignment {
        objects: vec!["data".to_owned()],
        interval_ns: Nanos(100_000_000),
        answer_timeout_ns: Nanos(1_000_000_000),
        ..Assignment::plain(cell, 0)
    }
}

/// Runs the load in a process that is there for it alone, or in the command's.
fn run(
    factory: &dyn EngineFactory,
    assignment: &Assignment,
    owns_process: bool,
) -> Result<ClientOutput, RunError> {
    let clock: Arc<dyn Clock> = Arc::new(MonotonicClock::new());
    let (stop, mut hooks) = (StopFlag::default(), Brief { clock: &clock });
    if owns_process {
        run_process(assignment, factory, &clock, &stop, &mut hooks)
    } else {
        run_group(assignment, factory, &clock, &stop, &mut hooks)
    }
}

/// What each worker reports about its table.
fn tables(factory: &dyn EngineFactory, assignment: &Assignment, owns_process: bool) -> Vec<bool> {
    let output = run(factory, assignment, owns_process).unwrap();
    output.workers.into_iter().map(|worker| worker.effective.unwrap().has_own_file_table).collect()
}

/// Notes in which threads engines are opened; `fails` with an error, or by a panic.
#[derive(Default)]
struct Noting {
    threads: Mutex<Vec<ThreadId>>,
    fails: Option<Failing>,
}

#[derive(Clone, Copy)]
enum Failing {
    Refuses,
    Panics,
}

impl EngineFactory for Noting {
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        NullFactory.capabilities(target)
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        self.threads.lock().unwrap().push(std::thread::current().id());
        match self.fails {
            None => NullFactory.open(spec, worker),
            Some(Failing::Refuses) => Err(EngineError::new(ErrorKind::Io, "open", "what is refused")),
            Some(Failing::Panics) => panic!("as an engine that breaks its contract would"),
        }
    }

    fn bring_cache_to(&self, spec: &OpenSpec, state: CacheState) -> Result<Option<f64>, EngineError> {
        NullFactory.bring_cache_to(spec, state)
    }

    fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
        NullFactory.remove(spec)
    }
}

fn null(workers: u32, own_process: bool) -> Assignment {
    assignment(Target::Null { copy: false }, workers, own_process)
}

#[test]
fn the_worker_that_is_alone_in_a_process_of_its_load_alone_is_its_first_thread() {
    let here = std::thread::current().id();
    let in_first_thread = |assignment: &Assignment, owns_process| {
        let factory = Noting::default();
        let output = run(&factory, assignment, owns_process).unwrap();
        assert!(output.workers.iter().all(|worker| worker.op_count > 0));
        let threads = factory.threads.into_inner().unwrap();
        threads.into_iter().map(|thread| thread == here).collect::<Vec<_>>()
    };
    assert_eq!(in_first_thread(&null(1, true), true), [true]);
    assert_eq!(in_first_thread(&null(1, true), false), [false]);
    assert_eq!(in_first_thread(&null(1, false), true), [false]);
    assert_eq!(in_first_thread(&null(2, true), true), [false, false]);
}

#[test]
fn an_engine_that_cannot_be_opened_ends_its_process_s_load_with_the_reason() {
    for owns_process in [true, false] {
        let outcome = |fails| {
            let factory = Noting { fails: Some(fails), ..Noting::default() };
            run(&factory, &null(1, true), owns_process).unwrap_err().to_string()
        };
        assert!(outcome(Failing::Refuses).contains("what is refused"));
        assert!(outcome(Failing::Panics).contains("ended while it opened"));
    }
}

#[test]
fn the_worker_that_is_alone_in_a_process_of_its_load_alone_shares_its_open_files_with_nobody() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    std::fs::File::create(folder.path().join("data")).unwrap().set_len(OBJECT_BYTES).unwrap();
    let files = PsyncFactory::unconfined();
    let at = |workers, own_process| {
        assignment(folder.path().display().to_string().parse().unwrap(), workers, own_process)
    };
    assert_eq!(tables(&files, &at(1, true), true), [true]);
    // The command's own process, a client among several, a worker among several.
    assert_eq!(tables(&files, &at(1, true), false), [false]);
    assert_eq!(tables(&files, &at(1, false), true), [false]);
    assert_eq!(tables(&files, &at(2, true), true), [false, false]);
    // An engine without files.
    assert_eq!(tables(&NullFactory, &null(1, true), true), [false]);
}
