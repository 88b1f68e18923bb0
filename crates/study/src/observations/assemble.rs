//! The keys of an observation file become values of the model.
//!
//! Not here: what is wrong with them, which is `whole`'s: whatever is missing is left out of the values, which nobody
//! sees where something is wrong.

use super::ObservationFile;
use super::keys::{CeilingKeys, ClaimKeys, ObservationKeys};
use narrows_model::Observations;
use narrows_model::observation::{Capacity, Ceiling, Claim, Observation};

/// How far the sides of a claim may differ where the file does not give it.
const TOLERANCE_RATIO: f64 = 0.01;

pub(super) fn observations(file: ObservationFile) -> Observations {
    Observations {
        title: file.head.title.value.unwrap_or_default(),
        source: file.head.source.value,
        ceilings: file.ceilings.into_iter().filter_map(|row| ceiling(row.keys)).collect(),
        observations: file.observations.into_iter().map(|row| observation(row.keys)).collect(),
        factor_segments: file.head.factor_segment.value.unwrap_or_default(),
        claims: file.claims.into_iter().filter_map(|row| claim(row.keys)).collect(),
    }
}

fn ceiling(keys: CeilingKeys) -> Option<Ceiling> {
    let bytes = keys.bytes_per_s.value.map(Capacity::BytesPerS);
    let ops = keys.ops_per_s.value.map(Capacity::OpsPerS);
    Some(Ceiling {
        segment: keys.segment.value?,
        capacity: bytes.or(ops).or(keys.latency_s.value.map(Capacity::LatencyS))?,
        scope: keys.scope.value.unwrap_or_default(),
        count: keys.count.value,
        op: keys.op.value,
        basis: keys.basis.value.unwrap_or_default(),
        note: keys.note.value,
    })
}

fn claim(keys: ClaimKeys) -> Option<Claim> {
    let left = keys.left.value?;
    Some(Claim {
        text: keys.text.value?,
        left: left.text,
        left_value: left.value,
        right: keys.right.value?,
        tolerance_ratio: keys.tolerance_ratio.value.unwrap_or(TOLERANCE_RATIO),
    })
}

fn observation(keys: ObservationKeys) -> Observation {
    let per_client = keys.per_client_bytes_per_s.value.unwrap_or_default();
    let client_count = Some(per_client.len() as u64).filter(|count| *count > 0);
    Observation {
        id: keys.id.value.unwrap_or_default(),
        op: keys.op.value.unwrap_or_default(),
        clients: keys.clients.value.or(client_count),
        per_client_bytes_per_s: per_client,
        bytes_per_s: keys.bytes_per_s.value,
        ops_per_s: keys.ops_per_s.value,
        bytes_per_s_per_client_mean: keys.bytes_per_s_per_client_mean.value,
        offered_ops_per_s: keys.offered_ops_per_s.value,
        offered_bytes_per_s: keys.offered_bytes_per_s.value,
        latency_s: keys.latency_s.value,
        in_flight_configured: keys.in_flight_configured.value,
        in_flight_measured: keys.in_flight_measured.value,
        window_bytes: keys.window_bytes.value,
        connections: keys.connections.value,
        block_bytes: keys.block_bytes.value,
        file_bytes: keys.file_bytes.value,
        elapsed_s: keys.elapsed_s.value,
        elapsed_half_width_ratio: keys.elapsed_half_width_ratio.value,
        elapsed_first_s: keys.elapsed_first_s.value,
        round_trips: keys.round_trips.value,
        messages: keys.messages.value,
        rtt_s: keys.rtt_s.value,
        hit_ratio: keys.hit_ratio.value,
        errors: keys.errors.value,
        sequence: keys.sequence.value,
        note: keys.note.value,
        calls: keys.calls.value.unwrap_or_default(),
        read_calls: keys.read_calls.value.unwrap_or_default(),
        write_calls: keys.write_calls.value.unwrap_or_default(),
        tcp_segments: keys.tcp_segments.value.unwrap_or_default(),
        cpu_ratio: keys.cpu_ratio.value.unwrap_or_default(),
        cpu_cores: keys.cpu_cores.value.unwrap_or_default(),
        cpu_busiest_core_ratio: keys.cpu_busiest_core_ratio.value.unwrap_or_default(),
        user_s: keys.user_s.value.unwrap_or_default(),
        system_s: keys.system_s.value.unwrap_or_default(),
        cpus: keys.cpus.value.unwrap_or_default(),
        busy_ratio: keys.busy_ratio.value.unwrap_or_default(),
        bytes: keys.bytes.value.unwrap_or_default(),
        memory_bytes: keys.memory_bytes.value.unwrap_or_default(),
        quality: keys.quality.value.unwrap_or_default(),
        factors: keys.factor.value.unwrap_or_default(),
    }
}
