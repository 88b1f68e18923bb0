//! What limits a load of a declared machine in truth: what it gains when one segment is relieved.

use super::super::driven;
use narrows_model::sim_profile::{SimProfile, StationLaw};
use narrows_model::units::round_to_u64;
use narrows_model::{Bytes, Cell, Nanos, Plan, Segment};
use std::collections::BTreeSet;

/// Operations of one trial, with which its rate settles within a few percent.
const OPS_MAX: u64 = 1_000;
/// How much each relief multiplies what a segment can do.
const RELIEF: f64 = 2.0;
/// From this gain on a segment limits.
const GAIN_MIN: f64 = 1.1;
/// A segment whose relief gains so much of what the best one gains is as right as that.
const SHARE_MIN: f64 = 0.7;

/// Below this gain of the best relief, two segments may be full alike; then both together gain so many times more.
const ALONE_MAX: f64 = 1.3;
const PAIR_MORE: f64 = 1.2;

/// What is relieved, and which segments it is right to name for it.
struct Relief {
    segments: &'static [Segment],
    relieve: fn(&mut SimProfile, &mut Cell),
}

static RELIEFS: &[Relief] = &[
    Relief {
        segments: &[Segment::Generator, Segment::ClientCpu],
        relieve: |profile, _| {
            profile.client_cpus *= RELIEF;
            cheaper(&mut profile.client_cpu);
            cheaper(&mut profile.generator);
        },
    },
    Relief {
        segments: &[Segment::NetworkBandwidth],
        relieve: |profile, _| {
            if let Some(network) = &mut profile.network {
                network.bytes_per_s.0 *= RELIEF;
            }
        },
    },
    Relief {
        segments: &[Segment::NetworkLatency],
        relieve: |profile, _| {
            if let Some(network) = &mut profile.network {
                network.rtt_ns = Nanos(round_to_u64(network.rtt_ns.0 as f64 / RELIEF));
            }
        },
    },
    Relief {
        segments: &[Segment::NetworkLoss],
        relieve: |profile, _| {
            if let Some(network) = &mut profile.network {
                network.loss_ratio = 0.0;
            }
        },
    },
    Relief {
        segments: &[Segment::ClientConnection],
        relieve: |profile, _| {
            if let Some(window) = profile.network.as_mut().and_then(|network| network.window_bytes.as_mut()) {
                *window = Bytes(round_to_u64(window.0 as f64 * RELIEF));
            }
        },
    },
    Relief {
        segments: &[Segment::ServerCpu],
        relieve: |profile, _| {
            profile.server_cpus *= RELIEF;
            cheaper(&mut profile.server_cpu);
        },
    },
    Relief {
        segments: &[Segment::ServerThreads],
        relieve: |profile, _| {
            profile.server_cpu.threads = profile.server_cpu.threads.map(|threads| threads * 2);
        },
    },
    Relief {
        segments: &[Segment::DeviceBandwidth],
        relieve: |profile, _| {
            if let Some(rate) = &mut profile.device.bytes_per_s {
                rate.0 *= RELIEF;
            }
        },
    },
    Relief {
        segments: &[Segment::DeviceIops, Segment::DeviceLatency],
        relieve: |profile, _| {
            profile.device.per_op_ns = halved(profile.device.per_op_ns);
            if let Some(ops) = &mut profile.device_ops_per_s {
                ops.0 *= RELIEF;
            }
        },
    },
    Relief {
        segments: &[Segment::ServerCommit, Segment::DeviceLatency],
        relieve: |profile, _| profile.device.flush_ns = halved(profile.device.flush_ns),
    },
];

/// Twice the requests in flight: right as well as the segment that a request waits for most, where it gains more than that.
static MORE_IN_FLIGHT: Relief =
    Relief { segments: &[Segment::WorkloadConcurrency], relieve: |_, cell| cell.workload.queue_depth *= 2 };

fn halved(time: Nanos) -> Nanos {
    Nanos(time.0 / 2)
}

/// Halves what an operation and a byte cost.
fn cheaper(law: &mut StationLaw) {
    law.per_op_ns = halved(law.per_op_ns);
    if let Some(rate) = &mut law.bytes_per_s {
        rate.0 *= RELIEF;
    }
}

/// Bytes a second of this cell alone.
fn rate(profile: &SimProfile, plan: &Plan, cell: &Cell) -> f64 {
    let mut cell = cell.clone();
    cell.stop.ops_max = Some(OPS_MAX);
    let alone = Plan { cells: vec![cell], ..plan.clone() };
    let summary = driven(profile, &alone);
    summary.cells.first().and_then(|cell| cell.rate_bytes_per_s).map_or(0.0, |rate| rate.0)
}

fn relieved_rate(profile: &SimProfile, plan: &Plan, cell: &Cell, reliefs: &[&Relief]) -> f64 {
    let (mut profile, mut cell) = (profile.clone(), cell.clone());
    for relief in reliefs {
        (relief.relieve)(&mut profile, &mut cell);
    }
    rate(&profile, plan, &cell)
}

/// The segments whose relief raises the rate of this cell most. Of two that are full alike, so that relieving one gains
/// little and relieving both gains much, both are right; empty where three or more limit together.
pub(super) fn limiting_segments(profile: &SimProfile, plan: &Plan, cell: &Cell) -> BTreeSet<Segment> {
    let base = rate(profile, plan, cell);
    if base <= 0.0 {
        return BTreeSet::new();
    }
    let gain = |reliefs: &[&Relief]| relieved_rate(profile, plan, cell, reliefs) / base;
    let alone: Vec<(Vec<&Relief>, f64)> =
        RELIEFS.iter().map(|relief| (vec![relief], gain(&[relief]))).collect();
    let most = most_gain(&alone);
    let mut right = best_segments(&alone, GAIN_MIN);
    if most < ALONE_MAX {
        let pairs = pairs(gain);
        right.extend(best_segments(&pairs, ALONE_MAX.max(most * PAIR_MORE)));
    }
    if !right.is_empty() && gain(&[&MORE_IN_FLIGHT]) >= most {
        right.insert(Segment::WorkloadConcurrency);
    }
    right
}

/// What two reliefs at once gain, of each pair.
fn pairs(gain: impl Fn(&[&'static Relief]) -> f64) -> Vec<(Vec<&'static Relief>, f64)> {
    let mut pairs = Vec::new();
    for (index, first) in RELIEFS.iter().enumerate() {
        for second in &RELIEFS[index + 1..] {
            pairs.push((vec![first, second], gain(&[first, second])));
        }
    }
    pairs
}

fn most_gain(gains: &[(Vec<&Relief>, f64)]) -> f64 {
    gains.iter().map(|(_, gain)| *gain).fold(0.0, f64::max)
}

/// The segments of the reliefs that gain nearly as much as the best, if that gains `gain_min`.
fn best_segments(gains: &[(Vec<&Relief>, f64)], gain_min: f64) -> BTreeSet<Segment> {
    let best = most_gain(gains);
    if best < gain_min {
        return BTreeSet::new();
    }
    let nearly = 1.0 + (best - 1.0) * SHARE_MIN;
    let right = gains.iter().filter(|(_, gain)| *gain >= nearly);
    right.flat_map(|(reliefs, _)| reliefs.iter().flat_map(|relief| relief.segments)).copied().collect()
}
