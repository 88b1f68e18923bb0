//! Clients as processes: each is the running program with a hidden command, spoken to through its pipes.
//!
//! A single client stays in this process, unless it is to be started by another program or asked for as a process of its
//! own: starting one would only add its cost.

use super::clients::{ClientEvent, ClientPort, ClientSilence, run_clients};
use super::host_of_client::HostOfClient;
use super::{Coordinator, LocalContext, ThreadCoordinator, TrialHooks};
use crate::assignment::{Assignment, ClientOutput, OwnPlaceFacts, ToClient};
use crate::client_process::{read_messages, send};
use crate::error::RunError;
use crate::hosts::LastWords;
use narrows_engines::own_folders::keep_disks;
use narrows_sys::process::{StopSignal, die_with_parent, stop_child};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;

/// Longest time between the end of a client's pipe and that of its process.
const GONE_NS_MAX: u64 = 500_000_000;

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
        run_clients(assignments, context, hooks, &mut |assignment, sender| {
            Ok(Box::new(self.start(assignment, sender)?))
        })
    }
}

impl ProcessCoordinator {
    fn start(
        &self,
        assignment: &Assignment,
        sender: &Sender<(usize, ClientEvent)>,
    ) -> Result<ChildPort, RunError> {
        let folders = OwnPlaceFacts::of_target(assignment.target());
        let order = ClientStartOrder { assignment: assignment.clone(), folders, host: None };
        ChildPort::start(self.command(assignment.client_index), order, sender)
    }
}

/// What a client process is started for.
pub(super) struct ClientStartOrder {
    /// What it is to do.
    pub(super) assignment: Assignment,
    /// The places of its parent, where it is on the same machine.
    pub(super) folders: Vec<OwnPlaceFacts>,
    /// The host that it is started on, where the command has named it.
    pub(super) host: Option<HostOfClient>,
}

/// A client that is a child of this process, or of the remote shell that is one, reached through its pipes.
pub(super) struct ChildPort {
    child: Child,
    stdin: ChildStdin,
    client_index: u32,
    client_count: u32,
    host: Option<HostOfClient>,
    /// What a remote shell writes to stderr.
    words: Option<LastWords>,
}

impl ChildPort {
    /// Starts `command`, the client process or a remote shell that starts it, and sends it its assignment.
    pub(super) fn start(
        mut command: Command,
        order: ClientStartOrder,
        sender: &Sender<(usize, ClientEvent)>,
    ) -> Result<Self, RunError> {
        let ClientStartOrder { assignment, folders, host } = order;
        let (client_index, client_count) = (assignment.client_index, assignment.cell.workload.clients.max(1));
        let name = host.as_ref().map(|host| host.name.clone());
        let failed =
            |problem: String| RunError::Client { client_index, client_count, host: name.clone(), problem };
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(if host.is_some() { Stdio::piped() } else { Stdio::inherit() });
        // A Ctrl-C in the terminal is for the parent, which asks its clients to stop.
        command.process_group(0);
        die_with_parent(&mut command);
        let mut child = command.spawn().map_err(|error| {
            let program = command.get_program().to_string_lossy();
            failed(format!("could not be started by {program}: {error}"))
        })?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("was started without pipes".to_owned()));
        };
        let words = child.stderr.take().map(LastWords::read_from);
        let first = host.as_ref().map_or(Ok(()), |_| send(&mut stdin, &ToClient::ReadClock));
        let sent = first.and_then(|()| send(&mut stdin, &ToClient::Prepare(Box::new(assignment), folders)));
        // A remote shell that has ended says why; that is read where the client is waited for.
        if let (Err(error), None) = (sent, &host) {
            return Err(failed(format!("did not take its assignment: {error}")));
        }
        let index = client_index as usize;
        let (sender, arrived) = (sender.clone(), host.clone());
        std::thread::spawn(move || {
            // The reader ends with the client's output or with the trial, whichever is first.
            let ended = read_messages(stdout, |message| {
                let message = match &arrived {
                    Some(host) => host.incoming(message),
                    None => Some(message),
                };
                message.is_none_or(|message| sender.send((index, ClientEvent::Message(message))).is_ok())
            });
            drop(sender.send((index, ClientEvent::Closed(ended))));
        });
        Ok(Self { child, stdin, client_index, client_count, host, words })
    }
}

impl ClientPort for ChildPort {
    fn pid(&self) -> Option<u32> {
        self.host.as_ref().map_or_else(|| Some(self.child.id()), HostOfClient::pid_here)
    }

    fn host(&self) -> Option<&str> {
        self.host.as_ref().map(|host| host.name.as_str())
    }

    fn is_elsewhere(&self) -> bool {
        self.host.as_ref().is_some_and(|host| !host.shares_machine)
    }

    fn send(&mut self, message: &ToClient) {
        // A client that is gone shows in the inbox.
        drop(match &self.host {
            Some(host) => send(&mut self.stdin, &host.outgoing(message)),
            None => send(&mut self.stdin, message),
        });
    }

    fn loss(&mut self, silence: ClientSilence<'_>) -> Option<String> {
        let problem = silence.closed?;
        match (self.child.try_wait(), problem) {
            (Ok(Some(status)), _) => Some(match &self.words {
                Some(words) => format!("{} before it had finished", words.ended(status)),
                None => ended(status),
            }),
            (_, Err(problem)) => Some(format!("sent an invalid message: {problem}")),
            _ if silence.quiet_ns > GONE_NS_MAX => Some("closed its pipe before it had finished".to_owned()),
            _ => None,
        }
    }

    fn leave(&self) {
        if let Some(host) = self.host.as_ref().filter(|host| !host.shares_machine) {
            // What runs there ends with its connection, at a time that is not known here.
            keep_disks(&format!("host {} was lost and may still write there", host.name));
        }
    }

    fn lost_error(&self, problem: String) -> RunError {
        self.leave();
        let host = self.host().map(str::to_owned);
        RunError::Client { client_index: self.client_index, client_count: self.client_count, host, problem }
    }

    fn end(&mut self) {
        // A client whose pipe closes ends by itself; it is not waited for.
        drop(stop_child(&mut self.child, StopSignal::Kill));
    }

    fn is_ending(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

/// How a process ended before it was done, and what to do.
fn ended(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(9), _) => {
            "ended (killed by signal 9); possibly by the kernel's out-of-memory killer: see dmesg, and \
                         use fewer clients, workers or smaller blocks"
                .to_owned()
        }
        (Some(signal), _) => format!("ended (killed by signal {signal}); see dmesg and its messages above"),
        (None, Some(code)) => {
            format!("ended (exit code {code}) before it had finished; see its messages above")
        }
        (None, None) => "ended before it had finished".to_owned(),
    }
}
