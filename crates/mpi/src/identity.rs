//! What a rank says of itself at the start: where it runs, what it runs, and by which clock.

use narrows_model::Bytes;
use serde::{Deserialize, Serialize};

/// One rank, as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RankIdentity {
    /// The name of its host.
    pub(crate) host: String,
    /// Its process.
    pub(crate) pid: u32,
    /// When that was started, in ticks since boot.
    pub(crate) started_ticks: u64,
    /// CPUs on which it may run.
    pub(crate) cpus: Vec<u32>,
    /// Memory that it can use; `None` where it is not known.
    pub(crate) memory_bytes: Option<Bytes>,
    /// Boot id and namespace of processes: equal where processes of both are known by the same numbers.
    pub(crate) processes: String,
    /// Boot id and namespace of time: equal where both have one monotonic clock.
    pub(crate) clock: String,
    /// Length and checksum of its program.
    pub(crate) program: String,
    /// Its words behind the program's name.
    pub(crate) words: Vec<String>,
}

impl RankIdentity {
    /// That of this process.
    ///
    /// # Cost
    /// Reads the whole program once.
    pub(crate) fn of_this_process() -> Self {
        let own = narrows::own_identity();
        let pid = std::process::id();
        Self {
            host: own.hostname,
            pid,
            started_ticks: narrows_sys::process::started_ticks(pid).unwrap_or_default(),
            cpus: own.affinity_cpus,
            memory_bytes: own.memory_bytes,
            processes: own.processes,
            clock: own.clock,
            program: own.program,
            words: std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect(),
        }
    }

    /// Whether the process of `other` is known here by its number.
    pub(crate) fn knows_process_of(&self, other: &Self) -> bool {
        !self.processes.is_empty() && self.processes == other.processes
    }
}

/// What is wrong with the ranks of one job, in a sentence; `None` where all run the same.
pub(crate) fn difference(all: &[RankIdentity]) -> Option<String> {
    let first = all.first()?;
    let differ = |is_other: &dyn Fn(&RankIdentity) -> bool| {
        let others = all.iter().enumerate().filter(|(_, rank)| is_other(rank));
        let others: Vec<String> = others.map(|(number, rank)| format!("{number} on {}", rank.host)).collect();
        (!others.is_empty()).then(|| shortened(&others))
    };
    if let Some(others) = differ(&|rank| rank.program != first.program) {
        return Some(format!(
            "ranks {others} run another build of narrows-mpi than rank 0 on {} ({}); install one build on all hosts",
            first.host, first.program
        ));
    }
    let others = differ(&|rank| rank.words != first.words)?;
    Some(format!(
        "ranks {others} were started with other words than rank 0 (`{}`), and a job has one plan; give all ranks the same \
         command",
        first.words.join(" ")
    ))
}

/// At most three of `all`, and how many more there are.
fn shortened(all: &[String]) -> String {
    let more = all.len().saturating_sub(3);
    let named = all.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(program: &str, words: &[&str]) -> RankIdentity {
        RankIdentity {
            host: "h".to_owned(),
            pid: 1,
            started_ticks: 1,
            cpus: vec![0],
            memory_bytes: None,
            processes: String::new(),
            clock: String::new(),
            program: program.to_owned(),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    #[test]
    fn one_sentence_names_the_ranks_that_differ() {
        let (a, b) = (identity("p", &["run", "a"]), identity("q", &["run", "a"]));
        assert_eq!(difference(&[a.clone(), a.clone()]), None);
        let message = difference(&[a.clone(), b.clone(), a.clone(), b.clone(), b.clone(), b]).unwrap();
        assert!(
            message.starts_with("ranks 1 on h, 3 on h, 4 on h and 1 more run another build"),
            "{message}"
        );
        let message = difference(&[a, identity("p", &["run", "b"])]).unwrap();
        assert!(
            message.contains("ranks 1 on h were started with other words than rank 0 (`run a`)"),
            "{message}"
        );
    }

    #[test]
    fn a_process_is_known_only_where_its_numbers_are() {
        let own = RankIdentity::of_this_process();
        assert!(own.knows_process_of(&own) && own.started_ticks > 0 && !own.cpus.is_empty());
        assert!(!own.knows_process_of(&identity("p", &[])));
    }
}
