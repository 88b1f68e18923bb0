//! Paths that mean value analysis cannot express: windows, stripes, and memory that acknowledges writes early.

use super::super::{ExtrapolationRequest, extrapolate};
use super::{asked, request};
use crate::testing::machine;
use crate::testing::scaled::{ScaledLoad, path_rate, scaled};
use narrows_model::extrapolation::{ExtrapolatedRate, ExtrapolationMethod, LoadExtrapolation, StageChange};
use narrows_model::sim_profile::SimProfile;
use narrows_model::summary::CellSummary;
use narrows_model::units::{BytesPerSec, OpsPerSec};
use narrows_model::{Bytes, Cut, Op, Segment, Summary, Target};

fn is_inside(rate: &ExtrapolatedRate, truth: f64) -> bool {
    (rate.interval.low..=rate.interval.high).contains(&truth)
}

fn found(summary: &Summary, request: &ExtrapolationRequest) -> LoadExtrapolation {
    extrapolate(summary, request, "test").loads.remove(0)
}

/// Writes another rate into a cell: the same operations in another time.
pub(super) fn set_rate(cell: &mut CellSummary, bytes_per_s: f64) {
    let times = bytes_per_s / cell.rate_bytes_per_s.unwrap().0;
    cell.rate_bytes_per_s = Some(BytesPerSec(bytes_per_s));
    cell.ops_per_s = cell.ops_per_s.map(|rate| OpsPerSec(rate.0 * times));
    cell.elapsed_s.last_done /= times;
    if let Some(interval) = &mut cell.interval {
        (interval.low, interval.high) = (interval.low * times, interval.high * times);
    }
}

/// A window of 256 KiB on a wire 4 ms away.
fn windowed(wire_bytes_per_s: f64) -> SimProfile {
    let mut profile = machine("small-window");
    profile.network.as_mut().unwrap().bytes_per_s = BytesPerSec(wire_bytes_per_s);
    profile
}

#[test]
fn a_faster_link_leaves_each_client_its_window_a_round_trip() {
    let load =
        ScaledLoad { clients: &[1, 2, 4, 8, 16], block_bytes: 256 << 10, depth: 4, ..ScaledLoad::default() };
    let changes = vec![StageChange::Link(BytesPerSec(1.1e9))];
    let found = asked(&windowed(3e8), load, &ExtrapolationRequest { changes, ..request(&[4, 8, 16]) });
    assert_eq!(found.method, Some(ExtrapolationMethod::Simulation), "{found:#?}");
    assert!(found.assumptions.iter().any(|text| text.contains("in flight at the most")), "{found:#?}");
    for rate in &found.rates {
        let far = ScaledLoad { clients: &[rate.clients], ops_max: 12_000, ..load };
        let truth = path_rate(&windowed(1.1e9), far);
        assert!(is_inside(rate, truth), "{rate:?} {truth}");
    }
    let of_four = 4.0 * 262_144.0 / 4e-3;
    assert!(found.rates[0].rate < of_four * 1.02 && found.rates[0].rate > of_four * 0.8, "{found:#?}");
}

#[test]
fn a_window_that_the_queue_does_not_fill_leaves_the_path_to_mean_value_analysis() {
    let load =
        ScaledLoad { clients: &[1, 2, 4, 8], block_bytes: 64 << 10, depth: 4, ..ScaledLoad::default() };
    let changes = vec![StageChange::Link(BytesPerSec(1.1e9))];
    let found = asked(&windowed(1.5e8), load, &ExtrapolationRequest { changes, ..request(&[8]) });
    assert_eq!(found.method, Some(ExtrapolationMethod::Network), "{found:#?}");
}

const PART_S: f64 = 1e-3;
const DELAY_S: f64 = 10e-3;
const BLOCK: f64 = 131_072.0;

/// Requests of two units over two endpoints. Each takes 10 ms and then 1 ms of either device, both in step, so that N clients
/// have min(N / 11 ms, 1 / 1 ms).
fn striped() -> Summary {
    let members = ["tcp://one:7300/disk", "tcp://two:7300/disk"];
    let stripe: Target = format!("stripe:{}?unit=64KiB", members.join(",")).parse().unwrap();
    let load = ScaledLoad { clients: &[1, 2, 4, 8], block_bytes: 128 << 10, ..ScaledLoad::default() };
    let mut summary = scaled(&machine("ten-gigabit-nfs"), load);
    summary.target = stripe.clone();
    let mut cells = Vec::new();
    for mut cell in std::mem::take(&mut summary.cells) {
        match cell.cut {
            Cut::Path => {
                let clients = f64::from(cell.clients);
                set_rate(&mut cell, BLOCK * (clients / (DELAY_S + PART_S)).min(1.0 / PART_S));
                cells.push(CellSummary { target: stripe.clone(), ..cell });
            }
            Cut::NetworkStream => {
                set_rate(&mut cell, 1e9);
                cells.push(CellSummary { target: stripe.clone(), ..cell });
            }
            Cut::ServerStorage => {
                set_rate(&mut cell, BLOCK / 2.0 / PART_S);
                cell.block_bytes = Bytes(64 << 10);
                cells.extend(members.map(|member| CellSummary {
                    target: member.parse().unwrap(),
                    id: format!("{}/{member}", cell.id),
                    ..cell.clone()
                }));
            }
            _ => {}
        }
    }
    summary.cells = cells;
    summary
}

#[test]
fn requests_to_a_stripe_are_simulated_as_parts_at_members_that_were_measured_alone() {
    let known = found(&striped(), &request(&[1, 8, 32]));
    assert_eq!(known.method, Some(ExtrapolationMethod::Simulation), "{known:#?}");
    assert!(known.assumptions.iter().any(|text| text.contains("over 2 of 2 members")), "{known:#?}");
    let device = known.stages.iter().find(|stage| stage.segment == Segment::DeviceBandwidth).unwrap();
    assert!((device.ceiling * PART_S / BLOCK - 1.0).abs() < 1e-9, "{device:?}");
    for rate in &known.rates {
        let truth = BLOCK * (f64::from(rate.clients) / (DELAY_S + PART_S)).min(1.0 / PART_S);
        assert!(is_inside(rate, truth) && rate.interval.low > 0.7 * truth, "{rate:?} {truth}");
    }
    // Members of twice the speed sustain twice as much.
    let changes = vec![StageChange::Disks(2.0)];
    let twice = found(&striped(), &ExtrapolationRequest { changes, ..request(&[64]) });
    assert!(is_inside(&twice.rates[0], 2.0 * BLOCK / PART_S), "{twice:#?}");
}

#[test]
fn a_stripe_of_which_a_member_was_not_measured_is_refused() {
    let mut summary = striped();
    summary.cells.retain(|cell| cell.cut != Cut::ServerStorage || cell.id.contains("one"));
    let refusal = found(&summary, &request(&[32])).refusal.unwrap();
    assert!(refusal.reason.contains("what the device sustains"), "{refusal:?}");
}

/// Writes over a gigabit, none of which were at the device when they were acknowledged, before a device of this rate.
fn acknowledged_early(device_bytes_per_s: f64) -> Summary {
    let load = ScaledLoad { op: Op::Write, block_bytes: 64 << 10, depth: 4, ..ScaledLoad::default() };
    let mut summary = scaled(&machine("gigabit-nfs"), load);
    for cell in &mut summary.cells {
        match cell.cut {
            Cut::Path => cell.bytes.device = Some(Bytes(0)),
            Cut::ServerStorage => set_rate(cell, device_bytes_per_s),
            _ => {}
        }
    }
    summary
}

#[test]
fn writes_that_memory_acknowledges_come_to_the_device_behind_it_once_it_is_full() {
    let summary = acknowledged_early(20e6);
    let known = found(&summary, &request(&[64]));
    let rate = &known.rates[0];
    let full = rate.after_full.as_ref().unwrap();
    assert!(rate.rate > 80e6, "{known:#?}");
    assert!((full.rate / 20e6 - 1.0).abs() < 0.02, "{known:#?}");
    assert!(full.interval.low < 20e6 && full.interval.high > 20e6, "{known:#?}");
    let lasts_s = 16.0 * 1_073_741_824.0 / (rate.rate - 20e6);
    assert!((full.full_after_s_max.unwrap() / lasts_s - 1.0).abs() < 1e-6, "{known:#?}");
    assert!(known.assumptions.iter().any(|text| text.contains("until it is full")), "{known:#?}");
}

#[test]
fn more_devices_empty_memory_faster_and_fast_ones_never_let_it_fill() {
    let twice = ExtrapolationRequest { changes: vec![StageChange::Disks(2.0)], ..request(&[64]) };
    let known = found(&acknowledged_early(20e6), &twice);
    let full = known.rates[0].after_full.as_ref().unwrap();
    assert!((full.rate / 40e6 - 1.0).abs() < 0.02, "{known:#?}");
    let fast = found(&acknowledged_early(500e6), &request(&[64]));
    assert!(fast.rates.len() == 1 && fast.rates[0].after_full.is_none(), "{fast:#?}");
}
