//! `cargo xtask dist`: one static binary that can be copied to any machine of this architecture, its size limited, tried once.
//!
//! It is built for musl where that target and its C compiler are installed, else for glibc, linked statically. Not here: a
//! package for a distribution, a signature.

mod elf;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::process::is_installed;
use crate::workspace::Workspace;
use crate::{TaskOutcome, output};

/// Most bytes of the binary: it is copied to storage servers over whatever leads there.
const SIZE_BYTES_MAX: u64 = 12 << 20;
/// The profile of the build: that of a release, in the fewest bytes.
const PROFILE: &str = "small";
/// Time of the check that tries it, in seconds.
const CHECK_SECONDS: &str = "10";

/// What a binary is built for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DistTarget {
    triple: String,
    /// Flags of the compiler beside those of the workspace.
    rustflags: &'static str,
}

/// Builds the binary, checks it and tries it.
///
/// # Errors
/// A build that fails, or a binary that does not run.
pub(crate) fn run() -> anyhow::Result<TaskOutcome> {
    let workspace = Workspace::load()?;
    let target = choose(std::env::consts::ARCH, &has_musl);
    output::line(&format!("dist: building for {}", target.triple));
    let built = build(&workspace, &target)?;
    let folder = workspace.metadata.target_directory.clone().into_std_path_buf().join("dist");
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let binary = folder.join("narrows");
    fs::copy(&built, &binary).with_context(|| format!("copy {}", built.display()))?;
    let size_bytes = fs::metadata(&binary)?.len();
    let content = fs::read(&binary)?;
    output::line(&format!("dist: {}, {size_bytes} bytes", binary.display()));
    let mut problems = problems(&content, size_bytes);
    if let Err(error) = smoke(&binary) {
        problems.push(format!("{error:#}"));
    }
    for problem in &problems {
        output::complaint(&format!("dist: {problem}"));
    }
    Ok(if problems.is_empty() { TaskOutcome::Healthy } else { TaskOutcome::ProblemsFound })
}

/// What keeps this binary from being copied anywhere.
fn problems(content: &[u8], size_bytes: u64) -> Vec<String> {
    let loader = match elf::interpreter(content) {
        Err(error) => Some(format!("it is no ELF file of 64 bits: {error}")),
        Ok(Some(loader)) => Some(format!("it is not static: it needs the loader {loader}")),
        Ok(None) => None,
    };
    let size = (size_bytes > SIZE_BYTES_MAX).then(|| {
        format!(
            "it has {size_bytes} bytes, allowed are {SIZE_BYTES_MAX}: see what grew with `nm --size-sort`, and build it \
             smaller in the profiles of Cargo.toml"
        )
    });
    loader.into_iter().chain(size).collect()
}

/// The target for a machine's `architecture`; `has_musl` says whether one can be built here.
fn choose(architecture: &str, has_musl: &dyn Fn(&str) -> bool) -> DistTarget {
    let musl = format!("{architecture}-unknown-linux-musl");
    if has_musl(&musl) {
        // Addresses that are corrected at the start in the short form, which musl knows since 1.2.4: 0.8 MB less.
        return DistTarget { triple: musl, rustflags: "-Clink-arg=-Wl,-z,pack-relative-relocs" };
    }
    // glibc then, with what it would load at run time for names of hosts: addresses work everywhere.
    DistTarget {
        triple: format!("{architecture}-unknown-linux-gnu"),
        rustflags: "-Ctarget-feature=+crt-static",
    }
}

/// Whether the standard library of `triple` is installed, and a C compiler for it, which ring needs.
fn has_musl(triple: &str) -> bool {
    is_installed("musl-gcc") && library_folder(triple).is_ok_and(|folder| folder.is_dir())
}

fn library_folder(triple: &str) -> anyhow::Result<PathBuf> {
    let asked = Command::new("rustc").args(["--print", "target-libdir", "--target", triple]).output()?;
    ensure!(asked.status.success(), "rustc knows no target {triple}");
    Ok(PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim()))
}

/// The binary, without names of functions, which nobody reads on a storage server.
fn build(workspace: &Workspace, target: &DistTarget) -> anyhow::Result<PathBuf> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["build", "--profile", PROFILE, "--locked", "--package", "narrows", "--target", &target.triple])
        .env("RUSTFLAGS", target.rustflags)
        .current_dir(&workspace.root);
    let status = command.status().context("could not start cargo")?;
    ensure!(status.success(), "the build failed; see the messages above");
    let folder = workspace.metadata.target_directory.clone().into_std_path_buf();
    Ok(folder.join(&target.triple).join(PROFILE).join("narrows"))
}

/// Runs it as somebody would who copied it: its version, and a short check of an empty folder.
fn smoke(binary: &Path) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let run = |words: &[&str]| {
        let mut command = Command::new(binary);
        command.args(words).current_dir(folder.path()).env_clear();
        command.output().with_context(|| format!("could not start {}", binary.display()))
    };
    let version = run(&["--version"])?;
    ensure!(version.status.success(), "--version ended with {}", version.status);
    output::line(&format!("dist: {}", String::from_utf8_lossy(&version.stdout).trim()));
    let data = folder.path().join("data");
    fs::create_dir(&data)?;
    let check = run(&["check", "data", "--seconds", CHECK_SECONDS, "--cell-seconds", "0.2", "--json"])?;
    // A busy machine leaves no time for all cells, which is code 4.
    if !matches!(check.status.code(), Some(0 | 4)) {
        bail!("a check ended with {}: {}", check.status, String::from_utf8_lossy(&check.stderr).trim());
    }
    let summary: Value = serde_json::from_slice(&check.stdout).context("a check printed no JSON")?;
    let measured = summary["cells"].as_array().map_or(0, Vec::len);
    ensure!(measured > 0, "a check measured nothing: {}", String::from_utf8_lossy(&check.stderr).trim());
    output::line(&format!("dist: a check measured {measured} cells"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn musl_is_chosen_where_it_can_be_built_and_static_glibc_elsewhere() {
        let target = choose("x86_64", &|triple| triple == "x86_64-unknown-linux-musl");
        assert_eq!(target.triple, "x86_64-unknown-linux-musl");
        assert!(!target.rustflags.contains("gnu"));
        let target = choose("aarch64", &|_| false);
        assert_eq!(target.triple, "aarch64-unknown-linux-gnu");
        assert!(target.rustflags.contains("+crt-static"));
    }

    #[test]
    fn a_binary_that_needs_a_loader_or_is_too_large_is_a_problem() {
        let this = fs::read(std::env::current_exe().unwrap()).unwrap();
        let found = problems(&this, SIZE_BYTES_MAX + 1);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("needs the loader /") && found[1].contains("12582913 bytes"), "{found:?}");
        assert!(problems(b"#!/bin/sh\n", 10)[0].contains("no ELF file"));
    }
}
