//! When a client, a proxy or a server is killed or stalled, what the server received is a whole prefix of what was
//! sent, and those that were not killed see it. A killed proxy is seen as a reset on both sides, never as an end.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use narrows_lab::clock::monotonic_ns;
use narrows_lab::pattern::first_wrong;
use narrows_lab::{LabProcess, labcat_bin, narrows_bin};

/// Longer than any step here takes on a machine that works.
const SOON: Duration = Duration::from_mins(1);

/// Kills of each role in each mode, and as many in a campaign.
const KILLS: u64 = 2;
const CAMPAIGN_KILLS: u64 = 6;

/// More than passes before any kill.
const ENDLESS_BYTES: u64 = 1 << 40;

/// Kills fall within this time after the first bytes.
const WITHIN_NS: u64 = 60_000_000;

/// Looks, a millisecond apart, at whether something has arrived.
const FLOW_LOOKS: u32 = 60_000;

const MODES: [&str; 3] = ["copy", "splice", "uring"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Client,
    Proxy,
    Server,
}

/// A client that runs `labcat tell`, a proxy, and a server that stores what it receives in a file.
struct Path3 {
    client: LabProcess,
    proxy: LabProcess,
    server: LabProcess,
    /// Made for this path alone: what an earlier server kept must not look like what arrives now.
    folder: tempfile::TempDir,
}

fn address_in(line: &str) -> String {
    line.rsplit(' ').next().unwrap().to_owned()
}

impl Path3 {
    fn start(mode: &str, bytes: u64) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        let labcat = || Command::new(labcat_bin().unwrap());
        let mut command = labcat();
        command.args(["keep", "127.0.0.1:0"]).arg(folder.join("kept"));
        let mut server = LabProcess::start("server", folder, command).unwrap();
        let to = address_in(&server.wait_for_line("listening", SOON).unwrap());
        let mut command = Command::new(narrows_bin().unwrap());
        command.args(["proxy", "--listen", "127.0.0.1:0", "--mode", mode, "--buffer", "60KB", "--to", &to]);
        let mut proxy = LabProcess::start("proxy", folder, command).unwrap();
        let through = address_in(&proxy.wait_for_line("listening on", SOON).unwrap());
        let mut command = labcat();
        command.args(["tell", &through, &bytes.to_string()]);
        let client = LabProcess::start("client", folder, command).unwrap();
        Self { client, proxy, server, folder: scratch }
    }

    fn kept(&self) -> PathBuf {
        self.folder.path().join("kept")
    }

    fn kept_bytes(&self) -> u64 {
        fs::metadata(self.kept()).map_or(0, |facts| facts.len())
    }

    /// Waits until something has arrived.
    fn flows(&self) {
        for _ in 0..FLOW_LOOKS {
            if self.kept_bytes() > 0 {
                return;
            }
            pause(1_000_000);
        }
        unreachable!("nothing arrives");
    }

    fn of(&mut self, role: Role) -> &mut LabProcess {
        match role {
            Role::Client => &mut self.client,
            Role::Proxy => &mut self.proxy,
            Role::Server => &mut self.server,
        }
    }

    /// Fails unless what was stored is a prefix of what was sent; returns its length.
    #[track_caller]
    fn assert_prefix(&self) -> u64 {
        let kept = fs::read(self.kept()).unwrap();
        assert_eq!(first_wrong(&kept, 0), None, "of {} bytes", kept.len());
        kept.len() as u64
    }
}

/// Waits on a channel that nobody writes to.
fn pause(ns: u64) {
    let (_open, waits) = std::sync::mpsc::channel::<()>();
    let _ = waits.recv_timeout(Duration::from_nanos(ns));
}

/// A moment within the time for kills, the same at every run of the test.
fn moment_ns(number: u64) -> u64 {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % WITHIN_NS
}

fn kill_and_look(mode: &str, role: Role, number: u64) -> u64 {
    let mut path = Path3::start(mode, ENDLESS_BYTES);
    path.flows();
    pause(moment_ns(number));
    path.of(role).kill9().unwrap();
    // The others of the path end by themselves; a proxy continues with the next connection.
    if role != Role::Client {
        assert!(!path.client.wait(SOON).unwrap().success(), "{mode} {role:?}: the client thinks all arrived");
    }
    if role != Role::Server {
        let ended = path.server.wait(SOON).unwrap();
        // A client that is killed ends its stream as one that is done does; a proxy must not end it for its client.
        assert!(role != Role::Proxy || !ended.success(), "{mode}: the server thinks that all arrived");
    }
    if role != Role::Proxy {
        assert!(path.proxy.is_running(), "{mode} {role:?}: {}", path.proxy.stderr().unwrap());
        assert!(path.proxy.end().unwrap().success());
    }
    path.assert_prefix()
}

#[test]
fn a_kill_of_anyone_leaves_a_whole_prefix_and_the_others_hear_of_it() {
    kill_everyone(KILLS);
}

#[test]
#[ignore = "campaign: fifty-four kills of client, proxy and server"]
fn fifty_four_kills_leave_a_whole_prefix_and_the_others_hear_of_them() {
    kill_everyone(CAMPAIGN_KILLS);
}

#[allow(clippy::print_stdout, reason = "the proof's numbers are what the test is run for")]
fn kill_everyone(kill_count: u64) {
    let started_ns = monotonic_ns();
    let (mut kills, mut bytes) = (0, 0);
    for mode in MODES {
        for role in [Role::Client, Role::Proxy, Role::Server] {
            for _ in 0..kill_count {
                bytes += kill_and_look(mode, role, kills);
                kills += 1;
            }
        }
    }
    let seconds = (monotonic_ns() - started_ns) as f64 / 1e9;
    println!("{kills} kills in {seconds:.1} s: {bytes} bytes arrived, each in its place");
}

#[test]
fn a_server_that_stands_still_stops_the_path_and_loses_nothing() {
    const BYTES: u64 = 64 << 20;
    for mode in MODES {
        let mut path = Path3::start(mode, BYTES);
        path.flows();
        let signal = |name: &str, pid: u32| {
            assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
        };
        for _ in 0..3 {
            signal("-STOP", path.server.pid());
            pause(100_000_000);
            signal("-CONT", path.server.pid());
            signal("-STOP", path.proxy.pid());
            pause(50_000_000);
            signal("-CONT", path.proxy.pid());
        }
        assert!(path.client.wait(SOON).unwrap().success(), "{mode}: {}", path.client.stderr().unwrap());
        assert!(path.server.wait(SOON).unwrap().success());
        assert_eq!(path.assert_prefix(), BYTES, "{mode}");
    }
}
