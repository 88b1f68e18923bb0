//! Clients on the hosts that the command names, in turn, each started there by a remote shell.
//!
//! Not here: connecting to the hosts, which is done once for the run.

use super::clients::run_clients;
use super::host_of_client::HostOfClient;
use super::processes::{ChildPort, ClientStartOrder};
use super::{ClientEventSender, Coordinator, LocalContext, TrialHooks};
use crate::assignment::{Assignment, ClientOutput, OwnPlaceFacts};
use crate::error::RunError;
use crate::hosts::ClientHosts;
use narrows_engines::{EngineError, ErrorKind};
use narrows_model::{Cell, Target};
use std::path::Path;
use std::sync::Arc;

/// Client i on the i-th of the connected hosts, in turn.
#[derive(Debug, Clone)]
pub struct HostCoordinator {
    hosts: Arc<ClientHosts>,
    arguments: Vec<String>,
}

impl HostCoordinator {
    /// Clients on `hosts` that run the program there with `arguments` (the hidden client command).
    #[must_use]
    pub fn new(hosts: Arc<ClientHosts>, arguments: Vec<String>) -> Self {
        Self { hosts, arguments }
    }

    fn start(
        &self,
        assignment: &Assignment,
        offsets_ns: &[i64],
        sender: &ClientEventSender,
    ) -> Result<ChildPort, RunError> {
        let client_index = assignment.client_index;
        let Some((launcher, facts)) = self.hosts.of_client(client_index) else {
            return Err(EngineError::new(ErrorKind::Unsupported, "start", "a client")
                .detail("there is no host for it")
                .into());
        };
        let offset_ns = offsets_ns.get(client_index as usize % self.hosts.count()).copied();
        let host = HostOfClient::new(facts, offset_ns.unwrap_or(facts.clock_offset_ns));
        // Elsewhere the same folder has other numbers.
        let folders =
            if host.shares_machine { OwnPlaceFacts::of_target(assignment.target()) } else { Vec::new() };
        let assignment = with_whole_paths(assignment, self.hosts.folder());
        let assignment = if host.shares_machine { assignment } else { elsewhere(assignment) };
        let order = ClientStartOrder {
            assignment: Assignment { brings_cache: !host.shares_machine, ..assignment },
            folders: folders.into_iter().map(|facts| facts.below(self.hosts.folder())).collect(),
            host: Some(host),
        };
        ChildPort::start(launcher.command(&self.arguments), order, sender)
    }
}

impl Coordinator for HostCoordinator {
    fn run(
        &self,
        assignments: &[Assignment],
        context: &LocalContext<'_>,
        hooks: &mut dyn TrialHooks,
    ) -> Result<Vec<ClientOutput>, RunError> {
        for assignment in assignments {
            self.check_target(assignment)?;
        }
        let offsets_ns = self.hosts.offsets_ns(assignments.len(), context.clock.as_ref(), context.stop)?;
        run_clients(assignments, context, hooks, &mut |assignment, sender| {
            Ok(Box::new(self.start(assignment, &offsets_ns, sender)?))
        })
    }

    fn notice_ns(&self) -> u64 {
        self.hosts.notice_ns()
    }
}

impl HostCoordinator {
    /// Fails for a block device on another machine: the same name is another disk there.
    fn check_target(&self, assignment: &Assignment) -> Result<(), RunError> {
        let elsewhere = self.hosts.of_client(assignment.client_index);
        let elsewhere = elsewhere.filter(|(_, facts)| !facts.shares_machine);
        let is_block = |member: &Target| matches!(member, Target::Block(_));
        match elsewhere.filter(|_| assignment.target().members().iter().any(is_block)) {
            None => Ok(()),
            Some((_, facts)) => Err(EngineError::new(
                ErrorKind::Unsupported,
                "load",
                format!("{} from host {}", assignment.target(), facts.name),
            )
            .detail("a block device of this machine is another disk there; measure it without --hosts")
            .into()),
        }
    }
}

/// `assignment` of a client on another machine: of files it opens its own alone, because what its file system remembers of
/// those of other clients may be out of date, and be taken for files that were truncated.
fn elsewhere(assignment: Assignment) -> Assignment {
    let workload = &assignment.cell.workload;
    let opens_others = workload.verify || workload.objects.is_some();
    if opens_others || !matches!(assignment.target(), Target::File { .. }) {
        return assignment;
    }
    assignment.with_own_object_alone()
}

/// `assignment` with paths that are the same wherever its process starts.
fn with_whole_paths(assignment: &Assignment, folder: &Path) -> Assignment {
    let cell = &assignment.cell;
    let cell = Cell {
        target: whole_path(&cell.target, folder),
        more_targets: cell.more_targets.iter().map(|target| whole_path(target, folder)).collect(),
        ..cell.clone()
    };
    Assignment { cell, ..assignment.clone() }
}

/// `target` with each path below `folder`, unless it begins at the root, as those of devices do.
fn whole_path(target: &Target, folder: &Path) -> Target {
    match target {
        Target::File { path } => Target::File { path: folder.join(path) },
        Target::Stripe(stripe) => stripe
            .with_members(|member| whole_path(member, folder))
            .map_or_else(|_| target.clone(), Target::Stripe),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::{Cut, Nanos, Stop, Workload};

    #[test]
    fn a_client_elsewhere_opens_its_own_file_alone_unless_it_reads_those_of_others() {
        let assignment = |target: &str, verify| {
            let workload = Workload { clients: 3, verify, ..Workload::default() };
            let stop = Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(1), bytes_max: None, ops_max: None };
            Assignment::plain(Cell::new(Cut::Path, target.parse().unwrap(), workload, stop), 1)
        };
        let opened = |target: &str, verify| elsewhere(assignment(target, verify)).objects;
        assert_eq!(opened("/srv/data", false), ["data-1"]);
        assert_eq!(opened("/srv/data", true), ["data-0", "data-1", "data-2"]);
        assert_eq!(opened("tcp://a:7300/disk", false).len(), 3);
    }

    #[test]
    fn paths_are_whole_wherever_the_process_starts() {
        let led = |text: &str| whole_path(&text.parse().unwrap(), Path::new("/home/me")).to_string();
        assert_eq!(led("data"), "/home/me/data");
        assert_eq!(led("/srv/data"), "/srv/data");
        assert_eq!(led("stripe:a,/b?unit=4KiB"), "stripe:/home/me/a,/b?unit=4KiB");
        assert_eq!(led("null:"), "null:");
    }
}
