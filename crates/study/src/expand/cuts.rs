//! The cuts that a study's cells are compared with: each with the load of its path, once.
//!
//! Not here: the loads of cuts, which both planners share.

use super::{StudyFacts, striped};
use crate::cut;
use crate::cut::has_cut;
use crate::file::Study;
use narrows_model::plan::SkippedCell;
use narrows_model::{Bytes, Cell, CellId, Cut, Layer, Nanos, Op, Repeat, Site, Stop, Target, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A path cell with the cuts before it that no earlier one had.
pub(super) struct CellGroup {
    pub(super) cuts: Vec<Cell>,
    pub(super) path: Cell,
}

/// The cells with their cuts; cuts that cannot be measured are added to `skipped`.
pub(super) fn groups(
    study: &Study,
    facts: &StudyFacts,
    cells: Vec<Cell>,
    skipped: &mut Vec<SkippedCell>,
) -> Vec<CellGroup> {
    let mut cutter = CutPlanner {
        study,
        facts,
        file_bytes: cells.iter().map(|cell| cell.workload.file_bytes).max().unwrap_or_default(),
        known: BTreeSet::new(),
        ids: BTreeSet::new(),
    };
    cells.into_iter().map(|path| CellGroup { cuts: cutter.cuts(&path, skipped), path }).collect()
}

/// A cut, and why it cannot be measured, if so.
struct CutCell {
    cell: Cell,
    refusal: Option<String>,
}

impl CutCell {
    fn checked(cell: Cell, check: Result<(), String>) -> Self {
        Self { cell, refusal: check.err() }
    }
}

struct CutPlanner<'a> {
    study: &'a Study,
    facts: &'a StudyFacts,
    /// Of the largest file, so that a sweep of file sizes has one cut in memory.
    file_bytes: Bytes,
    /// Cuts in words, for a study may have thousands.
    known: BTreeSet<String>,
    ids: BTreeSet<CellId>,
}

impl CutPlanner<'_> {
    /// The cuts of a path that are new.
    fn cuts(&mut self, path: &Cell, skipped: &mut Vec<SkippedCell>) -> Vec<Cell> {
        let mut new = Vec::new();
        for which in &self.study.cuts {
            // Several targets at once are compared with each of them alone.
            let alone = matches!(which, Cut::Generator | Cut::MemoryCopy) || path.more_targets.is_empty();
            for CutCell { mut cell, refusal } in alone.then(|| self.all(*which, path)).into_iter().flatten() {
                // Without its full id, which it has only if it is new.
                if !self.known.insert(format!("{cell:?}")) {
                    continue;
                }
                cell.id = self.free_id(&cell);
                match refusal {
                    None => new.push(cell),
                    Some(reason) => skipped.push(SkippedCell { cell: cell.id, reason }),
                }
            }
        }
        new
    }

    fn free_id(&mut self, cell: &Cell) -> CellId {
        let name = CellId(format!("{}{}", Cell::name(cell.cut, &cell.workload), cell.id));
        let mut id = name.clone();
        let mut number = 2;
        while !self.ids.insert(id.clone()) {
            id = CellId(format!("{name}/{number}"));
            number += 1;
        }
        id
    }

    /// The cuts of this kind: of a stripe that of each member alone, then that of all together.
    fn all(&self, which: Cut, path: &Cell) -> Vec<CutCell> {
        let alone = striped::members(which, path).into_iter().zip(1..).filter_map(|(one, number)| {
            let made = self.cut(which, &one)?;
            // Of the endpoints of a stripe such a cell says which; a single one is asked for its own store.
            let target = if which == Cut::ServerStorage { one.target } else { made.cell.target };
            let id = CellId(format!("/member{number}"));
            Some(CutCell { cell: Cell { id, target, ..made.cell }, ..made })
        });
        alone.chain(self.cut(which, path)).collect()
    }

    /// One cut; `None` where the path has none such.
    fn cut(&self, which: Cut, path: &Cell) -> Option<CutCell> {
        let load = &path.workload;
        if load.objects.is_some() && which != Cut::Generator {
            // What opens and closes files has no counterpart in the copies and streams of other cuts.
            return None;
        }
        match (which, &path.target) {
            // That path is the generator already: compared with itself it would show nothing.
            (Cut::Generator, Target::Null { copy: false })
            | (Cut::MemoryCopy, Target::Null { copy: true }) => return None,
            (Cut::Generator, _) => return Some(self.in_memory(path, false, cut::generator(load))),
            (Cut::MemoryCopy, _) => return Some(self.in_memory(path, true, cut::memory_copy(load))),
            _ => {}
        }
        match (which, path.target.form()) {
            (Cut::PageCache, Target::File { .. } | Target::Block(_)) => Some(self.page_cache(path)),
            (Cut::LocalDevice, Target::File { .. } | Target::Block(_)) => Some(self.local_device(path)),
            (_, Target::Tcp { .. }) if has_cut(which, &path.target) => self.at_endpoint(which, path),
            _ => None,
        }
    }

    /// A cell of memory alone, which touches nothing that others use and so needs no cap.
    fn in_memory(&self, path: &Cell, copy: bool, load: Workload) -> CutCell {
        let workload =
            Workload { max_bytes_per_s: None, max_ops_per_s: None, file_bytes: self.file_bytes, ..load };
        let which = if copy { Cut::MemoryCopy } else { Cut::Generator };
        let short = cut::short_stop(path.stop.measure_ns);
        let warm_up_ns = if load.objects.is_some() { Nanos(0) } else { short.warm_up_ns };
        let stop = Stop { warm_up_ns, ..short };
        let cell = of_path(path, which, Target::Null { copy }, workload);
        CutCell::checked(Cell { stop, trials: 1, repeat: Repeat::Fixed, read_only: false, ..cell }, Ok(()))
    }

    fn page_cache(&self, path: &Cell) -> CutCell {
        let known = self.facts.target_facts(&path.target);
        let room = cut::CacheRoom {
            file_bytes: path.workload.file_bytes,
            memory_bytes: self.facts.memory_bytes,
            kind: known.and_then(|known| known.path_kind),
            existing: super::existing(self.facts, path),
        };
        let cell = of_path(path, Cut::PageCache, path.target.clone(), cut::page_cache(&path.workload));
        let reads = if cut::writes(&path.workload) {
            Err("a write is not served by the cache".to_owned())
        } else {
            Ok(())
        };
        CutCell::checked(cell, reads.and_then(|()| room.check()))
    }

    fn local_device(&self, path: &Cell) -> CutCell {
        let kind = self.facts.target_facts(&path.target).and_then(|known| known.path_kind);
        let answer = self.facts.answer(&path.target, path.workload.engine);
        let capabilities = answer.and_then(|answer| answer.as_ref().ok());
        let cell = of_path(path, Cut::LocalDevice, path.target.clone(), cut::local_device(&path.workload));
        let blocks = path.workload.blocks();
        let direct = || blocks.iter().try_for_each(|share| cut::direct(capabilities, share.block_bytes));
        CutCell::checked(cell, cut::own_device(kind).and_then(|()| direct()))
    }

    fn at_endpoint(&self, which: Cut, path: &Cell) -> Option<CutCell> {
        let at = |layer| path.target.at_layer(layer);
        let load = &path.workload;
        let (target, workload) = match which {
            Cut::NetworkStream => {
                let workload = cut::network_stream(load);
                (at(if workload.op == Op::Send { Layer::Sink } else { Layer::Source })?, workload)
            }
            Cut::ServerMemory => {
                let least = load.block_bytes.0.saturating_mul(u64::from(load.workers));
                (at(Layer::Memory)?, cut::server_memory(load, least))
            }
            Cut::EarlyPath => (path.target.clone(), cut::early_path(load)?),
            // Each of several endpoints alone.
            Cut::ServerStorage if matches!(path.target, Target::Stripe(_)) => return None,
            Cut::ServerStorage => return Some(self.server_storage(path, &at(Layer::Disk)?)),
            _ => return None,
        };
        let check = match self.facts.answer(&target, None) {
            Some(Err(reason)) => Err(reason.clone()),
            _ => Ok(()),
        };
        Some(CutCell::checked(of_path(path, which, target, workload), check))
    }

    fn server_storage(&self, path: &Cell, disk: &Target) -> CutCell {
        let capabilities = self.facts.answer(disk, None).and_then(|answer| answer.as_ref().ok());
        let target = Target::File { path: PathBuf::from(".") };
        let cell = of_path(path, Cut::ServerStorage, target, cut::server_storage(&path.workload));
        let cell = Cell { site: Site::Server, ..cell };
        let mut blocks = path.workload.blocks().into_iter();
        let direct = blocks.try_for_each(|share| cut::direct(capabilities, share.block_bytes));
        CutCell::checked(cell, direct.map_err(|reason| format!("at the server, {reason}")))
    }
}

/// A cut with the path's windows and repetitions, bounded by its time alone.
fn of_path(path: &Cell, which: Cut, target: Target, workload: Workload) -> Cell {
    Cell {
        id: CellId(String::new()),
        cut: which,
        target,
        workload,
        stop: Stop {
            bytes_max: path.stop.bytes_max.filter(|_| cut::writes(&path.workload)),
            ops_max: None,
            ..path.stop
        },
        factors: BTreeMap::new(),
        more_targets: Vec::new(),
        ..path.clone()
    }
}
