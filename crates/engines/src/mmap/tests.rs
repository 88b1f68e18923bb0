//! What only `mmap` promises; the rest is in the conformance suite.

use super::*;
use crate::conformance::{self, BLOCK_BYTES, complete, request, spec, worker};
use crate::request::Slot;
use narrows_model::capabilities::Support;
use narrows_model::workload::Access;
use std::fs;

/// A folder on the build's file system.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
}

fn at(folder: &tempfile::TempDir, op: Op) -> OpenSpec {
    spec(folder.path().to_str().unwrap(), op, 1)
}

fn opened(spec: &OpenSpec) -> Box<dyn Engine> {
    MmapFactory::unconfined().open(spec, &worker()).unwrap()
}

fn refused(spec: &OpenSpec) -> EngineError {
    MmapFactory::unconfined().open(spec, &worker()).err().unwrap()
}

#[test]
fn it_conforms() {
    let folder = folder();
    for op in [Op::Write, Op::Read] {
        conformance::run(&MmapFactory::unconfined(), &at(&folder, op));
    }
}

#[test]
fn direct_access_is_refused_and_declared_so() {
    let folder = folder();
    let mut direct = at(&folder, Op::Read);
    direct.workload.access = Access::Direct;
    let error = refused(&direct);
    assert_eq!(error.kind, ErrorKind::Unsupported);
    assert!(error.to_string().contains("accessed only through the page cache"), "{error}");
    let capabilities = MmapFactory::unconfined().capabilities(&direct.target).unwrap();
    assert!(matches!(capabilities.direct, Support::No { reason } if reason.contains("page cache")));
}

#[test]
fn a_new_object_has_its_size_and_its_room_when_it_is_opened() {
    use std::os::unix::fs::MetadataExt;
    let folder = folder();
    let all = at(&folder, Op::Write);
    drop(opened(&all));
    let status = fs::metadata(folder.path().join("conformance")).unwrap();
    assert_eq!(status.len(), all.object_bytes.0);
    assert!(status.blocks() * 512 >= all.object_bytes.0, "{status:?}");
}

#[test]
fn an_object_that_has_no_room_is_refused_and_takes_none() {
    let folder = folder();
    let mut huge = at(&folder, Op::Write);
    huge.object_bytes = Bytes(1 << 60);
    let error = refused(&huge);
    assert!(["ENOSPC", "EFBIG"].contains(&error.errno().as_str()), "{error}");
    assert_eq!(fs::metadata(folder.path().join("conformance")).unwrap().len(), 0);
}

#[test]
fn a_file_that_is_shortened_fails_the_requests_beyond_its_end_and_no_others() {
    let folder = folder();
    let mut engine = opened(&at(&folder, Op::Write));
    for block in 0..4 {
        engine.buffer(Slot(0)).fill(7);
        complete(engine.as_mut(), &[request(Op::Write, 0, block)]);
    }
    let file = File::options().write(true).open(folder.path().join("conformance")).unwrap();
    file.set_len(2 * u64::from(BLOCK_BYTES)).unwrap();
    for op in [Op::Read, Op::Write, Op::Read] {
        assert_eq!(complete(engine.as_mut(), &[request(op, 0, 3)]), [(0, Err("EIO".to_owned()))]);
        assert_eq!(complete(engine.as_mut(), &[request(op, 0, 1)]), [(0, Ok(BLOCK_BYTES))]);
    }
    engine.buffer(Slot(0)).fill(0);
    complete(engine.as_mut(), &[request(Op::Read, 0, 0)]);
    assert!(engine.buffer(Slot(0)).iter().all(|byte| *byte == 7));
}

#[test]
fn reading_past_the_end_says_how_little_was_read() {
    let folder = folder();
    fs::write(folder.path().join("conformance"), vec![1; 5000]).unwrap();
    let mut existing = at(&folder, Op::Read);
    existing.create = false;
    let mut engine = opened(&existing);
    assert_eq!(complete(engine.as_mut(), &[request(Op::Read, 0, 1)]), [(0, Ok(5000 - BLOCK_BYTES))]);
    assert_eq!(complete(engine.as_mut(), &[request(Op::Read, 0, 5)]), [(0, Ok(0))]);
    assert_eq!(complete(engine.as_mut(), &[request(Op::Write, 0, 0)]), [(0, Err("EBADF".to_owned()))]);
}

#[test]
fn an_empty_file_and_a_missing_one_are_refused_with_what_to_do() {
    let folder = folder();
    let mut existing = at(&folder, Op::Read);
    existing.create = false;
    assert_eq!(refused(&existing).kind, ErrorKind::NotFound);
    fs::write(folder.path().join("conformance"), "").unwrap();
    let error = refused(&existing).to_string();
    assert!(error.contains("empty file") && error.contains("psync"), "{error}");
    assert!(fs::metadata(folder.path().join("conformance")).unwrap().len() == 0, "it is left as it was");
}

#[test]
fn writes_are_durable_one_by_one_where_that_was_asked_for() {
    let folder = folder();
    for (sync, meaning) in [
        (SyncPolicy::None, "InPageCache"),
        (SyncPolicy::AtEnd, "InPageCache"),
        (SyncPolicy::Every(2), "InPageCache"),
        (SyncPolicy::Every(1), "Durable"),
        (SyncPolicy::Dsync, "Durable"),
    ] {
        let mut all = at(&folder, Op::Write);
        all.workload.sync = sync;
        let mut engine = opened(&all);
        assert_eq!(format!("{:?}", engine.effective().write_completion), meaning, "{sync:?}");
        for block in 0..3 {
            let done = complete(engine.as_mut(), &[request(Op::Write, 0, block)]);
            assert_eq!(done, [(0, Ok(BLOCK_BYTES))]);
        }
    }
}

#[test]
fn confined_to_a_folder_no_path_leads_out_of_it() {
    let folder = folder();
    fs::create_dir(folder.path().join("inside")).unwrap();
    fs::write(folder.path().join("secret"), vec![1; BLOCK_BYTES as usize]).unwrap();
    let factory = MmapFactory::confined(File::open(folder.path().join("inside")).unwrap());
    let absolute = folder.path().join("secret").to_string_lossy().into_owned();
    for path in ["../secret", absolute.as_str()] {
        let mut escape = spec(&format!("file:{path}"), Op::Read, 1);
        escape.objects = vec![String::new()];
        escape.create = false;
        assert!(factory.open(&escape, &worker()).is_err(), "{path}");
        assert!(factory.capabilities(&escape.target).is_err(), "{path}");
    }
    let mut inside = spec("file:.", Op::Write, 1);
    inside.objects = vec!["made".to_owned()];
    drop(factory.open(&inside, &worker()).unwrap());
    assert!(folder.path().join("inside/made").is_file());
}

#[test]
fn reading_ahead_is_forbidden_for_random_orders_alone() {
    let advised = |order| visit_order(order);
    assert_eq!(advised(Order::Sequential), VisitOrder::Sequential);
    for random in [Order::Random, Order::RandomWithReplacement, Order::Zipf { theta: 0.9 }] {
        assert_eq!(advised(random), VisitOrder::Random);
    }
    for other in [Order::Backward, Order::Stride { stride_bytes: 1 << 20, ends_early: false }] {
        assert_eq!(advised(other), VisitOrder::Normal);
    }
}
