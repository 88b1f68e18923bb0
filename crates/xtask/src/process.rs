//! Programs that are started, bound to CPUs, waited for within a bound, and ended by their own number.
//!
//! What they print is written to files in the run's own folder, so that nobody waits for a full pipe. A program ends
//! with the run however that ends.

use anyhow::{Context, bail};
use narrows_sys::clock::{Monotonic, wait_ns};
use narrows_sys::process::{StopOutcome, StopSignal, affinity, die_with_parent, set_affinity, stop_child};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// How often a running program is looked at.
const LOOK_NS: u64 = 20_000_000;
const NS_PER_S: u64 = 1_000_000_000;
/// Time that a program has to end after it was asked to.
const END_NS: u64 = 5 * NS_PER_S;

/// Whether this machine has the program, by its name or its path; it is not started.
pub(crate) fn is_installed(program: impl AsRef<OsStr>) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", "command -v -- \"$1\"", "sh"]).arg(program);
    command.output().is_ok_and(|found| found.status.success())
}

/// A program that runs.
#[derive(Debug)]
pub(crate) struct RunningProgram {
    child: Child,
    name: String,
    stdout: PathBuf,
    stderr: PathBuf,
}

/// A program that has ended.
#[derive(Debug)]
pub(crate) struct FinishedProgram {
    /// `None` after a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) elapsed_s: f64,
}

impl FinishedProgram {
    /// What it printed, if it ended with one of `codes`.
    ///
    /// # Errors
    /// Another end, with the last of what it said.
    pub(crate) fn printed(&self, codes: &[i32]) -> anyhow::Result<&str> {
        if self.code.is_some_and(|code| codes.contains(&code)) {
            return Ok(&self.stdout);
        }
        let lines: Vec<&str> = self.stderr.lines().chain(self.stdout.lines()).collect();
        let last = lines[lines.len().saturating_sub(5)..].join("\n");
        match self.code {
            Some(code) => bail!("ended with code {code}: {last}"),
            None => bail!("ended by a signal: {last}"),
        }
    }
}

impl RunningProgram {
    /// Starts `command` on `cpus` with its output in `folder` under `name`.
    ///
    /// # Errors
    /// A program that cannot be started, CPUs that this process may not use.
    pub(crate) fn start(
        folder: &Path,
        name: &str,
        command: &mut Command,
        cpus: &[usize],
    ) -> anyhow::Result<Self> {
        let (stdout, stderr) = (folder.join(format!("{name}.out")), folder.join(format!("{name}.err")));
        command.stdin(Stdio::null()).stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        die_with_parent(command);
        let before = affinity()?;
        // A child inherits the binding of the thread that starts it.
        set_affinity(cpus)?;
        let child = command.spawn().with_context(|| format!("could not start {name}"));
        set_affinity(&before)?;
        Ok(Self { child: child?, name: name.to_owned(), stdout, stderr })
    }

    /// Ends it as a crash would, and waits for that; whether it still ran.
    ///
    /// # Errors
    /// What the kernel says.
    pub(crate) fn kill(&mut self) -> anyhow::Result<bool> {
        let ran = self.child.try_wait()?.is_none();
        if ran && stop_child(&mut self.child, StopSignal::Kill)? == StopOutcome::Signalled {
            self.child.wait()?;
        }
        Ok(ran)
    }

    /// Its number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has printed so far.
    pub(crate) fn said(&self) -> String {
        fs::read(&self.stdout).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Waits until it has ended and calls `look` with the seconds since the call meanwhile, fifty times a second.
    ///
    /// # Errors
    /// A program that has not ended within `seconds`; it is ended then.
    pub(crate) fn finish(
        mut self,
        seconds: u64,
        mut look: impl FnMut(u32, f64),
    ) -> anyhow::Result<FinishedProgram> {
        let clock = Monotonic::new();
        let started_ns = clock.now_ns();
        loop {
            let elapsed_ns = clock.now_ns() - started_ns;
            let elapsed_s = elapsed_ns as f64 / NS_PER_S as f64;
            if let Some(status) = self.child.try_wait()? {
                let stderr = fs::read(&self.stderr).unwrap_or_default();
                return Ok(FinishedProgram {
                    code: status.code(),
                    stdout: self.said(),
                    stderr: String::from_utf8_lossy(&stderr).into_owned(),
                    elapsed_s,
                });
            }
            if elapsed_ns > seconds * NS_PER_S {
                bail!("{} did not end within {seconds} s", self.name);
            }
            look(self.pid(), elapsed_s);
            let _ = wait_ns(LOOK_NS);
        }
    }

    /// Waits until `found` finds something in what it prints.
    ///
    /// # Errors
    /// A program that ends before, or says nothing of the kind within ten seconds.
    pub(crate) fn until<T>(&mut self, found: impl Fn(&str) -> Option<T>) -> anyhow::Result<T> {
        self.ready(|running| found(&running.said()))
    }

    /// Waits until `is_so`, for a program that says nothing when it is ready.
    ///
    /// # Errors
    /// A program that ends before, or is not ready within ten seconds.
    pub(crate) fn wait_for(&mut self, is_so: impl Fn() -> bool) -> anyhow::Result<()> {
        self.ready(|_| is_so().then_some(()))
    }

    fn ready<T>(&mut self, found: impl Fn(&Self) -> Option<T>) -> anyhow::Result<T> {
        let clock = Monotonic::new();
        let until_ns = clock.now_ns() + 10 * NS_PER_S;
        while clock.now_ns() < until_ns {
            if let Some(value) = found(self) {
                return Ok(value);
            }
            if self.child.try_wait()?.is_some() {
                let why = fs::read_to_string(&self.stderr).unwrap_or_default();
                bail!("{} ended before it was ready: {}", self.name, why.trim());
            }
            let _ = wait_ns(LOOK_NS);
        }
        bail!("{} was not ready within 10 s", self.name)
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let clock = Monotonic::new();
        let until_ns = clock.now_ns() + END_NS;
        let mut asked = stop_child(&mut self.child, StopSignal::Terminate);
        while matches!(asked, Ok(StopOutcome::Signalled)) && clock.now_ns() < until_ns {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            let _ = wait_ns(LOOK_NS);
        }
        if matches!(asked, Ok(StopOutcome::Signalled)) {
            asked = stop_child(&mut self.child, StopSignal::Kill);
        }
        if asked.is_ok() {
            // It is dead or dying, so this does not last.
            drop(self.child.wait());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn start(folder: &Path, script: &str) -> RunningProgram {
        let cpus = affinity().expect("this thread may run somewhere");
        RunningProgram::start(folder, "program", &mut shell(script), &cpus).expect("there is a shell")
    }

    #[test]
    fn a_program_that_fails_is_installed() {
        assert!(is_installed("false"));
        assert!(!is_installed("a-program-that-nobody-has"));
    }

    #[test]
    fn what_a_program_prints_and_how_it_ended_are_kept_apart() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let ended =
            start(folder.path(), "echo out; echo err >&2; exit 4").finish(10, |_, _| {}).expect("it ends");
        assert_eq!(ended.printed(&[0, 4]).expect("code 4 is fine"), "out\n");
        let error = ended.printed(&[0]).expect_err("code 4 is not");
        assert_eq!(error.to_string(), "ended with code 4: err\nout");
    }

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let running = start(folder.path(), "exec sleep 1000");
        let pid = running.pid();
        let error = running.finish(0, |_, _| {}).expect_err("it sleeps");
        assert!(error.to_string().contains("did not end within 0 s"), "{error}");
        assert_eq!(narrows_sys::process::started_ticks(pid), None, "nothing runs under its number");
    }

    #[test]
    fn a_server_is_ready_when_it_says_so_and_fails_when_it_ends_first() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let mut ready = start(folder.path(), "echo ready 7; exec sleep 1000");
        let word = ready.until(|text| text.strip_prefix("ready ").map(|rest| rest.trim().to_owned()));
        assert_eq!(word.expect("it says so"), "7");
        drop(ready);
        let mut failing = start(folder.path(), "echo no port >&2; exit 1");
        let error = failing.until(|text| text.find("ready")).expect_err("it ends");
        assert!(error.to_string().contains("no port"), "{error}");
    }
}
