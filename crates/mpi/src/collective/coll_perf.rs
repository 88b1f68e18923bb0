//! `coll-perf`: a three-dimensional array of integers, distributed in blocks, is written and read by collective calls.
//!
//! # Source
//! `coll_perf.c` of ROMIO: the array, the untimed pass before, what is timed, and the output lines. Sizes are counted in 64
//! bits. Each integer is its index in the array, so that the file can be checked by any program.

use super::buffer::TransferBuffer;
use super::darray::{block, grid};
use super::phase::{OwnPhase, megabytes_per_s, wrong_count};
use super::room::{check_costs, check_room};
use super::suite_file::SuiteFile;
use super::{SuiteFailure, SuiteOptions, SuiteOutput, folder_of, lowest_bits, rank_count, step};
use crate::calls::RankTransfer;
use crate::file::{MpiFile, MpiOpenMode};
use crate::view::{ArrayElement, ArrayPart, RankPosition};
use clap::Args;
use mpi::collective::CommunicatorCollectives as _;
use mpi::topology::{Communicator as _, SimpleCommunicator};
use narrows_model::Op;
use narrows_model::collective::{CollectivePhase, CollectivePoint, PhaseSync};
use std::path::PathBuf;

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
    pub(super) file: PathBuf,
    /// Integers along each dimension; the original has 2176x1152x1408, which are 13 GiB
    #[arg(long = "size", value_name = "XxYxZ", default_value = "256x256x256", value_parser = sizes)]
    array: ArraySizes,
    /// Leave the file
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    pub(super) options: SuiteOptions,
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
    view: ArrayPart,
    integers: TransferBuffer<i32>,
}

/// Runs the test on all ranks of `world`.
pub(super) fn run(
    world: &SimpleCommunicator,
    arguments: &CollPerfArguments,
) -> Result<SuiteOutput, SuiteFailure> {
    let file = SuiteFile::new(world, &arguments.file, &arguments.options.hints);
    file.check_new()?;
    let needed_bytes = if file.is_first() { arguments.array.bytes() } else { 0 };
    check_room(world, folder_of(&arguments.file), needed_bytes)?;
    if !arguments.options.yes {
        let moved_bytes = arguments.array.bytes().saturating_mul(PASSES);
        check_costs(world, moved_bytes / u64::from(rank_count(world).max(1)))?;
    }
    let part = step(world, part(world, arguments.array))?;
    let test = CollPerf { array: arguments.array, file, part };
    let phases = test.file.left(test.written_and_read(), arguments.keep)?;
    let [x, y, z] = arguments.array.0;
    let layout = format!("blocks of an array of {x} x {y} x {z} integers");
    Ok(output(arguments.array, test.file.point(layout, phases)))
}

fn part(world: &SimpleCommunicator, sizes: ArraySizes) -> Result<Part, String> {
    let grid = grid(world.size())?;
    let position = RankPosition { rank: world.rank(), count: world.size() };
    let view = ArrayPart::from_grid(position, sizes.0, grid, ArrayElement::Integer)?;
    let wide = sizes.wide();
    let places = block(
        u64::try_from(world.rank()).unwrap_or_default(),
        wide,
        grid.map(|count| u64::from(count.unsigned_abs()).max(1)),
    );
    let [x, y, z] = places.map(|(from, length)| from..from + length);
    let count = places.iter().map(|(_, length)| length).product::<u64>();
    let mut integers = TransferBuffer::filled(count, 0)?;
    let rows = x.flat_map(|i| y.clone().map(move |j| (i * wide[1] + j) * wide[2]));
    let values = rows.flat_map(|row| z.clone().map(move |k| lowest_bits(row + k)));
    integers.iter_mut().zip(values).for_each(|(integer, value)| *integer = value);
    Ok(Part { view, integers })
}

struct CollPerf<'a> {
    array: ArraySizes,
    file: SuiteFile<'a>,
    part: Part,
}

impl CollPerf<'_> {
    fn written_and_read(&self) -> Result<Vec<CollectivePhase>, SuiteFailure> {
        self.warm_up()?;
        Ok(vec![self.timed(Op::Write)?, self.timed(Op::Read)?])
    }

    fn open(&self, mode: MpiOpenMode) -> Result<MpiFile, SuiteFailure> {
        let file = self.file.open(mode)?;
        step(self.file.world, file.set_view(&self.part.view))?;
        Ok(file)
    }

    /// Memory to read into, with what no integer of the array is; none for writes.
    fn memory(&self, op: Op) -> Result<TransferBuffer<i32>, SuiteFailure> {
        let count = if op == Op::Read { self.part.integers.len() } else { 0 };
        step(self.file.world, TransferBuffer::filled(count as u64, -1))
    }

    /// One write and one read that are not timed: pages and blocks are there afterwards.
    fn warm_up(&self) -> Result<(), SuiteFailure> {
        let world = self.file.world;
        let file = self.open(MpiOpenMode::New)?;
        let mut found = self.memory(Op::Read)?;
        let moved = file.write(RankTransfer::Collective, &self.part.integers);
        let moved = moved.and(file.seek(0)).and(file.read(RankTransfer::Collective, &mut found));
        step(world, moved)?;
        step(world, file.close())?;
        self.file.check_length(self.array.bytes())
    }

    /// What all ranks did in one timed call, and how many integers that were read differ from those written.
    fn timed(&self, op: Op) -> Result<CollectivePhase, SuiteFailure> {
        let world = self.file.world;
        let file = self.open(MpiOpenMode::Existing)?;
        let mut found = self.memory(op)?;
        world.barrier();
        let from = mpi::time();
        let moved = if op == Op::Write {
            file.write(RankTransfer::Collective, &self.part.integers)
        } else {
            file.read(RankTransfer::Collective, &mut found)
        };
        let transfer_s = mpi::time() - from;
        step(world, moved)?;
        step(world, file.close())?;
        let wrong =
            found.iter().zip(self.part.integers.iter()).filter(|(found, written)| found != written).count();
        let own = OwnPhase {
            op,
            transfer: RankTransfer::Collective,
            call_count: 1,
            sync: (op == Op::Write).then_some(PhaseSync::Never),
            bytes: (self.part.integers.len() as u64).saturating_mul(INTEGER_BYTES),
            transfer_s,
            file_s: None,
            wrong_count: (op == Op::Read).then_some(wrong as u64),
        };
        let phase = own.of_all(world);
        self.file.check_length(self.array.bytes())?;
        Ok(phase)
    }
}

fn output(array: ArraySizes, point: CollectivePoint) -> SuiteOutput {
    let [x, y, z] = array.0;
    let mut text = format!("Global array size {x} x {y} x {z} integers\n");
    for phase in &point.phases {
        let name = phase.op.name();
        let line = format!(
            "Collective {name} time = {:.6} sec, Collective {name} bandwidth = {:.6} Mbytes/sec\n",
            phase.slowest_ns().as_secs_f64(),
            megabytes_per_s(phase, MBYTE)
        );
        text.push_str(&line);
    }
    let wrong = wrong_count(&point.phases).filter(|count| *count > 0);
    let mismatch = wrong.map(|count| format!("{count} integers of those read differ from those written"));
    SuiteOutput { text, points: vec![point], mismatch }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_original_array_is_counted_in_64_bits() {
        let original = sizes("2176x1152x1408").unwrap();
        assert_eq!(original.bytes(), 14_118_027_264);
        let own = OwnPhase {
            op: Op::Read,
            transfer: RankTransfer::Collective,
            call_count: 1,
            sync: None,
            bytes: original.bytes(),
            transfer_s: 2.0,
            file_s: None,
            wrong_count: Some(0),
        };
        let point = CollectivePoint {
            rank_count: 1,
            layout: String::new(),
            reported_hints: None,
            phases: vec![own.of_one()],
        };
        let text = output(original, point).text;
        assert!(text.contains("bandwidth = 6732.000000 Mbytes/sec"), "{text}");
        for wrong in ["", "1x2", "0x1x1", "1x2x3x4", "ax1x1"] {
            assert!(sizes(wrong).is_err(), "{wrong}");
        }
    }
}
