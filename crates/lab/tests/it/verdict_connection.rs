//! A connection that cannot fill its wire is distinguished from the wire: by its window, or by packets that are lost.

use crate::support::apart::check_apart;
use crate::support::check::Checked;
use crate::support::{lab, on_a_calm_machine};
use narrows_lab::{Host, Lab};
use narrows_model::{Cut, Op, Segment};

const ONE_WAY_US: u64 = 2000;

/// A check of bulk writes to a memory store in host 2 over a link that `impair` has changed; the time left over is used
/// for one more connection.
fn check_writes(lab: &Lab, name: &str, impair: impl FnOnce(&Host, &Host)) -> Checked {
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    impair(&client, &server);
    let words = "--op write --seconds 18 --cell-seconds 1.5 --block 256KiB --depth 8";
    check_apart(lab, name, None, |_| (), words)
}

/// The rate of the path with two connections over that with one.
#[track_caller]
fn gain_of_one_more(checked: &Checked) -> f64 {
    let rate = |workers: u32| {
        let of_path = |cell: &&narrows_model::summary::CellSummary| {
            cell.op == Op::Write && cell.requested.workers == workers && cell.clients == 1
        };
        let found = checked.cells(Cut::Path).find(of_path);
        found.unwrap_or_else(|| panic!("no cell with {workers} connections")).rate_bytes_per_s.unwrap().0
    };
    rate(2) / rate(1)
}

#[test]
fn a_small_window_over_a_long_way_limits_the_connection_and_not_the_wire() {
    on_a_calm_machine(|| {
        const BUFFER_BYTES: u64 = 64 << 10;
        let Some(lab) = lab() else { return };
        let checked = check_writes(&lab, "window", |_, server| {
            server.delay(ONE_WAY_US).unwrap();
            server.limit_receive_buffers(BUFFER_BYTES).unwrap();
        });
        checked.assert_limiting_first("bulk", Segment::ClientConnection);
        checked.assert_none_limit(&[
            Segment::NetworkBandwidth,
            Segment::NetworkLoss,
            Segment::ServerCpu,
            Segment::ClientCpu,
            Segment::Unknown,
        ]);
        let round_trip_s = 2.0 * ONE_WAY_US as f64 / 1e6;
        let rate = checked.path_cell(Op::Write, 256 << 10, 8).rate_bytes_per_s.unwrap().0;
        assert!(rate < BUFFER_BYTES as f64 / round_trip_s, "{rate}: no more than a buffer a round trip");
        assert!(gain_of_one_more(&checked) > 1.5);
    });
}

#[test]
fn a_wire_that_loses_packets_limits_by_loss_and_not_by_its_bandwidth() {
    on_a_calm_machine(|| {
        const LOSS_EVERY: u64 = 300;
        let Some(lab) = lab() else { return };
        let checked = check_writes(&lab, "loss", |client, server| {
            server.delay_and_lose(ONE_WAY_US, LOSS_EVERY).unwrap();
            for host in [client, server] {
                host.use_congestion_control("reno").unwrap();
            }
        });
        checked.assert_limiting_first("bulk", Segment::NetworkLoss);
        checked.assert_none_limit(&[Segment::NetworkBandwidth, Segment::ClientConnection, Segment::Unknown]);
        let path = checked.path_cell(Op::Write, 256 << 10, 8);
        assert!(path.retransmit_count.unwrap() > 0);
        assert!(gain_of_one_more(&checked) > 1.2);
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_link_without_delay_or_loss_blames_neither_a_window_nor_loss() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let checked = check_writes(&lab, "clean", |_, _| {});
        checked.assert_none_limit(&[
            Segment::NetworkLoss,
            Segment::ClientConnection,
            Segment::NetworkLatency,
        ]);
    });
}
