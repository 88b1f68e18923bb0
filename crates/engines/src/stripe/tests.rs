//! What only stripes promise; the rest is in the conformance suite.

use super::*;
use crate::clock::Tick;
use crate::conformance::{self, BLOCK_BYTES, complete, request, spec, worker};
use crate::contract::Readiness;
use crate::registry::EngineRegistry;
use crate::request::{Completions, IoRequest, Slot};
use narrows_model::{EngineId, Op};
use std::fs;
use std::path::PathBuf;

/// Folders on the build's file system: direct access must be possible there.
struct Folders {
    _folder: tempfile::TempDir,
    paths: Vec<PathBuf>,
}

fn folders(count: usize) -> Folders {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let paths: Vec<PathBuf> = (0..count).map(|index| folder.path().join(format!("member-{index}"))).collect();
    for path in &paths {
        fs::create_dir(path).unwrap();
    }
    Folders { _folder: folder, paths }
}

impl Folders {
    fn target(&self, options: &str) -> String {
        let members: Vec<_> = self.paths.iter().map(|path| path.to_str().unwrap()).collect();
        format!("stripe:{}?{options}", members.join(","))
    }

    fn stored(&self, member: usize) -> Vec<u8> {
        fs::read(self.paths[member].join("conformance-part")).unwrap()
    }
}

fn factory(target: &str, engine: EngineId) -> Arc<dyn EngineFactory> {
    EngineRegistry::for_user().factory(&target.parse().unwrap(), Some(engine)).unwrap()
}

fn open(target: &str, engine: EngineId, depth: u32) -> Box<dyn Engine> {
    factory(target, engine).open(&spec(target, Op::Write, depth), &worker()).unwrap()
}

#[test]
fn a_stripe_of_two_files_conforms_with_blocks_of_one_unit_and_with_blocks_of_several() {
    for (unit, engine, depth) in [
        ("4KiB", EngineId::Psync, 1),
        ("512", EngineId::Psync, 1),
        ("64KiB", EngineId::Mmap, 1),
        ("4KiB", EngineId::Uring, 8),
        ("512&peer_depth=2", EngineId::Uring, 8),
    ] {
        let folders = folders(2);
        let target = folders.target(&format!("unit={unit}"));
        for op in [Op::Write, Op::Read] {
            conformance::run(factory(&target, engine).as_ref(), &spec(&target, op, depth));
        }
    }
}

#[test]
fn a_stripe_of_nothing_conforms() {
    let target = "stripe:null:,null:,null:?unit=1KiB";
    for depth in [1, 16] {
        conformance::run(factory(target, EngineId::Null).as_ref(), &spec(target, Op::Read, depth));
    }
}

#[test]
fn units_go_round_the_members() {
    let folders = folders(3);
    let mut engine = open(&folders.target("unit=1KiB"), EngineId::Psync, 1);
    let block: Vec<u8> = (0..BLOCK_BYTES).map(|at| u8::try_from(at / 1024).unwrap() + 1).collect();
    engine.buffer(Slot(0)).copy_from_slice(&block);
    assert_eq!(complete(engine.as_mut(), &[request(Op::Write, 0, 0)]), [(0, Ok(BLOCK_BYTES))]);
    engine.close().unwrap();
    let expected = [[1_u8, 4].map(|byte| [byte; 1024]).concat(), vec![2; 1024], vec![3; 1024]];
    for (member, expected) in expected.iter().enumerate() {
        assert_eq!(&folders.stored(member)[..expected.len()], expected, "member {member}");
    }
}

#[test]
fn what_is_read_is_what_was_written_at_any_offset_and_length() {
    let folders = folders(3);
    let mut engine = open(&folders.target("unit=512"), EngineId::Psync, 1);
    let whole: Vec<u8> = (0..3 * BLOCK_BYTES).map(|at| u8::try_from(at * 7 % 251).unwrap()).collect();
    for (block, part) in (0_u64..).zip(whole.chunks(BLOCK_BYTES as usize)) {
        engine.buffer(Slot(0)).copy_from_slice(part);
        complete(engine.as_mut(), &[request(Op::Write, 0, block)]);
    }
    for (offset, length) in [(0, 1), (1, 1700), (511, 2), (1535, 4096), (4096, 4095), (8000, 4000)] {
        engine.buffer(Slot(0)).fill(0);
        let odd = IoRequest { offset_bytes: offset, length_bytes: length, ..request(Op::Read, 0, 0) };
        assert_eq!(complete(engine.as_mut(), &[odd]), [(0, Ok(length))]);
        let start = usize::try_from(offset).unwrap();
        let expected = &whole[start..start + length as usize];
        assert_eq!(&engine.buffer(Slot(0))[..length as usize], expected, "{length} from {offset}");
    }
}

#[test]
fn what_was_read_and_not_looked_at_can_be_written_elsewhere() {
    let folders = folders(2);
    let mut engine = open(&folders.target("unit=1KiB"), EngineId::Psync, 1);
    let block: Vec<u8> = (0..BLOCK_BYTES).map(|at| u8::try_from(at / 512).unwrap() + 1).collect();
    engine.buffer(Slot(0)).copy_from_slice(&block);
    complete(engine.as_mut(), &[request(Op::Write, 0, 0)]);
    engine.buffer(Slot(0)).fill(0);
    complete(engine.as_mut(), &[request(Op::Read, 0, 0)]);
    let elsewhere = IoRequest { offset_bytes: 5 * 1024 + 512, ..request(Op::Write, 0, 0) };
    complete(engine.as_mut(), &[elsewhere]);
    engine.buffer(Slot(0)).fill(0);
    complete(engine.as_mut(), &[IoRequest { op: Op::Read, ..elsewhere }]);
    assert_eq!(engine.buffer(Slot(0)), block);
}

#[test]
fn a_read_across_the_end_reports_what_comes_without_a_gap() {
    let folders = folders(2);
    let mut engine = open(&folders.target("unit=1KiB"), EngineId::Psync, 1);
    complete(engine.as_mut(), &[request(Op::Write, 0, 0)]);
    // Member 0 has units 0 and 2, member 1 has 1 and 3; without its second one, unit 3 is missing.
    let file = fs::OpenOptions::new().write(true).open(folders.paths[1].join("conformance-part")).unwrap();
    file.set_len(1024).unwrap();
    assert_eq!(complete(engine.as_mut(), &[request(Op::Read, 0, 0)]), [(0, Ok(3 * 1024))]);
    file.set_len(512).unwrap();
    assert_eq!(complete(engine.as_mut(), &[request(Op::Read, 0, 0)]), [(0, Ok(1024 + 512))]);
}

#[test]
fn a_request_longer_than_the_block_fails_alone() {
    let mut engine = open("stripe:null:,null:", EngineId::Null, 2);
    let long = IoRequest { length_bytes: BLOCK_BYTES + 1, ..request(Op::Read, 0, 0) };
    let empty = IoRequest { length_bytes: 0, ..request(Op::Read, 1, 0) };
    assert_eq!(
        complete(engine.as_mut(), &[long, empty]),
        [(0, Err("EINVAL".to_owned())), (1, Err("EINVAL".to_owned()))]
    );
    assert_eq!(complete(engine.as_mut(), &[request(Op::Read, 0, 0)]), [(0, Ok(BLOCK_BYTES))]);
}

#[test]
fn direct_access_needs_a_unit_that_the_members_can_take() {
    let folders = folders(2);
    let target = folders.target("unit=512");
    let capabilities = factory(&target, EngineId::Psync).capabilities(&target.parse().unwrap()).unwrap();
    let alignment = capabilities.alignment_bytes;
    assert_eq!(capabilities.direct.is_yes(), alignment.0 <= 512, "{:?}", capabilities.direct);
}

#[test]
fn a_stripe_reports_the_engine_of_its_members_and_refuses_depth_that_they_refuse() {
    let folders = folders(2);
    let target = folders.target("unit=4KiB");
    let factory = factory(&target, EngineId::Psync);
    let capabilities = factory.capabilities(&target.parse().unwrap()).unwrap();
    assert_eq!((capabilities.engine.as_str(), capabilities.queue_depth_max), ("stripe of psync", 1));
    assert!(factory.open(&spec(&target, Op::Read, 2), &worker()).is_err());
}

/// A member that completes what the test lets it, and counts what it was given.
#[derive(Debug)]
struct Scripted {
    effective: Effective,
    block: Vec<u8>,
    taken: std::rc::Rc<std::cell::Cell<usize>>,
    queued: Vec<IoRequest>,
    socket: std::os::unix::net::UnixStream,
}

impl Engine for Scripted {
    fn effective(&self) -> &Effective {
        &self.effective
    }
    fn buffer(&mut self, _slot: Slot) -> &mut [u8] {
        &mut self.block
    }
    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError> {
        self.queued.extend_from_slice(requests);
        self.taken.set(self.taken.get() + requests.len());
        Ok(requests.len())
    }
    fn commit(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
    fn reap(&mut self, _min: u32, _until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        use std::io::Read;
        let mut bytes = [0; 8];
        let allowed = (&self.socket).read(&mut bytes).unwrap_or(0);
        for done in self.queued.drain(..allowed) {
            out.push(crate::request::IoCompletion { tag: done.tag, result: Ok(done.length_bytes) });
        }
        Ok(())
    }
    fn readiness(&mut self) -> Result<Option<Readiness<'_>>, EngineError> {
        let descriptor = std::os::fd::AsFd::as_fd(&self.socket);
        Ok(Some(Readiness { descriptor, events: rustix::event::PollFlags::IN }))
    }
    fn counters(&mut self, _out: &mut crate::contract::ProtocolCounters) {}
    fn close(self: Box<Self>) -> Result<(), EngineError> {
        Ok(())
    }
}

/// A stripe of two scripted members with at most `peer_depth` parts in flight at each; of each, what it was given so
/// far and the socket by which a byte lets one part be done.
#[allow(clippy::type_complexity, reason = "a test's own tuple")]
fn scripted(
    depth: u32,
    peer_depth: u32,
) -> (StripeEngine, Vec<(std::rc::Rc<std::cell::Cell<usize>>, std::os::unix::net::UnixStream)>) {
    let mut null = open("null:", EngineId::Null, depth);
    let effective = null.effective().clone();
    let block = null.buffer(Slot(0)).to_vec();
    let (mut members, mut handles) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let taken = std::rc::Rc::default();
        handles.push((std::rc::Rc::clone(&taken), far));
        let (effective, block) = (effective.clone(), block.clone());
        let engine = Scripted { effective, block, taken, queued: Vec::new(), socket: near };
        members.push(StripeMember::new(Box::new(engine), peer_depth));
    }
    let slots = SlotBuffers::new(depth, u64::from(BLOCK_BYTES), 0).unwrap();
    let layout = StripeLayout::new(u64::from(BLOCK_BYTES), 2);
    let clock = worker().clock;
    (StripeEngine::new(effective, layout, members, (slots, u64::from(BLOCK_BYTES)), clock), handles)
}

#[test]
fn no_more_than_the_peer_depth_is_in_flight_at_a_member() {
    use std::io::Write;
    let (mut engine, handles) = scripted(8, 2);
    let requests: Vec<IoRequest> = (0..8).map(|tag| request(Op::Read, tag, u64::from(tag))).collect();
    assert_eq!(engine.queue(&requests).unwrap(), 8);
    engine.commit().unwrap();
    let taken =
        |handles: &[(std::rc::Rc<std::cell::Cell<usize>>, _)]| [handles[0].0.get(), handles[1].0.get()];
    assert_eq!(taken(&handles), [2, 2]);
    (&handles[1].1).write_all(&[1]).unwrap();
    let mut out = Completions::with_capacity(8);
    engine.reap(1, worker().clock.now().after(20_000_000_000), &mut out).unwrap();
    assert_eq!(
        (out.len(), taken(&handles)),
        (1, [2, 3]),
        "the next part starts in the place of the one done"
    );
}

#[test]
fn a_member_that_is_silent_does_not_delay_the_others() {
    use std::io::Write;
    let (mut engine, handles) = scripted(4, 4);
    let requests: Vec<IoRequest> = (0..4).map(|tag| request(Op::Read, tag, u64::from(tag))).collect();
    engine.queue(&requests).unwrap();
    engine.commit().unwrap();
    (&handles[1].1).write_all(&[1, 1]).unwrap();
    let mut out = Completions::with_capacity(4);
    engine.reap(2, worker().clock.now().after(20_000_000_000), &mut out).unwrap();
    let tags: Vec<u32> = out.as_slice().iter().map(|done| done.tag).collect();
    assert_eq!(tags, [1, 3]);
    engine.reap(1, worker().clock.now().after(1_000_000), &mut out).unwrap();
    assert_eq!(out.len(), 2, "nothing more came by the deadline");
}
