//! A stripe over two running servers: it passes the suite of all engines, and what each server promises also applies
//! through it.

use crate::support::Running;
use narrows_endpoint::ServeOptions;
use narrows_engines::conformance::{self, BLOCK_BYTES};
use narrows_engines::endpoint::{ControlClient, sessions};
use narrows_engines::{EngineFactory, EngineRegistry, OpenSpec, Slot};
use narrows_model::Op;
use narrows_model::capabilities::Completion;
use narrows_model::workload::Acknowledgement;
use std::sync::Arc;
use tempfile::TempDir;

/// Two servers, their roots, the control connections of their sessions, and a stripe over them.
struct Pair {
    servers: Vec<Running>,
    roots: Vec<TempDir>,
    controls: Vec<ControlClient>,
}

impl Pair {
    fn start(options: impl Fn(ServeOptions) -> ServeOptions) -> Self {
        let roots: Vec<TempDir> =
            (0..2).map(|_| tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()).collect();
        let start = |root: &TempDir| {
            let rooted = ServeOptions { root: Some(root.path().to_owned()), ..crate::support::options() };
            Running::start(options(rooted))
        };
        let servers: Vec<Running> = roots.iter().map(start).collect();
        let controls = servers.iter().map(Running::control).collect();
        Self { servers, roots, controls }
    }

    fn spec(&self, layer: &str, options: &str, op: Op, depth: u32) -> OpenSpec {
        let member = |server: &Running| format!("tcp://{}/{layer}", server.address);
        let members: Vec<String> = self.servers.iter().map(member).collect();
        let mut spec = conformance::spec(&format!("stripe:{}?{options}", members.join(",")), op, depth);
        spec.session = sessions(&self.controls);
        spec
    }

    fn end(self) {
        self.controls.into_iter().for_each(|control| control.end().unwrap());
        self.servers.into_iter().for_each(|server| server.stop().unwrap());
        for root in &self.roots {
            assert_eq!(crate::support::names_in(root.path()), Vec::<String>::new());
        }
    }
}

fn factory(spec: &OpenSpec) -> Arc<dyn EngineFactory> {
    EngineRegistry::for_user().factory(&spec.target, None).unwrap()
}

fn conforms(layer: &str, op: Op) {
    let pair = Pair::start(|options| options);
    for options in ["unit=4KiB", "unit=512", "unit=64KiB&peer_depth=2"] {
        let spec = pair.spec(layer, options, op, 8);
        conformance::run(factory(&spec).as_ref(), &spec);
    }
    pair.end();
}

#[test]
fn writes_over_two_stores_in_memory_conform() {
    conforms("memory", Op::Write);
}

#[test]
fn reads_over_two_stores_on_disk_conform() {
    conforms("disk", Op::Read);
}

#[test]
fn sending_into_two_sinks_conforms() {
    conforms("sink", Op::Send);
}

#[test]
fn receiving_from_two_sources_conforms() {
    conforms("source", Op::Receive);
}

#[test]
fn an_early_and_a_late_acknowledgement_are_granted_by_every_member_with_one_disk_thread_each() {
    let pair = Pair::start(|options| ServeOptions { disk_threads_max: Some(1), ..options });
    for (acknowledgement, meaning) in
        [(Acknowledgement::Early, Completion::InServerMemory), (Acknowledgement::Late, Completion::Durable)]
    {
        let mut spec = pair.spec("disk", "unit=1KiB", Op::Write, 8);
        spec.workload.acknowledgement = acknowledgement;
        let mut engine = factory(&spec).open(&spec, &conformance::worker()).unwrap();
        let granted = engine.effective().clone();
        assert_eq!((granted.acknowledgement, granted.write_completion), (Some(acknowledgement), meaning));
        let writes: Vec<_> = (0..8).map(|tag| conformance::request(Op::Write, tag, u64::from(tag))).collect();
        for tag in 0..8 {
            engine.buffer(Slot(tag)).fill(u8::try_from(tag).unwrap() + 1);
        }
        let written = conformance::complete(engine.as_mut(), &writes);
        assert!(written.iter().all(|(_, result)| *result == Ok(BLOCK_BYTES)), "{written:?}");
        // What overlaps an acknowledged write waits for it: no read sees what was there before.
        for tag in (0..8_u32).rev() {
            conformance::complete(engine.as_mut(), &[conformance::request(Op::Read, 0, u64::from(tag))]);
            let byte = u8::try_from(tag).unwrap() + 1;
            assert!(engine.buffer(Slot(0)).iter().all(|seen| *seen == byte), "block {tag}");
        }
        engine.close().unwrap();
    }
    pair.end();
}

#[test]
fn a_member_that_goes_ends_the_engine_with_its_address() {
    let mut pair = Pair::start(|options| options);
    let spec = pair.spec("memory", "unit=1KiB", Op::Write, 4);
    let mut engine = factory(&spec).open(&spec, &conformance::worker()).unwrap();
    let gone = pair.servers.remove(1);
    let address = gone.address.to_string();
    drop(pair.controls.remove(1));
    gone.stop().unwrap();
    let deadline = conformance::worker().clock.now().after(crate::support::TIMEOUT_NS);
    let mut out = narrows_engines::Completions::with_capacity(4);
    let writes: Vec<_> = (0..4).map(|tag| conformance::request(Op::Write, tag, u64::from(tag))).collect();
    engine.queue(&writes).unwrap();
    let ended = engine.commit().and_then(|()| engine.reap(4, deadline, &mut out));
    let message = ended.unwrap_err().to_string();
    assert!(message.contains(&address), "{message}");
}

#[test]
fn more_in_flight_than_a_server_contains_is_refused_with_its_figure() {
    let pair = Pair::start(|options| options);
    let mut spec = pair.spec("memory", "unit=64KiB", Op::Write, 64);
    spec.workload.block_bytes = narrows_model::Bytes(32 << 20);
    spec.workload.file_bytes = narrows_model::Bytes(64 << 20);
    spec.object_bytes = spec.workload.file_bytes;
    let message = factory(&spec).open(&spec, &conformance::worker()).err().unwrap().to_string();
    assert!(message.contains("queue depth 64") && message.contains("16"), "{message}");
    pair.end();
}
