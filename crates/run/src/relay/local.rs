//! A role as a process of its own on this machine: the running program with a hidden command, spoken to through its
//! pipes.
//!
//! The process stays from trial to trial; after a failed one it is ended, and the next trial starts another.

use super::link::RoleLink;
use crate::client_process::read_frames;
use narrows_sys::process::{StopSignal, die_with_parent, stop_child, wait_within};
use narrows_wire::relay::{RoleCommand, RoleReply};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How long a role that has closed its pipe may take to end.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// How long a killed one is waited for.
const KILLED_WITHIN: Duration = Duration::from_secs(2);

/// A role that a process of `program` plays.
#[derive(Debug)]
pub struct LocalRole {
    program: PathBuf,
    arguments: Vec<String>,
    process: Option<RoleProcess>,
}

impl LocalRole {
    /// A role that runs `program` with `arguments` (the hidden command) once it is sent a message.
    #[must_use]
    pub fn new(program: PathBuf, arguments: Vec<String>) -> Self {
        Self { program, arguments, process: None }
    }
}

#[derive(Debug)]
struct RoleProcess {
    child: Child,
    stdin: ChildStdin,
    inbox: Receiver<Result<RoleReply, String>>,
}

impl RoleProcess {
    fn start(program: &PathBuf, arguments: &[String]) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        // A Ctrl-C in the terminal is for the parent, which asks its roles to stop.
        command.process_group(0);
        die_with_parent(&mut command);
        let mut child = command
            .spawn()
            .map_err(|error| format!("a role could not be started from {}: {error}", program.display()))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a role was started without pipes".to_owned());
        };
        let (sender, inbox) = channel();
        std::thread::spawn(move || {
            let ended = read_frames(stdout, |frame| {
                let message = RoleReply::decode(frame).map_err(|error| error.to_string());
                sender.send(message).is_ok()
            });
            if let Err(problem) = ended {
                drop(sender.send(Err(problem)));
            }
        });
        Ok(Self { child, stdin, inbox })
    }

    /// How the process ended that has closed its pipe, for people; one that goes on is killed.
    fn end(&mut self) -> String {
        match wait_within(&mut self.child, ENDS_WITHIN) {
            Ok(Some(status)) => format!("its process ended ({status})"),
            Ok(None) => {
                drop(stop_child(&mut self.child, StopSignal::Kill));
                format!("its process closed its pipe, ran on for {} s and was killed", ENDS_WITHIN.as_secs())
            }
            Err(error) => format!("its process ended: {error}"),
        }
    }
}

impl Drop for RoleProcess {
    fn drop(&mut self) {
        // A role whose pipe closes ends by itself; one that still moves bytes is ended.
        drop(stop_child(&mut self.child, StopSignal::Kill));
        // Storage that answers nothing can keep even a killed one.
        drop(wait_within(&mut self.child, KILLED_WITHIN));
    }
}

impl RoleLink for LocalRole {
    fn send(&mut self, message: &RoleCommand) -> Result<(), String> {
        let process = match &mut self.process {
            Some(process) => process,
            None => self.process.insert(RoleProcess::start(&self.program, &self.arguments)?),
        };
        let bytes = message.encode().map_err(|error| error.to_string())?;
        let written = process.stdin.write_all(&bytes).and_then(|()| process.stdin.flush());
        written.map_err(|error| format!("a role's process did not accept a message: {error}"))
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<RoleReply>, String> {
        let Some(process) = &mut self.process else { return Err("its process does not exist".to_owned()) };
        match process.inbox.recv_timeout(wait) {
            Ok(message) => message.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(process.end()),
        }
    }

    fn abandon(&mut self) {
        self.process = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_that_closes_its_pipe_and_continues_is_killed_and_not_waited_for() {
        let arguments = ["-c", "exec >&-; exec sleep 1000"].map(str::to_owned).to_vec();
        let mut role = LocalRole::new("sh".into(), arguments);
        role.send(&RoleCommand::Stop).unwrap();
        let ended = role.receive(Duration::from_mins(1)).unwrap_err();
        assert!(ended.contains("was killed"), "{ended}");
        let process = role.process.as_mut().unwrap();
        let status = wait_within(&mut process.child, Duration::from_mins(1)).unwrap().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }
}
