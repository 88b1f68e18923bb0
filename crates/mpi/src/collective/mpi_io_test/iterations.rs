//! The iterations of `mpi-io-test`: seek, barrier, clock, call, clock; first all writes, then all reads.

use super::arguments::{MpiIoTestArguments, RankBlocks};
use crate::collective::buffer::TransferBuffer;
use crate::collective::phase::{OwnPhase, sync_of};
use crate::collective::room::check_length;
use crate::collective::suite_file::remove;
use crate::collective::{SuiteFailure, any, step};
use crate::file::{MpiFile, MpiOpenMode};
use mpi::collective::CommunicatorCollectives as _;
use mpi::topology::{Color, Communicator as _, SimpleCommunicator};
use narrows_model::Op;
use narrows_model::collective::{CollectivePhase, CollectivePoint};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the ranks of one point do.
pub(super) struct IoTest<'a> {
    world: &'a SimpleCommunicator,
    /// The ranks that share a file.
    group: SimpleCommunicator,
    arguments: &'a MpiIoTestArguments,
    blocks: RankBlocks,
    path: PathBuf,
    /// Whether this rank has made its file.
    has_made: Cell<bool>,
    reported_hints: RefCell<Option<BTreeMap<String, String>>>,
}

impl<'a> IoTest<'a> {
    /// The test of all ranks of `world`, of which this one has `blocks`.
    pub(super) fn new(
        world: &'a SimpleCommunicator,
        arguments: &'a MpiIoTestArguments,
        blocks: RankBlocks,
    ) -> Result<Self, SuiteFailure> {
        // With a file of its own each rank is alone in its calls, which then are collective in name only.
        let color = if arguments.own_files { world.rank() } else { 0 };
        let group = world.split_by_color_with_key(Color::with_value(color), world.rank());
        let group = step(world, group.ok_or_else(|| "MPI_Comm_split gave no communicator".to_owned()))?;
        let path = arguments.path(world.rank());
        let (has_made, reported_hints) = (Cell::new(false), RefCell::default());
        Ok(Self { world, group, arguments, blocks, path, has_made, reported_hints })
    }

    /// Writes and reads, and leaves no file unless it is only written.
    pub(super) fn measured(&self) -> Result<CollectivePoint, SuiteFailure> {
        let outcome = self.written_and_read();
        // All ranks know of a failure; what was written until then, a full file system perhaps, does not stay.
        if any(self.world, self.has_made.get()) && (outcome.is_err() || !self.arguments.write_only) {
            let removed = self.remove();
            if outcome.is_ok() {
                removed?;
            }
        }
        let point = self.blocks.point;
        Ok(CollectivePoint {
            rank_count: point.rank_count,
            layout: self.arguments.layout(point),
            phases: outcome?,
            reported_hints: self.reported_hints.take(),
        })
    }

    fn written_and_read(&self) -> Result<Vec<CollectivePhase>, SuiteFailure> {
        let mut phases = Vec::new();
        if !self.arguments.read_only {
            phases.push(self.written()?);
        }
        if !self.arguments.write_only {
            phases.push(self.read()?);
        }
        Ok(phases)
    }

    fn open(&self, mode: MpiOpenMode) -> Result<MpiFile, SuiteFailure> {
        let opened = MpiFile::open(&self.group, &self.path, mode, &self.arguments.options.hints);
        if mode == MpiOpenMode::New && opened.is_ok() {
            self.has_made.set(true);
        }
        let file = step(self.world, opened)?;
        // They are null where the library does not report them.
        *self.reported_hints.borrow_mut() = file.reported_hints().ok();
        Ok(file)
    }

    /// The phase `op` of all ranks, in which this one's calls took `transfer_s`.
    fn phase(&self, op: Op, transfer_s: f64, wrong_count: Option<u64>) -> CollectivePhase {
        let arguments = self.arguments;
        let own = OwnPhase {
            op,
            transfer: arguments.transfer(),
            call_count: arguments.iterations,
            sync: (op == Op::Write).then_some(sync_of(arguments.sync)),
            bytes: arguments.bytes_of_pass(self.blocks.point),
            transfer_s,
            file_s: None,
            wrong_count,
        };
        own.of_all(self.world)
    }

    /// Memory of a block, on all ranks.
    fn block(&self) -> Result<TransferBuffer<u8>, SuiteFailure> {
        step(self.world, TransferBuffer::filled(self.blocks.point.block_bytes, 0))
    }

    fn written(&self) -> Result<CollectivePhase, SuiteFailure> {
        let arguments = self.arguments;
        let mut block = self.block()?;
        let file = self.open(MpiOpenMode::New)?;
        let mut transfer_s = 0.0;
        let mut outcome = Ok(());
        for iteration in 0..arguments.iterations {
            // As in the original: making data between the writes costs time, and only the check needs it.
            if arguments.check || iteration == 0 {
                fill(&mut block, arguments.writer(self.blocks), iteration);
            }
            let placed = file.seek(arguments.offset(self.blocks, iteration));
            self.world.barrier();
            let from = mpi::time();
            let mut moved = placed.and_then(|()| file.write(arguments.transfer(), &block));
            if arguments.sync {
                moved = moved.and(file.sync());
            }
            transfer_s += mpi::time() - from;
            outcome = outcome.and(moved);
        }
        let synced = if arguments.sync { Ok(()) } else { file.sync() };
        step(self.world, outcome.and(synced))?;
        step(self.world, file.close())?;
        self.world.barrier();
        let is_checker = arguments.own_files || self.blocks.rank == 0;
        let check = || check_length(&self.path, arguments.end_bytes(self.blocks));
        step(self.world, if is_checker { check() } else { Ok(()) })?;
        Ok(self.phase(Op::Write, transfer_s, None))
    }

    fn read(&self) -> Result<CollectivePhase, SuiteFailure> {
        let arguments = self.arguments;
        let mut block = self.block()?;
        let mut expected = self.block()?;
        let file = self.open(MpiOpenMode::ReadOnly)?;
        let mut transfer_s = 0.0;
        let mut wrong_bytes = 0;
        let mut outcome = Ok(());
        for iteration in 0..arguments.iterations {
            let placed = file.seek(arguments.offset(self.blocks, iteration));
            self.world.barrier();
            let from = mpi::time();
            let moved = placed.and_then(|()| file.read(arguments.transfer(), &mut block));
            transfer_s += mpi::time() - from;
            if arguments.check && moved.is_ok() {
                fill(&mut expected, arguments.writer(self.blocks), iteration);
                let differ = block.iter().zip(expected.iter()).filter(|(found, written)| found != written);
                wrong_bytes += differ.count() as u64;
            }
            outcome = outcome.and(moved);
        }
        step(self.world, outcome)?;
        step(self.world, file.close())?;
        Ok(self.phase(Op::Read, transfer_s, arguments.check.then_some(wrong_bytes)))
    }

    fn remove(&self) -> Result<(), SuiteFailure> {
        self.world.barrier();
        let is_remover = self.arguments.own_files || self.blocks.rank == 0;
        step(self.world, if is_remover { remove(&self.path) } else { Ok(()) })
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

#[cfg(test)]
mod tests {
    use super::*;

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
