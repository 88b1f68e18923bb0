//! `cargo xtask mpich`: narrows-mpi against MPICH: it is built in a folder of its own, its tests of ranks are run with MPICH's
//! launcher, and what is refused is seen to be refused.
//!
//! A campaign, beside `./test`, which builds with whatever MPI `mpicc` is. MPICH can be installed beside Open MPI; nothing is
//! installed here.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::process::{FinishedProgram, RunningProgram, is_installed};
use crate::workspace::{Workspace, cargo};
use crate::{TaskOutcome, output};

/// Compilers that may be MPICH's: the first is its name where another MPI is installed too.
const COMPILERS: [&str; 2] = ["mpicc.mpich", "mpicc"];
/// MPICH's launcher, whatever `mpirun` is.
const LAUNCHER: &str = "mpiexec.hydra";
/// The launcher of Open MPI, whatever `mpirun` is.
const OTHER_LAUNCHER: &str = "mpirun.openmpi";
/// What to install where MPICH is missing.
const INSTALL: &str = "install it: apt-get install --no-install-recommends mpich libmpich-dev";
/// Longest time of a job that is refused.
const REFUSED_WITHIN_S: u64 = 60;
/// Exit code of a command that is refused.
const BAD_INPUT: i32 = 2;

/// A job that must be refused.
struct RefusedJob {
    what: &'static str,
    launcher: &'static str,
    /// Words of the launcher before the program.
    words: &'static [&'static str],
    program: &'static str,
    /// What one of its processes says, once.
    said: &'static str,
}

const REFUSED: [RefusedJob; 2] = [
    RefusedJob {
        what: "plain narrows under MPICH's launcher",
        launcher: LAUNCHER,
        words: &["-np", "2"],
        program: "narrows",
        said: "was started as 2 processes at once",
    },
    RefusedJob {
        what: "narrows-mpi with MPICH under Open MPI's launcher",
        launcher: OTHER_LAUNCHER,
        words: &["--allow-run-as-root", "--oversubscribe", "-np", "2"],
        program: "narrows-mpi",
        said: "built with another MPI than the launcher's",
    },
];

/// Builds, runs the tests of ranks, and starts what is refused.
///
/// # Errors
/// MPICH is not installed, or something cannot be started.
pub(crate) fn run() -> anyhow::Result<TaskOutcome> {
    let compiler = COMPILERS.into_iter().find(|compiler| is_mpich(compiler));
    let compiler = compiler.with_context(|| format!("there is no MPICH, nor a compiler of it: {INSTALL}"))?;
    let version =
        printed(LAUNCHER, "--version").with_context(|| format!("there is no {LAUNCHER}: {INSTALL}"))?;
    let workspace = Workspace::load()?;
    let target = workspace.root.join("target/mpich");
    output::line(&format!("mpich: {} by {compiler}, in {}", version_line(&version), target.display()));
    for (what, words) in STEPS {
        output::line(&format!("mpich: {what}: cargo {}", words.join(" ")));
        let status = cargo(&workspace.root, words)
            .env("MPICC", compiler)
            .env("CARGO_TARGET_DIR", &target)
            .status()
            .context("could not start cargo")?;
        if !status.success() {
            output::complaint(&format!("mpich: {what} failed, as printed above"));
            return Ok(TaskOutcome::ProblemsFound);
        }
    }
    let mut outcome = TaskOutcome::Healthy;
    if let Some(problem) = slurm_problem(&workspace, compiler, &target)? {
        output::complaint(&format!("mpich: ranks of a step of Slurm: {problem}"));
        outcome = TaskOutcome::ProblemsFound;
    }
    for job in &REFUSED {
        match check_refused(job, &target.join("debug"))? {
            Some(problem) => {
                output::complaint(&format!("mpich: {}: {problem}", job.what));
                outcome = TaskOutcome::ProblemsFound;
            }
            None => output::line(&format!("mpich: {}: refused once, with exit code {BAD_INPUT}", job.what)),
        }
    }
    Ok(outcome)
}

/// What cargo does, one after the other.
const STEPS: [(&str, &[&str]); 2] = [
    (
        "build of what ranks run",
        &["build", "--locked", "-p", "narrows", "-p", "narrows-mpi", "--features", FEATURE],
    ),
    (
        "tests of ranks, one job at a time",
        &["test", "--locked", "-p", "narrows-mpi", "--features", FEATURE, "--", "--test-threads=1"],
    ),
];
/// How `srun` starts ranks of MPICH.
const SLURM_MPI: &str = "pmi2";
const SLURM_TEST: &str = "slurm::the_ranks_of_a_step_are_on_the_nodes_that_srun_has_put_them_on";
const FEATURE: &str = "narrows-mpi/libmpi";

/// Runs the lab's test of a step of Slurm with ranks of MPICH; what is wrong with how it ended, `None` where nothing is or there
/// is no Slurm.
fn slurm_problem(workspace: &Workspace, compiler: &str, target: &Path) -> anyhow::Result<Option<String>> {
    // Without a configuration of Slurm it fails, even to print its version.
    if !is_installed("srun") {
        output::line("mpich: ranks of a step of Slurm: not run, there is no srun");
        return Ok(None);
    }
    let words =
        ["test", "--locked", "-p", "narrows-lab", "--test", "it", "--", "--ignored", "--exact", SLURM_TEST];
    output::line(&format!("mpich: ranks of a step of Slurm: cargo {}", words.join(" ")));
    let ended = cargo(&workspace.root, &words)
        .env("MPICC", compiler)
        .env("CARGO_TARGET_DIR", target)
        .env("NARROWS_MPI_BIN", target.join("debug/narrows-mpi"))
        .env("NARROWS_SLURM_MPI", SLURM_MPI)
        // A lab that cannot run is a failure then.
        .env("CI", "true")
        .output()
        .context("could not start cargo")?;
    let printed = String::from_utf8_lossy(&ended.stdout);
    output::line(printed.trim_end());
    Ok(slurm_test_problem(ended.status.success(), &printed))
}

/// What is wrong with what cargo printed of the test; a name that no test has selects none, which is no failure to cargo.
fn slurm_test_problem(succeeded: bool, printed: &str) -> Option<String> {
    let passed = succeeded && printed.contains("test result: ok. 1 passed;");
    (!passed).then(|| format!("{SLURM_TEST} did not pass, as printed above"))
}

/// Whether this compiler builds with MPICH: it shows the libraries that it links.
fn is_mpich(compiler: &str) -> bool {
    printed(compiler, "-show").is_some_and(|shown| shown.contains("mpich"))
}

/// What a program prints when it is asked for something; `None` where it cannot be started, or fails.
fn printed(program: &str, word: &str) -> Option<String> {
    let ended = Command::new(program).arg(word).output().ok().filter(|ended| ended.status.success())?;
    Some(String::from_utf8_lossy(&ended.stdout).into_owned())
}

/// The version among the build details of Hydra.
fn version_line(details: &str) -> String {
    let version = details.lines().find_map(|line| line.trim().strip_prefix("Version:"));
    version.map_or_else(|| "MPICH".to_owned(), |version| format!("MPICH {}", version.trim()))
}

/// Starts a job that must be refused; what is wrong with how it ended, `None` where nothing is or there is no such launcher.
fn check_refused(job: &RefusedJob, programs: &Path) -> anyhow::Result<Option<String>> {
    if printed(job.launcher, "--version").is_none() {
        output::line(&format!("mpich: {}: not run, there is no {}", job.what, job.launcher));
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    let program: PathBuf = programs.join(job.program);
    let mut command = Command::new(job.launcher);
    command
        .args(job.words)
        .arg(program)
        .args(["check", ".", "--seconds", "1", "--out", "record"])
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .current_dir(folder.path());
    let cpus = narrows_sys::process::affinity()?;
    let running = RunningProgram::start(folder.path(), "job", &mut command, &cpus)?;
    let ended = running.finish(REFUSED_WITHIN_S, |_, _| {})?;
    Ok(refusal_problem(job, &ended).or_else(|| {
        folder.path().join("record").exists().then(|| "it has made a record all the same".to_owned())
    }))
}

/// What is wrong with the end of a job that had to be refused.
fn refusal_problem(job: &RefusedJob, ended: &FinishedProgram) -> Option<String> {
    let said =
        [&ended.stdout, &ended.stderr].iter().map(|text| text.matches(job.said).count()).sum::<usize>();
    let is_refused = ended.code == Some(BAD_INPUT) && said == 1;
    (!is_refused).then(|| {
        format!(
            "ended with code {:?}, and said {:?} {said} times, where code {BAD_INPUT} and once was expected:\n{}{}",
            ended.code, job.said, ended.stdout, ended.stderr
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_among_the_details_of_the_build() {
        let details =
            "HYDRA build details:\n    Version:                                 4.0.2\n    CC: gcc\n";
        assert_eq!(version_line(details), "MPICH 4.0.2");
        assert_eq!(version_line("nothing"), "MPICH");
    }

    #[test]
    fn a_test_that_was_not_selected_has_not_passed() {
        let result = |passed| format!("test result: ok. {passed} passed; 0 failed; 0 ignored");
        assert_eq!(slurm_test_problem(true, &result(1)), None);
        assert!(
            slurm_test_problem(true, &result(0)).is_some() && slurm_test_problem(false, &result(1)).is_some()
        );
    }

    #[test]
    fn a_job_is_refused_only_with_its_code_and_one_sentence() {
        let ended = |code, stderr: &str| FinishedProgram {
            code: Some(code),
            stdout: String::new(),
            stderr: stderr.to_owned(),
            elapsed_s: 0.0,
        };
        let job = &REFUSED[0];
        assert_eq!(refusal_problem(job, &ended(2, job.said)), None);
        for (code, stderr) in [(0, job.said.to_owned()), (2, String::new()), (2, job.said.repeat(2))] {
            assert!(refusal_problem(job, &ended(code, &stderr)).is_some(), "{code} {stderr}");
        }
    }
}
