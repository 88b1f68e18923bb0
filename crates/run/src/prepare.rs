//! Makes the objects that cells visit: real writes of full-entropy blocks, bounded in time.
//!
//! An object is made once and reused by later cells of the same target. Objects of a target that existed before
//! are never written. Not here: caches, which a trial brings to their state.

use crate::assignment::{Assignment, target_count, writes_from_nothing};
use crate::error::RunError;
use crate::stop::StopFlag;
use crate::verify::whole_units;
use narrows_engines::{Clock, Engine, EngineError, EngineFactory, ErrorKind, OpenSpec, WorkerContext};
use narrows_model::workload::{Access, Prefill, SyncPolicy};
use narrows_model::{Bytes, Cell, Layer, Nanos, Op, Target, Workload};
use std::collections::BTreeMap;
use std::sync::Arc;

mod filling;
mod limit;
mod objects;
mod sharing;
mod sync;
mod unwritten;

use filling::fill;
pub(crate) use limit::PrepareLimit;
pub(crate) use objects::ObjectPrepareContext;
use sharing::{SHARED_OBJECT, asked_of_object, part_of_each};

/// Blocks of preparation: large enough for bulk speed on any path.
const BLOCK_BYTES: u64 = 1 << 20;
/// Requests in flight while preparing, where the engine can.
const QUEUE_DEPTH: u32 = 8;
/// One wait for completions.
const REAP_SLICE_NS: u64 = 50_000_000;

/// Objects made so far, with their size.
#[derive(Debug, Default)]
pub struct PreparedObjects {
    objects: BTreeMap<(String, String), PreparedObject>,
    /// Sets of whole objects, in the order in which they were first used.
    sets: Vec<objects::PreparedSet>,
    took_ns: u64,
}

#[derive(Debug)]
struct PreparedObject {
    bytes: Bytes,
    spec: OpenSpec,
    /// It stays when the run is over.
    is_kept: bool,
}

impl PreparedObject {
    /// Whether a load finds what it asks for. An object that was asked for in this size already is as large as it gets
    /// (whole blocks of it are made), and so is one that time did not suffice for: asking again would write the same.
    fn serves(&self, workload: &Workload) -> bool {
        let asked_bytes = self.spec.object_bytes;
        if workload.prefill != Prefill::Timed {
            return self.bytes >= workload.file_bytes;
        }
        let time_was_up = self.bytes.0.saturating_add(BLOCK_BYTES) <= asked_bytes.0;
        self.bytes >= least_bytes(workload) && (asked_bytes >= workload.file_bytes || time_was_up)
    }
}

/// Name of a client's object.
fn object_name(client_index: u32) -> String {
    format!("data-{client_index}")
}

/// The objects of the target of client `client_index`, one for each client that uses it; a target that is itself the
/// object has the empty name.
pub(crate) fn object_names(cell: &Cell, client_index: u32) -> Vec<String> {
    if cell.read_only || !cell.client_target(client_index).stores_objects() {
        return vec![String::new()];
    }
    if cell.workload.shares_file() {
        return vec![SHARED_OBJECT.to_owned()];
    }
    let targets = target_count(cell);
    let others = (client_index % targets..cell.workload.clients.max(1)).step_by(targets as usize);
    others.map(object_name).collect()
}

/// What preparing works with.
pub(crate) struct PrepareContext<'a> {
    pub(crate) factory: &'a dyn EngineFactory,
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) stop: &'a StopFlag,
    pub(crate) limit: PrepareLimit,
}

impl PreparedObjects {
    /// Time that was spent on making objects.
    pub(crate) fn took_ns(&self) -> Nanos {
        Nanos(self.took_ns)
    }

    /// Makes the objects of `assignment` that are missing, and returns the size that all of them have.
    pub(crate) fn ensure(
        &mut self,
        assignment: &Assignment,
        prepare: &PrepareContext<'_>,
    ) -> Result<Bytes, RunError> {
        let (cell, target) = (&assignment.cell, assignment.target());
        if cell.read_only || !target.stores_objects() {
            return Ok(cell.workload.file_bytes);
        }
        if matches!(cell.workload.prefill, Prefill::Nothing | Prefill::Kept) {
            return self.leave_to_load(assignment, prepare);
        }
        let asked = asked_of_object(&cell.workload);
        let mut smallest = asked.file_bytes;
        let needed = least_bytes(&asked);
        for (object_index, object) in (0_u32..).zip(&assignment.objects) {
            let key = key_of(target, object);
            let made = self.objects.get(&key);
            let content =
                cell.workload.verify.then(|| assignment.content_of(assignment.owner_of(object_index)));
            let bytes = match made {
                Some(made) if content.is_none() && made.serves(&asked) => made.bytes,
                _ => {
                    let spec = filling_spec(assignment, object);
                    let began_ns = prepare.clock.now().0;
                    let objects_left = assignment.objects.len().saturating_sub(object_index as usize);
                    let prepare = PrepareContext { limit: prepare.limit.first_of(objects_left), ..*prepare };
                    let filled = fill(&spec, content, needed, &prepare);
                    self.took_ns += prepare.clock.now().0.saturating_sub(began_ns);
                    let (filled_bytes, late) = match filled {
                        Ok(bytes) => (bytes, None),
                        // What is on the device may serve a smaller load.
                        Err(failure) if failure.error.is_late() => (failure.synced, Some(failure.error)),
                        Err(failure) => return Err(failure.error),
                    };
                    // What an earlier and longer preparation made is still there beyond it.
                    let before = made.filter(|_| content.is_none()).map_or(Bytes(0), |made| made.bytes);
                    let bytes = filled_bytes.max(before);
                    // Data is made anew for each trial that verifies it; what was there beyond it stays there.
                    if made.is_none_or(|made| made.bytes <= bytes) {
                        self.objects.insert(
                            key,
                            PreparedObject { bytes, spec, is_kept: cell.workload.edges.keeps_files },
                        );
                    }
                    if let Some(error) = late {
                        return Err(error);
                    }
                    bytes
                }
            };
            smallest = smallest.min(bytes);
        }
        let each = part_of_each(&cell.workload, smallest);
        Ok(if cell.workload.verify { whole_units(each) } else { each })
    }

    /// Readies the objects of a load that writes them itself: empty where it writes, looked up where it reads or
    /// overwrites what is there.
    fn leave_to_load(
        &mut self,
        assignment: &Assignment,
        prepare: &PrepareContext<'_>,
    ) -> Result<Bytes, RunError> {
        let (workload, target) = (&assignment.cell.workload, assignment.target());
        let writes = writes_from_nothing(workload);
        for object in &assignment.objects {
            let key = key_of(target, object);
            let mut spec = filling_spec(assignment, object);
            if writes {
                self.remove_overlapping(target, object, prepare)?;
            }
            match self.objects.get(&key) {
                Some(made) if !writes && made.bytes >= workload.file_bytes => continue,
                _ if !writes => {
                    let missing = format!("{object} in {target}");
                    return Err(EngineError::new(ErrorKind::NotFound, "read", missing)
                        .detail("no earlier load has written it completely")
                        .hint("first run the load that writes it")
                        .into());
                }
                Some(made) => prepare.factory.remove(&made.spec)?,
                None => {}
            }
            open(&mut spec, prepare)?.close()?;
            let is_kept = workload.edges.keeps_files;
            self.objects.insert(key, PreparedObject { bytes: workload.file_bytes, spec, is_kept });
        }
        Ok(workload.file_bytes)
    }

    /// Removes the files of `object` of other stripes over some of the members of `target`: on these members it has the
    /// same files, which would be overwritten.
    fn remove_overlapping(
        &mut self,
        target: &Target,
        object: &str,
        prepare: &PrepareContext<'_>,
    ) -> Result<(), RunError> {
        let own = key_of(target, object);
        let overlaps = |key: &(String, String), made: &PreparedObject| {
            *key != own && key.1 == object && share_a_member(&made.spec.target, target)
        };
        let known = self.objects.iter().filter(|(key, made)| overlaps(key, made));
        let keys: Vec<(String, String)> = known.map(|(key, _)| key.clone()).collect();
        for key in keys {
            if let Some(made) = self.objects.get(&key) {
                prepare.factory.remove(&made.spec)?;
            }
            self.objects.remove(&key);
        }
        Ok(())
    }

    /// Removes all objects made, through the factories that made them; returns what could not be removed.
    ///
    /// A peer has `timeout_ns` for each answer; after the first that is missing it is not asked again.
    pub(crate) fn remove_all(
        &mut self,
        timeout_ns: u64,
        factory_of: impl Fn(&OpenSpec) -> Result<Arc<dyn EngineFactory>, EngineError>,
    ) -> Vec<EngineError> {
        let mut errors = Vec::new();
        let mut silent: Vec<Target> = Vec::new();
        let sets = std::mem::take(&mut self.sets).into_iter().flat_map(|made| made.specs);
        let objects = std::mem::take(&mut self.objects).into_values().filter(|made| !made.is_kept);
        let objects = objects.map(|made| made.spec);
        for mut spec in objects.chain(sets) {
            let endpoint = spec.target.at_layer(Layer::Disk).unwrap_or_else(|| spec.target.clone());
            if silent.contains(&endpoint) {
                // It would cost the same wait again, and the session's end removes the object too.
                continue;
            }
            spec.answer_timeout_ns = spec.answer_timeout_ns.min(timeout_ns);
            if let Err(error) = factory_of(&spec).and_then(|factory| factory.remove(&spec)) {
                if matches!(error.kind, ErrorKind::PeerGone | ErrorKind::Refused) {
                    silent.push(endpoint);
                }
                errors.push(error);
            }
        }
        errors
    }
}

/// What an object is known by. A proxy leads to the same object.
fn key_of(target: &Target, object: &str) -> (String, String) {
    (target.without_proxy().to_string(), object.to_owned())
}

/// Whether two stripes have a member in common.
fn share_a_member(one: &Target, other: &Target) -> bool {
    let are_stripes = [one, other].iter().all(|target| matches!(target, Target::Stripe(_)));
    are_stripes && one.members().iter().any(|member| other.members().contains(member))
}

/// The least of an object with which a load is put on: a block for each request in flight.
fn least_bytes(workload: &Workload) -> Bytes {
    let in_flight = u64::from(workload.workers.max(1)) * u64::from(workload.queue_depth.max(1));
    Bytes(workload.block_bytes.0.saturating_mul(in_flight).min(workload.file_bytes.0))
}

fn filling_spec(assignment: &Assignment, object: &str) -> OpenSpec {
    let mut spec = assignment.open_spec();
    spec.objects = vec![object.to_owned()];
    spec.create = true;
    spec.laid_down = false;
    let whole_bytes = asked_of_object(&assignment.cell.workload).file_bytes;
    let file_bytes = if assignment.cell.workload.verify { whole_units(whole_bytes) } else { whole_bytes };
    spec.object_bytes = file_bytes;
    // Whatever the load will be like, it is filled by the target's own engine as fast as possible.
    spec.workload = Workload {
        op: Op::Write,
        block_bytes: Bytes(BLOCK_BYTES.min(file_bytes.0.max(1))),
        file_bytes,
        acknowledgement: spec.workload.acknowledgement,
        access: Access::Buffered,
        sync: SyncPolicy::None,
        prefill: spec.workload.prefill,
        queue_depth: QUEUE_DEPTH,
        ..Workload::default()
    };
    spec
}

/// The object of `spec`, made where it is missing, with as many requests in flight as its engine takes.
fn open(spec: &mut OpenSpec, prepare: &PrepareContext<'_>) -> Result<Box<dyn Engine>, EngineError> {
    let depth_max = prepare.factory.capabilities(&spec.target)?.queue_depth_max;
    spec.workload.queue_depth = spec.workload.queue_depth.min(depth_max);
    let context = WorkerContext {
        client_index: 0,
        worker_index: 0,
        seed: 0,
        clock: Arc::clone(prepare.clock),
        stop: prepare.stop.clone(),
    };
    prepare.factory.open(spec, &context)
}

#[cfg(test)]
mod tests;
