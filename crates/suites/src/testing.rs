//! A machine for tests of every suite.

use narrows_model::{Bytes, Inventory};
use serde_json::json;

/// A machine of which nothing but its name and memory is known.
pub(crate) fn inventory(hostname: &str, memory: Bytes) -> Inventory {
    serde_json::from_value(json!({
        "host": {
            "hostname": hostname, "boot_id": null, "kernel_release": null, "cpu_model": null, "online_cpus": 1,
            "affinity_cpus": [0], "quota_cpus": null, "governor": null, "steal_ratio": null,
            "virtual_machine": null, "memory_bytes": memory, "memory_available_bytes": null,
            "memory_limit_bytes": null, "cgroup_version": null, "clock_resolution_ns": null, "nics": [],
        },
        "path": null,
        "unknown": [],
    }))
    .unwrap()
}
