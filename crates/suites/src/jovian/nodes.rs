//! A run on endpoints as it was typed: which servers have to be started for it, and what of it depends on the machines.
//!
//! Not here: starting them.

use super::arguments::{Arguments, FlushWord, ServePriority};
use super::label::{Label, labels};
use super::request::{CacheFlush, Request};
use crate::client_hosts::SuiteHosts;
use crate::suite::ArgumentError;
use narrows_model::{Bytes, Nanos, Target};
use narrows_study::Problem;
use std::path::{Path, PathBuf};

/// Sizes of dummy files are whole steps of this.
const FLUSH_STEP_BYTES: u64 = 1 << 20;

/// A run on endpoints.
#[derive(Debug)]
pub struct NodesRun {
    /// What is asked for.
    pub request: Request,
    typed: Arguments,
}

/// Servers that have to be started.
#[derive(Debug, Clone, Copy)]
pub struct ServersToStart {
    /// How many.
    pub count: u32,
    /// Bytes of all clients' files.
    pub file_bytes: Bytes,
    /// Most requests that each works on at once.
    pub disk_threads: Option<u32>,
    /// What comes first on a node that is client too.
    pub priority: ServePriority,
}

impl Arguments {
    /// The run that they ask for; servers are still to be started, and memory to be looked at.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(super) fn run(self) -> Result<NodesRun, ArgumentError> {
        let mut labels = labels(&self.labels)?;
        let endpoints = self.addresses()?;
        let own = endpoints.is_empty();
        if own && self.root.len() == 1 && !labels.contains(&Label::Local) {
            labels.insert(0, Label::Local);
        }
        if !own && labels.iter().all(|label| label.endpoints() == 0) {
            return Err(options(
                "--servers and --nodes are for configurations with servers, and local has none; omit them, or add \
                 other labels, such as c1-s2 or pp-2",
            ));
        }
        if let (Some(label), false) = (many_to_many(&labels), self.servers.is_empty()) {
            return Err(ArgumentError::Options(format!(
                "--servers: {label} runs clients at the nodes that serve; name them with --nodes"
            )));
        }
        if own && self.node_disks > 1 {
            return Err(options(
                "--node-disks is for servers that run already, one for each disk: name them with --servers or --nodes",
            ));
        }
        let request = Request {
            labels,
            disks: self.root.iter().map(|path| Target::File { path: path.clone() }).collect(),
            endpoints,
            node_disks: self.node_disks,
            hosts: SuiteHosts::default(),
            unit: self.unit,
            bytes: self.bytes,
            depth: self.depth,
            peer_depth: self.peer_depth,
            acknowledgement: self.ack,
            flush: CacheFlush::None,
            trials: self.trials,
            engine: Some(self.engine),
            cut_ns: (!self.no_verdict).then(|| Nanos::from_secs_f64(self.cell_seconds)),
            memory: None,
        };
        Ok(NodesRun { request, typed: self })
    }

    /// The endpoints elsewhere.
    fn addresses(&self) -> Result<Vec<(String, u16)>, ArgumentError> {
        let option = if self.nodes.is_empty() { "--servers" } else { "--nodes" };
        let named = self.servers.iter().chain(&self.nodes);
        let read = |text: &String| {
            narrows_model::target::host_port(text)
                .map_err(|problem| format!("{option} {text} {problem}; write HOST:PORT"))
        };
        let (found, wrong): (Vec<_>, Vec<_>) = named.map(read).partition(Result::is_ok);
        let wrong: Vec<String> = wrong.into_iter().filter_map(Result::err).collect();
        if wrong.is_empty() {
            return Ok(found.into_iter().flatten().collect());
        }
        Err(ArgumentError::Options(wrong.join("\n  ")))
    }
}

impl NodesRun {
    /// Folders of the node's disks, which must be folders where they are used.
    #[must_use]
    pub fn roots(&self) -> &[PathBuf] {
        let is_used = self.typed_endpoints_are_none() || self.request.labels.contains(&Label::Local);
        if is_used { &self.typed.root } else { &[] }
    }

    /// File with the token of the endpoints.
    #[must_use]
    pub fn token_file(&self) -> Option<&Path> {
        self.typed.token_file.as_deref()
    }

    /// The seed; one is drawn without it.
    #[must_use]
    pub fn seed(&self) -> Option<u64> {
        self.typed.seed
    }

    /// Checks that folders of `local` are on file systems of their own; `devices` are those of all roots, in their order.
    ///
    /// # Errors
    /// When two of them would count as two disks and are one.
    pub fn check_devices(&self, devices: &[u64]) -> Result<(), ArgumentError> {
        let same = devices.iter().enumerate().find(|(index, device)| devices[..*index].contains(device));
        match same.and_then(|(index, _)| self.typed.root.get(index)) {
            Some(root) if self.request.labels == [Label::Local] => Err(ArgumentError::Options(format!(
                "--root {} is on the same file system as a folder before it, and they would count as two disks; give \
                 folders on separate disks, or one of them",
                root.display()
            ))),
            _ => Ok(()),
        }
    }

    /// The servers that this command has to start, and the folder in which each has one; `None` where others are named or
    /// none is needed.
    ///
    /// # Errors
    /// All that is wrong with the request, before anything is made; options for servers that run already.
    pub fn servers_to_start(&mut self) -> Result<Option<(&Path, ServersToStart)>, ArgumentError> {
        self.check_serving()?;
        let count = self.request.labels.iter().map(|label| label.endpoints()).max().unwrap_or(0);
        if count == 0 || !self.request.endpoints.is_empty() {
            return Ok(None);
        }
        // As if they were there already.
        self.request.endpoints = (1..=count).map(|node| (format!("node{node}"), 7300)).collect();
        let problems: Vec<Problem> = self.request.problems();
        if !problems.is_empty() {
            return Err(ArgumentError::Problems(problems));
        }
        let clients: u64 = self.request.labels.iter().map(|label| u64::from(label.clients())).sum();
        let serving = ServersToStart {
            count,
            file_bytes: Bytes(self.request.client_bytes().0.saturating_mul(clients)),
            disk_threads: self.typed.disk_threads,
            priority: self.typed.priority,
        };
        Ok(self.typed.root.first().map(|root| (root.as_path(), serving)))
    }

    /// Fails where servers elsewhere are to be started in another way: they run already.
    fn check_serving(&self) -> Result<(), ArgumentError> {
        let given = [
            (self.typed.disk_threads.is_some(), "--disk-threads"),
            (self.typed.priority != ServePriority::Equal, "--priority"),
        ];
        match given.iter().find(|(is_given, _)| !self.typed_endpoints_are_none() && *is_given) {
            Some((_, option)) => Err(ArgumentError::Options(format!(
                "{option} is for servers that this command starts; give it to each `narrows serve` instead"
            ))),
            None => Ok(()),
        }
    }

    /// Has the clients run on `hosts`, in turn; of many-to-many the first host is the first node.
    ///
    /// # Errors
    /// Configurations and options that are of this machine alone, and nodes without a host.
    pub fn on_hosts(&mut self, hosts: &SuiteHosts) -> Result<(), ArgumentError> {
        if self.typed_endpoints_are_none() {
            return Err(options(
                "--hosts needs --servers or --nodes: servers that this command starts are on its own loopback, which other \
                 hosts do not reach; start `narrows serve` on the nodes, and name them",
            ));
        }
        if !self.typed.client_command.is_empty() {
            return Err(options(
                "--client-command starts clients on this machine, and --hosts on others: omit one of them",
            ));
        }
        if self.request.labels.contains(&Label::Local) {
            return Err(options(
                "local is a client with a disk of this machine, and --hosts has clients elsewhere: run local on a node by \
                 itself, without --hosts",
            ));
        }
        let many = self.request.labels.iter().filter(|label| matches!(label, Label::ManyToMany { .. }));
        if let Some(label) =
            many.max_by_key(|label| label.clients()).filter(|label| label.clients() > hosts.count())
        {
            return Err(ArgumentError::Options(format!(
                "{label} has a client at each of {} nodes, and --hosts names {}: name the host of each node, in the order \
                 of --nodes",
                label.clients(),
                hosts.count()
            )));
        }
        self.request.hosts = hosts.clone();
        Ok(())
    }

    /// Checks that clients run on this machine alone, unless they are on named hosts; `elsewhere` are endpoints of other
    /// machines.
    ///
    /// # Errors
    /// When a configuration needs clients there.
    pub fn check_clients(&self, elsewhere: &[String]) -> Result<(), ArgumentError> {
        let elsewhere = elsewhere.first().filter(|_| self.request.hosts.is_empty());
        match (many_to_many(&self.request.labels), elsewhere) {
            (Some(label), Some(address)) => Err(ArgumentError::Options(format!(
                "--nodes {address} is another machine, and {label} needs a client at each node: name the nodes with \
                 --hosts too, in the same order, which starts clients there; or measure remote servers from here with \
                 one-to-many. Running one-to-many at each node at once is not the same: those runs are not synchronised"
            ))),
            _ => Ok(()),
        }
    }

    /// The words that start each client.
    ///
    /// # Errors
    /// When there are fewer than clients, or servers of this command.
    pub fn launchers(&self) -> Result<Vec<Vec<String>>, ArgumentError> {
        let given = &self.typed.client_command;
        let most = self.request.labels.iter().map(|label| label.clients()).max().unwrap_or(1) as usize;
        if given.is_empty() {
            return Ok(Vec::new());
        }
        if self.typed_endpoints_are_none() {
            return Err(options(
                "--client-command needs --servers or --nodes: servers that this command starts are on its own loopback",
            ));
        }
        if given.len() < most || given.iter().any(|words| words.trim().is_empty()) {
            return Err(ArgumentError::Options(format!(
                "--client-command is given {} times and there are {most} clients; give one for each, such as \
                 --client-command 'ip netns exec node1'",
                given.len()
            )));
        }
        Ok(given.iter().map(|words| words.split_whitespace().map(str::to_owned).collect()).collect())
    }

    /// Adds what is known of the nodes: the memory of the largest, which a dummy file exceeds unless its size is given.
    ///
    /// # Errors
    /// When the size of the dummy file cannot be known, or is given without one.
    pub fn learn(&mut self, memory: Option<Bytes>) -> Result<(), ArgumentError> {
        self.request.memory = memory;
        self.request.flush = match (self.typed.flush, self.typed.flush_bytes) {
            (FlushWord::Dummy, Some(bytes)) => CacheFlush::Dummy(bytes),
            (FlushWord::Dummy, None) => {
                let memory = memory.ok_or_else(|| {
                    options("--flush-bytes: the memory of the nodes is not known; give a size larger than it")
                })?;
                let more = memory.0.saturating_add(memory.0 / 8);
                CacheFlush::Dummy(Bytes(more.div_ceil(FLUSH_STEP_BYTES).saturating_mul(FLUSH_STEP_BYTES)))
            }
            (_, Some(_)) => return Err(options("--flush-bytes needs --flush dummy; omit it")),
            (FlushWord::Drop, None) => CacheFlush::Drop,
            (FlushWord::None, None) => CacheFlush::None,
        };
        Ok(())
    }

    fn typed_endpoints_are_none(&self) -> bool {
        self.typed.servers.is_empty() && self.typed.nodes.is_empty()
    }
}

fn many_to_many(labels: &[Label]) -> Option<&Label> {
    labels.iter().find(|label| matches!(label, Label::ManyToMany { .. }))
}

fn options(text: &str) -> ArgumentError {
    ArgumentError::Options(text.to_owned())
}
