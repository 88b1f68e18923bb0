//! Where the roles are played: in processes of this machine, or by an endpoint and a proxy elsewhere.

use crate::args::RelayArguments;
use crate::exit::CommandFailure;
use crate::measurement::{self, CONNECT_TIMEOUT_NS, Watch};
use narrows_engines::endpoint::{ControlClient, RoleClient};
use narrows_engines::host_lookup::{LOOKUP_TIMEOUT, look_up};
use narrows_model::{Event, Nanos, Plan};
use narrows_run::relay::{LocalRole, RelaySite, RemoteRole, RoleLink};
use narrows_run::{PeerLoss, PeerMonitor};
use std::path::Path;
use std::sync::Arc;

/// The hidden command of a role's process.
const ROLE_COMMAND: &str = "__relay";

/// The roles that are played elsewhere: host and port of each.
pub(super) struct RemoteRoles {
    pub(super) server: Option<(String, u16)>,
    pub(super) proxy: Option<(String, u16)>,
}

/// The roles, connected.
pub(super) struct ConnectedRoles {
    /// Those of this machine start with the first trial.
    pub(super) site: RelaySite,
    /// The endpoint, as it answered.
    pub(super) connected: Option<Event>,
    /// Asks those that are elsewhere whether they still answer.
    pub(super) monitor: PeerMonitor,
}

impl RemoteRoles {
    /// What the command line names.
    ///
    /// # Errors
    /// An address that is none, a proxy that cannot reach a server on this machine's loopback.
    pub(super) fn from_arguments(arguments: &RelayArguments) -> Result<Self, CommandFailure> {
        let server = named("--server", arguments.server.as_deref())?;
        let proxy = named("--proxy", arguments.proxy.as_deref())?;
        match (&proxy, &server) {
            (Some(proxy), None) if !is_loopback(proxy) => Err(CommandFailure::bad_input(format!(
                "--proxy {}:{} cannot reach a server on this machine's loopback; run `narrows serve` on the machine \
                 that the proxy forwards to and give it with --server",
                proxy.0, proxy.1
            ))),
            _ => Ok(Self { server, proxy }),
        }
    }

    /// Connects to all of them.
    ///
    /// # Errors
    /// When one cannot be reached, is of another version, or wants another token.
    pub(super) fn connect(
        &self,
        plan: &Plan,
        token: Option<&[u8]>,
        watch: &Watch,
    ) -> Result<ConnectedRoles, CommandFailure> {
        let program = std::env::current_exe()
            .map_err(|error| CommandFailure::could_not_run(format!("find this program: {error}")))?;
        let server = match &self.server {
            None => None,
            Some((host, port)) => {
                let client = measurement::connect(host, *port, token, Arc::clone(&watch.clock))?;
                if measurement::is_proxy(host, *port, token, Arc::clone(&watch.clock)) {
                    return Err(past_the_proxy(host, *port));
                }
                Some(client)
            }
        };
        let connected = server.as_ref().map(measurement::connected);
        let proxy = match &self.proxy {
            None => None,
            Some((host, port)) => {
                let clock = Arc::clone(&watch.clock);
                Some(ControlClient::connect_proxy(host, *port, token, clock, CONNECT_TIMEOUT_NS)?)
            }
        };
        let peer_loss = PeerLoss::default();
        let peers: Vec<&ControlClient> = server.iter().chain(&proxy).collect();
        let monitor = measurement::monitor(&peers, token, &watch.stop, &peer_loss)?;
        let role = |client: Option<ControlClient>| -> Box<dyn RoleLink> {
            match client {
                None => local(&program),
                Some(client) => Box::new(RemoteRole::new(RoleClient::from_control(client))),
            }
        };
        let site = RelaySite {
            stop: watch.stop.clone(),
            peer_loss,
            seed: plan.seed,
            silence_ns: Nanos(narrows_run::site::ANSWER_TIMEOUT_NS),
            client: local(&program),
            proxy: role(proxy),
            server: role(server),
        };
        Ok(ConnectedRoles { site, connected, monitor })
    }
}

/// What is asked of the endpoint passes through the proxy, and the stream would be sent to the endpoint's own address.
fn past_the_proxy(host: &str, port: u16) -> CommandFailure {
    CommandFailure::bad_input(format!(
        "--server {host}:{port} is a `narrows proxy`, and the stream would bypass it; give it with --proxy, and with \
         --server the address of the `narrows serve` behind it"
    ))
}

/// A role in a process of this machine.
fn local(program: &Path) -> Box<dyn RoleLink> {
    Box::new(LocalRole::new(program.to_path_buf(), vec![ROLE_COMMAND.to_owned()]))
}

fn named(option: &str, address: Option<&str>) -> Result<Option<(String, u16)>, CommandFailure> {
    let Some(address) = address else { return Ok(None) };
    narrows_model::target::host_port(address).map(Some).map_err(|problem| {
        CommandFailure::bad_input(format!("{option} {address} {problem}; write HOST:PORT"))
    })
}

/// Whether `host` is this machine alone; a missing address is reported when connecting.
fn is_loopback((host, port): &(String, u16)) -> bool {
    look_up(host, *port, LOOKUP_TIMEOUT, &|| false)
        .is_ok_and(|addresses| addresses.iter().all(|address| address.ip().is_loopback()))
}
