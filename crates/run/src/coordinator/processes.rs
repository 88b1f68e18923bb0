//! Clients as processes: each is the running program with a hidden command, spoken to through its pipes.
//!
//! A single client stays in this process, unless it is to be started by another program or asked for as a process of its
//! own: starting one would only add its cost.

use super::{Coordinator, LocalContext, ThreadCoordinator, TrialHooks};
use crate::assignment::{Assignment, ClientOutput, FromClient, ToClient, WindowTimes};
use crate::client_process::{read_messages, send};
use crate::error::RunError;
use narrows_sys::process::{Stop, die_with_parent, stop_child};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Pause between two looks at the trial while no client says anything.
const POLL_SLICE: Duration = Duration::from_millis(20);
/// Longest time that a client may need to open its target.
const READY_SLICES_MAX: u32 = 3_000;
/// Longest time that clients may need to end after they were told to.
const STOP_SLICES_MAX: u32 = 250;

/// Several clients, each a process of `program`.
#[derive(Debug, Clone)]
pub struct ProcessCoordinator {
    program: PathBuf,
    arguments: Vec<String>,
    /// Words before the program, for each client in turn; empty for none.
    launchers: Vec<Vec<String>>,
}

impl ProcessCoordinator {
    /// Clients that run `program` with `arguments` (the hidden client command).
    #[must_use]
    pub fn new(program: PathBuf, arguments: Vec<String>) -> Self {
        Self { program, arguments, launchers: Vec::new() }
    }

    /// Client i started by the words of the i-th of `launchers`, such as `ip netns exec node1`, in turn where there are
    /// fewer; all of them on this machine, whose clock they share.
    #[must_use]
    pub fn launched_by(self, launchers: Vec<Vec<String>>) -> Self {
        let launchers = launchers.into_iter().filter(|words| !words.is_empty()).collect();
        Self { launchers, ..self }
    }

    /// The command of client `index`, without its pipes.
    fn command(&self, index: u32) -> Command {
        let launcher = self.launchers.get(index as usize % self.launchers.len().max(1));
        let mut command = match launcher.and_then(|words| words.split_first()) {
            None => Command::new(&self.program),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(&self.program);
                command
            }
        };
        command.args(&self.arguments);
        command
    }
}

impl Coordinator for ProcessCoordinator {
    fn run(
        &self,
        assignments: &[Assignment],
        context: &LocalContext<'_>,
        hooks: &mut dyn TrialHooks,
    ) -> Result<Vec<ClientOutput>, RunError> {
        let own = assignments.iter().any(|assignment| assignment.cell.workload.own_process);
        if assignments.len() == 1 && self.launchers.is_empty() && !own {
            return ThreadCoordinator.run(assignments, context, hooks);
        }
        let (sender, inbox) = channel();
        let mut clients = Clients { children: Vec::with_capacity(assignments.len()), inbox, wall: None };
        for assignment in assignments {
            let child = self.start(assignment, &sender)?;
            clients.children.push(child);
        }
        drop(sender);
        clients.wait_until_ready(hooks)?;
        let pids: Vec<u32> = clients.children.iter().map(|client| client.child.id()).collect();
        let Some(times) = hooks.ready(&pids) else { return Err(RunError::Stopped) };
        clients.tell_all(&ToClient::Go(times));
        let has_wall = assignments.iter().any(|assignment| assignment.cell.workload.edges.stone_wall);
        clients.wall = has_wall.then_some(times);
        clients.collect(hooks)
    }
}

impl ProcessCoordinator {
    fn start(
        &self,
        assignment: &Assignment,
        sender: &Sender<(usize, FromClient)>,
    ) -> Result<Client, RunError> {
        let failed = |problem: String| RunError::Client { client_index: assignment.client_index, problem };
        let mut command = self.command(assignment.client_index);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        // A Ctrl-C in the terminal is for the parent, which tells its clients to stop.
        command.process_group(0);
        die_with_parent(&mut command);
        let mut child = command.spawn().map_err(|error| {
            let program = command.get_program().to_string_lossy();
            failed(format!("could not be started by {program}: {error}"))
        })?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("was started without pipes".to_owned()));
        };
        send(&mut stdin, &ToClient::Prepare(Box::new(assignment.clone())))
            .map_err(|error| failed(format!("did not take its assignment: {error}")))?;
        let index = assignment.client_index as usize;
        let sender = sender.clone();
        std::thread::spawn(move || {
            // The reader ends with the client's output or with the trial, whichever is first.
            let ended = read_messages(stdout, |message| sender.send((index, message)).is_ok());
            if let Err(problem) = ended {
                drop(sender.send((index, FromClient::Failed { message: problem, errno: "PIPE".to_owned() })));
            }
        });
        Ok(Client { child, stdin })
    }
}

struct Client {
    child: Child,
    stdin: ChildStdin,
}

/// All clients of a trial; dropping them ends and reaps every process.
struct Clients {
    children: Vec<Client>,
    inbox: Receiver<(usize, FromClient)>,
    /// The window's times while the first client to be done is to end it for all.
    wall: Option<WindowTimes>,
}

impl Clients {
    fn tell_all(&mut self, message: &ToClient) {
        for client in &mut self.children {
            // A client that is gone shows in the inbox.
            drop(send(&mut client.stdin, message));
        }
    }

    /// Ends the trial for all where the client of `output` is the first to be done and that ends it.
    fn meet_wall(&mut self, output: &ClientOutput) {
        let done_ns = output.workers.iter().map(|worker| worker.done_at_ns).max().unwrap_or_default();
        if let Some(times) = self.wall.take() {
            self.tell_all(&ToClient::Go(WindowTimes { measure_until_ns: done_ns, ..times }));
        }
    }

    fn wait_until_ready(&mut self, hooks: &mut dyn TrialHooks) -> Result<(), RunError> {
        let mut ready_count = 0;
        for _ in 0..READY_SLICES_MAX {
            match self.inbox.recv_timeout(POLL_SLICE) {
                Ok((_, FromClient::Ready)) => ready_count += 1,
                Ok((index, FromClient::Failed { message, .. })) => return Err(client_error(index, message)),
                Ok((index, _)) => return Err(client_error(index, "spoke before it was ready".to_owned())),
                Err(RecvTimeoutError::Timeout) if hooks.poll() => return Err(RunError::Stopped),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if ready_count == self.children.len() {
                return Ok(());
            }
        }
        Err(client_error(0, format!("{ready_count} of {} clients became ready", self.children.len())))
    }

    fn collect(&mut self, hooks: &mut dyn TrialHooks) -> Result<Vec<ClientOutput>, RunError> {
        let mut outputs: Vec<Option<ClientOutput>> = vec![None; self.children.len()];
        let mut first_error = None;
        let mut slices_after_cancel = None;
        while outputs.iter().any(Option::is_none) {
            match self.inbox.recv_timeout(POLL_SLICE) {
                Ok((_, FromClient::Interval(sample))) => hooks.interval(&sample),
                Ok((index, FromClient::Done(output))) => {
                    self.meet_wall(&output);
                    if let Some(place) = outputs.get_mut(index) {
                        *place = Some(*output);
                    }
                }
                Ok((index, FromClient::Failed { message, .. })) => {
                    first_error.get_or_insert_with(|| client_error(index, message));
                    slices_after_cancel.get_or_insert(0);
                    self.tell_all(&ToClient::Stop);
                }
                Ok((_, FromClient::Turned)) => hooks.turned(),
                Ok((_, FromClient::Ready)) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if slices_after_cancel.is_none() && hooks.poll() {
                slices_after_cancel = Some(0);
                self.tell_all(&ToClient::Stop);
            }
            if let Some(times) = hooks.moved() {
                self.tell_all(&ToClient::Go(times));
            }
            if let Some(slices) = &mut slices_after_cancel {
                *slices += 1;
                if *slices > STOP_SLICES_MAX {
                    break;
                }
            }
        }
        match (outputs.into_iter().collect::<Option<Vec<_>>>(), first_error) {
            (Some(outputs), _) => Ok(outputs),
            (None, Some(error)) => Err(error),
            (None, None) => Err(client_error(0, "ended without a result".to_owned())),
        }
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        for client in &mut self.children {
            if !matches!(client.child.try_wait(), Ok(Some(_))) {
                // A client whose pipe closes ends by itself; one that hangs is ended.
                drop(stop_child(&mut client.child, Stop::Kill));
            }
            drop(client.child.wait());
        }
    }
}

fn client_error(index: usize, problem: String) -> RunError {
    RunError::Client { client_index: u32::try_from(index).unwrap_or(u32::MAX), problem }
}
