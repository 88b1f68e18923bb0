//! The options of `mpi-tile-io`, the tiles that they describe, and what the file has in each place.

use crate::calls::RankTransfer;
use crate::collective::SuiteOptions;
use crate::view::{ArrayElement, ArrayPart};
use clap::Args;
use std::ops::Range;
use std::path::PathBuf;

/// Options of the suite, with the names of the original.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(in crate::collective) struct TileIoArguments {
    /// Tiles in X, of which there are as many as ranks in all; without a number in X and Y the ranks are a grid
    #[arg(long = "nr_tiles_x", value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    tiles_x: Option<i32>,
    /// Tiles in Y
    #[arg(long = "nr_tiles_y", value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    tiles_y: Option<i32>,
    /// Elements of a tile in X, along which they are next to each other in the file
    #[arg(long = "sz_tile_x", value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(i32).range(1..))]
    tile_x: i32,
    /// Elements of a tile in Y
    #[arg(long = "sz_tile_y", value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(i32).range(1..))]
    tile_y: i32,
    /// Bytes of an element
    #[arg(long = "sz_element", value_name = "BYTES", default_value_t = 32, value_parser = clap::value_parser!(i32).range(1..))]
    element_bytes: i32,
    /// Elements in X that a tile shares with the next one
    #[arg(long = "overlap_x", value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(i32).range(0..))]
    overlap_x: i32,
    /// Elements in Y that a tile shares with the next one
    #[arg(long = "overlap_y", value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(i32).range(0..))]
    overlap_y: i32,
    /// The file; it must not exist where it is written, and must where it is only read
    #[arg(long = "filename", value_name = "FILE")]
    pub(in crate::collective) file: PathBuf,
    /// Collective calls
    #[arg(long)]
    pub(super) collective: bool,
    /// Write the file, and leave it; without, it is read
    #[arg(long = "write_file")]
    pub(super) write_file: bool,
    /// Read the file after it was written, compare the data, and remove it
    #[arg(long = "read_file", requires = "write_file")]
    pub(super) read_file: bool,
    /// Compare the data of a file that is only read with those that this suite writes
    #[arg(long, conflicts_with = "write_file")]
    check: bool,
    /// Leave the file also after it was read
    #[arg(long, requires = "read_file")]
    pub(super) keep: bool,
    #[command(flatten)]
    pub(in crate::collective) options: SuiteOptions,
}

impl TileIoArguments {
    pub(super) fn transfer(&self) -> RankTransfer {
        if self.collective { RankTransfer::Collective } else { RankTransfer::Independent }
    }

    pub(super) fn reads(&self) -> bool {
        self.read_file || !self.write_file
    }

    pub(super) fn compares(&self) -> bool {
        self.check || self.read_file
    }
}

/// Tiles along one dimension of the data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TileRow {
    pub(super) tile_count: u64,
    /// Elements of a tile.
    pub(super) length: u64,
    /// Elements that a tile shares with the next one.
    pub(super) overlap: u64,
}

impl TileRow {
    /// Elements of the data set.
    pub(super) fn total(self) -> u64 {
        self.tile_count * self.length - (self.tile_count - 1) * self.overlap
    }

    /// The first element of a tile.
    fn start(self, tile: u64) -> u64 {
        tile * (self.length - self.overlap)
    }
}

/// A data set in tiles, one for each rank, those along X first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TileSet {
    pub(super) x: TileRow,
    pub(super) y: TileRow,
    pub(super) element_bytes: u64,
}

impl TileSet {
    /// The tiles of `rank_count` ranks, of which `grid` are in X and in Y where that is not given.
    ///
    /// # Errors
    /// What of the options does not fit, in a sentence.
    pub(super) fn new(arguments: &TileIoArguments, rank_count: u64, grid: [u64; 2]) -> Result<Self, String> {
        let wide = |number: i32| u64::from(number.unsigned_abs());
        let rest =
            |given: i32| if rank_count.is_multiple_of(wide(given)) { rank_count / wide(given) } else { 1 };
        let [tiles_x, tiles_y] = match (arguments.tiles_x, arguments.tiles_y) {
            (Some(x), Some(y)) => [wide(x), wide(y)],
            (Some(x), None) => [wide(x), rest(x)],
            (None, Some(y)) => [rest(y), wide(y)],
            (None, None) => grid,
        };
        if tiles_x * tiles_y != rank_count {
            return Err(format!(
                "{tiles_x} x {tiles_y} tiles are {}, and the job has {rank_count} ranks, each of which has one; change --nr_tiles_x \
                 and --nr_tiles_y, or the number of ranks",
                tiles_x * tiles_y
            ));
        }
        for (name, tile, overlap) in
            [("x", arguments.tile_x, arguments.overlap_x), ("y", arguments.tile_y, arguments.overlap_y)]
        {
            if overlap >= tile {
                return Err(format!(
                    "--overlap_{name} ({overlap}) must be less than --sz_tile_{name} ({tile})"
                ));
            }
        }
        let set = Self {
            x: TileRow {
                tile_count: tiles_x,
                length: wide(arguments.tile_x),
                overlap: wide(arguments.overlap_x),
            },
            y: TileRow {
                tile_count: tiles_y,
                length: wide(arguments.tile_y),
                overlap: wide(arguments.overlap_y),
            },
            element_bytes: wide(arguments.element_bytes),
        };
        set.check_counts()?;
        Ok(set)
    }

    /// MPI counts bytes of a row, rows, and bytes of a call as `int`.
    fn check_counts(self) -> Result<(), String> {
        let most = u64::from(i32::MAX.unsigned_abs());
        for (what, count) in [
            ("bytes in a row of the data set", self.x.total().saturating_mul(self.element_bytes)),
            ("rows", self.y.total()),
            ("bytes in a tile", self.tile_bytes()),
        ] {
            if count > most {
                return Err(format!(
                    "{count} {what}; MPI counts to {most}, so make tiles or elements smaller"
                ));
            }
        }
        Ok(())
    }

    pub(super) fn tile_bytes(self) -> u64 {
        self.x.length.saturating_mul(self.y.length).saturating_mul(self.element_bytes)
    }

    pub(super) fn file_bytes(self) -> u64 {
        self.x.total().saturating_mul(self.y.total()).saturating_mul(self.element_bytes)
    }

    /// What it is, in words.
    pub(super) fn words(self) -> String {
        let (x, y) = (self.x, self.y);
        format!(
            "{} x {} tiles of {} x {} elements of {} bytes, which share {} x {} elements",
            x.tile_count, y.tile_count, x.length, y.length, self.element_bytes, x.overlap, y.overlap
        )
    }

    /// The first element of the tile of `rank`, in X and in Y.
    fn start(self, rank: u64) -> [u64; 2] {
        [self.x.start(rank % self.x.tile_count), self.y.start(rank / self.x.tile_count)]
    }

    /// The bytes of the file that are the rows of the tile of `rank`, in their order.
    pub(super) fn rows(self, rank: u64) -> impl Iterator<Item = Range<u64>> {
        let [x, y] = self.start(rank);
        (y..y + self.y.length).map(move |row| {
            let from = (row * self.x.total() + x) * self.element_bytes;
            from..from + self.x.length * self.element_bytes
        })
    }

    /// The data type that selects the tile of `rank` from the file.
    pub(super) fn view(self, rank: u64) -> Result<ArrayPart, String> {
        let [x, y] = self.start(rank);
        let counted =
            |number: u64| i32::try_from(number).map_err(|_| format!("{number} is more than MPI counts"));
        let sizes = [counted(self.y.total())?, counted(self.x.total() * self.element_bytes)?];
        let part = [counted(self.y.length)?, counted(self.x.length * self.element_bytes)?];
        let starts = [counted(y)?, counted(x * self.element_bytes)?];
        Ok(ArrayPart::from_part(sizes, part, starts, ArrayElement::Byte)?)
    }
}

/// Writes to `bytes` what the file has at `range`: its place alone decides it, so that ranks which share elements write the
/// same, and any program can check the file.
pub(super) fn fill(range: Range<u64>, bytes: &mut [u8]) {
    for (place, byte) in range.zip(bytes) {
        // The multiplier of Knuth's MMIX generator spreads the number of each eight bytes over all of them.
        let word = (place / 8).wrapping_mul(6_364_136_223_846_793_005).to_le_bytes();
        *byte = word[usize::from(place.to_le_bytes()[0] % 8)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct TileIoCommand {
        #[command(flatten)]
        arguments: TileIoArguments,
    }

    fn parsed(words: &str) -> TileIoArguments {
        let all = ["x", "--filename", "data"].into_iter().chain(words.split_whitespace());
        <TileIoCommand as clap::Parser>::try_parse_from(all).unwrap().arguments
    }

    fn set(words: &str, rank_count: u64) -> Result<TileSet, String> {
        TileSet::new(&parsed(words), rank_count, [2, 2])
    }

    #[test]
    fn tiles_that_do_not_match_the_ranks_or_what_mpi_counts_are_refused() {
        for (words, said) in [
            ("--nr_tiles_x 3 --nr_tiles_y 1", "3 x 1 tiles are 3, and the job has 4 ranks"),
            ("--nr_tiles_x 3", "the job has 4 ranks"),
            ("--overlap_x 8 --sz_tile_x 8", "--overlap_x (8) must be less than --sz_tile_x (8)"),
            ("--sz_tile_x 1048576 --sz_element 4096", "bytes in a row of the data set"),
            ("--sz_tile_x 32768 --sz_tile_y 32768 --sz_element 4", "bytes in a tile"),
            ("--sz_tile_y 2000000000 --sz_tile_x 1 --sz_element 1", "4000000000 rows"),
        ] {
            let refused = set(words, 4).unwrap_err();
            assert!(refused.contains(said), "{words}: {refused}");
        }
        assert_eq!(set("--nr_tiles_y 4", 4).map(|set| set.x.tile_count), Ok(1));
    }

    #[test]
    fn rows_of_tiles_that_share_elements_are_where_the_standard_puts_a_subarray() {
        let set = set("--sz_tile_x 4 --sz_tile_y 3 --sz_element 2 --overlap_x 1 --overlap_y 2", 4).unwrap();
        // 7 x 4 elements: 4 + 4 - 1 in X, 3 + 3 - 2 in Y.
        assert_eq!((set.x.total(), set.y.total(), set.file_bytes()), (7, 4, 56));
        let rows: Vec<Range<u64>> = set.rows(3).collect();
        assert_eq!(rows, [20..28, 34..42, 48..56]);
        assert_eq!(set.rows(0).next(), Some(0..8));
    }

    #[test]
    fn data_are_decided_by_their_place_alone() {
        let (mut whole, mut part) = ([0; 40], [0; 9]);
        fill(0..40, &mut whole);
        fill(13..22, &mut part);
        assert_eq!(part, whole[13..22]);
        assert_ne!(whole[8..16], whole[16..24]);
    }
}
