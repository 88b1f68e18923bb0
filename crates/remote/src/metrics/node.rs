//! Counters of a machine from the text of its `node_exporter`: CPU time, block devices, network interfaces, memory.
//!
//! All of them are the kernel's own figures: `/proc/stat`, `/proc/diskstats`, `/proc/net/dev`, `/proc/meminfo`. Beside them is
//! the time at which the machine booted, which distinguishes it from others. What is
//! missing but the CPU time is left out; what is malformed is an error, since a text with half of a counter has none.

use super::exposition::{MetricLine, name_of, sample};
use narrows_model::counters::{DiskCounters, HostCpu, MemoryCounters, NicCounters};
use narrows_model::printable::one_line;
use narrows_model::{Bytes, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// The metric without which a text is not that of a `node_exporter`.
pub(super) const CPU_METRIC: &str = "node_cpu_seconds_total";
/// When the machine booted, in seconds of the wall clock.
const BOOT_METRIC: &str = "node_boot_time_seconds";

/// Most CPUs, block devices and network interfaces of a machine that are kept.
const PARTS_MAX: usize = 8192;
/// Most bytes of a name of one of them.
const NAME_BYTES_MAX: usize = 128;
/// Devices on top of others, whose bytes are counted below them already, and devices in memory.
const NOT_DEVICES: [&str; 10] = ["dm-", "md", "loop", "ram", "zram", "sr", "fd", "drbd", "bcache", "zd"];

/// The counters of a machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct NodeCounters {
    pub(super) host_cpu: HostCpu,
    /// Empty where the busy time of one is missing: how busy they are is then unknown, not nothing.
    pub(super) disks: Vec<DiskCounters>,
    pub(super) nics: Vec<NicCounters>,
    pub(super) memory: Option<MemoryCounters>,
    /// Seconds of the wall clock at which the machine booted.
    pub(super) boot_time_s: Option<u64>,
}

/// What was read so far.
#[derive(Default)]
struct Collected {
    cpu: HostCpu,
    /// CPUs and modes that were read.
    cpu_modes: BTreeSet<(String, String)>,
    cpus: BTreeSet<String>,
    disks: BTreeMap<String, ReadDisk>,
    nics: BTreeMap<String, NicCounters>,
    memory: MemoryCounters,
    has_memory: bool,
    boot_time_s: Option<u64>,
}

/// A block device, and whether its busy time was read.
struct ReadDisk {
    counters: DiskCounters,
    has_busy: bool,
}

/// The counters in `text`.
///
/// # Errors
/// What is wrong, for people: no CPU time, a line that is cut or malformed, too many devices.
pub(super) fn counters(text: &str) -> Result<NodeCounters, String> {
    if !text.is_empty() && !text.ends_with('\n') {
        return Err("the text is cut: its last line has no end".to_owned());
    }
    let mut collected = Collected::default();
    for (index, line) in text.lines().enumerate() {
        if !name_of(line).is_some_and(is_read) {
            continue;
        }
        let problem = |what: &str| format!("line {} {what}: {}", index + 1, start_of(line));
        let found = sample(line).ok_or_else(|| problem("is no sample of the text format"))?;
        collected.add(&found).map_err(|what| problem(&what))?;
    }
    collected.finish()
}

/// Whether a metric is one that is kept: all others of an exporter are only passed over.
fn is_read(name: &str) -> bool {
    [CPU_METRIC, BOOT_METRIC].contains(&name)
        || ["node_disk_", "node_network_", "node_memory_"].iter().any(|known| name.starts_with(known))
}

fn start_of(line: &str) -> String {
    one_line(&line.chars().take(60).collect::<String>()).into_owned()
}

impl Collected {
    fn add(&mut self, line: &MetricLine<'_>) -> Result<(), String> {
        if line.name == CPU_METRIC {
            return self.add_cpu(line);
        }
        if line.name == BOOT_METRIC {
            self.boot_time_s = Some(count(line)?);
            return Ok(());
        }
        if let Some(metric) = line.name.strip_prefix("node_disk_") {
            return self.add_disk(metric, line);
        }
        if let Some(metric) = line.name.strip_prefix("node_network_") {
            return self.add_nic(metric, line);
        }
        self.add_memory(line)
    }

    fn add_cpu(&mut self, line: &MetricLine<'_>) -> Result<(), String> {
        let (Some(cpu), Some(mode)) = (part_name(line, "cpu")?, line.label("mode")) else {
            return Err("has no labels cpu and mode".to_owned());
        };
        let field = match mode {
            "user" | "nice" => &mut self.cpu.user_ns,
            "system" => &mut self.cpu.system_ns,
            "irq" => &mut self.cpu.irq_ns,
            "softirq" => &mut self.cpu.softirq_ns,
            "steal" => &mut self.cpu.steal_ns,
            "idle" => &mut self.cpu.idle_ns,
            "iowait" => &mut self.cpu.iowait_ns,
            _ => return Ok(()),
        };
        *field = field.saturating_add(seconds(line)?);
        if !self.cpu_modes.insert((cpu.clone(), mode.to_owned())) {
            return Err("is there twice".to_owned());
        }
        self.cpus.insert(cpu);
        if self.cpus.len() > PARTS_MAX { Err(too_many("CPUs")) } else { Ok(()) }
    }

    fn add_disk(&mut self, metric: &str, line: &MetricLine<'_>) -> Result<(), String> {
        let Some(name) = part_name(line, "device")? else { return Ok(()) };
        let read = self.disks.entry(name).or_insert_with_key(|name| ReadDisk::new(name));
        let disk = &mut read.counters;
        match metric {
            "reads_completed_total" => disk.read_count = count(line)?,
            "read_bytes_total" => disk.read_bytes = Bytes(count(line)?),
            "read_time_seconds_total" => disk.read_ns = seconds(line)?,
            "writes_completed_total" => disk.write_count = count(line)?,
            "written_bytes_total" => disk.write_bytes = Bytes(count(line)?),
            "write_time_seconds_total" => disk.write_ns = seconds(line)?,
            "flush_requests_total" => disk.flush_count = count(line)?,
            "flush_requests_time_seconds_total" => disk.flush_ns = seconds(line)?,
            "io_time_seconds_total" => {
                disk.busy_ns = seconds(line)?;
                read.has_busy = true;
            }
            "io_time_weighted_seconds_total" => disk.queue_ns = seconds(line)?,
            _ => {}
        }
        if self.disks.len() > PARTS_MAX { Err(too_many("block devices")) } else { Ok(()) }
    }

    fn add_nic(&mut self, metric: &str, line: &MetricLine<'_>) -> Result<(), String> {
        let Some(name) = part_name(line, "device")? else { return Ok(()) };
        let nic = self
            .nics
            .entry(name)
            .or_insert_with_key(|name| NicCounters { name: name.clone(), ..NicCounters::default() });
        match metric {
            "receive_bytes_total" => nic.receive_bytes = Bytes(count(line)?),
            "receive_packets_total" => nic.receive_packet_count = count(line)?,
            "receive_drop_total" => nic.receive_drop_count = count(line)?,
            "transmit_bytes_total" => nic.send_bytes = Bytes(count(line)?),
            "transmit_packets_total" => nic.send_packet_count = count(line)?,
            "transmit_drop_total" => nic.send_drop_count = count(line)?,
            _ => {}
        }
        if self.nics.len() > PARTS_MAX { Err(too_many("network interfaces")) } else { Ok(()) }
    }

    fn add_memory(&mut self, line: &MetricLine<'_>) -> Result<(), String> {
        let field = match line.name {
            "node_memory_MemAvailable_bytes" => &mut self.memory.available_bytes,
            "node_memory_Cached_bytes" => &mut self.memory.cached_bytes,
            "node_memory_Dirty_bytes" => &mut self.memory.dirty_bytes,
            "node_memory_Writeback_bytes" => &mut self.memory.writeback_bytes,
            _ => return Ok(()),
        };
        *field = Bytes(count(line)?);
        self.has_memory |= line.name == "node_memory_MemAvailable_bytes";
        Ok(())
    }

    fn finish(self) -> Result<NodeCounters, String> {
        if self.cpus.is_empty() {
            return Err(format!("it has no {CPU_METRIC}: this is not what a node_exporter reports"));
        }
        let online_cpus = u32::try_from(self.cpus.len()).unwrap_or(u32::MAX);
        let devices = || self.disks.iter().filter(|(name, _)| is_device(name, &self.disks));
        let has_busy = devices().all(|(_, read)| read.has_busy);
        let disks = devices().filter(|_| has_busy).map(|(_, read)| read.counters.clone()).collect();
        Ok(NodeCounters {
            host_cpu: HostCpu { online_cpus, ..self.cpu },
            disks,
            nics: self.nics.into_values().collect(),
            memory: self.has_memory.then_some(self.memory),
            boot_time_s: self.boot_time_s,
        })
    }
}

/// Whether a name is that of a device by itself: one in memory, one on top of others, and a part of another are none.
fn is_device<T>(name: &str, all: &BTreeMap<String, T>) -> bool {
    let is_numbered = |prefix: &&str| {
        name.strip_prefix(*prefix).is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    let whole = name.trim_end_matches(|last: char| last.is_ascii_digit());
    let is_part = whole.len() < name.len()
        && [Some(whole), whole.strip_suffix('p')].into_iter().flatten().any(|whole| all.contains_key(whole));
    !NOT_DEVICES.iter().any(is_numbered) && !is_part
}

/// The name of a part of the machine in a label; `None` without one.
fn part_name(line: &MetricLine<'_>, label: &str) -> Result<Option<String>, String> {
    match line.label(label) {
        Some(name) if name.len() > NAME_BYTES_MAX => Err(format!("has a {label} of {} bytes", name.len())),
        name => Ok(name.map(|name| one_line(name).into_owned())),
    }
}

fn too_many(what: &str) -> String {
    format!("is of more than {PARTS_MAX} {what}")
}

/// A counter's value; exporters write whole numbers as floating point.
fn count(line: &MetricLine<'_>) -> Result<u64, String> {
    let whole = narrows_model::units::round_to_u64(line.value);
    if is_counter(line.value) { Ok(whole) } else { Err("is no counter's value".to_owned()) }
}

fn seconds(line: &MetricLine<'_>) -> Result<Nanos, String> {
    if is_counter(line.value * 1e9) {
        Ok(Nanos::from_secs_f64(line.value))
    } else {
        Err("is no counter's value".to_owned())
    }
}

/// Whether a value fits in a counter: not negative, and of 63 bits at most.
fn is_counter(value: f64) -> bool {
    const MOST: f64 = 9.2e18;
    (0.0..=MOST).contains(&value)
}

impl ReadDisk {
    fn new(name: &str) -> Self {
        Self { counters: DiskCounters { name: name.to_owned(), ..DiskCounters::default() }, has_busy: false }
    }
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
