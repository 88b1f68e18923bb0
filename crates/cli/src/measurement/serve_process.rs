//! An endpoint that a command starts itself, on this machine's loopback.
//!
//! Its token is passed through its stdin, where no other process sees it; it ends with this value, or with this
//! process. Nothing here waits for it without end: it may be stopped, or blocked by the storage that is measured.

use crate::exit::CommandFailure;
use narrows_sys::process::{StopSignal, die_with_parent, stop_child, wait_within};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Start of the line in which `narrows serve` says where it listens.
const LISTENING: &str = "listening on ";
/// That line is not longer.
const LINE_BYTES_MAX: u64 = 4096;
/// Longest wait for that line: before it, the endpoint looks through its folder, which is new and empty.
const LISTENS_WITHIN: Duration = Duration::from_secs(30);
/// Longest wait for its end: it removes its store first, which takes seconds on a slow file system. What it has not
/// removed by then is in the folder of this command, which is removed afterwards.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
/// Longest wait for its end after SIGKILL, which a call that its storage does not answer delays.
const KILLED_WITHIN: Duration = Duration::from_secs(2);

/// An endpoint that this command started; dropping it ends it.
pub(crate) struct ServeProcess {
    child: Child,
}

impl ServeProcess {
    /// Starts one rooted in `root`, with `token` and `more` arguments, and returns its port.
    ///
    /// # Errors
    /// When it cannot be started, ends before it listens, or does not listen within 30 s.
    pub(crate) fn start(root: &Path, token: &[u8], more: &[String]) -> Result<(Self, u16), CommandFailure> {
        let failed =
            |what: &str| CommandFailure::could_not_run(format!("start an endpoint on this machine: {what}"));
        let program = std::env::current_exe().map_err(|error| failed(&error.to_string()))?;
        let mut command = Command::new(program);
        let stdin = ["--token-from-stdin", "--until-stdin-ends"];
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(stdin).arg("--root").arg(root).args(more);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        // A Ctrl-C in the terminal is for this command alone, which ends the endpoint when it is done.
        command.process_group(0);
        die_with_parent(&mut command);
        let mut child = command.spawn().map_err(|error| failed(&error.to_string()))?;
        let stdout = child.stdout.take();
        let mut process = Self { child };
        let sent = process.child.stdin.as_mut().map(|stdin| stdin.write_all(&[token, b"\n"].concat()));
        if !matches!(sent, Some(Ok(()))) {
            return Err(failed("it did not read its token"));
        }
        let line = stdout.and_then(|stdout| first_line(stdout, LISTENS_WITHIN)).unwrap_or_default();
        let address = line.trim().strip_prefix(LISTENING);
        match address.and_then(|address| address.rsplit_once(':')?.1.parse().ok()) {
            Some(port) => Ok((process, port)),
            None => Err(failed(&format!(
                "it did not report its listening address within {} s",
                LISTENS_WITHIN.as_secs()
            ))),
        }
    }
}

/// The first line of `pipe`; `None` where it does not come within `within`.
fn first_line(pipe: impl Read + Send + 'static, within: Duration) -> Option<String> {
    let (sender, line) = channel();
    // It ends with the pipe, whose writer is ended where it wrote nothing.
    std::thread::spawn(move || {
        let mut text = String::new();
        if BufReader::new(pipe.take(LINE_BYTES_MAX)).read_line(&mut text).is_ok() {
            // Nobody waits for a line that comes too late.
            drop(sender.send(text));
        }
    });
    line.recv_timeout(within).ok()
}

/// Ends `child`: asks it to, one that is stopped too, and kills it if it has not ended within `within`.
fn end(child: &mut Child, within: Duration) {
    drop(stop_child(child, StopSignal::Terminate));
    drop(stop_child(child, StopSignal::Continue));
    if let Ok(None) = wait_within(child, within) {
        drop(stop_child(child, StopSignal::Kill));
        drop(wait_within(child, KILLED_WITHIN));
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        end(&mut self.child, ENDS_WITHIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_sys::clock::wait_ns;
    use std::os::unix::process::ExitStatusExt;

    /// A shell that runs `script`, from which it has written a first line.
    fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        let mut child = command.args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let line = first_line(child.stdout.take().unwrap(), Duration::from_mins(1));
        assert_eq!(line.as_deref(), Some("ready\n"));
        child
    }

    #[test]
    fn a_line_that_does_not_come_is_not_waited_for() {
        let (reader, writer) = std::io::pipe().unwrap();
        assert_eq!(first_line(reader, Duration::from_millis(20)), None);
        drop(writer);
    }

    #[test]
    fn a_process_that_is_stopped_ends_as_it_was_asked_to() {
        let mut child = shell("trap 'exit 7' TERM; echo ready; kill -STOP $$; while :; do sleep 0.01; done");
        let stat = format!("/proc/{}/stat", child.id());
        let is_stopped = |_| {
            let _ = wait_ns(5_000_000);
            std::fs::read_to_string(&stat).unwrap().contains(") T ")
        };
        assert!((0..10_000).any(is_stopped), "it does not stop itself");
        end(&mut child, Duration::from_mins(1));
        assert_eq!(child.try_wait().unwrap().unwrap().code(), Some(7));
    }

    #[test]
    fn a_process_that_does_not_end_is_killed() {
        let mut child = shell("trap '' TERM; echo ready; while :; do sleep 0.01; done");
        end(&mut child, Duration::from_millis(100));
        assert_eq!(child.try_wait().unwrap().unwrap().signal(), Some(9));
    }
}
