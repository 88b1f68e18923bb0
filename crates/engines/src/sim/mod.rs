//! The engine `sim`: requests complete when a declared machine would have completed them.
//!
//! The machine is simulated ahead of time by `narrows-sim`; the engine waits until a request is due on the
//! worker's clock, real or virtual. All workers of one process share one machine; separate client processes would have
//! one each, so that a study leaves several clients out. "Complete" means: the declared law says so. Nothing is stored.

use crate::clock::{Clock, Tick};
use crate::contract::{Engine, EngineFactory, OpenSpec, ProtocolCounters, WorkerContext};
use crate::error::{EngineError, ErrorKind};
use crate::request::{Completions, Errno, IoCompletion, IoRequest, Slot};
use crate::slots::{SlotBuffers, checked_depth};
use narrows_model::capabilities::{Capabilities, Completion};
use narrows_model::engine::{self, EngineDeclaration};
use narrows_model::sim_profile::SimProfile;
use narrows_model::workload::{Access, CacheState};
use narrows_model::{Bytes, Cut, Effective, Json, Target};
use narrows_sim::{Machine, RequestOutcome};
use narrows_sys::file::read_small_through_links;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(test)]
mod tests;

/// What the engine declares.
pub const INFO: &EngineDeclaration = &engine::sim::DECLARATION;

/// No profile is longer: those of the built-in machines have a few KiB.
const PROFILE_BYTES_MAX: u64 = 1 << 20;

type SharedMachine = Arc<Mutex<Machine>>;

/// Makes `sim` engines; contains the machines that they share.
#[derive(Debug, Default)]
pub struct SimFactory {
    machines: Mutex<HashMap<(String, bool), SharedMachine>>,
}

impl SimFactory {
    fn machine(&self, spec: &OpenSpec, profile: &str, seed: u64) -> Result<SharedMachine, EngineError> {
        let direct = spec.workload.access == Access::Direct;
        let mut machines = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(machine) = machines.get(&(profile.to_owned(), direct)) {
            return Ok(Arc::clone(machine));
        }
        let machine = Machine::new(read_profile(profile)?, seed)
            .map_err(|error| {
                EngineError::new(ErrorKind::Unsupported, "simulate", format!("sim:{profile}"))
                    .detail(error.to_string())
            })?
            .with_access(spec.workload.access);
        let machine = Arc::new(Mutex::new(machine));
        machines.insert((profile.to_owned(), direct), Arc::clone(&machine));
        Ok(machine)
    }
}

/// Names of the built-in machines.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    narrows_sim::BUILTIN.iter().map(|machine| machine.id)
}

/// The built-in machine of this name, or the profile in the JSON file at this path.
///
/// # Errors
/// When there is neither, or the file is no profile: no regular file, longer than 1 MiB, a link that others can have made,
/// or no JSON. It is never waited for.
pub fn read_profile(profile: &str) -> Result<SimProfile, EngineError> {
    if let Some(builtin) = narrows_sim::builtin(profile) {
        return Ok(builtin);
    }
    let content = read_small_through_links(Path::new(profile), PROFILE_BYTES_MAX).map_err(|error| {
        let names: Vec<&str> = builtin_names().collect();
        EngineError::from(error)
            .hint(format!("give a JSON file or one of the built-in machines: {}", names.join(", ")))
    })?;
    let invalid =
        |detail: String| EngineError::new(ErrorKind::Unsupported, "read", profile.to_owned()).detail(detail);
    let text = std::str::from_utf8(&content).map_err(|error| invalid(error.to_string()))?;
    SimProfile::from_json(text).map_err(|error| invalid(error.to_string()))
}

fn profile_of(target: &Target) -> Result<&str, EngineError> {
    match target {
        Target::Sim { profile } => Ok(profile),
        _ => Err(EngineError::new(ErrorKind::Unsupported, "open", target.to_string())
            .detail("the engine sim supports only sim:")),
    }
}

impl EngineFactory for SimFactory {
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        read_profile(profile_of(target)?)?;
        Ok(INFO.capabilities())
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        let depth = checked_depth(spec, INFO.queue_depth_max)?;
        let machine = self.machine(spec, profile_of(&spec.target)?, worker.seed)?;
        Ok(Box::new(SimEngine {
            effective: Effective {
                engine: INFO.name().to_owned(),
                access: Some(spec.workload.access),
                queue_depth: depth,
                sync: spec.workload.sync,
                acknowledgement: None,
                write_completion: Completion::Simulated,
                alignment_bytes: Bytes(1),
                connection: None,
                ring: None,
                has_own_file_table: false,
            },
            slots: SlotBuffers::new(depth, spec.workload.block_bytes.0, worker.seed)?,
            machine,
            clock: Arc::clone(&worker.clock),
            queued: Vec::with_capacity(depth as usize),
            waiting: Vec::with_capacity(depth as usize),
            counters: ProtocolCounters::default(),
        }))
    }

    fn bring_cache_to(&self, _spec: &OpenSpec, _state: CacheState) -> Result<Option<f64>, EngineError> {
        Ok(None)
    }

    fn remove(&self, _spec: &OpenSpec) -> Result<(), EngineError> {
        Ok(())
    }
}

/// A request on its way, with what becomes of it and when.
#[derive(Debug)]
struct DueRequest {
    due_ns: u64,
    completion: IoCompletion,
}

struct SimEngine {
    effective: Effective,
    slots: SlotBuffers,
    machine: SharedMachine,
    clock: Arc<dyn Clock>,
    queued: Vec<IoRequest>,
    waiting: Vec<DueRequest>,
    counters: ProtocolCounters,
}

impl SimEngine {
    /// Moves what is due at `now_ns` to `out`, earliest first.
    fn take_due(&mut self, now_ns: u64, out: &mut Completions) {
        self.waiting.sort_by_key(|waiting| waiting.due_ns);
        let due_count = self.waiting.partition_point(|waiting| waiting.due_ns <= now_ns);
        for waiting in self.waiting.drain(..due_count) {
            self.counters.reply_count += 1;
            out.push(waiting.completion);
        }
    }
}

impl Engine for SimEngine {
    fn effective(&self) -> &Effective {
        &self.effective
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.slots.slot(slot)
    }

    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError> {
        let room =
            (self.effective.queue_depth as usize).saturating_sub(self.queued.len() + self.waiting.len());
        let taken = requests.len().min(room);
        self.queued.extend_from_slice(&requests[..taken]);
        Ok(taken)
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        let mut machine = self.machine.lock().unwrap_or_else(PoisonError::into_inner);
        for request in self.queued.drain(..) {
            // Read under the lock, so that the machine sees submissions in the order of their times.
            let now_ns = self.clock.now().0;
            let due = machine.submit(request.op, u64::from(request.length_bytes), Cut::Path, now_ns);
            let result = match &due.outcome {
                RequestOutcome::Failed(name) => Err(errno_of(name)),
                RequestOutcome::Done | RequestOutcome::Never => Ok(request.length_bytes),
            };
            let completion = IoCompletion { tag: request.tag, result };
            self.waiting.push(DueRequest { due_ns: due.due_ns, completion });
            self.counters.request_count += 1;
        }
        Ok(())
    }

    fn reap(&mut self, min: u32, until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        let before = out.len();
        loop {
            let now = self.clock.now();
            self.take_due(now.0, out);
            if out.len() - before >= min as usize || now >= until {
                return Ok(());
            }
            let next_ns = self.waiting.first().map_or(until.0, |waiting| waiting.due_ns.min(until.0));
            self.clock.wait_until(Tick(next_ns));
        }
    }

    fn counters(&mut self, out: &mut ProtocolCounters) {
        out.clone_from(&self.counters);
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        Ok(())
    }
}

/// The number of a declared fault's error; an unknown name is an input/output error.
fn errno_of(name: &str) -> Errno {
    let number = (1..200).find(|number| crate::error::errno_name(*number) == name);
    Errno(number.unwrap_or(rustix::io::Errno::IO.raw_os_error()))
}
