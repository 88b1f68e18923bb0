//! What only `psync` promises; the rest is in the conformance suite.

use super::*;
use crate::conformance::{self, BLOCK_BYTES, complete, request, spec, worker};
use crate::request::Slot;
use narrows_model::Bytes;
use std::fs;
use std::path::Path;

/// A folder on the build's file system: direct access must be possible there.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
}

fn at(folder: &tempfile::TempDir, op: Op) -> OpenSpec {
    spec(folder.path().to_str().unwrap(), op, 1)
}

#[test]
fn it_conforms() {
    let folder = folder();
    for op in [Op::Write, Op::Read] {
        conformance::run(&PsyncFactory::unconfined(), &at(&folder, op));
    }
}

#[test]
fn a_depth_of_two_is_refused_with_what_to_do() {
    let folder = folder();
    let error =
        PsyncFactory::unconfined().open(&spec(folder.path().to_str().unwrap(), Op::Read, 2), &worker());
    let message = error.err().unwrap().to_string();
    assert!(message.contains("queue depth 2") && message.contains("more workers"), "{message}");
}

#[test]
fn a_missing_object_is_an_error_unless_it_may_be_made() {
    let folder = folder();
    let mut missing = at(&folder, Op::Read);
    missing.create = false;
    let error = PsyncFactory::unconfined().open(&missing, &worker()).err().unwrap();
    assert_eq!(error.kind, crate::ErrorKind::NotFound);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn reading_past_the_end_says_how_little_was_read() {
    let folder = folder();
    let mut engine = PsyncFactory::unconfined().open(&at(&folder, Op::Write), &worker()).unwrap();
    complete(engine.as_mut(), &[request(Op::Write, 0, 0)]);
    assert_eq!(complete(engine.as_mut(), &[request(Op::Read, 0, 5)]), [(0, Ok(0))]);
}

#[test]
fn a_trimmed_range_gives_its_room_back_and_reads_as_zeroes() {
    use std::os::unix::fs::MetadataExt;
    let folder = folder();
    let all = at(&folder, Op::Write);
    assert!(PsyncFactory::unconfined().capabilities(&all.target).unwrap().ops.contains(&Op::Trim));
    let mut engine = PsyncFactory::unconfined().open(&all, &worker()).unwrap();
    for block in 0..4 {
        complete(engine.as_mut(), &[request(Op::Write, 0, block)]);
    }
    complete(engine.as_mut(), &[IoRequest { length_bytes: 0, ..request(Op::Sync, 0, 0) }]);
    let blocks = || fs::metadata(folder.path().join("conformance")).unwrap().blocks();
    let before = blocks();
    assert_eq!(complete(engine.as_mut(), &[request(Op::Trim, 0, 1)]), [(0, Ok(BLOCK_BYTES))]);
    assert_eq!(before - blocks(), u64::from(BLOCK_BYTES) / 512);
}

#[test]
fn what_cannot_be_trimmed_says_so_by_its_number() {
    let mut device = spec("/dev/null", Op::Write, 1);
    device.objects = vec![String::new()];
    device.create = false;
    let mut engine = PsyncFactory::unconfined().open(&device, &worker()).unwrap();
    let done = complete(engine.as_mut(), &[request(Op::Trim, 0, 0)]);
    let known = ["ENODEV", "EOPNOTSUPP"].map(|name| vec![(0, Err(name.to_owned()))]);
    assert!(known.contains(&done), "{done:?}");
}

#[test]
fn dropping_the_cache_leaves_nothing_resident_and_warming_all() {
    let folder = folder();
    let factory = PsyncFactory::unconfined();
    let all = at(&folder, Op::Write);
    let mut engine = factory.open(&all, &worker()).unwrap();
    for block in 0..32 {
        complete(engine.as_mut(), &[request(Op::Write, 0, block)]);
    }
    let cold = factory.bring_cache_to(&all, CacheState::Cold).unwrap();
    assert!(cold.unwrap() < 0.02, "{cold:?}");
    let warm = factory.bring_cache_to(&all, CacheState::Warm).unwrap();
    assert!(warm.unwrap() > 0.999, "{warm:?}");
}

#[test]
fn confined_to_a_folder_no_path_leads_out_of_it() {
    let folder = folder();
    fs::create_dir(folder.path().join("inside")).unwrap();
    fs::write(folder.path().join("secret"), vec![1; BLOCK_BYTES as usize]).unwrap();
    std::os::unix::fs::symlink("../secret", folder.path().join("inside/link")).unwrap();
    let factory = PsyncFactory::confined(File::open(folder.path().join("inside")).unwrap());
    let absolute = folder.path().join("secret").to_string_lossy().into_owned();
    for path in ["../secret", "link", absolute.as_str()] {
        let mut escape = spec(&format!("file:{path}"), Op::Read, 1);
        escape.objects = vec![String::new()];
        escape.create = false;
        assert!(factory.open(&escape, &worker()).is_err(), "{path}");
        assert!(factory.capabilities(&escape.target).is_err(), "{path}");
    }
}

#[test]
fn confined_to_a_folder_it_waits_for_no_pipe() {
    let folder = folder();
    let inside = File::open(folder.path()).unwrap();
    rustix::fs::mknodat(&inside, "pipe", rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let factory = PsyncFactory::confined(inside);
    assert!(factory.capabilities(&"file:pipe".parse().unwrap()).is_err());
}

#[test]
fn confined_to_a_folder_only_what_was_made_in_it_is_removed() {
    let folder = folder();
    fs::create_dir(folder.path().join("inside")).unwrap();
    fs::write(folder.path().join("secret"), "x").unwrap();
    fs::write(folder.path().join("inside/theirs"), "x").unwrap();
    std::os::unix::fs::symlink("..", folder.path().join("inside/up")).unwrap();
    let factory = PsyncFactory::confined(File::open(folder.path().join("inside")).unwrap());
    let mut all = spec("file:.", Op::Write, 1);
    let absolute = folder.path().join("secret").to_string_lossy().into_owned();
    for outside in ["up/secret", "../secret", absolute.as_str(), ".."] {
        all.objects = vec![outside.to_owned()];
        assert!(factory.open(&all, &worker()).is_err(), "{outside}");
        factory.remove(&all).unwrap();
        assert!(folder.path().join("secret").exists(), "{outside}");
    }
    all.objects = vec!["theirs".to_owned()];
    assert!(factory.open(&all, &worker()).is_err());
    factory.remove(&all).unwrap();
    assert!(folder.path().join("inside/theirs").exists(), "what others made stays");
    all.objects = vec!["data".to_owned()];
    drop(factory.open(&all, &worker()).unwrap());
    assert!(folder.path().join("inside/data").exists());
    factory.remove(&all).unwrap();
    assert!(!folder.path().join("inside/data").exists());
}

#[test]
fn a_test_folder_removes_itself_and_only_with_its_marker() {
    let parent = folder();
    let made = TestFolder::create(parent.path(), 1, "run 1").unwrap();
    fs::write(made.path().join("data"), b"x").unwrap();
    assert_eq!(TestFolder::left_behind(parent.path(), 0), [(made.path().to_path_buf(), "run 1".to_owned())]);
    drop(made);
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    let unmarked = TestFolder::create(parent.path(), 2, "run 2").unwrap();
    let path = unmarked.path().to_path_buf();
    fs::remove_file(path.join(MARKER_NAME)).unwrap();
    fs::write(path.join("precious"), b"x").unwrap();
    drop(unmarked);
    assert!(path.join("precious").is_file());
}

const MARKER_NAME: &str = "made-by-narrows";

/// A new test folder in `parent` with `data` in it, made through the engine, and what the engine is opened for.
fn own_data(parent: &Path, nonce: u64) -> (TestFolder, OpenSpec) {
    let made = TestFolder::create(parent, nonce, "run").unwrap();
    let all = spec(&made.path().display().to_string(), Op::Write, 1);
    PsyncFactory::unconfined().open(&all, &worker()).unwrap().close().unwrap();
    (made, all)
}

fn refused_as_replaced(all: &OpenSpec) {
    let factory = PsyncFactory::unconfined();
    let answers = [
        factory.open(all, &worker()).err().map(|error| error.to_string()),
        factory.bring_cache_to(all, CacheState::Cold).err().map(|error| error.to_string()),
        factory.remove(all).err().map(|error| error.to_string()),
    ];
    for answer in answers {
        assert!(answer.as_ref().is_some_and(|text| text.contains("replaced")), "{answer:?}");
    }
}

#[test]
fn a_file_in_the_place_of_ours_is_neither_opened_nor_removed() {
    let parent = folder();
    fs::write(parent.path().join("secret"), b"mine").unwrap();
    let ways: [fn(&Path, &Path); 3] = [
        |secret, data| std::os::unix::fs::symlink(secret, data).unwrap(),
        |secret, data| fs::hard_link(secret, data).unwrap(),
        |_, data| fs::write(data, b"other").unwrap(),
    ];
    for (nonce, put) in (10..).zip(ways) {
        let (made, all) = own_data(parent.path(), nonce);
        let data = made.path().join(&all.objects[0]);
        fs::rename(&data, parent.path().join(format!("moved-{nonce}"))).unwrap();
        put(&parent.path().join("secret"), &data);
        refused_as_replaced(&all);
        let path = made.path().to_path_buf();
        drop(made);
        assert!(data.symlink_metadata().is_ok() && path.join(MARKER_NAME).is_file(), "named, not removed");
    }
    assert_eq!(fs::read(parent.path().join("secret")).unwrap(), b"mine");
}

#[test]
fn a_folder_in_the_place_of_ours_is_neither_used_nor_removed() {
    let parent = folder();
    let (made, all) = own_data(parent.path(), 20);
    let path = made.path().to_path_buf();
    fs::rename(&path, parent.path().join("moved")).unwrap();
    fs::create_dir(&path).unwrap();
    for name in [MARKER_NAME, &all.objects[0]] {
        fs::write(path.join(name), b"theirs").unwrap();
    }
    refused_as_replaced(&all);
    drop(made);
    assert_eq!(fs::read(path.join(&all.objects[0])).unwrap(), b"theirs");
    let left: Vec<_> = fs::read_dir(parent.path().join("moved")).unwrap().map(Result::unwrap).collect();
    assert_eq!(left.len(), 1, "the marker of the folder that cannot be removed stays: {left:?}");
}

#[test]
fn markers_that_are_no_files_are_passed_over() {
    let parent = folder();
    for (name, kind) in [(".narrows-pipe", "p"), (".narrows-link", "l")] {
        let path = parent.path().join(name);
        fs::create_dir(&path).unwrap();
        let marker = path.join(MARKER_NAME);
        if kind == "p" {
            assert!(std::process::Command::new("mkfifo").arg(marker).status().unwrap().success());
        } else {
            std::os::unix::fs::symlink("/dev/zero", marker).unwrap();
        }
    }
    assert_eq!(TestFolder::left_behind(parent.path(), 0), []);
}

#[test]
fn it_conforms_at_the_files_own_position() {
    let folder = folder();
    for op in [Op::Write, Op::Read] {
        let mut spec = at(&folder, op);
        spec.workload.psync.calls = PsyncCalls::AtPosition;
        conformance::run(&PsyncFactory::unconfined(), &spec);
    }
}

/// How much a call moves that is asked for 10 bytes of a file of 25.
fn ten(file: &File) -> Result<TransferResult, narrows_sys::SysErrno> {
    narrows_sys::file::read(file, &mut [0; 10])
}

/// Where the kernel says that the file's own position is.
fn position_of(object: &PsyncFile) -> u64 {
    rustix::fs::seek(&object.file, rustix::fs::SeekFrom::Current(0)).unwrap()
}

fn object_of_25_bytes(folder: &tempfile::TempDir) -> PsyncFile {
    fs::write(folder.path().join("data"), [7; 25]).unwrap();
    PsyncFile::new(File::open(folder.path().join("data")).unwrap(), ObjectPart::WHOLE)
}

#[test]
fn the_position_is_moved_only_where_a_block_is_elsewhere() {
    let folder = folder();
    let mut object = object_of_25_bytes(&folder);
    // Moved behind the engine's back: what follows the last block continues there, so there was no seek.
    rustix::fs::seek(&object.file, rustix::fs::SeekFrom::Start(1)).unwrap();
    assert_eq!(object.transfer_at(0, ten).map(TransferResult::done_bytes), Ok(10));
    assert_eq!(position_of(&object), 11);
    assert_eq!(object.transfer_at(10, ten).map(TransferResult::done_bytes), Ok(10));
    assert_eq!(position_of(&object), 21);
    assert_eq!(object.transfer_at(3, ten).map(TransferResult::done_bytes), Ok(10));
    assert_eq!(position_of(&object), 13);
}

#[test]
fn after_a_short_transfer_the_position_is_known_and_after_an_error_it_is_set_again() {
    let folder = folder();
    let mut object = object_of_25_bytes(&folder);
    assert_eq!(object.transfer_at(20, ten).map(TransferResult::done_bytes), Ok(5));
    assert_eq!((object.position, position_of(&object)), (Some(25), 25));
    let failed = object.transfer_at(25, |_| Err(narrows_sys::SysErrno::from_raw(5)));
    assert_eq!((failed.unwrap_err().raw(), object.position), (5, None));
    rustix::fs::seek(&object.file, rustix::fs::SeekFrom::Start(1)).unwrap();
    assert_eq!(object.transfer_at(12, ten).map(TransferResult::done_bytes), Ok(10));
    assert_eq!(position_of(&object), 22);
}

#[test]
fn every_object_has_a_position_of_its_own() {
    let folder = folder();
    for (name, byte) in [("a", b'a'), ("b", b'b')] {
        let block = |index: u8| vec![byte + 10 * index; BLOCK_BYTES as usize];
        fs::write(folder.path().join(name), [block(0), block(1)].concat()).unwrap();
    }
    let mut spec = at(&folder, Op::Read);
    spec.workload.psync.calls = PsyncCalls::AtPosition;
    spec.objects = vec!["a".to_owned(), "b".to_owned()];
    (spec.object_bytes, spec.create) = (Bytes(2 * u64::from(BLOCK_BYTES)), false);
    let mut engine = PsyncFactory::unconfined().open(&spec, &worker()).unwrap();
    for (object, place, byte) in [(0, 0, b'a'), (1, 0, b'b'), (0, 1, b'k'), (1, 1, b'l'), (0, 0, b'a')] {
        complete(engine.as_mut(), &[IoRequest { object, ..request(Op::Read, 0, place) }]);
        assert_eq!(engine.buffer(Slot(0))[0], byte, "object {object}, block {place}");
    }
}

#[test]
fn it_conforms_with_blocks_in_several_buffers() {
    let folder = folder();
    for (op, vectors) in [(Op::Write, 16), (Op::Read, 3)] {
        let mut spec = at(&folder, op);
        spec.workload.psync.vectors = Some(vectors);
        conformance::run(&PsyncFactory::unconfined(), &spec);
    }
}
