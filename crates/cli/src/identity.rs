//! What this process is: its machine and its program, as a client reports them to a command on another host.

use narrows_model::Bytes;
use narrows_probe::Root;
use narrows_probe::inventory::{ProcessFacts, host};
use narrows_run::HostIdentity;
use narrows_sys::process::{affinity, pid_namespace};
use std::io::Read;

/// Bytes that are read of the program at once.
const READ_BYTES: usize = 1 << 20;

/// The identity of this process.
///
/// # Cost
/// Reads the whole program once.
#[must_use]
pub fn own_identity() -> HostIdentity {
    let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned());
    let boot_id = read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let time = std::fs::read_link("/proc/self/ns/time");
    let time = time.map(|link| link.to_string_lossy().into_owned()).unwrap_or_default();
    // Numbers of processes mean nothing where it is not known in which namespace they are.
    let processes = pid_namespace().filter(|_| !boot_id.is_empty());
    HostIdentity {
        hostname: read("/proc/sys/kernel/hostname").unwrap_or_default(),
        kernel_release: read("/proc/sys/kernel/osrelease").ok(),
        affinity_cpus: own_cpus(),
        memory_bytes: own_memory(),
        processes: processes.map(|namespace| format!("{boot_id} {namespace}")).unwrap_or_default(),
        clock: format!("{boot_id} {time}"),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program: program(),
        boot_id,
    }
}

fn own_cpus() -> Vec<u32> {
    let cpus = affinity().unwrap_or_default();
    cpus.into_iter().filter_map(|cpu| u32::try_from(cpu).ok()).collect()
}

/// Memory that this process can use; `None` where it is not known.
fn own_memory() -> Option<Bytes> {
    let process = ProcessFacts { affinity_cpus: own_cpus(), clock_resolution_ns: None };
    host(&Root::system(), &process).0.usable_memory()
}

/// What this process runs: two builds differ in it.
fn program() -> String {
    checksum().unwrap_or_else(|error| format!("a program that cannot be read ({error})"))
}

fn checksum() -> std::io::Result<String> {
    let mut file = std::fs::File::open("/proc/self/exe")?;
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut bytes = 0_u64;
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(format!("{bytes} bytes, checksum {:08x}", hasher.finalize()));
        }
        hasher.update(&buffer[..count]);
        bytes += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_of_the_same_machine_and_build_as_itself() {
        let own = own_identity();
        assert_eq!(own, own_identity());
        assert!(own.program.contains(" bytes, checksum "), "{}", own.program);
        assert!(own.memory_bytes.is_some_and(|memory| memory.0 > 0));
        assert!(!own.hostname.is_empty() && !own.boot_id.is_empty() && !own.affinity_cpus.is_empty());
    }
}
