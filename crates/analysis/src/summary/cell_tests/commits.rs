//! The times of commits: of durable writes, of syncs by themselves, of none.

use super::*;
use narrows_model::summary::CommitCall;
use narrows_model::workload::SyncPolicy;

fn times(ns: u64, count: u64) -> Histogram {
    let mut times = Histogram::new();
    times.record_n(ns, count);
    times
}

/// The call, the number of commits and their median in microseconds.
fn commit(cell: &Cell, trials: Vec<TrialOutput>) -> Option<(CommitCall, u64, u64)> {
    let found = summary_of(cell, trials, Vec::new()).commit?;
    Some((found.call, found.count, found.latency_ns.p50? / 1_000))
}

fn writing(sync: SyncPolicy) -> Cell {
    let mut cell = a_cell();
    (cell.workload.op, cell.workload.sync) = (Op::Write, sync);
    cell
}

#[test]
fn a_sync_after_writes_is_timed_without_them_over_all_trials() {
    let cell = writing(SyncPolicy::Every(4));
    let with = |index, ns| TrialOutput { syncs: Some(times(ns, 250)), ..trial(&cell, index, 1_000) };
    let (call, count, p50_us) = commit(&cell, vec![with(0, 300_000), with(1, 300_000)]).unwrap();
    assert_eq!((call, count), (CommitCall::Sync, 500));
    assert!((298..=304).contains(&p50_us), "{p50_us}: the writes take 1000");
}

#[test]
fn a_durable_write_is_its_own_commit() {
    let cell = writing(SyncPolicy::Dsync);
    let (call, count, p50_us) = commit(&cell, vec![trial(&cell, 0, 700)]).unwrap();
    assert_eq!((call, count), (CommitCall::Write, 700));
    assert!((990..=1_010).contains(&p50_us), "{p50_us}");
}

#[test]
fn of_a_mix_only_what_waits_counts() {
    let kind = |op, count, ns| OpTotals {
        op,
        block_bytes: Bytes(BLOCK),
        op_count: count,
        bytes: Bytes(count * BLOCK),
        response: times(ns, count),
    };
    let share = |op: Op, weight: f64| OpShare { op, weight };
    let mixed = |sync, by_kind: Vec<OpTotals>| {
        let mut cell = writing(sync);
        cell.workload.op_mix = by_kind.iter().map(|kind| share(kind.op, 1.0)).collect();
        commit(&cell, vec![TrialOutput { by_kind, ..trial(&cell, 0, 100) }])
    };
    let durable = vec![kind(Op::Read, 50, 10_000), kind(Op::Write, 50, 2_000_000)];
    let found = mixed(SyncPolicy::Dsync, durable.clone()).unwrap();
    assert_eq!((found.0, found.1, found.2 / 100), (CommitCall::Write, 50, 20));
    let synced = vec![kind(Op::Write, 90, 10_000), kind(Op::Sync, 10, 4_000_000)];
    let found = mixed(SyncPolicy::None, synced).unwrap();
    assert_eq!((found.0, found.1, found.2 / 100), (CommitCall::Sync, 10, 40));
    assert_eq!(mixed(SyncPolicy::None, durable), None);
}

#[test]
fn a_load_that_waits_for_no_durability_has_no_commit() {
    for sync in [SyncPolicy::None, SyncPolicy::AtEnd] {
        let cell = writing(sync);
        assert_eq!(commit(&cell, vec![trial(&cell, 0, 100)]), None);
    }
    let mut reads = writing(SyncPolicy::Dsync);
    reads.workload.op = Op::Read;
    assert_eq!(commit(&reads, vec![trial(&reads, 0, 100)]), None);
}
