//! What only `sim` promises; the rest is in the conformance suite.

use super::*;
use crate::clock::VirtualClock;
use crate::conformance::{self, request, spec};
use narrows_model::sim_profile::{Fault, StationLaw};
use narrows_model::{Nanos, Op};

/// A machine whose device takes 1 ms an operation, one at a time, and nothing else takes any time.
fn one_millisecond() -> SimProfile {
    let free = StationLaw::default();
    SimProfile {
        name: "one millisecond".to_owned(),
        client_cpus: 1.0,
        generator: free.clone(),
        client_cpu: free.clone(),
        network: None,
        server_cpus: 1.0,
        server_cpu: free,
        device: StationLaw { per_op_ns: Nanos(1_000_000), ..StationLaw::default() },
        device_ops_per_s: None,
        cache: narrows_model::sim_profile::CacheLaw::default(),
        shared_machine: false,
        machine_cpus: 1,
        faults: Vec::new(),
        file_bytes: Bytes(1 << 30),
    }
}

/// An engine on `profile` in virtual time, with its clock.
fn engine(profile: &SimProfile, queue_depth: u32) -> (Box<dyn Engine>, Arc<VirtualClock>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.json");
    std::fs::write(&path, serde_json::to_string(profile).unwrap()).unwrap();
    let clock = Arc::new(VirtualClock::default());
    let context = WorkerContext {
        client_index: 0,
        worker_index: 0,
        seed: 1,
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        stop: crate::StopFlag::default(),
    };
    let mut spec = spec(&format!("sim:{}", path.display()), Op::Read, queue_depth);
    spec.workload.access = Access::Direct;
    (SimFactory::default().open(&spec, &context).unwrap(), clock)
}

#[test]
fn it_conforms() {
    for machine in narrows_sim::BUILTIN {
        let mut spec = spec(&format!("sim:{}", machine.id), Op::Read, 4);
        spec.create = false;
        conformance::run(&SimFactory::default(), &spec);
    }
}

#[test]
fn a_request_completes_when_the_law_says() {
    let (mut engine, clock) = engine(&one_millisecond(), 1);
    let mut out = Completions::with_capacity(1);
    engine.queue(&[request(Op::Read, 0, 0)]).unwrap();
    engine.commit().unwrap();
    engine.reap(1, Tick(999_999), &mut out).unwrap();
    assert!(out.is_empty(), "not before its time");
    engine.reap(1, Tick(u64::MAX), &mut out).unwrap();
    assert_eq!(clock.now(), Tick(1_000_000));
}

#[test]
fn requests_in_flight_wait_for_each_other_at_the_device() {
    let (mut engine, clock) = engine(&one_millisecond(), 4);
    let requests: Vec<_> = (0..4).map(|tag| request(Op::Read, tag, u64::from(tag))).collect();
    engine.queue(&requests).unwrap();
    engine.commit().unwrap();
    let mut out = Completions::with_capacity(4);
    engine.reap(4, Tick(u64::MAX), &mut out).unwrap();
    assert_eq!((out.len(), clock.now()), (4, Tick(4_000_000)));
}

#[test]
fn a_declared_fault_arrives_as_its_error() {
    let mut profile = one_millisecond();
    profile.faults = vec![Fault::Error { every: 2, errno: "ENOSPC".to_owned() }];
    let (mut engine, _clock) = engine(&profile, 1);
    let mut failed = Vec::new();
    for tag in 0..10 {
        let mut out = Completions::with_capacity(1);
        engine.queue(&[IoRequest { tag, slot: Slot(0), ..request(Op::Read, 0, 0) }]).unwrap();
        engine.commit().unwrap();
        engine.reap(1, Tick(u64::MAX), &mut out).unwrap();
        failed.extend(out.as_slice().iter().filter_map(|done| done.result.err()).map(Errno::name));
    }
    assert_eq!(failed, vec!["ENOSPC"; 5]);
}

#[test]
fn an_unknown_machine_names_the_known_ones() {
    let error = SimFactory::default().capabilities(&"sim:nowhere".parse().unwrap()).unwrap_err().to_string();
    assert!(error.contains(narrows_sim::BUILTIN[0].id), "{error}");
}

#[test]
fn a_profile_that_is_no_short_regular_file_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    let long = std::fs::File::create(at("long")).unwrap();
    long.set_len(PROFILE_BYTES_MAX + 1).unwrap();
    for (path, words) in [
        (at("pipe"), "Invalid argument"),
        (at("long"), "File too large"),
        ("/dev/zero".into(), "Invalid argument"),
    ] {
        let error = read_profile(path.to_str().unwrap()).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("gigabit-nfs"), "{error}");
    }
}
