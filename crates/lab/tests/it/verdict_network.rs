//! A link and a wire that limit are named as such: bandwidth by its payload rate, delay by its round trip.

use crate::support::apart::check_apart;
use crate::support::check::{Checked, assert_within};
use crate::support::{lab, on_a_calm_machine};
use narrows_lab::Lab;
use narrows_model::diagnosis::Relation;
use narrows_model::{Limiting, Op, Segment};

/// Fewer points than by default, so that a check is short: the ones that bulk verdicts are given for.
const BULK_POINT: &str = "--cell-seconds 0.5 --block 1MiB --depth 16";

/// A check of `layer` in host 2 from host 1 over a link of 100 Mbit/s, each role on a CPU of its own.
fn check_slow_link(lab: &Lab, layer: &str) -> Checked {
    lab.host(2).unwrap().limit_rate("100mbit").unwrap();
    let root = lab.scratch().join("served");
    std::fs::create_dir(&root).unwrap();
    // Below a disk store the device is measured too, though the link is decided without it; the data set alone takes
    // five seconds of this link.
    let is_disk = layer == "disk";
    let words = if is_disk {
        format!("{BULK_POINT} --seconds 28 --whole-plan")
    } else {
        format!("{BULK_POINT} --seconds 14")
    };
    check_apart(lab, layer, Some(root.as_path()).filter(|_| is_disk), |_| (), &words)
}

fn assert_link_is_the_limit(lab: &Lab, checked: &Checked) {
    let payload = lab.host(2).unwrap().payload_bytes_per_s(100_000_000);
    checked.assert_limiting("bulk", Segment::NetworkBandwidth);
    checked.assert_none_limit(&[
        Segment::ClientCpu,
        Segment::ServerCpu,
        Segment::HostCpu,
        Segment::ServerProtocol,
        Segment::DeviceBandwidth,
        Segment::Generator,
        Segment::Unknown,
    ]);
    assert_within(checked.ceiling(Segment::NetworkBandwidth), payload, 0.05);
    for op in [Op::Read, Op::Write] {
        let rate = checked.path_cell(op, 1 << 20, 16).rate_bytes_per_s.unwrap().0;
        assert!(rate <= payload * 1.05, "{op}: {rate} over a wire that carries {payload}");
        assert!(rate >= payload * 0.85, "{op}: {rate} over a wire that carries {payload}");
    }
    assert_eq!(checked.exit_code, 0);
}

#[test]
fn a_link_of_100_mbit_limits_the_bulk_traffic_of_a_memory_store() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        assert_link_is_the_limit(&lab, &check_slow_link(&lab, "memory"));
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_link_of_100_mbit_limits_the_bulk_traffic_of_a_disk_store() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let checked = check_slow_link(&lab, "disk");
        assert_link_is_the_limit(&lab, &checked);
        let payload = lab.host(2).unwrap().payload_bytes_per_s(100_000_000);
        assert!(
            checked.ceiling(Segment::DeviceBandwidth) > 2.0 * payload,
            "the disk was measured past the wire"
        );
    });
}

/// A check of small requests, one at a time, over a wire with this delay in each direction (0: none).
fn check_small_requests(lab: &Lab, one_way_us: u64) -> Checked {
    if one_way_us > 0 {
        lab.host(2).unwrap().delay(one_way_us).unwrap();
    }
    check_apart(
        lab,
        "small",
        None,
        |_| (),
        "--whole-plan --seconds 12 --cell-seconds 0.6 --block 4KiB --depth 1",
    )
}

#[test]
fn a_delayed_wire_limits_small_requests_together_with_asking_one_at_a_time() {
    on_a_calm_machine(|| {
        const ONE_WAY_US: u64 = 2000;
        let Some(lab) = lab() else { return };
        let checked = check_small_requests(&lab, ONE_WAY_US);
        checked.assert_limiting_first("single", Segment::NetworkLatency);
        // The time left over is used for more in flight of the first load: there it is measured to help.
        let entries = checked.limiting("single");
        let together = |entry: &&&Limiting| {
            entry.segment == Segment::WorkloadConcurrency && entry.relation == Relation::Joint
        };
        assert!(entries.iter().filter(together).count() >= 1, "{entries:#?}");
        assert!(entries.iter().all(|entry| entry.confidence > 0.5));
        let expected = [Segment::NetworkLatency, Segment::WorkloadConcurrency];
        assert!(checked.summary.diagnosis.limiting.iter().all(|entry| expected.contains(&entry.segment)));
        for op in [Op::Read, Op::Write] {
            let cell = checked.path_cell(op, 4 << 10, 1);
            let round_trip_ns = cell.rtt_min_ns.unwrap().0 as f64;
            // The wire's own cost and the stack's are 0.5 ms at most.
            let added_ns = 2.0 * ONE_WAY_US as f64 * 1e3;
            assert!((added_ns..added_ns + 0.5e6).contains(&round_trip_ns), "{op}: {round_trip_ns} ns");
            assert!(cell.latency_ns.p50.unwrap() as f64 >= added_ns, "{op}: faster than the wire");
        }
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn small_requests_over_a_wire_without_delay_do_not_wait_for_round_trips() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let checked = check_small_requests(&lab, 0);
        checked.assert_none_limit(&[Segment::NetworkLatency, Segment::NetworkBandwidth, Segment::Network]);
        let cleared = &checked.summary.diagnosis.exonerated;
        assert!(cleared.iter().any(|entry| entry.segment == Segment::NetworkLatency), "it is cleared");
    });
}
