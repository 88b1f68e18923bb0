//! What a control connection reports, and cells that run at the server.

use crate::support::{Running, TERMS, names_in, open, options, pass, server_cell, workload};
use narrows_engines::{Clock, MonotonicClock};
use narrows_model::{Event, Layer, Nanos, Op, Role, Stop, Target};

#[test]
fn facts_name_the_machine_and_the_store() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    let control = server.control();
    let facts = control.facts();
    assert!(facts.shares_machine, "{facts:?}");
    assert_eq!(facts.address, server.address.to_string());
    assert!(
        !facts.affinity_cpus.is_empty() && facts.store_device.as_ref().is_some_and(|id| id.contains(':'))
    );
    assert_eq!(facts.store_root.as_deref(), root.path().canonicalize().unwrap().to_str());
    assert!(control.inventory().path.is_some(), "{:?}", control.inventory().unknown);
    assert_eq!(control.session().len(), 32);
}

#[test]
fn two_clocks_of_one_machine_agree_within_the_stated_error() {
    let server = Running::start(options());
    let control = server.control();
    let facts = control.facts();
    assert!(facts.round_trip_ns.0 > 0);
    assert!(facts.clock_offset_ns.unsigned_abs() <= facts.clock_offset_error_ns.0 + 1, "{facts:?}");
}

#[test]
fn counters_charge_the_servers_process_and_only_this_sessions_connections() {
    let server = Running::start(options());
    let mut control = server.control();
    let _stranger = open(&server.spec(Layer::Memory, workload(Op::Write, 4096, 1))).unwrap();
    let before = control.counters().unwrap();
    assert_eq!((before.role, before.tcp), (Role::Server, None));
    assert!(before.process_cpu.is_some() && before.host_cpu.is_some());
    let mut spec = server.spec(Layer::Memory, workload(Op::Write, 4096, 4));
    spec.session = Some(control.session().to_owned());
    let mut engine = open(&spec).unwrap();
    pass(engine.as_mut(), Op::Write, 4096, 100);
    let during = control.counters().unwrap();
    assert!(during.at_ns >= before.at_ns);
    assert_eq!(during.tcp.as_ref().unwrap().connection_count, 1);
    engine.close().unwrap();
    let after = control.counters().unwrap().tcp.unwrap();
    assert!(after.received_bytes >= during.tcp.unwrap().received_bytes, "what ended stays counted");
}

#[test]
fn a_cell_runs_in_the_servers_own_store_and_its_events_arrive() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    let mut control = server.control();
    let cell = server_cell(Target::File { path: ".".into() });
    let mut events = Vec::new();
    control.run_cell(&cell, TERMS, &mut |event| events.push(event), &|| false).unwrap();
    let outputs: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::TrialFinished(output) => Some(output),
            _ => None,
        })
        .collect();
    assert_eq!(outputs.len(), 2);
    assert!(outputs.iter().all(|output| output.op_count > 0 && output.cell == cell.id), "{outputs:?}");
    assert!(outputs[0].counters.iter().any(|pair| pair.after.role == Role::Server));
    control.counters().unwrap();
    control.end().unwrap();
    assert_eq!(names_in(root.path()), [""; 0]);
}

#[test]
fn a_cell_stops_when_the_client_wishes_and_the_conversation_continues() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    let mut control = server.control();
    let mut cell = server_cell(Target::File { path: ".".into() });
    cell.stop = Stop {
        warm_up_ns: Nanos(0),
        measure_ns: Nanos::from_secs_f64(600.0),
        bytes_max: None,
        ops_max: None,
    };
    let _ = control.run_cell(&cell, TERMS, &mut |_| {}, &|| true);
    control.counters().unwrap();
}

#[test]
fn a_server_runs_no_cell_outside_its_store() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    let mut control = server.control();
    for target in ["/etc", "../x", "sim:disk", "tcp://127.0.0.1:1/sink"] {
        let cell = server_cell(target.parse().unwrap());
        let ran = control.run_cell(&cell, TERMS, &mut |_| {}, &|| false);
        assert!(ran.is_err(), "{target}");
    }
    control.counters().unwrap();
}

#[test]
fn counters_report_the_limited_threads_of_the_disk_store_and_the_requests_that_they_served() {
    let root = tempfile::tempdir().unwrap();
    let root = Some(root.path().to_owned());
    let server =
        Running::start(narrows_endpoint::ServeOptions { root, disk_threads_max: Some(1), ..options() });
    let mut control = server.control();
    let before = control.counters().unwrap().workers.unwrap();
    assert_eq!((before.worker_count, before.served_count), (0, 0));
    let mut spec = server.spec(Layer::Disk, workload(Op::Write, 4096, 4));
    spec.session = Some(control.session().to_owned());
    let mut engine = open(&spec).unwrap();
    pass(engine.as_mut(), Op::Write, 4096, 100);
    // A write may be answered when it has been received, so that the last ones are still served.
    let clock = MonotonicClock::new();
    let mut during = control.counters().unwrap().workers.unwrap();
    for _ in 0..500 {
        if during.served_count >= 100 {
            break;
        }
        clock.wait_until(clock.now().after(10_000_000));
        during = control.counters().unwrap().workers.unwrap();
    }
    assert_eq!(during.worker_count, 1, "four threads wait for one turn");
    assert!(during.served_count >= 100 && during.busy_ns.0 > 0, "{during:?}");
    engine.close().unwrap();
}
