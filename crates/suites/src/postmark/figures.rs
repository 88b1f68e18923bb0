//! The figures of a run: how often each kind of operation was done, on how many bytes, in how much time, and how it ended.

use super::plan::PostmarkPhase;
use super::report::PostmarkTotals;
use super::settings::PostmarkSettings;
use crate::suite_load::CELL_NS_MAX;
use narrows_model::summary::{CellSummary, KindSummary};
use narrows_model::units::round_to_u64;
use narrows_model::{Cut, Op, Summary};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PostmarkEnd {
    /// All that was asked for was done.
    Whole,
    /// The last file was deleted before the last transaction.
    OutOfFiles,
    /// It was stopped, or operations failed, in this phase or before it.
    Broken(PostmarkPhase),
}

/// What a run did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PostmarkOutcome {
    pub(super) tally: PostmarkTotals,
    pub(super) end: PostmarkEnd,
}

/// The cell of `phase`, where it did something.
pub(super) fn cell_of(summary: &Summary, phase: PostmarkPhase) -> Option<&CellSummary> {
    let is_it = |cell: &&CellSummary| cell.cut == Cut::Path && cell.phase.as_deref() == Some(phase.name());
    summary.cells.iter().find(is_it).filter(|cell| cell.ops_per_s.is_some())
}

/// What the run of `summary` did, which had these settings.
pub(super) fn outcome(summary: &Summary, settings: &PostmarkSettings) -> PostmarkOutcome {
    let [create, work, delete] = PostmarkPhase::ALL.map(|phase| cell_of(summary, phase));
    let kind = |op: Op| work.map_or((0, 0), |cell| of_kind(cell, op));
    let ((created_mixed, put_bytes), (read, bytes_read)) = (kind(Op::Put), kind(Op::Get));
    let ((appended, append_bytes), (deleted_mixed, _)) = (kind(Op::Append), kind(Op::Delete));
    let (created_alone, created_bytes) = create.map_or((0, 0), done);
    let times = [create, work, delete].map(|cell| cell.map_or(0.0, elapsed_s));
    let tally = PostmarkTotals {
        total_s: times.iter().sum(),
        creation_s: times[0],
        transactions_s: times[1],
        deletion_s: times[2],
        transactions: settings.transactions,
        created_alone,
        created_mixed,
        read,
        appended,
        deleted_alone: delete.map_or(0, |cell| done(cell).0),
        deleted_mixed,
        bytes_read,
        bytes_written: created_bytes + put_bytes + append_bytes,
    };
    PostmarkOutcome { tally, end: end(&tally, settings, work.is_some()) }
}

fn end(tally: &PostmarkTotals, settings: &PostmarkSettings, has_transactions: bool) -> PostmarkEnd {
    let longest_s = CELL_NS_MAX.as_secs_f64();
    if tally.created_alone < settings.number {
        return PostmarkEnd::Broken(PostmarkPhase::Create);
    }
    if !has_transactions || tally.transactions_s >= longest_s {
        return PostmarkEnd::Broken(PostmarkPhase::Transactions);
    }
    let left = (tally.created_alone + tally.created_mixed).saturating_sub(tally.deleted_mixed);
    if left == 0 && tally.created_mixed + tally.deleted_mixed < settings.transactions {
        return PostmarkEnd::OutOfFiles;
    }
    if tally.deleted_alone < left { PostmarkEnd::Broken(PostmarkPhase::Delete) } else { PostmarkEnd::Whole }
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
