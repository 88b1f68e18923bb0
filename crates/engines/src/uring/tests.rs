//! What only `uring` promises; the rest is in the conformance suite.

use super::*;
use crate::conformance::{self, BLOCK_BYTES, complete, request, spec, worker};
use crate::contract::ProtocolCounters;
use narrows_sys::denied_calls::{DeniedCall, deny_in_this_thread};
use std::fs;
use std::os::unix::fs::FileExt as _;

/// A folder on the build's file system: direct access must be possible there.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
}

fn at(folder: &tempfile::TempDir, op: Op, queue_depth: u32) -> OpenSpec {
    spec(folder.path().to_str().unwrap(), op, queue_depth)
}

fn open(spec: &OpenSpec) -> Result<Box<dyn Engine>, EngineError> {
    UringFactory::unconfined().open(spec, &worker())
}

/// Runs `work` in a thread of which `call` is refused with `errno`.
fn without<T: Send + 'static>(
    call: DeniedCall,
    errno: rustix::io::Errno,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    std::thread::spawn(move || {
        deny_in_this_thread(call, narrows_sys::SysErrno::from_raw(errno.raw_os_error())).unwrap();
        work()
    })
    .join()
    .unwrap()
}

#[test]
fn it_conforms() {
    let folder = folder();
    for access in [Access::Buffered, Access::Direct] {
        for registered in [FeatureRequest::Required, FeatureRequest::Off] {
            for (op, depth) in [(Op::Write, 1), (Op::Read, 8), (Op::Write, 32)] {
                let mut all = at(&folder, op, depth);
                all.workload.access = access;
                all.workload.ring.registered_buffers = registered;
                all.workload.ring.registered_files = registered;
                // Reads find what is written: the suite writes where reads are to find a whole object.
                prepare(&all);
                conformance::run(&UringFactory::unconfined(), &all);
            }
        }
    }
}

fn prepare(all: &OpenSpec) {
    let Target::File { path } = &all.target else { panic!("{}", all.target) };
    let block = BLOCK_BYTES as usize;
    fs::write(path.join(&all.objects[0]), vec![1; 32 * block]).unwrap();
}

#[test]
fn what_was_granted_is_reported() {
    let folder = folder();
    let mut all = at(&folder, Op::Write, 4);
    all.workload.ring.registered_buffers = FeatureRequest::Required;
    all.workload.ring.registered_files = FeatureRequest::Off;
    let facts = open(&all).unwrap().effective().ring.unwrap();
    assert!(facts.registered_buffers && !facts.registered_files && !facts.completion_polling);
}

#[test]
fn a_machine_that_forbids_rings_is_said_to_and_serves_no_engine() {
    let folder = folder();
    let all = at(&folder, Op::Write, 4);
    let (capabilities, opened) = without(DeniedCall::RingSetup, rustix::io::Errno::PERM, move || {
        (UringFactory::unconfined().capabilities(&all.target).unwrap_err(), open(&all).err().unwrap())
    });
    for error in [capabilities, opened] {
        assert_eq!(error.kind, ErrorKind::Unsupported);
        let message = error.to_string();
        assert!(message.contains("io_uring is forbidden here") && message.contains("EPERM"), "{message}");
    }
}

#[test]
fn buffers_that_may_not_be_locked_are_refused_where_required_and_recorded_where_not() {
    let folder = folder();
    let mut all = at(&folder, Op::Write, 4);
    let (granted, refused) = without(DeniedCall::RingBuffers, rustix::io::Errno::NOMEM, move || {
        let granted = open(&all).unwrap().effective().ring.unwrap();
        all.workload.ring.registered_buffers = FeatureRequest::Required;
        (granted, open(&all).err().unwrap().to_string())
    });
    assert!(!granted.registered_buffers && granted.registered_files);
    assert!(refused.contains("RLIMIT_MEMLOCK is") && refused.contains("ulimit -l"), "{refused}");
}

#[test]
fn reading_past_the_end_says_how_little_was_read() {
    let folder = folder();
    let mut engine = open(&at(&folder, Op::Write, 2)).unwrap();
    fs::write(folder.path().join("conformance"), vec![1; 5000]).unwrap();
    let results = complete(engine.as_mut(), &[request(Op::Read, 0, 1), request(Op::Read, 1, 5)]);
    assert_eq!(results, [(0, Ok(904)), (1, Ok(0))]);
}

#[test]
fn what_is_trimmed_reads_as_zeroes() {
    let folder = folder();
    let all = at(&folder, Op::Write, 2);
    let mut engine = open(&all).unwrap();
    prepare(&all);
    assert!(UringFactory::unconfined().capabilities(&all.target).unwrap().ops.contains(&Op::Trim));
    assert_eq!(complete(engine.as_mut(), &[request(Op::Trim, 0, 3)]), [(0, Ok(BLOCK_BYTES))]);
    complete(engine.as_mut(), &[request(Op::Read, 0, 3), request(Op::Read, 1, 4)]);
    assert!(engine.buffer(Slot(0)).iter().all(|byte| *byte == 0));
    assert!(engine.buffer(Slot(1)).iter().all(|byte| *byte == 1));
}

#[test]
fn a_request_that_cannot_be_issued_completes_with_einval() {
    let folder = folder();
    let mut engine = open(&at(&folder, Op::Write, 4)).unwrap();
    let fits = request(Op::Write, 0, 0);
    let wrong = [
        IoRequest { op: Op::Meta, ..fits },
        IoRequest { object: 7, tag: 1, slot: Slot(1), ..fits },
        IoRequest { length_bytes: BLOCK_BYTES + 1, tag: 2, slot: Slot(2), ..fits },
        IoRequest { tag: 3, slot: Slot(99), ..fits },
    ];
    let results = complete(engine.as_mut(), &wrong);
    assert!(results.iter().all(|(_, result)| *result == Err("EINVAL".to_owned())), "{results:?}");
    assert_eq!(results.len(), 4);
    assert_eq!(complete(engine.as_mut(), &[fits]), [(0, Ok(BLOCK_BYTES))]);
}

#[test]
fn two_requests_of_one_slot_take_turns() {
    let folder = folder();
    let mut engine = open(&at(&folder, Op::Write, 4)).unwrap();
    let first = request(Op::Write, 0, 0);
    let second = IoRequest { tag: 1, ..first };
    assert_eq!(engine.queue(&[first, second]).unwrap(), 1);
    engine.commit().unwrap();
    assert_eq!(complete(engine.as_mut(), &[]), []);
    let mut out = Completions::with_capacity(1);
    engine.reap(1, worker().clock.now().after(1_000_000_000), &mut out).unwrap();
    assert_eq!(complete(engine.as_mut(), &[second]), [(1, Ok(BLOCK_BYTES))]);
}

#[test]
fn every_write_is_whole_and_synced_as_often_as_asked() {
    let folder = folder();
    let mut all = at(&folder, Op::Write, 8);
    all.workload.sync = SyncPolicy::Every(4);
    let mut engine = open(&all).unwrap();
    let writes: Vec<_> = (0..8).map(|tag| request(Op::Write, tag, tag.into())).collect();
    assert!(complete(engine.as_mut(), &writes).iter().all(|(_, result)| *result == Ok(BLOCK_BYTES)));
    let mut counters = ProtocolCounters::default();
    engine.counters(&mut counters);
    assert_eq!((counters.request_count, counters.reply_count), (10, 10));
}

#[test]
fn polling_for_completions_is_refused_where_it_cannot_work() {
    let folder = folder();
    let mut all = at(&folder, Op::Write, 2);
    all.workload.ring.completion_polling = true;
    let buffered = open(&all).err().unwrap().to_string();
    assert!(buffered.contains("needs direct access"), "{buffered}");
    all.workload.access = Access::Direct;
    all.workload.sync = SyncPolicy::AtEnd;
    let synced = open(&all).err().unwrap().to_string();
    assert!(synced.contains("only reads and writes"), "{synced}");
}

#[test]
fn polling_for_completions_works_or_is_refused_by_what_cannot_be_polled() {
    let folder = folder();
    let mut all = at(&folder, Op::Write, 2);
    all.workload.access = Access::Direct;
    all.workload.ring.completion_polling = true;
    prepare(&all);
    let object: Target = folder.path().join("conformance").to_str().unwrap().parse().unwrap();
    let polls = UringFactory::unconfined().capabilities(&all.target).unwrap().completion_polling;
    let of_object = UringFactory::unconfined().capabilities(&object).unwrap().completion_polling;
    assert_eq!(polls.is_yes(), of_object.is_yes(), "a folder by a file of its own, a file by itself");
    match open(&all) {
        Ok(mut engine) => {
            assert!(polls.is_yes() && engine.effective().ring.unwrap().completion_polling);
            engine.buffer(Slot(0)).fill(9);
            assert_eq!(complete(engine.as_mut(), &[request(Op::Write, 0, 2)]), [(0, Ok(BLOCK_BYTES))]);
            let mut block = [0; 1];
            fs::File::open(folder.path().join("conformance")).unwrap().read_at(&mut block, 8192).unwrap();
            assert_eq!(block, [9]);
        }
        Err(error) => {
            assert!(error.to_string().contains("polling for completions"), "{error}");
            assert!(!polls.is_yes(), "what an engine is refused is told before there is one");
        }
    }
}

#[test]
fn confined_to_a_folder_no_path_leads_out_of_it() {
    let folder = folder();
    fs::create_dir(folder.path().join("inside")).unwrap();
    fs::write(folder.path().join("secret"), vec![1; BLOCK_BYTES as usize]).unwrap();
    std::os::unix::fs::symlink("../secret", folder.path().join("inside/link")).unwrap();
    let factory = UringFactory::confined(File::open(folder.path().join("inside")).unwrap());
    for path in ["../secret", "link"] {
        let mut escape = spec(&format!("file:{path}"), Op::Read, 1);
        escape.objects = vec![String::new()];
        escape.create = false;
        assert!(factory.open(&escape, &worker()).is_err(), "{path}");
        assert!(factory.capabilities(&escape.target).is_err(), "{path}");
        assert!(factory.remove(&OpenSpec { objects: vec!["x/../../secret".to_owned()], ..escape }).is_err());
    }
    let mut inside = spec("file:.", Op::Write, 4);
    inside.objects = vec!["data".to_owned()];
    let mut engine = factory.open(&inside, &worker()).unwrap();
    assert_eq!(complete(engine.as_mut(), &[request(Op::Write, 0, 0)]), [(0, Ok(BLOCK_BYTES))]);
}

#[test]
fn an_engine_that_is_left_with_requests_in_flight_goes_in_order() {
    let folder = folder();
    let all = at(&folder, Op::Read, 32);
    prepare(&all);
    let mut engine = open(&all).unwrap();
    let reads: Vec<_> = (0..32).map(|tag| request(Op::Read, tag, tag.into())).collect();
    assert_eq!(engine.queue(&reads).unwrap(), 32);
    engine.commit().unwrap();
    engine.close().unwrap();
}
