//! Return values that the buffer experiment counts are those that the kernel gave, as strace sees them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::lab;
use narrows_lab::narrows_bin;
use narrows_model::counters::Role;
use narrows_model::summary::RelayPointSummary;
use narrows_model::{Bytes, Summary};

const TOTAL_BYTES: u64 = 192 << 10;

/// Lengths that are asked for outside of the experiment: of a ticket and of a word.
const OUTSIDE: [u64; 2] = [16, 9];

type Sizes = BTreeMap<u64, u64>;

/// What one thread's calls returned.
#[derive(Debug, Default)]
struct Traced {
    sent: Sizes,
    received: Sizes,
}

/// Return values above zero of the calls that ask for the experiment's bytes, from a thread's own `strace -ff` file.
fn traced(trace: &Path) -> Traced {
    let mut traced = Traced::default();
    for line in fs::read_to_string(trace).unwrap().lines() {
        let Some((call, returned)) = line.rsplit_once(" = ") else { continue };
        let Ok(returned) = returned.trim().parse::<u64>() else { continue };
        let Some((name, arguments)) = call.split_once('(') else { continue };
        let sizes = match name {
            "sendto" => &mut traced.sent,
            "recvfrom" => &mut traced.received,
            _ => continue,
        };
        // FD, data, length, flags, address, address length: with `-s 0` the data contains no comma.
        let length: u64 = arguments.split(',').nth(2).unwrap().trim().parse().unwrap();
        if returned > 0 && !OUTSIDE.contains(&length) {
            *sizes.entry(returned).or_default() += 1;
        }
    }
    traced
}

/// One point of one trial under strace, and what the threads that moved its bytes did.
fn traced_point(sweep: &str, buffer_bytes: u64) -> Option<(RelayPointSummary, Vec<Traced>)> {
    let lab = lab()?;
    let scratch = lab.scratch();
    let mut command = Command::new("strace");
    command.args([
        "-ff",
        "-s",
        "0",
        "--seccomp-bpf",
        "-e",
        "trace=sendto,recvfrom",
        "-e",
        "signal=none",
        "-o",
    ]);
    command.arg(scratch.join("trace")).arg(narrows_bin().unwrap());
    command.args(["relay", "--sweep", sweep, "--trials", "1", "--json", "--quiet"]);
    command.args(["--sizes", &buffer_bytes.to_string(), "--bytes", &TOTAL_BYTES.to_string()]);
    command.arg("--out").arg(scratch.join("record"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: Summary = serde_json::from_slice(&output.stdout).unwrap();
    let [point] = summary.relay.unwrap().points.try_into().unwrap();
    let entries = fs::read_dir(scratch).unwrap().map(|entry| entry.unwrap().path());
    let traces = entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("trace."));
    let moved = |traced: &Traced| !traced.sent.is_empty() || !traced.received.is_empty();
    Some((point, traces.map(|path| traced(&path)).filter(moved).collect()))
}

/// Fails unless each role's counts are those of one thread, and all bytes passed it.
#[track_caller]
fn assert_seen(point: &RelayPointSummary, threads: &[Traced]) {
    assert_eq!(threads.len(), point.roles.len(), "one thread a role moves bytes: {threads:?}");
    for role in &point.roles {
        let seen = threads.iter().find(|traced| match role.role {
            Role::Client => traced.received.is_empty(),
            Role::Proxy => !traced.received.is_empty() && !traced.sent.is_empty(),
            Role::Server => traced.sent.is_empty(),
        });
        let seen = seen.unwrap_or_else(|| panic!("no thread is the {:?}: {threads:?}", role.role));
        assert_eq!(
            (&seen.sent, &seen.received),
            (&role.writes.by_bytes, &role.reads.by_bytes),
            "{:?}",
            role.role
        );
        let passed = role.reads.total().max(role.writes.total());
        assert_eq!(passed, Bytes(TOTAL_BYTES), "{:?}", role.role);
    }
}

#[test]
fn counts_of_client_and_server_are_those_that_strace_sees() {
    for buffer_bytes in [4096, 48] {
        let Some((point, threads)) = traced_point("both", buffer_bytes) else { return };
        assert_seen(&point, &threads);
    }
}

#[test]
fn counts_of_client_proxy_and_server_are_those_that_strace_sees() {
    let Some((point, threads)) = traced_point("all-3", 256) else { return };
    assert_seen(&point, &threads);
}
