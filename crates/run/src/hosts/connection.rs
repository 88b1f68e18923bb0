//! The connection to one host: a client process there that answers what it runs and what its clock shows.

use super::clock::RoundTrip;
use super::shell_output::ShellOutput;
use super::{HostClock, HostLauncher, LastWords};
use crate::assignment::{FromClient, ToClient};
use crate::client_process::{read_messages, send};
use crate::error::RunError;
use crate::host_identity::HostIdentity;
use crate::stop::StopFlag;
use narrows_engines::Clock;
use narrows_model::Nanos;
use narrows_sys::process::{StopSignal, die_with_parent, stop_child, wait_within};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Round trips by which a clock is read; the shortest counts.
const ROUND_TRIPS: u32 = 8;
/// Longest wait for an answer of a host that has answered before, as for a client that runs its load.
const ANSWER_NS_MAX: u64 = 10_000_000_000;
/// Pause between two looks at the request to stop.
const SLICE: Duration = Duration::from_millis(20);
/// Longest wait for the end of a remote shell that has closed its pipe.
const END_WAIT: Duration = Duration::from_millis(500);

/// What shells end with where a program is not there, and where it may not be run (POSIX, Shell Command Language, 2.8.2).
const NO_PROGRAM: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;

/// A connection to one host; the process there ends with it.
pub(super) struct HostConnection {
    launcher: HostLauncher,
    child: Child,
    stdin: ChildStdin,
    /// Answers, or last what came instead of one, as a sentence; closed where the connection is.
    inbox: Receiver<Result<FromClient, String>>,
    words: LastWords,
}

impl HostConnection {
    /// Starts `arguments` of the program on the host and asks what it runs; the answer is not waited for.
    ///
    /// # Errors
    /// When the remote shell cannot be started.
    pub(super) fn start(launcher: HostLauncher, arguments: &[String]) -> Result<Self, String> {
        let mut command = launcher.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A Ctrl-C in the terminal is for this process, which ends its hosts' itself.
        command.process_group(0);
        die_with_parent(&mut command);
        let mut child = command.spawn().map_err(|error| {
            let shell = command.get_program().to_string_lossy();
            format!("cannot be used: the remote shell {shell} could not be started: {error}; name another with --remote-shell")
        })?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("cannot be used: its remote shell was started without pipes".to_owned());
        };
        let (sender, inbox) = channel();
        let (name, shown) = (launcher.name.clone(), launcher.shown());
        std::thread::spawn(move || {
            let mut stdout = ShellOutput::new(stdout);
            let read = read_messages(&mut stdout, |message| sender.send(Ok(message)).is_ok());
            let strange = stdout.if_no_message().map(|text| {
                format!(
                    "the remote shell of {name} wrote something else to its output first: {text}; a login script must not \
                     print there: check `{shown} true | wc -c`"
                )
            });
            if let Some(problem) = strange.or_else(|| Some(unread(&read.err()?))) {
                drop(sender.send(Err(problem)));
            }
        });
        let mut connection = Self { launcher, child, stdin, inbox, words: LastWords::read_from(stderr) };
        connection.send(&ToClient::Identify);
        Ok(connection)
    }

    /// How clients are started there.
    pub(super) fn launcher(&self) -> &HostLauncher {
        &self.launcher
    }

    /// What runs there; waited for until `until_ns` at most.
    ///
    /// # Errors
    /// When the host does not answer, as a phrase behind its name, and what to do.
    pub(super) fn identity(&mut self, until_ns: u64, clock: &dyn Clock) -> Result<HostIdentity, String> {
        let shown = self.launcher.shown();
        loop {
            let left_ns = until_ns.saturating_sub(clock.now().0);
            match self.inbox.recv_timeout(Duration::from_nanos(left_ns)) {
                Ok(Ok(FromClient::Identity(identity))) => return Ok(*identity),
                Ok(Ok(_)) => {}
                Ok(Err(problem)) => return Err(format!("cannot be used: {problem}")),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!(
                        "has not answered in time; see whether `{shown} true` ends by itself, without a question"
                    ));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.without_identity()),
            }
        }
    }

    /// Why the process there ended before it had answered, and what to do.
    fn without_identity(&mut self) -> String {
        let (shown, program) = (self.launcher.shown(), self.launcher.program.clone());
        match self.end_status().and_then(|status| status.code()) {
            Some(code @ (NO_PROGRAM | NOT_EXECUTABLE)) => format!(
                "cannot run {program} (exit code {code}){}; install this build there, or give its path with \
                 --remote-program",
                self.words.said()
            ),
            Some(code) => format!(
                "cannot be used: `{shown}` ended with exit code {code}{}; see whether `{shown} {program} --version` ends by \
                 itself, without a question",
                self.words.said()
            ),
            None => format!(
                "cannot be used: `{shown}` closed its pipe, or {program} there is another build than this one{}",
                self.words.said()
            ),
        }
    }

    /// How the remote shell ended; `None` while it has not.
    fn end_status(&mut self) -> Option<ExitStatus> {
        wait_within(&mut self.child, END_WAIT).ok().flatten()
    }

    /// How the remote shell ended, as the end of a sentence.
    fn ended(&mut self) -> String {
        match self.end_status() {
            Some(status) => self.words.ended(status),
            None => "closed its pipe, or answered in another form than this build's".to_owned(),
        }
    }

    /// Its clock now.
    ///
    /// # Errors
    /// When the host does not answer any more, or a stop is asked for.
    pub(super) fn read_clock(&mut self, clock: &dyn Clock, stop: &StopFlag) -> Result<HostClock, RunError> {
        let mut trips = Vec::new();
        for _ in 0..ROUND_TRIPS {
            trips.push(self.round_trip(clock, stop)?);
        }
        HostClock::by_shortest(&trips).ok_or_else(|| self.lost("did not answer".to_owned()))
    }

    fn round_trip(&mut self, clock: &dyn Clock, stop: &StopFlag) -> Result<RoundTrip, RunError> {
        let asked = Nanos(clock.now().0);
        let read = self.ask(&ToClient::ReadClock, clock, stop, |message| match message {
            FromClient::Clock { at_ns, .. } => Some(Nanos(at_ns)),
            _ => None,
        })?;
        Ok(RoundTrip { asked, read, answered: Nanos(clock.now().0) })
    }

    /// Those of `folders` that are not there.
    ///
    /// # Errors
    /// When the host does not answer any more, or a stop is asked for.
    pub(super) fn missing(
        &mut self,
        folders: &[PathBuf],
        clock: &dyn Clock,
        stop: &StopFlag,
    ) -> Result<Vec<PathBuf>, RunError> {
        self.ask(&ToClient::FindFolders(folders.to_vec()), clock, stop, |message| match message {
            FromClient::Missing(folders) => Some(folders),
            _ => None,
        })
    }

    /// The first answer to `question` that `wanted` takes.
    fn ask<T>(
        &mut self,
        question: &ToClient,
        clock: &dyn Clock,
        stop: &StopFlag,
        wanted: impl Fn(FromClient) -> Option<T>,
    ) -> Result<T, RunError> {
        let asked_ns = clock.now().0;
        self.send(question);
        loop {
            match self.inbox.recv_timeout(SLICE) {
                Ok(Ok(message)) => {
                    if let Some(answer) = wanted(message) {
                        return Ok(answer);
                    }
                }
                Ok(Err(problem)) => return Err(self.lost(format!("was lost: {problem}"))),
                Err(_) if stop.is_now() => return Err(RunError::Stopped),
                Err(RecvTimeoutError::Disconnected) => {
                    let ended = self.ended();
                    return Err(self.lost(format!("was lost: its connection {ended}")));
                }
                Err(RecvTimeoutError::Timeout) if clock.now().0.saturating_sub(asked_ns) > ANSWER_NS_MAX => {
                    let seconds = ANSWER_NS_MAX / 1_000_000_000;
                    return Err(self.lost(format!("does not answer: no message from it for {seconds} s")));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn lost(&self, problem: String) -> RunError {
        RunError::Host { host: self.launcher.name.clone(), problem }
    }

    /// A host that is gone shows when its answer is waited for.
    fn send(&mut self, message: &ToClient) {
        drop(send(&mut self.stdin, message));
    }
}

/// What is said of an answer that cannot be read.
fn unread(error: &str) -> String {
    format!(
        "its answer cannot be read ({error}); it may be of another build than this one: install one build on all hosts"
    )
}

impl Drop for HostConnection {
    fn drop(&mut self) {
        // What runs there ends with its stdin.
        drop(stop_child(&mut self.child, StopSignal::Kill));
        drop(wait_within(&mut self.child, END_WAIT));
    }
}
