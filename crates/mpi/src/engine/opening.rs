//! Opens a file on one rank, or on all that share it: on all of them or on none.
//!
//! Before and after, the file is compared with the one that this run has made. Not here: requests.

use super::group::{IoRanks, RankGroup, RankWait};
use super::issuer::{MpiioEngine, OneRequest, SharedFile};
use super::layout::{BlockLayout, PieceView, RankPart};
use super::lockstep::Lockstep;
use crate::calls::RankTransfer;
use crate::failure::MpiFailure;
use crate::file::{MpiFile, MpiOpenMode};
use crate::view::{ArrayElement, ArrayPart, RankPosition, grid_of_ranks};
use mpi::topology::SimpleCommunicator;
use narrows_engines::psync::PsyncFactory;
use narrows_engines::sync_count::SyncCount;
use narrows_engines::{EngineError, EngineFactory as _, ErrorKind, OpenSpec, WorkerContext};
use narrows_model::capabilities::Completion;
use narrows_model::engine::mpiio::{DECLARATION, MpiioCalls, MpiioFile, MpiioLayout, MpiioOptions};
use narrows_model::workload::{Access, SyncPolicy};
use narrows_model::{Bytes, Effective, Op, Target, Workload};
use narrows_sys::buffer::AlignedBuffer;
use std::os::raw::c_int;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The error of what this engine cannot do.
pub(super) fn unsupported(target: &Target, detail: impl Into<String>) -> EngineError {
    EngineError::new(ErrorKind::Unsupported, "open", target.to_string()).detail(detail)
}

/// A file that is being opened by one rank.
pub(super) struct Opening<'a> {
    pub(super) ranks: &'a IoRanks,
    pub(super) files: &'a PsyncFactory,
    pub(super) spec: &'a OpenSpec,
    pub(super) worker: &'a WorkerContext,
    pub(super) options: MpiioOptions,
}

impl Opening<'_> {
    /// The engine of this rank.
    ///
    /// # Errors
    /// What cannot be opened, with the rank that finds it.
    pub(super) fn open(&self) -> Result<MpiioEngine, EngineError> {
        let (spec, load) = (self.spec, &self.spec.workload);
        let layout = self.layout().map_err(|failure| self.failed(&failure.text))?;
        let path = self.path()?;
        let (block, file, shared) = match self.options.file {
            MpiioFile::Own => (self.block()?, self.open_own(&path, &layout)?, None),
            MpiioFile::Shared => self.open_with_others(&path, &layout)?,
        };
        Ok(MpiioEngine {
            effective: effective(spec),
            block,
            layout,
            transfer: match self.options.calls {
                MpiioCalls::Independent => RankTransfer::Independent,
                MpiioCalls::Collective => RankTransfer::Collective,
            },
            file: Some(file),
            shared,
            sync_count: SyncCount::new(load.sync, &self.worker.clock),
            syncs_after_end: load.sync == SyncPolicy::AfterEnd && writes(load),
            flight: OneRequest::default(),
            path: path.display().to_string(),
        })
    }

    /// The same with all ranks that share the file. Nothing that can fail on one rank alone comes before the group.
    fn open_with_others(
        &self,
        path: &Path,
        layout: &BlockLayout,
    ) -> Result<(AlignedBuffer, MpiFile, Option<SharedFile>), EngineError> {
        let worker = self.worker;
        let wait = RankWait { clock: Arc::clone(&worker.clock), stop: worker.stop.clone() };
        let group = self.ranks.first(self.spec.workload.clients.max(1), wait);
        let mut group = group.map_err(|failure| self.failed(&failure.text))?;
        let opened = self.open_shared(&mut group, path, layout);
        let (block, file) = opened.map_err(|problem| self.failed(&problem))?;
        Ok((block, file, Some(SharedFile { group, step: Lockstep::default() })))
    }

    /// The memory of a block.
    fn block(&self) -> Result<AlignedBuffer, EngineError> {
        Ok(AlignedBuffer::with_entropy(block_length(&self.spec.workload), self.worker.seed)?)
    }

    fn failed(&self, problem: &str) -> EngineError {
        EngineError::new(ErrorKind::Io, "open", self.spec.target.to_string()).detail(problem)
    }

    /// The name of this client's object; an empty one is the target itself.
    fn object(&self) -> Result<&str, EngineError> {
        let (objects, target) = (&self.spec.objects, &self.spec.target);
        let index = match objects.len() {
            1 => 0,
            count if count == self.spec.workload.clients as usize => self.worker.client_index as usize,
            _ => {
                return Err(unsupported(
                    target,
                    "several ranks at each of several targets together, with a file for each rank",
                ));
            }
        };
        let found = objects.get(index).map(String::as_str);
        found.ok_or_else(|| unsupported(target, "the client has no file of its own"))
    }

    fn path(&self) -> Result<PathBuf, EngineError> {
        let Target::File { path } = &self.spec.target else {
            return Err(unsupported(&self.spec.target, "MPI-IO serves files and folders"));
        };
        let object = self.object()?;
        Ok(if object.is_empty() { path.clone() } else { path.join(object) })
    }

    fn layout(&self) -> Result<BlockLayout, MpiFailure> {
        let load = &self.spec.workload;
        let mut dims: [c_int; 2] = [0; 2];
        grid_of_ranks(c_int::try_from(load.clients.max(1)).unwrap_or(c_int::MAX), &mut dims)?;
        let exists = self.spec.objects.iter().all(String::is_empty);
        if exists && self.options.layout != MpiioLayout::Segmented {
            return Err(MpiFailure::invalid(
                "a file that exists is read in parts (layout = \"segmented\"); other layouts need a folder, in which narrows \
                 makes a file of whole blocks"
                    .to_owned(),
            ));
        }
        // As wide as high, or wider: with few ranks columns are what makes pieces.
        let grid = [dims[1], dims[0]].map(|count| u64::from(count.unsigned_abs()).max(1));
        let part = RankPart { rank: self.worker.client_index, bytes: self.spec.object_bytes.0, exists };
        Ok(BlockLayout::new(load, &self.options, part, grid))
    }

    fn mode(&self) -> MpiOpenMode {
        let may_write = self.spec.create || writes(&self.spec.workload);
        if may_write { MpiOpenMode::Existing } else { MpiOpenMode::ReadOnly }
    }

    /// Fails where the file is not the one that this run has made, or is too short; makes it where it is missing, if `creates`.
    fn check_file(&self, layout: &BlockLayout, creates: bool) -> Result<(), EngineError> {
        let op = if writes(&self.spec.workload) { Op::Write } else { Op::Read };
        let spec = OpenSpec {
            workload: Workload { op, block_bytes: Bytes(1), ..Workload::default() },
            objects: vec![self.object()?.to_owned()],
            object_bytes: Bytes(layout.file_bytes()),
            create: creates,
            ..self.spec.clone()
        };
        self.files.open(&spec, self.worker)?.close()
    }

    fn hints(&self) -> Result<Vec<(String, String)>, EngineError> {
        let wrong = |word: String| unsupported(&self.spec.target, format!("the hint {word} has no value"));
        self.options.hints().map_err(wrong)
    }

    fn open_own(&self, path: &Path, layout: &BlockLayout) -> Result<MpiFile, EngineError> {
        self.check_file(layout, self.spec.create)?;
        let opened = MpiFile::open(&SimpleCommunicator::self_comm(), path, self.mode(), &self.hints()?);
        let file = opened.map_err(|failure| self.failed(&failure.text))?;
        // Between both looks it was open already: it is the one that both have found.
        self.check_file(layout, false)?;
        Ok(file)
    }

    /// Opens the file on all ranks of `group`, or on none: what fails on one fails on all, with its reason.
    fn open_shared(
        &self,
        group: &mut RankGroup,
        path: &Path,
        layout: &BlockLayout,
    ) -> Result<(AlignedBuffer, MpiFile), String> {
        let is_first = self.worker.client_index == 0;
        // One alone makes it.
        let made = if is_first { self.check_file(layout, self.spec.create) } else { Ok(()) };
        group.agreed(made.map_err(|error| error.to_string()))?;
        let ready = self.check_file(layout, false).and_then(|()| Ok((self.block()?, self.hints()?)));
        let (block, hints) = group.agreed_on(ready.map_err(|error| error.to_string()))?;
        let opened = MpiFile::open(group, path, self.mode(), &hints);
        let problem = opened.as_ref().err().map(ToString::to_string);
        let file = match (opened, group.agreed(problem.map_or(Ok(()), Err))) {
            (Ok(file), Ok(())) => file,
            (opened, outcome) => {
                // Closing would wait for those that have not opened it.
                opened.into_iter().for_each(MpiFile::abandon);
                return Err(outcome.err().unwrap_or_default());
            }
        };
        let viewed = layout.view().map_or(Ok(()), |view| self.show(&file, view));
        let viewed = viewed.map_err(String::from);
        let checked = viewed.and(self.check_file(layout, false).map_err(|error| error.to_string()));
        match group.agreed(checked) {
            Ok(()) => Ok((block, file)),
            Err(problem) => {
                file.abandon();
                Err(problem)
            }
        }
    }

    /// Shows this rank its pieces of the file alone.
    fn show(&self, file: &MpiFile, view: PieceView) -> Result<(), MpiFailure> {
        let counted = |number: u64| {
            c_int::try_from(number).map_err(|_| {
                MpiFailure::invalid(format!(
                    "{number} bytes in a row of the matrix; MPI counts to 2147483647"
                ))
            })
        };
        let count = u64::from(self.spec.workload.clients.max(1));
        let rank = u64::from(self.worker.client_index);
        let (rows, piece) = (counted(view.rows)?, counted(view.piece_bytes)?);
        let sizes = [
            counted(view.grid[0].saturating_mul(view.rows))?,
            counted(view.grid[1].saturating_mul(view.piece_bytes))?,
        ];
        let shown = if view.is_distributed {
            let position = RankPosition { rank: counted(rank)?, count: counted(count)? };
            let grid = [counted(view.grid[0])?, counted(view.grid[1])?];
            ArrayPart::from_grid(position, sizes, grid, ArrayElement::Byte)?
        } else {
            let start = counted(rank.saturating_mul(view.piece_bytes))?;
            ArrayPart::from_part(sizes, [rows, piece], [0, start], ArrayElement::Byte)?
        };
        file.set_view(&shown)
    }
}

fn block_length(load: &Workload) -> usize {
    usize::try_from(load.block_bytes.0).unwrap_or(usize::MAX).max(1)
}

fn writes(load: &Workload) -> bool {
    load.ops().iter().any(|share| share.op == Op::Write)
}

/// What is granted: what was asked for, since everything else is refused.
fn effective(spec: &OpenSpec) -> Effective {
    let sync = spec.workload.sync;
    Effective {
        engine: DECLARATION.name().to_owned(),
        access: Some(Access::Buffered),
        queue_depth: 1,
        sync,
        acknowledgement: None,
        write_completion: if sync == SyncPolicy::Every(1) {
            Completion::Durable
        } else {
            Completion::InPageCache
        },
        alignment_bytes: Bytes(1),
        connection: None,
        ring: None,
        has_own_file_table: false,
    }
}
