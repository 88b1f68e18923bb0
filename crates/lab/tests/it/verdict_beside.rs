//! A server of NFS, iSCSI or S3 with an endpoint of ours beside it (`check nfs://... --server HOST:PORT`): what the endpoint sees of
//! the server's machine names the same segment as the protocol alone does, or a part of it.

use std::path::Path;
use std::process::Command;

use narrows_lab::{Cgroup, DiskPlan, Lab, LabProcess, disks_available, narrows_bin, pin_to_cpus};
use narrows_model::Segment;

use crate::nfs::{OPEN, export};
use crate::support::apart::cgroup_with_quota;
use crate::support::check::{Checked, Served, run_check, serve};
use crate::support::ganesha::Ganesha;
use crate::support::tgt::{Tgt, TgtSetup};
use crate::support::versity::{BUCKET, KEY_ID, SECRET, serve_in_host};
use crate::support::{assert_nothing_left, lab_with_iscsi, lab_with_nfs, lab_with_s3, on_a_calm_machine};

const BULK_READS: &str = "--seconds 18 --cell-seconds 0.9 --block 1MiB --depth 16 --op read";
const BULK_WRITES: &str = "--seconds 18 --cell-seconds 0.7 --block 1MiB --depth 4 --op write";
const SINGLE_READS: &str = "--seconds 14 --cell-seconds 0.6 --block 4KiB --depth 1 --op read";
const SINGLE_WRITES: &str = "--seconds 14 --cell-seconds 0.6 --block 4KiB --depth 1 --op write";

/// Bytes of a unit of which a quarter is 16 blocks for each of 16 requests of 1 MiB; only what is written takes room.
const UNIT_BYTES: u64 = 1100 << 20;
/// Bytes of one on a disk of 512 MiB.
const ON_DISK_BYTES: u64 = 400 << 20;

/// A server in host 2.
enum ProtocolServer<'lab> {
    Nfs(Ganesha<'lab>),
    Iscsi(Tgt<'lab>),
    S3 { _process: LabProcess, target: String },
}

/// Starts one over a folder; what places its command comes last.
type StartServer = for<'lab> fn(&'lab Lab, &Path, &dyn Fn(&mut Command)) -> ProtocolServer<'lab>;

fn start_nfs<'lab>(lab: &'lab Lab, folder: &Path, place: &dyn Fn(&mut Command)) -> ProtocolServer<'lab> {
    ProtocolServer::Nfs(Ganesha::start_placed(lab, 2, folder, OPEN, place))
}

fn start_iscsi<'lab>(lab: &'lab Lab, folder: &Path, place: &dyn Fn(&mut Command)) -> ProtocolServer<'lab> {
    ProtocolServer::Iscsi(Tgt::start_placed(lab, 2, folder, UNIT_BYTES, TgtSetup::default(), place))
}

fn start_iscsi_on_disk<'lab>(
    lab: &'lab Lab,
    folder: &Path,
    place: &dyn Fn(&mut Command),
) -> ProtocolServer<'lab> {
    ProtocolServer::Iscsi(Tgt::start_placed(lab, 2, folder, ON_DISK_BYTES, TgtSetup::default(), place))
}

fn start_s3<'lab>(lab: &'lab Lab, folder: &Path, place: &dyn Fn(&mut Command)) -> ProtocolServer<'lab> {
    let (process, target) = serve_in_host(lab, folder, "some/part", place);
    ProtocolServer::S3 { _process: process, target }
}

impl ProtocolServer<'_> {
    fn target(&self) -> String {
        match self {
            Self::Nfs(server) => server.target("/data"),
            Self::Iscsi(server) => server.target(""),
            Self::S3 { target, .. } => target.clone(),
        }
    }

    /// Fails where a check has left something in `folder`, over which it runs.
    fn assert_nothing_left(&self, folder: &Path) {
        match self {
            Self::Nfs(_) => assert_nothing_left(folder),
            Self::Iscsi(server) => assert!(server.is_empty(), "what was written is zeroes again"),
            Self::S3 { .. } => {
                let left =
                    Command::new("find").arg(folder.join(BUCKET)).args(["-type", "f"]).output().unwrap();
                assert_eq!(String::from_utf8_lossy(&left.stdout), "", "nothing is left");
            }
        }
    }
}

/// A server in host 2 with an endpoint that serves the same folder, both in one control group.
struct ServerWithEndpoint<'lab> {
    server: ProtocolServer<'lab>,
    endpoint: Served,
}

impl<'lab> ServerWithEndpoint<'lab> {
    fn start(lab: &'lab Lab, folder: &Path, group: &Cgroup, start: StartServer) -> Self {
        let place = |command: &mut Command| {
            pin_to_cpus(command, &[1]);
            group.enter(command);
        };
        let server = start(lab, folder, &place);
        Self { server, endpoint: serve(lab, &lab.host(2).unwrap(), Some(folder), place) }
    }

    fn check(&self, lab: &Lab, with_endpoint: bool, words: &str) -> Checked {
        let mut command = lab.host(1).unwrap().command(narrows_bin().unwrap());
        command.arg("check").arg(self.server.target());
        command.env("AWS_ACCESS_KEY_ID", KEY_ID).env("AWS_SECRET_ACCESS_KEY", SECRET);
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
    start: StartServer,
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
    fn new(
        fault: &'static str,
        start: StartServer,
        load: &'static str,
        words: &'static str,
        truth: Segment,
    ) -> Self {
        Self { fault, start, load, words, truth, link: None, delay_us: None, server_cpus: None, disk: None }
    }

    fn link(fault: &'static str, start: StartServer, rate: &'static str) -> Self {
        let case = Self::new(fault, start, "bulk", BULK_READS, Segment::NetworkBandwidth);
        Self { link: Some(rate), ..case }
    }

    fn delay(fault: &'static str, start: StartServer, delay_us: u64) -> Self {
        let case = Self::new(fault, start, "single", SINGLE_READS, Segment::NetworkLatency);
        Self { delay_us: Some(delay_us), ..case }
    }

    fn quota(fault: &'static str, start: StartServer, cpus: f64) -> Self {
        let case = Self::new(fault, start, "bulk", BULK_READS, Segment::Server);
        Self { server_cpus: Some(cpus), ..case }
    }

    fn slow(fault: &'static str, start: StartServer, mib: u64) -> Self {
        let disk = Some(DiskPlan { shared_bytes_per_s: Some(mib << 20), ..DiskPlan::PLAIN });
        Self { disk, ..Self::new(fault, start, "bulk", BULK_WRITES, Segment::Device) }
    }

    fn flush(fault: &'static str, start: StartServer, flush_us: u64) -> Self {
        let disk = Some(DiskPlan { flush_us, ..DiskPlan::PLAIN });
        Self { disk, ..Self::new(fault, start, "single", SINGLE_WRITES, Segment::ServerCommit) }
    }
}

fn nfs_cases() -> Vec<BesideCase> {
    vec![
        BesideCase::link("link of 100 Mbit/s", start_nfs, "100mbit"),
        BesideCase::link("link of 50 Mbit/s", start_nfs, "50mbit"),
        BesideCase::delay("delay of 2 ms", start_nfs, 2000),
        BesideCase::delay("delay of 8 ms", start_nfs, 8000),
        BesideCase::quota("server quota 0.4", start_nfs, 0.4),
        BesideCase::quota("server quota 0.25", start_nfs, 0.25),
        BesideCase::slow("device of 20 MiB/s", start_nfs, 20),
        BesideCase::slow("device of 10 MiB/s", start_nfs, 10),
        BesideCase::flush("flushes of 10 ms", start_nfs, 10_000),
        BesideCase::flush("flushes of 5 ms", start_nfs, 5_000),
    ]
}

/// Targets and stores of objects; a link or a quota makes the look at a blank unit before its claim take longer than the check.
fn other_cases() -> Vec<BesideCase> {
    vec![
        BesideCase::link("iSCSI, link of 400 Mbit/s", start_iscsi, "400mbit"),
        BesideCase::delay("iSCSI, delay of 2 ms", start_iscsi, 2000),
        BesideCase::quota("iSCSI, server quota 0.3", start_iscsi, 0.3),
        BesideCase::slow("iSCSI, device of 20 MiB/s", start_iscsi_on_disk, 20),
        BesideCase::flush("iSCSI, flushes of 10 ms", start_iscsi_on_disk, 10_000),
        BesideCase::link("S3, link of 100 Mbit/s", start_s3, "100mbit"),
        BesideCase::link("S3, link of 50 Mbit/s", start_s3, "50mbit"),
        BesideCase::delay("S3, delay of 10 ms", start_s3, 10_000),
        BesideCase::quota("S3, server quota 0.15", start_s3, 0.15),
        BesideCase::quota("S3, server quota 0.3", start_s3, 0.3),
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
    let folder = disks.as_ref().map_or_else(|| export(lab), |disks| disks.path(0));
    let server = ServerWithEndpoint::start(lab, &folder, &group, case.start);
    [false, true].map(|with_endpoint| {
        let segment = server.check(lab, with_endpoint, case.words).limiting(case.load)[0].segment;
        server.server.assert_nothing_left(&folder);
        segment
    })
}

/// Fails unless of these faults nine of ten are named alike without and with an endpoint.
#[allow(clippy::print_stdout, reason = "what was named is what the run is for")]
fn check_agreement(cases: &[BesideCase], find_lab: impl Fn() -> Option<Lab>) {
    let mut agreeing = 0;
    for case in cases {
        let Some(lab) = find_lab().filter(|_| case.disk.is_none() || disks_available().is_ok()) else {
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

#[test]
fn an_endpoint_beside_an_nfs_server_names_the_cpu_of_its_control_group() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_nfs() else { return };
        let group = cgroup_with_quota(&lab, "server", 0.4);
        let folder = export(&lab);
        let server = ServerWithEndpoint::start(&lab, &folder, &group, start_nfs);
        let checked = server.check(&lab, true, BULK_READS);
        assert_eq!(checked.limiting("bulk")[0].segment, Segment::ServerCpu, "{checked:#?}");
        server.server.assert_nothing_left(&folder);
    });
}

#[test]
#[ignore = "campaign: ten faults of an NFS server, each checked without and with an endpoint beside it"]
fn an_endpoint_beside_an_nfs_server_agrees_with_the_protocol_alone() {
    on_a_calm_machine(|| check_agreement(&nfs_cases(), lab_with_nfs));
}

#[test]
#[ignore = "campaign: ten faults of iSCSI and S3 servers, each checked without and with an endpoint beside it"]
fn an_endpoint_beside_an_iscsi_or_s3_server_agrees_with_the_protocol_alone() {
    on_a_calm_machine(|| check_agreement(&other_cases(), || lab_with_iscsi().and_then(|_| lab_with_s3())));
}
