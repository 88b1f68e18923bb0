//! Finds the programs that tests start, how `srun` starts them, and a place for scratch data on a real disk.
//!
//! It and `available` (PATH) alone read the environment. It builds nothing.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::statfs;

use crate::error::{Error, LabErrorKind, Result};

/// File systems that keep data in memory alone: `TMPFS_MAGIC`, `RAMFS_MAGIC` of linux/magic.h.
const MEMORY_FILE_SYSTEMS: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// The `narrows` binary under test: `NARROWS_BIN`, else the release build in the target folder.
///
/// # Errors
/// [`LabErrorKind::Missing`] with the command that builds it.
pub fn narrows_bin() -> Result<PathBuf> {
    let (path, hint) = match environment("NARROWS_BIN") {
        Some(path) => (path, "NARROWS_BIN names it, and there is no such file"),
        None => (target_folder().join("release/narrows"), "build it: cargo build --release -p narrows"),
    };
    existing(path, hint)
}

/// The `narrows-mpi` binary under test: `NARROWS_MPI_BIN`, else the build in the target folder that `./test` makes.
///
/// # Errors
/// [`LabErrorKind::Missing`] with the command that builds it.
pub fn narrows_mpi_bin() -> Result<PathBuf> {
    let (path, hint) = match environment("NARROWS_MPI_BIN") {
        Some(path) => (path, "NARROWS_MPI_BIN names it, and there is no such file"),
        None => (
            target_folder().join("debug/narrows-mpi"),
            "build it: cargo build -p narrows-mpi --features libmpi",
        ),
    };
    existing(path, hint)
}

/// Open MPI's interface to `srun`.
pub const OPEN_MPI_INTERFACE: &str = "pmix";

/// The interface between `srun` and the MPI library of [`narrows_mpi_bin`]: `NARROWS_SLURM_MPI`, else that of Open MPI.
#[must_use]
pub fn slurm_mpi() -> String {
    let named = environment("NARROWS_SLURM_MPI");
    named.map_or_else(|| OPEN_MPI_INTERFACE.to_owned(), |name| name.display().to_string())
}

/// The lab's own TCP sender, receiver and echo, `labcat`.
///
/// # Errors
/// [`LabErrorKind::Missing`] with the command that builds it.
pub fn labcat_bin() -> Result<PathBuf> {
    own_binary("labcat", "NARROWS_LABCAT")
}

/// The exporter of a control group's counters, `labexporter`.
///
/// # Errors
/// [`LabErrorKind::Missing`] with the command that builds it.
pub fn labexporter_bin() -> Result<PathBuf> {
    own_binary("labexporter", "NARROWS_LABEXPORTER")
}

/// The wire with a delay.
pub(crate) fn delaywire_bin() -> Result<PathBuf> {
    own_binary("delaywire", "NARROWS_DELAYWIRE")
}

/// The disks with a delay.
pub(crate) fn delaydisk_bin() -> Result<PathBuf> {
    own_binary("delaydisk", "NARROWS_DELAYDISK")
}

fn existing(path: PathBuf, hint: &str) -> Result<PathBuf> {
    if path.is_file() {
        return Ok(path);
    }
    Err(Error::new(LabErrorKind::Missing, "find", path.display().to_string(), hint))
}

/// A binary of this package: named by the environment, or beside the test (cargo puts tests in `deps`).
fn own_binary(name: &str, variable: &str) -> Result<PathBuf> {
    let running =
        std::env::current_exe().map_err(|source| Error::os("find", "the running program", source))?;
    let beside = running.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    let known = [target_folder().join("release").join(name), target_folder().join("debug").join(name)];
    environment(variable).into_iter().chain(beside).chain(known).find(|path| path.is_file()).ok_or_else(
        || {
            let hint = format!("build it: cargo build -p narrows-lab --bins, or name it in {variable}");
            Error::new(LabErrorKind::Missing, "find the program", name, hint)
        },
    )
}

/// A new folder under `target/lab-scratch`.
///
/// # Errors
/// [`LabErrorKind::Invalid`] when the target folder keeps its data in memory.
pub(crate) fn make_scratch(name: &str) -> Result<PathBuf> {
    let folder = target_folder().join("lab-scratch").join(name);
    let target = folder.display().to_string();
    fs::create_dir_all(&folder).map_err(|source| Error::os("create", &target, source))?;
    if is_in_memory(&folder)? {
        let _left = fs::remove_dir(&folder);
        let hint = "it lies in memory; set CARGO_TARGET_DIR to a folder on a disk";
        return Err(Error::new(LabErrorKind::Invalid, "use as scratch", target, hint));
    }
    Ok(folder)
}

fn is_in_memory(folder: &Path) -> Result<bool> {
    let target = folder.display().to_string();
    let status = statfs(folder).map_err(|errno| Error::os("look at the file system of", target, errno))?;
    Ok(u64::try_from(status.f_type).is_ok_and(|magic| MEMORY_FILE_SYSTEMS.contains(&magic)))
}

fn target_folder() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."));
    environment("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), |path| workspace.join(path))
}

fn environment(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dev_shm_is_in_memory_and_the_source_is_not() {
        assert!(is_in_memory(Path::new("/dev/shm")).unwrap());
        assert!(!is_in_memory(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap());
    }

    #[test]
    fn a_missing_program_of_the_package_comes_with_the_command_that_builds_it() {
        let error = own_binary("no-such-lab-program", "NARROWS_NO_SUCH_VARIABLE").unwrap_err();
        assert_eq!(error.kind(), LabErrorKind::Missing);
        assert!(error.to_string().contains("cargo build -p narrows-lab --bins"), "{error}");
    }

    #[test]
    fn the_target_folder_is_the_one_this_test_was_built_in() {
        let running = std::env::current_exe().unwrap();
        assert!(running.starts_with(fs::canonicalize(target_folder()).unwrap()));
    }
}
