//! The MPI libraries of this machine, each with narrows-mpi and the bare program built with it.

use crate::perf::bench::Bench;
use crate::perf::parse;
use crate::workspace::{Workspace, cargo};
use anyhow::{Context, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The bare program's source.
const LOOP: &str = include_str!("../../peers/mpi_loop.c");
/// Longest time of one job.
pub(super) const JOB_S: u64 = 300;
pub(super) const RANKS: &str = "2";

/// An MPI library with the programs that are built with it.
pub(super) struct MpiLibrary {
    pub(super) name: &'static str,
    pub(super) launcher: &'static [&'static str],
    pub(super) narrows: PathBuf,
    bare: PathBuf,
}

/// A library as the distribution has it, and the words that choose its parts.
pub(super) struct KnownLibrary {
    pub(super) name: &'static str,
    compiler: &'static str,
    launcher: &'static [&'static str],
    /// Where narrows-mpi is built with it, below cargo's target folder.
    folder: &'static str,
}

pub(super) const LIBRARIES: [KnownLibrary; 3] = [
    KnownLibrary {
        name: "Open MPI, ompio",
        compiler: "mpicc.openmpi",
        launcher: &["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "io", "ompio"],
        folder: "",
    },
    KnownLibrary {
        name: "Open MPI, romio",
        compiler: "mpicc.openmpi",
        launcher: &["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "io", "romio321"],
        folder: "",
    },
    KnownLibrary {
        name: "MPICH, romio",
        compiler: "mpicc.mpich",
        launcher: &["mpiexec.hydra"],
        folder: "mpich",
    },
];

/// Builds both programs with a library; or the reason why it is not measured.
pub(super) fn library(bench: &Bench, known: &KnownLibrary) -> anyhow::Result<Result<MpiLibrary, String>> {
    let version = Command::new(known.compiler).arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        return Ok(Err(format!(
            "{}: there is no {}, so nothing is compared with it",
            known.name, known.compiler
        )));
    }
    let workspace = Workspace::load()?;
    let target = bench.tools.target_folder.join(known.folder);
    let words =
        ["build", "--release", "--locked", "--quiet", "--package", "narrows-mpi", "--features", "libmpi"];
    let status = cargo(&workspace.root, &words)
        .env("MPICC", known.compiler)
        .env("CARGO_TARGET_DIR", &target)
        .status()
        .context("could not start cargo build")?;
    if !status.success() {
        bail!("cargo {} failed ({status})", words.join(" "));
    }
    let (source, bare) = (bench.place("mpi_loop.c"), bench.place(&format!("mpi_loop.{}", known.compiler)));
    fs::write(&source, LOOP)?;
    let built = Command::new(known.compiler).arg("-O2").arg("-o").arg(&bare).arg(&source).output()?;
    if !built.status.success() {
        bail!("{}: {}", known.compiler, String::from_utf8_lossy(&built.stderr));
    }
    let narrows = target.join("release/narrows-mpi");
    Ok(Ok(MpiLibrary { name: known.name, launcher: known.launcher, narrows, bare }))
}

impl MpiLibrary {
    /// Runs a job of `program` to its end; what it printed.
    pub(super) fn job(&self, bench: &Bench, program: &Path, words: &[String]) -> anyhow::Result<String> {
        let mut command = Command::new(self.launcher[0]);
        command.args(&self.launcher[1..]).args(["-np", RANKS]).arg(program).args(words);
        let ended = bench.start_unbound("job", &mut command)?.finish(JOB_S, |_, _| {})?;
        Ok(ended.printed(&[0, 4])?.to_owned())
    }

    pub(super) fn bare(&self, bench: &Bench, words: &[String], keys: &[&str]) -> anyhow::Result<Vec<f64>> {
        let printed = self.job(bench, &self.bare, words)?;
        keys.iter().map(|key| parse::bare(&printed, key)).collect()
    }
}

pub(super) fn words(text: &str, place: &Path) -> Vec<String> {
    text.split(' ').map(|word| word.replace("PLACE", &place.display().to_string())).collect()
}
