//! Checks of a server in host 2 from host 1 whose roles do not take CPU from each other: each on a CPU of its own, or
//! each with a quota of its own.

use std::path::Path;
use std::process::Command;

use narrows_lab::{BlkioThrottle, CpuQuota, Lab, pin_to_cpus};

use super::check::{Checked, run_check, serve};

/// Checks the disk store in `root`, or the memory store without one, the server on CPU 1 and the client on CPU 0; `place`
/// changes the server's command besides.
#[track_caller]
pub(crate) fn check_apart(
    lab: &Lab,
    name: &str,
    root: Option<&Path>,
    place: impl FnOnce(&mut Command),
    words: &str,
) -> Checked {
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    let served = serve(lab, &server, root, |command| {
        pin_to_cpus(command, &[1]);
        place(command);
    });
    let mut command = served.check_command(&client, if root.is_some() { "disk" } else { "memory" });
    pin_to_cpus(&mut command, &[0]);
    run_check(lab, name, command, words)
}

/// Checks the disk store of a server that is limited to `limits` at the device of the scratch folder.
#[track_caller]
pub(crate) fn check_throttled(lab: &Lab, name: &str, limits: &BlkioThrottle, words: &str) -> Checked {
    let root = lab.scratch().join("served");
    std::fs::create_dir(&root).unwrap();
    let slow = lab.cgroup("slow").unwrap();
    slow.limit_io(&BlkioThrottle { path: root.clone(), ..limits.clone() }).unwrap();
    check_apart(lab, name, Some(&root), |command| slow.enter(command), words)
}

/// How many CPUs each role may use the time of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quotas {
    pub(crate) client_cpus: f64,
    pub(crate) server_cpus: f64,
}

/// Checks a memory store, the roles in the lab's cgroups `client` and `server`.
#[track_caller]
pub(crate) fn check_with_quotas(lab: &Lab, name: &str, quotas: Quotas, words: &str) -> Checked {
    let limited = |name: &str, cpus: f64| {
        let cgroup = lab.cgroup(name).unwrap();
        cgroup.limit_cpu(CpuQuota { cpus }).unwrap();
        cgroup
    };
    let (of_client, of_server) =
        (limited("client", quotas.client_cpus), limited("server", quotas.server_cpus));
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    let served = serve(lab, &server, None, |command| of_server.enter(command));
    let mut command = served.check_command(&client, "memory");
    of_client.enter(&mut command);
    run_check(lab, name, command, words)
}
