//! The course of a simulated run: its events, bounds, faults and refusals.

use super::*;

#[test]
fn events_come_in_the_order_of_a_run() {
    let events = events(&machine(0.5), vec![cell(Cut::Path, Op::Read, 4096, 2)]);
    let mut names: Vec<String> = events
        .iter()
        .map(|event| match event {
            Event::RunStarted { .. } => "started".to_owned(),
            Event::ServerConnected { .. } => "server".to_owned(),
            Event::PhaseStarted { phase, .. } => format!("{phase:?}"),
            Event::Interval(sample) => format!("interval {}", sample.measured),
            Event::TrialFinished(_) => "trial".to_owned(),
            Event::RunFinished { reason, .. } => format!("{reason:?}"),
            other => format!("{other:?}"),
        })
        .collect();
    names.dedup();
    let expected = [
        "started",
        "server",
        "Prepare",
        "WarmUp",
        "interval false",
        "Measure",
        "interval true",
        "CoolDown",
        "trial",
        "Finished",
    ];
    assert_eq!(names, expected);
}

#[test]
fn the_same_seed_gives_the_same_events_and_another_one_others() {
    let profile = machine(0.7);
    let mut plan = plan(CUTS.map(|cut| cell(cut, Op::Read, 4096, 3)).to_vec());
    let first = simulate(&profile, &plan).unwrap();
    assert_eq!(first, simulate(&profile, &plan).unwrap());
    plan.seed += 1;
    assert_ne!(first, simulate(&profile, &plan).unwrap());
}

#[test]
fn an_operation_limit_is_exact_and_keeps_the_rate() {
    let mut limited = cell(Cut::Path, Op::Write, 4096, 2);
    limited.stop.warm_up_ns = Nanos(0);
    limited.stop.bytes_max = Some(Bytes(4096 * 500));
    let output = run(&machine(0.0), limited);
    assert_eq!((output.op_count, output.complete), (500, true));
}

#[test]
fn a_capped_load_runs_at_its_cap() {
    let mut capped = cell(Cut::Path, Op::Read, 4096, 4);
    capped.workload.max_bytes_per_s = Some(4096 * 1_000);
    let output = run(&machine(0.5), capped);
    assert!(near(rate_per_s(&output), 1_000.0, 0.01), "{}", rate_per_s(&output));
}

#[test]
fn declared_errors_appear_as_often_as_declared_and_move_nothing() {
    let faults = vec![Fault::Error { every: 10, errno: "EIO".to_owned() }];
    let output = run(&SimProfile { faults, ..machine(0.2) }, cell(Cut::Path, Op::Write, 4096, 4));
    let failed = output.errors.iter().find(|error| error.errno == "EIO").unwrap().count;
    assert!(near(failed as f64, output.op_count as f64 / 9.0, 0.01), "{failed} of {}", output.op_count);
    let written = grew(pair(&output, Role::Server), |sample| sample.disks[0].write_bytes.0);
    assert_eq!(written, output.op_count * 4096);
}

#[test]
fn declared_stalls_lengthen_one_response_in_so_many() {
    let faults = vec![Fault::Stall { every: 100, extra_ns: Nanos::from_millis(5) }];
    let output = run(&SimProfile { faults, ..machine(0.0) }, cell(Cut::Path, Op::Read, 4096, 1));
    assert!(output.response.quantile_ns(0.98).unwrap() < 1_000_000);
    assert!(output.response.max_ns().unwrap() > 5_000_000);
    let output = run(&SimProfile { faults: Vec::new(), ..machine(0.0) }, cell(Cut::Path, Op::Read, 4096, 1));
    assert!(output.response.max_ns().unwrap() < 1_000_000);
}

#[test]
fn a_declared_hang_leaves_the_trial_incomplete_and_the_run_failed() {
    let faults = vec![Fault::Hang { after: 4_000 }];
    let mut repeated = cell(Cut::Path, Op::Read, 4096, 4);
    repeated.trials = 3;
    let events = events(&SimProfile { faults, ..machine(0.0) }, vec![repeated]);
    let outputs = trials(&events);
    assert_eq!(outputs.len(), 1);
    assert!(!outputs[0].complete);
    assert_eq!(
        outputs[0].errors.iter().map(|error| (error.errno.as_str(), error.count)).collect::<Vec<_>>(),
        [("ETIMEDOUT", 4)]
    );
    assert!(events.iter().any(|event| matches!(event, Event::CellFailed { .. })));
    assert!(matches!(events.last(), Some(Event::RunFinished { reason: EndReason::Failed, .. })));
}

#[test]
fn a_cut_that_the_machine_lacks_is_skipped_with_a_reason() {
    for (profile, cut) in [(local(machine(0.0)), Cut::ServerMemory), (machine(0.0), Cut::LocalDevice)] {
        let events = events(&profile, vec![cell(cut, Op::Read, 4096, 1)]);
        assert!(
            events.iter().any(|event| matches!(event, Event::CellSkipped(skip) if !skip.reason.is_empty()))
        );
        assert!(trials(&events).is_empty());
    }
}

#[test]
fn cells_past_the_budget_are_skipped() {
    let mut plan = plan(vec![cell(Cut::Path, Op::Read, 4096, 1), cell(Cut::Path, Op::Write, 4096, 1)]);
    plan.budget_ns = Nanos::from_millis(100);
    let events = simulate(&machine(0.0), &plan).unwrap();
    let skipped = CellId("path/write/4KiB/qd1/c1".to_owned());
    assert!(events.iter().any(|event| matches!(event, Event::CellSkipped(skip) if skip.cell == skipped)));
    assert!(matches!(events.last(), Some(Event::RunFinished { reason: EndReason::BudgetSpent, .. })));
}

#[test]
fn impossible_profiles_and_cells_are_refused_by_name() {
    let base = machine(0.0);
    let cases = [
        (SimProfile { client_cpus: 0.0, ..base.clone() }, "client_cpus is 0"),
        (SimProfile { server_cpus: f64::NAN, ..base.clone() }, "server_cpus is NaN"),
        (SimProfile { shared_machine: true, machine_cpus: 0, ..base.clone() }, "machine_cpus is 0"),
        (SimProfile { device_ops_per_s: Some(OpsPerSec(0.0)), ..base.clone() }, "device_ops_per_s"),
        (
            SimProfile { device: StationLaw { parallel: 0, ..law(1, 0.0) }, ..base.clone() },
            "device.parallel is 0",
        ),
        (SimProfile { generator: law(1, -1.0), ..base.clone() }, "generator.variation is -1"),
        (
            SimProfile { cache: CacheLaw { client_hit_ratio: 1.5, ..CacheLaw::default() }, ..base.clone() },
            "1.5",
        ),
        (
            SimProfile { faults: vec![Fault::Stall { every: 0, extra_ns: Nanos(1) }], ..base },
            "faults[0].every",
        ),
    ];
    for (profile, part) in cases {
        let message = simulate(&profile, &plan(Vec::new())).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    let message =
        simulate(&machine(0.0), &plan(vec![cell(Cut::Path, Op::Read, 1, 0)])).unwrap_err().to_string();
    assert!(message.contains("queue_depth is 0"), "{message}");
}

#[test]
fn warm_up_is_not_measured() {
    let events = events(&machine(0.0), vec![cell(Cut::Path, Op::Read, 4096, 1)]);
    let at = |wanted: Phase| {
        events.iter().find_map(|event| match event {
            Event::PhaseStarted { phase, at_ns, .. } if *phase == wanted => Some(at_ns.0),
            _ => None,
        })
    };
    let warm_ns = at(Phase::Measure).unwrap() - at(Phase::WarmUp).unwrap();
    assert!((300_000_000..301_000_000).contains(&warm_ns), "{warm_ns}");
    assert_eq!(trials(&events)[0].start_ns.0, at(Phase::Measure).unwrap());
}
