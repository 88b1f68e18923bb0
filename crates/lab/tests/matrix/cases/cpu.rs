//! Faults of CPUs: quotas of one role or of both, one CPU for both, programs of others.

use super::{MatrixCase, RANDOM, SMALL, Truth};
use crate::support::apart::{Quotas, check_apart, check_with_quotas};
use crate::support::check::{Checked, local_check_command, run_check, serve};
use narrows_lab::{CpuQuota, Lab, LabProcess, narrows_bin, pin_to_cpus};
use narrows_model::Segment;
use std::process::Command;

const SERVER: Truth = &[("bulk", &[Segment::ServerCpu])];
const CLIENT: Truth = &[("bulk", &[Segment::ClientCpu])];

fn quotas(lab: &Lab, client_cpus: f64, server_cpus: f64, words: &str) -> Checked {
    check_with_quotas(lab, "case", Quotas { client_cpus, server_cpus }, words)
}

/// A check whose server alone has a quota; client and server may use the same CPUs.
fn quota_of_the_server(lab: &Lab, cpus: f64, words: &str) -> Checked {
    let slow = lab.cgroup("server").unwrap();
    slow.limit_cpu(CpuQuota { cpus }).unwrap();
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    let served = serve(lab, &server, None, |command| slow.enter(command));
    run_check(lab, "case", served.check_command(&client, "memory"), words)
}

/// A check whose client alone has a quota.
fn quota_of_the_client(lab: &Lab, cpus: f64, words: &str) -> Checked {
    let slow = lab.cgroup("client").unwrap();
    slow.limit_cpu(CpuQuota { cpus }).unwrap();
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    let served = serve(lab, &server, None, |_: &mut Command| ());
    let mut command = served.check_command(&client, "memory");
    slow.enter(&mut command);
    run_check(lab, "case", command, words)
}

/// A folder of this machine, the check under a quota.
fn folder_under_a_quota(lab: &Lab, cpus: f64, words: &str) -> Checked {
    let slow = lab.cgroup("client").unwrap();
    slow.limit_cpu(CpuQuota { cpus }).unwrap();
    let mut command = local_check_command(std::path::Path::new("/dev/shm"));
    slow.enter(&mut command);
    run_check(lab, "case", command, words)
}

/// A check through a proxy with a quota.
fn quota_of_the_proxy(lab: &Lab, cpus: f64) -> Checked {
    let limited = |name: &str, cpus: f64| {
        let group = lab.cgroup(name).unwrap();
        group.limit_cpu(CpuQuota { cpus }).unwrap();
        group
    };
    let (client, server, between) = (lab.host(1).unwrap(), lab.host(2).unwrap(), lab.host(3).unwrap());
    let served = serve(lab, &server, None, |command| limited("server", 0.8).enter(command));
    let mut command = between.command(narrows_bin().unwrap());
    command.args(["proxy", "--listen", &format!("{}:0", between.address()), "--to", &served.address]);
    command.arg("--token-file").arg(served.token());
    limited("proxy", cpus).enter(&mut command);
    let mut proxy = lab.start("proxy", command).unwrap();
    let line = proxy.wait_for_line("listening on ", crate::support::SOON).unwrap();
    let via = line.strip_prefix("listening on ").unwrap().to_owned();
    let mut command = client.command(narrows_bin().unwrap());
    command.arg("check").arg(format!("tcp://{}/memory?via={via}", served.address));
    command.arg("--token-file").arg(served.token());
    limited("client", 0.8).enter(&mut command);
    run_check(lab, "case", command, "--block 64KiB --depth 16 --seconds 18 --cell-seconds 0.8")
}

/// A busy loop of others on each of `cpus`.
fn loops(lab: &Lab, cpus: &[u32]) -> Vec<LabProcess> {
    let start = |cpu: &u32| {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]);
        pin_to_cpus(&mut command, &[*cpu]);
        lab.start(&format!("others-{cpu}"), command).unwrap()
    };
    cpus.iter().map(start).collect()
}

/// Every case.
pub(super) static CASES: &[MatrixCase] = &[
    MatrixCase {
        fault: "server quota 0.3 beside client quota 1",
        truth: SERVER,
        check: |lab| quotas(lab, 1.0, 0.3, SMALL),
    },
    MatrixCase {
        fault: "server quota 0.15 beside client quota 0.8",
        truth: SERVER,
        check: |lab| quotas(lab, 0.8, 0.15, SMALL),
    },
    MatrixCase {
        fault: "client quota 0.15 beside server quota 1",
        truth: CLIENT,
        check: |lab| quotas(lab, 0.15, 1.0, SMALL),
    },
    MatrixCase {
        fault: "client quota 0.3 beside server quota 1",
        truth: CLIENT,
        check: |lab| quotas(lab, 0.3, 1.0, SMALL),
    },
    MatrixCase {
        fault: "server quota 0.1 beside client quota 0.8, small requests",
        truth: &[("random", &[Segment::ServerCpu])],
        check: |lab| quotas(lab, 0.8, 0.1, RANDOM),
    },
    MatrixCase {
        fault: "server quota 0.2 alone",
        truth: SERVER,
        check: |lab| quota_of_the_server(lab, 0.2, SMALL),
    },
    MatrixCase {
        fault: "client quota 0.2 alone",
        truth: CLIENT,
        check: |lab| quota_of_the_client(lab, 0.2, SMALL),
    },
    MatrixCase {
        fault: "server quota 0.1 alone",
        truth: SERVER,
        check: |lab| quota_of_the_server(lab, 0.1, SMALL),
    },
    MatrixCase {
        fault: "client quota 0.1 alone, small requests",
        truth: &[("random", &[Segment::ClientCpu])],
        check: |lab| quota_of_the_client(lab, 0.1, RANDOM),
    },
    MatrixCase {
        fault: "client quota 0.05 and a link of 500 Mbit/s, both nearly full",
        truth: &[("bulk", &[Segment::ClientCpu, Segment::NetworkBandwidth])],
        check: |lab| {
            lab.host(2).unwrap().limit_rate("500mbit").unwrap();
            quotas(lab, 0.05, 1.0, SMALL)
        },
    },
    MatrixCase {
        fault: "server quota 0.5 and a link of 50 Mbit/s",
        truth: &[("bulk", &[Segment::NetworkBandwidth])],
        check: |lab| {
            lab.host(2).unwrap().limit_rate("50mbit").unwrap();
            quotas(lab, 1.0, 0.5, SMALL)
        },
    },
    MatrixCase {
        fault: "proxy quota 0.1",
        truth: &[("bulk", &[Segment::ProxyCpu])],
        check: |lab| quota_of_the_proxy(lab, 0.1),
    },
    MatrixCase {
        fault: "proxy quota 0.2",
        truth: &[("bulk", &[Segment::ProxyCpu])],
        check: |lab| quota_of_the_proxy(lab, 0.2),
    },
    MatrixCase {
        fault: "folder in memory, client quota 0.2",
        truth: &[("bulk", &[Segment::ClientCpu]), ("one-at-a-time", &[Segment::ClientCpu])],
        check: |lab| folder_under_a_quota(lab, 0.2, "--seconds 20 --cell-seconds 1"),
    },
    MatrixCase {
        fault: "two loops of others beside a path that needs CPU",
        truth: &[("bulk", &[Segment::HostCpu])],
        check: |lab| {
            let _others = loops(lab, &[0, 0, 1, 1]);
            check_apart(lab, "case", None, |_| (), SMALL)
        },
    },
    MatrixCase {
        fault: "two loops of others beside a link of 50 Mbit/s",
        truth: &[("bulk", &[Segment::NetworkBandwidth])],
        check: |lab| {
            let _others = loops(lab, &[0, 1]);
            lab.host(2).unwrap().limit_rate("50mbit").unwrap();
            check_apart(lab, "case", None, |_| (), super::BULK)
        },
    },
    MatrixCase {
        fault: "no fault, each role on a CPU",
        truth: &[("bulk", &[Segment::ClientCpu, Segment::ServerCpu, Segment::HostCpu])],
        check: |lab| check_apart(lab, "case", None, |_| (), SMALL),
    },
];
