//! `mpi-io-test`: each rank writes and reads blocks, one an iteration, and the slowest rank's time counts.
//!
//! # Source
//! `mpi-io-test.c` of PVFS2: options, order of calls, formulas and output lines. Two of its faults are not repeated: the
//! name that `-I` reads again, and the overflow of `-b`.

use super::room::{check_costs, check_length, check_room};
use super::{SuiteFailure, SuiteOutput, any, folder_of, hint, step};
use crate::file::{MpiFile, MpiOpenMode, RankTransfer};
use crate::gathered::gathered;
use clap::Args;
use mpi::collective::CommunicatorCollectives as _;
use mpi::topology::{Color, Communicator as _, SimpleCommunicator};
use narrows_model::Bytes;
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// Options of the suite, with the letters of the original.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the original")]
pub(super) struct MpiIoTestArguments {
    /// Bytes of a block, which each rank moves in an iteration
    #[arg(short = 'b', value_name = "SIZE", default_value = "16MiB", value_parser = size)]
    block: Bytes,
    /// Iterations; with more than one, the blocks of all ranks take turns in the file
    #[arg(short = 'i', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    iterations: u64,
    /// The file; it must not exist unless it is only read (-r)
    #[arg(short = 'f', value_name = "FILE")]
    file: PathBuf,
    /// A file for each rank, FILE.RANK
    #[arg(short = 'I')]
    own_files: bool,
    /// Collective calls
    #[arg(short = 'C')]
    collective: bool,
    /// Compare the data read with the data written; with -w and -r apart, give it to both
    #[arg(short = 'c')]
    check: bool,
    /// Sync within the time of each write, instead of once after the last
    #[arg(short = 'y')]
    sync: bool,
    /// All ranks at the same offset
    #[arg(short = 'S')]
    same_offset: bool,
    /// Read only, what an earlier run with -w has left
    #[arg(short = 'r', conflicts_with = "write_only")]
    read_only: bool,
    /// Write only, and leave the file
    #[arg(short = 'w')]
    write_only: bool,
    /// Run also what moves more than four times the memory of a host, or may last longer than 15 minutes
    #[arg(long)]
    yes: bool,
    /// A hint for opening the file; may be repeated
    #[arg(long = "hint", value_name = "KEY=VALUE", value_parser = hint)]
    hints: Vec<(String, String)>,
}

fn size(text: &str) -> Result<Bytes, String> {
    let bytes = narrows_model::quantity::parse_size(text).map_err(|error| error.to_string())?;
    let most = u64::from(i32::MAX.unsigned_abs());
    if (1..=most).contains(&bytes.0) { Ok(bytes) } else { Err(format!("a block is 1 to {most} bytes")) }
}

impl MpiIoTestArguments {
    fn transfer(&self) -> RankTransfer {
        if self.collective { RankTransfer::Collective } else { RankTransfer::Independent }
    }

    fn path(&self, rank: i32) -> PathBuf {
        if !self.own_files {
            return self.file.clone();
        }
        let mut name = self.file.clone().into_os_string();
        name.push(format!(".{rank}"));
        name.into()
    }

    /// Where the block of an iteration is.
    fn offset(&self, ranks: Ranks, iteration: u64) -> u64 {
        let place = match (self.own_files, self.same_offset) {
            (true, _) => iteration,
            (false, true) => iteration * ranks.count,
            (false, false) => iteration * ranks.count + ranks.own,
        };
        place.saturating_mul(self.block.0)
    }

    /// Bytes that this rank writes where nothing was: with one offset for all, the first rank's are those of all.
    fn made_bytes(&self, ranks: Ranks) -> u64 {
        let is_another_s = self.same_offset && !self.own_files && ranks.own > 0;
        if self.read_only || is_another_s { 0 } else { self.iterations.saturating_mul(self.block.0) }
    }

    /// Bytes that this rank moves.
    fn moved_bytes(&self) -> u64 {
        let passes = u64::from(!self.read_only) + u64::from(!self.write_only);
        self.iterations.saturating_mul(self.block.0).saturating_mul(passes)
    }

    /// Where the file of this rank ends.
    fn end_bytes(&self, ranks: Ranks) -> u64 {
        let last = Ranks { own: ranks.count - 1, count: ranks.count };
        self.offset(last, self.iterations - 1).saturating_add(self.block.0)
    }

    /// Whose data a block is: with one offset for all, all write the same.
    fn writer(&self, ranks: Ranks) -> u64 {
        if self.same_offset && !self.own_files { 0 } else { ranks.own }
    }
}

/// This rank and how many there are.
#[derive(Debug, Clone, Copy)]
struct Ranks {
    own: u64,
    count: u64,
}

/// Runs the test on all ranks of `world`.
pub(super) fn run(
    world: &SimpleCommunicator,
    arguments: &MpiIoTestArguments,
) -> Result<SuiteOutput, SuiteFailure> {
    let ranks = Ranks {
        own: u64::try_from(world.rank()).unwrap_or_default(),
        count: u64::try_from(world.size()).unwrap_or(1),
    };
    let path = arguments.path(world.rank());
    check_places(world, arguments, &path)?;
    check_room(world, folder_of(&path), arguments.made_bytes(ranks))?;
    if !arguments.yes {
        check_costs(world, arguments.moved_bytes())?;
    }
    // With a file of its own each rank is alone in its calls, which then are collective in name only.
    let color = if arguments.own_files { world.rank() } else { 0 };
    let group = world.split_by_color_with_key(Color::with_value(color), world.rank());
    let group = step(world, group.ok_or_else(|| "MPI_Comm_split gave no communicator".to_owned()))?;
    let test = IoTest { world, group, arguments, ranks, path, has_made: Cell::new(false) };
    let outcome = test.written_and_read();
    // All ranks know of a failure; what was written until then, a full file system perhaps, does not stay.
    if any(world, test.has_made.get()) && (outcome.is_err() || !arguments.write_only) {
        let removed = test.remove();
        if outcome.is_ok() {
            removed?;
        }
    }
    let (written, read) = outcome?;
    let wrong = read.as_ref().map_or(0, |read| read.wrong_bytes);
    let total_wrong: u64 = all_u64(world, wrong).iter().sum();
    Ok(output(world, arguments, &Times { written, read: read.map(|read| read.seconds) }, total_wrong))
}

/// Refuses files that exist where they would be written, and folders that do not.
fn check_places(
    world: &SimpleCommunicator,
    arguments: &MpiIoTestArguments,
    path: &Path,
) -> Result<(), SuiteFailure> {
    let looks = arguments.own_files || world.rank() == 0;
    let parent = folder_of(path);
    let shown = path.display();
    let own = if arguments.read_only {
        if path.is_file() { Ok(()) } else { Err(format!("{shown} is no file; write it first, with -w")) }
    } else if !parent.is_dir() {
        Err(format!("{} is no folder that this rank can see", parent.display()))
    } else if looks && path.symlink_metadata().is_ok() {
        Err(format!("{shown} exists, and nothing is written over; give another name, or remove it"))
    } else {
        Ok(())
    };
    crate::gathered::agreed(world, own).map_err(SuiteFailure::BadInput)
}

struct IoTest<'a> {
    world: &'a SimpleCommunicator,
    group: SimpleCommunicator,
    arguments: &'a MpiIoTestArguments,
    ranks: Ranks,
    path: PathBuf,
    /// Whether this rank has made its file.
    has_made: Cell<bool>,
}

/// What one rank read.
struct ReadOutcome {
    seconds: f64,
    wrong_bytes: u64,
}

impl IoTest<'_> {
    fn open(&self, mode: MpiOpenMode) -> Result<MpiFile, SuiteFailure> {
        let opened = MpiFile::open(&self.group, &self.path, mode, &self.arguments.hints);
        if mode == MpiOpenMode::New && opened.is_ok() {
            self.has_made.set(true);
        }
        step(self.world, opened)
    }

    /// The seconds of this rank's writes, and what it read.
    fn written_and_read(&self) -> Result<(Option<f64>, Option<ReadOutcome>), SuiteFailure> {
        let written = if self.arguments.read_only { None } else { Some(self.written()?) };
        let read = if self.arguments.write_only { None } else { Some(self.read()?) };
        Ok((written, read))
    }

    /// The seconds that this rank's writes took together.
    fn written(&self) -> Result<f64, SuiteFailure> {
        let arguments = self.arguments;
        let mut block = vec![0; usize::try_from(arguments.block.0).unwrap_or_default()];
        let file = self.open(MpiOpenMode::New)?;
        let mut seconds = 0.0;
        let mut outcome = Ok(());
        for iteration in 0..arguments.iterations {
            // As in the original: making data between the writes costs time, and only the check needs it.
            if arguments.check || iteration == 0 {
                fill(&mut block, arguments.writer(self.ranks), iteration);
            }
            let placed = file.seek(arguments.offset(self.ranks, iteration));
            self.world.barrier();
            let from = mpi::time();
            let mut moved = placed.and_then(|()| file.write(arguments.transfer(), &block));
            if arguments.sync {
                moved = moved.and(file.sync());
            }
            seconds += mpi::time() - from;
            outcome = outcome.and(moved);
        }
        let synced = if arguments.sync { Ok(()) } else { file.sync() };
        step(self.world, outcome.and(synced))?;
        step(self.world, file.close())?;
        self.world.barrier();
        let is_checker = arguments.own_files || self.ranks.own == 0;
        let check = || check_length(&self.path, arguments.end_bytes(self.ranks));
        step(self.world, if is_checker { check() } else { Ok(()) })?;
        Ok(seconds)
    }

    fn read(&self) -> Result<ReadOutcome, SuiteFailure> {
        let arguments = self.arguments;
        let mut block = vec![0; usize::try_from(arguments.block.0).unwrap_or_default()];
        let mut expected = block.clone();
        let file = self.open(MpiOpenMode::ReadOnly)?;
        let mut seconds = 0.0;
        let mut wrong_bytes = 0;
        let mut outcome = Ok(());
        for iteration in 0..arguments.iterations {
            let placed = file.seek(arguments.offset(self.ranks, iteration));
            self.world.barrier();
            let from = mpi::time();
            let moved = placed.and_then(|()| file.read(arguments.transfer(), &mut block));
            seconds += mpi::time() - from;
            if arguments.check && moved.is_ok() {
                fill(&mut expected, arguments.writer(self.ranks), iteration);
                let differ = block.iter().zip(&expected).filter(|(found, written)| found != written);
                wrong_bytes += differ.count() as u64;
            }
            outcome = outcome.and(moved);
        }
        step(self.world, outcome)?;
        step(self.world, file.close())?;
        Ok(ReadOutcome { seconds, wrong_bytes })
    }

    fn remove(&self) -> Result<(), SuiteFailure> {
        self.world.barrier();
        let is_remover = self.arguments.own_files || self.world.rank() == 0;
        let remove = || {
            std::fs::remove_file(&self.path)
                .map_err(|error| format!("remove {}: {error}", self.path.display()))
        };
        step(self.world, if is_remover { remove() } else { Ok(()) })
    }
}

/// The data of a block: numbers of eight bytes that no other block has.
fn fill(block: &mut [u8], writer: u64, iteration: u64) {
    let start = (writer << 40) ^ (iteration << 28);
    for (index, bytes) in (0_u64..).zip(block.chunks_mut(8)) {
        // The multiplier of Knuth's MMIX generator spreads each number over all bytes.
        let number = (start ^ index).wrapping_mul(6_364_136_223_846_793_005).to_le_bytes();
        bytes.copy_from_slice(&number[..bytes.len()]);
    }
}

/// Seconds of one rank.
struct Times {
    written: Option<f64>,
    read: Option<f64>,
}

fn all_u64(world: &SimpleCommunicator, own: u64) -> Vec<u64> {
    let all = gathered(world, own.to_le_bytes().to_vec());
    all.iter().filter_map(|bytes| Some(u64::from_le_bytes(bytes.as_slice().try_into().ok()?))).collect()
}

fn output(
    world: &SimpleCommunicator,
    arguments: &MpiIoTestArguments,
    times: &Times,
    wrong_bytes: u64,
) -> SuiteOutput {
    let count = u64::try_from(world.size()).unwrap_or(1);
    let moved_bytes = count.saturating_mul(arguments.block.0).saturating_mul(arguments.iterations);
    let all = |own: Option<f64>| {
        own.map(|own| all_u64(world, own.to_bits()).into_iter().map(f64::from_bits).collect::<Vec<f64>>())
    };
    let (written, read) = (all(times.written), all(times.read));
    let mut text = format!(
        "# Using mpi-io calls.\nnr_procs = {count}, nr_iter = {}, blk_sz = {}, coll = {}\n# total_size = {moved_bytes}\n",
        arguments.iterations,
        arguments.block.0,
        u8::from(arguments.collective)
    );
    for (name, seconds) in [("Write:", &written), ("Read: ", &read)] {
        text.extend(seconds.as_ref().map(|seconds| TimeSpread::from_seconds(seconds).line(name)));
    }
    for (name, seconds) in [("Write", &written), ("Read", &read)] {
        if let Some(seconds) = seconds {
            let mbytes_per_s = moved_bytes as f64 / (TimeSpread::from_seconds(seconds).max_s * 1e6);
            let line = format!("{name} bandwidth = {mbytes_per_s:.6} Mbytes/sec\n");
            text.push_str(&line);
        }
    }
    let checked = arguments.check && read.is_some();
    if checked && wrong_bytes == 0 {
        text += "Correctness test passed.\n";
    }
    let mismatch = (wrong_bytes > 0).then(|| {
        format!("Correctness test failed: {wrong_bytes} bytes of those read differ from those written")
    });
    SuiteOutput { text, mismatch }
}

/// The seconds of all ranks, as the original describes them.
#[derive(Debug, PartialEq)]
struct TimeSpread {
    min_s: f64,
    max_s: f64,
    mean_s: f64,
    /// Of the ranks, with one less than their number as divisor; 0 of a single one.
    variance_s2: f64,
}

impl TimeSpread {
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

    fn line(&self, name: &str) -> String {
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
    fn a_file_ends_behind_the_last_block_of_the_last_rank() {
        let parsed = |words: &[&str]| {
            let all = ["x", "-f", "data", "-b", "1KiB", "-i", "3"].into_iter().chain(words.iter().copied());
            <TestCommand as clap::Parser>::try_parse_from(all).unwrap().arguments
        };
        let ranks = Ranks { own: 1, count: 4 };
        assert_eq!(parsed(&[]).end_bytes(ranks), 12 << 10);
        assert_eq!(parsed(&["-I"]).end_bytes(ranks), 3 << 10);
        // The offsets of iterations are those without -S.
        assert_eq!(parsed(&["-S"]).end_bytes(ranks), 9 << 10);
        assert_eq!(parsed(&["-S"]).made_bytes(ranks), 0);
        assert_eq!(parsed(&["-I"]).made_bytes(ranks), 3 << 10);
    }

    #[derive(Debug, clap::Parser)]
    struct TestCommand {
        #[command(flatten)]
        arguments: MpiIoTestArguments,
    }

    #[test]
    fn no_two_blocks_have_the_same_data() {
        let block = |writer, iteration| {
            let mut block = vec![0; 4099];
            fill(&mut block, writer, iteration);
            block
        };
        let all = [block(0, 0), block(1, 0), block(0, 1), block(1, 1)];
        assert!(all.iter().enumerate().all(|(index, one)| all[..index].iter().all(|other| other != one)));
        assert_eq!(block(1, 1), all[3]);
    }
}
