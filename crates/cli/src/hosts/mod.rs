//! `--hosts`: from the words of the command line to connected hosts.
//!
//! Not here: connecting, and running clients there, which are `run`'s.

mod words;

use crate::args::{HostArguments, OutputArguments};
use crate::client::CLIENT_COMMAND;
use crate::exit::CommandFailure;
use crate::identity::own_identity;
use crate::ranks;
use crate::registry::registry;
use narrows_engines::Clock;
use narrows_model::client_host::ClientHostFacts;
use narrows_model::{EngineId, Plan, Target};
use narrows_run::hosts::{ClientHosts, HostLauncher, HostProblem, HostProblemKind};
use narrows_suites::ListedHost;
use std::sync::Arc;

/// Where the clients of a run are started.
#[derive(Debug, Clone)]
pub(crate) enum ClientStart {
    /// On this machine, each by these words in turn; without words by this program.
    Here(Vec<Vec<String>>),
    /// On these hosts, in turn.
    OnHosts(Arc<ClientHosts>),
}

impl ClientStart {
    /// On this machine, by this program.
    pub(crate) fn here() -> Self {
        Self::Here(Vec::new())
    }

    /// The hosts; empty where clients run on this machine.
    pub(crate) fn hosts(&self) -> &[ClientHostFacts] {
        match self {
            Self::Here(_) => &[],
            Self::OnHosts(hosts) => hosts.facts(),
        }
    }
}

/// The hosts that were named, checked as words; nothing was connected.
#[derive(Debug)]
pub(crate) struct NamedHosts {
    launchers: Vec<HostLauncher>,
}

impl NamedHosts {
    /// The hosts of `arguments`; none where none are named.
    ///
    /// # Errors
    /// Everything that is wrong with them, at once.
    pub(crate) fn new(arguments: &HostArguments) -> Result<Self, CommandFailure> {
        let Some(names) = &arguments.hosts else { return Self::unnamed(arguments) };
        if ranks::is_job() || registry().has(EngineId::Mpiio) {
            return Err(CommandFailure::bad_input(
                "--hosts starts clients by a remote shell, and narrows-mpi has the ranks of its job as clients; omit \
                 --hosts and name the hosts to mpirun, or use `narrows`",
            ));
        }
        let own_program = std::env::current_exe()
            .map_err(|error| CommandFailure::could_not_run(format!("find this program: {error}")))?;
        let launchers = words::launchers(arguments, names, &own_program);
        let launchers = launchers.map_err(|problems| CommandFailure::bad_input(problems.join("\n  ")))?;
        Ok(Self { launchers })
    }

    /// None, of which nothing else may be said.
    fn unnamed(arguments: &HostArguments) -> Result<Self, CommandFailure> {
        let given = [
            ("--remote-shell", arguments.remote_shell.is_some()),
            ("--remote-program", arguments.remote_program.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(Self::none()),
            Some((option, _)) => Err(CommandFailure::bad_input(format!(
                "{option} is for clients on other hosts, and none are named: add --hosts, or omit it"
            ))),
        }
    }

    /// None: clients run on this machine.
    pub(crate) fn none() -> Self {
        Self { launchers: Vec::new() }
    }

    /// The hosts that the file of `option` lists, each with its own program unless --remote-program is that of all. The
    /// remote shell is that of the variable RSH, as with the tools that such files are of, unless one was typed.
    ///
    /// # Errors
    /// Everything that is wrong with them, at once.
    pub(crate) fn listed(
        arguments: &HostArguments,
        hosts: &[ListedHost],
        option: &str,
    ) -> Result<Self, CommandFailure> {
        let own = arguments.remote_program.is_none();
        let wrong = hosts.iter().filter(|_| own).filter_map(|host| {
            words::named_program_problem(
                &host.program,
                &format!("{option}: found for {} the program", host.name),
            )
        });
        let wrong: Vec<String> = wrong.collect();
        if !wrong.is_empty() {
            return Err(CommandFailure::bad_input(wrong.join("\n  ")));
        }
        #[allow(clippy::disallowed_methods, reason = "the environment is read in this crate")]
        let of_environment = || std::env::var("RSH").ok().filter(|shell| !shell.trim().is_empty());
        let first = hosts.first().map(|host| host.program.clone());
        let mut named = Self::new(&HostArguments {
            hosts: Some(hosts.iter().map(|host| host.name.clone()).collect()),
            remote_shell: arguments.remote_shell.clone().or_else(of_environment),
            remote_program: arguments.remote_program.clone().or(first),
        })?;
        for (launcher, host) in named.launchers.iter_mut().zip(hosts).filter(|_| own) {
            launcher.program.clone_from(&host.program);
        }
        Ok(named)
    }

    /// Their names, in their order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.launchers.iter().map(|launcher| launcher.name.clone()).collect()
    }

    /// How many clients a load has that does not say so: one on each host.
    pub(crate) fn usual_clients(&self) -> u32 {
        if self.launchers.is_empty() {
            return ranks::usual_clients();
        }
        u32::try_from(self.launchers.len()).unwrap_or(u32::MAX)
    }

    /// Whether there are any.
    pub(crate) fn are_named(&self) -> bool {
        !self.launchers.is_empty()
    }

    /// Connects to all of them, of which clients load `targets`; clients run on this machine where none are named, and
    /// none run where only a plan is asked for.
    ///
    /// # Errors
    /// Why hosts cannot be used, once for each: bad input where one runs another build, or one of `targets` is a block
    /// device and a host, or that of a rank, is another machine.
    pub(crate) fn connect(
        self,
        output: &OutputArguments,
        targets: &[Target],
        clock: &Arc<dyn Clock>,
    ) -> Result<ClientStart, CommandFailure> {
        if output.plan {
            return Ok(ClientStart::here());
        }
        if self.launchers.is_empty() {
            let elsewhere = ranks::facts().iter().find(|rank| !rank.shares_machine());
            check_targets(elsewhere.map(|rank| rank.host.as_str()), "place all ranks on one host", targets)?;
            return Ok(ClientStart::here());
        }
        let folder = std::env::current_dir()
            .map_err(|error| CommandFailure::could_not_run(format!("find the current folder: {error}")))?;
        let arguments = [CLIENT_COMMAND.to_owned()];
        let connected = ClientHosts::connect(self.launchers, &arguments, &own_identity(), folder, clock);
        let hosts = connected.map_err(|problems| refusal(&problems))?;
        let elsewhere = hosts.facts().iter().find(|host| !host.shares_machine);
        check_targets(elsewhere.map(|host| host.name.as_str()), "omit --hosts", targets)?;
        Ok(ClientStart::OnHosts(Arc::new(hosts)))
    }
}

/// That hosts cannot be used, and why: bad input where one runs another build.
pub(crate) fn refusal(problems: &[HostProblem]) -> CommandFailure {
    let failure = |problem: &HostProblem| match problem.kind {
        HostProblemKind::Build => CommandFailure::bad_input(problem.message.clone()),
        HostProblemKind::Unusable => CommandFailure::could_not_run(problem.message.clone()),
    };
    let failures: Vec<CommandFailure> = problems.iter().map(failure).collect();
    CommandFailure::combine(&failures)
        .err()
        .unwrap_or_else(|| CommandFailure::could_not_run("no host can be used"))
}

/// Fails where clients on another machine, the host `elsewhere`, are to load a block device: its name is another disk there.
///
/// # Errors
/// That, with `advice`, before anything is written.
fn check_targets(elsewhere: Option<&str>, advice: &str, targets: &[Target]) -> Result<(), CommandFailure> {
    let Some(host) = elsewhere else { return Ok(()) };
    let is_block =
        |target: &&Target| target.members().iter().any(|member| matches!(member, Target::Block(_)));
    match targets.iter().find(is_block) {
        None => Ok(()),
        Some(target) => Err(CommandFailure::bad_input(format!(
            "target {target} is a block device, and on host {host} that name is another disk; {advice}, or export the \
             device (iscsi://, `narrows serve`)"
        ))),
    }
}

/// Where clients run, in a line for each host.
pub(crate) fn placement(hosts: &[ClientHostFacts]) -> Vec<String> {
    hosts.iter().map(line).collect()
}

fn line(host: &ClientHostFacts) -> String {
    let name = if host.hostname == host.name || host.hostname.is_empty() {
        host.name.clone()
    } else {
        format!("{} ({})", host.name, host.hostname)
    };
    let cpus = host.affinity_cpus.len();
    let clock = if host.clock_uncertainty_ns.0 == 0 {
        "the clock of this machine".to_owned()
    } else {
        format!("clock known within {:.3} ms", host.clock_uncertainty_ns.0 as f64 / 1e6)
    };
    format!("clients on {name}: {cpus} CPUs, {clock}")
}

/// That hosts do nothing, where no cell of `plan` has as many clients; `None` where all are used.
pub(crate) fn idle_hosts(plan: &Plan, hosts: &[ClientHostFacts]) -> Option<String> {
    let clients = plan.cells.iter().map(|cell| cell.workload.clients).max().unwrap_or(1).max(1);
    let idle: Vec<&str> = hosts.iter().skip(clients as usize).map(|host| host.name.as_str()).collect();
    (!idle.is_empty()).then(|| {
        format!("narrows: no client runs on {}: the load has {clients} clients at most", idle.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Nanos;

    fn host(name: &str, hostname: &str, clock_uncertainty_ns: u64) -> ClientHostFacts {
        ClientHostFacts {
            name: name.to_owned(),
            hostname: hostname.to_owned(),
            boot_id: None,
            shares_machine: clock_uncertainty_ns == 0,
            kernel_release: None,
            affinity_cpus: vec![0, 1],
            memory_bytes: None,
            clock_offset_ns: 0,
            clock_uncertainty_ns: Nanos(clock_uncertainty_ns),
        }
    }

    #[test]
    fn a_placement_names_each_host_with_its_cpus_and_clock() {
        let lines = placement(&[host("a", "a", 0), host("10.0.0.2", "b", 150_000)]);
        assert_eq!(lines[0], "clients on a: 2 CPUs, the clock of this machine");
        assert_eq!(lines[1], "clients on 10.0.0.2 (b): 2 CPUs, clock known within 0.150 ms");
    }

    #[test]
    fn one_host_of_another_build_makes_the_whole_failure_bad_input() {
        let problem = |kind, message: &str| HostProblem { kind, message: message.to_owned() };
        let silent = problem(HostProblemKind::Unusable, "host a has not answered");
        assert_eq!(refusal(std::slice::from_ref(&silent)).code(), 3);
        let both = refusal(&[silent, problem(HostProblemKind::Build, "host b runs another build")]);
        assert_eq!(both.code(), 2);
        assert!(both.message().contains("host a has") && both.message().contains("host b runs"));
    }
}
