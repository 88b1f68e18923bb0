//! Rank 0's coordinator: the clients of a trial are the first ranks of the job.
//!
//! Not here: messages and barriers, which are the messenger's; how clients are supervised, which is `run`'s.

use crate::handshake::RankPlace;
use crate::message::LocalMessage;
use narrows::keep_disks;
use narrows_model::rank::RankFacts;
use narrows_run::RunError;
use narrows_run::assignment::{Assignment, ClientOutput, OwnPlaceFacts, ToClient};
use narrows_run::coordinator::{
    ClientEventSender, ClientPort, ClientSilence, Coordinator, LocalContext, START_DELAY_NS, TrialHooks,
    run_clients,
};
use narrows_sys::process::started_ticks;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

/// What each step of the times of a start takes at the most where each rank has a CPU: a messenger looks every 0.2 ms.
const START_STEP_NS: u64 = 250_000;
/// Steps besides those of the barrier: rank 0's messenger, the other rank's, its client.
const START_STEPS: u32 = 3;

/// Clients on the ranks of a job.
pub(crate) struct RankCoordinator {
    messenger: Mutex<Sender<LocalMessage>>,
    places: Vec<RankPlace>,
    trial: AtomicU64,
    has_lost: Arc<AtomicBool>,
    start_delay_ns: u64,
}

impl RankCoordinator {
    /// A coordinator of `ranks`, which are at `places`, by the messenger of rank 0.
    pub(crate) fn new(messenger: Sender<LocalMessage>, ranks: &[RankFacts], places: Vec<RankPlace>) -> Self {
        Self {
            messenger: Mutex::new(messenger),
            places,
            trial: AtomicU64::new(0),
            has_lost: Arc::default(),
            start_delay_ns: start_delay_ns(ranks),
        }
    }

    /// Whether a rank was lost.
    pub(crate) fn has_lost(&self) -> bool {
        self.has_lost.load(Ordering::Acquire)
    }

    /// The rank that is the client of `assignment`; an error where there are fewer ranks than clients.
    fn place_of(&self, assignment: &Assignment) -> Result<&RankPlace, RunError> {
        let (client_index, client_count) = (assignment.client_index, client_count(assignment));
        self.places.get(client_index as usize).ok_or_else(|| {
            let problem = format!(
                "cannot be run: the job has {} ranks, and each client is one; start the job with {client_count} (mpirun \
                 -np {client_count}), or lower `clients`",
                self.places.len()
            );
            RunError::Client { client_index, client_count, host: None, problem }
        })
    }

    fn connect(
        &self,
        trial: u64,
        assignment: &Assignment,
        events: &ClientEventSender,
    ) -> Result<RankPort, RunError> {
        let (rank, count) = (assignment.client_index, client_count(assignment));
        let place = self.place_of(assignment)?;
        let messenger = self.messenger.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if rank == 0 {
            // A messenger that is gone shows as clients that are never ready.
            drop(messenger.send(LocalMessage::Begin { trial, events: events.clone() }));
        }
        // Elsewhere the same folder has other numbers.
        let is_here = place.process.is_some();
        let folders = if is_here { OwnPlaceFacts::of_target(assignment.target()) } else { Vec::new() };
        let mut port = RankPort {
            messenger,
            rank,
            trial,
            // Ranks without a client join the barrier of those with one.
            joins_from: (rank == 0 && count > 1).then_some(count),
            place: place.clone(),
            has_lost: Arc::clone(&self.has_lost),
        };
        let assignment = Assignment { brings_cache: !port.place.shares_machine, ..assignment.clone() };
        port.send(&ToClient::Prepare(Box::new(assignment), folders));
        Ok(port)
    }
}

impl Coordinator for RankCoordinator {
    fn run(
        &self,
        assignments: &[Assignment],
        context: &LocalContext<'_>,
        hooks: &mut dyn TrialHooks,
    ) -> Result<Vec<ClientOutput>, RunError> {
        let trial = self.trial.fetch_add(1, Ordering::AcqRel) + 1;
        // The last one is refused before the first one is prepared.
        if let Some(last) = assignments.last() {
            self.place_of(last)?;
        }
        run_clients(assignments, context, hooks, &mut |assignment, events| {
            Ok(Box::new(self.connect(trial, assignment, events)?))
        })
    }

    fn start_delay_ns(&self) -> u64 {
        self.start_delay_ns
    }
}

/// What the start of load waits: the messages and the rounds of a barrier of so many ranks, where none waits for a CPU.
fn start_delay_ns(ranks: &[RankFacts]) -> u64 {
    let rounds = ranks.len().next_power_of_two().ilog2();
    let steps_ns = START_STEP_NS * u64::from(START_STEPS + rounds);
    if has_cpu_for_each(ranks) { steps_ns.min(START_DELAY_NS) } else { START_DELAY_NS }
}

/// Whether each rank finds a CPU of its own among those that it may use, those with the least choice first.
fn has_cpu_for_each(ranks: &[RankFacts]) -> bool {
    let mut ranks: Vec<&RankFacts> = ranks.iter().collect();
    ranks.sort_by_key(|rank| rank.cpus.len());
    let mut taken = BTreeSet::new();
    ranks.iter().all(|rank| {
        // Hosts of one machine, such as containers, have its CPUs.
        let machine = (!rank.shares_machine()).then_some(rank.host.as_str());
        rank.cpus.iter().any(|cpu| taken.insert((machine, *cpu)))
    })
}

fn client_count(assignment: &Assignment) -> u32 {
    assignment.cell.workload.clients.max(1)
}

/// The way to the client on one rank.
struct RankPort {
    messenger: Sender<LocalMessage>,
    rank: u32,
    trial: u64,
    /// With the first times of the trial, ranks from this one on are asked to join its barrier.
    joins_from: Option<u32>,
    place: RankPlace,
    has_lost: Arc<AtomicBool>,
}

impl RankPort {
    /// Whether the process of the rank may still run: here it is looked at, elsewhere it is not known.
    fn may_live(&self) -> bool {
        let process = self.place.process.filter(|_| self.rank > 0);
        process.is_none_or(|(pid, started)| started_ticks(pid) == Some(started))
    }
}

impl ClientPort for RankPort {
    fn pid(&self) -> Option<u32> {
        self.place.process.filter(|_| self.rank > 0).map(|(pid, _)| pid)
    }

    fn host(&self) -> Option<&str> {
        Some(&self.place.host)
    }

    fn is_elsewhere(&self) -> bool {
        self.place.process.is_none()
    }

    fn send(&mut self, message: &ToClient) {
        let (rank, trial) = (self.rank, self.trial);
        if let ToClient::Go(_) = message
            && let Some(first_rank) = self.joins_from.take()
        {
            drop(self.messenger.send(LocalMessage::Join { trial, first_rank }));
        }
        drop(self.messenger.send(LocalMessage::ToRank { rank, trial, message: message.clone() }));
    }

    fn loss(&mut self, silence: ClientSilence<'_>) -> Option<String> {
        if let Some(Err(problem)) = silence.closed {
            return Some(format!("sent an invalid message: {problem}"));
        }
        let (pid, started) = self.place.process.filter(|_| self.rank > 0)?;
        let is_gone = started_ticks(pid) != Some(started);
        is_gone.then(|| {
            format!(
                "ended (process {pid}) before it had finished; what was measured before is kept, and nothing more can be \
                 measured with this job: see the launcher's messages and dmesg"
            )
        })
    }

    fn leave(&self) {
        if self.may_live() {
            keep_disks(&format!("rank {} was lost and may still write there", self.rank));
        }
    }

    fn lost_error(&self, problem: String) -> RunError {
        self.leave();
        self.has_lost.store(true, Ordering::Release);
        RunError::Rank { rank: self.rank, host: self.place.host.clone(), problem }
    }

    fn end(&mut self) {
        self.send(&ToClient::Stop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Nanos;

    /// A rank on a machine that shares rank 0's clock or not.
    fn rank(host: &str, clock_uncertainty_ns: u64, cpus: &[u32]) -> RankFacts {
        let (host, cpus) = (host.to_owned(), cpus.to_vec());
        let clock_uncertainty_ns = Nanos(clock_uncertainty_ns);
        RankFacts {
            rank: 0,
            host,
            pid: 1,
            cpus,
            clock_offset_ns: 0,
            clock_uncertainty_ns,
            memory_bytes: None,
        }
    }

    #[test]
    fn ranks_that_share_a_cpu_are_found_whatever_they_are_bound_to() {
        assert!(has_cpu_for_each(&[rank("a", 0, &[0]), rank("a", 0, &[1]), rank("b", 9, &[0])]));
        assert!(has_cpu_for_each(&[rank("a", 0, &[0, 1]), rank("a", 0, &[0, 1])]));
        assert!(has_cpu_for_each(&[rank("a", 0, &[0, 1]), rank("a", 0, &[0])]));
        assert!(!has_cpu_for_each(&[rank("a", 0, &[0]), rank("a", 0, &[0]), rank("a", 0, &[1, 2, 3])]));
        assert!(!has_cpu_for_each(&[0; 3].map(|_| rank("a", 0, &[0, 1]))));
        // Two names of one machine.
        assert!(!has_cpu_for_each(&[rank("a", 0, &[0, 1]), rank("b", 0, &[0, 1]), rank("c", 0, &[0, 1])]));
    }

    #[test]
    fn more_ranks_are_notified_longer_ahead_and_no_longer_than_those_without_a_cpu() {
        let delay_ns =
            |count: u32| start_delay_ns(&(0..count).map(|cpu| rank("a", 0, &[cpu])).collect::<Vec<_>>());
        assert_eq!((delay_ns(2), delay_ns(64)), (1_000_000, 2_250_000));
        assert_eq!(start_delay_ns(&[0; 2].map(|_| rank("a", 0, &[0]))), START_DELAY_NS);
    }
}
