//! The figures of a run: how often each kind of operation was done, on how many bytes, in how much time, and how it ended.

use super::options::Options;
use super::plan::Phase;
use super::report::Tally;
use crate::beside::CELL_NS_MAX;
use narrows_model::summary::{CellSummary, KindSummary};
use narrows_model::units::round_to_u64;
use narrows_model::{Cut, Op, Summary};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// All that was asked for was done.
    Whole,
    /// The last file was deleted before the last transaction.
    OutOfFiles,
    /// It was stopped, or operations failed, in this phase or before it.
    Broken(Phase),
}

/// What a run did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    pub(super) tally: Tally,
    pub(super) end: End,
}

/// The cell of `phase`, where it did something.
pub(super) fn cell_of(summary: &Summary, phase: Phase) -> Option<&CellSummary> {
    let is_it = |cell: &&CellSummary| cell.cut == Cut::Path && cell.phase.as_deref() == Some(phase.name());
    summary.cells.iter().find(is_it).filter(|cell| cell.ops_per_s.is_some())
}

/// What the run of `summary` did.
pub(super) fn outcome(summary: &Summary, options: &Options) -> Outcome {
    let [create, work, delete] = Phase::ALL.map(|phase| cell_of(summary, phase));
    let kind = |op: Op| work.map_or((0, 0), |cell| of_kind(cell, op));
    let ((created_mixed, put_bytes), (read, bytes_read)) = (kind(Op::Put), kind(Op::Get));
    let ((appended, append_bytes), (deleted_mixed, _)) = (kind(Op::Append), kind(Op::Delete));
    let (created_alone, created_bytes) = create.map_or((0, 0), done);
    let times = [create, work, delete].map(|cell| cell.map_or(0.0, elapsed_s));
    let tally = Tally {
        total_s: times.iter().sum(),
        creation_s: times[0],
        transactions_s: times[1],
        deletion_s: times[2],
        transactions: options.transactions,
        created_alone,
        created_mixed,
        read,
        appended,
        deleted_alone: delete.map_or(0, |cell| done(cell).0),
        deleted_mixed,
        bytes_read,
        bytes_written: created_bytes + put_bytes + append_bytes,
    };
    Outcome { tally, end: end(&tally, options, work.is_some()) }
}

fn end(tally: &Tally, options: &Options, has_transactions: bool) -> End {
    let longest_s = CELL_NS_MAX.as_secs_f64();
    if tally.created_alone < options.number {
        return End::Broken(Phase::Create);
    }
    if !has_transactions || tally.transactions_s >= longest_s {
        return End::Broken(Phase::Transactions);
    }
    let left = (tally.created_alone + tally.created_mixed).saturating_sub(tally.deleted_mixed);
    if left == 0 && tally.created_mixed + tally.deleted_mixed < options.transactions {
        return End::OutOfFiles;
    }
    if tally.deleted_alone < left { End::Broken(Phase::Delete) } else { End::Whole }
}

/// Operations and bytes of a phase of one kind.
fn done(cell: &CellSummary) -> (u64, u64) {
    let clients = cell.per_client.iter();
    clients.fold((0, 0), |(ops, bytes), client| (ops + client.ops, bytes + client.bytes.0))
}

/// Operations and bytes of one kind of the transactions; where they have one kind alone, the cell has no others.
fn of_kind(cell: &CellSummary, op: Op) -> (u64, u64) {
    if let Some(kind) = cell.kinds.iter().find(|kind| kind.op == op) {
        return (kind.op_count, bytes_of(kind));
    }
    let is_only = cell.kinds.is_empty() && cell.requested.ops().iter().all(|share| share.op == op);
    if is_only { done(cell) } else { (0, 0) }
}

/// Bytes of a kind: its two rates are over the same time, and their quotient is bytes an operation.
fn bytes_of(kind: &KindSummary) -> u64 {
    let each = kind.rate_bytes_per_s.zip(kind.ops_per_s).map(|(bytes, ops)| bytes.0 / ops.0);
    each.map_or(0, |each| round_to_u64((each * kind.op_count as f64).round()))
}

pub(super) fn elapsed_s(cell: &CellSummary) -> f64 {
    cell.trials.iter().map(|trial| trial.elapsed_s).sum()
}
