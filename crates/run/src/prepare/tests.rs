//! Preparation on a store whose writes end in memory at once and whose syncs take the device's time.

use super::limit::{FillProgress, PREPARE_NS_MAX};
use super::*;
use narrows_engines::null::NullFactory;
use narrows_engines::{Completions, IoRequest, ProtocolCounters, Slot, Tick, VirtualClock};
use narrows_model::workload::CacheState;
use narrows_model::{Capabilities, Effective};
use std::sync::atomic::{AtomicU32, Ordering};

const MIB: u64 = 1 << 20;

/// Null, with a device behind its memory; a device of no speed is gone.
#[derive(Default)]
struct Buffered {
    clock: Arc<VirtualClock>,
    device_bytes_per_s: u64,
    sync_count: Arc<AtomicU32>,
}

struct BufferedEngine {
    null: Box<dyn Engine>,
    clock: Arc<VirtualClock>,
    device_bytes_per_s: u64,
    sync_count: Arc<AtomicU32>,
    dirty_bytes: u64,
    /// When the last sync is done.
    synced_at: Tick,
}

/// The same for the engine `null`, which replaces others here.
fn with_null_target(spec: &OpenSpec) -> OpenSpec {
    OpenSpec { target: Target::Null { copy: false }, ..spec.clone() }
}

impl EngineFactory for Buffered {
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        NullFactory.capabilities(target)
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        let null = NullFactory.open(&with_null_target(spec), worker)?;
        let (clock, device_bytes_per_s) = (Arc::clone(&self.clock), self.device_bytes_per_s);
        let sync_count = Arc::clone(&self.sync_count);
        Ok(Box::new(BufferedEngine {
            null,
            clock,
            device_bytes_per_s,
            sync_count,
            dirty_bytes: 0,
            synced_at: Tick(0),
        }))
    }

    fn bring_cache_to(&self, spec: &OpenSpec, state: CacheState) -> Result<Option<f64>, EngineError> {
        NullFactory.bring_cache_to(spec, state)
    }

    fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
        NullFactory.remove(spec)
    }
}

impl Engine for BufferedEngine {
    fn effective(&self) -> &Effective {
        self.null.effective()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.null.buffer(slot)
    }

    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError> {
        for request in requests {
            self.dirty_bytes += u64::from(request.length_bytes);
            if request.op == Op::Sync && self.device_bytes_per_s == 0 {
                return Err(EngineError::new(ErrorKind::Io, "sync", "a device that is gone".to_owned()));
            }
            if request.op == Op::Sync {
                self.sync_count.fetch_add(1, Ordering::Relaxed);
                let drained_ns = self.dirty_bytes * 1_000_000_000 / self.device_bytes_per_s;
                self.synced_at = self.clock.now().after(drained_ns);
                self.dirty_bytes = 0;
            }
        }
        self.null.queue(requests)
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        self.null.commit()
    }

    fn reap(&mut self, min: u32, until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        self.clock.wait_until(self.synced_at.min(until));
        if self.clock.now() < self.synced_at { Ok(()) } else { self.null.reap(min, until, out) }
    }

    fn counters(&mut self, out: &mut ProtocolCounters) {
        self.null.counters(out);
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        assert_eq!(self.dirty_bytes, 0, "what was prepared has reached the device");
        self.null.close()
    }
}

fn spec(workload: Workload, object_bytes: Bytes) -> OpenSpec {
    OpenSpec {
        target: Target::Null { copy: false },
        workload,
        objects: vec!["data-0".to_owned()],
        object_bytes,
        create: true,
        laid_down: false,
        token: None,
        session: None,
        answer_timeout_ns: 1_000_000_000,
    }
}

/// A store with memory in front of a device of this speed, and its clock.
fn buffered(device_bytes_per_s: u64) -> (Arc<VirtualClock>, Buffered) {
    let clock = Arc::new(VirtualClock::default());
    let factory = Buffered { clock: Arc::clone(&clock), device_bytes_per_s, ..Buffered::default() };
    (clock, factory)
}

/// Bytes made of an object of 1 GiB, and the nanoseconds it took.
fn filled(device_bytes_per_s: u64, needed: u64) -> (u64, u64) {
    let (made, took_ns) = filled_by(u64::MAX, device_bytes_per_s, needed);
    (made.unwrap().0, took_ns)
}

/// The same, for a load that has to start by `start_by_ns`.
fn filled_by(start_by_ns: u64, device_bytes_per_s: u64, needed: u64) -> (Result<Bytes, RunError>, u64) {
    let (clock, factory) = buffered(device_bytes_per_s);
    let workload = Workload {
        op: Op::Write,
        block_bytes: Bytes(MIB),
        file_bytes: Bytes(1 << 30),
        queue_depth: QUEUE_DEPTH,
        ..Workload::default()
    };
    let spec = spec(workload, Bytes(1 << 30));
    let (shared, stop) = (Arc::clone(&clock) as Arc<dyn Clock>, StopFlag::default());
    let limit = PrepareLimit::starting(0, start_by_ns);
    let context = PrepareContext { factory: &factory, clock: &shared, stop: &stop, limit };
    let made = fill(&spec, None, Bytes(needed), &context);
    (made.map_err(|failure| failure.error), clock.now().0)
}

#[test]
fn a_slow_device_behind_memory_ends_preparation_in_its_time() {
    let (bytes, took_ns) = filled(20_000_000, 4 * MIB);
    assert!(took_ns <= PREPARE_NS_MAX + 500_000_000, "{took_ns} ns");
    assert!((40 * MIB..60 * MIB).contains(&bytes), "{bytes}");
}

#[test]
fn what_a_cell_needs_is_made_however_slow_the_device() {
    let (bytes, _) = filled(1_000_000, 32 * MIB);
    assert!((32 * MIB..48 * MIB).contains(&bytes), "{bytes}");
}

#[test]
fn a_path_of_a_megabyte_a_second_is_not_given_more_than_a_cell_needs() {
    let (bytes, took_ns) = filled(1_000_000, 4 * MIB);
    assert_eq!(bytes, 4 * MIB);
    assert!(took_ns < 5_000_000_000, "{took_ns}");
    let bulk = Workload {
        block_bytes: Bytes(MIB),
        queue_depth: 16,
        file_bytes: Bytes(1 << 30),
        ..Workload::default()
    };
    assert_eq!(least_bytes(&bulk), Bytes(16 * MIB));
}

#[test]
fn preparation_ends_with_the_time_that_the_load_would_start_at() {
    // 15 MB/s and 32 MiB: 2.2 s for what is needed, of which two are left. That shows only at the end.
    let (made, took_ns) = filled_by(2_000_000_000, 15_000_000, 32 * MIB);
    let Err(RunError::PreparesTooSlowly { takes_ns }) = made else { unreachable!("{made:?}") };
    assert!((2_000_000_000..2_500_000_000).contains(&takes_ns.0), "{takes_ns:?}");
    assert!((1_000_000_000..2_500_000_000).contains(&took_ns), "{took_ns}");
    assert!(filled_by(2_000_000_000, 1_000_000_000, 32 * MIB).0.is_ok());
}

#[test]
fn preparation_that_will_not_end_in_time_is_given_up_early() {
    // 1 MB/s and 32 MiB: half a minute for what is needed, of which eight seconds are left.
    let (made, took_ns) = filled_by(8_000_000_000, 1_000_000, 32 * MIB);
    let Err(RunError::PreparesTooSlowly { takes_ns }) = made else { unreachable!("{made:?}") };
    assert!((20_000_000_000..35_000_000_000).contains(&takes_ns.0), "{takes_ns:?}");
    // A quarter of the time, and the step that was on its way.
    assert!((2_000_000_000..3_500_000_000).contains(&took_ns), "{took_ns}");
    // A step takes 10 s, longer than there is time: that one is not waited for either.
    let (made, took_ns) = filled_by(8_000_000_000, 100_000, 32 * MIB);
    assert!(made.is_err_and(|error| error.is_late()));
    assert!((2_000_000_000..3_500_000_000).contains(&took_ns), "{took_ns}");
    // 5 MiB are left after two of eight seconds.
    let check = |now_ms: u64, mib_per_s: f64| {
        let progress = FillProgress { began_ns: 0, rest_bytes: 5 * MIB, bytes_per_s: mib_per_s * MIB as f64 };
        PrepareLimit::starting(0, 8_000_000_000).check_rate(now_ms * 1_000_000, progress)
    };
    // An object that was begun after four of eight seconds has a quarter of the others.
    let late = |now_ns| {
        let progress = FillProgress { began_ns: 4_000_000_000, rest_bytes: MIB, bytes_per_s: 1.0 };
        PrepareLimit::starting(0, 8_000_000_000).check_rate(now_ns, progress)
    };
    assert!(late(4_999_000_000).is_ok() && late(5_000_000_000).is_err());
    assert!(check(1_999, 0.01).is_ok(), "too early to say");
    assert!(check(2_000, 0.67).is_ok(), "5 MiB at 0.67 MiB/s take 7.46 s; 6 s are left, and 7.5 s allowed");
    let Err(RunError::PreparesTooSlowly { takes_ns }) = check(2_000, 0.66) else { unreachable!() };
    assert!((9_570_000_000..9_580_000_000).contains(&takes_ns.0), "{takes_ns:?}");
    assert!(check(6_000, 2.01).is_ok());
    assert!(check(6_000, 1.99).is_err());
}

#[test]
fn what_a_preparation_wrote_before_it_was_given_up_serves_a_smaller_load() {
    let (clock, factory) = buffered(1_000_000);
    let (shared, stop) = (Arc::clone(&clock) as Arc<dyn Clock>, StopFlag::default());
    let limit = PrepareLimit::starting(0, 8_000_000_000);
    let context = PrepareContext { factory: &factory, clock: &shared, stop: &stop, limit };
    let mut prepared = PreparedObjects::default();
    let mut large = assignment(1 << 30);
    large.cell.workload = Workload { block_bytes: Bytes(MIB), queue_depth: 16, ..large.cell.workload };
    assert!(prepared.ensure(&large, &context).is_err_and(|error| error.is_late()));
    let given_up_ns = clock.now().0;
    let bytes = prepared.ensure(&assignment(1 << 30), &context).unwrap();
    assert!((MIB..4 * MIB).contains(&bytes.0), "{bytes}");
    assert_eq!(clock.now().0, given_up_ns, "nothing is written again");
}

#[test]
fn a_short_run_has_time_left_for_its_load() {
    // 20 MB/s, and three seconds until the load has to start: half of them, and what a step takes.
    let (made, took_ns) = filled_by(3_000_000_000, 20_000_000, 4 * MIB);
    assert!((1_500_000_000..2_000_000_000).contains(&took_ns), "{took_ns} ns");
    assert!((20 * MIB..40 * MIB).contains(&made.unwrap().0));
}

#[test]
fn files_that_are_made_one_after_the_other_share_that_time() {
    let limit = PrepareLimit::starting(0, 8_000_000_000);
    assert_eq!(limit.fill_ns(0), PREPARE_NS_MAX);
    assert_eq!(limit.first_of(2).fill_ns(0), 2_000_000_000);
    assert_eq!(limit.first_of(2).first_of(4).fill_ns(0), 500_000_000);
    assert_eq!(limit.first_of(2).fill_ns(9_000_000_000), 0);
    // Half of four seconds for four files of 1 GiB at 100 MB/s, for which each has about a quarter of that.
    let (clock, factory) = buffered(100_000_000);
    let (clock, stop): (Arc<dyn Clock>, _) = (clock, StopFlag::default());
    let limit = PrepareLimit::starting(0, 4_000_000_000);
    let context = PrepareContext { factory: &factory, clock: &clock, stop: &stop, limit };
    let mut load = assignment(1 << 30);
    load.objects = (0..4).map(object_name).collect();
    let smallest = PreparedObjects::default().ensure(&load, &context).unwrap();
    assert!((30 * MIB..80 * MIB).contains(&smallest.0), "{smallest}");
    let took_ns = clock.now().0;
    assert!((2_000_000_000..3_000_000_000).contains(&took_ns), "{took_ns} ns");
}

#[test]
fn a_larger_file_for_which_time_is_short_keeps_what_was_made_before() {
    let (clock, factory) = buffered(100_000_000);
    let (shared, stop) = (Arc::clone(&clock) as Arc<dyn Clock>, StopFlag::default());
    let context = |start_by_ns| PrepareContext {
        factory: &factory,
        clock: &shared,
        stop: &stop,
        limit: PrepareLimit::starting(clock.now().0, start_by_ns),
    };
    let mut prepared = PreparedObjects::default();
    assert_eq!(prepared.ensure(&assignment(100 * MIB), &context(u64::MAX)).unwrap(), Bytes(100 * MIB));
    let began_ns = clock.now().0;
    let larger = assignment(200 * MIB);
    assert_eq!(prepared.ensure(&larger, &context(began_ns + 200_000_000)).unwrap(), Bytes(100 * MIB));
    let took_ns = clock.now().0 - began_ns;
    assert!((100_000_000..300_000_000).contains(&took_ns), "{took_ns} ns");
    // It is as large as it gets.
    let began_ns = clock.now().0;
    assert_eq!(prepared.ensure(&larger, &context(began_ns + 200_000_000)).unwrap(), Bytes(100 * MIB));
    assert_eq!(clock.now().0, began_ns);
}

#[test]
fn a_file_that_must_be_whole_is_written_in_large_steps_however_little_time_is_left() {
    let count_syncs = |start_by_ns| {
        let (clock, factory) = buffered(1_000_000_000);
        let (clock, stop): (Arc<dyn Clock>, _) = (clock, StopFlag::default());
        let limit = PrepareLimit::starting(0, start_by_ns);
        let context = PrepareContext { factory: &factory, clock: &clock, stop: &stop, limit };
        let mut load = assignment(64 * MIB);
        load.cell.workload.prefill = Prefill::Whole;
        assert_eq!(PreparedObjects::default().ensure(&load, &context).unwrap(), Bytes(64 * MIB));
        factory.sync_count.load(Ordering::Relaxed)
    };
    assert_eq!(count_syncs(100_000_000), count_syncs(u64::MAX));
}

#[test]
fn a_load_that_is_late_before_its_preparation_is_put_on_nevertheless() {
    assert!(PrepareLimit::starting(11, 10).check(1_000_000).is_ok());
    assert!(PrepareLimit::starting(10, 10).check(10).is_ok());
    assert!(PrepareLimit::starting(10, 10).check(11).is_err());
}

#[test]
fn a_fast_device_gets_the_whole_object() {
    let (bytes, took_ns) = filled(1_000_000_000, 4 * MIB);
    assert_eq!(bytes, 1 << 30);
    assert!(took_ns < PREPARE_NS_MAX, "{took_ns} ns");
}

/// An object of `made_bytes`, where `asked_bytes` were asked for.
fn made(made_bytes: u64, asked_bytes: u64) -> PreparedObject {
    PreparedObject {
        bytes: Bytes(made_bytes),
        spec: spec(Workload::default(), Bytes(asked_bytes)),
        is_kept: false,
    }
}

#[test]
fn an_object_serves_smaller_files_and_is_made_anew_for_larger_ones() {
    let file = |bytes| Workload { file_bytes: Bytes(bytes), ..Workload::default() };
    assert!(made(16 * MIB, 16 * MIB).serves(&file(4 * MIB)));
    assert!(made(16 * MIB, 16 * MIB).serves(&file(16 * MIB)));
    assert!(!made(16 * MIB, 16 * MIB).serves(&file(64 * MIB)));
    // Of an object with a part of a block at its end the whole blocks are made.
    assert!(!made(16 * MIB, 16 * MIB + 4096).serves(&file(64 * MIB)));
}

/// Null in the place of a file; knows how often it was opened.
#[derive(Default)]
struct Counting {
    opened: std::sync::Mutex<u32>,
}

impl EngineFactory for Counting {
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        NullFactory.capabilities(target)
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        *self.opened.lock().unwrap() += 1;
        NullFactory.open(&with_null_target(spec), worker)
    }

    fn bring_cache_to(&self, spec: &OpenSpec, state: CacheState) -> Result<Option<f64>, EngineError> {
        NullFactory.bring_cache_to(spec, state)
    }

    fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
        NullFactory.remove(spec)
    }
}

/// A load's part on a file of `file_bytes`.
fn assignment(file_bytes: u64) -> Assignment {
    let workload = Workload { file_bytes: Bytes(file_bytes), ..Workload::default() };
    let cell = Cell {
        id: narrows_model::CellId("cell".to_owned()),
        ..Cell::new(
            narrows_model::Cut::Path,
            "/folder".parse().unwrap(),
            workload,
            narrows_model::Stop {
                warm_up_ns: Nanos(0),
                measure_ns: Nanos(1),
                bytes_max: None,
                ops_max: None,
            },
        )
    };
    Assignment::plain(cell, 0)
}

#[test]
fn an_object_of_no_whole_number_of_blocks_is_written_once_for_all_loads_of_its_size() {
    let factory = Counting::default();
    let clock = Arc::new(VirtualClock::default()) as Arc<dyn Clock>;
    let stop = StopFlag::default();
    let limit = PrepareLimit::starting(0, u64::MAX);
    let context = PrepareContext { factory: &factory, clock: &clock, stop: &stop, limit };
    let mut prepared = PreparedObjects::default();
    for _load in 0..3 {
        let made = prepared.ensure(&assignment(16 * MIB + 256 * 1024), &context).unwrap();
        assert_eq!(made, Bytes(16 * MIB));
    }
    assert_eq!(*factory.opened.lock().unwrap(), 1);
    // A larger one is made anew.
    assert_eq!(prepared.ensure(&assignment(17 * MIB), &context).unwrap(), Bytes(17 * MIB));
    assert_eq!(*factory.opened.lock().unwrap(), 2);
}

#[test]
fn an_object_that_time_did_not_suffice_for_is_not_tried_again() {
    let file = |bytes| Workload { file_bytes: Bytes(bytes), ..Workload::default() };
    assert!(made(16 * MIB, 64 * MIB).serves(&file(64 * MIB)));
    let deep = Workload { block_bytes: Bytes(MIB), queue_depth: 32, ..file(64 * MIB) };
    assert!(!made(16 * MIB, 64 * MIB).serves(&deep));
}

/// A store that has gone away.
struct Gone {
    asked: std::sync::Mutex<Vec<(String, u64)>>,
}

impl EngineFactory for Gone {
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        NullFactory.capabilities(target)
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        NullFactory.open(spec, worker)
    }

    fn bring_cache_to(&self, spec: &OpenSpec, state: CacheState) -> Result<Option<f64>, EngineError> {
        NullFactory.bring_cache_to(spec, state)
    }

    fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
        self.asked.lock().unwrap().push((spec.objects[0].clone(), spec.answer_timeout_ns));
        Err(EngineError::new(ErrorKind::PeerGone, "remove", spec.target.to_string()))
    }
}

#[test]
fn a_store_that_is_silent_is_waited_for_once_and_no_longer_than_asked() {
    let target: Target = "tcp://127.0.0.1:1/memory".parse().unwrap();
    let spec = |object: &str| OpenSpec {
        target: target.clone(),
        workload: Workload::default(),
        objects: vec![object.to_owned()],
        object_bytes: Bytes(MIB),
        create: true,
        laid_down: false,
        token: None,
        session: None,
        answer_timeout_ns: 30_000,
    };
    let mut prepared = PreparedObjects::default();
    for object in ["data-0", "data-1", "data-2"] {
        let made = PreparedObject { bytes: Bytes(MIB), spec: spec(object), is_kept: false };
        prepared.objects.insert((target.to_string(), object.to_owned()), made);
    }
    let gone = Arc::new(Gone { asked: std::sync::Mutex::default() });
    let errors = prepared.remove_all(1_000, |_| Ok(Arc::clone(&gone) as Arc<dyn EngineFactory>));
    assert_eq!(errors.len(), 1);
    assert_eq!(*gone.asked.lock().unwrap(), [("data-0".to_owned(), 1_000)]);
    assert!(prepared.objects.is_empty());
}

/// What a sync behind a trial says of its one object, on a device of this speed.
fn synced_after(workload: Workload, device_bytes_per_s: u64) -> (u32, Vec<narrows_model::fault::ErrorCount>) {
    let mut assignment = assignment(MIB);
    assignment.cell.workload = Workload { file_bytes: Bytes(MIB), ..workload };
    let (clock, factory) = buffered(device_bytes_per_s);
    let (clock, stop): (Arc<dyn Clock>, _) = (clock, StopFlag::default());
    let limit = PrepareLimit::starting(0, u64::MAX);
    let context = PrepareContext { factory: &factory, clock: &clock, stop: &stop, limit };
    let spec = filling_spec(&assignment, "data-0");
    let mut prepared = PreparedObjects::default();
    let key = key_of(assignment.target(), "data-0");
    prepared.objects.insert(key, PreparedObject { bytes: Bytes(MIB), spec, is_kept: false });
    let failed = prepared.sync_after(&assignment, &context).unwrap();
    (factory.sync_count.load(Ordering::Relaxed), failed)
}

#[test]
fn a_trial_that_wrote_is_synced_where_that_is_asked_for_and_one_that_did_not_is_not() {
    let load = |op, sync| Workload { op, sync, ..Workload::default() };
    let count = |op, sync| synced_after(load(op, sync), 1_000_000_000);
    assert_eq!(count(Op::Write, SyncPolicy::AfterEnd), (1, Vec::new()));
    assert_eq!(count(Op::Write, SyncPolicy::AtEnd).0, 0);
    assert_eq!(count(Op::Read, SyncPolicy::AfterEnd).0, 0);
    let half = |op| narrows_model::workload::OpShare { op, weight: 1.0 };
    let mixed =
        Workload { op_mix: vec![half(Op::Read), half(Op::Write)], ..load(Op::Read, SyncPolicy::AfterEnd) };
    assert_eq!(synced_after(mixed, 1_000_000_000).0, 1);
}

#[test]
fn a_sync_behind_a_trial_that_fails_is_reported_as_lost_data() {
    let load = Workload { op: Op::Write, sync: SyncPolicy::AfterEnd, ..Workload::default() };
    let (_, failed) = synced_after(load, 0);
    assert_eq!((failed.len(), failed[0].op, failed[0].count), (1, Op::Sync, 1));
    assert!(failed[0].first_message.contains("a device that is gone"), "{failed:?}");
}
