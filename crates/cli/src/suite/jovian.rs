//! `narrows suite jovian`: from what was typed to the tables and the verdict, as a pipeline of values.

use super::nodes::{Nodes, Serving};
use super::refused;
use crate::args::{AcknowledgementWord, FlushWord, JovianArguments, LocalEngine, ServePriority};
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::measurement::{self, PathFound, Terms, Watch, random_u64};
use crate::run::{facts_of, sites::Sites};
use crate::token;
use narrows_model::workload::Acknowledgement;
use narrows_model::{Bytes, EngineId, Nanos, Plan, Target};
use narrows_suites::jovian::{Flush, Label, Request, Studies, labels, plan};
use std::os::unix::fs::MetadataExt;

/// Sizes of dummy files are whole steps of this.
const FLUSH_STEP_BYTES: u64 = 1 << 20;

/// Runs the suite.
pub(super) fn run(
    arguments: &JovianArguments,
    command: &[String],
    console: &Console,
) -> Result<Exit, Failure> {
    let terms = Terms { output: &arguments.output, command, console };
    let watch = Watch::start(console)?;
    let mut request = request(arguments)?;
    let given = token::read(arguments.token_file.as_deref())?;
    check_roots(arguments, &request)?;
    check_serving(arguments)?;
    let nodes = own_nodes(arguments, &mut request)?;
    let token = nodes.as_ref().map(|nodes| nodes.token.clone()).or(given);
    let studies = Studies::of(&request).map_err(|problems| refused(&problems))?;
    let launchers = launchers(arguments, &request)?;
    let sites = Sites::of(&studies.targets(), token.as_deref(), &watch, arguments.output.plan)?;
    check_clients(&request, &sites)?;
    for leftover in sites.leftovers() {
        console.say(&leftover);
    }
    request.memory = sites.memory_bytes_max();
    request.flush = flush(arguments, request.memory)?;
    let plan = planned(arguments, &request, &studies, &sites)?;
    if arguments.output.plan {
        terms.print_plan(&plan)?;
        return Ok(Exit::Done);
    }
    let ran = sites.run(plan, token, launchers, &watch, terms)?;
    drop(nodes);
    measurement::conclude(ran, terms)
}

/// What was typed, as a request; servers of this command are still to be started, and memory to be looked at.
fn request(arguments: &JovianArguments) -> Result<Request, Failure> {
    let mut labels = labels(&arguments.labels).map_err(|problems| refused(&problems))?;
    let endpoints = addresses(arguments)?;
    let own = endpoints.is_empty();
    if own && arguments.root.len() == 1 && !labels.contains(&Label::Local) {
        labels.insert(0, Label::Local);
    }
    if !own && labels.iter().all(|label| label.endpoints() == 0) {
        return Err(Failure::bad_input(
            "--servers and --nodes are for configurations with servers, and local has none; leave them out, or name \
             others beside it, such as c1-s2 or pp-2",
        ));
    }
    let many = labels.iter().find(|label| matches!(label, Label::ManyToMany { .. }));
    if let (Some(label), false) = (many, arguments.servers.is_empty()) {
        return Err(Failure::bad_input(format!(
            "--servers: {label} runs clients at the nodes that serve; name them with --nodes"
        )));
    }
    Ok(Request {
        labels,
        disks: arguments.root.iter().map(|path| Target::File { path: path.clone() }).collect(),
        endpoints,
        unit: arguments.unit,
        bytes: arguments.bytes,
        depth: arguments.depth,
        peer_depth: arguments.peer_depth,
        acknowledgement: match arguments.ack {
            AcknowledgementWord::Early => Acknowledgement::Early,
            AcknowledgementWord::Late => Acknowledgement::Late,
        },
        flush: Flush::None,
        trials: arguments.trials,
        engine: Some(match arguments.engine {
            LocalEngine::Psync => EngineId::Psync,
            LocalEngine::Uring => EngineId::Uring,
            LocalEngine::Mmap => EngineId::Mmap,
        }),
        cut_ns: (!arguments.no_verdict).then(|| Nanos::from_secs_f64(arguments.cell_seconds)),
        memory: None,
    })
}

/// Fails unless every root that is used is a folder: the suite writes files of its own.
fn check_roots(arguments: &JovianArguments, request: &Request) -> Result<(), Failure> {
    let used = request.endpoints.is_empty() || request.labels.contains(&Label::Local);
    let wrong = arguments.root.iter().filter(|_| used).filter_map(|root| match measurement::examine(root) {
        Ok(PathFound::Folder) => None,
        Ok(PathFound::File { .. }) => Some(Failure::bad_input(format!(
            "--root {} is a file; give the folder in which the suite makes files of its own",
            root.display()
        ))),
        Err(failure) => Some(failure),
    });
    Failure::of_all(&wrong.collect::<Vec<_>>())?;
    let devices: Vec<u64> =
        arguments.root.iter().filter_map(|root| Some(std::fs::metadata(root).ok()?.dev())).collect();
    let same = devices.iter().enumerate().find(|(index, device)| devices[..*index].contains(device));
    match same.and_then(|(index, _)| arguments.root.get(index)) {
        Some(root) if request.labels == [Label::Local] => Err(Failure::bad_input(format!(
            "--root {} lies on the same file system as a folder before it, and they would count as two disks; give \
             folders on disks of their own, or one of them",
            root.display()
        ))),
        _ => Ok(()),
    }
}

/// Fails where servers elsewhere are to be started in another way: they run already.
fn check_serving(arguments: &JovianArguments) -> Result<(), Failure> {
    let elsewhere = !arguments.servers.is_empty() || !arguments.nodes.is_empty();
    let given = [
        (arguments.disk_threads.is_some(), "--disk-threads"),
        (arguments.priority != ServePriority::Equal, "--priority"),
    ];
    match given.iter().find(|(is_given, _)| elsewhere && *is_given) {
        Some((_, option)) => Err(Failure::bad_input(format!(
            "{option} is for servers that this command starts; give it to each `narrows serve` instead"
        ))),
        None => Ok(()),
    }
}

/// The endpoints elsewhere.
fn addresses(arguments: &JovianArguments) -> Result<Vec<(String, u16)>, Failure> {
    let option = if arguments.nodes.is_empty() { "--servers" } else { "--nodes" };
    let named = arguments.servers.iter().chain(&arguments.nodes);
    let read = |text: &String| {
        narrows_model::target::host_port(text)
            .map_err(|problem| format!("{option} {text} {problem}; write HOST:PORT"))
    };
    let (found, wrong): (Vec<_>, Vec<_>) = named.map(read).partition(Result::is_ok);
    let wrong: Vec<String> = wrong.into_iter().filter_map(Result::err).collect();
    if wrong.is_empty() {
        return Ok(found.into_iter().flatten().collect());
    }
    Err(Failure::bad_input(wrong.join("\n  ")))
}

/// The servers that this command starts, put into `request`; `None` where others are named or none is needed.
fn own_nodes(arguments: &JovianArguments, request: &mut Request) -> Result<Option<Nodes>, Failure> {
    let count = request.labels.iter().map(|label| label.endpoints()).max().unwrap_or(0);
    if count == 0 || !request.endpoints.is_empty() {
        return Ok(None);
    }
    // All that is wrong is told before anything is made: as if they were there already.
    let placeholders = (1..=count).map(|node| (format!("node{node}"), 7300)).collect();
    request.endpoints = placeholders;
    let problems = request.problems();
    if !problems.is_empty() {
        return Err(refused(&problems));
    }
    let Some(root) = arguments.root.first() else { return Ok(None) };
    let clients: u64 = request.labels.iter().map(|label| u64::from(label.clients())).sum();
    let serving = Serving {
        count,
        file_bytes: Bytes(request.client_bytes().0.saturating_mul(clients)),
        disk_threads: arguments.disk_threads,
        priority: arguments.priority,
    };
    let nodes = Nodes::start(root, &serving)?;
    request.endpoints.clone_from(&nodes.addresses);
    Ok(Some(nodes))
}

/// Clients run on this machine alone: those of nodes elsewhere cannot be started.
fn check_clients(request: &Request, sites: &Sites) -> Result<(), Failure> {
    let many = request.labels.iter().find(|label| matches!(label, Label::ManyToMany { .. }));
    match (many, sites.elsewhere().first()) {
        (Some(label), Some(address)) => Err(Failure::bad_input(format!(
            "--nodes {address} is another machine, and {label} needs a client at each node, which this version starts \
             on its own machine alone; run {label} with nodes of one machine (network namespaces, or none named), or \
             measure servers elsewhere from here with one-to-many. One-to-many at each node at once is not the same: \
             nothing makes those runs start and end together"
        ))),
        _ => Ok(()),
    }
}

/// The words that start each client.
fn launchers(arguments: &JovianArguments, request: &Request) -> Result<Vec<Vec<String>>, Failure> {
    let given = &arguments.client_command;
    let most = request.labels.iter().map(|label| label.clients()).max().unwrap_or(1) as usize;
    if given.is_empty() {
        return Ok(Vec::new());
    }
    if arguments.servers.is_empty() && arguments.nodes.is_empty() {
        return Err(Failure::bad_input(
            "--client-command goes with --servers or --nodes: servers that this command starts are on its own loopback",
        ));
    }
    if given.len() < most || given.iter().any(|words| words.trim().is_empty()) {
        return Err(Failure::bad_input(format!(
            "--client-command is there {} times and there are {most} clients; give one for each, such as \
             --client-command 'ip netns exec node1'",
            given.len()
        )));
    }
    Ok(given.iter().map(|words| words.split_whitespace().map(str::to_owned).collect()).collect())
}

/// What is done before reads; a dummy is larger than the largest memory unless its size is given.
fn flush(arguments: &JovianArguments, memory: Option<Bytes>) -> Result<Flush, Failure> {
    match (arguments.flush, arguments.flush_bytes) {
        (FlushWord::Dummy, Some(bytes)) => Ok(Flush::Dummy(bytes)),
        (FlushWord::Dummy, None) => {
            let memory = memory.ok_or_else(|| {
                Failure::bad_input(
                    "--flush-bytes: how much memory the nodes have is not told; give a size larger than it",
                )
            })?;
            let more = memory.0.saturating_add(memory.0 / 8);
            Ok(Flush::Dummy(Bytes(more.div_ceil(FLUSH_STEP_BYTES).saturating_mul(FLUSH_STEP_BYTES))))
        }
        (_, Some(_)) => Err(Failure::bad_input("--flush-bytes goes with --flush dummy; leave it out")),
        (FlushWord::Drop, None) => Ok(Flush::Drop),
        (FlushWord::None, None) => Ok(Flush::None),
    }
}

fn planned(
    arguments: &JovianArguments,
    request: &Request,
    studies: &Studies,
    sites: &Sites,
) -> Result<Plan, Failure> {
    let seed = match arguments.seed {
        Some(seed) => seed,
        None => random_u64()?,
    };
    let facts = facts_of(&studies.targets(), &studies.wanted(), sites);
    plan(request, studies, &facts, seed).map_err(|problems| refused(&problems))
}
