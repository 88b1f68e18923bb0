//! Killed at any moment, a check leaves no record yet or one that can be read; and so when its server is killed.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use crate::robust::{Mounted, SHORT, narrows, see};
use crate::support::{SOON, lab};
use narrows_lab::Lab;
use narrows_lab::clock::monotonic_ns;

/// Kills of the check and of its server, and as many in a campaign.
const KILLS: u32 = 15;
const SERVER_KILLS: u32 = 5;
const CAMPAIGN_KILLS: u32 = 50;
const CAMPAIGN_SERVER_KILLS: u32 = 12;
/// All kills of one test together take no longer.
const KILLED_WITHIN: Duration = Duration::from_secs(75);
const SEED: u64 = 20_261_121;

/// Before this a record comes to be; every fifth kill falls there.
const BEGINNING_NS: u64 = 12_000_000;

/// Moments between 0 and `length_ns`, the same at every run of the test.
struct Moments {
    state: u64,
    drawn: u32,
    length_ns: u64,
}

impl Moments {
    fn next(&mut self) -> Duration {
        // splitmix64: https://prng.di.unimi.it/splitmix64.c
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.drawn += 1;
        let length_ns = if self.drawn.is_multiple_of(5) { BEGINNING_NS } else { self.length_ns };
        Duration::from_nanos((mixed ^ (mixed >> 31)) % length_ns.max(1))
    }
}

/// What a kill left.
#[derive(Debug, Default)]
struct Left {
    ended_before: u32,
    no_record: u32,
    broken_off: u32,
    whole: u32,
}

impl Left {
    /// Fails unless `record` is not there yet or can be read.
    #[track_caller]
    fn count(&mut self, lab: &Lab, record: &Path) {
        let seen = see(&mut narrows(lab, &["diagnose", record.to_str().unwrap()]));
        match seen.code {
            Some(2) if !record.exists() => self.no_record += 1,
            // 3: it was killed before anything was measured.
            Some(3 | 4) => self.broken_off += 1,
            Some(0) => self.whole += 1,
            _ => panic!("{seen:#?}"),
        }
        assert!(!seen.stderr.contains("panicked"), "{}", seen.stderr);
    }

    #[allow(clippy::print_stdout, reason = "the proof's numbers are what the test is run for")]
    fn tell(&self, what: &str, length_ns: u64, took_ns: u64) {
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        println!(
            "{what}: seed {SEED}, a run lasts {:.2} s, all kills {:.1} s: {self:?}",
            seconds(length_ns),
            seconds(took_ns)
        );
        assert!(took_ns < u64::try_from(KILLED_WITHIN.as_nanos()).unwrap(), "{:.1} s", seconds(took_ns));
    }
}

/// Removes what a killed check left in `folder`, and fails if anything else is there.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name != "lost+found" {
            assert!(name.starts_with(".narrows-"), "{name} is nobody's");
            fs::remove_dir_all(path).unwrap();
        }
    }
}

#[test]
fn a_check_killed_at_any_moment_leaves_no_record_or_one_that_can_be_read() {
    kill_checks(KILLS);
}

#[test]
#[ignore = "campaign: fifty kills of a check"]
fn a_check_killed_at_fifty_moments_leaves_no_record_or_one_that_can_be_read() {
    kill_checks(CAMPAIGN_KILLS);
}

fn kill_checks(kill_count: u32) {
    let Some(lab) = lab() else { return };
    let disk = Mounted::ext4(&lab, "disk", 64, "rw");
    let command = |record: &str| {
        let target = disk.path().to_str().unwrap();
        narrows(&lab, &[&["check", target, "--out", record], &SHORT[..]].concat())
    };
    let began_ns = monotonic_ns();
    lab.start("whole", command("whole")).unwrap().wait(SOON).unwrap();
    let length_ns = monotonic_ns() - began_ns;
    let mut moments = Moments { state: SEED, drawn: 0, length_ns };
    let mut left = Left::default();
    let began_ns = monotonic_ns();
    for index in 0..kill_count {
        let name = format!("killed{index}");
        let started_ns = monotonic_ns();
        let mut running = lab.start(&name, command(&name)).unwrap();
        // It may end by itself before the moment, or between the moment and the kill.
        if running.wait(moments.next()).is_ok() || running.kill9().unwrap().signal() != Some(9) {
            left.ended_before += 1;
            // The first run was slower than this one: later moments are drawn from what a run lasts now.
            moments.length_ns = moments.length_ns.min(monotonic_ns() - started_ns);
        }
        left.count(&lab, &lab.scratch().join(&name));
        sweep(disk.path());
    }
    left.tell("check", length_ns, monotonic_ns() - began_ns);
    assert_eq!(left.no_record + left.broken_off + left.whole, kill_count);
    assert!(left.broken_off >= kill_count / 2, "the kills meet running checks: {left:?}");
}

#[test]
fn a_check_whose_server_is_killed_at_any_moment_ends_with_what_it_has() {
    kill_servers(SERVER_KILLS);
}

#[test]
#[ignore = "campaign: twelve kills of a check's server"]
fn a_check_whose_server_is_killed_at_twelve_moments_ends_with_what_it_has() {
    kill_servers(CAMPAIGN_SERVER_KILLS);
}

fn kill_servers(kill_count: u32) {
    let Some(lab) = lab() else { return };
    let disk = Mounted::ext4(&lab, "disk", 64, "rw");
    let root = disk.path().to_str().unwrap();
    let serve = |name: &str| {
        let command = narrows(&lab, &["serve", "--listen", "127.0.0.1:0", "--root", root]);
        let mut process = lab.start(name, command).unwrap();
        let line = process.wait_for_line("listening on ", SOON).unwrap();
        (process, format!("tcp://{}/disk", line.strip_prefix("listening on ").unwrap()))
    };
    let check = |target: &str, record: &str| {
        lab.start(record, narrows(&lab, &[&["check", target, "--out", record], &SHORT[..]].concat())).unwrap()
    };
    let began_ns = monotonic_ns();
    let (server, target) = serve("serve");
    check(&target, "whole").wait(SOON).unwrap();
    let length_ns = monotonic_ns() - began_ns;
    drop(server);
    let mut moments = Moments { state: SEED, drawn: 0, length_ns };
    let mut left = Left::default();
    let began_ns = monotonic_ns();
    for index in 0..kill_count {
        let (mut server, target) = serve(&format!("serve{index}"));
        let record = format!("orphan{index}");
        let mut running = check(&target, &record);
        if running.wait(moments.next()).is_ok() {
            left.ended_before += 1;
        }
        server.kill9().unwrap();
        let code = running.wait(SOON).unwrap().code();
        let stderr = running.stderr().unwrap();
        // Before anything was measured it could not run; afterwards it is not to be trusted.
        assert!(matches!(code, Some(0 | 3 | 4)), "{code:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        left.count(&lab, &lab.scratch().join(&record));
        sweep(disk.path());
    }
    left.tell("serve", length_ns, monotonic_ns() - began_ns);
}
