//! The published tables, entered as figures, come out as they were printed.

use super::super::headline::points_measured;
use super::*;
use narrows_model::counters::Role;
use narrows_model::relay::{CallSizes, RelaySockets};
use narrows_model::summary::RelayRoleSummary;
use narrows_model::{Bytes, BytesPerSec, CellId};
use std::collections::BTreeMap;

const PUBLISHED: &str = include_str!("../../../../../docs/examples/observations/relay_buffer_sweeps.csv");

/// A row of the published tables: sweep, the three buffers, then the printed texts.
struct Published<'t> {
    sweep: RelaySweep,
    buffers: [Option<u64>; 3],
    elapsed: &'t str,
    rate: &'t str,
    proxy_user: &'t str,
    proxy_system: &'t str,
    proxy_calls: &'t str,
    server_calls: &'t str,
}

fn published() -> Vec<Published<'static>> {
    PUBLISHED.lines().skip(1).map(row).collect()
}

fn row(line: &'static str) -> Published<'static> {
    let fields: Vec<&str> = line.split(',').collect();
    let sweep = match (fields[0], fields[1]) {
        ("two-node", "client") => RelaySweep::Client,
        ("two-node", "server") => RelaySweep::Server,
        ("two-node", "client+server") => RelaySweep::Both,
        ("three-node", "client") => RelaySweep::Client3,
        ("three-node", "server") => RelaySweep::Server3,
        ("three-node", "client+proxy+server") => RelaySweep::All3,
        (_, other) => RelaySweep::from_name(other).unwrap(),
    };
    Published {
        sweep,
        buffers: [2, 3, 4].map(|index| fields[index].parse().ok()),
        elapsed: fields[5],
        rate: fields[6],
        proxy_user: fields[7],
        proxy_system: fields[8],
        proxy_calls: fields[9],
        server_calls: fields[10],
    }
}

fn role(role: Role, reads: &str, user: &str, system: &str) -> RelayRoleSummary {
    let number = |text: &str| text.parse().unwrap_or(0.0);
    RelayRoleSummary {
        role,
        host: "node".to_owned(),
        machine: None,
        elapsed_s: 1.0,
        user_s: number(user),
        system_s: number(system),
        busy_ratio: 0.5,
        read_count: number(reads),
        write_count: 0.0,
        reads: CallSizes { by_bytes: BTreeMap::from([(4096, 3), (100, 1)]) },
        writes: CallSizes::default(),
        segments: None,
        granted_send_buffer: None,
        granted_receive_buffer: None,
    }
}

fn point(row: &Published<'_>) -> RelayPointSummary {
    let [client, proxy, server] = row.buffers.map(|size| size.map(Bytes));
    let shrunk = [client, proxy, server].into_iter().flatten().min().unwrap();
    let mut roles = vec![role(Role::Client, "0", "0", "0")];
    roles.extend(proxy.map(|_| role(Role::Proxy, row.proxy_calls, row.proxy_user, row.proxy_system)));
    roles.push(role(Role::Server, row.server_calls, "0", "0"));
    RelayPointSummary {
        cell: CellId(format!("relay/{}/{}", row.sweep.name(), shrunk.0)),
        sweep: row.sweep,
        shrunk,
        buffers: row.sweep.buffers(shrunk, Bytes(4096)),
        trial_count: 1,
        problems: Vec::new(),
        elapsed_s: row.elapsed.parse().ok(),
        rate_mean: row.rate.parse().ok().map(|kib_per_s: f64| BytesPerSec(kib_per_s * 1024.0)),
        rate_of_totals: None,
        rate_of_totals_interval: None,
        interval: None,
        coalescing_ratio: None,
        roles,
    }
}

fn experiment() -> RelaySummary {
    RelaySummary {
        total: Bytes(48 << 20),
        sockets: RelaySockets {
            transport: RelayTransport::Tcp,
            no_delay: false,
            send_buffer: None,
            receive_buffer: None,
            wait_all: false,
        },
        forward: ForwardMode::Copy,
        verify: false,
        points: published().iter().map(point).collect(),
    }
}

#[test]
fn every_published_row_is_printed_as_it_was() {
    let relay = experiment();
    assert_eq!((relay.points.len(), sweeps(&relay).len()), (90, 10));
    for (sweep, points) in sweeps(&relay) {
        let table = native::table(sweep, &points, &Style::default());
        for row in published().iter().filter(|row| row.sweep == sweep) {
            let buffers = row.buffers.iter().flatten().map(u64::to_string);
            let mut wanted: Vec<String> = buffers.collect();
            wanted.extend([row.elapsed.to_owned(), row.rate.to_owned()]);
            if sweep.has_proxy() {
                wanted.extend([row.proxy_user, row.proxy_system].map(str::to_owned));
            }
            let printed = |line: &&str| {
                let fields: Vec<&str> = line.split_whitespace().collect();
                fields.len() >= wanted.len() && fields[..wanted.len()] == wanted[..]
            };
            let line = table.lines().find(printed).unwrap_or_else(|| panic!("{wanted:?} in\n{table}"));
            // The counts of the two smallest buffers are not published.
            if !row.server_calls.is_empty() {
                assert!(line.ends_with(row.server_calls), "{line}");
            }
        }
    }
}

#[test]
fn the_largest_buffers_stand_first_and_three_nodes_have_the_proxys_columns() {
    let relay = experiment();
    let (sweep, points) = sweeps(&relay).into_iter().find(|(sweep, _)| *sweep == RelaySweep::Proxy).unwrap();
    let table = native::table(sweep, &points, &Style::default());
    let header: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(
        header,
        ["Client", "Proxy", "Server", "Elapsed_Time", "Thruput", "User_Time", "Sys_Time", "#pIO", "#sIO"]
    );
    let first: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(first[..3], ["4096", "4096", "4096"]);
    assert!(table.lines().last().unwrap().trim_start().starts_with("4096"));
}

#[test]
fn reads_are_reported_by_their_commonest_sizes_and_lines_fit_the_screen() {
    let text = own::tables(&experiment(), &Style::default());
    assert!(text.contains("12288: 4KiB 75 %, 100B 25 %"), "{text}");
    let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(longest <= 120, "{longest}");
}

#[test]
fn a_point_without_a_whole_trial_has_no_figures_and_says_why() {
    let mut relay = experiment();
    relay.points.truncate(1);
    relay.points[0].problems = vec!["trial 1: the server was killed".to_owned()];
    relay.points[0].trial_count = 0;
    (relay.points[0].elapsed_s, relay.points[0].rate_mean) = (None, None);
    relay.points[0].roles.clear();
    let (sweep, points) = sweeps(&relay).remove(0);
    let table = native::table(sweep, &points, &Style::default());
    assert_eq!(
        table.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>(),
        ["4096", "4096", "-", "-", "-", "1", "of", "1", "failed"]
    );
    assert!(
        problems(&relay, &Style::default()).contains("relay/client/4096: trial 1: the server was killed")
    );
}

#[test]
fn a_sweep_without_a_figure_has_no_table_and_its_points_are_not_counted() {
    let mut relay = experiment();
    let at = |sweep: RelaySweep| relay.points.iter().position(|point| point.sweep == sweep).unwrap();
    let (proxy, first) = (at(RelaySweep::Proxy), at(RelaySweep::Client));
    let killed = relay.points.iter_mut().skip(proxy).take(9);
    for point in killed {
        (point.trial_count, point.problems) = (0, vec!["trial 1: the proxy was killed".to_owned()]);
    }
    relay.points[first].problems = vec!["trial 2: the proxy was killed".to_owned()];
    assert_eq!(points_measured(&relay), "80 of 90 points measured, 1 more in part,");
    assert_eq!(measured_sweeps(&relay).len(), 9);
    for point in &mut relay.points {
        point.trial_count = 0;
    }
    assert_eq!(points_measured(&relay), "0 of 90 points measured");
    assert!(own::tables(&relay, &Style::default()).is_empty());
}

#[test]
fn in_detail_both_means_stand_with_their_intervals() {
    let mut relay = experiment();
    relay.points.truncate(1);
    let found = |half: f64| narrows_model::summary::Interval {
        low: 100e6 - half,
        high: 100e6 + half,
        level: 0.95,
        method: "delta".to_owned(),
    };
    let point = &mut relay.points[0];
    (point.rate_mean, point.interval) = (Some(BytesPerSec(100e6)), Some(found(5e6)));
    (point.rate_of_totals, point.rate_of_totals_interval) = (Some(BytesPerSec(100e6)), Some(found(4e6)));
    let short = own::tables(&relay, &Style::default());
    assert!(short.contains("+-5.0 %") && !short.contains("+-4.0 %"), "{short}");
    let long = own::tables(&relay, &Style { detail: true, ..Style::default() });
    assert!(
        long.contains("+-4.0 %") && long.contains("totals: all bytes over the time of all trials"),
        "{long}"
    );
}

#[test]
fn socket_buffers_that_the_kernel_made_smaller_are_reported_with_what_was_granted() {
    let mut relay = experiment();
    assert!(buffers::less_than_asked(&relay).is_empty(), "nothing was asked for");
    (relay.sockets.send_buffer, relay.sockets.receive_buffer) =
        (Some(Bytes(512 << 20)), Some(Bytes(64 << 10)));
    for role in relay.points.iter_mut().flat_map(|point| &mut point.roles) {
        // The kernel reports twice what it grants.
        role.granted_send_buffer = (role.role != Role::Server).then_some(Bytes(8 << 20));
        role.granted_receive_buffer = (role.role != Role::Client).then_some(Bytes(128 << 10));
    }
    let found = buffers::less_than_asked(&relay);
    assert_eq!(
        found,
        [
            "--send-buffer: 536870912 bytes were requested and the kernel grants 4194304 (net.core.wmem_max), at the \
          client and the proxy"
        ]
    );
    relay.sockets.receive_buffer = Some(Bytes(512 << 20));
    assert_eq!(buffers::less_than_asked(&relay).len(), 2);
}

#[test]
fn in_detail_every_role_has_its_times_and_the_sizes_of_its_reads_and_writes() {
    let mut relay = experiment();
    relay.points.retain(|point| point.sweep == RelaySweep::Proxy);
    relay.points.truncate(1);
    let proxy = &mut relay.points[0].roles[1];
    (proxy.user_s, proxy.system_s, proxy.elapsed_s) = (0.125, 1.5, 2.25);
    (proxy.read_count, proxy.write_count) = (4.0, 8.0);
    proxy.writes = CallSizes { by_bytes: BTreeMap::from([(2048, 8)]) };
    let long = own::tables(&relay, &Style { detail: true, ..Style::default() });
    let line = |role: &str| {
        let mut found = long.lines().filter(|line| line.split_whitespace().any(|word| word == role));
        found
            .next_back()
            .unwrap_or_else(|| panic!("{role} in\n{long}"))
            .split_whitespace()
            .collect::<Vec<_>>()
    };
    assert_eq!(line("proxy")[..4], ["proxy", "0.125000", "1.500000", "2.250000"]);
    assert!(line("proxy").join(" ").ends_with("4: 4KiB 75 %, 100B 25 % 8: 2KiB 100 %"), "{long}");
    assert_eq!(line("client").last(), Some(&"-"), "no write of the client is counted here: {long}");
    assert!(!own::tables(&relay, &Style::default()).contains("TIMES OF EACH ROLE"));
}
