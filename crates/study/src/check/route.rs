//! What the path passes through: which engines, which segments, whose machine.

use super::grid::GridPoint;
use crate::problem::Problem;
use crate::request::{CheckRequest, RequestedServer, ServerKind};
use narrows_model::capabilities::Capabilities;
use narrows_model::engine::ProtocolProbe;
use narrows_model::inventory::PathKind;
use narrows_model::plan::Topology;
use narrows_model::{Layer, Op, Segment, Target, Via};

/// An endpoint's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    host: String,
    port: u16,
    via: Option<Via>,
}

impl Endpoint {
    /// The endpoint, cut at `layer`.
    pub(super) fn at(&self, layer: Layer) -> Target {
        Target::Tcp { host: self.host.clone(), port: self.port, layer, via: self.via.clone() }
    }

    /// Whether a proxy is on the way to it.
    pub(super) fn has_proxy(&self) -> bool {
        self.via.is_some()
    }

    fn from_server(server: &RequestedServer) -> Self {
        Self { host: server.host.clone(), port: server.port, via: None }
    }
}

/// What the path passes through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CheckRoute {
    /// A path on this machine alone.
    Local,
    /// An endpoint's files.
    Disk(Endpoint),
    /// An endpoint's memory.
    Memory(Endpoint),
    /// A mounted path, and an endpoint on the server behind the mount.
    Mount(Endpoint),
    /// A server of a storage protocol that this machine speaks itself, and an endpoint on it where there is one.
    Protocol(Option<Endpoint>),
}

impl CheckRoute {
    /// The route of a request.
    ///
    /// # Errors
    /// When the target cannot be checked, or not with this server.
    pub(super) fn new(request: &CheckRequest) -> Result<Self, Problem> {
        match (&request.target, &request.server) {
            (Target::File { .. } | Target::Block(_), None) => Ok(CheckRoute::Local),
            (Target::File { .. }, Some(server)) => Self::beside(request, server),
            (Target::Tcp { host, port, layer, via }, None) => {
                let endpoint = Endpoint { host: host.clone(), port: *port, via: via.clone() };
                match layer {
                    Layer::Disk => Ok(CheckRoute::Disk(endpoint)),
                    Layer::Memory => Ok(CheckRoute::Memory(endpoint)),
                    Layer::Sink | Layer::Source => Err(unchecked(request)),
                }
            }
            (Target::Tcp { .. }, Some(_)) => Err(Problem::new(
                "server",
                format!("--server with {}", request.target),
                "--server with a path",
                "omit --server: the target already names the endpoint",
            )),
            (Target::Scheme { engine, .. }, server) if engine.declaration().probe.is_some() => {
                Ok(CheckRoute::Protocol(server.as_ref().map(Endpoint::from_server)))
            }
            (
                Target::Null { .. }
                | Target::Sim { .. }
                | Target::Scheme { .. }
                | Target::Stripe(_)
                | Target::Block(_),
                _,
            ) => Err(unchecked(request)),
        }
    }

    fn beside(request: &CheckRequest, server: &RequestedServer) -> Result<Self, Problem> {
        match server.kind {
            ServerKind::Remote => Ok(CheckRoute::Mount(Endpoint::from_server(server))),
            ServerKind::SelfStarted if request.existing_file.is_some() => Err(Problem::new(
                "server",
                format!("a separate endpoint for the file {}", request.target),
                "a folder",
                "name the file's folder, or omit --server",
            )),
            ServerKind::SelfStarted => Ok(CheckRoute::Disk(Endpoint::from_server(server))),
        }
    }

    /// Who talks to whom.
    pub(super) fn topology(&self) -> Topology {
        match self {
            CheckRoute::Local => Topology::Local,
            _ if self.has_proxy() => Topology::ClientProxyServer,
            _ => Topology::ClientServer,
        }
    }

    /// Whether a proxy is on the path.
    pub(super) fn has_proxy(&self) -> bool {
        match self {
            CheckRoute::Local | CheckRoute::Protocol(_) => false,
            CheckRoute::Disk(endpoint) | CheckRoute::Memory(endpoint) | CheckRoute::Mount(endpoint) => {
                endpoint.has_proxy()
            }
        }
    }

    /// Whether the path itself is files or objects below the target, not an endpoint.
    pub(super) fn is_path(&self) -> bool {
        matches!(self, CheckRoute::Local | CheckRoute::Mount(_) | CheckRoute::Protocol(_))
    }

    /// What the protocol that is spoken to `target` shows; `None` of any other path.
    pub(super) fn probe(&self, target: &Target) -> Option<&'static ProtocolProbe> {
        match (self, target) {
            (CheckRoute::Protocol(_) | CheckRoute::Local, Target::Scheme { engine, .. }) => {
                engine.declaration().probe.as_ref()
            }
            _ => None,
        }
    }

    /// What the engine of the path can do; `None` where it is not known.
    pub(super) fn capabilities<'a>(&self, request: &'a CheckRequest) -> Option<&'a Capabilities> {
        match self {
            CheckRoute::Local | CheckRoute::Mount(_) | CheckRoute::Protocol(_) => {
                request.engines.path.as_ref()
            }
            CheckRoute::Disk(_) => request.engines.server_disk.as_ref(),
            CheckRoute::Memory(_) => request.engines.server_memory.as_ref(),
        }
    }

    /// Whether writes of this check are uploads: the engine puts whole objects and writes no blocks.
    pub(super) fn takes_uploads(&self, request: &CheckRequest) -> bool {
        let ops = self.capabilities(request).map_or(&[][..], |known| &known.ops);
        matches!(self, CheckRoute::Protocol(_)) && ops.contains(&Op::Put) && !ops.contains(&Op::Write)
    }

    /// Why the path's engine cannot do a point, or may not; `None` when it can.
    pub(super) fn refusal(&self, request: &CheckRequest, point: GridPoint) -> Option<String> {
        if request.existing_file.is_some() && point.op != Op::Read {
            let reason = request.read_only_reason.clone();
            return reason.or(Some(format!(
                "{} exists already and is only read; name a folder to write",
                request.target
            )));
        }
        let capabilities = self.capabilities(request)?;
        let is_upload = point.op == Op::Write && self.takes_uploads(request);
        if !capabilities.ops.contains(&point.op) && !is_upload {
            return Some(format!("the engine {} cannot {} here", capabilities.engine, point.op));
        }
        let too_deep = !self.is_path() && point.depth > capabilities.queue_depth_max;
        too_deep.then(|| {
            format!(
                "one connection of {} allows {} requests in flight, not {}",
                capabilities.engine, capabilities.queue_depth_max, point.depth
            )
        })
    }

    /// The path's segments, from the application to the device.
    pub(super) fn segments(&self, request: &CheckRequest) -> Vec<Segment> {
        let shares_machine =
            request.server.as_ref().is_some_and(|server| server.kind == ServerKind::SelfStarted);
        let more = [
            Some(Segment::HostCpu).filter(|_| shares_machine),
            Some(Segment::OfferedLoad).filter(|_| request.max_bytes_per_s.is_some()),
        ];
        let proxy: &[Segment] = if self.has_proxy() { PROXY } else { &[] };
        let more: Vec<Segment> = more.into_iter().flatten().chain(proxy.iter().copied()).collect();
        in_order(self.parts(request.path_kind), &more)
    }

    fn parts(&self, kind: Option<PathKind>) -> &'static [&'static [Segment]] {
        match self {
            CheckRoute::Local => local_parts(kind),
            CheckRoute::Mount(_) => THROUGH_MOUNT,
            CheckRoute::Disk(_) | CheckRoute::Protocol(_) => AT_DISK,
            CheckRoute::Memory(_) => AT_MEMORY,
        }
    }
}

fn local_parts(kind: Option<PathKind>) -> &'static [&'static [Segment]] {
    match kind {
        Some(PathKind::Nfs | PathKind::OtherNetwork) => THROUGH_MOUNT,
        Some(PathKind::Memory) => &[FILES],
        Some(PathKind::BlockDevice) => &[PAGE_CACHE, DEVICE],
        Some(PathKind::Fuse) => &[FILES, DAEMON, DEVICE],
        _ => &[FILES, DEVICE],
    }
}

/// The segments of a path to any target, from the application to the device, with `more` that the load adds.
pub(crate) fn segments_to(target: &Target, kind: Option<PathKind>, more: &[Segment]) -> Vec<Segment> {
    let parts: &[&[Segment]] = match target.form() {
        Target::Scheme { engine, .. } if engine.declaration().stores_data => AT_DISK,
        Target::Null { .. } | Target::Scheme { .. } => &[],
        Target::Tcp { layer: Layer::Sink | Layer::Source, .. } => &[CONNECTION],
        Target::Tcp { layer: Layer::Memory, .. } => AT_MEMORY,
        Target::Tcp { layer: Layer::Disk, .. } => AT_DISK,
        Target::Block(_) => local_parts(Some(PathKind::BlockDevice)),
        Target::File { .. } | Target::Sim { .. } | Target::Stripe(_) => local_parts(kind),
    };
    let proxy: &[Segment] = if target.via().is_some() { PROXY } else { &[] };
    in_order(parts, &[more, proxy].concat())
}

fn in_order(parts: &[&[Segment]], more: &[Segment]) -> Vec<Segment> {
    Segment::ALL
        .iter()
        .copied()
        .filter(|segment| {
            CLIENT.contains(segment)
                || more.contains(segment)
                || parts.iter().any(|part| part.contains(segment))
        })
        .collect()
}

const AT_MEMORY: &[&[Segment]] = &[CONNECTION, SERVER];
const AT_DISK: &[&[Segment]] = &[CONNECTION, SERVER, SERVER_FILES, DEVICE];
const THROUGH_MOUNT: &[&[Segment]] = &[FILES, CONNECTION, SERVER, SERVER_FILES, DEVICE];
const CLIENT: &[Segment] =
    &[Segment::Generator, Segment::WorkloadConcurrency, Segment::ClientCpu, Segment::ClientMemory];
const FILES: &[Segment] = &[Segment::ClientCache, Segment::ClientFilesystem];
/// A block device has pages in the page cache and no file system.
const PAGE_CACHE: &[Segment] = &[Segment::ClientCache];
const DAEMON: &[Segment] = &[Segment::ClientDaemon];
const CONNECTION: &[Segment] =
    &[Segment::ClientConnection, Segment::NetworkBandwidth, Segment::NetworkLatency, Segment::NetworkLoss];
const PROXY: &[Segment] = &[Segment::ProxyCpu, Segment::ProxyQueue];
const SERVER: &[Segment] =
    &[Segment::ServerCpu, Segment::ServerThreads, Segment::ServerProtocol, Segment::ServerContention];
const SERVER_FILES: &[Segment] = &[Segment::ServerCache, Segment::ServerCommit, Segment::ServerFilesystem];
const DEVICE: &[Segment] = &[Segment::DeviceBandwidth, Segment::DeviceIops, Segment::DeviceLatency];

fn unchecked(request: &CheckRequest) -> Problem {
    Problem::new(
        "target",
        format!("`{}`", request.target),
        "PATH, blk:/dev/NAME, nfs://HOST/EXPORT/PATH, iscsi://HOST/IQN/LUN, s3://BUCKET/PREFIX, tcp://HOST:PORT/disk and \
         tcp://HOST:PORT/memory",
        "name the last layer of the path; the layers before it are measured as well",
    )
}
