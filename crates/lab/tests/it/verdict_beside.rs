//! An NFS server with an endpoint of ours beside it (`check nfs://... --server HOST:PORT`): what the endpoint sees of the server's
//! machine names the same segment as the protocol alone does, or a part of it.

use std::path::Path;
use std::process::Command;

use narrows_lab::{Cgroup, DiskPlan, Lab, disks_available, narrows_bin, pin_to_cpus};
use narrows_model::Segment;

use crate::nfs::{OPEN, export};
use crate::support::apart::cgroup_with_quota;
use crate::support::check::{Checked, Served, run_check, serve};
use crate::support::ganesha::Ganesha;
use crate::support::{lab_with_nfs, on_a_calm_machine};

const BULK_READS: &str = "--seconds 18 --cell-seconds 0.9 --block 1MiB --depth 16 --op read";
const BULK_WRITES: &str = "--seconds 18 --cell-seconds 0.7 --block 1MiB --depth 4 --op write";
const SINGLE_READS: &str = "--seconds 14 --cell-seconds 0.6 --block 4KiB --depth 1 --op read";
const SINGLE_WRITES: &str = "--seconds 14 --cell-seconds 0.6 --block 4KiB --depth 1 --op write";

/// A server in host 2 with an endpoint that serves the same folder, both in one control group.
struct ServerWithEndpoint<'lab> {
    nfs: Ganesha<'lab>,
    endpoint: Served,
}

impl<'lab> ServerWithEndpoint<'lab> {
    fn start(lab: &'lab Lab, export: &Path, group: &Cgroup) -> Self {
        let place = |command: &mut Command| {
            pin_to_cpus(command, &[1]);
            group.enter(command);
        };
        let nfs = Ganesha::start_placed(lab, 2, export, OPEN, place);
        Self { nfs, endpoint: serve(lab, &lab.host(2).unwrap(), Some(export), place) }
    }

    fn check(&self, lab: &Lab, with_endpoint: bool, words: &str) -> Checked {
        let mut command = lab.host(1).unwrap().command(narrows_bin().unwrap());
        command.arg("check").arg(self.nfs.target("/data"));
        pin_to_cpus(&mut command, &[0]);
        if with_endpoint {
            command.args(["--server", &self.endpoint.address, "--token-file"]).arg(self.endpoint.token());
        }
        run_check(lab, if with_endpoint { "beside" } else { "alone" }, command, words)
    }
}

/// A fault, and the load that meets it.
struct BesideCase {
    fault: &'static str,
    load: &'static str,
    words: &'static str,
    /// What is named by the protocol alone.
    truth: Segment,
    link: Option<&'static str>,
    delay_us: Option<u64>,
    server_cpus: Option<f64>,
    disk: Option<DiskPlan>,
}

impl BesideCase {
    const fn new(fault: &'static str, load: &'static str, words: &'static str, truth: Segment) -> Self {
        Self { fault, load, words, truth, link: None, delay_us: None, server_cpus: None, disk: None }
    }
}

fn cases() -> Vec<BesideCase> {
    let link = |fault, rate| BesideCase {
        link: Some(rate),
        ..BesideCase::new(fault, "bulk", BULK_READS, Segment::NetworkBandwidth)
    };
    let delay = |fault, delay_us| BesideCase {
        delay_us: Some(delay_us),
        ..BesideCase::new(fault, "single", SINGLE_READS, Segment::NetworkLatency)
    };
    let quota = |fault, cpus| BesideCase {
        server_cpus: Some(cpus),
        ..BesideCase::new(fault, "bulk", BULK_READS, Segment::Server)
    };
    let slow = |fault, mib: u64| BesideCase {
        disk: Some(DiskPlan { shared_bytes_per_s: Some(mib << 20), ..DiskPlan::PLAIN }),
        ..BesideCase::new(fault, "bulk", BULK_WRITES, Segment::Device)
    };
    let flush = |fault, flush_us| BesideCase {
        disk: Some(DiskPlan { flush_us, ..DiskPlan::PLAIN }),
        ..BesideCase::new(fault, "single", SINGLE_WRITES, Segment::ServerCommit)
    };
    vec![
        link("link of 100 Mbit/s", "100mbit"),
        link("link of 50 Mbit/s", "50mbit"),
        delay("delay of 2 ms", 2000),
        delay("delay of 8 ms", 8000),
        quota("server quota 0.4", 0.4),
        quota("server quota 0.25", 0.25),
        slow("device of 20 MiB/s", 20),
        slow("device of 10 MiB/s", 10),
        flush("flushes of 10 ms", 10_000),
        flush("flushes of 5 ms", 5_000),
    ]
}

/// The first segments that are named without and with the endpoint.
fn named(lab: &Lab, case: &BesideCase) -> [Segment; 2] {
    if let Some(rate) = case.link {
        lab.host(2).unwrap().limit_rate(rate).unwrap();
    }
    if let Some(delay_us) = case.delay_us {
        lab.host(2).unwrap().delay(delay_us).unwrap();
    }
    let group = match case.server_cpus {
        Some(cpus) => cgroup_with_quota(lab, "server", cpus),
        None => lab.cgroup("server").unwrap(),
    };
    let disks = case.disk.as_ref().map(|plan| lab.disks("below", plan).unwrap());
    let export = disks.as_ref().map_or_else(|| export(lab), |disks| disks.path(0));
    let server = ServerWithEndpoint::start(lab, &export, &group);
    [false, true]
        .map(|with_endpoint| server.check(lab, with_endpoint, case.words).limiting(case.load)[0].segment)
}

#[test]
fn an_endpoint_beside_an_nfs_server_names_the_cpu_of_its_control_group() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_nfs() else { return };
        let group = cgroup_with_quota(&lab, "server", 0.4);
        let export = export(&lab);
        let checked = ServerWithEndpoint::start(&lab, &export, &group).check(&lab, true, BULK_READS);
        assert_eq!(checked.limiting("bulk")[0].segment, Segment::ServerCpu, "{checked:#?}");
        let left: Vec<_> =
            std::fs::read_dir(&export).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.is_empty(), "nothing is left: {left:?}");
    });
}

#[test]
#[ignore = "campaign: ten faults of an NFS server, each checked without and with an endpoint beside it"]
#[allow(clippy::print_stdout, reason = "what was named is what the run is for")]
fn an_endpoint_beside_an_nfs_server_agrees_with_the_protocol_alone() {
    let mut agreeing = 0;
    let cases = cases();
    for case in &cases {
        let Some(lab) = lab_with_nfs().filter(|_| case.disk.is_none() || disks_available().is_ok()) else {
            return;
        };
        let [alone, beside] = named(&lab, case);
        let agrees = alone.is_within(case.truth) && beside.is_within(alone);
        println!(
            "{}: {alone} alone, {beside} with an endpoint{}",
            case.fault,
            if agrees { "" } else { ": NOT the same" }
        );
        agreeing += usize::from(agrees);
    }
    assert!(agreeing * 10 >= cases.len() * 9, "{agreeing} of {} agree", cases.len());
}
