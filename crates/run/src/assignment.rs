//! What one client process is asked to do in one trial, and what it answers: values that cross a pipe.

use crate::client_failure::ClientFailure;
use crate::host_identity::HostIdentity;
use crate::verify::UnitContent;
use narrows_engines::OpenSpec;
use narrows_engines::block_devices::{know_device, known_device};
use narrows_engines::own_folders::{OwnFolder, add_own_folder, own_folder};
use narrows_model::counters::{ProcessCpu, TcpCounters};
use narrows_model::effective::Effective;
use narrows_model::fault::ErrorCount;
use narrows_model::target::BlockAddress;
use narrows_model::trial::{InFlightAtEnd, IntervalSample, OpTotals, OpenLoopTotals};
use narrows_model::units::saturate_u32;
use narrows_model::verification::Verification;
use narrows_model::workload::{ObjectSet, Order, Prefill};
use narrows_model::{Bytes, Cell, CellId, Histogram, Nanos, Op, RpcCounters, Target, Workload};
use narrows_sys::entropy::member_seed;
use narrows_sys::file::FileIdentity;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What one client does in one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// The cell.
    #[serde(with = "narrows_model::json::embedded")]
    pub cell: Cell,
    /// The repetition, from 0.
    pub trial: u32,
    /// This client, from 0.
    pub client_index: u32,
    /// Seed of the client in the trial.
    pub seed: u64,
    /// Seed of the trial's data, the same for all clients.
    pub data_seed: u64,
    /// Names of the objects of this client's target, relative to it: one for each client that uses it.
    pub objects: Vec<String>,
    /// Bytes that each object really has.
    pub object_bytes: Bytes,
    /// Time between samples.
    pub interval_ns: Nanos,
    /// Token of the endpoint.
    pub token: Option<Vec<u8>>,
    /// Session of the endpoint.
    pub session: Option<String>,
    /// Longest wait for an answer.
    pub answer_timeout_ns: Nanos,
    /// What earlier trials have done to the client's objects, where the load is of objects.
    #[serde(default)]
    pub object_steps: Vec<ObjectStep>,
    /// Whether the client brings the cache of its machine to the cell's state itself: its parent has another machine's.
    #[serde(default)]
    pub brings_cache: bool,
}

/// What a trial did to the whole objects of one client: with the seeds, enough to know which of them are there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectStep {
    /// The objects, with the transactions of the trial.
    pub set: ObjectSet,
    /// What was done, where there were no transactions.
    pub op: Op,
    /// In which order.
    pub order: Order,
    /// Workers of the client.
    pub workers: u32,
    /// Seed of the client in the trial.
    pub seed: u64,
    /// Operations that each worker has done.
    pub done: Vec<u64>,
}

impl ObjectStep {
    /// What `assignment` is to do, of which nothing is done yet; the usual set where it is not about objects.
    pub(crate) fn from_assignment(assignment: &Assignment) -> Self {
        let workload = &assignment.cell.workload;
        Self {
            set: workload.objects.unwrap_or_default(),
            op: workload.op,
            order: workload.order,
            workers: workload.workers.max(1),
            seed: assignment.seed,
            done: Vec::new(),
        }
    }

    /// Operations that this worker has done.
    pub(crate) fn done_by(&self, worker_index: u32) -> u64 {
        self.done.get(worker_index as usize).copied().unwrap_or(0)
    }
}

impl Assignment {
    /// The target of this client.
    #[must_use]
    pub fn target(&self) -> &narrows_model::Target {
        self.cell.client_target(self.client_index)
    }

    /// What the workers' engines are opened for.
    #[must_use]
    pub fn open_spec(&self) -> OpenSpec {
        OpenSpec {
            target: self.target().clone(),
            workload: self.cell.workload.clone(),
            objects: self.objects.clone(),
            object_bytes: self.object_bytes,
            create: !self.cell.read_only,
            laid_down: !writes_from_nothing(&self.cell.workload),
            token: self.token.clone(),
            session: self.session.clone(),
            answer_timeout_ns: self.answer_timeout_ns.0,
        }
    }

    /// The client that the objects, or the part of the files, of this client's load belong to: itself, or one that is further
    /// on by the stride of the objects or the shift of the files.
    pub(crate) fn object_owner(&self) -> u32 {
        let workload = &self.cell.workload;
        match workload.objects.map_or(workload.client_files.shift, |set| set.stride) {
            0 => self.client_index,
            stride => {
                let owner = u64::from(self.client_index) + u64::from(stride);
                saturate_u32(owner % u64::from(workload.clients.max(1)))
            }
        }
    }

    /// What client `client_index` writes where.
    pub(crate) fn content_of(&self, client_index: u32) -> UnitContent {
        UnitContent { seed: self.data_seed, object_index: client_index }
    }

    /// The client that the object of this index belongs to, among those of this client's target.
    pub(crate) fn owner_of(&self, object_index: u32) -> u32 {
        let targets = target_count(&self.cell);
        (self.client_index % targets).saturating_add(object_index.saturating_mul(targets))
    }

    /// Its place among the clients that share one object, and how many they are: clients of a file that existed share its
    /// blocks as workers do; all others have objects of their own.
    pub(crate) fn sharer(&self) -> (u64, u64) {
        if !self.cell.read_only || self.objects.len() != 1 {
            return (0, 1);
        }
        let targets = target_count(&self.cell);
        let clients = self.cell.workload.clients.max(1);
        let at_target = clients.saturating_sub(self.client_index % targets).div_ceil(targets).max(1);
        (u64::from(self.client_index / targets), u64::from(at_target))
    }

    /// The client that the blocks which this one visits belong to, and how many clients share the file block by block; `None`
    /// of other files.
    pub(crate) fn interleave(&self) -> Option<(u64, u64)> {
        let workload = &self.cell.workload;
        let clients = u64::from(workload.clients.max(1));
        workload.client_files.interleaved.then(|| (u64::from(self.object_owner()), clients))
    }

    /// The same with the one object that this client visits, of those of its target.
    pub(crate) fn with_own_object_alone(&self) -> Self {
        let own = self.objects.get(self.object_index() as usize).cloned();
        Self { objects: own.into_iter().collect(), ..self.clone() }
    }

    /// The object that this client visits, among those of its target.
    #[must_use]
    pub fn object_index(&self) -> u32 {
        let count = u32::try_from(self.objects.len()).unwrap_or(u32::MAX).max(1);
        self.object_owner() / target_count(&self.cell) % count
    }
}

/// The seed of one client in one trial of `cell`, in a run of `run_seed`.
///
/// Cells differ in it by their names as trials do by their number: a random order that a cell had before would find in
/// the caches of device and server what it left there.
pub(crate) fn seed_of(run_seed: u64, cell: &CellId, trial: u32, client_index: u32) -> u64 {
    let client = (u64::from(trial) << 32) | u64::from(client_index);
    member_seed(run_seed.wrapping_add(hash(&cell.0)), client)
}

/// The seed of the data of one trial of `cell`, in a run of `run_seed`: that of a client that there is not.
pub(crate) fn data_seed_of(run_seed: u64, cell: &CellId, trial: u32) -> u64 {
    seed_of(run_seed, cell, trial, u32::MAX)
}

/// The seed of what worker `worker_index` keeps in its buffers, in a client of `client_seed`.
pub(crate) fn worker_seed(client_seed: u64, worker_index: u32) -> u64 {
    member_seed(client_seed, u64::from(worker_index))
}

/// A number for a name.
///
/// # Source
/// Fowler, Noll and Vo, FNV-1a with 64 bits (RFC 9923).
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

/// Whether a load begins with empty objects and writes them itself; what writes back reads first.
pub(crate) fn writes_from_nothing(workload: &Workload) -> bool {
    workload.prefill == Prefill::Nothing
        && workload.write_back_every.is_none()
        && workload.ops().iter().any(|share| share.op == Op::Write)
}

/// How many targets a cell loads together, at least one.
pub(crate) fn target_count(cell: &Cell) -> u32 {
    u32::try_from(cell.more_targets.len()).unwrap_or(u32::MAX).saturating_add(1)
}

/// When the measured window is, on the machine's monotonic clock that all its processes share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowTimes {
    /// Load starts.
    pub start_ns: u64,
    /// Completions count from here.
    pub measure_from_ns: u64,
    /// Load stops at the latest.
    pub measure_until_ns: u64,
}

impl WindowTimes {
    /// How long to wait from `now_ns` on, `most` at most, so that counters are read when the window begins and when it ends.
    #[must_use]
    pub fn wait_until_end(&self, now_ns: u64, most: Duration) -> Duration {
        let ends = [self.measure_from_ns, self.measure_until_ns].into_iter();
        let left_ns = ends.filter_map(|end_ns| end_ns.checked_sub(now_ns)).filter(|left_ns| *left_ns > 0);
        left_ns.map(Duration::from_nanos).fold(most, Duration::min)
    }

    /// The same times on a clock that is `offset_ns` ahead.
    #[must_use]
    pub fn shifted(self, offset_ns: i64) -> Self {
        let shift = |at_ns: u64| at_ns.saturating_add_signed(offset_ns);
        Self {
            start_ns: shift(self.start_ns),
            measure_from_ns: shift(self.measure_from_ns),
            measure_until_ns: shift(self.measure_until_ns),
        }
    }
}

/// What one client did in one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientOutput {
    /// This client, from 0.
    pub client_index: u32,
    /// The host on which it ran, where that may be another than its parent's.
    #[serde(default)]
    pub host: Option<String>,
    /// Workers' outputs, by index.
    pub workers: Vec<WorkerOutput>,
}

impl ClientOutput {
    /// When the last of its workers was done.
    #[must_use]
    pub fn done_at_ns(&self) -> u64 {
        self.workers.iter().map(|worker| worker.done_at_ns).max().unwrap_or_default()
    }

    /// Moves all of its times by the offset of another clock.
    pub fn shift(&mut self, offset_ns: i64) {
        let shift = |at_ns: &mut u64| {
            // Zero is no time: nothing was completed.
            if *at_ns > 0 {
                *at_ns = at_ns.saturating_add_signed(offset_ns);
            }
        };
        for worker in &mut self.workers {
            shift(&mut worker.began_at_ns);
            shift(&mut worker.done_at_ns);
            shift(&mut worker.last_before_ns);
            shift(&mut worker.last_within_ns);
            worker.ended_at_ns.iter_mut().for_each(shift);
        }
    }
}

/// What one worker did in the measured window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerOutput {
    /// Operations completed.
    pub op_count: u64,
    /// Bytes moved.
    pub bytes: Bytes,
    /// Response times.
    pub response: Histogram,
    /// Their sum.
    pub response_sum_ns: u64,
    /// The same by kind of request; empty where all are alike.
    pub by_kind: Vec<OpTotals>,
    /// What an open loop adds; `None` in a closed one.
    pub open_loop: Option<OpenLoopTotals>,
    /// What was in flight at the window's end.
    pub in_flight_at_end: InFlightAtEnd,
    /// When it could start its first request of the window; 0 where it never came so far.
    #[serde(default)]
    pub began_at_ns: u64,
    /// When the worker ended: the window's end, or its last completion when a count ended it.
    pub done_at_ns: u64,
    /// When what it wrote was synced and its file closed, where the load is one that ends apart.
    #[serde(default)]
    pub ended_at_ns: Option<u64>,
    /// Its last completion before the window; 0 without one.
    pub last_before_ns: u64,
    /// Its last completion in the window; 0 without one.
    pub last_within_ns: u64,
    /// CPU time of the worker's thread in the window.
    pub cpu: ProcessCpu,
    /// Time in the window in which the worker's thread was runnable and waited for a CPU; `None` where that is not known.
    pub waiting_ns: Option<Nanos>,
    /// What was granted.
    pub effective: Option<Effective>,
    /// Failures met.
    pub errors: Vec<ErrorCount>,
    /// What the check of its data found; `None` for a load that is not verified.
    pub verification: Option<Verification>,
    /// Remote procedure calls in the window; `None` of an engine without any.
    pub rpc: Option<RpcCounters>,
    /// Times of the syncs that followed writes in the window; `None` where none are asked for.
    pub syncs: Option<Histogram>,
    /// `TCP_INFO` at the window's start; `None` without connections.
    pub tcp_before: Option<TcpCounters>,
    /// `TCP_INFO` at its end; `None` without connections.
    pub tcp_after: Option<TcpCounters>,
    /// Whether the worker ran to the planned end.
    pub complete: bool,
}

/// What the parent works on: a client process opens nothing else at its path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum OwnPlaceFacts {
    /// A folder that the parent has made.
    Folder {
        /// Where it is.
        path: PathBuf,
        /// Its device and inode.
        identity: (u64, u64),
        /// Its files, with theirs.
        files: BTreeMap<String, (u64, u64)>,
    },
    /// A block device.
    Device {
        /// Where it is.
        path: PathBuf,
        /// Its number.
        number: String,
    },
}

impl OwnPlaceFacts {
    /// Those of what `target` is or has as members.
    #[must_use]
    pub fn of_target(target: &Target) -> Vec<Self> {
        let as_pair = |identity: FileIdentity| (identity.device, identity.inode);
        let facts = target.members().iter().filter_map(|member| match member {
            Target::File { path } => {
                let known = own_folder(path)?;
                let files = known.files.into_iter().map(|(name, identity)| (name, as_pair(identity)));
                let (identity, files) = (as_pair(known.identity), files.collect());
                Some(Self::Folder { path: path.clone(), identity, files })
            }
            Target::Block(BlockAddress { path, .. }) => {
                Some(Self::Device { path: path.clone(), number: known_device(path)? })
            }
            _ => None,
        });
        facts.collect()
    }

    /// The same with its path below `folder`, unless it begins at the root.
    pub(crate) fn below(self, folder: &Path) -> Self {
        match self {
            Self::Folder { path, identity, files } => {
                Self::Folder { path: folder.join(path), identity, files }
            }
            Self::Device { path, number } => Self::Device { path: folder.join(path), number },
        }
    }

    /// From now on this process compares what is at its path with it.
    pub(crate) fn add(self) {
        let from_pair = |(device, inode)| FileIdentity { device, inode };
        match self {
            Self::Folder { path, identity, files } => {
                let files = files.into_iter().map(|(name, pair)| (name, from_pair(pair))).collect();
                add_own_folder(&path, OwnFolder { identity: from_pair(identity), files });
            }
            Self::Device { path, number } => know_device(&path, &number),
        }
    }
}

/// What a parent sends to a client process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToClient {
    /// Open engines and answer [`FromClient::Ready`].
    Prepare(Box<Assignment>, Vec<OwnPlaceFacts>),
    /// Start at the given times; while load runs, measure at these instead.
    Go(WindowTimes),
    /// Stop now and answer what is whole.
    Stop,
    /// Answer [`FromClient::Identity`].
    Identify,
    /// Answer [`FromClient::Clock`] at once.
    ReadClock,
    /// Answer [`FromClient::Missing`].
    FindFolders(Vec<PathBuf>),
}

/// What a client process sends to its parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromClient {
    /// Engines are open.
    Ready,
    /// The queues of all workers have turned over once.
    Turned,
    /// The loads of all workers have ended; the client does more before its trial has.
    LoadEnded {
        /// When the last one has.
        at_ns: u64,
    },
    /// The client lives, whatever its load waits for: said often while load runs.
    Alive,
    /// A worker's interval ended.
    Interval(#[serde(with = "narrows_model::json::embedded")] Box<IntervalSample>),
    /// The trial ended.
    Done(Box<ClientOutput>),
    /// The trial ended for the client, whose output is in what another one sends as [`FromClient::Merged`].
    Finished {
        /// When the last of its workers was done.
        at_ns: u64,
    },
    /// The trial ended for this client, and for all others whose outputs these are.
    Merged(Vec<ClientOutput>),
    /// What runs this client, and where.
    Identity(Box<HostIdentity>),
    /// The clock of the client.
    Clock {
        /// What its monotonic clock showed.
        at_ns: u64,
        /// Its process.
        pid: u32,
    },
    /// The folders that are not there, of those that were asked for.
    Missing(Vec<PathBuf>),
    /// The trial could not be run.
    Failed(ClientFailure),
}

impl FromClient {
    /// The same with its times on a clock that is `offset_ns` ahead.
    #[must_use]
    pub fn shifted(self, offset_ns: i64) -> Self {
        let shift = |at_ns: u64| at_ns.saturating_add_signed(offset_ns);
        match self {
            Self::Done(mut output) => {
                output.shift(offset_ns);
                Self::Done(output)
            }
            Self::Interval(mut sample) => {
                sample.start_ns.0 = shift(sample.start_ns.0);
                sample.end_ns.0 = shift(sample.end_ns.0);
                Self::Interval(sample)
            }
            Self::LoadEnded { at_ns } => Self::LoadEnded { at_ns: shift(at_ns) },
            other => other,
        }
    }
}

#[cfg(test)]
impl Assignment {
    /// That of client `client_index` in the first trial of `cell`, with all else as plain as it can be.
    pub(crate) fn plain(cell: Cell, client_index: u32) -> Self {
        Self {
            trial: 0,
            client_index,
            seed: 1,
            data_seed: 2,
            objects: crate::prepare::object_names(&cell, client_index),
            object_bytes: cell.workload.file_bytes,
            interval_ns: Nanos(1),
            token: None,
            session: None,
            answer_timeout_ns: Nanos(1),
            object_steps: Vec::new(),
            brings_cache: false,
            cell,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_the_window_begins_and_when_it_ends() {
        let times = WindowTimes { start_ns: 1_000, measure_from_ns: 1_350, measure_until_ns: u64::MAX };
        let pause_ns =
            |times: &WindowTimes, now_ns| times.wait_until_end(now_ns, Duration::from_nanos(20)).as_nanos();
        assert_eq!(pause_ns(&times, 1_329), 20);
        assert_eq!(pause_ns(&times, 1_340), 10);
        assert_eq!(pause_ns(&times, 1_350), 20, "no end by time");
        let times = WindowTimes { measure_until_ns: 1_360, ..times };
        assert_eq!(pause_ns(&times, 1_350), 10);
        assert_eq!(pause_ns(&times, 1_360), 20);
    }

    #[test]
    fn each_cell_trial_and_client_has_a_seed_of_its_own_that_a_run_repeats() {
        let seed = |name: &str, trial, client| seed_of(7, &CellId(name.to_owned()), trial, client);
        let mut seeds: Vec<u64> = ["path/read/4KiB/qd1/c1", "path/read/4KiB/qd2/c1", "path/read/8KiB/qd1/c1"]
            .iter()
            .flat_map(|name| (0..3).flat_map(move |trial| (0..3).map(move |client| (name, trial, client))))
            .map(|(name, trial, client)| seed(name, trial, client))
            .collect();
        assert_eq!(seed("path/read/4KiB/qd1/c1", 0, 0), seeds[0]);
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 27);
        // The check value of the authors for the name "a", FNV-1a of 64 bits.
        assert_eq!(hash("a"), 0xAF63_DC4C_8601_EC8C);
    }

    #[test]
    fn no_two_workers_of_a_cell_have_buffers_alike_however_many_they_are() {
        let cell = CellId("path/write/4KiB/qd1/w1024/c300".to_owned());
        let mut seeds = Vec::new();
        for (trial, client) in [(0, 0), (0, 1), (0, 2), (0, 255), (0, 256), (1, 0), (1, 1), (2, 0)] {
            let client_seed = seed_of(7, &cell, trial, client);
            seeds.extend((0..1024).map(|worker| worker_seed(client_seed, worker)));
        }
        let distinct: std::collections::BTreeSet<u64> = seeds.iter().copied().collect();
        assert_eq!(distinct.len(), seeds.len());
    }
}
