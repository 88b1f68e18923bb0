//! What every figure measures with: programs, CPUs, a folder, and one way to run each of them once.

use super::machine::MachineDescription;
use super::parse;
use super::study::PerfLoad;
use super::tools::Tools;
use crate::process::{FinishedProgram, RunningProgram};
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Length of one turn's measured window.
pub(crate) const MEASURE_S: u64 = 2;
/// What a turn's program may take besides its window.
const TURN_S: u64 = 120;
/// Codes of narrows with figures: done, and measured while something is doubtful, such as a null engine at its limit.
const MEASURED: [i32; 2] = [0, 4];

/// A file system in memory that every Linux machine has.
const IN_MEMORY: &str = "/dev/shm";

/// The bench.
pub(crate) struct Bench {
    pub(crate) machine: MachineDescription,
    pub(crate) tools: Tools,
    pub(crate) rounds: usize,
    folder: TempDir,
}

impl Bench {
    /// A bench with a folder of its own below `parent`, which is removed with the bench.
    ///
    /// # Errors
    /// A folder that cannot be made.
    pub(crate) fn new(
        machine: MachineDescription,
        tools: Tools,
        rounds: usize,
        parent: &Path,
    ) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("perf-").tempdir_in(parent);
        let folder = folder.with_context(|| format!("no folder can be made in {}", parent.display()))?;
        Ok(Self { machine, tools, rounds, folder })
    }

    /// A place in the run's own folder.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A folder in a file system in memory, which is removed when dropped; or the reason why there is none.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn place_in_memory() -> anyhow::Result<Result<TempDir, String>> {
        if !Path::new(IN_MEMORY).is_dir() {
            return Ok(Err(format!("there is no {IN_MEMORY}, so nothing is compared in memory")));
        }
        Ok(Ok(tempfile::tempdir_in(IN_MEMORY)?))
    }

    /// Runs `command` to its end, on the CPU of the load.
    ///
    /// # Errors
    /// It does not start or does not end.
    pub(crate) fn turn(&self, name: &str, command: &mut Command) -> anyhow::Result<FinishedProgram> {
        self.start(name, command, self.machine.load_cpu())?.finish(TURN_S, |_, _| {})
    }

    /// Starts `command` on the CPU of servers.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) fn serve(&self, name: &str, command: &mut Command) -> anyhow::Result<RunningProgram> {
        self.start(name, command, self.machine.server_cpu())
    }

    /// Starts `command` on the CPU of the load, beside it.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) fn beside(&self, name: &str, command: &mut Command) -> anyhow::Result<RunningProgram> {
        self.start(name, command, self.machine.load_cpu())
    }

    fn start(&self, name: &str, command: &mut Command, cpu: usize) -> anyhow::Result<RunningProgram> {
        RunningProgram::start(self.folder.path(), name, command, &[cpu])
    }

    /// Starts `command` wherever the kernel puts it.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) fn start_unbound(&self, name: &str, command: &mut Command) -> anyhow::Result<RunningProgram> {
        RunningProgram::start(self.folder.path(), name, command, &self.machine.cpus)
    }

    /// Operations a second of narrows under `load`.
    ///
    /// # Errors
    /// A study that cannot be run, or that measured nothing.
    pub(crate) fn narrows_ops_per_s(&self, load: &PerfLoad) -> anyhow::Result<f64> {
        let mut command = self.study_command("narrows", load)?;
        self.ops_per_s_of(&mut command)
    }

    /// Operations a second that a study of one cell measures.
    ///
    /// # Errors
    /// A study that cannot be run, or that measured nothing.
    pub(crate) fn ops_per_s_of(&self, command: &mut Command) -> anyhow::Result<f64> {
        let ended = self.turn("narrows", command)?;
        parse::study_ops_per_s(ended.printed(&MEASURED)?)
    }

    /// The command line of a study of one cell; its record is that of `name` and replaces an earlier one.
    ///
    /// # Errors
    /// A study or a record that cannot be replaced.
    pub(crate) fn study_command(&self, name: &str, load: &PerfLoad) -> anyhow::Result<Command> {
        self.command_of(name, &load.study(MEASURE_S))
    }

    /// The command line of the study `text`; its record is that of `name` and replaces an earlier one.
    ///
    /// # Errors
    /// A study or a record that cannot be replaced.
    pub(crate) fn command_of(&self, name: &str, text: &str) -> anyhow::Result<Command> {
        let (study, record) = (self.place(&format!("{name}.toml")), self.place(&format!("{name}.narrows")));
        fs::write(&study, text)?;
        if record.exists() {
            fs::remove_dir_all(&record)?;
        }
        let mut command = self.tools.narrows();
        command.arg("run").arg(study).args(["--json", "--quiet", "--yes", "--out"]).arg(record);
        Ok(command)
    }

    /// A number that a bare loop prints.
    ///
    /// # Errors
    /// A loop that fails.
    pub(crate) fn bare(&self, name: &str, words: &[&str], key: &str) -> anyhow::Result<f64> {
        let ended = self.turn(name, self.tools.bare(name).args(words))?;
        parse::bare(ended.printed(&[0])?, key)
    }
}
