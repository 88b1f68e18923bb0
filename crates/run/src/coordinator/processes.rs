//! Clients as processes: each is the running program with a hidden command, spoken to through its pipes.
//!
//! A single client stays in this process, unless it is to be started by another program or asked for as a process of its
//! own: starting one would only add its cost.

use super::{Coordinator, LocalContext, ThreadCoordinator, TrialHooks};
use crate::assignment::{Assignment, ClientOutput, OwnFolderFacts, ToClient};
use crate::client_process::{read_messages, send};
use crate::error::RunError;
use clients::{Client, Clients, PipeEvent};
use narrows_sys::process::die_with_parent;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};

mod clients;

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
        let mut clients = Clients::new(inbox, sender.clone(), context.clock);
        for assignment in assignments {
            clients.add(self.start(assignment, &sender)?);
        }
        clients.wait_until_ready(hooks)?;
        let Some(times) = hooks.ready(&clients.pids()) else { return Err(RunError::Stopped) };
        clients.send_all(&ToClient::Go(times));
        let has_wall = assignments.iter().any(|assignment| assignment.cell.workload.edges.stone_wall);
        clients.wall = has_wall.then_some(times);
        clients.collect(hooks)
    }
}

impl ProcessCoordinator {
    fn start(
        &self,
        assignment: &Assignment,
        sender: &Sender<(usize, PipeEvent)>,
    ) -> Result<Client, RunError> {
        let failed = |problem: String| RunError::Client {
            client_index: assignment.client_index,
            client_count: assignment.cell.workload.clients.max(1),
            problem,
        };
        let mut command = self.command(assignment.client_index);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
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
        let folders = OwnFolderFacts::of_target(assignment.target());
        send(&mut stdin, &ToClient::Prepare(Box::new(assignment.clone()), folders))
            .map_err(|error| failed(format!("did not take its assignment: {error}")))?;
        let index = assignment.client_index as usize;
        let sender = sender.clone();
        std::thread::spawn(move || {
            // The reader ends with the client's output or with the trial, whichever is first.
            let ended =
                read_messages(stdout, |message| sender.send((index, PipeEvent::Message(message))).is_ok());
            drop(sender.send((index, PipeEvent::Closed(ended))));
        });
        Ok(Client::new(child, stdin))
    }
}
