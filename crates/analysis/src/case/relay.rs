//! The figures of a sweep as observations: what published tables of the same experiment contain.

use super::table::{TCP_NO_DELAY, TRANSPORT, UNIX_SOCKETS};
use narrows_model::cell::FactorValue;
use narrows_model::counters::Role;
use narrows_model::observation::ObservedOp;
use narrows_model::relay::{RelaySockets, RelaySweep, RelayTransport};
use narrows_model::summary::{RelayPointSummary, RelayRoleSummary, RelaySummary};
use narrows_model::{Bytes, Observation, Observations};
use std::collections::BTreeMap;

/// The points of `sweep` that have a figure, the largest buffers first, whatever their order in time was.
pub(crate) fn observations(relay: &RelaySummary, sweep: RelaySweep) -> Observations {
    let mut points: Vec<_> = relay.points.iter().filter(|point| point.sweep == sweep).collect();
    points.sort_by_key(|point| std::cmp::Reverse(point.shrunk));
    Observations {
        title: format!("narrows relay, sweep {}", sweep.name()),
        observations: points.into_iter().filter_map(|point| observation(point, relay)).collect(),
        ..Observations::default()
    }
}

/// One point; `None` without a whole trial.
fn observation(point: &RelayPointSummary, relay: &RelaySummary) -> Option<Observation> {
    let by_role = |figure: fn(&RelayRoleSummary) -> f64| -> BTreeMap<Role, f64> {
        point.roles.iter().map(|role| (role.role, figure(role))).collect()
    };
    Some(Observation {
        id: point.cell.0.clone(),
        op: ObservedOp::Send,
        clients: Some(1),
        bytes_per_s: Some(point.rate_mean?),
        elapsed_s: Some(point.elapsed_s?),
        elapsed_half_width_ratio: half_width_ratio(point),
        file_bytes: Some(relay.total),
        calls: counts(
            point,
            |role| if role.role == Role::Client { role.write_count } else { role.read_count },
        ),
        read_calls: counts(point, |role| role.read_count),
        write_calls: counts(point, |role| role.write_count),
        tcp_segments: segments(point),
        user_s: by_role(|role| role.user_s),
        system_s: by_role(|role| role.system_s),
        factors: factors(point, relay.sockets),
        ..Observation::default()
    })
}

/// Half of the interval of the mean rate over it: to first order that of the time, of which the rate is the inverse.
fn half_width_ratio(point: &RelayPointSummary) -> Option<f64> {
    let (interval, mean) = point.interval.as_ref().zip(point.rate_mean)?;
    narrows_model::units::ratio((interval.high - interval.low) / 2.0, mean.0)
}

/// Calls of each role that moved bytes, rounded: a mean over trials; roles without any are left out.
fn counts(point: &RelayPointSummary, figure: fn(&RelayRoleSummary) -> f64) -> BTreeMap<Role, u64> {
    let whole = |count: f64| format!("{count:.0}").parse::<u64>().ok().filter(|count| *count > 0);
    point.roles.iter().filter_map(|role| Some((role.role, whole(figure(role))?))).collect()
}

/// Segments with data that each role sent in one trial.
fn segments(point: &RelayPointSummary) -> BTreeMap<Role, u64> {
    let sent = |role: &RelayRoleSummary| role.segments.map(|segments| segments.data_out_count);
    let of_one = |count: u64| count.checked_div(point.trial_count).filter(|count| *count > 0);
    point.roles.iter().filter_map(|role| Some((role.role, of_one(sent(role)?)?))).collect()
}

/// The buffers, under the names by which observation files know them, and what joins the roles.
fn factors(point: &RelayPointSummary, sockets: RelaySockets) -> BTreeMap<String, FactorValue> {
    let sizes = [
        ("client_buffer_bytes", Some(point.buffers.client)),
        ("proxy_buffer_bytes", point.buffers.proxy),
        ("server_buffer_bytes", Some(point.buffers.server)),
    ];
    let number = |size: Bytes| FactorValue::Number(size.as_f64());
    let buffers = sizes.into_iter().filter_map(|(name, size)| Some((name.to_owned(), number(size?))));
    let joined_by = match (sockets.transport, sockets.no_delay) {
        (RelayTransport::Unix, _) => UNIX_SOCKETS,
        (RelayTransport::Tcp, true) => TCP_NO_DELAY,
        (RelayTransport::Tcp, false) => "tcp",
    };
    buffers.chain([(TRANSPORT.to_owned(), FactorValue::Text(joined_by.to_owned()))]).collect()
}
