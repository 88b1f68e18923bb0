//! The published columns: buffers, elapsed time, throughput, and for three nodes the proxy's CPU time and the calls.

use super::super::Style;
use super::super::table::{Align, Field, TextTable};
use narrows_model::counters::Role;
use narrows_model::relay::RelaySweep;
use narrows_model::summary::{RelayPointSummary, RelayRoleSummary};

/// What the columns mean.
pub(super) fn explained(sweep: RelaySweep) -> &'static str {
    if sweep.has_proxy() {
        "seconds, KiB/s; User_Time, Sys_Time: the proxy's seconds; #pIO, #sIO: reads of proxy and server"
    } else {
        "seconds, KiB/s; #sIO: reads of the server"
    }
}

/// The table of one sweep.
pub(super) fn table(sweep: RelaySweep, points: &[&RelayPointSummary], style: &Style) -> String {
    let three =
        ["Client", "Proxy", "Server", "Elapsed_Time", "Thruput", "User_Time", "Sys_Time", "#pIO", "#sIO"];
    let two = ["Client", "Server", "Elapsed_Time", "Thruput", "#sIO"];
    let names: &[&str] = if sweep.has_proxy() { &three } else { &two };
    let mut columns: Vec<(&str, Align)> = names.iter().map(|name| (*name, Align::Right)).collect();
    // A column of its own, only where trials are missing: the others are the published ones.
    let in_part = points.iter().any(|point| failed(point).is_some());
    if in_part {
        columns.push(("Trials", Align::Left));
    }
    let mut table = TextTable::new(&columns);
    for point in points {
        let mut fields = row(point);
        if in_part {
            fields.push(failed(point).unwrap_or_default().into());
        }
        table.row(fields);
    }
    table.render(style)
}

/// How many of a point's trials failed: `1 of 3 failed`; `None` where none did.
fn failed(point: &RelayPointSummary) -> Option<String> {
    let count = point.problems.len() as u64;
    (count > 0).then(|| format!("{count} of {} failed", count + point.trial_count))
}

fn row(point: &RelayPointSummary) -> Vec<Field> {
    let role = |role: Role| point.roles.iter().find(|summary| summary.role == role);
    let reads = |at_role: Role| format_figure(role(at_role), |summary| format!("{:.0}", summary.read_count));
    let elapsed = point.elapsed_s.map_or_else(unmeasured, |seconds| format!("{seconds:.6}"));
    let rate = point.rate_mean.map_or_else(unmeasured, |rate| format!("{:.2}", rate.0 / 1024.0));
    let sizes = [Some(point.buffers.client), point.buffers.proxy, Some(point.buffers.server)];
    let mut fields: Vec<String> = sizes.into_iter().flatten().map(|size| size.0.to_string()).collect();
    fields.extend([elapsed, rate]);
    if point.buffers.proxy.is_some() {
        let proxy = role(Role::Proxy);
        fields.push(format_figure(proxy, |summary| format!("{:.3}", summary.user_s)));
        fields.push(format_figure(proxy, |summary| format!("{:.3}", summary.system_s)));
        fields.push(reads(Role::Proxy));
    }
    fields.push(reads(Role::Server));
    fields.into_iter().map(Field::from).collect()
}

fn format_figure(role: Option<&RelayRoleSummary>, figure: impl Fn(&RelayRoleSummary) -> String) -> String {
    role.map_or_else(unmeasured, figure)
}

fn unmeasured() -> String {
    "-".to_owned()
}
