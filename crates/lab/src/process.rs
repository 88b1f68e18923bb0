//! A started program under guard: its output in files, its end certain.
//!
//! It watches the files and the process by kernel events and never polls by sleeping. It does not guard what
//! the program itself starts; [`crate::Lab`] ends what is left inside its own namespaces and cgroups.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::inotify;
use rustix::process::Signal;

use crate::clock::{Deadline, wait_for_event};
use crate::error::{Error, LabErrorKind, Result};
use crate::termination;

/// How many of the last lines of standard error an error quotes.
const QUOTED_LINE_COUNT: usize = 12;

/// A running program that ends with this value: SIGTERM, and SIGKILL if it does not listen.
#[derive(Debug)]
pub struct LabProcess {
    name: String,
    child: Child,
    handle: OwnedFd,
    stdout: PathBuf,
    stderr: PathBuf,
    output_changed: OwnedFd,
    status: Option<ExitStatus>,
}

impl LabProcess {
    /// Starts the command with its output in `folder/NAME.out` and `folder/NAME.err`, and no input.
    ///
    /// # Errors
    /// [`LabErrorKind::Missing`] when the program is not there, else the system's answer.
    pub fn start(name: &str, folder: &Path, mut command: Command) -> Result<Self> {
        let stdout = folder.join(format!("{name}.out"));
        let stderr = folder.join(format!("{name}.err"));
        let (out_file, err_file) = (create(&stdout)?, create(&stderr)?);
        let output_changed = watch(&[&stdout, &stderr])?;
        command.stdin(Stdio::null()).stdout(out_file).stderr(err_file);
        let target = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().map_err(|source| Error::os("start", &target, source))?;
        let Some(handle) = termination::handle_of(child.id()) else {
            // Without a handle nothing could guard it: it must not stay.
            let _gone = child.kill();
            let _reaped = child.wait();
            return Err(Error::new(
                LabErrorKind::Refused,
                "open a handle of",
                target,
                "pidfd_open needs Linux 5.3",
            ));
        };
        Ok(Self { name: name.to_owned(), child, handle, stdout, stderr, output_changed, status: None })
    }

    /// The process id of the program itself: the lab's wrappers all replace themselves by it.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether the program still runs; a zombie does not.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.status.is_none() && !termination::wait_ended(&self.handle, Deadline::after(Duration::ZERO))
    }

    /// The first whole line of standard output, else of standard error, that contains `pattern`.
    ///
    /// # Errors
    /// [`LabErrorKind::Late`] when it did not come in time, [`LabErrorKind::Ended`] when the program ended without it; both
    /// quote the end of standard error.
    pub fn wait_for_line(&mut self, pattern: &str, within: Duration) -> Result<String> {
        let deadline = Deadline::after(within);
        loop {
            // Asked before the output is read: what an ended program wrote is then all there.
            let running = self.is_running();
            for text in [self.stdout()?, self.stderr()?] {
                if let Some(line) = whole_lines(&text).find(|line| line.contains(pattern)) {
                    return Ok(line.to_owned());
                }
            }
            if !running {
                let status = self.wait(termination::END_TIMEOUT)?;
                return Err(
                    self.failure(LabErrorKind::Ended, &format!("it ended ({status}) without '{pattern}'"))
                );
            }
            if deadline.is_over() {
                let seconds = within.as_secs_f64();
                return Err(
                    self.failure(LabErrorKind::Late, &format!("no line with '{pattern}' in {seconds} s"))
                );
            }
            self.wait_for_change(deadline)?;
        }
    }

    /// How the program ended, once it did by itself.
    ///
    /// # Errors
    /// [`LabErrorKind::Late`] when it is still running after that time; it is left running.
    pub fn wait(&mut self, within: Duration) -> Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        if !termination::wait_ended(&self.handle, Deadline::after(within)) {
            return Err(
                self.failure(LabErrorKind::Late, &format!("still running after {} s", within.as_secs_f64()))
            );
        }
        self.reap()
    }

    /// Ends the program with SIGTERM, after five seconds with SIGKILL; how it ended.
    ///
    /// # Errors
    /// [`LabErrorKind::Late`] when not even SIGKILL ended it (a call stuck in the kernel).
    pub fn end(&mut self) -> Result<ExitStatus> {
        if self.status.is_none() && !termination::end(&self.handle) {
            return Err(self.failure(LabErrorKind::Late, "not even SIGKILL ended it"));
        }
        self.reap()
    }

    /// Kills the program with SIGKILL, as a crash would; how it ended.
    ///
    /// # Errors
    /// [`LabErrorKind::Late`] when it did not end (a call stuck in the kernel).
    pub fn kill9(&mut self) -> Result<ExitStatus> {
        if self.status.is_none() {
            termination::signal(&self.handle, Signal::KILL);
        }
        self.wait(termination::END_TIMEOUT)
    }

    /// Sends SIGINT, as Ctrl-C does, and returns at once.
    ///
    /// # Errors
    /// [`LabErrorKind::Ended`] when the program had already ended.
    pub fn interrupt(&self) -> Result<()> {
        if self.is_running() && termination::signal(&self.handle, Signal::INT) {
            return Ok(());
        }
        Err(self.failure(LabErrorKind::Ended, "it had ended before SIGINT was sent"))
    }

    /// All that the program has written to standard output so far; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// The system's answer when the file cannot be read.
    pub fn stdout(&self) -> Result<String> {
        read(&self.stdout)
    }

    /// All that the program has written to standard error so far; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// The system's answer when the file cannot be read.
    pub fn stderr(&self) -> Result<String> {
        read(&self.stderr)
    }

    fn reap(&mut self) -> Result<ExitStatus> {
        let status = self.child.wait().map_err(|source| Error::os("wait for", &self.name, source))?;
        self.status = Some(status);
        Ok(status)
    }

    fn wait_for_change(&self, deadline: Deadline) -> Result<()> {
        let changed = PollFd::new(&self.output_changed, PollFlags::IN);
        let mut watched = [changed, termination::watched(&self.handle)];
        wait_for_event(&mut watched, deadline.left())
            .map_err(|errno| Error::os("watch the output of", &self.name, errno))?;
        // What changed is read from the files; the events only wake. The watch does not block.
        let mut events = [0_u8; 4096];
        while rustix::io::read(&self.output_changed, &mut events).is_ok_and(|length| length > 0) {}
        Ok(())
    }

    fn failure(&self, kind: LabErrorKind, what: &str) -> Error {
        let mut detail = what.to_owned();
        let stderr = self.stderr().unwrap_or_default();
        let lines: Vec<&str> = stderr.lines().collect();
        for line in &lines[lines.len().saturating_sub(QUOTED_LINE_COUNT)..] {
            // Writing to a string cannot fail.
            let _infallible = write!(detail, "\n  {line}");
        }
        Error::new(kind, "wait for", &self.name, detail)
    }
}

impl Drop for LabProcess {
    fn drop(&mut self) {
        // There is no caller left to report to; a process stuck in the kernel is left to the kernel.
        let _stuck = self.end();
    }
}

/// Whether a status is the death by this signal number.
#[must_use]
pub fn died_of(status: ExitStatus, signal: i32) -> bool {
    status.signal() == Some(signal)
}

fn create(path: &Path) -> Result<File> {
    File::create(path).map_err(|source| Error::os("create", path.display().to_string(), source))
}

fn watch(paths: &[&Path]) -> Result<OwnedFd> {
    let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
    let watch = inotify::init(flags).map_err(|errno| Error::os("make", "a watch on files", errno))?;
    for path in paths {
        inotify::add_watch(&watch, *path, inotify::WatchFlags::MODIFY)
            .map_err(|errno| Error::os("watch", path.display().to_string(), errno))?;
    }
    Ok(watch)
}

fn read(path: &Path) -> Result<String> {
    let bytes = fs::read(path).map_err(|source| Error::os("read", path.display().to_string(), source))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The lines whose end has been written: a half-written one would be cut.
fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    fn shell(folder: &Path, script: &str) -> LabProcess {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        LabProcess::start("shell", folder, command).unwrap()
    }

    #[test]
    fn a_line_is_found_on_either_stream_and_only_when_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut process =
            shell(folder.path(), "printf half; echo ' and ready' ; echo other >&2; exec sleep 60");
        assert_eq!(process.wait_for_line("half", SOON).unwrap(), "half and ready");
        assert_eq!(process.wait_for_line("other", SOON).unwrap(), "other");
        assert!(process.is_running());
    }

    #[test]
    fn an_end_without_the_line_quotes_standard_error() {
        let folder = tempfile::tempdir().unwrap();
        let error =
            shell(folder.path(), "echo the reason >&2; exit 3").wait_for_line("ready", SOON).unwrap_err();
        assert_eq!(error.kind(), LabErrorKind::Ended);
        assert!(error.to_string().contains("exit status: 3"), "{error}");
        assert!(error.to_string().contains("the reason"), "{error}");
    }

    #[test]
    fn a_line_that_does_not_come_is_late() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = shell(folder.path(), "exec sleep 60");
        let error = process.wait_for_line("ready", Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.kind(), LabErrorKind::Late);
    }

    #[test]
    fn end_asks_with_sigterm_and_kill9_does_not_ask() {
        let folder = tempfile::tempdir().unwrap();
        let mut asked = shell(folder.path(), "trap 'echo bye; exit 7' TERM; echo up; while :; do :; done");
        asked.wait_for_line("up", SOON).unwrap();
        assert_eq!(asked.end().unwrap().code(), Some(7));
        assert!(asked.stdout().unwrap().contains("bye"));
        let mut killed = shell(folder.path(), "exec sleep 60");
        assert!(died_of(killed.kill9().unwrap(), 9));
        assert!(!killed.is_running());
    }

    #[test]
    fn interrupt_is_sigint_and_an_ended_process_takes_none() {
        let folder = tempfile::tempdir().unwrap();
        // Whoever runs the tests in the background of a script has it ignored, which is inherited.
        let script = "exec env --default-signal=INT sh -c 'echo up; exec sleep 60'";
        let mut process = shell(folder.path(), script);
        process.wait_for_line("up", SOON).unwrap();
        process.interrupt().unwrap();
        assert!(died_of(process.wait(SOON).unwrap(), 2));
        assert_eq!(process.interrupt().unwrap_err().kind(), LabErrorKind::Ended);
    }

    #[test]
    fn dropping_the_guard_ends_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let process = shell(folder.path(), "exec sleep 60");
        let pid = process.pid();
        drop(process);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
}
