//! What narrows saw beyond the published columns: rates with their intervals, the CPU of every role, calls, segments
//! and how writes were put together on the way.

use super::super::Style;
use super::super::style::Paint;
use super::super::table::{Align, Field, TextTable};
use super::super::wrap::{Indent, paragraph};
use super::{measured_sweeps, published};
use narrows_model::counters::Role;
use narrows_model::quantity::{percent, storage_rate};
use narrows_model::relay::CallSizes;
use narrows_model::summary::{Interval, RelayPointSummary, RelayRoleSummary, RelaySummary};
use narrows_model::{Bytes, BytesPerSec};

/// Return values listed one by one; the others are summed.
const SIZES_SHOWN_MAX: usize = 3;

/// The table of all sweeps, and the sizes that reads returned.
pub(super) fn tables(relay: &RelaySummary, style: &Style) -> String {
    const COLUMNS: &str = "rate: mean of the trials' rates with its 95 % interval; CPU: share of the elapsed time, \
                           client, proxy, server; segments: with data, sent by client and proxy; joined: the client's \
                           writes over the server's reads";
    const TOTALS: &str = "; totals: all bytes over the time of all trials, with its interval";
    let all = measured_sweeps(relay);
    if all.is_empty() {
        return String::new();
    }
    let mut out = style.heading("BY ROLE", "");
    let explained = format!("{COLUMNS}{}", if style.detail { TOTALS } else { "" });
    out.push_str(&paragraph(&explained, Indent { first: "  ", rest: "  " }, style.width));
    let mut columns = vec![
        ("sweep", Align::Left),
        ("size", Align::Right),
        ("rate", Align::Right),
        ("interval", Align::Left),
    ];
    if style.detail {
        columns.extend([("totals", Align::Right), ("interval", Align::Left)]);
    }
    columns.extend([
        ("CPU c/p/s", Align::Right),
        ("writes", Align::Right),
        ("segments", Align::Right),
        ("joined", Align::Right),
        ("reads of the server", Align::Left),
    ]);
    let mut table = TextTable::new(&columns);
    for (sweep, points) in all {
        for (index, point) in points.into_iter().enumerate() {
            let name = if index == 0 { sweep.name() } else { "" };
            table.row(row(name, point, style.detail));
        }
    }
    out.push_str(&table.render(style));
    if style.detail {
        out.push_str(&times(relay, style));
        out.push_str(&published::table(relay, style));
    }
    out
}

/// The times and the calls of every role, a line each.
fn times(relay: &RelaySummary, style: &Style) -> String {
    const COLUMNS: &str = "seconds, means over the trials: user and system CPU time of the thread that moved the bytes, \
                           elapsed from its first byte to its last; reads, writes: calls of a trial and the sizes that \
                           they returned";
    let mut out = style.heading("TIMES OF EACH ROLE", "");
    out.push_str(&paragraph(COLUMNS, Indent { first: "  ", rest: "  " }, style.width));
    let mut table = TextTable::new(&[
        ("sweep", Align::Left),
        ("size", Align::Right),
        ("role", Align::Left),
        ("user", Align::Right),
        ("system", Align::Right),
        ("elapsed", Align::Right),
        ("reads", Align::Left),
        ("writes", Align::Left),
    ]);
    for (sweep, points) in measured_sweeps(relay) {
        for (index, point) in points.into_iter().enumerate() {
            for (place, role) in point.roles.iter().enumerate() {
                let name = if (index, place) == (0, 0) { sweep.name() } else { "" };
                let shrunk = if place == 0 { point.shrunk.0.to_string() } else { String::new() };
                table.row(times_row(name, shrunk, role));
            }
        }
    }
    out.push_str(&table.render(style));
    out
}

fn times_row(sweep: &'static str, shrunk: String, role: &RelayRoleSummary) -> Vec<Field> {
    let seconds = |value: f64| Field::from(format!("{value:.6}"));
    vec![
        Field::new(sweep, Paint::Plain),
        shrunk.into(),
        role.role.name().to_owned().into(),
        seconds(role.user_s),
        seconds(role.system_s),
        seconds(role.elapsed_s),
        sizes(role.read_count, &role.reads).into(),
        sizes(role.write_count, &role.writes).into(),
    ]
}

fn row(sweep: &'static str, point: &RelayPointSummary, detail: bool) -> Vec<Field> {
    let role = |role: Role| point.roles.iter().find(|summary| summary.role == role);
    let client = role(Role::Client);
    let joined = point.coalescing_ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
    let mut fields = vec![Field::new(sweep, Paint::Plain), point.shrunk.0.to_string().into()];
    fields.extend(rate(point, point.rate_mean, point.interval.as_ref()));
    if detail {
        fields.extend(rate(point, point.rate_of_totals, point.rate_of_totals_interval.as_ref()));
    }
    fields.extend([
        busy(point).into(),
        client.map_or_else(|| "-".to_owned(), |client| format!("{:.0}", client.write_count)).into(),
        segments(point).into(),
        joined.into(),
        role(Role::Server)
            .map_or_else(|| "-".to_owned(), |server| sizes(server.read_count, &server.reads))
            .into(),
    ]);
    fields
}

/// A rate, and half of its interval as a share of it.
fn rate(point: &RelayPointSummary, rate: Option<BytesPerSec>, interval: Option<&Interval>) -> [Field; 2] {
    let half = interval.zip(rate).and_then(|(interval, rate)| {
        narrows_model::units::ratio((interval.high - interval.low) / 2.0, rate.0)
    });
    let spread =
        half.map_or_else(|| format!("of {}", point.trial_count), |half| format!("+-{}", percent(half)));
    [rate.map_or_else(|| "-".to_owned(), |rate| storage_rate(rate.0)).into(), spread.into()]
}

fn busy(point: &RelayPointSummary) -> String {
    let of = |role: &RelayRoleSummary| format!("{:.0}", role.busy_ratio * 100.0);
    let all: Vec<String> = point.roles.iter().map(of).collect();
    if all.is_empty() { "-".to_owned() } else { format!("{} %", all.join("/")) }
}

/// Segments with data of one trial, by the roles that send.
fn segments(point: &RelayPointSummary) -> String {
    let senders = point.roles.iter().filter(|role| role.role != Role::Server);
    let counts: Option<Vec<String>> = senders
        .map(|role| {
            let sent = role.segments?.data_out_count as f64;
            Some(format!("{:.0}", narrows_model::units::ratio(sent, point.trial_count as f64)?))
        })
        .collect();
    counts.filter(|counts| !counts.is_empty()).map_or_else(|| "-".to_owned(), |counts| counts.join("/"))
}

/// How many calls a trial has, and the commonest of their return values with their share; `-` without a call.
fn sizes(trial_count: f64, returned: &CallSizes) -> String {
    let calls = returned.call_count();
    if calls == 0 {
        return "-".to_owned();
    }
    let mut by_count: Vec<(u64, u64)> =
        returned.by_bytes.iter().map(|(bytes, count)| (*bytes, *count)).collect();
    by_count.sort_by_key(|(bytes, count)| (std::cmp::Reverse(*count), *bytes));
    let share = |count: u64| narrows_model::units::ratio(count as f64, calls as f64).unwrap_or(0.0);
    let mut parts: Vec<String> = by_count
        .iter()
        .take(SIZES_SHOWN_MAX)
        .filter(|(_, count)| share(*count) >= 0.01)
        .map(|(bytes, count)| format!("{} {}", Bytes(*bytes), percent(share(*count))))
        .collect();
    let others = by_count.len().saturating_sub(parts.len());
    if others > 0 {
        parts.push(format!("{others} more"));
    }
    format!("{trial_count:.0}: {}", parts.join(", "))
}
