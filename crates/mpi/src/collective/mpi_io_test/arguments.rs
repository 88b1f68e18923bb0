//! The options of `mpi-io-test`, and where each of them puts a block.

use crate::calls::RankTransfer;
use crate::collective::SuiteOptions;
use clap::Args;
use narrows_model::Bytes;
use std::path::PathBuf;

/// Options of the suite, with the letters of the original.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the original")]
pub(in crate::collective) struct MpiIoTestArguments {
    /// Bytes of a block, which each rank moves in an iteration; several, with commas between, for --scaling
    #[arg(short = 'b', value_name = "SIZE", default_value = "16MiB", value_delimiter = ',', value_parser = size)]
    pub(super) blocks: Vec<Bytes>,
    /// Iterations; with more than one, the blocks of all ranks take turns in the file
    #[arg(short = 'i', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) iterations: u64,
    /// The file; it must not exist unless it is only read (-r)
    #[arg(short = 'f', value_name = "FILE")]
    pub(in crate::collective) file: PathBuf,
    /// A file for each rank, FILE.RANK
    #[arg(short = 'I')]
    pub(super) own_files: bool,
    /// Collective calls
    #[arg(short = 'C')]
    pub(super) collective: bool,
    /// Compare the data read with the data written; with -w and -r apart, give it to both
    #[arg(short = 'c')]
    pub(super) check: bool,
    /// Sync within the time of each write, instead of once after the last
    #[arg(short = 'y')]
    pub(super) sync: bool,
    /// All ranks at the same offset
    #[arg(short = 'S')]
    same_offset: bool,
    /// Read only, what an earlier run with -w has left
    #[arg(short = 'r', conflicts_with = "write_only")]
    pub(super) read_only: bool,
    /// Write only, and leave the file
    #[arg(short = 'w')]
    pub(super) write_only: bool,
    /// The same with the first N ranks of the job, one number after the other, with each of the blocks; prints a line for
    /// each, for a plot
    #[arg(long, value_name = "N,N,..", value_delimiter = ',', conflicts_with_all = ["read_only", "write_only"])]
    pub(super) scaling: Vec<u32>,
    #[command(flatten)]
    pub(in crate::collective) options: SuiteOptions,
}

fn size(text: &str) -> Result<Bytes, String> {
    let bytes = narrows_model::quantity::parse_size(text).map_err(|error| error.to_string())?;
    let most = u64::from(i32::MAX.unsigned_abs());
    if (1..=most).contains(&bytes.0) { Ok(bytes) } else { Err(format!("a block is 1 to {most} bytes")) }
}

/// So many ranks with blocks of so many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IoPoint {
    pub(super) rank_count: u32,
    pub(super) block_bytes: u64,
}

/// The blocks of one rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct RankBlocks {
    pub(super) rank: u64,
    pub(super) point: IoPoint,
}

impl RankBlocks {
    fn rank_count(self) -> u64 {
        u64::from(self.point.rank_count)
    }
}

impl MpiIoTestArguments {
    pub(super) fn transfer(&self) -> RankTransfer {
        if self.collective { RankTransfer::Collective } else { RankTransfer::Independent }
    }

    /// What is measured in a job of `rank_count` ranks, in its order.
    ///
    /// # Errors
    /// What of the options does not fit the job, in a sentence.
    pub(super) fn points(&self, rank_count: u32) -> Result<Vec<IoPoint>, String> {
        if self.scaling.is_empty() && self.blocks.len() > 1 {
            return Err("several blocks (-b) are for --scaling; give one, or --scaling".to_owned());
        }
        if let Some(wrong) = self.scaling.iter().find(|count| !(1..=rank_count).contains(count)) {
            return Err(format!(
                "--scaling has {wrong} ranks, and the job has {rank_count}; start it with as many as the largest number, and give \
                 numbers from 1 on"
            ));
        }
        let counts = if self.scaling.is_empty() { vec![rank_count] } else { self.scaling.clone() };
        let of_block = |block: &Bytes| {
            let block_bytes = block.0;
            let point = move |rank_count: &u32| IoPoint { rank_count: *rank_count, block_bytes };
            counts.iter().map(point).collect::<Vec<IoPoint>>()
        };
        Ok(self.blocks.iter().flat_map(of_block).collect())
    }

    pub(super) fn path(&self, rank: i32) -> PathBuf {
        if !self.own_files {
            return self.file.clone();
        }
        let mut name = self.file.clone().into_os_string();
        name.push(format!(".{rank}"));
        name.into()
    }

    /// How the blocks are placed, in words.
    pub(super) fn layout(&self, point: IoPoint) -> String {
        let bytes = point.block_bytes;
        match (self.own_files, self.same_offset) {
            (true, _) => format!("a file for each rank, of blocks of {bytes} bytes"),
            (false, true) => format!("all ranks at the same blocks of {bytes} bytes"),
            (false, false) => format!("blocks of {bytes} bytes of all ranks in turn"),
        }
    }

    /// Where the block of an iteration is.
    pub(super) fn offset(&self, blocks: RankBlocks, iteration: u64) -> u64 {
        let place = match (self.own_files, self.same_offset) {
            (true, _) => iteration,
            (false, true) => iteration * blocks.rank_count(),
            (false, false) => iteration * blocks.rank_count() + blocks.rank,
        };
        place.saturating_mul(blocks.point.block_bytes)
    }

    /// Bytes that this rank writes where nothing was: with one offset for all, the first rank's are those of all.
    pub(super) fn made_bytes(&self, blocks: RankBlocks) -> u64 {
        let is_another_s = self.same_offset && !self.own_files && blocks.rank > 0;
        let is_without = blocks.rank >= blocks.rank_count();
        if self.read_only || is_another_s || is_without { 0 } else { self.bytes_of_pass(blocks.point) }
    }

    /// Bytes that this rank moves.
    pub(super) fn moved_bytes(&self, blocks: RankBlocks) -> u64 {
        let passes = u64::from(!self.read_only) + u64::from(!self.write_only);
        let is_without = blocks.rank >= blocks.rank_count();
        if is_without { 0 } else { self.bytes_of_pass(blocks.point).saturating_mul(passes) }
    }

    /// Bytes that a rank writes or reads.
    pub(super) fn bytes_of_pass(&self, point: IoPoint) -> u64 {
        self.iterations.saturating_mul(point.block_bytes)
    }

    /// Where the file of this rank ends.
    pub(super) fn end_bytes(&self, blocks: RankBlocks) -> u64 {
        let last = RankBlocks { rank: blocks.rank_count() - 1, ..blocks };
        self.offset(last, self.iterations - 1).saturating_add(blocks.point.block_bytes)
    }

    /// The rank that has written a block: with one offset for all, all write the same.
    pub(super) fn writer(&self, blocks: RankBlocks) -> u64 {
        if self.same_offset && !self.own_files { 0 } else { blocks.rank }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct TestCommand {
        #[command(flatten)]
        arguments: MpiIoTestArguments,
    }

    fn parsed(words: &[&str]) -> MpiIoTestArguments {
        let all = ["x", "-f", "data"].into_iter().chain(words.iter().copied());
        <TestCommand as clap::Parser>::try_parse_from(all).unwrap().arguments
    }

    #[test]
    fn a_file_ends_behind_the_last_block_of_the_last_rank() {
        let blocks = RankBlocks { rank: 1, point: IoPoint { rank_count: 4, block_bytes: 1 << 10 } };
        let with = |more: &[&str]| parsed(&[&["-i", "3"][..], more].concat());
        assert_eq!(with(&[]).end_bytes(blocks), 12 << 10);
        assert_eq!(with(&["-I"]).end_bytes(blocks), 3 << 10);
        // The offsets of iterations are those without -S.
        assert_eq!(with(&["-S"]).end_bytes(blocks), 9 << 10);
        assert_eq!(with(&["-S"]).made_bytes(blocks), 0);
        assert_eq!(with(&["-I"]).made_bytes(blocks), 3 << 10);
        let without = RankBlocks { rank: 4, ..blocks };
        assert_eq!((with(&[]).made_bytes(without), with(&[]).moved_bytes(without)), (0, 0));
        assert_eq!(with(&[]).moved_bytes(blocks), 6 << 10);
    }

    #[test]
    fn points_are_each_number_of_ranks_with_each_block() {
        let points = |words: &[&str]| parsed(words).points(4);
        let counted = |rank_count, block_bytes| IoPoint { rank_count, block_bytes };
        assert_eq!(points(&["-b", "2KiB"]), Ok(vec![counted(4, 2048)]));
        assert_eq!(
            points(&["-b", "1KiB,2KiB", "--scaling", "1,4"]),
            Ok(vec![counted(1, 1024), counted(4, 1024), counted(1, 2048), counted(4, 2048)])
        );
        assert!(points(&["-b", "1KiB,2KiB"]).unwrap_err().contains("are for --scaling"));
        for wrong in ["0", "5", "1,5"] {
            assert!(points(&["--scaling", wrong]).unwrap_err().contains("the job has 4"), "{wrong}");
        }
    }
}
