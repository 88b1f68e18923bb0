//! `coll-perf`: a three-dimensional array of integers, distributed in blocks, is written and read by collective calls.
//!
//! # Source
//! `coll_perf.c` of ROMIO: the array, the untimed pass before, what is timed, and the output lines. Sizes are counted in 64
//! bits. Each integer is its index in the array, so that the file can be checked by any program.

use super::darray::{block, grid};
use super::room::{check_costs, check_length, check_room};
use super::{SuiteFailure, SuiteOutput, any, folder_of, hint, step};
use crate::file::{MpiFile, MpiOpenMode, RankTransfer};
use crate::gathered::{agreed, gathered};
use crate::view::{ArrayElement, FileView, RankPosition};
use clap::Args;
use mpi::collective::CommunicatorCollectives as _;
use mpi::topology::{Communicator as _, SimpleCommunicator};
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// Bytes of an integer.
const INTEGER_BYTES: u64 = 4;
/// The array is written and read untimed, then written and read.
const PASSES: u64 = 4;
/// What the original calls a megabyte.
const MBYTE: f64 = 1_048_576.0;

/// Options of the suite.
#[derive(Debug, Args)]
pub(super) struct CollPerfArguments {
    /// The file, which must not exist
    #[arg(short = 'f', long = "fname", value_name = "FILE")]
    file: PathBuf,
    /// Integers along each dimension; the original has 2176x1152x1408, which are 13 GiB
    #[arg(long = "size", value_name = "XxYxZ", default_value = "256x256x256", value_parser = sizes)]
    array: ArraySizes,
    /// Run also what moves more than four times the memory of a host, or may last longer than 15 minutes
    #[arg(long)]
    yes: bool,
    /// Leave the file
    #[arg(long)]
    keep: bool,
    /// A hint for opening the file; may be repeated
    #[arg(long = "hint", value_name = "KEY=VALUE", value_parser = hint)]
    hints: Vec<(String, String)>,
}

/// Integers along each dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ArraySizes([i32; 3]);

impl ArraySizes {
    fn wide(self) -> [u64; 3] {
        self.0.map(|size| u64::from(size.unsigned_abs()))
    }

    fn bytes(self) -> u64 {
        self.wide().iter().product::<u64>().saturating_mul(INTEGER_BYTES)
    }
}

fn sizes(text: &str) -> Result<ArraySizes, String> {
    let numbers: Option<Vec<i32>> = text.split('x').map(|word| word.trim().parse().ok()).collect();
    let three: Option<[i32; 3]> = numbers.and_then(|numbers| numbers.try_into().ok());
    match three {
        Some(sizes) if sizes.iter().all(|size| (1..=1 << 20).contains(size)) => Ok(ArraySizes(sizes)),
        _ => Err("three numbers from 1 to 1048576, such as 256x256x256".to_owned()),
    }
}

/// The part of one rank.
struct Part {
    view: FileView,
    integers: Vec<i32>,
}

/// Runs the test on all ranks of `world`.
pub(super) fn run(
    world: &SimpleCommunicator,
    arguments: &CollPerfArguments,
) -> Result<SuiteOutput, SuiteFailure> {
    check_place(world, &arguments.file)?;
    let needed_bytes = if world.rank() == 0 { arguments.array.bytes() } else { 0 };
    check_room(world, folder_of(&arguments.file), needed_bytes)?;
    if !arguments.yes {
        check_costs(world, arguments.array.bytes().saturating_mul(PASSES) / ranks(world))?;
    }
    let part = step(world, part(world, arguments.array))?;
    let test = CollPerf { world, arguments, part, has_made: Cell::new(false) };
    let outcome = test.written_and_read();
    // All ranks know of a failure; what was written until then, a full file system perhaps, does not stay.
    if any(world, test.has_made.get()) && (outcome.is_err() || !arguments.keep) {
        let removed = test.remove();
        if outcome.is_ok() {
            removed?;
        }
    }
    let (write_s, read_s, wrong_count) = outcome?;
    Ok(output(arguments.array, write_s, read_s, wrong_count))
}

fn ranks(world: &SimpleCommunicator) -> u64 {
    u64::try_from(world.size()).unwrap_or(1).max(1)
}

fn check_place(world: &SimpleCommunicator, path: &Path) -> Result<(), SuiteFailure> {
    let exists = world.rank() == 0 && path.symlink_metadata().is_ok();
    let parent = folder_of(path);
    let own = if exists {
        Err(format!(
            "{} exists, and nothing is written over; give another name, or remove it",
            path.display()
        ))
    } else if !parent.is_dir() {
        Err(format!("{} is no folder that this rank can see", parent.display()))
    } else {
        Ok(())
    };
    agreed(world, own).map_err(SuiteFailure::BadInput)
}

fn part(world: &SimpleCommunicator, sizes: ArraySizes) -> Result<Part, String> {
    let grid = grid(world.size())?;
    let position = RankPosition { rank: world.rank(), count: world.size() };
    let view = FileView::from_grid(position, sizes.0, grid, ArrayElement::Integer)?;
    let wide = sizes.wide();
    let places = block(
        u64::try_from(world.rank()).unwrap_or_default(),
        wide,
        grid.map(|count| u64::from(count.unsigned_abs()).max(1)),
    );
    let [x, y, z] = places.map(|(from, length)| from..from + length);
    let count = places.iter().map(|(_, length)| length).product::<u64>();
    let room = usize::try_from(count).map_err(|_| format!("{count} integers of one rank"))?;
    let mut integers = Vec::new();
    integers.try_reserve_exact(room).map_err(|error| format!("memory for {count} integers: {error}"))?;
    for i in x {
        for j in y.clone() {
            integers.extend(z.clone().map(|k| integer((i * wide[1] + j) * wide[2] + k)));
        }
    }
    Ok(Part { view, integers })
}

/// The integer at an index of the array: its lowest 32 bits.
fn integer(index: u64) -> i32 {
    let [a, b, c, d, ..] = index.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CollectiveOp {
    Write,
    Read,
}

struct CollPerf<'a> {
    world: &'a SimpleCommunicator,
    arguments: &'a CollPerfArguments,
    part: Part,
    /// Whether this rank has made the file.
    has_made: Cell<bool>,
}

impl CollPerf<'_> {
    /// The longest times of the write and of the read, and how many integers that were read differ.
    fn written_and_read(&self) -> Result<(f64, f64, u64), SuiteFailure> {
        self.warm_up()?;
        let (write_s, _) = self.timed(CollectiveOp::Write)?;
        let (read_s, wrong_count) = self.timed(CollectiveOp::Read)?;
        Ok((write_s, read_s, wrong_count))
    }

    fn remove(&self) -> Result<(), SuiteFailure> {
        self.world.barrier();
        let path = &self.arguments.file;
        let remove =
            || std::fs::remove_file(path).map_err(|error| format!("remove {}: {error}", path.display()));
        step(self.world, if self.world.rank() == 0 { remove() } else { Ok(()) })
    }

    fn open(&self, mode: MpiOpenMode) -> Result<MpiFile, SuiteFailure> {
        let opened = MpiFile::open(self.world, &self.arguments.file, mode, &self.arguments.hints);
        if mode == MpiOpenMode::New && opened.is_ok() {
            self.has_made.set(true);
        }
        let file = step(self.world, opened)?;
        step(self.world, file.set_view(&self.part.view))?;
        Ok(file)
    }

    /// One write and one read that are not timed: pages and blocks are there afterwards.
    fn warm_up(&self) -> Result<(), SuiteFailure> {
        let file = self.open(MpiOpenMode::New)?;
        let mut found = vec![0; self.part.integers.len()];
        let moved = file.write(RankTransfer::Collective, &self.part.integers);
        let moved = moved.and(file.seek(0)).and(file.read(RankTransfer::Collective, &mut found));
        step(self.world, moved)?;
        step(self.world, file.close())?;
        self.check_length()
    }

    /// Fails where the file is not there as a whole.
    fn check_length(&self) -> Result<(), SuiteFailure> {
        self.world.barrier();
        let is_first = self.world.rank() == 0;
        let check = || check_length(&self.arguments.file, self.arguments.array.bytes());
        step(self.world, if is_first { check() } else { Ok(()) })
    }

    /// The longest time of a rank, and how many integers that were read differ from those written.
    fn timed(&self, op: CollectiveOp) -> Result<(f64, u64), SuiteFailure> {
        let file = self.open(MpiOpenMode::Existing)?;
        let mut found = vec![0; if op == CollectiveOp::Read { self.part.integers.len() } else { 0 }];
        self.world.barrier();
        let from = mpi::time();
        let moved = match op {
            CollectiveOp::Write => file.write(RankTransfer::Collective, &self.part.integers),
            CollectiveOp::Read => file.read(RankTransfer::Collective, &mut found),
        };
        let seconds = mpi::time() - from;
        step(self.world, moved)?;
        step(self.world, file.close())?;
        let wrong = found.iter().zip(&self.part.integers).filter(|(found, written)| found != written).count();
        let mut bytes = seconds.to_bits().to_le_bytes().to_vec();
        bytes.extend((wrong as u64).to_le_bytes());
        let all = gathered(self.world, bytes);
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let longest = all.iter().map(|bytes| f64::from_bits(number(&bytes[..8]))).fold(0.0, f64::max);
        self.check_length()?;
        Ok((longest, all.iter().map(|bytes| number(&bytes[8..])).sum()))
    }
}

fn output(sizes: ArraySizes, write_s: f64, read_s: f64, wrong_count: u64) -> SuiteOutput {
    let [x, y, z] = sizes.0;
    let mut text = format!("Global array size {x} x {y} x {z} integers\n");
    for (name, seconds) in [("write", write_s), ("read", read_s)] {
        let mbytes_per_s = sizes.bytes() as f64 / (seconds * MBYTE);
        let line = format!(
            "Collective {name} time = {seconds:.6} sec, Collective {name} bandwidth = {mbytes_per_s:.6} Mbytes/sec\n"
        );
        text.push_str(&line);
    }
    let mismatch =
        (wrong_count > 0).then(|| format!("{wrong_count} integers of those read differ from those written"));
    SuiteOutput { text, mismatch }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_original_array_is_counted_in_64_bits() {
        let original = sizes("2176x1152x1408").unwrap();
        assert_eq!(original.bytes(), 14_118_027_264);
        let text = output(original, 2.0, 1.0, 0).text;
        assert!(text.contains("bandwidth = 6732.000000 Mbytes/sec"), "{text}");
        for wrong in ["", "1x2", "0x1x1", "1x2x3x4", "ax1x1"] {
            assert!(sizes(wrong).is_err(), "{wrong}");
        }
    }
}
