//! The buffer experiment at the command line: counts that add up, records that are read again, signals.

use crate::support::running::{Running, Served};
use crate::support::{Seen, run};
use narrows_model::counters::Role;
use narrows_model::relay::RelaySweep;
use narrows_model::summary::{RelayPointSummary, RelaySummary};
use narrows_model::{Bytes, Summary};
use std::path::Path;
use std::time::Duration;

/// A small experiment: 384 KiB of each of two sizes.
const SMALL: [&str; 8] = ["--bytes", "384KiB", "--sizes", "4096,48", "--trials", "2", "--out", "record"];
const TOTAL: u64 = 384 << 10;

fn relay(folder: &Path, words: &[&str]) -> Seen {
    run(folder, &[&["relay"], &SMALL[..], words].concat())
}

#[track_caller]
fn summary(seen: &Seen) -> RelaySummary {
    let summary: Summary =
        serde_json::from_str(&seen.stdout).unwrap_or_else(|error| panic!("{error}: {seen:?}"));
    summary.relay.unwrap()
}

/// Fails unless every role of every trial counted all bytes, with calls that its buffer allows.
#[track_caller]
fn assert_counted(point: &RelayPointSummary, trials: u64) {
    assert_eq!((point.trial_count, &point.problems), (trials, &Vec::new()), "{}", point.cell);
    for role in &point.roles {
        let (calls, buffer) = match role.role {
            Role::Client => (&role.writes, point.buffers.client),
            Role::Proxy => (&role.reads, point.buffers.proxy.unwrap()),
            Role::Server => (&role.reads, point.buffers.server),
        };
        assert_eq!(calls.total(), Bytes(TOTAL * trials), "{} {:?}", point.cell, role.role);
        assert!(calls.by_bytes.keys().all(|bytes| *bytes <= buffer.0), "{:?}", calls.by_bytes);
        if role.role == Role::Proxy {
            assert_eq!(role.writes.total(), calls.total());
        }
    }
    let client = &point.roles[0].writes;
    assert_eq!(client.by_bytes.len(), 1, "every write takes the whole buffer: {client:?}");
}

#[test]
fn all_sweeps_count_every_byte_on_every_role_and_the_record_says_the_same_again() {
    let folder = tempfile::tempdir().unwrap();
    let seen = relay(folder.path(), &["--sweep", "all", "--json"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let found = summary(&seen);
    assert_eq!(found.points.len(), 20);
    for point in &found.points {
        assert_counted(point, 2);
        assert_eq!(point.roles.len(), if point.sweep.has_proxy() { 3 } else { 2 });
    }
    let again = run(folder.path(), &["diagnose", "record", "--json"]);
    assert_eq!((again.code, &again.stdout), (Some(0), &seen.stdout));
}

#[test]
fn a_socket_buffer_that_the_kernel_makes_smaller_is_reported_in_text_and_json() {
    let folder = tempfile::tempdir().unwrap();
    let most: u64 = std::fs::read_to_string("/proc/sys/net/core/wmem_max").unwrap().trim().parse().unwrap();
    let asked = most + 4096;
    let option = asked.to_string();
    let seen = relay(folder.path(), &["--sweep", "client", "--send-buffer", &option]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let said = seen.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!(
        "--send-buffer: {asked} bytes were requested and the kernel grants {most} (net.core.wmem_max), at the client"
    );
    assert!(said.contains(&line), "{said}");
    let reported = summary(&run(folder.path(), &["diagnose", "record", "--json"]));
    for point in &reported.points {
        let [client, server] = &point.roles[..] else { panic!("{point:?}") };
        assert_eq!(client.granted_send_buffer, Some(Bytes(2 * most)));
        assert!(server.granted_send_buffer.is_none() && server.granted_receive_buffer.is_some());
    }
}

/// Each write of a Unix socket stays whole until it is read: a server whose buffer divides it reads whole buffers.
#[test]
fn unix_sockets_give_the_published_exact_reads() {
    let folder = tempfile::tempdir().unwrap();
    let seen = relay(folder.path(), &["--sweep", "server,both", "--transport", "unix", "--json"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    for point in summary(&seen).points {
        assert_counted(&point, 2);
        let server = &point.roles[1];
        assert!(server.segments.is_none(), "Unix sockets have no segments");
        // 48 does not divide 4096: there one read in 85 is a rest.
        if point.buffers.client.0.is_multiple_of(point.buffers.server.0) {
            assert_eq!(server.reads.by_bytes.keys().collect::<Vec<_>>(), [&point.buffers.server.0]);
        }
    }
}

#[test]
fn reads_that_wait_for_a_full_buffer_are_bytes_over_buffer_as_published() {
    let folder = tempfile::tempdir().unwrap();
    let seen = relay(folder.path(), &["--sweep", "both,all-3,server", "--wait-all", "--json"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let found = summary(&seen);
    assert!(found.sockets.wait_all);
    for point in &found.points {
        assert_counted(point, 2);
        for role in point.roles.iter().filter(|role| role.role != Role::Client) {
            let buffer =
                if role.role == Role::Proxy { point.buffers.proxy.unwrap() } else { point.buffers.server };
            let sizes: Vec<_> = role.reads.by_bytes.iter().collect();
            assert_eq!(sizes, [(&buffer.0, &(2 * TOTAL / buffer.0))], "{} {:?}", point.cell, role.role);
        }
    }
    let text = run(folder.path(), &["diagnose", "record", "--detail"]).stdout;
    assert!(text.contains("MSG_WAITALL"), "{text}");
    relay(folder.path(), &["--sweep", "all-3", "--wait-all", "--proxy-mode", "splice"])
        .assert_said(2, &["wait-all: found a proxy with splice", "omit --proxy-mode or --wait-all"])
        .assert_no_result();
}

#[test]
fn every_byte_is_verified_through_a_proxy_that_splices() {
    let folder = tempfile::tempdir().unwrap();
    let seen = relay(folder.path(), &["--sweep", "all-3", "--verify", "--proxy-mode", "splice", "--json"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let found = summary(&seen);
    assert!(found.verify);
    found.points.iter().for_each(|point| assert_counted(point, 2));
}

#[test]
fn an_endpoint_plays_the_server_with_and_without_a_proxy_before_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), "a-token-long-enough-to-be-one").unwrap();
    let served = Served::start(folder.path(), &["--token-file", "token"]);
    let words = ["--server", &served.address, "--token-file", "token", "--sweep", "both,all-3", "--json"];
    let seen = relay(folder.path(), &words);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let found = summary(&seen);
    assert_eq!(found.points.len(), 4);
    found.points.iter().for_each(|point| assert_counted(point, 2));
}

#[test]
fn a_proxy_elsewhere_plays_its_role_towards_the_host_that_it_was_started_for() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(folder.path(), &[]);
    let proxy = Served::of("proxy", folder.path(), &["--to", &served.address]);
    let by_name = served.address.replace("127.0.0.1", "localhost");
    for (number, more) in [&["--server", &by_name, "--verify"][..], &[]].into_iter().enumerate() {
        let record = format!("record-{number}");
        let words =
            ["relay", "--proxy", &proxy.address, "--sweep", "proxy,all-3", "--json", "--out", &record];
        let seen = run(folder.path(), &[&words[..], &SMALL[..6], more].concat());
        assert_eq!(seen.code, Some(0), "{seen:?}");
        summary(&seen).points.iter().for_each(|point| assert_counted(point, 2));
    }
}

#[test]
fn a_plan_names_every_point_and_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let seen = run(folder.path(), &["relay", "--plan", "--seed", "7"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    for sweep in RelaySweep::ALL {
        assert!(seen.stdout.contains(&format!("relay/{}/32B ", sweep.name())), "{}", seen.stdout);
    }
    for word in [
        "90 points of 10 sweeps",
        "270 trials of 48.0 MiB",
        "12.7 GiB in all",
        "client, proxy and server",
        "each trial ends when its bytes are transferred",
    ] {
        assert!(seen.stdout.contains(word), "{word}: {}", seen.stdout);
    }
    let again = run(folder.path(), &["relay", "--plan", "--seed", "7"]);
    assert_eq!(again.stdout, seen.stdout, "the seed repeats the order");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// An experiment of trials that last.
fn long(folder: &Path) -> Running {
    let words =
        ["relay", "--sweep", "both", "--sizes", "32", "--bytes", "8MiB", "--trials", "50", "--out", "record"];
    Running::start(folder, &words)
}

#[test]
fn one_interrupt_ends_after_the_point_and_two_now_with_what_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = long(folder.path());
    running.wait_for("trial 1 of 50");
    running.signal("INT");
    running.wait_for("stopping after this cell");
    running.wait_for("trial 2 of 50");
    running.signal("INT");
    let seen = running.end();
    seen.assert_said(4, &["record: record"]);
    let again = run(folder.path(), &["diagnose", "record", "--json"]);
    assert_eq!(again.code, Some(4), "{again:?}");
    let found = summary(&again);
    let point = &found.points[0];
    assert!(point.trial_count >= 2 && point.trial_count < 50 && point.problems.is_empty(), "{point:?}");
    assert_eq!(
        point.roles[1].reads.total(),
        Bytes(point.trial_count * (8 << 20)),
        "no part of a trial is counted"
    );
}

#[test]
fn a_parent_that_is_killed_leaves_no_role_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = long(folder.path());
    running.wait_for("trial 1 of 50");
    running.signal("KILL");
    // The roles keep its stderr open.
    running.wait_until_all_are_gone(Duration::from_secs(10));
}

#[test]
fn a_server_that_is_killed_ends_the_run_with_what_was_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = Served::start(folder.path(), &[]);
    let words =
        ["relay", "--server", &served.address, "--sweep", "both", "--sizes", "32", "--bytes", "64MiB"];
    let mut running =
        Running::start(folder.path(), &[&words[..], &["--trials", "50", "--out", "record"]].concat());
    // The line comes with the end of the trial: the next one, which lasts some seconds more, finds no server, or loses it.
    running.wait_for("trial 1 of 50");
    served.kill9();
    let seen = running.end();
    seen.assert_said(4, &["NO RESULT", "record: record"]);
    assert!(seen.stdout.starts_with("INCOMPLETE: "), "lost data comes first: {}", seen.stdout);
    assert!(seen.stdout.contains("\nClient and server share this machine: "), "{}", seen.stdout);
    let again = run(folder.path(), &["diagnose", "record"]);
    assert_eq!((again.code, &again.stdout), (Some(4), &seen.stdout));
}
