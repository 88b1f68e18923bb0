//! What may be typed after `narrows suite io500`, and the request that it makes.

use super::request::{RANKS_MAX, Request, SEGMENTS_MAX};
use crate::arguments::{CutArguments, size};
use crate::folder::FolderRun;
use clap::Args;
use narrows_model::Bytes;
use narrows_model::typed::whole;
use narrows_model::workload::OBJECT_COUNT_MAX;
use narrows_study::Problem;
use std::path::PathBuf;

/// What may be typed.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder on any mounted file system; the suite creates a subfolder for its files
    #[arg(short = 'd', default_value = ".", value_name = "DIR")]
    dir: PathBuf,
    /// Bytes of each rank's file of ior-easy, a multiple of the transfer
    #[arg(long, default_value = "1GiB", value_name = "BYTES", value_parser = size)]
    bytes_easy: Bytes,
    /// Bytes of each transfer of ior-easy
    #[arg(long, default_value = "2MiB", value_name = "BYTES", value_parser = size)]
    transfer_easy: Bytes,
    /// Transfers of 47008 bytes of each rank in the shared file of ior-hard
    #[arg(long, default_value_t = 10_000, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, SEGMENTS_MAX))]
    segments_hard: u64,
    /// Files of each rank in mdtest-easy, and as many in mdtest-hard
    #[arg(long, default_value_t = 10_000, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, OBJECT_COUNT_MAX))]
    items: u64,
    /// Shift the ranks by N: a rank reads and looks up what the rank N further on has written [default: the ranks of
    /// a host where they come after each other on each of several hosts, else 1; 0 with one rank]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(0, RANKS_MAX))]
    shift: Option<u32>,
    /// Processes on this machine, which are the ranks; under MPI ranks of the job [default: 1; under MPI all]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, RANKS_MAX))]
    clients: Option<u32>,
    /// Seed of the data; without it a new one is drawn and recorded
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    cuts: CutArguments,
}

impl Arguments {
    /// The run that they ask for.
    ///
    /// # Errors
    /// All that is wrong with them, whatever the machine is.
    pub(super) fn run(self) -> Result<FolderRun, Vec<Problem>> {
        let request = self.request();
        let problems = request.problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(FolderRun { request: Box::new(request), dir: self.dir, cuts: self.cuts, seed: self.seed })
    }

    fn request(&self) -> Request {
        Request {
            bytes_easy: self.bytes_easy,
            transfer_easy: self.transfer_easy,
            segments_hard: self.segments_hard,
            items: self.items,
            typed_shift: self.shift,
            host_ranks: None,
            ranks: self.clients,
            has_cuts: !self.cuts.no_verdict,
            memory: None,
            free: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn typed(line: &str) -> Arguments {
        testing::typed("io500", line)
    }

    #[test]
    fn each_option_is_a_bound_of_its_phases() {
        let asked =
            typed("--bytes-easy 8m --transfer-easy 64k --segments-hard 7 --items 9 --clients 4 --shift 2")
                .request();
        assert_eq!((asked.bytes_easy, asked.transfer_easy), (Bytes(8 << 20), Bytes(64 << 10)));
        assert_eq!((asked.segments_hard, asked.items), (7, 9));
        assert_eq!((asked.ranks, asked.shift(), asked.has_cuts), (Some(4), 2, true));
        let usual = typed("--no-verdict").request();
        assert_eq!((usual.bytes_easy, usual.transfer_easy), (Bytes(1 << 30), Bytes(2 << 20)));
        assert_eq!((usual.segments_hard, usual.items, usual.has_cuts), (10_000, 10_000, false));
        assert_eq!((usual.ranks, usual.problems()), (None, Vec::new()));
    }

    #[test]
    fn all_that_is_wrong_is_reported_together() {
        let problems =
            typed("--bytes-easy 3m --segments-hard 0 --items 0 --clients 2 --shift 2").run().unwrap_err();
        let keys: Vec<&str> = problems.iter().map(|problem| problem.key).collect();
        assert_eq!(keys, ["--segments-hard", "--items", "--bytes-easy", "--shift"]);
    }
}
