//! What is refused in a process that a launcher of parallel jobs (`mpirun`, `srun`) has started, and why.

use crate::console::Console;
use crate::exit::CommandFailure;
use crate::job_rank::JobRank;
use std::ffi::OsString;
use std::process::ExitCode;

/// Suites of collective calls: their ranks run all of it together.
pub const COLLECTIVE_SUITES: [&str; 4] = ["mpi-io-test", "coll-perf", "mpi-tile-io", "noncontig"];

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
    let advice = "use `narrows-mpi` with the same words, whose ranks share one plan, or start one process without the launcher";
    CommandFailure::bad_input(match job.process_count {
        Some(count) => format!(
            "this command was started as {count} processes at once by a launcher of parallel jobs (mpirun, srun), and its \
             copies would disturb each other without knowing of each other; {advice}"
        ),
        None => format!(
            "this command was started by a launcher of parallel jobs that does not say how many processes there are (PMIx \
             alone), and copies would disturb each other without knowing of each other; {advice}"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_of_collective_calls_is_refused_with_the_program_that_has_it() {
        let refusal = |words: &[&str]| {
            let raw: Vec<OsString> = words.iter().map(OsString::from).collect();
            refusal_of_suite(&raw).map(|failure| (failure.code(), failure.message()))
        };
        for name in COLLECTIVE_SUITES {
            let (code, said) = refusal(&["narrows", "suite", name, "--json"]).unwrap();
            assert_eq!(code, 2);
            assert!(said.contains(&format!("start `mpirun -np N narrows-mpi suite {name}`")), "{said}");
        }
        assert_eq!(refusal(&["narrows", "suite", "bonnie"]), None);
        assert_eq!(refusal(&["narrows", "run", "noncontig"]), None);
    }
}
