//! A server whose CPU or whose device is throttled is named as such, with the limit's own number.

use crate::support::apart::{Quotas, check_throttled, check_with_quotas};
use crate::support::check::assert_within;
use crate::support::{lab, on_a_calm_machine};
use narrows_lab::BlkioThrottle;
use narrows_model::counters::Role;
use narrows_model::summary::CpuBasis;
use narrows_model::{Cut, Op, Segment};

#[test]
fn a_server_with_a_quota_of_0_3_cpus_is_limited_by_its_cpu() {
    on_a_calm_machine(|| {
        const SERVER_CPUS: f64 = 0.3;
        let Some(lab) = lab() else { return };
        let quotas = Quotas { client_cpus: 1.0, server_cpus: SERVER_CPUS };
        let words = "--seconds 14 --cell-seconds 0.8 --block 64KiB --depth 16";
        let checked = check_with_quotas(&lab, "quota", quotas, words);
        checked.assert_limiting("bulk", Segment::ServerCpu);
        checked.assert_none_limit(&[
            Segment::ClientCpu,
            Segment::HostCpu,
            Segment::NetworkBandwidth,
            Segment::ServerProtocol,
            Segment::Generator,
            Segment::Unknown,
        ]);
        for op in [Op::Read, Op::Write] {
            let cpu = &checked.path_cell(op, 64 << 10, 16).cpu;
            let server = &cpu[&Role::Server];
            assert_eq!(server.basis, CpuBasis::Cgroup);
            assert_within(server.capacity_cpus, SERVER_CPUS, 0.01);
            assert_within(server.busy_ratio, 1.0, 0.15);
            assert!(server.throttled_s.unwrap() > 0.1, "{op}: its quota held it back");
            let client = &cpu[&Role::Client];
            assert_within(client.capacity_cpus, 1.0, 0.01);
            assert!(client.busy_ratio < 0.9, "{op}: the client has CPU left");
        }
        // The kernel's own account of the group, read here, confirms that it was throttled.
        assert!(lab.cgroup("server").unwrap().throttled_ns().unwrap() > 1_000_000_000);
    });
}

#[test]
fn a_device_limited_to_20_mib_a_second_limits_the_bulk_traffic_of_a_disk_store() {
    on_a_calm_machine(|| {
        const LIMIT_BYTES_PER_S: u64 = 20 << 20;
        let Some(lab) = lab() else { return };
        let limit = Some(LIMIT_BYTES_PER_S);
        let limits =
            BlkioThrottle { read_bytes_per_s: limit, write_bytes_per_s: limit, ..BlkioThrottle::default() };
        // A throttle lets a burst pass at once, which a window of 0.6 s takes for a tenth of the rate. The limit that the group
        // sets is known, and the device is not measured alone for the verdict.
        let words = "--whole-plan --seconds 18 --cell-seconds 1.2 --block 256KiB --depth 8";
        let checked = check_throttled(&lab, "throttled", &limits, words);
        checked.assert_limiting("bulk", Segment::DeviceBandwidth);
        for entry in checked.limiting("bulk") {
            assert_eq!(entry.scope.as_deref(), Some("the limit of its control group"), "{entry:?}");
        }
        checked.assert_none_limit(&[
            Segment::NetworkBandwidth,
            Segment::NetworkLatency,
            Segment::ClientCpu,
            Segment::ServerCpu,
            Segment::HostCpu,
            Segment::ServerProtocol,
            Segment::ServerCache,
            Segment::Unknown,
        ]);
        let limit = LIMIT_BYTES_PER_S as f64;
        assert_within(checked.ceiling(Segment::DeviceBandwidth), limit, 0.15);
        for cell in checked.cells(Cut::ServerStorage) {
            assert_within(cell.rate_bytes_per_s.unwrap().0, limit, 0.15);
        }
        for op in [Op::Read, Op::Write] {
            let cell = checked.path_cell(op, 256 << 10, 8);
            assert_within(cell.rate_bytes_per_s.unwrap().0, limit, 0.15);
            // The device transferred what the application moved: no cache was in between.
            let (application, device) =
                (cell.bytes.application.as_f64(), cell.bytes.device.unwrap().as_f64());
            assert!(device / application > 0.8, "{op}: {device} of {application} bytes at the device");
        }
        assert!(checked.ceiling(Segment::NetworkBandwidth) > 5.0 * limit, "the network was measured past it");
    });
}
