//! Whether this process is one of several that a launcher of parallel jobs (`mpirun`, `srun`) has started.
//!
//! From the environment alone: this program has no MPI library to ask.

use std::sync::OnceLock;

/// A process of a parallel job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobRank {
    /// Its number, from 0.
    pub rank: u32,
    /// How many there are; `None` where the launcher does not say so.
    pub process_count: Option<u32>,
}

/// What a launcher sets for each of its processes.
struct Launcher {
    /// The number of the process.
    rank: &'static str,
    /// How many there are; empty where the launcher does not say so.
    count: &'static str,
    /// Whether the first process is alone where the number of them is not set.
    is_first_alone: bool,
}

/// Launchers, the one that says most of its own processes first: some set the variables of others too.
const LAUNCHERS: [Launcher; 6] = [
    // Open MPI's mpirun, and jsrun.
    Launcher { rank: "OMPI_COMM_WORLD_RANK", count: "OMPI_COMM_WORLD_SIZE", is_first_alone: false },
    // MVAPICH2's mpirun_rsh.
    Launcher { rank: "MV2_COMM_WORLD_RANK", count: "MV2_COMM_WORLD_SIZE", is_first_alone: false },
    // Hydra of MPICH and of Intel MPI, and srun --mpi=pmi2.
    Launcher { rank: "PMI_RANK", count: "PMI_SIZE", is_first_alone: false },
    Launcher { rank: "FLUX_TASK_RANK", count: "FLUX_JOB_SIZE", is_first_alone: false },
    // srun, whatever it offers MPI. In a batch script, of which there is one process, the number is not set.
    Launcher { rank: "SLURM_PROCID", count: "SLURM_STEP_NUM_TASKS", is_first_alone: true },
    // prun and other launchers that speak PMIx alone.
    Launcher { rank: "PMIX_RANK", count: "", is_first_alone: false },
];

/// The rank of this process by the values of `variable`; `None` outside of jobs, and in one of a single process.
fn job_rank(variable: impl Fn(&str) -> Option<String>) -> Option<JobRank> {
    let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
    let known = LAUNCHERS.iter().find_map(|launcher| Some((number(launcher.rank)?, number(launcher.count)?)));
    if let Some((rank, count)) = known {
        return (count > 1).then_some(JobRank { rank, process_count: Some(count) });
    }
    // Without the number, one process alone is like the first of several: all of them are refused, or none is.
    let (launcher, rank) = LAUNCHERS.iter().find_map(|launcher| Some((launcher, number(launcher.rank)?)))?;
    (rank > 0 || !launcher.is_first_alone).then_some(JobRank { rank, process_count: None })
}

/// Whether a launcher started this process, alone or with others, by the values of `variable`.
fn has_launcher(variable: impl Fn(&str) -> Option<String>) -> bool {
    LAUNCHERS.iter().any(|launcher| variable(launcher.rank).is_some())
}

/// What the environment says of launchers, as it is when this is called first: an MPI library, once it is started, sets variables
/// of launchers also where there is none.
fn launched() -> (bool, Option<JobRank>) {
    static LAUNCHED: OnceLock<(bool, Option<JobRank>)> = OnceLock::new();
    #[allow(clippy::disallowed_methods, reason = "the environment is read in this crate")]
    *LAUNCHED.get_or_init(|| {
        let variable = |name: &str| std::env::var(name).ok();
        (has_launcher(variable), job_rank(variable))
    })
}

/// Whether a launcher started this process, alone or with others; to be asked before an MPI library is started.
pub(crate) fn is_launched() -> bool {
    launched().0
}

/// The rank of this process in a job of several; to be asked before an MPI library is started.
#[must_use]
pub fn launched_rank() -> Option<JobRank> {
    launched().1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(set: &[(&str, &str)]) -> Option<JobRank> {
        job_rank(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    /// What launchers set for the rank R of N, as their manuals and sources say; two words are one variable.
    const SET_BY: [(&str, &str, bool); 9] = [
        ("Open MPI 4 mpirun", "OMPI_COMM_WORLD_RANK=R OMPI_COMM_WORLD_SIZE=N PMIX_RANK=R", true),
        ("MPICH mpiexec", "PMI_RANK=R PMI_SIZE=N PMI_FD=7", true),
        ("MVAPICH2 mpirun_rsh", "MV2_COMM_WORLD_RANK=R MV2_COMM_WORLD_SIZE=N", true),
        ("flux run", "FLUX_TASK_RANK=R FLUX_JOB_SIZE=N", true),
        ("srun --mpi=none", "SLURM_PROCID=R SLURM_STEP_NUM_TASKS=N SLURM_NTASKS=N", true),
        ("srun --mpi=pmi2", "SLURM_PROCID=R SLURM_STEP_NUM_TASKS=N PMI_RANK=R PMI_SIZE=N", true),
        ("srun --mpi=pmix", "SLURM_PROCID=R SLURM_STEP_NUM_TASKS=N PMIX_RANK=R PMIX_NAMESPACE=x", true),
        ("srun with the rank of PMI alone", "PMI_RANK=R", false),
        ("prun", "PMIX_RANK=R PMIX_NAMESPACE=x", false),
    ];

    fn set_by(variables: &str, rank: u32, count: u32) -> Option<JobRank> {
        let variables = variables.replace("=R", &format!("={rank}")).replace("=N", &format!("={count}"));
        found(&variables.split(' ').filter_map(|one| one.split_once('=')).collect::<Vec<_>>())
    }

    #[test]
    fn every_process_of_several_is_found_whatever_started_it() {
        for (name, variables, says_count) in SET_BY {
            for rank in 0..4 {
                let process_count = says_count.then_some(4);
                assert_eq!(set_by(variables, rank, 4), Some(JobRank { rank, process_count }), "{name}");
            }
        }
    }

    #[test]
    fn a_launcher_of_one_process_is_a_launcher() {
        let launched = |name: &str| (name == "OMPI_COMM_WORLD_RANK").then(|| "0".to_owned());
        assert!(has_launcher(launched) && !has_launcher(|_| None));
    }

    #[test]
    fn a_process_that_is_alone_is_in_no_job() {
        assert_eq!(found(&[]), None);
        for (name, variables, _) in SET_BY.iter().filter(|(_, _, says_count)| *says_count) {
            assert_eq!(set_by(variables, 0, 1), None, "{name}");
        }
        assert_eq!(found(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")]), None, "a batch script");
        assert_eq!(found(&[("PMI_RANK", "x"), ("PMI_SIZE", "4")]), None);
    }
}
