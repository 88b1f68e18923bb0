//! What is asked of the phases of IO500, and all that can be wrong with it before anything is measured.

use super::{FILE_HARD, Io500Phase, PhaseLoad, TRANSFER_HARD};
use crate::limits::{outside, shift_problem};
use narrows_model::Bytes;
use narrows_model::quantity::amount;
use narrows_model::workload::OBJECT_COUNT_MAX;
use narrows_study::Problem;
use serde::{Deserialize, Serialize};

/// Most ranks: processes of this machine, or the ranks of a job.
pub(super) const RANKS_MAX: u32 = 4096;
/// Most transfers of each rank in the shared file.
pub(super) const SEGMENTS_MAX: u64 = 1_000_000_000;
/// Most bytes of a rank's own file: those of the largest file of ext4.
const BYTES_EASY_MAX: Bytes = Bytes(16 << 40);
/// Fewest and most bytes of a transfer: a page, and the largest block of any load.
const TRANSFER_MIN: Bytes = Bytes(4096);
const TRANSFER_MAX: Bytes = Bytes(64 << 20);
/// Room that a file with bytes takes at least.
const ROOM_STEP: u64 = 4096;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Bytes of each rank's file of ior-easy.
    pub bytes_easy: Bytes,
    /// Bytes of each transfer of ior-easy.
    pub transfer_easy: Bytes,
    /// Transfers of each rank in the shared file of ior-hard.
    pub segments_hard: u64,
    /// Files of each rank in each of both sets of mdtest.
    pub items: u64,
    /// Ranks by which readers are shifted, as typed; `None` for the usual shift.
    pub typed_shift: Option<u32>,
    /// Ranks of the first host, where ranks come after each other on each of several hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_ranks: Option<u32>,
    /// Ranks; `None` until it is known how many there are.
    pub ranks: Option<u32>,
    /// Whether cuts of the path are measured beside the phases.
    pub has_cuts: bool,
    /// Memory of this machine, where known.
    pub memory: Option<Bytes>,
    /// Free room in the folder, where known.
    pub free: Option<Bytes>,
}

impl Request {
    /// Ranks that take part.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.ranks.unwrap_or(1)
    }

    /// Ranks by which readers are shifted unless that is typed: as far as the next host, and none with one rank.
    #[must_use]
    pub fn shift(&self) -> u32 {
        let usual = if self.ranks() > 1 { self.host_ranks.unwrap_or(1) } else { 0 };
        self.typed_shift.unwrap_or(usual)
    }

    /// Operations of each rank in each load of `phase`.
    pub(super) fn ops(&self, phase: &Io500Phase) -> u64 {
        match phase.load {
            PhaseLoad::IorEasy(_) => self.bytes_easy.0 / self.transfer_easy.0.max(1),
            PhaseLoad::IorHard(_) => self.segments_hard,
            PhaseLoad::Mdtest(..) | PhaseLoad::Find => self.items,
        }
    }

    /// Bytes of each rank in the shared file.
    pub(super) fn bytes_hard(&self) -> Bytes {
        Bytes(self.segments_hard.saturating_mul(TRANSFER_HARD.0))
    }

    /// Bytes of all files at once, which are written once each.
    pub(super) fn file_bytes(&self) -> Bytes {
        self.of_all_ranks(self.items.saturating_mul(FILE_HARD.0))
    }

    /// Room that all files take at once, small ones in whole blocks.
    fn room_bytes(&self) -> Bytes {
        self.of_all_ranks(self.items.saturating_mul(FILE_HARD.0.next_multiple_of(ROOM_STEP)))
    }

    /// The files of ior and `small_bytes` of those of mdtest, of all ranks.
    fn of_all_ranks(&self, small_bytes: u64) -> Bytes {
        let of_rank = self.bytes_easy.saturating_add(self.bytes_hard()).0.saturating_add(small_bytes);
        Bytes(of_rank.saturating_mul(u64::from(self.ranks())))
    }

    /// All that is wrong with it; nothing where it can be planned.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut all = self.numbers();
        all.extend(self.transfer_problem());
        let effect = "each rank read what the next one has written";
        all.extend(shift_problem("--shift", self.shift(), self.ranks, effect));
        if all.is_empty() {
            all.extend(self.room_problem());
        }
        all
    }

    fn numbers(&self) -> Vec<Problem> {
        let transfer = self.transfer_easy.0;
        let all = [
            outside("--transfer-easy", transfer, TRANSFER_MIN.0..=TRANSFER_MAX.0, "IO500 has 2MiB"),
            outside(
                "--segments-hard",
                self.segments_hard,
                1..=SEGMENTS_MAX,
                "it is the number of transfers of each rank in the shared file",
            ),
            outside("--items", self.items, 1..=OBJECT_COUNT_MAX, "it is the number of files of each rank"),
            outside(
                "--clients",
                u64::from(self.ranks()),
                1..=u64::from(RANKS_MAX),
                "it starts so many processes on this machine",
            ),
        ];
        all.into_iter().flatten().collect()
    }

    /// A file of ior-easy is whole transfers.
    fn transfer_problem(&self) -> Option<Problem> {
        let (bytes, transfer) = (self.bytes_easy.0, self.transfer_easy.0.max(1));
        let fits = (transfer..=BYTES_EASY_MAX.0).contains(&bytes) && bytes.is_multiple_of(transfer);
        (!fits).then(|| {
            let allowed = format!("a multiple of --transfer-easy, {transfer}, up to {}", BYTES_EASY_MAX.0);
            let near = bytes.clamp(transfer, BYTES_EASY_MAX.0) / transfer * transfer;
            Problem::new("--bytes-easy", bytes.to_string(), allowed, format!("give --bytes-easy {near}"))
        })
    }

    fn room_problem(&self) -> Option<Problem> {
        let needed = self.room_bytes();
        let free = self.free.filter(|free| needed > *free)?;
        let found = format!(
            "{} of files of all ranks at once: {} ranks with {} of ior-easy, {} of ior-hard and {} files of {} bytes in blocks of {}",
            amount(needed),
            self.ranks(),
            amount(self.bytes_easy),
            amount(self.bytes_hard()),
            self.items,
            FILE_HARD.0,
            amount(Bytes(ROOM_STEP))
        );
        let hint = "free space, name another folder with -d, or give less with --bytes-easy, --segments-hard and --items";
        Some(Problem::new("--bytes-easy", found, format!("the {} that are free there", amount(free)), hint))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::request;
    use super::*;

    fn messages(change: impl Fn(&mut Request)) -> String {
        let mut asked = request();
        change(&mut asked);
        crate::testing::messages(&asked.problems())
    }

    #[test]
    fn numbers_out_of_range_are_refused_with_what_is_allowed() {
        assert_eq!(messages(|_| ()), "");
        assert!(messages(|asked| asked.items = 0).contains("--items: found 0; allowed: 1 to 4194304"));
        assert!(messages(|asked| asked.segments_hard = 0).contains("--segments-hard: found 0"));
        assert!(messages(|asked| asked.ranks = Some(4097)).contains("--clients: found 4097"));
        let transfer = |bytes| messages(move |asked| asked.transfer_easy = Bytes(bytes));
        assert!(transfer(512).contains("--transfer-easy: found 512; allowed: 4096 to 67108864"));
        assert!(transfer(128 << 20).contains("--transfer-easy: found 134217728"));
    }

    #[test]
    fn a_file_of_whole_transfers_is_asked_for_and_the_nearest_is_named() {
        let said = messages(|asked| asked.bytes_easy = Bytes((3 << 20) + 1));
        assert!(
            said.contains("--bytes-easy: found 3145729") && said.ends_with("give --bytes-easy 3145728"),
            "{said}"
        );
        assert!(messages(|asked| asked.bytes_easy = Bytes(0)).ends_with("give --bytes-easy 65536"));
        assert!(
            messages(|asked| asked.bytes_easy = Bytes(1 << 50)).ends_with("give --bytes-easy 17592186044416")
        );
    }

    #[test]
    fn the_usual_shift_is_1_or_a_host_and_one_by_all_ranks_is_refused_once_their_number_is_known() {
        let shift = |typed_shift, ranks| Request { typed_shift, ranks, ..request() }.shift();
        assert_eq!((shift(None, None), shift(None, Some(1)), shift(None, Some(2))), (0, 0, 1));
        assert_eq!((shift(Some(0), Some(2)), shift(Some(3), Some(9))), (0, 3));
        let of_hosts =
            |typed_shift| Request { typed_shift, ranks: Some(8), host_ranks: Some(4), ..request() }.shift();
        assert_eq!((of_hosts(None), of_hosts(Some(1)), of_hosts(Some(0))), (4, 1, 0));
        let said = |typed_shift, ranks| {
            messages(move |asked| (asked.typed_shift, asked.ranks) = (Some(typed_shift), ranks))
        };
        assert_eq!((said(1, Some(2)), said(9, None)), (String::new(), String::new()));
        assert!(said(1, Some(1)).contains("--shift: found 1 with 1 rank; allowed: less than"));
        assert!(said(4, Some(4)).contains("--shift: found 4 with 4 ranks"));
    }

    #[test]
    fn files_that_do_not_fit_are_refused_with_what_they_take() {
        // By hand: of each of 2 ranks 1 MiB, 10 transfers of 47008 bytes, and 100 files in blocks of 4 KiB.
        let needed = 2 * ((1 << 20) + 10 * 47_008 + 100 * 4096);
        assert_eq!(messages(|asked| asked.free = Some(Bytes(needed))), "");
        let said = messages(|asked| asked.free = Some(Bytes(needed - 1)));
        assert!(
            said.contains("2 ranks with 1.00 MiB of ior-easy") && said.contains("another folder"),
            "{said}"
        );
        assert_eq!(request().file_bytes(), Bytes(2 * ((1 << 20) + 10 * 47_008 + 100 * 3901)));
    }
}
