//! Every layer does what it says: data is what was written, counts agree, acknowledgement is what was granted.

use crate::support::{Running, names_in, one, open, options, pass, workload};
use narrows_engines::ProtocolCounters;
use narrows_model::capabilities::Completion;
use narrows_model::workload::{Access, Acknowledgement, SyncPolicy, Workload};
use narrows_model::{Layer, Op};

fn tcp(engine: &mut dyn narrows_engines::Engine) -> narrows_model::counters::TcpCounters {
    let mut counters = ProtocolCounters::default();
    engine.counters(&mut counters);
    counters.tcp.unwrap()
}

#[test]
fn a_sink_counts_the_bytes_that_were_sent_and_the_kernel_agrees() {
    let server = Running::start(options());
    let mut engine = open(&server.spec(Layer::Sink, workload(Op::Send, 65_536, 4))).unwrap();
    assert_eq!(engine.effective().write_completion, Completion::InSocketBuffer);
    pass(engine.as_mut(), Op::Send, 65_536, 200);
    let before_close = tcp(engine.as_mut());
    assert!(before_close.acked_bytes.0 <= 200 * 65_536 + 1024, "hello included: {before_close:?}");
    assert_eq!(before_close.connection_count, 1);
    engine.close().expect("both sides counted the same bytes");
}

#[test]
fn a_source_sends_what_was_asked_for_and_counts_agree_at_the_end() {
    let server = Running::start(options());
    let mut engine = open(&server.spec(Layer::Source, workload(Op::Receive, 4096, 8))).unwrap();
    pass(engine.as_mut(), Op::Receive, 4096, 5000);
    assert!(tcp(engine.as_mut()).received_bytes.0 >= 5000 * 4096);
    engine.close().expect("both sides counted the same bytes");
}

#[test]
fn memory_gives_back_what_was_written_at_any_depth() {
    let server = Running::start(options());
    for (block, depth, count) in
        [(4096, 1, 100), (4096, 16, 2000), (1 << 20, 16, 8), (700_000, 4, 11), (5000, 32, 1000)]
    {
        let control = server.control();
        let mut spec = server.spec(Layer::Memory, workload(Op::Write, u64::from(block), depth));
        spec.session = Some(control.session().to_owned());
        let mut engine = open(&spec).unwrap();
        assert_eq!(engine.effective().write_completion, Completion::InServerMemory);
        pass(engine.as_mut(), Op::Write, block, count);
        assert_eq!(one(engine.as_mut(), Op::Sync, 0, 0), Ok(0));
        engine.close().unwrap();
        spec.create = false;
        let mut engine = open(&spec).unwrap();
        pass(engine.as_mut(), Op::Read, block, count);
        engine.close().unwrap();
        control.end().unwrap();
    }
}

#[test]
fn bytes_on_the_wire_are_payload_and_headers_and_both_kernels_agree() {
    let server = Running::start(options());
    let mut control = server.control();
    let mut spec = server.spec(Layer::Memory, workload(Op::Write, 4096, 16));
    spec.session = Some(control.session().to_owned());
    let mut engine = open(&spec).unwrap();
    let before = tcp(engine.as_mut());
    pass(engine.as_mut(), Op::Write, 4096, 1000);
    let after = tcp(engine.as_mut());
    assert_eq!(after.received_bytes.0 - before.received_bytes.0, 1000 * 16, "a reply's header each");
    let seen = control.counters().unwrap().tcp.unwrap();
    // All requests were answered, so all their bytes have arrived. The hello's bytes come on top, equal on both sides.
    let hello = seen.received_bytes.0 - 1000 * (4096 + 24);
    assert!(hello > 0 && hello < 2000, "{hello}");
    assert_eq!(seen.connection_count, 1);
    engine.close().unwrap();
}

fn disk_workload(acknowledgement: Acknowledgement, access: Access) -> Workload {
    Workload { acknowledgement, access, ..workload(Op::Write, 65_536, 16) }
}

#[test]
fn disk_gives_back_what_was_written_with_either_acknowledgement() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    for (acknowledgement, completion) in
        [(Acknowledgement::Early, Completion::InServerMemory), (Acknowledgement::Late, Completion::Durable)]
    {
        let mut engine =
            open(&server.spec(Layer::Disk, disk_workload(acknowledgement, Access::Buffered))).unwrap();
        let effective = engine.effective().clone();
        assert_eq!(
            (effective.acknowledgement, effective.write_completion),
            (Some(acknowledgement), completion)
        );
        pass(engine.as_mut(), Op::Write, 65_536, 128);
        pass(engine.as_mut(), Op::Read, 65_536, 128);
        assert_eq!(one(engine.as_mut(), Op::Sync, 0, 0), Ok(0));
        engine.close().unwrap();
    }
}

#[test]
fn a_read_right_after_an_early_acknowledged_write_sees_it() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    let mut engine =
        open(&server.spec(Layer::Disk, disk_workload(Acknowledgement::Early, Access::Buffered))).unwrap();
    for round in 0..200_u8 {
        engine.buffer(narrows_engines::Slot(0)).fill(round);
        assert_eq!(one(engine.as_mut(), Op::Write, 4096, 65_536), Ok(65_536));
        engine.buffer(narrows_engines::Slot(0)).fill(!round);
        assert_eq!(one(engine.as_mut(), Op::Read, 4096, 65_536), Ok(65_536));
        assert!(engine.buffer(narrows_engines::Slot(0)).iter().all(|byte| *byte == round));
    }
    engine.close().unwrap();
}

#[test]
fn direct_access_is_granted_as_such_or_refused_with_the_reason() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    match open(&server.spec(Layer::Disk, disk_workload(Acknowledgement::Late, Access::Direct))) {
        Ok(mut engine) => {
            assert_eq!(engine.effective().access, Some(Access::Direct));
            assert!(engine.effective().alignment_bytes.0 >= 512);
            pass(engine.as_mut(), Op::Write, 65_536, 32);
            pass(engine.as_mut(), Op::Read, 65_536, 32);
        }
        Err(error) => {
            assert_eq!(error.kind, narrows_engines::ErrorKind::Unsupported);
            assert!(error.to_string().contains("direct I/O"), "{error}");
        }
    }
}

#[test]
fn a_write_beyond_the_object_fails_and_the_connection_continues() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    for layer in [Layer::Memory, Layer::Disk] {
        let mut engine = open(&server.spec(layer, workload(Op::Write, 4096, 2))).unwrap();
        assert_eq!(one(engine.as_mut(), Op::Write, 8 << 20, 4096), Err("EFBIG".to_owned()));
        assert_eq!(one(engine.as_mut(), Op::Write, u64::MAX, 4096), Err("EFBIG".to_owned()));
        assert_eq!(one(engine.as_mut(), Op::Write, 0, 4096), Ok(4096));
    }
}

#[test]
fn what_a_store_cannot_promise_is_refused_and_not_replaced() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    let late = Workload { acknowledgement: Acknowledgement::Late, ..workload(Op::Write, 4096, 1) };
    let direct = Workload { access: Access::Direct, ..workload(Op::Write, 4096, 1) };
    let dsync = Workload { sync: SyncPolicy::Dsync, ..workload(Op::Write, 4096, 1) };
    for (layer, workload) in [(Layer::Memory, late), (Layer::Memory, direct), (Layer::Disk, dsync)] {
        let error = open(&server.spec(layer, workload)).err().unwrap();
        assert_eq!(error.kind, narrows_engines::ErrorKind::Unsupported, "{error}");
    }
}

#[test]
fn the_factory_removes_an_object_of_a_session_and_a_missing_one_counts_as_removed() {
    use narrows_engines::EngineFactory;
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    let control = server.control();
    let mut spec = server.spec(Layer::Disk, workload(Op::Write, 4096, 1));
    spec.session = Some(control.session().to_owned());
    open(&spec).unwrap().close().unwrap();
    let folder = root.path().join(&names_in(root.path())[0]);
    assert!(names_in(&folder).contains(&"data-0".to_owned()));
    let factory = narrows_engines::endpoint::EndpointFactory;
    factory.remove(&spec).unwrap();
    assert!(!names_in(&folder).contains(&"data-0".to_owned()));
    factory.remove(&spec).unwrap();
}
