//! What the lab's own tests share: when they are skipped, and transfers between hosts.

#![allow(dead_code, reason = "each test binary uses its part of it")]

pub(crate) mod apart;
pub(crate) mod check;
pub(crate) mod ledger;

use std::time::Duration;

use narrows_lab::{Host, Lab, Process, labcat_bin};

/// Longer than any step here takes on a machine that works.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// A lab; or nothing, with the reason printed, where there can be none and nobody insists (`CI=true` does).
pub(crate) fn lab() -> Option<Lab> {
    lab_where(narrows_lab::available())
}

/// A lab that can have disks with a delay; or nothing, as [`lab`].
pub(crate) fn lab_with_disks() -> Option<Lab> {
    lab_where(narrows_lab::disks_available())
}

#[allow(clippy::print_stdout, reason = "the reason of a skipped test must be seen")]
#[allow(clippy::disallowed_methods, reason = "whether a skip is a failure is the environment's to say")]
fn lab_where(available: Result<(), String>) -> Option<Lab> {
    match available {
        Ok(()) => Some(Lab::new().unwrap()),
        Err(reason) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "lab: not run: {reason}");
            println!("lab: not run: {reason}");
            None
        }
    }
}

/// Starts `labcat ROLE` listening on a host; it and the address it listens on.
pub(crate) fn listen(lab: &Lab, host: &Host, role: &str) -> (Process, String) {
    let mut command = host.command(labcat_bin().unwrap());
    command.args([role, &format!("{}:0", host.address())]);
    let mut process = lab.start(role, command).unwrap();
    let line = process.wait_for_line("listening", SOON).unwrap();
    let address = line.strip_prefix("listening ").unwrap().to_owned();
    (process, address)
}

/// Sends bytes from one host to another; the rate that the receiver saw, in bytes per second.
pub(crate) fn transfer_bytes_per_s(lab: &Lab, from: &Host, to: &Host, bytes: u64) -> f64 {
    let (mut receiver, address) = listen(lab, to, "receive");
    let mut command = from.command(labcat_bin().unwrap());
    command.args(["send", &address, &bytes.to_string()]);
    let mut sender = lab.start("send", command).unwrap();
    assert!(sender.wait(SOON).unwrap().success(), "{}", sender.stderr().unwrap());
    let line = receiver.wait_for_line("received", SOON).unwrap();
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(words[1], bytes.to_string(), "all bytes arrive");
    bytes as f64 / (words[3].parse::<f64>().unwrap() / 1e9)
}

/// Round trips of a 64-byte message between two hosts, shortest first, in nanoseconds.
pub(crate) fn round_trips_ns(lab: &Lab, from: &Host, to: &Host, count: u32) -> Vec<u64> {
    let (_echo, address) = listen(lab, to, "echo");
    let mut command = from.command(labcat_bin().unwrap());
    command.args(["rtt", &address, &count.to_string()]);
    let mut client = lab.start("rtt", command).unwrap();
    assert!(client.wait(SOON).unwrap().success(), "{}", client.stderr().unwrap());
    let mut trips: Vec<u64> = client.stdout().unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(trips.len(), count as usize);
    trips.sort_unstable();
    trips
}
