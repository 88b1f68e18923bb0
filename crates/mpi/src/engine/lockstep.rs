//! How ranks that make their calls together stay in step: before each call all of them say what they do next.
//!
//! One reduction a call: each rank gives a bit for what it wants and receives those of all. A rank that ends early says so
//! in its next one, and the others end too: no rank is ever alone in a call of all. Not here: the reduction itself.

use crate::failure::MpiFailure;

/// What a rank does next together with all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextCall {
    /// A transfer.
    Transfer = 1,
    /// A sync.
    Sync = 2,
    /// The end: the file is closed.
    Close = 4,
}

impl NextCall {
    fn bit(self) -> i32 {
        self as i32
    }
}

/// The bits of all ranks, to which each gives its own.
pub(super) trait RankBits {
    /// All bits that a rank has given.
    fn combined(&mut self, own: i32) -> Result<i32, MpiFailure>;
}

/// The state of one rank among those in step.
#[derive(Debug, Default)]
pub(super) struct Lockstep {
    has_ended: bool,
}

impl Lockstep {
    /// Whether a rank has ended its transfers, so that there are none any more.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether all ranks transfer now.
    ///
    /// # Errors
    /// When the ranks could not be asked.
    pub(super) fn may_transfer(&mut self, ranks: &mut impl RankBits) -> Result<bool, MpiFailure> {
        if self.has_ended {
            return Ok(false);
        }
        let all = ranks.combined(NextCall::Transfer.bit())?;
        self.has_ended = all != NextCall::Transfer.bit();
        Ok(!self.has_ended)
    }

    /// Whether all ranks sync now, once none of them transfers any more.
    ///
    /// # Errors
    /// When the ranks could not be asked.
    pub(super) fn may_sync(&mut self, ranks: &mut impl RankBits) -> Result<bool, MpiFailure> {
        // Bounded: each rank learns in its next transfer that transfers have ended.
        loop {
            let all = ranks.combined(NextCall::Sync.bit())?;
            if all == NextCall::Sync.bit() {
                return Ok(true);
            }
            self.has_ended = true;
            if all & NextCall::Transfer.bit() == 0 {
                return Ok(false);
            }
        }
    }

    /// Waits until all ranks close.
    ///
    /// # Errors
    /// When the ranks could not be asked.
    pub(super) fn wait_for_close(&mut self, ranks: &mut impl RankBits) -> Result<(), MpiFailure> {
        self.has_ended = true;
        // Bounded: nothing follows for the others but a sync, which fails now, and their own end.
        while ranks.combined(NextCall::Close.bit())? != NextCall::Close.bit() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Condvar, Mutex};

    /// A reduction among threads.
    #[derive(Default)]
    struct Reduction {
        state: Mutex<ReductionState>,
        changed: Condvar,
    }

    #[derive(Default)]
    struct ReductionState {
        round: u64,
        joined: usize,
        bits: i32,
        result: i32,
    }

    struct Rank {
        all: Arc<Reduction>,
        count: usize,
        reductions: u32,
    }

    impl RankBits for Rank {
        fn combined(&mut self, own: i32) -> Result<i32, MpiFailure> {
            self.reductions += 1;
            let mut state = self.all.state.lock().unwrap();
            let round = state.round;
            state.bits |= own;
            state.joined += 1;
            if state.joined == self.count {
                (state.result, state.bits, state.joined) = (state.bits, 0, 0);
                state.round += 1;
                self.all.changed.notify_all();
                return Ok(state.result);
            }
            while state.round == round {
                state = self.all.changed.wait(state).unwrap();
            }
            Ok(state.result)
        }
    }

    fn alone() -> Rank {
        Rank { all: Arc::new(Reduction::default()), count: 1, reductions: 0 }
    }

    /// What a rank does: transfers at most, and whether it syncs before it closes.
    #[derive(Clone, Copy)]
    struct Script {
        transfers: u32,
        syncs: bool,
    }

    /// Transfers and syncs that each rank did, and its reductions.
    fn run(scripts: &[Script]) -> Vec<(u32, bool, u32)> {
        let all = Arc::new(Reduction::default());
        let count = scripts.len();
        let threads: Vec<_> = scripts
            .iter()
            .copied()
            .map(|script| {
                let mut rank = Rank { all: Arc::clone(&all), count, reductions: 0 };
                std::thread::spawn(move || {
                    let mut step = Lockstep::default();
                    let mut done = 0;
                    while done < script.transfers && step.may_transfer(&mut rank).unwrap() {
                        done += 1;
                    }
                    let synced = script.syncs && step.may_sync(&mut rank).unwrap();
                    step.wait_for_close(&mut rank).unwrap();
                    (done, synced, rank.reductions)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }

    #[test]
    fn all_ranks_do_as_many_transfers_as_the_one_that_ends_first() {
        for transfers in [[5, 5, 5], [0, 3, 9], [4, 4, 5], [7, 2, 2]] {
            let least = *transfers.iter().min().unwrap();
            let done = run(&transfers.map(|transfers| Script { transfers, syncs: true }));
            assert!(done.iter().all(|(count, synced, _)| *count == least && *synced), "{done:?}");
            assert!(done.iter().all(|(_, _, reductions)| *reductions == done[0].2), "{done:?}");
        }
    }

    #[test]
    fn nobody_syncs_where_one_rank_does_not_and_all_close() {
        let script = |transfers, syncs| Script { transfers, syncs };
        let done = run(&[script(3, true), script(9, true), script(5, false)]);
        assert!(done.iter().all(|(count, synced, _)| *count == 3 && !synced), "{done:?}");
        let (mut rank, mut step) = (alone(), Lockstep::default());
        assert!(step.may_transfer(&mut rank).unwrap() && step.may_sync(&mut rank).unwrap());
        assert!(step.may_transfer(&mut rank).unwrap(), "a sync of all ranks is no end");
        let alone = run(&[script(2, true)]);
        assert_eq!((alone[0].0, alone[0].1), (2, true));
    }
}
