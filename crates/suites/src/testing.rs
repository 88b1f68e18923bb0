//! A machine and a folder for tests of every suite.

use crate::folder::PreparedFolder;
use clap::{Args, FromArgMatches};
use narrows_model::{Bytes, Inventory, Target};
use narrows_study::{CheckRequest, Problem, plan_check};
use serde_json::json;

/// A folder whose cuts have requests of `block`.
pub(crate) fn folder(block: Bytes) -> PreparedFolder {
    let target: Target = "/data".parse().unwrap();
    let mut check = CheckRequest::new(target.clone());
    (check.blocks, check.depths) = (Some(vec![block]), Some(vec![1]));
    PreparedFolder { targets: vec![target], check: plan_check(&check).unwrap() }
}

/// What a line of options of the suite `name` is read as.
pub(crate) fn typed<A: Args + FromArgMatches>(name: &'static str, line: &str) -> A {
    let words = std::iter::once(name).chain(line.split_whitespace());
    let matches = A::augment_args(clap::Command::new(name)).get_matches_from(words);
    A::from_arg_matches(&matches).unwrap()
}

/// All problems of a request, a line each.
pub(crate) fn messages(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

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
