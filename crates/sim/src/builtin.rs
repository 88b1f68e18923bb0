//! The named machines that come with narrows: ill ones, each with a healthy counterpart.
//!
//! A static registry. The numbers are round figures of common hardware, chosen so that one segment limits clearly.

use narrows_model::sim_profile::{CacheLaw, NetworkLaw, SimProfile, StationLaw};
use narrows_model::{Bytes, BytesPerSec, Nanos, OpsPerSec};

/// A named machine.
#[derive(Debug, Clone, Copy)]
pub struct BuiltinMachine {
    /// Name, as in `sim:NAME`.
    pub id: &'static str,
    /// What it is and what limits it, in one line for people.
    pub title: &'static str,
    /// The same machine without its illness; `None` for a healthy one.
    pub healthy: Option<&'static str>,
    build: fn() -> SimProfile,
}

impl BuiltinMachine {
    /// The machine's profile.
    #[must_use]
    pub fn profile(&self) -> SimProfile {
        SimProfile { name: self.id.to_owned(), ..(self.build)() }
    }
}

/// The profile of the machine named `name`; `None` when there is none.
#[must_use]
pub fn builtin(name: &str) -> Option<SimProfile> {
    BUILTIN.iter().find(|machine| machine.id == name).map(BuiltinMachine::profile)
}

macro_rules! machines {
    ($($id:literal, $title:literal, $healthy:expr, $build:expr;)*) => {
        /// Every named machine.
        pub const BUILTIN: &[BuiltinMachine] =
            &[$(BuiltinMachine { id: $id, title: $title, healthy: $healthy, build: $build }),*];
    };
}

machines! {
    "ten-gigabit-nfs", "a healthy file server on 10 Gbit/s: its solid-state device limits", None, server;
    "gigabit-nfs", "the same file server on 1 Gbit/s: the wire limits", Some("ten-gigabit-nfs"), gigabit;
    "hundred-megabit", "the same file server on 100 Mbit/s: the wire limits", Some("ten-gigabit-nfs"), hundred_megabit;
    "wan-10ms", "the same file server 10 ms away: the round-trip time limits a single request", Some("ten-gigabit-nfs"), wan;
    "slow-server-cpu", "a file server limited to 0.3 CPU: its CPU limits", Some("fast-server-cpu"), slow_server_cpu;
    "fast-server-cpu", "the same server with 8 CPUs: the device limits", None, fast_server_cpu;
    "slow-disk", "a file server on one magnetic disk: the disk limits", Some("fast-disk"), slow_disk;
    "fast-disk", "the same server on a fast device: the wire limits large blocks", None, fast_disk;
    "cached-client", "a client that reads nearly all from its own cache over a thin wire", Some("uncached-client"), cached_client;
    "uncached-client", "the same client without anything cached: the wire limits", None, hundred_megabit;
    "cached-server", "a server that reads nearly all from memory in front of a slow disk", Some("slow-disk"), cached_server;
    "weak-client", "a client limited to 0.25 CPU: its CPU limits", Some("strong-client"), weak_client;
    "strong-client", "the same client with 8 CPUs: the device limits", None, server;
    "weak-generator", "a load generator that costs more than the path", Some("strong-client"), weak_generator;
    "shared-laptop", "client and server on one machine of two CPUs: these limit", Some("two-laptops"), shared_laptop;
    "two-laptops", "the same client and server on two machines: the wire limits large blocks", None, two_laptops;
    "slow-commit", "a server whose device is slow to make writes durable: the commit \
        limits", Some("quick-commit"), slow_commit;
    "quick-commit", "the same server with a device whose writes are durable at once: its bandwidth limits", None, server;
    "few-threads", "a server of two worker threads in front of a device that serves more: these limit", Some("many-threads"), few_threads;
    "many-threads", "the same server with as many threads as requests: its device limits", None, many_threads;
    "capped-iops", "a device limited to 2000 operations per second: these limit small \
        requests", Some("many-threads"), capped_iops;
    "small-window", "a connection whose window limits the rate of a fast wire 4 ms \
        away", Some("wide-window"), small_window;
    "wide-window", "the same wire with a window that fills it: the device limits", None, wide_window;
    "lossy-wire", "a fast wire 4 ms away that loses packets: a connection cannot fill it", Some("wide-window"), lossy_wire;
    "shared-bus", "two local devices, a target each, on one bus: together they move less than the sum", Some("two-buses"), shared_bus;
    "two-buses", "the same devices, each on a separate bus: their rates add up", None, local_ssd;
    "local-ssd", "a local solid-state device", None, local_ssd;
    "local-disk", "a local magnetic disk", Some("local-ssd"), local_disk;
}

fn law(per_op_ns: u64, mega_bytes_per_s: f64) -> StationLaw {
    StationLaw {
        per_op_ns: Nanos(per_op_ns),
        bytes_per_s: Some(BytesPerSec(mega_bytes_per_s * 1e6)),
        parallel: 1,
        variation: 0.2,
        ..StationLaw::default()
    }
}

/// A wire of `mega_bits_per_s`; TCP over Ethernet of 1500-byte packets transfers 1448 bytes in 1538.
fn wire(mega_bits_per_s: u64, rtt_ns: u64) -> NetworkLaw {
    NetworkLaw {
        rtt_ns: Nanos(rtt_ns),
        bytes_per_s: BytesPerSec(mega_bits_per_s as f64 * 1e6 / 8.0 * 1448.0 / 1538.0),
        link_bits_per_s: Some(mega_bits_per_s * 1_000_000),
        window_bytes: None,
        loss_ratio: 0.0,
    }
}

fn magnetic_disk() -> StationLaw {
    StationLaw { variation: 0.4, ..law(6_000_000, 180.0) }
}

/// The healthy file server from which the others are made.
fn server() -> SimProfile {
    SimProfile {
        name: String::new(),
        client_cpus: 8.0,
        generator: StationLaw { per_op_ns: Nanos(600), variation: 0.1, ..StationLaw::default() },
        client_cpu: law(4_000, 5_000.0),
        network: Some(wire(10_000, 80_000)),
        server_cpus: 8.0,
        server_cpu: law(8_000, 3_000.0),
        device: StationLaw { parallel: 4, ..law(80_000, 200.0) },
        device_ops_per_s: None,
        cache: CacheLaw::default(),
        shared_machine: false,
        machine_cpus: 8,
        faults: Vec::new(),
        file_bytes: Bytes(1 << 30),
    }
}

fn gigabit() -> SimProfile {
    SimProfile { network: Some(wire(1_000, 150_000)), ..server() }
}

fn hundred_megabit() -> SimProfile {
    SimProfile { network: Some(wire(100, 200_000)), ..server() }
}

fn wan() -> SimProfile {
    SimProfile { network: Some(wire(10_000, 10_000_000)), ..server() }
}

fn slow_server_cpu() -> SimProfile {
    SimProfile { server_cpus: 0.3, ..fast_server_cpu() }
}

fn fast_server_cpu() -> SimProfile {
    SimProfile { server_cpu: law(30_000, 1_000.0), ..server() }
}

fn slow_disk() -> SimProfile {
    SimProfile { device: magnetic_disk(), ..fast_disk() }
}

fn fast_disk() -> SimProfile {
    SimProfile { network: Some(wire(2_500, 100_000)), ..server() }
}

fn cached_client() -> SimProfile {
    SimProfile { cache: CacheLaw { client_hit_ratio: 0.97, server_hit_ratio: 0.0 }, ..hundred_megabit() }
}

fn cached_server() -> SimProfile {
    SimProfile { cache: CacheLaw { client_hit_ratio: 0.0, server_hit_ratio: 0.97 }, ..slow_disk() }
}

fn weak_client() -> SimProfile {
    SimProfile { client_cpus: 0.25, client_cpu: law(40_000, 1_000.0), ..server() }
}

fn weak_generator() -> SimProfile {
    let generator = StationLaw { per_op_ns: Nanos(400_000), ..law(0, 300.0) };
    SimProfile { client_cpus: 1.0, generator, ..server() }
}

fn shared_laptop() -> SimProfile {
    SimProfile {
        client_cpus: 2.0,
        client_cpu: law(15_000, 500.0),
        network: Some(NetworkLaw {
            rtt_ns: Nanos(25_000),
            bytes_per_s: BytesPerSec(8e9),
            link_bits_per_s: None,
            window_bytes: None,
            loss_ratio: 0.0,
        }),
        server_cpus: 2.0,
        server_cpu: law(25_000, 350.0),
        device: StationLaw { parallel: 16, ..law(20_000, 400.0) },
        shared_machine: true,
        machine_cpus: 2,
        ..server()
    }
}

fn two_laptops() -> SimProfile {
    SimProfile { network: Some(wire(5_000, 100_000)), shared_machine: false, ..shared_laptop() }
}

fn slow_commit() -> SimProfile {
    let device = StationLaw { flush_ns: Nanos(4_000_000), ..server().device };
    SimProfile { device, ..server() }
}

/// A device of 2 ms that serves many requests at once.
fn many_threads() -> SimProfile {
    let device = StationLaw { parallel: 32, variation: 0.3, ..law(2_000_000, 1_000.0) };
    SimProfile { device, ..server() }
}

fn few_threads() -> SimProfile {
    let server_cpu = StationLaw { threads: Some(2), ..server().server_cpu };
    SimProfile { server_cpu, ..many_threads() }
}

fn capped_iops() -> SimProfile {
    SimProfile { device_ops_per_s: Some(OpsPerSec(2_000.0)), ..many_threads() }
}

fn wide_window() -> SimProfile {
    SimProfile { network: Some(wire(10_000, 4_000_000)), ..server() }
}

fn small_window() -> SimProfile {
    let network = NetworkLaw { window_bytes: Some(Bytes(256 << 10)), ..wire(10_000, 4_000_000) };
    SimProfile { network: Some(network), ..server() }
}

fn lossy_wire() -> SimProfile {
    let network = NetworkLaw { loss_ratio: 0.002, ..wire(10_000, 4_000_000) };
    SimProfile { network: Some(network), ..server() }
}

fn local_ssd() -> SimProfile {
    SimProfile { network: None, client_cpu: law(5_000, 4_000.0), ..server() }
}

/// A bus as fast as one and a half of the device.
fn shared_bus() -> SimProfile {
    let bus_bytes_per_s = Some(BytesPerSec(1.2e9));
    SimProfile { device: StationLaw { bus_bytes_per_s, ..local_ssd().device }, ..local_ssd() }
}

fn local_disk() -> SimProfile {
    SimProfile { device: magnetic_disk(), ..local_ssd() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;

    #[test]
    fn every_machine_is_found_by_its_name_and_can_be_built() {
        for machine in BUILTIN {
            assert_eq!(builtin(machine.id), Some(machine.profile()));
            assert!(Machine::new(machine.profile(), 1).is_ok(), "{}", machine.id);
        }
        assert_eq!(builtin("no-such-machine"), None);
    }

    #[test]
    fn every_ill_machine_has_a_healthy_counterpart_that_differs() {
        for machine in BUILTIN {
            let Some(healthy) = machine.healthy else { continue };
            let counterpart = builtin(healthy).unwrap();
            assert_ne!(SimProfile { name: healthy.to_owned(), ..machine.profile() }, counterpart);
        }
    }
}
