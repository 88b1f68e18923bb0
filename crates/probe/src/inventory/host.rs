//! What a machine is: names, CPUs, memory, and the limits that control groups set on this process.

use narrows_model::inventory::HostFacts;
use narrows_model::units::{Bytes, Nanos, ratio};

use super::{ProcessFacts, nic};
use crate::cgroup;
use crate::error::{ProbeError, Result};
use crate::parse::{Malformed, cgroup as text, cpu_list, cpuinfo, meminfo, proc_stat};
use crate::root::Root;
use crate::unknown::UnknownFacts;

/// Version 1 prints "no limit" as the largest number of pages in bytes; nobody has this much memory.
const UNLIMITED_BYTES: u64 = 1 << 62;

/// Names under which hypervisors give their machines out.
const VIRTUAL_MAKERS: [&str; 13] = [
    "QEMU",
    "KVM",
    "VMware",
    "VirtualBox",
    "innotek",
    "Xen",
    "Bochs",
    "Parallels",
    "OpenStack",
    "Google Compute Engine",
    "Virtual Machine",
    "Firecracker",
    "BHYVE",
];

/// The machine's facts.
pub(super) fn read(root: &Root, process: &ProcessFacts, unknown: &mut UnknownFacts) -> HostFacts {
    let cpu = unknown.note("CPU model", root.read("/proc/cpuinfo")).map(|bytes| cpuinfo::parse(&bytes));
    let cpu_model = cpu.and_then(|cpu| cpu.model);
    if cpu_model.is_none() {
        unknown.add("CPU model: /proc/cpuinfo does not name it");
    }
    let stat = unknown.note("CPU time of the machine", parsed(root, "/proc/stat", proc_stat::parse));
    let memory = unknown.note("memory", parsed(root, "/proc/meminfo", meminfo::parse)).unwrap_or_default();
    let virtual_machine = hypervisor(root);
    if virtual_machine.is_none() {
        unknown.add("hypervisor: neither the CPU's flags nor the firmware's tables report one");
    }
    let groups = GroupLimits::read(root, unknown);
    let mut name =
        |fact: &str, file: &str| unknown.note(fact, root.text(&format!("/proc/sys/kernel/{file}")));
    HostFacts {
        hostname: name("host name", "hostname").unwrap_or_default(),
        boot_id: name("boot id", "random/boot_id"),
        kernel_release: name("kernel release", "osrelease"),
        cpu_model,
        online_cpus: online_cpus(root, stat.as_ref(), unknown),
        affinity_cpus: process.affinity_cpus.clone(),
        quota_cpus: groups.quota_cpus,
        governor: governor(root, unknown),
        steal_ratio: steal_ratio(stat.as_ref(), unknown),
        virtual_machine,
        memory_bytes: memory.total,
        memory_available_bytes: available(&memory, unknown),
        memory_limit_bytes: groups.memory_limit,
        cgroup_version: groups.cpu_version,
        clock_resolution_ns: process.clock_resolution_ns.map(Nanos),
        nics: nic::read(root, unknown),
    }
}

/// Whether a hypervisor is under the machine; `None` where nothing shows it.
pub(super) fn hypervisor(root: &Root) -> Option<bool> {
    let flag = root.read("/proc/cpuinfo").ok().and_then(|bytes| cpuinfo::parse(&bytes).hypervisor);
    let xen = root.text("/sys/hypervisor/type").is_ok_and(|name| !name.is_empty());
    let maker = |file: &str| root.text(&format!("/sys/class/dmi/id/{file}")).unwrap_or_default();
    let makers = [maker("sys_vendor"), maker("product_name"), maker("bios_vendor")];
    let known = makers.iter().any(|name| VIRTUAL_MAKERS.iter().any(|maker| name.contains(maker)));
    // Amazon rents both kinds under one maker's name; only the product distinguishes them.
    let rented = makers[0] == "Amazon EC2" && !makers[1].is_empty() && !makers[1].contains(".metal");
    // Without a flag (ARM) and with a maker that is not known, it is unknown.
    if xen || known || rented { Some(true) } else { flag }
}

fn online_cpus(root: &Root, stat: Option<&proc_stat::CpuTicks>, unknown: &mut UnknownFacts) -> u32 {
    let listed = parsed(root, "/sys/devices/system/cpu/online", cpu_list::count);
    // Where /sys is hidden, the lines `cpuN` of /proc/stat say the same.
    let counted = stat.map(|stat| stat.online_cpus).filter(|&count| count > 0);
    match (listed, counted) {
        (Ok(count), _) | (Err(_), Some(count)) => count,
        (Err(error), None) => {
            unknown.add(format!("CPUs online: {error}"));
            0
        }
    }
}

/// A machine that does not scale its frequency has no such file.
fn governor(root: &Root, unknown: &mut UnknownFacts) -> Option<String> {
    let outcome = root.text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    unknown.note_unless_missing("frequency governor", outcome)
}

fn steal_ratio(stat: Option<&proc_stat::CpuTicks>, unknown: &mut UnknownFacts) -> Option<f64> {
    let stat = stat?;
    if stat.steal.is_none() {
        unknown.add("steal: this kernel does not count it in /proc/stat");
    }
    ratio(stat.steal? as f64, stat.total() as f64)
}

fn available(memory: &meminfo::Memory, unknown: &mut UnknownFacts) -> Option<Bytes> {
    if memory.total.is_some() && memory.available.is_none() {
        unknown.add("memory available: this kernel does not report MemAvailable in /proc/meminfo");
    }
    memory.available
}

/// What the control groups of this process say.
#[derive(Debug, Default)]
struct GroupLimits {
    cpu_version: Option<u8>,
    quota_cpus: Option<f64>,
    memory_limit: Option<Bytes>,
}

impl GroupLimits {
    fn read(root: &Root, unknown: &mut UnknownFacts) -> Self {
        let cpu = unknown.note("CPU control group", cpu_group(root)).flatten();
        let memory = unknown.note("memory limit", memory_limit(root)).flatten();
        let (cpu_version, quota_cpus) = cpu.unzip();
        Self { cpu_version, quota_cpus: quota_cpus.flatten(), memory_limit: memory }
    }
}

/// The version in force for CPU, and the quota.
fn cpu_group(root: &Root) -> Result<Option<(u8, Option<f64>)>> {
    let Some(group) = cgroup::find(root, "self", "cpu")? else { return Ok(None) };
    if group.version == 2 && !has_cpu_controller(root, &group)? {
        return Ok(None);
    }
    let quota = cgroup::cpu_quota(root, &group)?;
    Ok(Some((group.version, quota.map(|(cpus, _)| cpus))))
}

fn has_cpu_controller(root: &Root, group: &cgroup::ControlGroup) -> Result<bool> {
    for folder in group.folders_upward() {
        let controllers =
            cgroup::optional(root, &format!("{folder}/cgroup.controllers"))?.unwrap_or_default();
        if crate::parse::fields(&controllers).any(|name| name == b"cpu") {
            return Ok(true);
        }
    }
    Ok(false)
}

fn memory_limit(root: &Root) -> Result<Option<Bytes>> {
    let Some(group) = cgroup::find(root, "self", "memory")? else { return Ok(None) };
    let file = if group.version == 1 { "memory.limit_in_bytes" } else { "memory.max" };
    let mut tightest: Option<u64> = None;
    for folder in group.folders_upward() {
        let path = format!("{folder}/{file}");
        let Some(bytes) = cgroup::optional(root, &path)? else { continue };
        let limit = text::limit(bytes.trim_ascii()).map_err(|bad| ProbeError::malformed(&path, &bad))?;
        tightest = [tightest, limit.filter(|&limit| limit < UNLIMITED_BYTES)].into_iter().flatten().min();
    }
    Ok(tightest.map(Bytes))
}

fn parsed<T>(
    root: &Root,
    path: &str,
    parse: impl FnOnce(&[u8]) -> std::result::Result<T, Malformed>,
) -> Result<T> {
    parse(&root.read(path)?).map_err(|bad| ProbeError::malformed(path, &bad))
}
