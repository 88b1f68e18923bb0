//! Checks of a server in host 2 from host 1 whose roles do not take CPU from each other: each on a CPU of its own, or
//! each with a quota of its own.

use std::path::Path;
use std::process::Command;

use narrows_lab::{BlkioThrottle, Cgroup, CpuQuota, Lab, narrows_bin, pin_to_cpus};

use super::SOON;
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

/// A quota below this gives a role few slices in a short window.
const FEW_CPUS: f64 = 0.25;

/// How many CPUs each role may use the time of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quotas {
    pub(crate) client_cpus: f64,
    pub(crate) server_cpus: f64,
}

/// The lab's cgroup `name`, whose processes may use the time of so many CPUs.
#[track_caller]
pub(crate) fn cgroup_with_quota(lab: &Lab, name: &str, cpus: f64) -> Cgroup {
    let cgroup = lab.cgroup(name).unwrap();
    cgroup.limit_cpu(CpuQuota { cpus }).unwrap();
    cgroup
}

/// Checks a memory store, the roles in the lab's cgroups `client` and `server`.
#[track_caller]
pub(crate) fn check_with_quotas(lab: &Lab, name: &str, quotas: Quotas, words: &str) -> Checked {
    let of_client = cgroup_with_quota(lab, "client", quotas.client_cpus);
    let of_server = cgroup_with_quota(lab, "server", quotas.server_cpus);
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    let served = serve(lab, &server, None, |command| of_server.enter(command));
    let mut command = served.check_command(&client, "memory");
    of_client.enter(&mut command);
    run_check(lab, name, command, words)
}

/// The limits of a proxy in host 3.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProxyLimits {
    /// CPUs of a quota; none without.
    pub(crate) cpus: Option<f64>,
    /// Bytes of its sockets' buffers.
    pub(crate) buffer: Option<&'static str>,
    /// Whether the network past the proxy is measured also where the verdict is decided without it.
    pub(crate) is_measured_past: bool,
}

/// Checks a memory store in host 2 from host 1 through `narrows proxy` in host 3, all three in cgroups of their own.
#[track_caller]
pub(crate) fn check_through(lab: &Lab, name: &str, quotas: Quotas, limits: ProxyLimits) -> Checked {
    let of_client = cgroup_with_quota(lab, "client", quotas.client_cpus);
    let of_server = cgroup_with_quota(lab, "server", quotas.server_cpus);
    let (client, server, between) = (lab.host(1).unwrap(), lab.host(2).unwrap(), lab.host(3).unwrap());
    let served = serve(lab, &server, None, |command| of_server.enter(command));
    let mut command = between.command(narrows_bin().unwrap());
    command.args(["proxy", "--listen", &format!("{}:0", between.address()), "--to", &served.address]);
    command.arg("--token-file").arg(served.token());
    if let Some(bytes) = limits.buffer {
        command.args(["--send-buffer", bytes, "--receive-buffer", bytes]);
    }
    if let Some(cpus) = limits.cpus {
        cgroup_with_quota(lab, "proxy", cpus).enter(&mut command);
    }
    let mut proxy = lab.start("proxy", command).unwrap();
    let line = proxy.wait_for_line("listening on ", SOON).unwrap();
    let via = line.strip_prefix("listening on ").unwrap().to_owned();
    let mut command = client.command(narrows_bin().unwrap());
    command.arg("check").arg(format!("tcp://{}/memory?via={via}", served.address));
    command.arg("--token-file").arg(served.token());
    of_client.enter(&mut command);
    if limits.is_measured_past {
        command.arg("--whole-plan");
    }
    let cpus = [Some(quotas.client_cpus), Some(quotas.server_cpus), limits.cpus].into_iter().flatten();
    // Less than 0.9 s of a role with a tenth of a CPU are so few slices that the time of one without a quota, which the kernel
    // counts in ticks, is not known.
    let times = if cpus.fold(1.0, f64::min) < FEW_CPUS {
        "--seconds 18 --cell-seconds 0.9"
    } else {
        "--seconds 12 --cell-seconds 0.6"
    };
    run_check(lab, name, command, &format!("{times} --block 64KiB --depth 16"))
}
