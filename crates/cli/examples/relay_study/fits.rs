//! The time of each sweep as a line over its calls, by the rule that judges observations.

use crate::rows::Row;
use narrows_analysis::per_call;
use narrows_model::cell::FactorValue;
use narrows_model::counters::Role;
use narrows_model::observation::{ObservedOp, PerCall};
use narrows_model::relay::{PUBLISHED_TOTAL, RelaySweep};
use narrows_model::{Observation, Observations};
use std::collections::BTreeMap;

const ROLES: [Role; 3] = [Role::Client, Role::Proxy, Role::Server];

/// The line of `sweep`; `None` where its time does not grow with its calls.
pub(crate) fn of(rows: &[Row], sweep: RelaySweep) -> Option<PerCall> {
    let observations = rows.iter().filter(|row| row.sweep == sweep).map(observation).collect();
    per_call(&Observations { observations, ..Observations::default() }).into_iter().next()
}

fn observation(row: &Row) -> Observation {
    let client_writes = row.buffers[0].map(|buffer| PUBLISHED_TOTAL.0.div_ceil(buffer));
    let counts = [client_writes, row.proxy_read_count, row.server_read_count];
    let names = ["client_buffer_bytes", "proxy_buffer_bytes", "server_buffer_bytes"];
    let factor = |(name, bytes): (&str, Option<u64>)| {
        Some((name.to_owned(), FactorValue::Number(narrows_model::Bytes(bytes?).as_f64())))
    };
    let proxy = |seconds: Option<f64>| seconds.map(|seconds| (Role::Proxy, seconds)).into_iter().collect();
    let cpu = row.own.as_ref().map(|own| own.cpu_ratios).unwrap_or_default();
    Observation {
        id: row.shrunk_bytes().to_string(),
        op: ObservedOp::Send,
        clients: Some(1),
        elapsed_s: Some(row.elapsed_s),
        elapsed_half_width_ratio: row.own.as_ref().and_then(|own| own.half_width_ratio),
        file_bytes: Some(PUBLISHED_TOTAL),
        calls: by_role(counts),
        factors: names.into_iter().zip(row.buffers).filter_map(factor).collect(),
        user_s: proxy(row.proxy_user_s),
        system_s: proxy(row.proxy_system_s),
        cpu_ratio: by_role(cpu),
        ..Observation::default()
    }
}

fn by_role<T>(values: [Option<T>; 3]) -> BTreeMap<Role, T> {
    ROLES.into_iter().zip(values).filter_map(|(role, value)| Some((role, value?))).collect()
}
