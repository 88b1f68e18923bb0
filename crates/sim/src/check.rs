//! Whether a profile and a plan can be simulated: every value within what a machine can have.

use crate::error::SimError;
use narrows_model::sim_profile::{Fault, SimProfile, StationLaw};
use narrows_model::{Cell, Plan};

/// Most requests in flight that one cell may ask for: the memory of a trial grows with them.
const IN_FLIGHT_MAX: u64 = 65_536;
/// Most CPUs and parallel servers of one station: each arrival looks at all of them.
const SERVERS_MAX: u32 = 4_096;

/// Checks the profile alone.
pub(crate) fn profile(profile: &SimProfile) -> Result<(), SimError> {
    let refuse = |key: &str, found: String, allowed: &'static str| {
        Err(SimError::Profile { profile: profile.name.clone(), key: key.to_owned(), found, allowed })
    };
    for (key, cpus) in [("client_cpus", profile.client_cpus), ("server_cpus", profile.server_cpus)] {
        let used = key == "client_cpus" || profile.network.is_some();
        let possible = cpus > 0.0 && cpus <= f64::from(SERVERS_MAX);
        if used && !possible {
            return refuse(key, cpus.to_string(), "allowed is more than 0, up to 4096");
        }
    }
    if profile.shared_machine && !(1..=SERVERS_MAX).contains(&profile.machine_cpus) {
        return refuse("machine_cpus", profile.machine_cpus.to_string(), "allowed is 1 to 4096");
    }
    let cache = &profile.cache;
    for (key, ratio) in
        [("client_hit_ratio", cache.client_hit_ratio), ("server_hit_ratio", cache.server_hit_ratio)]
    {
        if !(0.0..=1.0).contains(&ratio) {
            return refuse(&format!("cache.{key}"), ratio.to_string(), "allowed is 0 to 1");
        }
    }
    for (index, fault) in profile.faults.iter().enumerate() {
        if matches!(fault, Fault::Error { every: 0, .. } | Fault::Stall { every: 0, .. }) {
            return refuse(&format!("faults[{index}].every"), "0".to_owned(), "allowed is 1 or more");
        }
    }
    if let Some(network) = &profile.network {
        if !(0.0..1.0).contains(&network.loss_ratio) {
            return refuse("network.loss_ratio", network.loss_ratio.to_string(), "allowed is 0 to below 1");
        }
        if network.window_bytes.is_some_and(|window| window.0 == 0) {
            return refuse("network.window_bytes", "0".to_owned(), "allowed is 1 or more");
        }
    }
    rates(profile)
}

fn rates(profile: &SimProfile) -> Result<(), SimError> {
    let laws: [(&str, &StationLaw); 4] = [
        ("generator", &profile.generator),
        ("client_cpu", &profile.client_cpu),
        ("server_cpu", &profile.server_cpu),
        ("device", &profile.device),
    ];
    let refuse = |key: String, found: String, allowed: &'static str| {
        Err(SimError::Profile { profile: profile.name.clone(), key, found, allowed })
    };
    for (name, law) in laws {
        if !(1..=SERVERS_MAX).contains(&law.parallel) {
            return refuse(format!("{name}.parallel"), law.parallel.to_string(), "allowed is 1 to 4096");
        }
        if law.threads.is_some_and(|threads| !(1..=SERVERS_MAX).contains(&threads)) {
            let found = law.threads.unwrap_or_default().to_string();
            return refuse(format!("{name}.threads"), found, "allowed is 1 to 4096");
        }
        if !(0.0..=10.0).contains(&law.variation) {
            return refuse(format!("{name}.variation"), law.variation.to_string(), "allowed is 0 to 10");
        }
    }
    let byte_rates = laws.map(|(name, law)| (name, law.bytes_per_s.map(|rate| rate.0)));
    let others = [
        ("network", profile.network.as_ref().map(|network| network.bytes_per_s.0)),
        ("device.bus", profile.device.bus_bytes_per_s.map(|rate| rate.0)),
        ("device_ops_per_s", profile.device_ops_per_s.map(|rate| rate.0)),
    ];
    for (name, rate) in byte_rates.into_iter().chain(others) {
        // A rate below one in a thousand seconds would make a service longer than any window.
        if let Some(rate) = rate.filter(|rate| !(rate.is_finite() && *rate >= 1e-3)) {
            return refuse(
                format!("{name} (rate)"),
                rate.to_string(),
                "allowed is a finite rate of 0.001 or more",
            );
        }
    }
    Ok(())
}

/// Checks every cell's load.
pub(crate) fn plan(plan: &Plan) -> Result<(), SimError> {
    plan.cells.iter().try_for_each(cell)
}

fn cell(cell: &Cell) -> Result<(), SimError> {
    let refuse = |key: &'static str, found: u64, allowed: &'static str| {
        Err(SimError::Cell { cell: cell.id.0.clone(), key, found: found.to_string(), allowed })
    };
    let in_flight = cell.workload.in_flight_configured();
    if in_flight == 0 || in_flight > IN_FLIGHT_MAX {
        return refuse("clients x workers x queue_depth", in_flight, "allowed is 1 to 65536");
    }
    if cell.workload.block_bytes.0 > u64::from(u32::MAX) {
        return refuse("block_bytes", cell.workload.block_bytes.0, "allowed is below 4 GiB");
    }
    if cell.stop.measure_ns.0 == 0 {
        return refuse("measure_ns", 0, "allowed is 1 or more");
    }
    Ok(())
}
