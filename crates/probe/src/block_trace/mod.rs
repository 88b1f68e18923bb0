//! How long requests waited in the block layer's queue and how long the device had them, by the kernel's tracepoints.
//!
//! A [`RequestTracer`] records, for some devices, when a request came into the queue, when it was issued to the device, and when it
//! completed. It starts no thread: the caller takes the events often enough, and switches the recording off while it would cost too
//! much. Design: `docs/design/0035`.

mod event;
mod pairing;

use narrows_model::counters::BlockTrace;
use narrows_sys::trace_folder::TraceFolder;
use narrows_sys::tracepoint::{TraceRecord, Tracepoint, TracepointRings};

use crate::error::ProbeError;
use crate::inventory::class_folder;
use crate::parse::trace_format::TraceFormat;
use crate::parse::{cpu_list, trace_format};
use crate::root::Root;
use event::{BlockEvent, EventFields, Step, event_id};
use pairing::RequestPairing;

/// By what it is known when a request came into the queue, the best first: each request since Linux 6.5, each request by what a
/// program asked for, and requests that a scheduler keeps.
const QUEUED_EVENTS: [&str; 3] = ["block_io_start", WHOLE_REQUESTS, "block_rq_insert"];
/// It names the partition that was asked for, where the others name the disk.
const WHOLE_REQUESTS: &str = "block_getrq";

/// The kernel takes an event's time before it puts it into the ring: events of the last moments may still be missing.
const SETTLE_NS: u64 = 50_000;

/// More devices than the path to a folder has.
const DEVICES_MAX: usize = 64;

/// Why requests cannot be traced.
#[derive(Debug, thiserror::Error)]
pub enum RequestTraceError {
    /// The kernel refused it, or has no such tracepoints.
    #[error(transparent)]
    Refused(#[from] narrows_sys::Error),
    /// A file of `/sys` or of the tracepoints could not be read.
    #[error(transparent)]
    Unread(#[from] ProbeError),
    /// An event of this kernel lacks what is needed.
    #[error("the kernel's tracepoint {0} lacks the device, the sector or the kind of a request")]
    Lacking(&'static str),
    /// No device has a queue of requests.
    #[error("no device of the path on this machine has a queue of requests")]
    NoQueue,
}

/// Traces the requests of some devices; it begins switched off.
#[derive(Debug)]
pub struct RequestTracer {
    rings: TracepointRings,
    fields: Vec<EventFields>,
    pairing: RequestPairing,
    /// Events that are not paired yet, since earlier ones may still be missing.
    recent: Vec<BlockEvent>,
    lost_count: u64,
}

/// A device whose requests are traced.
#[derive(Debug, Clone, PartialEq, Eq)]
struct QueuedDevice {
    name: String,
    /// The kernel's number of the disk, then those of its partitions.
    numbers: Vec<u32>,
}

impl RequestTracer {
    /// A tracer of the block devices with these kernel names. Devices without a queue of requests are left out, and of a partition
    /// its disk is traced.
    ///
    /// # Errors
    /// Without the right to it (root has it), without tracepoints, and where no device has a queue.
    ///
    /// # Cost
    /// Some milliseconds; while switched on some time for each event, of which a request has three: estimated at half a microsecond.
    pub fn open(root: &Root, devices: &[String]) -> Result<Self, RequestTraceError> {
        let devices = queued_devices(root, devices)?;
        if devices.is_empty() {
            return Err(RequestTraceError::NoQueue);
        }
        let online = "/sys/devices/system/cpu/online";
        let cpus =
            cpu_list::numbers(&root.read(online)?).map_err(|bad| ProbeError::malformed(online, &bad))?;
        let folder = TraceFolder::open()?;
        let (queued, queued_format) = queued_event(&folder)?;
        let mut fields = vec![places(Step::Queued, queued, &queued_format)?];
        let is_of_partition = queued == WHOLE_REQUESTS;
        let mut points = vec![Tracepoint { id: queued_format.id, filter: filter(&devices, is_of_partition) }];
        let others = [
            (Step::Issued, "block_rq_issue"),
            (Step::Completed, "block_rq_complete"),
            (Step::Requeued, "block_rq_requeue"),
        ];
        for (step, name) in others {
            let format = format(&folder, name)?;
            fields.push(places(step, name, &format)?);
            points.push(Tracepoint { id: format.id, filter: filter(&devices, false) });
        }
        let rings = TracepointRings::open(&cpus, &points)?;
        let named: Vec<(String, Vec<u32>)> =
            devices.into_iter().map(|device| (device.name, device.numbers)).collect();
        let pairing = RequestPairing::new(&named);
        Ok(Self { rings, fields, pairing, recent: Vec::new(), lost_count: 0 })
    }

    /// Switches the recording on or off. What is in progress when it is switched off is not counted.
    ///
    /// # Errors
    /// Where the kernel refuses it.
    pub fn set_enabled(&mut self, is_enabled: bool) -> Result<(), RequestTraceError> {
        self.rings.set_enabled(is_enabled)?;
        if !is_enabled {
            self.take();
            self.pair_until(u64::MAX);
            self.pairing.forget_pending();
        }
        Ok(())
    }

    /// Takes the events recorded so far, and pairs them; returns how many there were, those that were lost included.
    pub fn take(&mut self) -> u64 {
        let Self { rings, fields, recent, .. } = self;
        let (mut event_count, mut lost_count) = (0_u64, 0_u64);
        let until_ns = rings.take(&mut |record| match record {
            TraceRecord::Sample { at_ns, fields: sample } => {
                event_count += 1;
                let place = event_id(sample).and_then(|id| fields.iter().find(|place| place.id == id));
                recent.extend(place.and_then(|place| place.event(at_ns, sample)));
            }
            TraceRecord::Lost(count) => lost_count = lost_count.saturating_add(count),
        });
        self.pair_until(until_ns.saturating_sub(SETTLE_NS));
        if lost_count > 0 {
            // Which requests miss an event is not known.
            self.pairing.forget_pending();
            self.lost_count = self.lost_count.saturating_add(lost_count);
        }
        event_count.saturating_add(lost_count)
    }

    /// The sums of the requests paired so far.
    #[must_use]
    pub fn counters(&self) -> BlockTrace {
        BlockTrace {
            devices: self.pairing.sums().to_vec(),
            lost_count: self.lost_count,
            missing_reason: None,
        }
    }

    /// Pairs the events before `until_ns`, which are complete, in the order of time.
    fn pair_until(&mut self, until_ns: u64) {
        self.recent.sort_by_key(|event| event.at_ns);
        let ready = self.recent.partition_point(|event| event.at_ns < until_ns);
        for event in self.recent.drain(..ready) {
            self.pairing.take(&event);
        }
    }
}

/// The best event of this kernel for when a request came into the queue.
fn queued_event(folder: &TraceFolder) -> Result<(&'static str, TraceFormat), RequestTraceError> {
    let mut last = None;
    for name in QUEUED_EVENTS {
        match format(folder, name) {
            Ok(format) => return Ok((name, format)),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or(RequestTraceError::NoQueue))
}

fn format(folder: &TraceFolder, name: &'static str) -> Result<TraceFormat, RequestTraceError> {
    let path = format!("events/block/{name}/format");
    let text = folder.read(&path)?;
    Ok(trace_format::parse(text.as_bytes()).map_err(|bad| ProbeError::malformed(path, &bad))?)
}

fn places(step: Step, name: &'static str, format: &TraceFormat) -> Result<EventFields, RequestTraceError> {
    EventFields::new(step, format).ok_or(RequestTraceError::Lacking(name))
}

/// Lets events of these devices pass, and of their partitions.
fn filter(devices: &[QueuedDevice], with_partitions: bool) -> String {
    let numbers = devices.iter().flat_map(|device| {
        let count = if with_partitions { device.numbers.len() } else { 1 };
        device.numbers.iter().take(count)
    });
    let each: Vec<String> = numbers.map(|number| format!("dev == {number}")).collect();
    each.join(" || ")
}

/// The disks among `devices`, or under partitions among them, that have a queue of requests; each once.
fn queued_devices(root: &Root, devices: &[String]) -> Result<Vec<QueuedDevice>, ProbeError> {
    let mut found: Vec<QueuedDevice> = Vec::new();
    for name in devices.iter().take(DEVICES_MAX) {
        let entry = disk_entry(root, &name.replace('/', "!"))?;
        let name = entry.replace('!', "/");
        let is_known = found.iter().any(|known| known.name == name);
        // Devices that pass requests on to others have no queues for the hardware.
        if is_known || !root.is_folder(&format!("{}/mq", class_folder(&entry))) {
            continue;
        }
        let mut numbers = vec![device_number(root, &entry)?];
        for member in root.names(&class_folder(&entry))? {
            if root.exists(&format!("{}/{member}/partition", class_folder(&entry))) {
                numbers.push(device_number(root, &member)?);
            }
        }
        found.push(QueuedDevice { name, numbers });
    }
    Ok(found)
}

/// The name of the disk in `/sys`: of a partition the one that it is a part of.
fn disk_entry(root: &Root, entry: &str) -> Result<String, ProbeError> {
    let folder = class_folder(entry);
    if !root.exists(&format!("{folder}/partition")) {
        return Ok(entry.to_owned());
    }
    let resolved = root.resolve(&folder)?;
    let disk = resolved.rsplit('/').nth(1);
    disk.map(str::to_owned).ok_or_else(|| ProbeError::missing(&resolved, "it is in no disk's folder"))
}

/// The number of a device as the kernel has it in its events: the minor number in the lower 20 bits.
fn device_number(root: &Root, entry: &str) -> Result<u32, ProbeError> {
    let path = format!("{}/dev", class_folder(entry));
    let text = root.text(&path)?;
    let number = text.split_once(':').and_then(|(major, minor)| {
        let (major, minor) = (major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?);
        (major < 1 << 12 && minor < 1 << 20).then_some(major << 20 | minor)
    });
    number.ok_or_else(|| ProbeError::missing(path, "it contains no number such as 8:1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A machine with a disk `sda` of one partition, a disk without partitions, and a mapped device.
    fn machine() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let class = folder.path().join("sys/class/block");
        let devices = folder.path().join("sys/devices/disk/block");
        let add = |path: &str, number: &str, has_queue: bool| {
            let place = devices.join(path);
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("dev"), format!("{number}\n")).unwrap();
            if has_queue {
                fs::create_dir(place.join("mq")).unwrap();
            }
            fs::create_dir_all(&class).unwrap();
            let name = path.rsplit('/').next().unwrap();
            let link = format!("../../devices/disk/block/{path}");
            std::os::unix::fs::symlink(link, class.join(name)).unwrap();
        };
        add("sda", "8:0", true);
        add("sda/sda1", "8:1", false);
        fs::write(devices.join("sda/sda1/partition"), "1\n").unwrap();
        add("cciss!c0d0", "104:0", true);
        add("dm-0", "252:0", false);
        let root = Root::at(folder.path());
        (folder, root)
    }

    #[test]
    fn disks_with_a_queue_are_traced_once_also_for_their_partitions() {
        let (_folder, root) = machine();
        let names = ["dm-0", "sda1", "sda", "cciss/c0d0"].map(str::to_owned);
        let found = queued_devices(&root, &names).unwrap();
        let sda = QueuedDevice { name: "sda".to_owned(), numbers: vec![8 << 20, 8 << 20 | 1] };
        let other = QueuedDevice { name: "cciss/c0d0".to_owned(), numbers: vec![104 << 20] };
        assert_eq!(found, [sda, other]);
        assert_eq!(filter(&found, false), "dev == 8388608 || dev == 109051904");
        assert_eq!(filter(&found[..1], true), "dev == 8388608 || dev == 8388609");
    }

    #[test]
    fn a_path_without_a_queue_of_requests_is_not_traced() {
        let (_folder, root) = machine();
        let refused = RequestTracer::open(&root, &["dm-0".to_owned()]);
        assert!(matches!(refused, Err(RequestTraceError::NoQueue)), "{refused:?}");
        let unknown = RequestTracer::open(&root, &["sdz".to_owned()]);
        assert!(matches!(unknown, Err(RequestTraceError::NoQueue)), "{unknown:?}");
    }
}
