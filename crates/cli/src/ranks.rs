//! The ranks of an MPI job as clients: what the binary that has an MPI library brings along, and the life of a rank that is
//! not the first.
//!
//! Not here: MPI itself, which is that binary's.

use crate::Setup;
use crate::exit::CommandFailure;
use crate::registry;
use narrows_engines::{Clock, MonotonicClock};
use narrows_model::rank::RankFacts;
use narrows_model::{Cell, Plan};
use narrows_run::client_process::{AnswerFn, ClientOrder, serve_orders};
use narrows_run::{Coordinator, HostIdentity};
use std::fmt;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, OnceLock};

/// The job that this process is the first rank of.
#[derive(Clone)]
pub struct RankJob {
    /// All ranks, in their order.
    pub ranks: Vec<RankFacts>,
    /// Starts a trial's clients on them.
    pub coordinator: Arc<dyn Coordinator + Send + Sync>,
}

impl fmt::Debug for RankJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RankJob").field("ranks", &self.ranks).finish_non_exhaustive()
    }
}

static JOB: OnceLock<Option<RankJob>> = OnceLock::new();

/// Keeps the job; once, before any command.
pub(crate) fn prepare(setup: &Setup) {
    // A process has one, whoever is first.
    drop(JOB.set(setup.job.clone()));
}

fn job() -> Option<&'static RankJob> {
    JOB.get().and_then(Option::as_ref)
}

/// Whether clients are ranks of a job.
pub(crate) fn is_job() -> bool {
    job().is_some()
}

/// Starts clients on the ranks of the job; `None` without one.
pub(crate) fn coordinator() -> Option<Arc<dyn Coordinator + Send + Sync>> {
    job().map(|job| Arc::clone(&job.coordinator))
}

/// All ranks of the job; empty without one.
pub(crate) fn facts() -> &'static [RankFacts] {
    job().map_or(&[], |job| &job.ranks)
}

/// The host of each rank, in their order; empty without a job.
pub(crate) fn host_names() -> Vec<String> {
    facts().iter().map(|rank| rank.host.clone()).collect()
}

/// How many clients a load has that does not say so.
pub(crate) fn usual_clients() -> u32 {
    u32::try_from(facts().len()).unwrap_or(u32::MAX).max(1)
}

/// Ranks of the first host among the first `clients` ranks, where these are on several hosts and the second is on the first one
/// too; `None` where they are placed by turns, on one host, or there is no job.
pub(crate) fn of_first_host(clients: u32) -> Option<u32> {
    let ranks = facts();
    count_of_first_host(ranks.get(..clients as usize).unwrap_or(ranks))
}

/// The same among these ranks.
///
/// # Source
/// IOR and mdtest of IOR 4.1, which multiply the shift of ranks by it.
fn count_of_first_host(ranks: &[RankFacts]) -> Option<u32> {
    let first = &ranks.first()?.host;
    let count = ranks.iter().filter(|rank| rank.host == *first).count();
    let is_after_each_other = ranks.get(1).is_some_and(|second| second.host == *first);
    u32::try_from(count).ok().filter(|_| is_after_each_other && count < ranks.len())
}

/// Whether there are as many ranks as the clients of `cell`; always without a job, where processes are started.
pub(crate) fn suffice_for(cell: &Cell) -> bool {
    !is_job() || cell.workload.clients <= usual_clients()
}

/// That ranks of the job do nothing, where no cell of `plan` has as many clients; `None` where all are used.
pub(crate) fn idle_ranks(plan: &Plan) -> Option<String> {
    let clients = plan.cells.iter().map(|cell| cell.workload.clients).max().unwrap_or(1).max(1);
    idle_words(clients, usual_clients())
}

fn idle_words(clients: u32, ranks: u32) -> Option<String> {
    let last = ranks.checked_sub(1).filter(|last| *last >= clients)?;
    let who = if last == clients {
        format!("rank {last} of this job does nothing")
    } else {
        format!("ranks {clients}-{last} of this job do nothing")
    };
    let load = if clients == 1 { "rank 0 alone".to_owned() } else { format!("{clients} ranks at most") };
    Some(format!("narrows: {who}: the load of this command is put on by {load}"))
}

/// Where the ranks are, in a line for each host.
pub(crate) fn placement(ranks: &[RankFacts]) -> Vec<String> {
    let mut hosts: Vec<&str> = Vec::new();
    for rank in ranks {
        if !hosts.contains(&rank.host.as_str()) {
            hosts.push(&rank.host);
        }
    }
    let line = |host: &str| {
        let own: Vec<&RankFacts> = ranks.iter().filter(|rank| rank.host == host).collect();
        let numbers: Vec<u32> = own.iter().map(|rank| rank.rank).collect();
        let mut cpus: Vec<u32> = own.iter().flat_map(|rank| rank.cpus.iter().copied()).collect();
        cpus.sort_unstable();
        cpus.dedup();
        let each = own.iter().all(|rank| rank.cpus == cpus);
        let shared = if each { "each on CPUs" } else { "bound, together on CPUs" };
        let ranks = if own.len() == 1 { "rank" } else { "ranks" };
        format!("{ranks} {} on {host}, {shared} {}", list(&numbers), list(&cpus))
    };
    hosts.into_iter().map(line).collect()
}

/// Ascending numbers as ranges: `0-3,7`.
fn list(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.saturating_add(1) == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let text = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

/// Serves the first rank of a job: runs the assignments among `orders` until they end.
///
/// # Errors
/// When the system refuses what a client needs, or an answer could not be sent.
pub fn serve_rank(
    setup: &Setup,
    orders: Receiver<ClientOrder>,
    answer: &mut AnswerFn<'_>,
) -> Result<(), CommandFailure> {
    prepare(setup);
    registry::prepare(setup);
    narrows_sys::process::keep_rights_of_owner();
    narrows_sys::process::report_oversized_files_as_errors()
        .map_err(|error| CommandFailure::could_not_run(error.to_string()))?;
    let clock: Arc<dyn Clock> = Arc::new(MonotonicClock::new());
    serve_orders(orders, answer, &registry::registry(), &clock, &HostIdentity::default)
        .map_err(|error| CommandFailure::could_not_run(format!("answer the first rank: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Nanos;

    fn rank(rank: u32, host: &str, cpus: &[u32]) -> RankFacts {
        let host = host.to_owned();
        let cpus = cpus.to_vec();
        RankFacts {
            rank,
            host,
            pid: 1,
            cpus,
            memory_bytes: None,
            clock_offset_ns: 0,
            clock_uncertainty_ns: Nanos(0),
        }
    }

    #[test]
    fn ranks_without_a_client_are_named() {
        assert_eq!(idle_words(4, 4), None);
        assert_eq!(idle_words(8, 4), None);
        let said = |clients, ranks| idle_words(clients, ranks).unwrap();
        assert!(
            said(1, 2).contains(
                "rank 1 of this job does nothing: the load of this command is put on by rank 0 alone"
            )
        );
        assert!(
            said(2, 8).contains("ranks 2-7 of this job do nothing")
                && said(2, 8).ends_with("by 2 ranks at most")
        );
    }

    #[test]
    fn ranks_of_the_first_host_are_counted_where_they_come_after_each_other_on_several_hosts() {
        let count = |hosts: &str| {
            let ranks: Vec<RankFacts> =
                (0..).zip(hosts.split(' ')).map(|(number, host)| rank(number, host, &[0])).collect();
            count_of_first_host(&ranks)
        };
        assert_eq!((count("a a b b"), count("a a a b"), count("a a b b c")), (Some(2), Some(3), Some(2)));
        assert_eq!((count("a b a b"), count("a b"), count("a a a"), count("a")), (None, None, None, None));
        assert_eq!(count_of_first_host(&[]), None);
    }

    #[test]
    fn a_placement_names_hosts_ranks_and_processors() {
        let all = [rank(0, "a", &[0, 1]), rank(1, "a", &[0, 1]), rank(2, "b", &[0]), rank(3, "b", &[2])];
        assert_eq!(
            placement(&all),
            ["ranks 0-1 on a, each on CPUs 0-1", "ranks 2-3 on b, bound, together on CPUs 0,2"]
        );
    }
}
