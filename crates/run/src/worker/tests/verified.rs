//! Verified loads on real files: what is checked, and that each kind of damage done to the file is found and named.

use super::*;
use crate::prepare::{PrepareContext, PrepareLimit, PreparedObjects};
use narrows_engines::MonotonicClock;
use narrows_model::verification::{DATA_MISMATCH, Mismatch, MismatchKind, Verification};
use narrows_model::workload::{Access, BlockShare, OpShare, Order};
use narrows_model::{EngineId, Op};
use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const FILE_BYTES: u64 = 1 << 20;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
}

/// A verified load of `ops` requests on a file in `folder`, which is made.
fn prepared(folder: &Path, ops: u64, change: impl Fn(&mut Workload)) -> Assignment {
    let profile = tempfile::tempdir().unwrap();
    let mut assignment = assignment(&device(1, Vec::new()), &profile, 1);
    assignment.cell.target = folder.to_str().unwrap().parse().unwrap();
    assignment.cell.read_only = false;
    assignment.cell.stop.ops_max = Some(ops);
    assignment.objects = vec!["data-0".to_owned()];
    let workload = &mut assignment.cell.workload;
    (workload.verify, workload.file_bytes) = (true, Bytes(FILE_BYTES));
    (workload.order, workload.op_mix) = (Order::RandomWithReplacement, mix());
    change(workload);
    assert_eq!(crate::verify::problem(&assignment.cell), None);
    let factory = EngineRegistry::for_user().factory(assignment.target(), None).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(MonotonicClock::new());
    let limit = PrepareLimit::starting(0, u64::MAX);
    let context =
        PrepareContext { factory: factory.as_ref(), clock: &clock, stop: &StopFlag::default(), limit };
    assignment.object_bytes = PreparedObjects::default().ensure(&assignment, &context).unwrap();
    assert_eq!(assignment.object_bytes.0, FILE_BYTES);
    assignment
}

fn mix() -> Vec<OpShare> {
    [Op::Read, Op::Write].map(|op| OpShare { op, weight: 1.0 }).into()
}

/// Runs the load with an engine that `wrap` may do something to.
fn verified(
    assignment: &Assignment,
    wrap: impl Fn(Box<dyn Engine>) -> Box<dyn Engine>,
) -> (WorkerOutput, Verification) {
    let clock = Arc::new(MonotonicClock::new());
    let start_ns = clock.now().0;
    let times = WindowTimes { start_ns, measure_from_ns: start_ns, measure_until_ns: u64::MAX };
    let (output, _) = run_on(&clock, times, assignment, &StopFlag::default(), wrap);
    let found = output.verification.clone().unwrap();
    (output, found)
}

#[test]
fn whole_data_is_found_whole_with_every_engine_order_and_depth() {
    let blocks =
        |sizes: [u64; 3]| sizes.map(|bytes| BlockShare { block_bytes: Bytes(bytes), weight: 1.0 }).to_vec();
    let loads: [fn(&mut Workload); 6] = [
        |_| (),
        |load| load.engine = Some(EngineId::Mmap),
        |load| (load.engine, load.queue_depth) = (Some(EngineId::Uring), 16),
        |load| {
            (load.engine, load.queue_depth, load.batch) = (Some(EngineId::Uring), 16, 8);
            load.access = Access::Direct;
        },
        |load| (load.op_mix, load.op, load.order) = (Vec::new(), Op::Write, Order::Sequential),
        |load| {
            (load.engine, load.queue_depth) = (Some(EngineId::Uring), 16);
            load.order = Order::Zipf { theta: 1.2 };
        },
    ];
    for (number, load) in loads.into_iter().enumerate() {
        for mixed in [false, true] {
            let folder = folder();
            let assignment = prepared(folder.path(), 3000, |workload| {
                load(workload);
                if mixed && workload.access == Access::Buffered {
                    (workload.block_bytes, workload.block_mix) = (Bytes(8192), blocks([512, 1536, 8192]));
                }
            });
            let (output, found) = verified(&assignment, |engine| engine);
            assert!(output.errors.is_empty() && output.complete, "{number}: {:?}", output.errors);
            assert_eq!(output.op_count, 3000);
            let reads = output.by_kind.iter().filter(|kind| kind.op == Op::Read);
            assert_eq!(found.checked_bytes.0, reads.map(|kind| kind.bytes.0).sum::<u64>(), "{number}");
            assert_eq!((found.read_back_bytes.0, found.unread_bytes.0), (FILE_BYTES, 0));
            assert_eq!((found.wrong_bytes.0, found.undecided_bytes.0, found.mismatch_count), (0, 0, 0));
            assert!(found.cost_ns.0 > 0);
        }
    }
}

/// Does damage to a file when the request of a number is about to start, or when the data is about to be read back.
struct Damage<F> {
    file: PathBuf,
    /// Requests before the damage.
    left: u64,
    harm: Option<F>,
}

impl<F: FnOnce(&std::fs::File)> Twist for Damage<F> {
    fn queueing(&mut self, requests: &[IoRequest]) {
        if self.left > 0 {
            self.left = self.left.saturating_sub(requests.len() as u64);
        } else if let Some(harm) = self.harm.take() {
            harm(&std::fs::File::options().read(true).write(true).open(&self.file).unwrap());
        }
    }
}

/// What is found where `harm` is done to the file after `after` requests of a load that `change` changes.
fn damaged(
    after: u64,
    change: impl Fn(&mut Workload),
    harm: impl FnOnce(&std::fs::File) + Clone + 'static,
) -> (WorkerOutput, Verification) {
    let folder = folder();
    let assignment = prepared(folder.path(), 2000, change);
    let file = folder.path().join("data-0");
    let (output, found) = verified(&assignment, |engine| {
        Box::new(Twisted(engine, Damage { file: file.clone(), left: after, harm: Some(harm.clone()) }))
    });
    let reported: u64 = output.errors.iter().map(|error| error.count).sum();
    assert!(reported > 0 && output.errors.iter().all(|error| error.errno == DATA_MISMATCH), "{output:?}");
    assert!(found.mismatch_count >= reported && found.mismatches.len() <= 8, "{found:?}");
    assert_eq!(output.errors[0].first_message.split(" on ").next().unwrap(), found.mismatches[0].to_string());
    (output, found)
}

fn block(file: &std::fs::File, at: u64, length: usize) -> Vec<u8> {
    let mut block = vec![0; length];
    file.read_exact_at(&mut block, at).unwrap();
    block
}

fn read_only(workload: &mut Workload) {
    (workload.op_mix, workload.order) = (Vec::new(), Order::Sequential);
}

fn first(found: &Verification) -> &Mismatch {
    &found.mismatches[0]
}

#[test]
fn a_bit_that_was_flipped_in_the_file_is_found_at_its_byte() {
    let flip = |file: &std::fs::File| {
        let byte = block(file, 70_000, 1)[0];
        file.write_all_at(&[byte ^ 0x10], 70_000).unwrap();
    };
    let (output, found) = damaged(100, read_only, flip);
    let mismatch = first(&found);
    assert_eq!((mismatch.kind, mismatch.wrong_bit_count), (MismatchKind::Altered, Some(1)));
    assert_eq!((mismatch.offset_bytes, mismatch.length_bytes), (70_000, 1));
    assert_eq!((mismatch.expected.offset_bytes, mismatch.expected.generation), (69_632, 0));
    assert_ne!(mismatch.computed_checksum, mismatch.expected.checksum);
    // Blocks of 4 KiB in passes of 256: the first pass is past it, six meet it, and so does the reading back.
    assert_eq!((output.errors[0].count, found.mismatch_count), (8, 8));
    assert_eq!(output.op_count, 2000 - 7, "a read of wrong data is no work done");
    assert!(found.mismatches[7].in_read_back && !found.mismatches[6].in_read_back);
}

#[test]
fn a_block_that_was_moved_says_where_it_comes_from() {
    let (_, found) = damaged(10, read_only, |file| {
        let source = block(file, 40_960, 4096);
        file.write_all_at(&source, 81_920).unwrap();
    });
    let mismatch = first(&found);
    assert_eq!(mismatch.kind, MismatchKind::OtherPlace);
    assert_eq!((mismatch.offset_bytes, mismatch.length_bytes), (81_920, 4096));
    let label = mismatch.found.unwrap();
    assert_eq!((label.offset_bytes, label.generation), (40_960, 0));
    assert_eq!(label.checksum, mismatch.computed_checksum);
}

#[test]
fn zeros_are_called_zeros() {
    let (_, found) = damaged(10, read_only, |file| file.write_all_at(&[0; 8192], 49_152).unwrap());
    let mismatch = first(&found);
    // Requests of 4 KiB: each finds its own part.
    assert_eq!(
        (mismatch.kind, mismatch.offset_bytes, mismatch.length_bytes),
        (MismatchKind::Zeros, 49_152, 4096)
    );
    assert_eq!(mismatch.found, None);
}

#[test]
fn an_old_block_that_was_written_back_is_a_lost_write() {
    let old: Arc<std::sync::Mutex<Vec<u8>>> = Arc::default();
    let folder = folder();
    // Writes and reads in turn over two blocks, so that each block is written again and again.
    let assignment = prepared(folder.path(), 2000, |workload| workload.order = Order::Zipf { theta: 3.0 });
    let file = folder.path().join("data-0");
    let first_unit = std::fs::read(&file).unwrap();
    *old.lock().unwrap() = first_unit;
    let restore = {
        let old = Arc::clone(&old);
        move |file: &std::fs::File| file.write_all_at(&old.lock().unwrap(), 0).unwrap()
    };
    let (_, found) = verified(&assignment, |engine| {
        Box::new(Twisted(engine, Damage { file: file.clone(), left: 1000, harm: Some(restore.clone()) }))
    });
    let mismatch = first(&found);
    assert_eq!(mismatch.kind, MismatchKind::OlderGeneration);
    assert_eq!(mismatch.found.unwrap().generation, 0);
    assert!(mismatch.expected.generation > 0);
    assert!(mismatch.to_string().contains("a lost write"), "{mismatch}");
}

#[test]
fn a_torn_block_is_called_torn() {
    let (_, found) = damaged(10, read_only, |file| file.write_all_at(&[0; 200], 49_152 + 312).unwrap());
    let mismatch = first(&found);
    assert_eq!(mismatch.kind, MismatchKind::Torn);
    assert!(mismatch.offset_bytes >= 49_152 + 312 && mismatch.offset_bytes + mismatch.length_bytes == 49_664);
}

#[test]
fn a_load_that_only_writes_is_checked_when_it_is_read_back() {
    let written_over = |workload: &mut Workload| {
        (workload.op_mix, workload.op, workload.order) = (Vec::new(), Op::Write, Order::Sequential);
    };
    // After 2000 writes the next request is the first of those that read back.
    let (output, found) = damaged(2000, written_over, |file| file.write_all_at(&[7; 512], 512).unwrap());
    let mismatch = first(&found);
    assert_eq!((mismatch.kind, mismatch.offset_bytes), (MismatchKind::Foreign, 512));
    assert!(mismatch.in_read_back && mismatch.expected.generation >= 7, "{mismatch}");
    assert_eq!((found.checked_bytes.0, found.read_back_bytes.0), (0, FILE_BYTES));
    assert_eq!((output.op_count, found.mismatch_count), (2000, 1));
}

/// Fails each tenth write after the target has taken it.
struct FailsWrites(u32, BTreeSet<u32>);

impl Twist for FailsWrites {
    fn queueing(&mut self, requests: &[IoRequest]) {
        for request in requests {
            self.1.remove(&request.tag);
            if request.op == Op::Write {
                self.0 += 1;
                if self.0.is_multiple_of(10) {
                    self.1.insert(request.tag);
                }
            }
        }
    }

    fn done(&mut self, done: narrows_engines::IoCompletion) -> narrows_engines::IoCompletion {
        let failed = self.1.contains(&done.tag);
        let result = if failed { Err(narrows_engines::request::Errno(5)) } else { done.result };
        narrows_engines::IoCompletion { result, ..done }
    }
}

#[test]
fn after_a_failed_write_neither_content_is_called_wrong() {
    let folder = folder();
    let assignment = prepared(folder.path(), 2000, |_| ());
    let (output, found) =
        verified(&assignment, |engine| Box::new(Twisted(engine, FailsWrites(0, BTreeSet::new()))));
    assert_eq!((found.wrong_bytes.0, found.mismatch_count), (0, 0));
    assert!(found.undecided_bytes.0 > 0, "{found:?}");
    assert!(output.errors.iter().all(|error| error.errno == "EIO"), "{:?}", output.errors);
}
