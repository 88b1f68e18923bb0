//! An endpoint that a command starts itself, on this machine's loopback.
//!
//! Its token is passed through its stdin, where no other process sees it; it ends with this value, or with this
//! process.

use crate::exit::CommandFailure;
use narrows_sys::process::{StopSignal, die_with_parent, stop_child};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Start of the line in which `narrows serve` says where it listens.
const LISTENING: &str = "listening on ";

/// An endpoint that this command started; dropping it ends it.
pub(crate) struct ServeProcess {
    child: Child,
}

impl ServeProcess {
    /// Starts one rooted in `root`, with `token` and `more` arguments, and returns its port.
    ///
    /// # Errors
    /// When it cannot be started, or ends before it listens.
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
        let mut line = String::new();
        let read = stdout.map(|stdout| BufReader::new(stdout).read_line(&mut line));
        let port =
            line.trim().strip_prefix(LISTENING).and_then(|address| address.rsplit_once(':')?.1.parse().ok());
        match (read, port) {
            (Some(Ok(_)), Some(port)) => Ok((process, port)),
            _ => Err(failed("it did not report its listening address")),
        }
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        drop(stop_child(&mut self.child, StopSignal::Terminate));
        // It removes its store before it ends.
        drop(self.child.wait());
    }
}
