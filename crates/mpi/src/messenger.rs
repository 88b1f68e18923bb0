//! The thread of a rank that makes the calls of MPI, but for those of the engine `mpiio` on its files: it sends and receives the messages of clients, enters the barriers at
//! which trials begin, and merges outputs.
//!
//! No call here waits for another rank, once the job has begun. Not here: what a lost rank means, which rank 0's coordinator
//! decides.

use crate::collective::{self, CollectiveEnd};
use crate::engine::IoRanks;
use crate::handshake::{self, JobRefusal, MpiJob};
use crate::message::{LocalMessage, RankMessage, TAG};
use crate::own_client::OwnClient;
use crate::polling::MessagePolling;
use crate::raw::{SentMessage, StartedBarrier, return_errors};
use crate::tree::{MergePoint, parent};
use crate::{BAD_INPUT, COULD_NOT_RUN};
use mpi::point_to_point::{Source as _, Status};
use mpi::topology::{Communicator as _, SimpleCommunicator};
use mpi::traits::MatchedReceiveVec as _;
use mpi::{Threading, initialize_with_threading};
use narrows::JobRank;
use narrows_run::assignment::{ClientOutput, FromClient, ToClient, WindowTimes};
use narrows_run::coordinator::{ClientEvent, ClientEventSender};
use narrows_sys::clock::{Monotonic, wait_ns};
use narrows_sys::process::wake_on_time;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// Messages that are received before anything else is looked at again.
const RECEIVED_AT_ONCE_MAX: u32 = 256;
/// Time between two words that the client of rank 0 lives, once it waits for the outputs of others.
const ALIVE_NS: u64 = 500_000_000;
/// Longest wait at the end for messages that are still on their way.
const FLUSH_NS: u64 = 5_000_000_000;
/// Pause between two looks then.
const FLUSH_PAUSE_NS: u64 = 200_000;
/// Time for the launcher to read what was printed last: Hydra ends with a job that aborts, and drops what it has not read.
const OUTPUT_WAIT_NS: u64 = 200_000_000;

/// How a job begins.
pub(crate) enum Start {
    /// With a command, which rank 0 runs, and the ranks for calls on files.
    Job(MpiJob, IoRanks),
    /// With a suite that all ranks have run together, and which has ended.
    Ended(CollectiveEnd),
}

/// The messenger as its rank's other threads see it.
pub(crate) struct MessengerHandle {
    sender: Sender<LocalMessage>,
    thread: JoinHandle<()>,
}

impl MessengerHandle {
    /// Starts the messenger of this process, whose words behind its name are `words`; it sends to `joined` once all ranks are
    /// known.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(crate) fn start(
        words: Vec<String>,
        joined: Sender<Result<Start, JobRefusal>>,
        own: OwnClient,
    ) -> Result<Self, String> {
        let (sender, inbox) = channel();
        let thread = Builder::new().name("mpi".to_owned()).spawn(move || live(&words, &joined, own, &inbox));
        let thread = thread.map_err(|error| format!("start a thread for the calls of MPI: {error}"))?;
        Ok(Self { sender, thread })
    }

    /// The way to it.
    pub(crate) fn sender(&self) -> Sender<LocalMessage> {
        self.sender.clone()
    }

    /// Ends the job in order.
    pub(crate) fn finish(self) {
        drop(self.sender.send(LocalMessage::Finish));
        self.join();
    }

    /// Ends the job without waiting for the others, once the launcher has had time to pass on what was printed.
    pub(crate) fn abort(self, code: u8) {
        drop(self.sender.send(LocalMessage::Abort(code)));
        self.join();
    }

    /// Waits for its end.
    pub(crate) fn join(self) {
        // One that has panicked has said so.
        drop(self.thread.join());
    }
}

fn live(
    words: &[String],
    joined: &Sender<Result<Start, JobRefusal>>,
    own: OwnClient,
    inbox: &Receiver<LocalMessage>,
) {
    // Suites make their calls here; the engine `mpiio` makes its own beside them.
    let wanted = if collective::is_wanted(words) { Threading::Funneled } else { Threading::Multiple };
    let Some((universe, threading)) = initialize_with_threading(wanted) else {
        let message = Some("MPI could not be started".to_owned());
        drop(joined.send(Err(JobRefusal { message, code: COULD_NOT_RUN })));
        return;
    };
    let world = universe.world();
    if threading < Threading::Funneled {
        let message =
            "this MPI library allows no threads beside its own; install one that was built with them";
        let message = (world.rank() == 0).then(|| message.to_owned());
        drop(joined.send(Err(JobRefusal { message, code: COULD_NOT_RUN })));
        return;
    }
    if let Some(refusal) = foreign_launcher(world.size(), narrows::launched_rank()) {
        drop(joined.send(Err(refusal)));
        return;
    }
    let job = match handshake::join(&world) {
        Ok(job) => job,
        Err(refusal) => {
            drop(joined.send(Err(refusal)));
            return;
        }
    };
    if collective::is_wanted(words) {
        let end = collective::run(&world, &job.ranks, words);
        drop(joined.send(Ok(Start::Ended(end))));
        return;
    }
    return_errors(&world);
    let io_ranks = match IoRanks::new(&world, threading) {
        Ok(io_ranks) => io_ranks,
        Err(failure) => {
            let message = (job.rank == 0).then_some(failure.text);
            drop(joined.send(Err(JobRefusal { message, code: COULD_NOT_RUN })));
            return;
        }
    };
    let mut messenger = Messenger::new(world, &job, own);
    if joined.send(Ok(Start::Job(job, io_ranks))).is_ok() {
        messenger.run(inbox);
    }
    // The client of this rank ends before MPI does.
    drop(messenger);
    drop(universe);
}

/// That the launcher has started several processes, each of which is alone for its MPI library; one of them says so.
fn foreign_launcher(rank_count: i32, launched: Option<JobRank>) -> Option<JobRefusal> {
    let launched = launched.filter(|_| rank_count < 2)?;
    let count = launched.process_count.map_or("several".to_owned(), |count| count.to_string());
    let message = format!(
        "the launcher says that this is one of {count} processes, and the MPI library of this narrows-mpi sees one alone: it is \
         built with another MPI than the launcher's; start it with that MPI's own mpirun, or build narrows-mpi with the \
         launcher's MPI (docs/guide/mpi.md)"
    );
    Some(JobRefusal { message: (launched.rank == 0).then_some(message), code: BAD_INPUT })
}

struct Messenger {
    world: SimpleCommunicator,
    rank: u32,
    host: Option<String>,
    /// How far the clock of this rank is before that of rank 0.
    offset_ns: i64,
    own: OwnClient,
    sent: Vec<SentMessage>,
    merges: BTreeMap<u64, MergePoint>,
    /// The newest trial that this rank has a client in.
    trial: u64,
    /// On rank 0: where what comes from the clients of the trial is sent.
    events: Option<ClientEventSender>,
    /// The newest trial whose barrier was entered.
    entered_trial: u64,
    barriers: Vec<(u64, StartedBarrier)>,
    /// Times that are for the client once all ranks have entered the barrier.
    held: Option<(u64, WindowTimes)>,
    polling: MessagePolling,
    said_alive_ns: u64,
    clock: Monotonic,
    is_finished: bool,
}

impl Messenger {
    fn new(world: SimpleCommunicator, job: &MpiJob, own: OwnClient) -> Self {
        let facts = job.ranks.get(job.rank as usize);
        Self {
            rank: job.rank,
            host: facts.map(|facts| facts.host.clone()),
            offset_ns: facts.map_or(0, |facts| facts.clock_offset_ns),
            world,
            own,
            sent: Vec::new(),
            merges: BTreeMap::new(),
            trial: 0,
            events: None,
            entered_trial: 0,
            barriers: Vec::new(),
            held: None,
            polling: MessagePolling::default(),
            said_alive_ns: 0,
            clock: Monotonic::new(),
            is_finished: false,
        }
    }

    fn run(&mut self, inbox: &Receiver<LocalMessage>) {
        // Where a sandbox refuses it, pauses are up to 50 us longer.
        drop(wake_on_time());
        while !self.is_finished {
            match inbox.recv_timeout(self.polling.pause(self.clock.now_ns())) {
                Ok(message) => self.heed(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.is_finished = true,
            }
            while let Ok(message) = inbox.try_recv() {
                self.heed(message);
            }
            self.receive();
            self.pass_barriers();
            self.pass_outputs();
            self.sent.retain_mut(|message| !message.is_over());
            self.say_alive();
        }
        let until_ns = self.clock.now_ns().saturating_add(FLUSH_NS);
        while !self.sent.is_empty() && self.clock.now_ns() < until_ns {
            self.sent.retain_mut(|message| !message.is_over());
            // One that ends early is made again.
            let _ = wait_ns(FLUSH_PAUSE_NS);
        }
    }

    fn heed(&mut self, message: LocalMessage) {
        self.polling.note_message(self.clock.now_ns());
        match message {
            LocalMessage::Begin { trial, events } => {
                self.trial = trial;
                self.events = Some(events);
            }
            LocalMessage::ToRank { rank, trial, message } if rank == self.rank => {
                self.client_message(trial, message);
            }
            LocalMessage::ToRank { rank, trial, message } => {
                self.send(rank, &RankMessage::ToClient { trial, message });
            }
            LocalMessage::Join { trial, first_rank } => {
                for rank in first_rank..self.rank_count() {
                    self.send(rank, &RankMessage::Join { trial });
                }
            }
            LocalMessage::FromOwn { trial, message } => self.own_message(trial, message),
            LocalMessage::Finish => {
                for rank in 1..self.rank_count() {
                    self.send(rank, &RankMessage::Finish);
                }
                self.is_finished = true;
            }
            LocalMessage::Abort(code) => {
                // Where a signal ends the wait early, output may be lost, as without the wait.
                let _ = wait_ns(OUTPUT_WAIT_NS);
                self.world.abort(i32::from(code));
            }
        }
    }

    fn rank_count(&self) -> u32 {
        u32::try_from(self.world.size()).unwrap_or_default()
    }

    fn send(&mut self, rank: u32, message: &RankMessage) {
        // What cannot be sent is missed by its receiver, which has deadlines.
        let Ok(bytes) = message.encode() else { return };
        let rank = i32::try_from(rank).unwrap_or(-1);
        self.sent.extend(SentMessage::start(&self.world, rank, TAG, bytes));
    }

    fn receive(&mut self) {
        for _ in 0..RECEIVED_AT_ONCE_MAX {
            let found = self.world.any_process().immediate_matched_probe_with_tag(TAG);
            let Some(found) = found else { return };
            let (bytes, status): (Vec<u8>, Status) = found.matched_receive_vec();
            let source = u32::try_from(status.source_rank()).unwrap_or_default();
            match RankMessage::decode(&bytes) {
                Ok(message) => self.take(source, message),
                Err(problem) => self.event(source, ClientEvent::Closed(Err(problem))),
            }
        }
    }

    fn take(&mut self, source: u32, message: RankMessage) {
        self.polling.note_message(self.clock.now_ns());
        match message {
            RankMessage::ToClient { trial, message } => self.client_message(trial, message),
            RankMessage::Join { trial } => self.enter(trial),
            RankMessage::FromClient { trial, message } if trial == self.trial => {
                self.event(source, ClientEvent::Message(message));
            }
            RankMessage::Outputs { trial, outputs } if trial >= self.trial => {
                self.merges.entry(trial).or_default().add_below(outputs);
            }
            // Of a trial that has ended.
            RankMessage::FromClient { .. } | RankMessage::Outputs { .. } => {}
            RankMessage::Finish => self.is_finished = true,
        }
    }

    fn event(&mut self, client: u32, event: ClientEvent) {
        if let Some(events) = &self.events
            && events.send((client as usize, event)).is_err()
        {
            // The trial has ended.
            self.events = None;
        }
    }

    /// A message of rank 0 for the client of this rank.
    fn client_message(&mut self, trial: u64, message: ToClient) {
        match message {
            ToClient::Prepare(assignment, folders) => {
                self.trial = trial;
                self.polling.prepare();
                // Times of a trial that never began are for nobody.
                self.held.take_if(|(held, _)| *held < trial);
                self.merges.retain(|known, _| *known >= trial);
                let client_count = assignment.cell.workload.clients.max(1);
                self.merges.entry(trial).or_default().client_count = Some(client_count);
                self.own.send(trial, ToClient::Prepare(assignment, folders));
            }
            ToClient::Go(times) => self.start_at(trial, times),
            ToClient::Stop => {
                self.held = None;
                self.own.send(trial, ToClient::Stop);
            }
            // Asked of hosts that a remote shell starts clients on; ranks have described themselves.
            ToClient::Identify | ToClient::ReadClock | ToClient::FindFolders(_) => {}
        }
    }

    /// Gives the times to the client: the first ones of a trial once all ranks are at its barrier.
    fn start_at(&mut self, trial: u64, times: WindowTimes) {
        let own = times.shifted(self.offset_ns);
        let is_lone = self.merges.get(&trial).is_some_and(|merge| merge.client_count == Some(1));
        let is_first = self.entered_trial < trial;
        if is_first {
            self.entered_trial = trial;
            if !is_lone {
                self.barriers.extend(StartedBarrier::enter(&self.world).map(|barrier| (trial, barrier)));
            }
        }
        if self.barriers.iter().any(|(entered, _)| *entered == trial) {
            self.held = Some((trial, own));
        } else {
            self.start_own(trial, own);
        }
    }

    /// Gives the times of its load to the client of this rank.
    fn start_own(&mut self, trial: u64, times: WindowTimes) {
        self.polling.start(trial);
        self.own.send(trial, ToClient::Go(times));
    }

    fn enter(&mut self, trial: u64) {
        self.entered_trial = trial;
        self.barriers.extend(StartedBarrier::enter(&self.world).map(|barrier| (trial, barrier)));
    }

    fn pass_barriers(&mut self) {
        self.barriers.retain_mut(|(_, barrier)| !barrier.is_over());
        let barriers = &self.barriers;
        let passed = self.held.take_if(|(held, _)| !barriers.iter().any(|(trial, _)| trial == held));
        if let Some((trial, times)) = passed {
            self.start_own(trial, times);
        }
    }

    /// A message of the client of this rank, for rank 0.
    fn own_message(&mut self, trial: u64, message: FromClient) {
        let to_first = self.offset_ns.saturating_neg();
        if matches!(message, FromClient::Done(_) | FromClient::Failed(_)) {
            self.polling.end(trial);
        }
        let message = match message {
            FromClient::Done(mut output) => {
                output.host.clone_from(&self.host);
                output.shift(to_first);
                let at_ns = output.done_at_ns();
                self.merges.entry(trial).or_default().add_own(vec![*output]);
                if self.rank == 0 {
                    return;
                }
                FromClient::Finished { at_ns }
            }
            FromClient::Failed(failure) => {
                self.merges.entry(trial).or_default().add_own(Vec::new());
                FromClient::Failed(failure)
            }
            other => other.shifted(to_first),
        };
        if self.rank > 0 {
            self.send(0, &RankMessage::FromClient { trial, message });
        } else if trial == self.trial {
            self.event(0, ClientEvent::Message(message));
        }
    }

    fn pass_outputs(&mut self) {
        let (rank, trial) = (self.rank, self.trial);
        let complete = self.merges.get_mut(&trial).and_then(|merge| merge.complete(rank));
        let Some(outputs) = complete else { return };
        if rank > 0 {
            self.send(parent(rank), &RankMessage::Outputs { trial, outputs });
        } else {
            self.event(0, ClientEvent::Message(FromClient::Merged(in_order(outputs))));
        }
    }

    /// The client of rank 0 is done, and says nothing while it waits for the others.
    fn say_alive(&mut self) {
        let waits = self.events.is_some() && self.merges.get(&self.trial).is_some_and(MergePoint::has_own);
        let now_ns = self.clock.now_ns();
        if waits && now_ns.saturating_sub(self.said_alive_ns) >= ALIVE_NS {
            self.said_alive_ns = now_ns;
            self.event(0, ClientEvent::Message(FromClient::Alive));
        }
    }
}

fn in_order(mut outputs: Vec<ClientOutput>) -> Vec<ClientOutput> {
    outputs.sort_by_key(|output| output.client_index);
    outputs
}
