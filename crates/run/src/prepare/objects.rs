//! Sets of whole objects: folders made and emptied, what trials have done to them, objects made untimed where a load would
//! find none.
//!
//! What is there is never looked up, which would bring it into caches: it is known from what was done, by seeds and
//! counts. After a failed operation it is no longer known, and only a load that makes everything anew continues.

use super::{PrepareLimit, PreparedObjects, REAP_SLICE_NS};
use crate::assignment::{Assignment, ClientOutput, ObjectStep, WorkerOutput};
use crate::error::RunError;
use crate::stop::StopFlag;
use crate::worker::object_bytes;
use narrows_engines::objects::SET_PREFIX;
use narrows_engines::{
    Clock, Completions, EngineError, EngineFactory, EngineRegistry, ErrorKind, IoRequest, OpenSpec, Slot,
    Tick, WorkerContext,
};
use narrows_model::units::saturate_u32;
use narrows_model::workload::{ObjectCalls, ObjectKind, ObjectSet, ObjectSync, Order, Prefill};
use narrows_model::{Bytes, Cell, CellId, EngineId, Op, Target, Workload};
use std::sync::Arc;

mod trees;

/// Objects that are made between two looks at the time and at a stop.
const LOOK_EVERY: u64 = 256;
/// Bytes of one write of preparation.
const BLOCK_BYTES: u64 = 1 << 20;

/// What distinguishes one set of objects from others.
#[derive(Debug, Clone, PartialEq)]
struct SetIdentity {
    set: ObjectSet,
    targets: Vec<Target>,
    clients: u32,
    workers: u32,
}

impl SetIdentity {
    fn from_cell(cell: &Cell, set: &ObjectSet) -> Self {
        Self {
            set: set.identity(),
            targets: std::iter::once(&cell.target).chain(&cell.more_targets).cloned().collect(),
            clients: cell.workload.clients.max(1),
            workers: cell.workload.workers.max(1),
        }
    }
}

/// A set that cells of this run have worked on.
#[derive(Debug)]
pub(super) struct PreparedSet {
    identity: SetIdentity,
    /// What its folders are opened and removed by, for each client.
    pub(super) specs: Vec<OpenSpec>,
    state: SetState,
}

#[derive(Debug)]
enum SetState {
    /// What was done to each client's objects since they were made anew, and how many there are of all.
    Known { steps: Vec<Vec<ObjectStep>>, live_count: u64 },
    /// Operations of this cell failed.
    Unknown { cell: CellId },
}

impl SetState {
    fn empty(clients: u32) -> Self {
        SetState::Known { steps: vec![Vec::new(); clients as usize], live_count: 0 }
    }
}

/// What preparing objects works with.
pub(crate) struct ObjectPrepareContext<'a> {
    pub(crate) registry: &'a EngineRegistry,
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) stop: &'a StopFlag,
    pub(crate) limit: PrepareLimit,
}

impl PreparedObjects {
    /// Readies the objects of a cell's `set` for its clients, and passes on which folders are theirs and what is there.
    pub(crate) fn ready_objects(
        &mut self,
        set: &ObjectSet,
        assignments: &mut [Assignment],
        context: &ObjectPrepareContext<'_>,
    ) -> Result<(), RunError> {
        let Some(cell) = assignments.first().map(|first| first.cell.clone()) else { return Ok(()) };
        let makes = cell.workload.op == Op::Put && set.transactions.is_none();
        for assignment in assignments.iter() {
            serves(context, assignment)?;
        }
        if !cell.target.stores_objects() {
            for assignment in assignments {
                assignment.object_steps = if makes { Vec::new() } else { vec![whole(set, &cell.workload)] };
            }
            return Ok(());
        }
        let index = self.set_index(SetIdentity::from_cell(&cell, set));
        let folder_index = self.folder_index(index);
        for assignment in assignments.iter_mut() {
            assignment.objects = vec![set_folder(set, folder_index, assignment.object_owner())];
        }
        let began_ns = context.clock.now().0;
        let readied = self.ready_tree(index, makes, assignments, context).and_then(|()| {
            let made = &mut self.sets[index];
            if makes {
                made.begin_anew(assignments, context)
            } else {
                made.find_or_fill(&cell, assignments, context)
            }
        });
        self.took_ns += context.clock.now().0.saturating_sub(began_ns);
        readied?;
        if let SetState::Known { steps, .. } = &self.sets[index].state {
            for assignment in assignments {
                if let Some(steps) = steps.get(assignment.object_owner() as usize) {
                    assignment.object_steps.clone_from(steps);
                }
            }
        }
        Ok(())
    }

    fn set_index(&mut self, identity: SetIdentity) -> usize {
        if let Some(index) = self.sets.iter().position(|made| made.identity == identity) {
            return index;
        }
        let state = SetState::empty(identity.clients);
        self.sets.push(PreparedSet { identity, specs: Vec::new(), state });
        self.sets.len() - 1
    }

    /// Remembers what a trial has done to the objects of its clients; `None` where it has failed.
    pub(crate) fn note_objects(&mut self, assignments: &[Assignment], clients: Option<&[ClientOutput]>) {
        let Some(first) = assignments.first() else { return };
        let Some(set) = &first.cell.workload.objects else { return };
        let identity = SetIdentity::from_cell(&first.cell, set);
        if let Some(made) = self.sets.iter_mut().find(|made| made.identity == identity) {
            made.note(assignments, clients);
        }
    }
}

impl PreparedSet {
    /// Empty folders, whatever was there; those of a tree are readied with it.
    fn begin_anew(
        &mut self,
        assignments: &[Assignment],
        context: &ObjectPrepareContext<'_>,
    ) -> Result<(), RunError> {
        for spec in self.specs.iter().filter(|_| !self.identity.set.is_in_tree()) {
            factory(context, spec)?.remove(spec)?;
        }
        self.state = SetState::empty(self.identity.clients);
        self.specs = assignments.iter().map(Assignment::open_spec).collect();
        for spec in &self.specs {
            factory(context, spec)?.open(spec, &worker_context(0, context))?.close()?;
        }
        Ok(())
    }

    /// What earlier cells have left, or all objects where they have left none and may be made untimed.
    fn find_or_fill(
        &mut self,
        cell: &Cell,
        assignments: &[Assignment],
        context: &ObjectPrepareContext<'_>,
    ) -> Result<(), RunError> {
        let missing = |what: String| {
            let target = format!("the objects of {} in {}", cell.id, cell.target);
            EngineError::new(ErrorKind::NotFound, "find", target).detail(what)
        };
        match &self.state {
            SetState::Known { live_count: 1.., .. } => return Ok(()),
            SetState::Unknown { cell } => return Err(missing_after(cell, assignments)),
            SetState::Known { .. } => {}
        }
        // Loads before have made objects and deleted them all: deleting what is left is deleting none.
        if cell.workload.op == Op::Delete
            && cell.workload.prefill == Prefill::Nothing
            && !self.specs.is_empty()
        {
            return Ok(());
        }
        if matches!(cell.workload.prefill, Prefill::Nothing | Prefill::Kept) {
            return Err(missing("no earlier load has created any, or all are deleted".to_owned())
                .hint("first run the load that creates them (put)")
                .into());
        }
        self.begin_anew(assignments, context)?;
        for (assignment, spec) in assignments.iter().zip(&self.specs) {
            fill(assignment.object_owner(), &self.identity.set, spec, context)?;
        }
        let step = whole(&self.identity.set, &cell.workload);
        let clients = u64::from(self.identity.clients);
        self.state = SetState::Known {
            steps: vec![vec![step]; self.identity.clients as usize],
            live_count: self.identity.set.count.saturating_mul(clients),
        };
        Ok(())
    }

    fn note(&mut self, assignments: &[Assignment], clients: Option<&[ClientOutput]>) {
        let SetState::Known { steps, live_count } = &mut self.state else { return };
        let Some(first) = assignments.first() else { return };
        let workers = || clients.unwrap_or_default().iter().flat_map(|client| &client.workers);
        let is_whole =
            clients.is_some() && workers().all(|worker| worker.complete && worker.errors.is_empty());
        let (made, deleted) = changes(&first.cell.workload, workers());
        let left = live_count.saturating_add(made).saturating_sub(deleted);
        // Which of them a folder has listed first is not known here.
        let is_known = first.cell.workload.order != Order::Listing || deleted == 0 || left == 0;
        if !is_whole || !is_known {
            self.state = SetState::Unknown { cell: first.cell.id.clone() };
            return;
        }
        *live_count = left;
        // A load that renames gives each object its name back.
        let stays = |op: Op| matches!(op, Op::Stat | Op::Get | Op::Rename);
        let reads = first.cell.workload.ops().iter().all(|share| stays(share.op));
        for (assignment, client) in assignments.iter().zip(clients.unwrap_or_default()) {
            let Some(steps) = steps.get_mut(assignment.object_owner() as usize) else { continue };
            if left == 0 {
                steps.clear();
            } else if !reads {
                let done = client.workers.iter().map(|worker| worker.op_count).collect();
                steps.push(ObjectStep { done, ..ObjectStep::from_assignment(assignment) });
            }
        }
    }
}

/// That it is not known which objects there are since operations of the cell `failed` failed.
fn missing_after(failed: &CellId, assignments: &[Assignment]) -> RunError {
    let cell = assignments.first().map(|first| &first.cell);
    let target =
        cell.map(|cell| format!("the objects of {} in {}", cell.id, cell.target)).unwrap_or_default();
    EngineError::new(ErrorKind::NotFound, "find", target)
        .detail(format!("operations of {failed} failed, so it is not known which objects exist"))
        .hint("create them again with put")
        .into()
}

/// Objects made and objects deleted.
fn changes<'a>(workload: &Workload, workers: impl Iterator<Item = &'a WorkerOutput>) -> (u64, u64) {
    let (mut made, mut deleted) = (0, 0);
    let mut add = |op: Op, count: u64| match op {
        Op::Put => made += count,
        Op::Delete => deleted += count,
        _ => {}
    };
    for worker in workers {
        if worker.by_kind.is_empty() {
            let op = workload.ops().first().map_or(workload.op, |share| share.op);
            add(op, worker.op_count);
        }
        worker.by_kind.iter().for_each(|kind| add(kind.op, kind.op_count));
    }
    (made, deleted)
}

/// The folder of the objects of client `owner` in the set of this index.
fn set_folder(set: &ObjectSet, index: usize, owner: u32) -> String {
    if set.shared_folder { format!("{SET_PREFIX}{index}") } else { format!("{SET_PREFIX}{index}-{owner}") }
}

/// The step that makes a whole set.
fn whole(set: &ObjectSet, workload: &Workload) -> ObjectStep {
    let workers = workload.workers.max(1);
    ObjectStep {
        set: set.identity(),
        op: Op::Put,
        order: Order::Sequential,
        workers,
        seed: 0,
        done: vec![u64::MAX; workers as usize],
    }
}

/// Whether a set asks for what only the engine of files in folders does, and the one that does nothing.
fn is_special(set: &ObjectSet) -> bool {
    set.kind == ObjectKind::Folder
        || set.shared_folder
        || set.tree.is_some()
        || set.get_bytes.is_some()
        || set.stat_finds
}

/// Fails where the engine of an assignment cannot do what its load is about.
fn serves(context: &ObjectPrepareContext<'_>, assignment: &Assignment) -> Result<(), RunError> {
    let workload = &assignment.cell.workload;
    let factory = context.registry.factory(assignment.target(), workload.engine)?;
    let capabilities = factory.capabilities(assignment.target())?;
    let is_known =
        [EngineId::Objects, EngineId::Null].map(EngineId::name).contains(&capabilities.engine.as_str());
    if workload.objects.is_some_and(|set| is_special(&set)) && !is_known {
        let what = format!(
            "the engine {} has no folders as objects, no folder for all clients, no tree of folders, reads objects as a whole, and \
             finds none by name",
            capabilities.engine
        );
        return Err(EngineError::new(ErrorKind::Unsupported, "load", assignment.target().to_string())
            .detail(what)
            .hint("use a folder of a file system that is mounted here, and the engine objects")
            .into());
    }
    match workload.ops().iter().find(|share| !capabilities.ops.contains(&share.op)) {
        None => Ok(()),
        Some(share) => {
            let what = format!("the engine {} cannot {} there", capabilities.engine, share.op);
            Err(EngineError::new(ErrorKind::Unsupported, "load", assignment.target().to_string())
                .detail(what)
                .hint("use a folder and the engine objects")
                .into())
        }
    }
}

fn factory(
    context: &ObjectPrepareContext<'_>,
    spec: &OpenSpec,
) -> Result<Arc<dyn EngineFactory>, EngineError> {
    context.registry.factory(&spec.target, spec.workload.engine)
}

fn worker_context(client_index: u32, context: &ObjectPrepareContext<'_>) -> WorkerContext {
    WorkerContext {
        client_index,
        worker_index: 0,
        seed: 0,
        clock: Arc::clone(context.clock),
        stop: context.stop.clone(),
    }
}

/// Makes all objects of one client's set, in the order of their numbers.
fn fill(
    client_index: u32,
    set: &ObjectSet,
    spec: &OpenSpec,
    context: &ObjectPrepareContext<'_>,
) -> Result<(), RunError> {
    let mut spec = spec.clone();
    // However the load itself will move them, they are made as fast as possible.
    spec.workload.objects = Some(ObjectSet { calls: ObjectCalls::System, sync: ObjectSync::None, ..*set });
    spec.workload.block_bytes = Bytes(set.max_bytes.0.clamp(1, BLOCK_BYTES));
    let mut engine = factory(context, &spec)?.open(&spec, &worker_context(client_index, context))?;
    let mut done = Completions::with_capacity(1);
    for number in 0..set.count {
        if number % LOOK_EVERY == 0 {
            if context.stop.is_now() {
                return Err(RunError::Stopped);
            }
            context.limit.check(context.clock.now().0)?;
        }
        let number = saturate_u32(number);
        let length_bytes = object_bytes(set, client_index, number);
        let request =
            IoRequest { tag: 0, op: Op::Put, object: number, offset_bytes: 0, length_bytes, slot: Slot(0) };
        engine.queue(&[request])?;
        engine.commit()?;
        done.clear();
        while done.is_empty() {
            engine.reap(1, Tick(context.clock.now().0 + REAP_SLICE_NS), &mut done)?;
        }
        if let Some(Err(errno)) = done.as_slice().first().map(|done| done.result) {
            let source = std::io::Error::from_raw_os_error(errno.0);
            let error = EngineError::from_io("prepare objects in", spec.target.to_string(), source);
            return Err(error.detail(engine.failure_detail(0).unwrap_or_default()).into());
        }
    }
    Ok(engine.close()?)
}
