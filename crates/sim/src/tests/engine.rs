//! The due times that an engine gets, against the simulator.

use super::*;

/// Runs a closed loop on [`Machine::submit`] as an engine does: the next request is sent when one completes.
fn engine_rate_per_s(profile: &SimProfile, op: Op, bytes: u64, depth: u32) -> f64 {
    const REQUESTS: u32 = 8_000;
    let mut machine = Machine::new(profile.clone(), 5).unwrap().with_access(Access::Direct);
    let mut due = BinaryHeap::new();
    let mut submit = |now_ns| {
        let outcome = machine.submit(op, bytes, Cut::Path, now_ns);
        assert_eq!(outcome.outcome, RequestOutcome::Done);
        std::cmp::Reverse(outcome.due_ns)
    };
    due.extend((0..depth).map(|_| submit(0)));
    let mut warm_ns = 0;
    let mut now_ns = 0;
    for index in 0..REQUESTS {
        now_ns = due.pop().unwrap().0;
        if index == REQUESTS / 4 {
            warm_ns = now_ns;
        }
        due.push(submit(now_ns));
    }
    f64::from(REQUESTS - 1 - REQUESTS / 4) / ((now_ns - warm_ns) as f64 / 1e9)
}

#[test]
fn the_machine_of_an_engine_transfers_what_the_simulator_says() {
    for machine in BUILTIN {
        let mut profile = machine.profile();
        // Rare misses at a slow disk would need many more requests to show their rate.
        profile.cache.server_hit_ratio = profile.cache.server_hit_ratio.min(0.5);
        for (bytes, depth) in [(4096, 1), (4096, 16), (1 << 20, 8)] {
            for op in [Op::Read, Op::Write] {
                let simulated = rate_per_s(&run(&profile, cell(Cut::Path, op, bytes, depth)));
                let engine = engine_rate_per_s(&profile, op, bytes, depth);
                assert!(
                    near(engine, simulated, 0.05),
                    "{} {op} {bytes} at {depth}: engine {engine}, simulator {simulated}",
                    machine.id
                );
            }
        }
    }
}

#[test]
fn a_machine_reports_errors_by_name_and_hangs() {
    let faults = vec![Fault::Error { every: 2, errno: "ENOSPC".to_owned() }, Fault::Hang { after: 3 }];
    let mut machine = Machine::new(SimProfile { faults, ..machine(0.0) }, 1).unwrap();
    let fates: Vec<RequestOutcome> =
        (0..4).map(|index| machine.submit(Op::Write, 4096, Cut::Path, index).outcome).collect();
    assert_eq!(
        fates,
        [
            RequestOutcome::Done,
            RequestOutcome::Failed("ENOSPC".to_owned()),
            RequestOutcome::Done,
            RequestOutcome::Never
        ]
    );
    assert_eq!(machine.submit(Op::Write, 4096, Cut::Path, 9).due_ns, u64::MAX);
    assert_eq!(machine.submit(Op::Write, 4096, Cut::ServerMemory, 9).outcome, RequestOutcome::Done);
}

#[test]
fn where_nothing_overtakes_an_engine_and_the_simulator_agree_to_the_nanosecond() {
    let mut bounded = cell(Cut::Path, Op::Read, 65_536, 6);
    bounded.stop.warm_up_ns = Nanos(0);
    bounded.stop.ops_max = Some(600);
    let simulated = run(&machine(0.8), bounded);
    let mut machine = Machine::new(machine(0.8), SEED).unwrap().with_access(Access::Direct);
    let mut due = BinaryHeap::new();
    let mut last_ns = 0;
    for index in 0..600 {
        let now_ns = if index < 6 { 0 } else { due.pop().map_or(0, |std::cmp::Reverse(due_ns)| due_ns) };
        let due_ns = machine.submit(Op::Read, 65_536, Cut::Path, now_ns).due_ns;
        last_ns = last_ns.max(due_ns);
        due.push(std::cmp::Reverse(due_ns));
    }
    assert_eq!((simulated.op_count, simulated.last_done_ns.0), (600, last_ns));
}
