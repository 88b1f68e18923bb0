//! The endpoint of a check: TARGET's own, one on the storage server, or one that the command starts itself.

use super::resolved_target::{ResolvedTarget, ResolvedTargetKind};
use crate::args::CheckArguments;
use crate::exit::CommandFailure;
use crate::measurement::units::UnitSite;
use crate::measurement::{self, ServeProcess, random_u64};
use crate::token;
use narrows_engines::endpoint::STORE_PROOF;
use narrows_engines::{Clock, EngineFactory, OwnPlace};
use narrows_model::capabilities::Capabilities;
use narrows_model::inventory::PathKind;
use narrows_model::{Bytes, EngineId, Layer, Target, Via};
use narrows_run::Servers;
use narrows_study::{RequestedServer, ServerKind};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// The endpoint of a check, connected.
pub(crate) struct CheckServer {
    servers: Servers,
    kind: Option<ServerKind>,
    host: String,
    port: u16,
    token: Option<Vec<u8>>,
    /// Declared last, so dropped last: the process ends once the connection is gone.
    _process: Option<ServeProcess>,
}

impl CheckServer {
    /// The endpoint that the command needs; `None` for a path without one.
    pub(crate) fn from_arguments(
        arguments: &CheckArguments,
        resolved: &ResolvedTarget,
        token: Option<&[u8]>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<Self>, CommandFailure> {
        match (resolved.kind(), arguments.server.as_deref()) {
            (ResolvedTargetKind::Endpoint { .. }, Some(_)) => Err(CommandFailure::bad_input(
                "--server is for folders; the server of tcp://HOST:PORT is HOST:PORT itself".to_owned(),
            )),
            (ResolvedTargetKind::Endpoint { host, port, via }, None) => {
                Self::connect((host, *port), via.as_ref(), None, token, clock).map(Some)
            }
            (_, None) => Ok(None),
            (_, Some("self")) => Self::start(resolved, clock).map(Some),
            (_, Some(address)) => Self::remote(address, resolved, token, clock).map(Some),
        }
    }

    fn connect(
        (host, port): (&str, u16),
        via: Option<&Via>,
        kind: Option<ServerKind>,
        token: Option<&[u8]>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, CommandFailure> {
        let (client, proxy) = measurement::connect_through(host, port, via, token, clock)?;
        let token = token.map(<[u8]>::to_vec);
        let servers = Servers::one(client).behind(proxy);
        Ok(Self { servers, kind, host: host.to_owned(), port, token, _process: None })
    }

    /// Starts an endpoint on loopback, rooted in our own folder.
    fn start(resolved: &ResolvedTarget, clock: &Arc<dyn Clock>) -> Result<Self, CommandFailure> {
        let Some(root) = resolved.own_folder() else {
            return Err(CommandFailure::bad_input("--server self needs a folder as TARGET".to_owned()));
        };
        // Others on this machine reach the address too.
        let token = token::drawn()?;
        let (process, port) = ServeProcess::start(root, &token, &[])?;
        let kind = Some(ServerKind::SelfStarted);
        let connected = Self::connect(("127.0.0.1", port), None, kind, Some(&token), clock)?;
        Ok(Self { _process: Some(process), ..connected })
    }

    /// Connects to a server that must serve TARGET's storage.
    fn remote(
        address: &str,
        resolved: &ResolvedTarget,
        token: Option<&[u8]>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, CommandFailure> {
        let (host, port) = narrows_model::target::host_port(address).map_err(|problem| {
            CommandFailure::bad_input(format!("--server {address} {problem}; write self or HOST:PORT"))
        })?;
        let mut server = Self::connect((&host, port), None, Some(ServerKind::Remote), token, clock)?;
        server.check_stores(address)?;
        // A unit shows it once the mark of the run is on it.
        if resolved.unit().is_none() {
            server.prove_storage(resolved, address)?;
        }
        Ok(server)
    }

    /// Fails where its root is not on its machine.
    fn check_stores(&self, address: &str) -> Result<(), CommandFailure> {
        let path = self.servers.first().inventory().path.as_ref();
        if path
            .is_some_and(|path| matches!(path.kind, PathKind::Nfs | PathKind::OtherNetwork | PathKind::Fuse))
        {
            return Err(CommandFailure::bad_input(format!(
                "the endpoint {address} serves a folder that is itself mounted from elsewhere: its machine is not the one that stores \
                 it; start it on the server, with --root on the folder that is exported"
            )));
        }
        Ok(())
    }

    /// Asks the server whether a file below its root is the unit at `site`, which has been claimed.
    ///
    /// # Errors
    /// When it is not, or the server does not answer.
    pub(crate) fn prove_unit(&mut self, site: &UnitSite) -> Result<(), CommandFailure> {
        let address = format!("{}:{}", self.host, self.port);
        let Some((length, nonce)) = site.unit_mark() else {
            return Err(CommandFailure::bad_input(format!(
                "--server {address} needs a LUN that is written, whose mark the endpoint then finds in the file behind it, and this \
                 check writes nothing there; let it write too (--op), or give --server-metrics"
            )));
        };
        if self.servers.first_mut().stores_unit(length.0, nonce)? {
            return Ok(());
        }
        Err(CommandFailure::bad_input(format!(
            "the endpoint {address} does not show that it serves the same LUN: no file of {length} below its root begins with the mark \
             of this run; start it on the server, with `narrows serve --root` on the folder that has the file behind the LUN; a LUN \
             that is a block device there cannot be checked so: check tcp://HOST:PORT/disk beside it, or give --server-metrics"
        )))
    }

    /// Writes a file into our own folder in TARGET and asks the server whether it sees it.
    fn prove_storage(&mut self, resolved: &ResolvedTarget, address: &str) -> Result<(), CommandFailure> {
        let content = format!("{:016x}", random_u64()?);
        for name in write_proof(resolved, &content)? {
            if self.servers.first_mut().stores_file(&name, &content)? {
                return Ok(());
            }
        }
        Err(CommandFailure::bad_input(not_the_same(resolved, address)))
    }

    /// As the planner needs it; `None` where TARGET is the endpoint itself.
    pub(crate) fn as_planned(&self) -> Option<RequestedServer> {
        self.kind.map(|kind| RequestedServer { kind, host: self.host.clone(), port: self.port })
    }

    /// Free space in its store.
    pub(crate) fn free_bytes(&self) -> Option<Bytes> {
        narrows_run::store_free_bytes(self.servers.first())
    }

    /// What its layer can do; `None` where it does not offer it.
    pub(crate) fn capabilities(&self, layer: Layer) -> Option<Capabilities> {
        let target = Target::Tcp { host: self.host.clone(), port: self.port, layer, via: None };
        let factory = crate::registry::registry().factory(&target, None).ok()?;
        EngineFactory::capabilities(factory.as_ref(), &target).ok()
    }

    /// Whether TARGET's endpoint is reached without the proxy before it too, or why not.
    pub(crate) fn past_the_proxy(&self, target: &Target, clock: &Arc<dyn Clock>) -> Result<(), String> {
        measurement::past_the_proxy(self.servers.first(), target, self.token(), clock)
    }

    /// The token that its connections prove.
    pub(crate) fn token(&self) -> Option<&[u8]> {
        self.token.as_deref()
    }

    /// The control connection.
    pub(crate) fn servers(&mut self) -> &mut Servers {
        &mut self.servers
    }
}

/// The sentence that `address` has not shown to serve TARGET.
fn not_the_same(resolved: &ResolvedTarget, address: &str) -> String {
    let is_bucket =
        |place: &dyn OwnPlace| matches!(place.target(), Target::Scheme { engine: EngineId::S3, .. });
    if resolved.own_place().is_some_and(is_bucket) {
        return format!(
            "the endpoint {address} does not show that it serves the same bucket: an object written there does not appear as a \
             file below its root; start it on the server, with `narrows serve --root` on the folder that has the buckets; a \
             server that does not keep each object as a file cannot be checked so: check tcp://HOST:PORT/disk beside it, or \
             give --server-metrics"
        );
    }
    format!(
        "the server {address} does not serve the folder given: a file written there does not appear below its root; \
         start it with `narrows serve --root` on the folder that is exported"
    )
}

/// Writes the file by which a server shows that it serves TARGET; the names under which the server may see it.
fn write_proof(resolved: &ResolvedTarget, content: &str) -> Result<Vec<String>, CommandFailure> {
    if let Some(place) = resolved.own_place() {
        let written = place.write_proof(STORE_PROOF, content)?;
        return Ok(written.map_or_else(Vec::new, |path| names_below(Path::new(path.trim_start_matches('/')))));
    }
    let Some(own) = resolved.own_folder() else {
        return Err(CommandFailure::bad_input("--server needs a folder as TARGET".to_owned()));
    };
    let file = own.join(STORE_PROOF);
    std::fs::File::create_new(&file)
        .and_then(|mut made| made.write_all(content.as_bytes()))
        .map_err(|error| CommandFailure::could_not_run(format!("write {}: {error}", file.display())))?;
    let file = file.canonicalize().unwrap_or(file);
    let mount = resolved.inventory().path.as_ref().map_or("/", |path| path.mount.mount_point.as_str());
    Ok(names_below(file.strip_prefix(mount).unwrap_or(&file)))
}

/// Names under which a server may see a file at `path` from the root of a mount or of its own: below that, and below ever
/// deeper folders.
fn names_below(path: &Path) -> Vec<String> {
    let mut below = path.to_path_buf();
    let mut names = Vec::new();
    // A server takes a proof only with our own folder before it.
    while below.components().count() >= 2 {
        names.push(below.to_string_lossy().into_owned());
        below = below.components().skip(1).collect();
    }
    names
}
