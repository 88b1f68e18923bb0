//! The lab's links have their configured rates and delays, checked with the lab's own sender.

use crate::support::{lab, on_a_calm_machine, round_trips_ns, transfer_bytes_per_s};

/// Four seconds at 100 Mbit/s: the bucket's first 256 KiB are then half a per cent.
const BYTES: u64 = 48_000_000;

#[track_caller]
fn assert_within(measured: f64, expected: f64, tolerance_ratio: f64) {
    let deviation_ratio = measured / expected - 1.0;
    assert!(deviation_ratio.abs() <= tolerance_ratio, "{measured} is {deviation_ratio:+.3} off {expected}");
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_link_of_100_mbit_transfers_its_payload_rate_both_ways() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let (server, client) = (lab.host(1).unwrap(), lab.host(2).unwrap());
        let rate = server.limit_rate("100mbit").unwrap();
        let expected = server.payload_bytes_per_s(rate);
        assert_within(transfer_bytes_per_s(&lab, &client, &server, BYTES), expected, 0.05);
        assert_within(transfer_bytes_per_s(&lab, &server, &client, BYTES), expected, 0.05);
    });
}

#[test]
fn an_unlimited_link_is_much_faster_than_a_limited_one() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let (server, client) = (lab.host(1).unwrap(), lab.host(2).unwrap());
        server.limit_rate("100mbit").unwrap();
        server.unlimit_rate().unwrap();
        let limit = server.payload_bytes_per_s(100_000_000);
        assert!(transfer_bytes_per_s(&lab, &client, &server, BYTES) > 3.0 * limit);
    });
}

#[test]
fn a_delay_wire_adds_twice_its_delay_to_the_round_trip() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let (server, client) = (lab.host(1).unwrap(), lab.host(2).unwrap());
        for one_way_us in [200, 1000, 5000] {
            server.delay(one_way_us).unwrap();
            let trips = round_trips_ns(&lab, &client, &server, 200);
            let added_ns = 2 * one_way_us * 1000;
            assert!(trips[0] >= added_ns, "no round trip is shorter than the delay: {} ns", trips[0]);
            // One in ten is as fast, as a busy machine delays others: 0.5 ms is the wire's own cost and the stack's.
            let tenth_ns = trips[trips.len() / 10];
            assert!(tenth_ns <= added_ns + added_ns / 20 + 500_000, "{tenth_ns} ns with 2 x {one_way_us} us");
        }
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_swapped_wire_keeps_the_rate_limit_and_the_neighbours_addresses() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let (server, client) = (lab.host(1).unwrap(), lab.host(2).unwrap());
        let rate = server.limit_rate("100mbit").unwrap();
        transfer_bytes_per_s(&lab, &client, &server, 1000);
        server.delay(500).unwrap();
        let expected = server.payload_bytes_per_s(rate);
        assert_within(transfer_bytes_per_s(&lab, &client, &server, BYTES), expected, 0.05);
        server.delay(0).unwrap();
        assert_within(transfer_bytes_per_s(&lab, &client, &server, BYTES), expected, 0.05);
        let nearest_ns = round_trips_ns(&lab, &client, &server, 50)[0];
        assert!(nearest_ns < 500_000, "the delay is gone: {nearest_ns} ns");
    });
}

#[test]
fn a_hosts_interface_counts_what_it_transferred() {
    let Some(lab) = lab() else { return };
    let (server, client) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    let before = server.net_dev(narrows_lab::Host::INTERFACE).unwrap();
    let outside_before = narrows_lab::counters::net_dev(server.outside_interface()).unwrap();
    transfer_bytes_per_s(&lab, &client, &server, BYTES);
    let received = server.net_dev("eth0").unwrap().received_bytes - before.received_bytes;
    let outside = narrows_lab::counters::net_dev(server.outside_interface()).unwrap();
    // Headers add at most 66 bytes to 1448; inside a machine large packets need fewer of them.
    let most = BYTES as f64 * 1514.0 / 1448.0 * 1.01;
    assert!(received >= BYTES && (received as f64) < most, "{received} bytes for {BYTES}");
    assert!(outside.sent_bytes - outside_before.sent_bytes >= BYTES);
}

#[test]
fn two_labs_at_once_do_not_meet() {
    let (Some(first), Some(second)) = (lab(), lab()) else { return };
    assert_ne!(first.address(), second.address());
    assert_ne!(first.prefix(), second.prefix());
    let (a, b) = (first.host(1).unwrap(), second.host(1).unwrap());
    assert_ne!(a.address(), b.address());
    assert!(transfer_bytes_per_s(&first, &first.host(2).unwrap(), &a, 1000) > 0.0);
    assert!(transfer_bytes_per_s(&second, &second.host(2).unwrap(), &b, 1000) > 0.0);
}
