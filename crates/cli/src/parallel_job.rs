//! Whether this process is one of several that a launcher of parallel jobs (`mpirun`, `srun`) has started.
//!
//! From the environment alone: this program has no MPI library to ask.

use crate::console::Console;
use crate::exit::CommandFailure;
use std::ffi::OsString;
use std::process::ExitCode;

/// A process of a parallel job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobRank {
    /// Its number, from 0.
    pub(crate) rank: u32,
    /// How many there are, where the launcher says so.
    pub(crate) process_count: Option<u32>,
}

/// What launchers set: the rank, and the number of ranks. Slurm sets the latter in steps alone, not in batch scripts, of which
/// there is one process.
const VARIABLES: [(&str, &str); 3] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
];

/// The rank of this process by the values of `variable`; `None` outside of jobs, and in one of a single process.
fn job_rank(variable: impl Fn(&str) -> Option<String>) -> Option<JobRank> {
    let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
    let known = VARIABLES.iter().find_map(|(rank, count)| Some((number(rank)?, number(count)?)));
    if let Some((rank, count)) = known {
        return (count > 1).then_some(JobRank { rank, process_count: Some(count) });
    }
    // A launcher that speaks PMIx alone does not say how many there are; any but the first is one of several.
    let rank = number("PMIX_RANK").filter(|rank| *rank > 0)?;
    Some(JobRank { rank, process_count: None })
}

/// The rank of this process by its environment.
pub(crate) fn found() -> Option<JobRank> {
    #[allow(clippy::disallowed_methods, reason = "the environment is read in this crate")]
    job_rank(|name| std::env::var(name).ok())
}

/// Suites of collective calls: their ranks run all of it together.
const COLLECTIVE_SUITES: [&str; 2] = ["mpi-io-test", "coll-perf"];

/// Why the command `raw` is refused where it names a suite that only the program with an MPI library has.
pub(crate) fn refusal_of_suite(raw: &[OsString]) -> Option<CommandFailure> {
    let name = raw.get(2).filter(|_| raw.get(1).is_some_and(|word| word == "suite"))?.to_str()?;
    COLLECTIVE_SUITES.contains(&name).then(|| {
        CommandFailure::bad_input(format!(
            "the suite {name} makes collective calls of MPI, which this program has not; start `mpirun -np N narrows-mpi \
             suite {name}` (docs/guide/mpi.md)"
        ))
    })
}

/// Refuses a command that measures; the first process alone says why.
pub(crate) fn refuse(job: JobRank, console: &Console) -> ExitCode {
    let failure = refusal(job);
    if job.rank == 0 { console.fail(&failure) } else { ExitCode::from(failure.code()) }
}

/// Why a command that measures is refused in such a job.
fn refusal(job: JobRank) -> CommandFailure {
    let count = job.process_count.map_or("several".to_owned(), |count| count.to_string());
    CommandFailure::bad_input(format!(
        "this command was started as {count} processes at once by a launcher of parallel jobs (mpirun, srun), and its copies \
         would disturb each other without knowing of each other; use `narrows-mpi` with the same words, whose ranks \
         share one plan, or start one process"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(set: &[(&str, &str)]) -> Option<JobRank> {
        job_rank(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn a_process_among_several_is_found_whatever_started_it() {
        let second_of_four = Some(JobRank { rank: 1, process_count: Some(4) });
        for (rank, count) in VARIABLES {
            assert_eq!(found(&[(rank, "1"), (count, "4")]), second_of_four);
        }
        assert_eq!(found(&[("PMIX_RANK", "2")]), Some(JobRank { rank: 2, process_count: None }));
    }

    #[test]
    fn a_process_that_is_alone_is_in_no_job() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")]), None);
        assert_eq!(found(&[("SLURM_PROCID", "0")]), None, "a batch script");
        assert_eq!(found(&[("PMI_RANK", "x"), ("PMI_SIZE", "4"), ("PMIX_RANK", "0")]), None);
    }
}
