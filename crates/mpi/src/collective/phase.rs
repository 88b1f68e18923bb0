//! A phase of a suite: what each rank moved in which time, known to all ranks, and the lines that originals print of it.

use crate::calls::RankTransfer;
use crate::gathered::gathered_numbers;
use mpi::topology::SimpleCommunicator;
use narrows_model::collective::{CollectivePhase, PhaseSync, RankPhase};
use narrows_model::{Bytes, BytesPerSec, Nanos, Op};

/// What the originals call a megabyte, but for coll-perf.
pub(super) const MEGABYTE: f64 = 1e6;

/// A phase as one rank saw it.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnPhase {
    /// Writes or reads.
    pub(super) op: Op,
    pub(super) transfer: RankTransfer,
    /// Timed calls of each rank.
    pub(super) call_count: u64,
    /// Where writes were synced.
    pub(super) sync: Option<PhaseSync>,
    /// Bytes that this rank moved.
    pub(super) bytes: u64,
    /// Time within its calls, all of them together.
    pub(super) transfer_s: f64,
    /// Time within the calls that opened and closed the file, where the suite times them.
    pub(super) file_s: Option<FileSeconds>,
    /// Elements that differed, where they were compared.
    pub(super) wrong_count: Option<u64>,
}

/// Time within the calls that opened and closed the file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FileSeconds {
    pub(super) open_s: f64,
    pub(super) close_s: f64,
}

impl OwnPhase {
    /// The same of all ranks, which all call this together.
    pub(super) fn of_all(self, world: &SimpleCommunicator) -> CollectivePhase {
        self.with_ranks(&gathered_numbers(world, self.numbers()))
    }

    /// The same where this rank is alone.
    #[cfg(test)]
    pub(super) fn of_one(self) -> CollectivePhase {
        self.with_ranks(&[self.numbers()])
    }

    /// What the others are sent of it.
    fn numbers(self) -> [u64; 5] {
        let file = self.file_s.unwrap_or_default();
        let nanos = |seconds: f64| Nanos::from_secs_f64(seconds).0;
        [
            self.bytes,
            nanos(self.transfer_s),
            nanos(file.open_s),
            nanos(file.close_s),
            self.wrong_count.unwrap_or_default(),
        ]
    }

    /// The same with the numbers of all ranks.
    fn with_ranks(self, all: &[[u64; 5]]) -> CollectivePhase {
        let timed = |ns: u64| self.file_s.map(|_| Nanos(ns));
        let rank_phase = |(rank, [bytes, transfer, open, close, _]): (u32, &[u64; 5])| RankPhase {
            rank,
            bytes: Bytes(*bytes),
            transfer_ns: Nanos(*transfer),
            open_ns: timed(*open),
            close_ns: timed(*close),
        };
        let sum = |index: usize| all.iter().fold(0, |sum: u64, rank| sum.saturating_add(rank[index]));
        let mut phase = CollectivePhase {
            op: self.op,
            is_collective: self.transfer == RankTransfer::Collective,
            call_count: self.call_count,
            bytes: Bytes(sum(0)),
            rate: None,
            sync: self.sync,
            wrong_count: self.wrong_count.map(|_| sum(4)),
            ranks: (0..).zip(all).map(rank_phase).collect(),
        };
        phase.rate = BytesPerSec::over(phase.bytes, phase.slowest_ns());
        phase
    }
}

/// Where the writes of a phase were synced.
pub(super) fn sync_of(syncs_each: bool) -> PhaseSync {
    if syncs_each { PhaseSync::EachWrite } else { PhaseSync::AfterTime }
}

/// Megabytes a second by the slowest rank.
pub(super) fn megabytes_per_s(phase: &CollectivePhase, megabyte: f64) -> f64 {
    phase.bytes.as_f64() / (phase.slowest_ns().as_secs_f64() * megabyte)
}

/// Elements of all phases that differed; `None` where nothing was compared.
pub(super) fn wrong_count<'a>(phases: impl IntoIterator<Item = &'a CollectivePhase>) -> Option<u64> {
    phases.into_iter().filter_map(|phase| phase.wrong_count).reduce(u64::saturating_add)
}

/// Times of all ranks, as the originals describe them.
#[derive(Debug, PartialEq)]
pub(super) struct TimeSpread {
    min_s: f64,
    max_s: f64,
    mean_s: f64,
    /// Of the ranks, with one less than their number as divisor; 0 of a single one.
    variance_s2: f64,
}

impl TimeSpread {
    /// Those of what `chosen` chooses of each rank.
    pub(super) fn from_ranks(phase: &CollectivePhase, chosen: impl Fn(&RankPhase) -> Nanos) -> Self {
        Self::from_seconds(&phase.ranks.iter().map(|rank| chosen(rank).as_secs_f64()).collect::<Vec<f64>>())
    }

    fn from_seconds(seconds: &[f64]) -> Self {
        let count = seconds.len().max(1) as f64;
        let mean_s = seconds.iter().sum::<f64>() / count;
        let squares: f64 = seconds.iter().map(|one| (one - mean_s) * (one - mean_s)).sum();
        Self {
            min_s: seconds.iter().copied().fold(f64::INFINITY, f64::min),
            max_s: seconds.iter().copied().fold(0.0, f64::max),
            mean_s,
            variance_s2: if seconds.len() > 1 { squares / (count - 1.0) } else { 0.0 },
        }
    }

    pub(super) fn line(&self, name: &str) -> String {
        format!(
            "# {name} min_t = {:.6}, max_t = {:.6}, mean_t = {:.6}, var_t = {:.6}\n",
            self.min_s, self.max_s, self.mean_s, self.variance_s2
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_described_by_their_ends_mean_and_variance() {
        // NIST/SEMATECH e-Handbook: the variance of 2, 4, 4, 4, 5, 5, 7, 9 with n - 1 is 32 / 7.
        let spread = TimeSpread::from_seconds(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert!((spread.variance_s2 - 32.0 / 7.0).abs() < 1e-12 && (spread.mean_s - 5.0).abs() < 1e-12);
        assert_eq!(
            spread.line("Write:"),
            "# Write: min_t = 2.000000, max_t = 9.000000, mean_t = 5.000000, var_t = 4.571429\n"
        );
        assert!(TimeSpread::from_seconds(&[1.5]).variance_s2.abs() < f64::EPSILON);
    }

    #[test]
    fn the_rate_is_that_of_the_slowest_rank_and_sums_are_of_all() {
        let own = OwnPhase {
            op: Op::Read,
            transfer: RankTransfer::Independent,
            call_count: 1,
            sync: None,
            bytes: 0,
            transfer_s: 0.0,
            file_s: None,
            wrong_count: Some(0),
        };
        let phase = own.with_ranks(&[[3_000_000, 2_000_000_000, 7, 8, 1], [1_000_000, 500_000_000, 7, 8, 2]]);
        assert_eq!((phase.bytes, phase.wrong_count), (Bytes(4_000_000), Some(3)));
        assert_eq!(phase.rate, Some(BytesPerSec(2e6)));
        assert!((megabytes_per_s(&phase, MEGABYTE) - 2.0).abs() < 1e-12);
        assert_eq!((phase.ranks[1].rank, phase.ranks[1].open_ns), (1, None));
        let unchecked = OwnPhase { wrong_count: None, ..own }.with_ranks(&[[1, 0, 0, 0, 0]]);
        assert_eq!((unchecked.rate, unchecked.wrong_count), (None, None));
        assert_eq!(wrong_count([&phase, &unchecked]), Some(3));
        assert_eq!(wrong_count([&unchecked]), None);
    }
}
