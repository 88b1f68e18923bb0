//! Which workers have a table of open files of their own.

use super::*;
use narrows_engines::{MonotonicClock, null::NullFactory, psync::PsyncFactory};
use narrows_model::{Cell, CellId, Cut, Nanos, Op, Stop, Target, Workload};

const OBJECT_BYTES: u64 = 1 << 20;

/// A load of a few milliseconds, in a process that is there for it or in the command's.
struct Brief<'a> {
    clock: &'a Arc<dyn Clock>,
    owns_process: bool,
}

impl GroupHooks for Brief<'_> {
    fn ready(&mut self) -> Option<WindowTimes> {
        let start_ns = self.clock.now().0;
        Some(WindowTimes { start_ns, measure_from_ns: start_ns, measure_until_ns: start_ns + 5_000_000 })
    }

    fn interval(&mut self, _sample: &IntervalSample) {}

    fn turned(&mut self) {}

    fn poll(&mut self) -> bool {
        false
    }

    fn moved(&mut self) -> Option<WindowTimes> {
        None
    }

    fn owns_process(&self) -> bool {
        self.owns_process
    }
}

fn assignment(target: Target, workers: u32, own_process: bool) -> Assignment {
    let object_bytes = Bytes(OBJECT_BYTES);
    let workload =
        Workload { op: Op::Write, workers, own_process, file_bytes: object_bytes, ..Workload::default() };
    let stop = Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(5_000_000), bytes_max: None, ops_max: None };
    Assignment {
        cell: Cell { id: CellId("cell".to_owned()), ..Cell::new(Cut::Path, target, workload, stop) },
        trial: 0,
        client_index: 0,
        seed: 1,
        data_seed: 2,
        objects: vec!["data".to_owned()],
        object_bytes,
        interval_ns: Nanos(100_000_000),
        token: None,
        session: None,
        answer_timeout_ns: Nanos(1_000_000_000),
        object_steps: Vec::new(),
    }
}

/// What each worker tells of its table.
fn tables(factory: &dyn EngineFactory, assignment: &Assignment, owns_process: bool) -> Vec<bool> {
    let clock: Arc<dyn Clock> = Arc::new(MonotonicClock::new());
    let mut hooks = Brief { clock: &clock, owns_process };
    let output = run_group(assignment, factory, &clock, &StopFlag::default(), &mut hooks).unwrap();
    output.workers.into_iter().map(|worker| worker.effective.unwrap().has_own_file_table).collect()
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
    let null = Target::Null { copy: false };
    assert_eq!(tables(&NullFactory, &assignment(null, 1, true), true), [false]);
}
