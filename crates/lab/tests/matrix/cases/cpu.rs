//! Faults of CPUs: quotas of one role or of both, one CPU for both, programs of others.

use super::{MatrixCase, RANDOM, SMALL, Truth};
use crate::support::apart::{
    ProxyLimits, Quotas, cgroup_with_quota, check_apart, check_through, check_with_quotas,
};
use crate::support::check::{Checked, local_check_command, run_check, serve};
use crate::support::others::busy_loops;
use narrows_lab::Lab;
use narrows_model::Segment;
use std::process::Command;

const SERVER: Truth = &[("bulk", &[Segment::ServerCpu])];
const CLIENT: Truth = &[("bulk", &[Segment::ClientCpu])];

fn quotas(lab: &Lab, client_cpus: f64, server_cpus: f64, words: &str) -> Checked {
    check_with_quotas(lab, "case", Quotas { client_cpus, server_cpus }, words)
}

/// A check whose server alone has a quota; client and server may use the same CPUs.
fn quota_of_the_server(lab: &Lab, cpus: f64, words: &str) -> Checked {
    let slow = cgroup_with_quota(lab, "server", cpus);
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    let served = serve(lab, &server, None, |command| slow.enter(command));
    run_check(lab, "case", served.check_command(&client, "memory"), words)
}

/// A check whose client alone has a quota.
fn quota_of_the_client(lab: &Lab, cpus: f64, words: &str) -> Checked {
    let slow = cgroup_with_quota(lab, "client", cpus);
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    let served = serve(lab, &server, None, |_: &mut Command| ());
    let mut command = served.check_command(&client, "memory");
    slow.enter(&mut command);
    run_check(lab, "case", command, words)
}

/// A folder of this machine, the check under a quota.
fn folder_under_a_quota(lab: &Lab, cpus: f64, words: &str) -> Checked {
    let slow = cgroup_with_quota(lab, "client", cpus);
    let mut command = local_check_command(std::path::Path::new("/dev/shm"));
    slow.enter(&mut command);
    run_check(lab, "case", command, words)
}

/// A check through a proxy with a quota.
fn quota_of_the_proxy(lab: &Lab, cpus: f64) -> Checked {
    let quotas = Quotas { client_cpus: 0.8, server_cpus: 0.8 };
    let limits = ProxyLimits { cpus: Some(cpus), ..ProxyLimits::default() };
    check_through(lab, "case", quotas, limits)
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
            let _others = busy_loops(lab, &[0, 0, 1, 1]);
            check_apart(lab, "case", None, |_| (), SMALL)
        },
    },
    MatrixCase {
        fault: "two loops of others beside a link of 50 Mbit/s",
        truth: &[("bulk", &[Segment::NetworkBandwidth])],
        check: |lab| {
            let _others = busy_loops(lab, &[0, 1]);
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
