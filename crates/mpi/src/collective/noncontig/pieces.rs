//! The options of `noncontig`, and the pieces of a rank that they describe, in its memory and in the file.

use crate::collective::{SuiteOptions, lowest_bits};
use crate::view::{ArrayElement, ArrayPart};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Bytes of an integer.
pub(super) const INTEGER_BYTES: u64 = 4;
/// What no call may touch has this, as in ROMIO.
pub(super) const UNTOUCHED: i32 = -1;

/// Options of the suite.
#[derive(Debug, Args)]
pub(in crate::collective) struct NoncontigArguments {
    /// The file, which must not exist
    #[arg(short = 'f', long = "fname", value_name = "FILE")]
    pub(in crate::collective) file: PathBuf,
    /// Pieces of each rank
    #[arg(long = "veclen", value_name = "N", default_value_t = 65536, value_parser = clap::value_parser!(i32).range(1..))]
    pieces: i32,
    /// Integers of four bytes of a piece
    #[arg(long = "elmtcount", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..))]
    piece_integers: i32,
    /// Where pieces have gaps between them: in memory and in the file (nc-nc), in memory alone (nc-c), in the file alone
    /// (c-nc), or nowhere (c-c)
    #[arg(
        long = "pattern",
        value_name = "P,P,..",
        value_enum,
        value_delimiter = ',',
        default_value = "nc-nc,nc-c,c-nc,c-c"
    )]
    pub(super) patterns: Vec<GapPattern>,
    /// Collective calls
    #[arg(short = 'C', long)]
    pub(super) collective: bool,
    /// Leave the file, of one pattern alone
    #[arg(long)]
    pub(super) keep: bool,
    #[command(flatten)]
    pub(in crate::collective) options: SuiteOptions,
}

/// Where pieces have gaps between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum GapPattern {
    #[value(name = "nc-nc")]
    MemoryAndFile,
    #[value(name = "nc-c")]
    Memory,
    #[value(name = "c-nc")]
    File,
    #[value(name = "c-c")]
    Nowhere,
}

impl GapPattern {
    fn has_memory_gaps(self) -> bool {
        matches!(self, Self::MemoryAndFile | Self::Memory)
    }

    fn has_file_gaps(self) -> bool {
        matches!(self, Self::MemoryAndFile | Self::File)
    }

    /// ROMIO's words.
    pub(super) fn words(self) -> String {
        let contiguous = |has_gaps: bool| if has_gaps { "noncontiguous" } else { "contiguous" };
        let (memory, file) = (contiguous(self.has_memory_gaps()), contiguous(self.has_file_gaps()));
        format!("{memory} in memory, {file} in file")
    }
}

/// The pieces of one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pieces {
    rank: u64,
    rank_count: u64,
    /// Of each rank.
    pub(super) count: u64,
    /// Integers of a piece.
    pub(super) integers: u64,
}

impl Pieces {
    /// Those of `rank`.
    ///
    /// # Errors
    /// When MPI cannot count them, in a sentence.
    pub(super) fn new(arguments: &NoncontigArguments, rank: u64, rank_count: u64) -> Result<Self, String> {
        let wide = |number: i32| u64::from(number.unsigned_abs());
        let pieces = Self {
            rank,
            rank_count,
            count: wide(arguments.pieces),
            integers: wide(arguments.piece_integers),
        };
        let most = u64::from(i32::MAX.unsigned_abs());
        // With its gaps the memory of a rank is twice its pieces.
        let memory_bytes = pieces.own_bytes().saturating_mul(2);
        let turn = pieces.integers.saturating_mul(rank_count);
        if memory_bytes > most || turn > most {
            return Err(format!(
                "{} pieces of {} integers are {} bytes of each of {rank_count} ranks; MPI counts to {most} with the gaps, so lower \
                 --veclen or --elmtcount",
                pieces.count,
                pieces.integers,
                pieces.own_bytes()
            ));
        }
        Ok(pieces)
    }

    pub(super) fn own_bytes(self) -> u64 {
        self.count.saturating_mul(self.integers).saturating_mul(INTEGER_BYTES)
    }

    pub(super) fn file_bytes(self) -> u64 {
        self.own_bytes().saturating_mul(self.rank_count)
    }

    /// Where in the file a piece begins, in integers.
    pub(super) fn start(self, pattern: GapPattern, piece: u64) -> u64 {
        let place = if pattern.has_file_gaps() {
            piece * self.rank_count + self.rank
        } else {
            self.rank * self.count + piece
        };
        place * self.integers
    }

    /// The memory of this rank: its pieces, each an integer its index in the file, with what no call may touch between them.
    ///
    /// # Errors
    /// When there is not so much.
    pub(super) fn memory(self, pattern: GapPattern) -> Result<Vec<i32>, String> {
        let gap = if pattern.has_memory_gaps() { self.integers } else { 0 };
        let total = self.count * (self.integers + gap);
        let room = usize::try_from(total).map_err(|_| format!("{total} integers of one rank"))?;
        let mut memory = Vec::new();
        memory.try_reserve_exact(room).map_err(|error| format!("memory for {total} integers: {error}"))?;
        for piece in 0..self.count {
            let start = self.start(pattern, piece);
            memory.extend((start..start + self.integers).map(lowest_bits));
            memory.extend((0..gap).map(|_| UNTOUCHED));
        }
        Ok(memory)
    }

    /// Selects from memory with gaps what is transferred; `None` of memory without.
    pub(super) fn memory_part(self, pattern: GapPattern) -> Result<Option<ArrayPart>, String> {
        if !pattern.has_memory_gaps() {
            return Ok(None);
        }
        self.every(self.integers * 2, 0).map(Some)
    }

    /// Selects from the file what this rank has; `None` where its pieces are next to each other.
    pub(super) fn file_part(self, pattern: GapPattern) -> Result<Option<ArrayPart>, String> {
        if !pattern.has_file_gaps() {
            return Ok(None);
        }
        self.every(self.integers * self.rank_count, self.integers * self.rank).map(Some)
    }

    /// A piece of every `stride` integers, from `start` on.
    fn every(self, stride: u64, start: u64) -> Result<ArrayPart, String> {
        let counted =
            |number: u64| i32::try_from(number).map_err(|_| format!("{number} is more than MPI counts"));
        let (count, integers) = (counted(self.count)?, counted(self.integers)?);
        let (stride, start) = (counted(stride)?, counted(start)?);
        Ok(ArrayPart::from_part([count, stride], [count, integers], [0, start], ArrayElement::Integer)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EACH: [GapPattern; 4] =
        [GapPattern::MemoryAndFile, GapPattern::Memory, GapPattern::File, GapPattern::Nowhere];

    #[test]
    fn the_pieces_of_all_ranks_cover_the_file_once_in_every_pattern() {
        for pattern in EACH {
            let mut seen = [0; 3 * 5 * 2];
            for rank in 0..3 {
                let pieces = Pieces { rank, rank_count: 3, count: 5, integers: 2 };
                let memory = pieces.memory(pattern).unwrap();
                assert_eq!(memory.len(), if pattern.has_memory_gaps() { 20 } else { 10 });
                for index in memory.into_iter().filter(|integer| *integer != UNTOUCHED) {
                    seen[usize::try_from(index).unwrap()] += 1;
                }
            }
            assert!(seen.iter().all(|count| *count == 1), "{pattern:?}: {seen:?}");
        }
    }

    #[test]
    fn gaps_of_memory_are_every_other_piece_and_those_of_the_file_are_the_other_ranks_pieces() {
        let pieces = Pieces { rank: 1, rank_count: 3, count: 2, integers: 2 };
        assert_eq!(pieces.memory(GapPattern::MemoryAndFile).unwrap(), [2, 3, -1, -1, 8, 9, -1, -1]);
        assert_eq!(pieces.memory(GapPattern::Memory).unwrap(), [4, 5, -1, -1, 6, 7, -1, -1]);
        assert_eq!(pieces.memory(GapPattern::File).unwrap(), [2, 3, 8, 9]);
        assert_eq!(pieces.memory(GapPattern::Nowhere).unwrap(), [4, 5, 6, 7]);
    }

    #[test]
    fn what_mpi_cannot_count_is_refused() {
        #[derive(Debug, clap::Parser)]
        struct NoncontigCommand {
            #[command(flatten)]
            arguments: NoncontigArguments,
        }
        let new = |words: &[&str]| {
            let all = ["x", "-f", "data"].into_iter().chain(words.iter().copied());
            let arguments = <NoncontigCommand as clap::Parser>::try_parse_from(all).unwrap().arguments;
            assert_eq!(arguments.patterns, EACH);
            Pieces::new(&arguments, 0, 4)
        };
        assert_eq!(new(&[]).map(Pieces::file_bytes), Ok(4 * 65536 * 4));
        assert!(new(&["--veclen", "300000000"]).unwrap_err().contains("lower --veclen or --elmtcount"));
        assert!(new(&["--veclen", "1", "--elmtcount", "600000000"]).unwrap_err().contains("MPI counts to"));
    }
}
