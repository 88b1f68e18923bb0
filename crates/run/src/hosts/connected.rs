//! The hosts of a run, all of which answer, run this build and have a clock that can be compared with this one's.

use super::connection::HostConnection;
use super::{HostClock, HostLauncher};
use crate::error::RunError;
use crate::host_identity::HostIdentity;
use crate::stop::StopFlag;
use narrows_engines::Clock;
use narrows_model::Nanos;
use narrows_model::client_host::ClientHostFacts;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Longest wait for the first answer of all hosts: a remote shell may look up names and start on a slow host.
const FIRST_ANSWER_NS_MAX: u64 = 30_000_000_000;
/// Largest error of a clock's offset: times of clients may differ by it. The start of load and moved windows are sent so
/// long before they are due that twice as much on the way is no harm.
const UNCERTAINTY_NS_MAX: u64 = 20_000_000;
/// The start of load is sent so many times the largest error of an offset before it is due: half of the round trip is
/// the way there, and a busy network takes longer than its shortest round trip.
const NOTICE_FACTOR: u64 = 4;

/// What is wrong with a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostProblemKind {
    /// It runs another build: install one.
    Build,
    /// It does not answer, has no such program, or its clock cannot be compared.
    Unusable,
}

/// Why a host cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostProblem {
    /// What the caller does next.
    pub kind: HostProblemKind,
    /// What is wrong with which host, and what to do.
    pub message: String,
}

/// The hosts of a run, connected.
pub struct ClientHosts {
    connections: Mutex<Vec<HostConnection>>,
    launchers: Vec<HostLauncher>,
    facts: Vec<ClientHostFacts>,
    /// Of each host: whether it reads the clock of this machine.
    shares_clock: Vec<bool>,
    /// Largest error of the offsets that were measured last.
    uncertainty_ns: AtomicU64,
    /// Where relative paths begin.
    folder: PathBuf,
}

impl std::fmt::Debug for ClientHosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientHosts").field("facts", &self.facts).finish_non_exhaustive()
    }
}

impl ClientHosts {
    /// Connects to all hosts of `launchers` at once, each with `arguments` (the hidden client command). `own` is this
    /// machine and this program; relative paths of targets begin at `folder`.
    ///
    /// # Errors
    /// All that is wrong, once for each host.
    pub fn connect(
        launchers: Vec<HostLauncher>,
        arguments: &[String],
        own: &HostIdentity,
        folder: PathBuf,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, Vec<HostProblem>> {
        let until_ns = clock.now().0.saturating_add(FIRST_ANSWER_NS_MAX);
        // All are started before the first is waited for.
        let started: Vec<(String, Result<HostConnection, String>)> = launchers
            .iter()
            .map(|launcher| (launcher.name.clone(), HostConnection::start(launcher.clone(), arguments)))
            .collect();
        let mut hosts = Self {
            connections: Mutex::default(),
            launchers,
            facts: vec![],
            shares_clock: vec![],
            uncertainty_ns: AtomicU64::default(),
            folder,
        };
        let mut problems = Vec::new();
        for (name, started) in started {
            let accepted = started
                .map_err(|problem| unusable(&name, &problem))
                .and_then(|connection| hosts.add(connection, own, until_ns, clock.as_ref()));
            problems.extend(accepted.err());
        }
        if problems.is_empty() { Ok(hosts) } else { Err(problems) }
    }

    fn add(
        &mut self,
        mut connection: HostConnection,
        own: &HostIdentity,
        until_ns: u64,
        clock: &dyn Clock,
    ) -> Result<(), HostProblem> {
        let name = connection.launcher().name.clone();
        let identity = connection.identity(until_ns, clock).map_err(|problem| unusable(&name, &problem))?;
        check_build(&name, &identity, own)?;
        let shares_clock = identity.shares_clock(own);
        let read = connection.read_clock(clock, &StopFlag::default());
        let read = read
            .map_err(|error| HostProblem { kind: HostProblemKind::Unusable, message: error.to_string() })?;
        let offset = if shares_clock { HostClock::default() } else { read };
        check_clock(&name, offset)?;
        self.uncertainty_ns.fetch_max(offset.uncertainty_ns, Ordering::Relaxed);
        self.facts.push(ClientHostFacts {
            shares_machine: identity.shares_machine(own),
            boot_id: Some(identity.boot_id).filter(|id| !id.is_empty()),
            hostname: identity.hostname,
            kernel_release: identity.kernel_release,
            affinity_cpus: identity.affinity_cpus,
            memory_bytes: identity.memory_bytes,
            clock_offset_ns: offset.offset_ns,
            clock_uncertainty_ns: Nanos(offset.uncertainty_ns),
            name,
        });
        self.shares_clock.push(shares_clock);
        self.connections.get_mut().unwrap_or_else(PoisonError::into_inner).push(connection);
        Ok(())
    }

    /// The hosts, in their order.
    #[must_use]
    pub fn facts(&self) -> &[ClientHostFacts] {
        &self.facts
    }

    /// Checks that each host has all of `folders`, which this machine has.
    ///
    /// # Errors
    /// What is missing where, once for each host; hosts that do not answer any more.
    pub fn check_folders(
        &self,
        folders: &[PathBuf],
        clock: &dyn Clock,
        stop: &StopFlag,
    ) -> Result<(), Vec<HostProblem>> {
        let whole: Vec<PathBuf> = folders.iter().map(|folder| self.folder.join(folder)).collect();
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let problems = connections.iter_mut().filter_map(|connection| {
            let name = connection.launcher().name.clone();
            match connection.missing(&whole, clock, stop) {
                Ok(missing) => missing.first().map(|folder| unusable(&name, &missing_words(folder))),
                Err(RunError::Stopped) => None,
                Err(error) => {
                    Some(HostProblem { kind: HostProblemKind::Unusable, message: error.to_string() })
                }
            }
        });
        let problems: Vec<HostProblem> = problems.collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// How many there are, at least one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.facts.len().max(1)
    }

    /// The host of client `client_index`, and how clients are started there.
    pub(crate) fn of_client(&self, client_index: u32) -> Option<(&HostLauncher, &ClientHostFacts)> {
        let index = client_index as usize % self.count();
        self.launchers.get(index).zip(self.facts.get(index))
    }

    /// Where relative paths of targets begin.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// By how much the start of load is sent ahead of its time, by the offsets that were measured last; 0 where all hosts
    /// have this clock.
    pub(crate) fn notice_ns(&self) -> u64 {
        self.uncertainty_ns.load(Ordering::Relaxed).saturating_mul(NOTICE_FACTOR)
    }

    /// The offsets of the clocks of the hosts of the first `count` clients now: clocks drift apart in the course of a run.
    /// Each of these hosts has answered.
    ///
    /// # Errors
    /// When one of them does not answer, or cannot be compared with this clock any more, or a stop is asked for.
    pub(crate) fn offsets_ns(
        &self,
        count: usize,
        clock: &dyn Clock,
        stop: &StopFlag,
    ) -> Result<Vec<i64>, RunError> {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let mut offsets_ns = Vec::new();
        let mut uncertainty_ns = 0;
        for (connection, shares_clock) in connections.iter_mut().zip(&self.shares_clock).take(count) {
            let offset = read_comparable(|| {
                let read = connection.read_clock(clock, stop)?;
                Ok(if *shares_clock { HostClock::default() } else { read })
            })?;
            let offset = offset.map_err(|problem| RunError::Client {
                client_index: u32::try_from(offsets_ns.len()).unwrap_or(u32::MAX),
                client_count: u32::try_from(count).unwrap_or(u32::MAX),
                host: Some(connection.launcher().name.clone()),
                problem: format!("cannot start with the others: its host {problem}"),
            })?;
            uncertainty_ns = offset.uncertainty_ns.max(uncertainty_ns);
            offsets_ns.push(offset.offset_ns);
        }
        self.uncertainty_ns.store(uncertainty_ns, Ordering::Relaxed);
        Ok(offsets_ns)
    }
}

/// A clock by `read` that can be compared with this one, by the second reading if not by the first: a network may be busy
/// for a moment. Else what is wrong, as a phrase behind the host's name.
///
/// # Errors
/// Those of `read`.
fn read_comparable(
    mut read: impl FnMut() -> Result<HostClock, RunError>,
) -> Result<Result<HostClock, String>, RunError> {
    let first = read()?;
    let clock = if clock_problem(first).is_some() { read()? } else { first };
    Ok(clock_problem(clock).map_or(Ok(clock), Err))
}

/// That a host does not have a folder, as a phrase behind its name.
fn missing_words(folder: &Path) -> String {
    format!(
        "does not have the folder {}, which this machine has; with --hosts it has to be on a file system that each host has \
         mounted at the same path",
        folder.display()
    )
}

fn unusable(name: &str, problem: &str) -> HostProblem {
    HostProblem { kind: HostProblemKind::Unusable, message: format!("host {name} {problem}") }
}

/// Fails where the host runs another build than this one.
fn check_build(name: &str, identity: &HostIdentity, own: &HostIdentity) -> Result<(), HostProblem> {
    if identity.is_same_build(own) {
        return Ok(());
    }
    let message = format!(
        "host {name} runs another build ({}) than this machine ({}); install one build on all hosts, or give its path there \
         with --remote-program",
        identity.build(),
        own.build()
    );
    Err(HostProblem { kind: HostProblemKind::Build, message })
}

/// Fails where the clock of the host cannot be compared with this one closely enough for a common start.
fn check_clock(name: &str, clock: HostClock) -> Result<(), HostProblem> {
    clock_problem(clock).map_or(Ok(()), |problem| Err(unusable(name, &problem)))
}

/// Why a clock cannot be compared with this one closely enough, as a phrase behind its host's name; `None` where it can.
fn clock_problem(clock: HostClock) -> Option<String> {
    if clock.uncertainty_ns <= UNCERTAINTY_NS_MAX {
        return None;
    }
    let ms = |ns: u64| ns as f64 / 1e6;
    Some(format!(
        "takes {:.0} ms to answer at best, and so the times of its clients would be uncertain by {:.0} ms, more than {:.0} \
         ms; use hosts that are nearer to each other, and start the command on one of them",
        ms(clock.uncertainty_ns.saturating_mul(2)),
        ms(clock.uncertainty_ns),
        ms(UNCERTAINTY_NS_MAX)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(program: &str) -> HostIdentity {
        HostIdentity { version: "0.1.0".to_owned(), program: program.to_owned(), ..HostIdentity::default() }
    }

    #[test]
    fn another_build_is_refused_with_both_builds_and_the_host() {
        assert_eq!(check_build("b", &build("p"), &build("p")), Ok(()));
        let problem = check_build("b", &build("p"), &build("q")).unwrap_err();
        assert_eq!(problem.kind, HostProblemKind::Build);
        assert!(
            problem.message.starts_with(
                "host b runs another build (0.1.0, p) than this machine (0.1.0, q); install one build"
            ),
            "{}",
            problem.message
        );
    }

    #[test]
    fn a_clock_far_away_is_refused_and_one_far_ahead_is_not() {
        let clock = |offset_ns, uncertainty_ns| HostClock { offset_ns, uncertainty_ns };
        assert_eq!(check_clock("b", clock(i64::MAX / 2, 1000)), Ok(()));
        let problem = check_clock("b", clock(0, 30_000_000)).unwrap_err();
        assert_eq!(problem.kind, HostProblemKind::Unusable);
        assert!(problem.message.starts_with("host b takes 60 ms to answer at best"), "{}", problem.message);
    }

    #[test]
    fn a_clock_that_has_become_uncertain_is_read_once_more_and_then_refused() {
        let of = |uncertainties_ns: &[u64]| {
            let mut left = uncertainties_ns.iter();
            let read = read_comparable(|| match left.next() {
                Some(uncertainty_ns) => Ok(HostClock { offset_ns: 7, uncertainty_ns: *uncertainty_ns }),
                None => Err(RunError::Stopped),
            });
            (read, left.len())
        };
        let read = |uncertainty_ns| Ok(HostClock { offset_ns: 7, uncertainty_ns });
        let (near, left) = of(&[20_000_000, 1]);
        assert_eq!((near.unwrap(), left), (read(20_000_000), 1));
        assert_eq!(of(&[30_000_000, 1000]).0.unwrap(), read(1000));
        let problem = of(&[30_000_000, 25_000_000, 1]).0.unwrap().unwrap_err();
        assert!(problem.starts_with("takes 50 ms to answer at best"), "{problem}");
        assert!(matches!(of(&[30_000_000]).0, Err(RunError::Stopped)));
    }

    #[test]
    fn the_notice_is_of_the_offsets_that_were_measured_last() {
        let hosts = ClientHosts {
            connections: Mutex::default(),
            launchers: vec![],
            facts: vec![],
            shares_clock: vec![],
            uncertainty_ns: AtomicU64::new(5),
            folder: PathBuf::new(),
        };
        assert_eq!(hosts.notice_ns(), 5 * NOTICE_FACTOR);
        let clock = narrows_engines::MonotonicClock::new();
        assert_eq!(hosts.offsets_ns(1, &clock, &StopFlag::default()).unwrap(), [0; 0]);
        assert_eq!(hosts.notice_ns(), 0);
    }

    #[test]
    fn a_shell_that_is_not_there_and_one_that_fails_are_reported_once_each() {
        let launcher = |name: &str, shell: &[&str]| HostLauncher {
            name: name.to_owned(),
            shell: shell.iter().map(|word| (*word).to_owned()).collect(),
            program: "narrows".to_owned(),
        };
        let clock: Arc<dyn Clock> = Arc::new(narrows_engines::MonotonicClock::new());
        let launchers = vec![
            launcher("a", &["/no/such/shell"]),
            launcher("b", &["sh", "-c", "echo ssh: cannot resolve $0 >&2; exit 255"]),
        ];
        let problems = ClientHosts::connect(launchers, &[], &build("p"), PathBuf::new(), &clock).unwrap_err();
        let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(messages.len(), 2);
        assert!(
            messages[0]
                .starts_with("host a cannot be used: the remote shell /no/such/shell could not be started")
        );
        assert!(messages[1].contains("ended with exit code 255: ssh: cannot resolve b"), "{}", messages[1]);
    }
}
