//! Bytes of one interval seen at three places: the application, the wire, the device.

use super::Machines;
use crate::collect::{CellData, RoleDelta};
use crate::facts::path_or_only;
use narrows_model::counters::{Combine, DiskCounters, Role};
use narrows_model::inventory::{PathFacts, PathKind};
use narrows_model::summary::ByteTriangle;
use narrows_model::units::{BytesPerSec, ratio};
use narrows_model::{Bytes, Cut, Op, Site, Target};

/// What the byte counters around a cell say.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Traffic {
    pub triangle: ByteTriangle,
    pub device_busy_ratio: Option<f64>,
    pub cache_served_ratio: Option<f64>,
    pub wire_bytes_per_s: Option<BytesPerSec>,
    /// Whether the wire's bytes are those of the machines' interfaces, with headers and the traffic of others.
    pub wire_by_interfaces: bool,
}

/// From this share of the application's bytes on, those on a daemon's connections are its data.
const DAEMON_DATA_RATIO: f64 = 0.1;

/// The byte triangle and what follows from it.
pub(super) fn traffic(data: &CellData, machines: &Machines<'_>) -> Traffic {
    let op = data.cell.workload.op;
    let application = application(data);
    let connections =
        wire(data, op).filter(|(bytes, _)| !is_behind_daemon(machines) || is_data(*bytes, application));
    let interfaces = if connections.is_none() { interfaces(data, machines) } else { None };
    let wire = connections.map(|(bytes, _)| bytes).or(interfaces);
    let device = device(data, machines);
    let device_bytes = device.as_ref().map(|device| device.bytes);
    Traffic {
        triangle: ByteTriangle { application, wire, device: device_bytes },
        device_busy_ratio: device.and_then(|device| device.busy_ratio),
        cache_served_ratio: cache_served(data, application, wire, device_bytes),
        wire_bytes_per_s: connections.and_then(|(_, rate)| rate),
        wire_by_interfaces: interfaces.is_some(),
    }
}

/// What the application moved in the direction in which the wire and the device are looked at: of requests that read and
/// others that write, those that go as the cell's operation does.
pub(super) fn application(data: &CellData) -> Bytes {
    let outwards = data.cell.workload.op.moves_towards_device();
    let same_direction = |op: Op| op.moves_towards_device() == outwards;
    if data.kinds.iter().all(|kind| same_direction(kind.counts.op)) {
        return Bytes(data.trials.values().map(|trial| trial.bytes.0).sum());
    }
    let counts = data.kinds.iter().map(|kind| kind.counts);
    Bytes(counts.filter(|counts| same_direction(counts.op)).map(|counts| counts.bytes.0).sum())
}

/// Payload that the load's connections transferred in the direction of the data, and its rate over the time between the
/// readings. The client's count is preferred: it is taken on the clock of the load.
pub(super) fn wire(data: &CellData, op: Op) -> Option<(Bytes, Option<BytesPerSec>)> {
    if data.cell.site == Site::Server {
        return None;
    }
    let of = |role: Role, outwards: bool| {
        let delta = data.deltas.iter().find(|delta| delta.role == role)?;
        let tcp = delta.tcp.as_ref()?;
        let bytes = if outwards { tcp.counted.acked_bytes } else { tcp.counted.received_bytes };
        // The load reads its connections at the window's borders, the machines' readings lag behind them.
        let elapsed = if tcp.elapsed.0 > 0 { tcp.elapsed } else { window(delta, data) };
        (bytes.0 > 0).then(|| (bytes, BytesPerSec::over(bytes, elapsed)))
    };
    let outwards = op.moves_towards_device();
    of(Role::Client, outwards).or_else(|| of(Role::Server, !outwards))
}

/// What the interfaces transferred for a path whose connections are the kernel's: the larger of both ends' counts,
/// because one may be a container's that does not see them. `None` where client and server share a machine.
fn interfaces(data: &CellData, machines: &Machines<'_>) -> Option<Bytes> {
    let mounted = data.cell.cut == Cut::Path
        && matches!(data.cell.target.form(), Target::File { .. })
        && machines.server.is_some()
        && !machines.sharing.one_machine
        && machines.client.path.as_ref().is_some_and(is_remote);
    let outwards = data.cell.workload.op.moves_towards_device();
    let counted = data.deltas.iter().filter_map(|delta| {
        let sends = outwards == (delta.role == Role::Client);
        delta.all_nics().map(|nics| if sends { nics.send_bytes } else { nics.receive_bytes })
    });
    counted.filter(|_| mounted).max()
}

/// The time between the readings; the measured windows where the readings have no time.
fn window(delta: &RoleDelta, data: &CellData) -> narrows_model::Nanos {
    if delta.elapsed.0 > 0 {
        return delta.elapsed;
    }
    narrows_model::Nanos(data.trials.values().map(|trial| trial.last_done.0).sum())
}

struct DeviceTraffic {
    bytes: Bytes,
    busy_ratio: Option<f64>,
}

/// What the device under the path did, at the machine that owns it; `None` where the path is on no counted device.
fn device(data: &CellData, machines: &Machines<'_>) -> Option<DeviceTraffic> {
    let (delta, disk) = disk(data, machines)?;
    let bytes = if data.cell.workload.op.moves_towards_device() { disk.write_bytes } else { disk.read_bytes };
    Some(DeviceTraffic { bytes, busy_ratio: ratio(disk.busy_ns.as_f64(), window(delta, data).as_f64()) })
}

/// The counters of the devices under the cell's targets, each device once, with those of the machine that owns them;
/// `None` where one of the targets is on no counted device. Bytes, operations and flushes are sums; busy is the
/// fullest.
pub(super) fn disk<'d>(data: &'d CellData, machines: &Machines<'_>) -> Option<(&'d RoleDelta, DiskCounters)> {
    if !reaches_device(data.cell.cut, &data.cell.target) {
        return None;
    }
    let role = device_role(data, machines);
    let delta = data.deltas.iter().find(|delta| delta.role == role)?;
    let inventory = machines.inventory(role)?;
    let targets = std::iter::once(&data.cell.target).chain(&data.cell.more_targets);
    let mut disks: Vec<&DiskCounters> = Vec::new();
    for target in targets.flat_map(Target::members) {
        let path = path_or_only(inventory, target)?;
        let mut devices = path.devices.iter();
        let disk = devices.find_map(|device| delta.disks.iter().find(|disk| disk.name == device.name))?;
        if disks.iter().all(|known| known.name != disk.name) {
            disks.push(disk);
        }
    }
    let (first, others) = disks.split_first()?;
    let mut sum = (*first).clone();
    for disk in others {
        add_device(&mut sum, disk);
    }
    Some((delta, sum))
}

fn add_device(sum: &mut DiskCounters, more: &DiskCounters) {
    let busy_ns = sum.busy_ns.max(more.busy_ns);
    sum.add_beside(more);
    sum.busy_ns = busy_ns;
    sum.name = format!("{}, {}", sum.name, more.name);
}

/// Whether requests of this cut are meant to reach a device.
pub(super) fn reaches_device(cut: Cut, target: &Target) -> bool {
    match cut {
        Cut::PageCache | Cut::ServerStorage | Cut::LocalDevice => true,
        Cut::Path | Cut::DirectPath | Cut::MoreConnections | Cut::EarlyPath | Cut::ChangedPath => !matches!(
            target.form(),
            Target::Null { .. } | Target::Tcp { layer: narrows_model::Layer::Memory, .. }
        ),
        Cut::Generator
        | Cut::MemoryCopy
        | Cut::NetworkStream
        | Cut::DirectStream
        | Cut::ServerMemory
        | Cut::RoundTrip
        | Cut::HotBlocks
        | Cut::UserClient => false,
    }
}

/// The role whose machine has the device: the server's for an endpoint or a network mount, else the load's own.
fn device_role(data: &CellData, machines: &Machines<'_>) -> Role {
    let remote_mount = machines.client.path.as_ref().is_some_and(is_remote);
    let is_spoken = || match data.cell.target.form() {
        Target::Scheme { engine, .. } => engine.declaration().stores_data,
        _ => false,
    };
    let served = data.cell.site == Site::Server
        || matches!(data.cell.target.form(), Target::Tcp { .. })
        || (machines.is_beside_protocol && is_spoken())
        || (is_path(data.cell.cut) && machines.server.is_some() && remote_mount)
        || (matches!(data.cell.target, Target::Sim { .. })
            && machines.server.is_some()
            && is_path(data.cell.cut));
    if served { Role::Server } else { Role::Client }
}

/// Whether requests of this cell end on the devices of a server on which nothing of ours runs.
pub(super) fn ends_on_foreign_server(data: &CellData, machines: &Machines<'_>) -> bool {
    let is_mounted = || path_of(data, machines).is_some_and(is_remote);
    let is_behind = match data.cell.target.form() {
        Target::Scheme { engine, .. } => engine.declaration().stores_data,
        Target::File { .. } => is_path(data.cell.cut) && is_mounted(),
        _ => false,
    };
    is_behind && machines.server.is_none() && reaches_device(data.cell.cut, &data.cell.target)
}

/// Whether requests of this cell go to a server on which nothing of ours runs, be it to its devices, to its memory or only to
/// its protocol. Of a folder behind a daemon (FUSE) its user says so who names the exporter of its server.
pub(super) fn goes_to_foreign_server(data: &CellData, machines: &Machines<'_>) -> bool {
    let is_mounted =
        || path_of(data, machines).is_some_and(|path| is_remote(path) || path.kind == PathKind::Fuse);
    let cut = data.cell.cut;
    let goes_there = match data.cell.target.form() {
        Target::Scheme { engine, .. } => {
            engine.declaration().stores_data && !matches!(cut, Cut::Generator | Cut::MemoryCopy)
        }
        Target::File { .. } => (is_path(cut) || cut == Cut::MoreConnections) && is_mounted(),
        _ => false,
    };
    goes_there && machines.server.is_none()
}

/// What is known of the path to the cell's target, of several paths that to its own.
fn path_of<'m>(data: &CellData, machines: &'m Machines<'_>) -> Option<&'m PathFacts> {
    path_or_only(machines.client, data.cell.target.form())
}

fn is_path(cut: Cut) -> bool {
    matches!(cut, Cut::Path | Cut::DirectPath | Cut::EarlyPath | Cut::ChangedPath)
}

fn is_remote(path: &PathFacts) -> bool {
    matches!(path.kind, PathKind::Nfs | PathKind::OtherNetwork)
}

fn is_behind_daemon(machines: &Machines<'_>) -> bool {
    machines.client.path.as_ref().is_some_and(|path| path.kind == PathKind::Fuse)
}

/// Whether so many bytes on the connections of a daemon (FUSE) are the load's data: one that serves a folder of this machine may
/// have connections for something else.
fn is_data(bytes: Bytes, application: Bytes) -> bool {
    bytes.as_f64() >= application.as_f64() * DAEMON_DATA_RATIO
}

/// Share of the application's reads that neither the wire nor the device transferred.
fn cache_served(
    data: &CellData,
    application: Bytes,
    wire: Option<Bytes>,
    device: Option<Bytes>,
) -> Option<f64> {
    let reads = matches!(data.cell.workload.op, Op::Read | Op::Get);
    let whole_path =
        matches!(data.cell.cut, Cut::Path | Cut::ServerStorage | Cut::LocalDevice | Cut::PageCache);
    if !reads || !whole_path {
        return None;
    }
    let carried = match (wire, device) {
        (Some(wire), Some(device)) => wire.min(device),
        (wire, device) => wire.or(device)?,
    };
    ratio(carried.as_f64(), application.as_f64()).map(|carried| (1.0 - carried).max(0.0))
}
