//! The launcher of the MPI library that the tests are built with: its program, its words, its variables and its exit codes.
//!
//! The one place that knows them. Not here: jobs, and what they leave.

use std::process::Command;

thread_local! {
    /// The folder for the files of the jobs of one test, directly in `/tmp`, for their paths have a limit. Jobs that start at
    /// once in one folder fail now and then: Open MPI makes a folder of one name for all of them.
    static START_FOLDER: tempfile::TempDir = tempfile::tempdir_in("/tmp").unwrap();
}

/// What starts the ranks of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MpiLauncher {
    /// `mpirun` of Open MPI.
    OpenMpi,
    /// Hydra, the launcher of MPICH.
    Hydra,
}

/// A library of MPI-IO, and the words by which the launcher selects it.
#[derive(Debug, Clone, Copy)]
#[allow(
    dead_code,
    reason = "this file is part of two programs, one of which has no tests of MPI-IO libraries"
)]
pub(crate) struct IoLibrary {
    pub(crate) name: &'static str,
    pub(crate) words: &'static [&'static str],
}

/// Messages of ranks go through memory. Without `ob1` the library searches for network cards: half of the 0.4 s that a job takes
/// to start.
const OPEN_MPI_WORDS: [&str; 10] = [
    "--oversubscribe",
    "--mca",
    "pml",
    "ob1",
    "--mca",
    "btl",
    "self,vader",
    "--mca",
    "mpi_yield_when_idle",
    "1",
];

#[allow(dead_code, reason = "this file is part of two programs, one of which needs less of it")]
impl MpiLauncher {
    /// That of the library which this program is linked with.
    pub(crate) fn from_library() -> Self {
        let version = mpi::environment::library_version().unwrap();
        if version.starts_with("Open MPI") {
            return Self::OpenMpi;
        }
        assert!(
            version.contains("MPICH"),
            "these tests know the launchers of Open MPI and of MPICH, not of {version}"
        );
        Self::Hydra
    }

    /// Its program: more ranks than processors, on loopback.
    pub(crate) fn command(self) -> Command {
        let (program, words): (_, &[&str]) = match self {
            Self::OpenMpi => ("mpirun", &OPEN_MPI_WORDS),
            // Where both are installed, `mpirun` is that of Open MPI.
            Self::Hydra => ("mpiexec.hydra", &[]),
        };
        let mut command = Command::new(program);
        command.args(words);
        self.prepare(&mut command);
        command
    }

    /// The environment of a process that starts MPI, under the launcher or without it.
    pub(crate) fn prepare(self, command: &mut Command) {
        START_FOLDER.with(|folder| command.env("TMPDIR", folder.path()));
        if self == Self::OpenMpi {
            command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
            // Ranks that wait leave the processor to other tests.
            command.env("OMPI_MCA_mpi_yield_when_idle", "1");
        }
    }

    /// The variable that has the number of a rank.
    pub(crate) fn rank_variable(self) -> &'static str {
        match self {
            Self::OpenMpi => "OMPI_COMM_WORLD_RANK",
            Self::Hydra => "PMI_RANK",
        }
    }

    /// Words by which all others are killed at once where a rank ends with a code, instead of a second later.
    pub(crate) fn kill_at_once(self) -> &'static [&'static str] {
        match self {
            Self::OpenMpi => &["--mca", "odls_base_sigkill_timeout", "0"],
            Self::Hydra => &[],
        }
    }

    /// Words by which the others run on where one dies; `None` where nothing keeps the launcher from killing them at once.
    pub(crate) fn keep_others(self) -> Option<&'static [&'static str]> {
        match self {
            Self::OpenMpi => Some(&["--enable-recovery"]),
            // Of 4.0.2 seen with `-disable-auto-cleanup` too.
            Self::Hydra => None,
        }
    }

    /// Its exit code where a rank was killed by `SIGKILL`, and nothing keeps the others.
    pub(crate) fn code_of_killed(self) -> i32 {
        match self {
            Self::OpenMpi => 128 + 9,
            Self::Hydra => 9,
        }
    }

    /// Its libraries of MPI-IO, the first of which is used without words.
    pub(crate) fn io_libraries(self) -> &'static [IoLibrary] {
        match self {
            Self::OpenMpi => &[
                IoLibrary { name: "ompio", words: &["--mca", "io", "ompio"] },
                IoLibrary { name: "romio", words: &["--mca", "io", "romio321"] },
            ],
            Self::Hydra => &[IoLibrary { name: "romio", words: &[] }],
        }
    }

    /// The words for ROMIO, which both have.
    pub(crate) fn romio(self) -> &'static [&'static str] {
        let romio = self.io_libraries().iter().find(|library| library.name == "romio");
        romio.map_or(&[], |library| library.words)
    }
}
