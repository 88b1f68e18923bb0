//! The client processes of one trial while it runs: what they say, which of them are lost, how all of them end.
//!
//! A client is lost when its process has ended, its pipe has closed, or it has been silent for too long: a live client
//! reports so twice a second, whatever its load waits for. How clients are started and reached is not decided here.

use super::{LocalContext, TrialHooks};
use crate::assignment::{Assignment, ClientOutput, FromClient, ToClient, WindowTimes};
use crate::client_failure::ClientFailure;
use crate::error::RunError;
use narrows_engines::Clock;
use narrows_model::Target;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

const SECOND_NS: u64 = 1_000_000_000;
/// Pause between two looks at the trial while no client says anything.
const POLL_SLICE: Duration = Duration::from_millis(20);
/// A look counts for no more than this: while this process itself was stopped, it could not receive from its clients.
const LOOK_NS_MAX: u64 = 100_000_000;
/// Longest time that a client may need to open its target.
const READY_NS_MAX: u64 = 60 * SECOND_NS;
/// Longest time without a word from a client that runs its load.
const QUIET_NS_MAX: u64 = 10 * SECOND_NS;
/// Longest time that clients may need to end after they were asked to, where their results are wanted.
const STOP_NS_MAX: u64 = 5 * SECOND_NS;
/// The same once one of them has failed: nothing of the trial is kept.
const FAILED_STOP_NS_MAX: u64 = SECOND_NS / 2;
/// Looks for the end of processes that were killed; one that hangs in the kernel is left there.
const REAP_LOOKS_MAX: u32 = 50;

/// What came from a client.
#[derive(Debug)]
pub enum ClientEvent {
    /// A message.
    Message(FromClient),
    /// The end of its messages: nothing more comes.
    Closed(MessagesEnd),
}

/// How the messages of a client ended: with the connection, or with what broke.
pub type MessagesEnd = Result<(), String>;

/// What is known of a client that says nothing any more.
#[derive(Debug, Clone, Copy)]
pub struct ClientSilence<'a> {
    /// How its messages ended, where they have.
    pub closed: Option<&'a MessagesEnd>,
    /// Time without a message.
    pub quiet_ns: u64,
}

/// The way to one client, wherever it runs.
pub trait ClientPort {
    /// Its process, where it is one of this machine and not this one.
    fn pid(&self) -> Option<u32>;
    /// Its host, where the command has named it, or it is that of a rank.
    fn host(&self) -> Option<&str> {
        None
    }
    /// Whether it runs on another machine, where the same path may be missing.
    fn is_elsewhere(&self) -> bool {
        false
    }
    /// Sends it a message; a client that is gone shows otherwise.
    fn send(&mut self, message: &ToClient);
    /// How it was lost; `None` while it is there, or cannot be known not to be.
    fn loss(&mut self, silence: ClientSilence<'_>) -> Option<String>;
    /// The trial ends without it, and it may still be busy there: what it may write to is kept.
    fn leave(&self) {}
    /// The error of a client that is lost for `problem`, which is left.
    fn lost_error(&self, problem: String) -> RunError;
    /// Ends what it does for this trial, without waiting.
    fn end(&mut self);
    /// Whether it may still be ending.
    fn is_ending(&mut self) -> bool {
        false
    }
}

/// One client.
struct Client {
    port: Box<dyn ClientPort>,
    /// Whether it loads files by their paths.
    loads_paths: bool,
    /// Time without a word.
    quiet_ns: u64,
    ready: bool,
    closed: Option<MessagesEnd>,
    /// Nothing more is expected of it: it is done, has failed, or is lost.
    settled: bool,
}

impl Client {
    fn loss(&mut self) -> Option<String> {
        self.port.loss(ClientSilence { closed: self.closed.as_ref(), quiet_ns: self.quiet_ns })
    }
}

/// What came from a client, with its index.
pub type ClientEventSender = Sender<(usize, ClientEvent)>;

/// Reaches the client of an assignment, whose messages are to arrive through the channel.
pub type ConnectFn<'a> =
    dyn FnMut(&Assignment, &ClientEventSender) -> Result<Box<dyn ClientPort>, RunError> + 'a;

/// Runs one trial with a client for each assignment, each reached by what `connect` returns: the way to it, with which its
/// assignment has been sent already. Its messages arrive through the channel, with its index.
///
/// # Errors
/// When a client cannot be reached, could not open its target, ended without a result, or a stop was asked for before the
/// start.
pub fn run_clients(
    assignments: &[Assignment],
    context: &LocalContext<'_>,
    hooks: &mut dyn TrialHooks,
    connect: &mut ConnectFn<'_>,
) -> Result<Vec<ClientOutput>, RunError> {
    let (sender, inbox) = channel();
    let mut clients = Clients::new(inbox, sender.clone(), context.clock);
    for assignment in assignments {
        let is_path = |member: &Target| matches!(member, Target::File { .. });
        let loads_paths = assignment.target().members().iter().any(is_path);
        clients.add(connect(assignment, &sender)?, loads_paths);
    }
    clients.wait_until_ready(hooks)?;
    let Some(times) = hooks.ready(&clients.pids()) else { return Err(RunError::Stopped) };
    clients.send_all(&ToClient::Go(times));
    let has_wall = assignments.iter().any(|assignment| assignment.cell.workload.edges.stone_wall);
    clients.wall = has_wall.then_some(times);
    clients.collect(hooks)
}

/// All clients of a trial; dropping them ends every process.
struct Clients {
    children: Vec<Client>,
    inbox: Receiver<(usize, ClientEvent)>,
    /// Keeps the inbox open, so that waiting for it lasts its time.
    _open: Sender<(usize, ClientEvent)>,
    clock: Arc<dyn Clock>,
    looked_at_ns: u64,
    /// Time since the look before, as far as it counts.
    step_ns: u64,
    /// The window's times while the first client to be done is to end it for all.
    wall: Option<WindowTimes>,
}

impl Clients {
    /// No clients yet; their messages arrive through `inbox`.
    fn new(
        inbox: Receiver<(usize, ClientEvent)>,
        open: Sender<(usize, ClientEvent)>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        Self {
            children: Vec::new(),
            inbox,
            _open: open,
            clock: Arc::clone(clock),
            looked_at_ns: clock.now().0,
            step_ns: 0,
            wall: None,
        }
    }

    fn add(&mut self, port: Box<dyn ClientPort>, loads_paths: bool) {
        let client = Client { port, loads_paths, quiet_ns: 0, ready: false, closed: None, settled: false };
        self.children.push(client);
    }

    fn pids(&self) -> Vec<u32> {
        self.children.iter().filter_map(|client| client.port.pid()).collect()
    }

    fn send_all(&mut self, message: &ToClient) {
        for client in &mut self.children {
            client.port.send(message);
        }
    }

    /// Waits until all clients have opened their targets.
    ///
    /// # Errors
    /// When one cannot, is lost or takes too long, or a stop is asked for.
    fn wait_until_ready(&mut self, hooks: &mut dyn TrialHooks) -> Result<(), RunError> {
        let mut left_ns = READY_NS_MAX;
        while let Some(waited_for) = self.children.iter().position(|client| !client.ready) {
            match self.next_message(POLL_SLICE) {
                Some((index, FromClient::Ready)) => self.children[index].ready = true,
                Some((_, FromClient::Alive | FromClient::Clock { .. })) => {}
                Some((index, FromClient::Failed(failure))) => {
                    return Err(self.failure(index, &failure));
                }
                Some((index, _)) => {
                    return Err(self.error(index, "sent a message before it was ready".to_owned()));
                }
                None if hooks.poll() => return Err(RunError::Stopped),
                None => {}
            }
            if let Some(error) = self.first_lost() {
                return Err(error);
            }
            left_ns = left_ns.saturating_sub(self.step_ns);
            if left_ns == 0 || hooks.is_overdue() {
                let waited_s = (READY_NS_MAX - left_ns) / SECOND_NS;
                let problem = format!("has not opened its target within {waited_s} s");
                return Err(self.lost(waited_for, problem));
            }
        }
        Ok(())
    }

    /// Receives from all clients until they end.
    ///
    /// # Errors
    /// When one has failed, is lost, does not answer, or does not end when it must.
    fn collect(&mut self, hooks: &mut dyn TrialHooks) -> Result<Vec<ClientOutput>, RunError> {
        let mut outputs: Vec<Option<ClientOutput>> = vec![None; self.children.len()];
        let mut merged = Vec::new();
        let mut first_error = None;
        let mut stop_left_ns = None;
        self.forget_quiet();
        while let Some(waited_for) = self.children.iter().position(|client| !client.settled) {
            match self.next_message(hooks.pause(self.clock.now().0, POLL_SLICE)) {
                Some((_, FromClient::Interval(sample))) => hooks.interval(&sample),
                Some((index, FromClient::Done(output))) => {
                    let done = output.workers.iter().map(|worker| worker.done_at_ns);
                    self.apply_stone_wall(done.max().unwrap_or_default());
                    self.children[index].settled = true;
                    outputs[index] = Some(*output);
                }
                Some((index, FromClient::Failed(failure))) => {
                    self.children[index].settled = true;
                    first_error.get_or_insert_with(|| self.failure(index, &failure));
                }
                Some((index, FromClient::Finished { at_ns })) => {
                    self.apply_stone_wall(at_ns);
                    self.children[index].settled = true;
                }
                Some((index, FromClient::Merged(all))) => {
                    self.children[index].settled = true;
                    merged = all;
                }
                Some((_, FromClient::Turned)) => hooks.turned(),
                Some((_, FromClient::LoadEnded { at_ns })) => self.apply_stone_wall(at_ns),
                // Signs of life, if anything.
                Some(_) | None => {}
            }
            if let Some(error) = self.first_lost().or_else(|| self.first_quiet()) {
                first_error.get_or_insert(error);
            }
            if hooks.is_overdue() {
                let problem =
                    "has not ended although the time for the whole command is over; its target may hang";
                first_error.get_or_insert_with(|| self.lost(waited_for, problem.to_owned()));
            }
            if stop_left_ns.is_none() && (first_error.is_some() || hooks.poll()) {
                stop_left_ns = Some(STOP_NS_MAX);
                self.send_all(&ToClient::Stop);
            }
            if let Some(times) = hooks.moved() {
                self.send_all(&ToClient::Go(times));
            }
            if let Some(left_ns) = &mut stop_left_ns {
                let most_ns = if first_error.is_some() { FAILED_STOP_NS_MAX } else { STOP_NS_MAX };
                *left_ns = left_ns.saturating_sub(self.step_ns).min(most_ns);
                if *left_ns == 0 {
                    self.leave_unsettled();
                    let problem =
                        format!("did not end within {} s of the request to stop", STOP_NS_MAX / SECOND_NS);
                    first_error.get_or_insert_with(|| self.lost(waited_for, problem));
                    break;
                }
            }
        }
        match first_error {
            Some(error) => Err(error),
            None => Ok(merged.into_iter().chain(outputs.into_iter().flatten()).collect()),
        }
    }

    /// The next message; nothing where none came within `slice`.
    fn next_message(&mut self, slice: Duration) -> Option<(usize, FromClient)> {
        let received = self.inbox.recv_timeout(slice);
        let now_ns = self.clock.now().0;
        self.step_ns = now_ns.saturating_sub(self.looked_at_ns).min(LOOK_NS_MAX);
        self.looked_at_ns = now_ns;
        for client in &mut self.children {
            client.quiet_ns = client.quiet_ns.saturating_add(self.step_ns);
        }
        let (index, received) = received.ok()?;
        let client = self.children.get_mut(index)?;
        client.quiet_ns = 0;
        match received {
            ClientEvent::Message(message) => Some((index, message)),
            ClientEvent::Closed(problem) => {
                client.closed = Some(problem);
                None
            }
        }
    }

    /// What was not said before the start does not count: a client then waits for the others.
    fn forget_quiet(&mut self) {
        self.looked_at_ns = self.clock.now().0;
        self.children.iter_mut().for_each(|client| client.quiet_ns = 0);
    }

    /// Ends the trial for all where the client that was done at `done_ns` is the first and that ends it.
    fn apply_stone_wall(&mut self, done_ns: u64) {
        if let Some(times) = self.wall.take() {
            self.send_all(&ToClient::Go(WindowTimes { measure_until_ns: done_ns, ..times }));
        }
    }

    /// The first client that is lost and was not before.
    fn first_lost(&mut self) -> Option<RunError> {
        self.settle_first(Client::loss)
    }

    /// The first client that has been silent for too long.
    fn first_quiet(&mut self) -> Option<RunError> {
        let problem = || format!("does not answer: no message from it for {} s", QUIET_NS_MAX / SECOND_NS);
        self.settle_first(|client| (client.quiet_ns > QUIET_NS_MAX).then(problem))
    }

    fn settle_first(&mut self, problem: impl Fn(&mut Client) -> Option<String>) -> Option<RunError> {
        let mut waited_for = self.children.iter_mut().enumerate().filter(|(_, client)| !client.settled);
        let (index, problem) = waited_for.find_map(|(index, client)| {
            let problem = problem(client)?;
            client.settled = true;
            Some((index, problem))
        })?;
        Some(self.lost(index, problem))
    }

    /// Leaves every client of which more is expected, whichever of them the trial's error names.
    fn leave_unsettled(&self) {
        let unsettled = self.children.iter().filter(|client| !client.settled);
        unsettled.for_each(|client| client.port.leave());
    }

    /// The error of a client that does not do what it must.
    fn lost(&self, index: usize, problem: String) -> RunError {
        match self.children.get(index) {
            Some(client) => client.port.lost_error(problem),
            None => self.error(index, problem),
        }
    }

    /// The error of a client that could not run its trial; what is missing on another machine has to be there, and what to do
    /// here is no advice.
    fn failure(&self, index: usize, failure: &ClientFailure) -> RunError {
        let elsewhere = self.children.get(index).filter(|client| client.port.is_elsewhere());
        let hint = match elsewhere.filter(|client| client.loads_paths && failure.errno == "ENOENT") {
            Some(client) => missing_elsewhere(client.port.host().unwrap_or("the client's host")),
            None => failure.hint.clone(),
        };
        let separator = if hint.is_empty() { "" } else { "; " };
        self.error(index, format!("failed: {}{separator}{hint}", failure.message))
    }

    fn error(&self, index: usize, problem: String) -> RunError {
        let bounded = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let host = self.children.get(index).and_then(|client| client.port.host());
        RunError::Client {
            client_index: bounded(index),
            client_count: bounded(self.children.len()),
            host: host.map(str::to_owned),
            problem,
        }
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        for client in &mut self.children {
            client.port.end();
        }
        let mut looks = 0;
        while looks < REAP_LOOKS_MAX && self.children.iter_mut().any(|client| client.port.is_ending()) {
            // Messages of before the end are few: the queue ends with the pipes.
            looks += u32::from(matches!(self.inbox.recv_timeout(POLL_SLICE), Err(RecvTimeoutError::Timeout)));
        }
    }
}

/// What to do about a path that `host` does not have.
fn missing_elsewhere(host: &str) -> String {
    format!(
        "it is missing on {host}, where this client runs: it has to be on a file system that each host has mounted at the same \
         path"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_engines::EngineError;
    use narrows_model::trial::IntervalSample;
    use std::sync::Mutex;

    /// A client that says nothing of itself.
    struct SilentPort {
        name: &'static str,
        is_elsewhere: bool,
        left: Arc<Mutex<Vec<&'static str>>>,
    }

    impl ClientPort for SilentPort {
        fn pid(&self) -> Option<u32> {
            None
        }

        fn host(&self) -> Option<&str> {
            Some(self.name)
        }

        fn is_elsewhere(&self) -> bool {
            self.is_elsewhere
        }

        fn send(&mut self, _message: &ToClient) {}

        fn loss(&mut self, _silence: ClientSilence<'_>) -> Option<String> {
            None
        }

        fn leave(&self) {
            self.left.lock().unwrap().push(self.name);
        }

        fn lost_error(&self, problem: String) -> RunError {
            self.leave();
            RunError::Host { host: self.name.to_owned(), problem }
        }

        fn end(&mut self) {}
    }

    struct NoHooks;

    impl TrialHooks for NoHooks {
        fn ready(&mut self, _child_pids: &[u32]) -> Option<WindowTimes> {
            None
        }

        fn interval(&mut self, _sample: &IntervalSample) {}

        fn poll(&mut self) -> bool {
            false
        }
    }

    #[test]
    fn whoever_has_not_ended_after_the_failure_of_another_is_left_too() {
        let clock: Arc<dyn Clock> = Arc::new(narrows_engines::MonotonicClock::new());
        let (sender, inbox) = channel();
        let mut clients = Clients::new(inbox, sender.clone(), &clock);
        let left = Arc::<Mutex<Vec<&'static str>>>::default();
        for name in ["a", "b", "c"] {
            let port = SilentPort { name, is_elsewhere: false, left: Arc::clone(&left) };
            clients.add(Box::new(port), true);
        }
        let failed =
            ClientFailure { message: "no space".to_owned(), hint: String::new(), errno: "ENOSPC".to_owned() };
        sender.send((0, ClientEvent::Message(FromClient::Failed(failed)))).unwrap();
        let error = clients.collect(&mut NoHooks).unwrap_err();
        assert_eq!(error.to_string(), "client process 1 of 3 on a failed: no space");
        assert_eq!(*left.lock().unwrap(), ["b", "c"]);
    }

    /// The error of the only client, on b, that the system refuses to open /x for `errno`.
    fn refused(is_elsewhere: bool, loads_paths: bool, errno: i32) -> String {
        let clock: Arc<dyn Clock> = Arc::new(narrows_engines::MonotonicClock::new());
        let (sender, inbox) = channel();
        let mut clients = Clients::new(inbox, sender, &clock);
        clients.add(Box::new(SilentPort { name: "b", is_elsewhere, left: Arc::default() }), loads_paths);
        let error = EngineError::from_io("open", "/x", std::io::Error::from_raw_os_error(errno));
        clients.failure(0, &RunError::Engine(error).into()).to_string()
    }

    #[test]
    fn a_path_that_another_machine_does_not_have_is_reported_with_its_host_and_no_advice_for_this_one() {
        let (not_found, denied) = (2, 13);
        let there = refused(true, true, not_found);
        assert!(
            there.contains("on b failed: open /x: No such file")
                && there.contains("; it is missing on b, where this client runs")
                && !there.contains("check that it exists"),
            "{there}"
        );
        for said in [refused(false, true, not_found), refused(true, false, not_found)] {
            assert!(said.ends_with("; check that it exists and the spelling"), "{said}");
        }
        let said = refused(true, true, denied);
        assert!(said.contains("; check this user's permissions there"), "{said}");
    }
}
