//! Requests of several kinds: what is counted under which kind, and what each is checked against.

use super::*;
use narrows_model::Op;
use narrows_model::workload::{BlockShare, OpShare};

fn mixed(folder: &tempfile::TempDir, ops: &[(Op, f64)], blocks: &[(u64, f64)]) -> Assignment {
    let mut assignment = assignment(&device(4, Vec::new()), folder, 4);
    let workload = &mut assignment.cell.workload;
    workload.op_mix = ops.iter().map(|(op, weight)| OpShare { op: *op, weight: *weight }).collect();
    workload.block_mix = blocks
        .iter()
        .map(|(bytes, weight)| BlockShare { block_bytes: Bytes(*bytes), weight: *weight })
        .collect();
    workload.block_bytes = Bytes(blocks.iter().map(|(bytes, _)| *bytes).max().unwrap_or(4096));
    assignment
}

#[test]
fn totals_by_kind_add_up_to_the_worker() {
    let folder = tempfile::tempdir().unwrap();
    let mixed = mixed(&folder, &[(Op::Read, 7.0), (Op::Write, 3.0)], &[(4096, 1.0), (16_384, 1.0)]);
    let (output, _) = run(&mixed, &StopFlag::default());
    assert!(output.errors.is_empty() && output.complete, "{:?}", output.errors);
    assert_eq!(output.by_kind.len(), 4);
    assert_eq!(output.by_kind.iter().map(|kind| kind.op_count).sum::<u64>(), output.op_count);
    assert_eq!(output.by_kind.iter().map(|kind| kind.bytes.0).sum::<u64>(), output.bytes.0);
    for kind in &output.by_kind {
        assert_eq!(kind.bytes.0, kind.op_count * kind.block_bytes.0);
        assert_eq!(kind.response.count(), kind.op_count);
    }
    let reads: u64 = output.by_kind.iter().filter(|kind| kind.op == Op::Read).map(|kind| kind.op_count).sum();
    let share = reads as f64 / output.op_count as f64;
    assert!((share - 0.7).abs() < 0.05, "{share}");
}

#[test]
fn equal_requests_have_no_totals_by_kind() {
    let folder = tempfile::tempdir().unwrap();
    let (output, _) = run(&mixed(&folder, &[(Op::Read, 1.0)], &[]), &StopFlag::default());
    assert!(output.by_kind.is_empty() && output.open_loop.is_none() && output.op_count > 0);
}

#[test]
fn a_sync_in_a_mix_is_an_operation_that_moves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (output, _) = run(&mixed(&folder, &[(Op::Write, 3.0), (Op::Sync, 1.0)], &[]), &StopFlag::default());
    assert!(output.errors.is_empty(), "{:?}", output.errors);
    let syncs = output.by_kind.iter().find(|kind| kind.op == Op::Sync).unwrap();
    assert!(syncs.op_count > 0 && syncs.bytes.0 == 0 && syncs.block_bytes.0 == 0);
    assert_eq!(output.bytes.0, (output.op_count - syncs.op_count) * 4096);
}

/// Moves one byte too few where a request is as long as this.
struct Short {
    length_bytes: u32,
}

impl Twist for Short {
    fn done(&mut self, mut done: narrows_engines::IoCompletion) -> narrows_engines::IoCompletion {
        if done.result == Ok(self.length_bytes) {
            done.result = Ok(self.length_bytes - 1);
        }
        done
    }
}

#[test]
fn a_short_transfer_is_evaluated_by_its_own_length() {
    let folder = tempfile::tempdir().unwrap();
    let mixed = mixed(&folder, &[], &[(4096, 1.0), (16_384, 1.0)]);
    for (length_bytes, whole_bytes) in [(4096, 16_384), (16_384, 4096)] {
        let (output, _) =
            run_as(&mixed, &StopFlag::default(), |engine| Box::new(Twisted(engine, Short { length_bytes })));
        assert_eq!(output.errors[0].errno, "SHORT");
        assert!(output.errors[0].first_message.contains(&format!("{} of {length_bytes}", length_bytes - 1)));
        assert_eq!(output.bytes.0, output.op_count * whole_bytes);
    }
}

#[test]
fn a_bound_in_bytes_is_never_passed_by_a_mix() {
    let folder = tempfile::tempdir().unwrap();
    let mut mixed = mixed(&folder, &[], &[(4096, 1.0), (16_384, 1.0)]);
    mixed.cell.stop.bytes_max = Some(Bytes(1 << 20));
    let mut sum = 0;
    let (output, samples) = run(&mixed, &StopFlag::default());
    for sample in samples.iter().filter(|sample| sample.measured) {
        sum += sample.bytes.0;
    }
    assert!(sum <= 1 << 20 && sum > (1 << 20) - 16_384, "{sum}");
    assert!(output.complete);
}
