//! Reads served from the server's page cache are reported as such, and reads past it are reported to reach the device.
//!
//! The server's device is limited to a rate that the cache exceeds by far: what is faster cannot have come from it.

use crate::support::check::{Checked, DEVICE_AND_CLIENT_CACHE, assert_within, serve};
use crate::support::study::{bytes_per_s, run_study_from};
use crate::support::{lab, on_a_calm_machine};
use narrows_lab::{BlkioThrottle, Lab, pin_to_cpus};
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Segment};

const LIMIT_BYTES_PER_S: f64 = (20 << 20) as f64;

/// Reads of `block` of the disk store of a server, whose device gives 20 MiB/s.
fn reads(lab: &Lab, access: &str, block: &str) -> Checked {
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    let root = lab.scratch().join("served");
    std::fs::create_dir(&root).unwrap();
    let slow = lab.cgroup("slow").unwrap();
    let throttle =
        BlkioThrottle { path: root.clone(), read_bytes_per_s: Some(20 << 20), ..BlkioThrottle::default() };
    slow.limit_io(&throttle).unwrap();
    let served = serve(lab, &server, Some(&root), |command| {
        pin_to_cpus(command, &[1]);
        slow.enter(command);
    });
    let address = &served.address;
    let text = format!(
        r#"
target = "tcp://{address}/disk"
cuts = ["generator", "network_stream", "server_memory", "server_storage"]
[workload]
block = "{block}"
file = "32MiB"
access = "{access}"
[stop]
warm_up = "200ms"
measure = "1s"
"#
    );
    run_study_from(lab, &client, &served, "reads", &text)
}

/// Bytes at the server's device for each of the application's.
#[track_caller]
fn at_device(cell: &CellSummary) -> f64 {
    let device = cell.bytes.device.unwrap_or_else(|| panic!("{}: nobody looked at the device", cell.id));
    device.as_f64() / cell.bytes.application.as_f64()
}

#[test]
fn single_reads_that_the_servers_page_cache_serves_are_reported_and_no_device_is_blamed() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let checked = reads(&lab, "buffered", "64KiB");
        let path = checked.only(Cut::Path);
        assert!(bytes_per_s(path) > 3.0 * LIMIT_BYTES_PER_S, "no such rate comes from the device");
        assert!(at_device(path) < 0.5, "{} of it at the device", at_device(path));
        let statement = &checked.evidence("server-cache-served")[0].text;
        assert!(
            statement.starts_with(&path.id) && statement.contains("of it at the server's device"),
            "{statement}"
        );
        // What limits such reads, where it is not the cache, is what is left: round trips, or the CPUs that answer.
        checked.assert_none_limit(&DEVICE_AND_CLIENT_CACHE);
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn reads_past_the_servers_page_cache_are_limited_by_its_device() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let checked = reads(&lab, "direct", "256KiB");
        let path = checked.only(Cut::Path);
        assert_within(bytes_per_s(path), LIMIT_BYTES_PER_S, 0.15);
        assert!(at_device(path) > 0.8, "{} of it at the device", at_device(path));
        checked.assert_not_found("server-cache-served");
        checked.assert_none_limit(&[Segment::ServerCache, Segment::ClientCache, Segment::NetworkBandwidth]);
        let first = checked.summary.diagnosis.limiting[0].segment;
        assert!([Segment::Device, Segment::DeviceBandwidth].contains(&first), "{first}");
    });
}
