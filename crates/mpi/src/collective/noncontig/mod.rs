//! `noncontig`: each rank writes and reads small pieces, which are contiguous or not in its memory and in the file.
//!
//! # Source
//! `noncontig.c` of ROMIO: pieces of all ranks in turn in the file, every other piece of memory, its three patterns in their
//! order, -1 in what no call may touch, and the words of its lines. Sizes, the pattern that is contiguous in both, times, and
//! collective calls are ours. Each integer is its index in the file, so that the file can be checked by any program.

mod pieces;

pub(super) use pieces::NoncontigArguments;

use super::phase::{MEGABYTE, OwnPhase, TimeSpread, megabytes_per_s, wrong_count};
use super::room::{check_costs, check_room};
use super::suite_file::SuiteFile;
use super::{SuiteFailure, SuiteOutput, folder_of, rank_count, step};
use crate::calls::RankTransfer;
use crate::file::{MpiFile, MpiOpenMode};
use crate::view::ArrayPart;
use mpi::collective::CommunicatorCollectives as _;
use mpi::topology::{Communicator as _, SimpleCommunicator};
use narrows_model::Op;
use narrows_model::collective::{CollectivePhase, CollectivePoint, PhaseSync};
use pieces::{GapPattern, INTEGER_BYTES, Pieces, UNTOUCHED};

/// Runs the test on all ranks of `world`.
pub(super) fn run(
    world: &SimpleCommunicator,
    arguments: &NoncontigArguments,
) -> Result<SuiteOutput, SuiteFailure> {
    let rank = u64::try_from(world.rank()).unwrap_or_default();
    let pieces =
        Pieces::new(arguments, rank, u64::from(rank_count(world))).map_err(SuiteFailure::BadInput)?;
    if arguments.keep && arguments.patterns.len() > 1 {
        let problem = "--keep leaves the file of one pattern; name it with --pattern".to_owned();
        return Err(SuiteFailure::BadInput(problem));
    }
    let file = SuiteFile::new(world, &arguments.file, &arguments.options.hints);
    file.check_new()?;
    let needed_bytes = if file.is_first() { pieces.file_bytes() } else { 0 };
    check_room(world, folder_of(&arguments.file), needed_bytes)?;
    if !arguments.options.yes {
        let passes = (arguments.patterns.len() as u64).saturating_mul(2);
        check_costs(world, pieces.own_bytes().saturating_mul(passes))?;
    }
    let transfer = if arguments.collective { RankTransfer::Collective } else { RankTransfer::Independent };
    let mut points = Vec::new();
    for pattern in &arguments.patterns {
        let test = step(world, GapTest::new(&file, pieces, *pattern, transfer))?;
        let phases = file.left(test.written_and_read(), arguments.keep)?;
        let layout = format!(
            "{} pieces of {} integers of each rank, {}",
            pieces.count,
            pieces.integers,
            pattern.words()
        );
        points.push(file.point(layout, phases));
    }
    let calls = if arguments.collective { "collective" } else { "independent" };
    Ok(output(calls, &arguments.patterns, points))
}

/// One pattern on all ranks.
struct GapTest<'a> {
    file: &'a SuiteFile<'a>,
    pieces: Pieces,
    pattern: GapPattern,
    transfer: RankTransfer,
    memory_part: Option<ArrayPart>,
    file_part: Option<ArrayPart>,
    /// What is written, and what memory is again once it is read.
    memory: Vec<i32>,
}

impl<'a> GapTest<'a> {
    fn new(
        file: &'a SuiteFile<'a>,
        pieces: Pieces,
        pattern: GapPattern,
        transfer: RankTransfer,
    ) -> Result<Self, String> {
        Ok(Self {
            file,
            pieces,
            pattern,
            transfer,
            memory_part: pieces.memory_part(pattern)?,
            file_part: pieces.file_part(pattern)?,
            memory: pieces.memory(pattern)?,
        })
    }

    fn written_and_read(&self) -> Result<Vec<CollectivePhase>, SuiteFailure> {
        let written = self.written()?;
        self.file.check_length(self.pieces.file_bytes())?;
        Ok(vec![written, self.read()?])
    }

    /// The file, at the first piece of this rank.
    fn open(&self, mode: MpiOpenMode) -> Result<MpiFile, SuiteFailure> {
        let file = self.file.open(mode)?;
        let placed = match &self.file_part {
            Some(part) => file.set_view(part),
            None => file.seek(self.pieces.start(self.pattern, 0).saturating_mul(INTEGER_BYTES)),
        };
        step(self.file.world, placed)?;
        Ok(file)
    }

    fn written(&self) -> Result<CollectivePhase, SuiteFailure> {
        let world = self.file.world;
        let file = self.open(MpiOpenMode::New)?;
        world.barrier();
        let from = mpi::time();
        let moved = match &self.memory_part {
            Some(part) => file.write_part(self.transfer, &self.memory, part),
            None => file.write(self.transfer, &self.memory),
        };
        let transfer_s = mpi::time() - from;
        step(world, moved.and(file.sync()))?;
        step(world, file.close())?;
        Ok(self.phase(Op::Write, transfer_s, None))
    }

    fn read(&self) -> Result<CollectivePhase, SuiteFailure> {
        let world = self.file.world;
        // As in ROMIO: what is not read stays as it was.
        let mut found = vec![UNTOUCHED; self.memory.len()];
        let file = self.open(MpiOpenMode::ReadOnly)?;
        world.barrier();
        let from = mpi::time();
        let moved = match &self.memory_part {
            Some(part) => file.read_part(self.transfer, &mut found, part),
            None => file.read(self.transfer, &mut found),
        };
        let transfer_s = mpi::time() - from;
        step(world, moved)?;
        step(world, file.close())?;
        let wrong = found.iter().zip(&self.memory).filter(|(found, written)| found != written).count();
        Ok(self.phase(Op::Read, transfer_s, Some(wrong as u64)))
    }

    fn phase(&self, op: Op, transfer_s: f64, wrong_count: Option<u64>) -> CollectivePhase {
        let own = OwnPhase {
            op,
            transfer: self.transfer,
            call_count: 1,
            sync: (op == Op::Write).then_some(PhaseSync::AfterTime),
            bytes: self.pieces.own_bytes(),
            transfer_s,
            file_s: None,
            wrong_count,
        };
        own.of_all(self.file.world)
    }
}

fn output(calls: &str, patterns: &[GapPattern], points: Vec<CollectivePoint>) -> SuiteOutput {
    let mut text = String::new();
    for (pattern, point) in patterns.iter().zip(&points) {
        text.push_str(&format_pattern(*pattern, calls, point));
    }
    let wrong = wrong_count(points.iter().flat_map(|point| &point.phases)).unwrap_or_default();
    if wrong == 0 {
        text.push_str(" No Errors\n");
    }
    let mismatch = (wrong > 0).then(|| {
        format!("Found {wrong} errors: integers in memory differ after the read from those before the write")
    });
    SuiteOutput { text, points, mismatch }
}

fn format_pattern(pattern: GapPattern, calls: &str, point: &CollectivePoint) -> String {
    let bytes = point.phases.first().map_or(0, |phase| phase.bytes.0);
    let mut text = format!(
        "# testing {} using {calls} I/O\n# nr_procs = {}, total_size = {bytes}\n",
        pattern.words(),
        point.rank_count
    );
    for phase in &point.phases {
        let (name, label) = if phase.op == Op::Write { ("Write", "Write:") } else { ("Read", "Read: ") };
        text.push_str(&TimeSpread::from_ranks(phase, |rank| rank.transfer_ns).line(label));
        let line = format!("{name} bandwidth = {:.6} Mbytes/sec\n", megabytes_per_s(phase, MEGABYTE));
        text.push_str(&line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_that_differ_are_counted_over_all_patterns_in_the_words_of_the_original() {
        let own = OwnPhase {
            op: Op::Read,
            transfer: RankTransfer::Collective,
            call_count: 1,
            sync: None,
            bytes: 8_000_000,
            transfer_s: 2.0,
            file_s: None,
            wrong_count: Some(0),
        };
        let point = |wrong_count| CollectivePoint {
            rank_count: 1,
            layout: String::new(),
            reported_hints: None,
            phases: vec![OwnPhase { wrong_count: Some(wrong_count), ..own }.of_one()],
        };
        let patterns = [GapPattern::MemoryAndFile, GapPattern::File];
        let passed = output("collective", &patterns, vec![point(0), point(0)]);
        assert!(passed.mismatch.is_none() && passed.text.ends_with("\n No Errors\n"), "{}", passed.text);
        assert_eq!(passed.text.matches("Read bandwidth = 4.000000 Mbytes/sec\n").count(), 2);
        let failed = output("collective", &patterns, vec![point(2), point(1)]);
        assert!(failed.mismatch.unwrap().starts_with("Found 3 errors") && !failed.text.contains("No Errors"));
    }
}
