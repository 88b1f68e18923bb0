//! Schedules by themselves: their rate, their law, how workers share them.

use super::*;
use crate::worker::tests::{assignment, device};
use narrows_testkit::statistics::goodness::{exponential, kolmogorov_smirnov};

fn offered(arrivals: Arrivals, workers: u32, clients: u32) -> Assignment {
    let folder = tempfile::tempdir().unwrap();
    let mut assignment = assignment(&device(1, Vec::new()), &folder, 1);
    assignment.cell.workload.arrivals = arrivals;
    assignment.cell.workload.workers = workers;
    assignment.cell.workload.clients = clients;
    assignment
}

fn starts(assignment: &Assignment, worker: u32, count: usize) -> Vec<u64> {
    let mut schedule = Schedule::new(assignment, worker, 5000).unwrap();
    (0..count)
        .map(|_| {
            let due_ns = schedule.due_ns();
            schedule.advance();
            due_ns
        })
        .collect()
}

#[test]
fn a_closed_loop_has_no_schedule() {
    assert!(Schedule::new(&offered(Arrivals::Closed, 1, 1), 0, 0).is_none());
}

#[test]
fn constant_arrivals_of_all_workers_and_clients_interleave_evenly() {
    let mut all = Vec::new();
    for client_index in 0..2 {
        let mut assignment = offered(Arrivals::Constant { ops_per_s: 1e6 }, 3, 2);
        assignment.client_index = client_index;
        for worker in 0..3 {
            all.extend(starts(&assignment, worker, 100));
        }
    }
    all.sort_unstable();
    let even: Vec<u64> = (0..600).map(|index| 5000 + index * 1000).collect();
    assert_eq!(all, even);
}

#[test]
fn constant_arrivals_do_not_drift() {
    let mut schedule = Schedule::new(&offered(Arrivals::Constant { ops_per_s: 3.0 }, 1, 1), 0, 0).unwrap();
    assert_eq!(schedule.pass_over(3_000_000_000_000, |_, _| ()), 9000);
    assert_eq!(schedule.due_ns(), 3_000_000_000_000);
}

#[test]
fn gaps_of_poisson_arrivals_are_exponential() {
    let due_ns = starts(&offered(Arrivals::Poisson { ops_per_s: 2000.0 }, 2, 1), 0, 20_001);
    let gaps: Vec<f64> = due_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    // Two workers: a thousand a second each.
    assert!(!kolmogorov_smirnov(&gaps, exponential(1e6)).unwrap().is_refused(0.01));
    assert!(kolmogorov_smirnov(&gaps, exponential(1.05e6)).unwrap().is_refused(0.001));
}

#[test]
fn the_arrivals_of_several_workers_together_are_poisson_again() {
    let assignment = offered(Arrivals::Poisson { ops_per_s: 4000.0 }, 4, 1);
    let mut all: Vec<u64> = (0..4).flat_map(|worker| starts(&assignment, worker, 5000)).collect();
    all.sort_unstable();
    // Beyond the earliest end of a worker the sum is thinner.
    let gaps: Vec<f64> = all[..18_000].windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    assert!(!kolmogorov_smirnov(&gaps, exponential(250_000.0)).unwrap().is_refused(0.01));
}

#[test]
fn a_backlog_is_what_is_due_before_the_end() {
    let mut schedule = Schedule::new(&offered(Arrivals::Constant { ops_per_s: 1000.0 }, 1, 1), 0, 0).unwrap();
    let mut due_ms = Vec::new();
    let mut pass_over =
        || schedule.pass_over(10_000_000, |due_ns, count| due_ms.push((due_ns / 1_000_000, count)));
    assert_eq!((pass_over(), pass_over()), (10, 0));
    assert!(due_ms.into_iter().eq((0..10).map(|due_ms| (due_ms, 1))));
    assert_eq!(schedule.due_ns(), 10_000_000);
}

#[test]
fn an_absurd_backlog_is_reckoned_and_not_counted_one_by_one() {
    let mut schedule = Schedule::new(&offered(Arrivals::Poisson { ops_per_s: 1e12 }, 1, 1), 0, 0).unwrap();
    let mut passed = (0, 0);
    let count = schedule.pass_over(3_600_000_000_000, |due_ns, count| passed = (due_ns, passed.1 + count));
    assert!(passed.0.abs_diff(3_600_000_000_000) < 2000 && passed.1 == count, "{passed:?} of {count}");
    let count = count as f64;
    assert!((count / 3.6e15 - 1.0).abs() < 1e-3, "{count}");
}
