//! Nothing of a lab is left after it: not after closing, not after a panic, not after a killed process.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::lab;
use narrows_lab::{CpuQuota, Lab};

/// Makes one of everything and leaves a process that nobody guards in it; its id, and where things were.
fn furnish(lab: &Lab) -> (u32, Vec<PathBuf>) {
    let (first, second) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    first.limit_rate("100mbit").unwrap();
    second.delay(1000).unwrap();
    let cgroup = lab.cgroup("left").unwrap();
    cgroup.limit_cpu(CpuQuota { cpus: 0.5 }).unwrap();
    fs::write(lab.scratch().join("file"), "data").unwrap();
    let mut places: Vec<PathBuf> = cgroup.folders().into_iter().map(Path::to_owned).collect();
    places.push(lab.scratch().to_owned());
    places.extend([first.netns(), second.netns()].map(|name| Path::new("/run/netns").join(name)));
    let links = [first.outside_interface().to_owned(), second.outside_interface().to_owned()];
    places.extend(links.iter().map(|name| Path::new("/sys/class/net").join(name)));
    places.push(Path::new("/sys/class/net").join(format!("{}b", lab.prefix())));
    assert!(places.iter().all(|place| place.exists()), "all was made: {places:?}");
    (leave_process(lab, &cgroup), places)
}

/// A process that outlives the shell that started it, inside host 1 and the cgroup.
fn leave_process(lab: &Lab, cgroup: &narrows_lab::Cgroup) -> u32 {
    let mut command = lab.host(1).unwrap().command("sh");
    command.args(["-c", "sleep 1000 & echo pid $!"]);
    cgroup.enter(&mut command);
    let mut shell = lab.start("leaver", command).unwrap();
    let line = shell.wait_for_line("pid", crate::support::SOON).unwrap();
    line.strip_prefix("pid ").unwrap().parse().unwrap()
}

fn assert_all_gone(prefix: &str, pid: u32, places: &[PathBuf]) {
    let left: Vec<_> = places.iter().filter(|place| place.exists()).collect();
    assert!(left.is_empty(), "left: {left:?}");
    for listing in [["link", "show"], ["netns", "list"]] {
        let output = Command::new("ip").args(listing).output().unwrap();
        assert!(
            !String::from_utf8_lossy(&output.stdout).contains(prefix),
            "ip {listing:?} still shows {prefix}"
        );
    }
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "still running: {stat}");
}

#[test]
fn closing_removes_everything_and_ends_what_was_left_running() {
    let Some(lab) = lab() else { return };
    let prefix = lab.prefix().to_owned();
    let (pid, places) = furnish(&lab);
    lab.close().unwrap();
    assert_all_gone(&prefix, pid, &places);
}

#[test]
fn a_panic_in_a_test_leaves_nothing_either() {
    let Some(lab) = lab() else { return };
    let prefix = lab.prefix().to_owned();
    let mut made = None;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let lab = lab;
        made = Some(furnish(&lab));
        panic!("as a failing assertion does");
    }));
    assert!(panicked.is_err());
    let (pid, places) = made.unwrap();
    assert_all_gone(&prefix, pid, &places);
}

#[test]
fn a_wire_leaves_no_process_behind_when_it_is_swapped() {
    let Some(lab) = lab() else { return };
    let host = lab.host(1).unwrap();
    host.delay(100).unwrap();
    let wires = |lab: &Lab| {
        let marked = |pid: &fs::DirEntry| {
            let words = fs::read(pid.path().join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).into_owned();
            words.contains("delaywire") && words.contains(lab.prefix())
        };
        fs::read_dir("/proc").unwrap().flatten().filter(marked).count()
    };
    assert_eq!(wires(&lab), 1);
    host.delay(200).unwrap();
    assert_eq!(wires(&lab), 1);
    host.delay(0).unwrap();
    assert_eq!(wires(&lab), 0);
}

#[test]
fn what_a_killed_lab_left_is_removed_by_the_next_on_its_subnet() {
    let Some(lab) = lab() else { return };
    let subnet = lab.address().octets()[2];
    drop(lab);
    // As a lab of process 1 (never a lab's) on this subnet would have named it, had it been killed.
    let (link, namespace) = (format!("nl{subnet}-1b"), format!("nl{subnet}-1h1"));
    let address = format!("10.77.{subnet}.1/24");
    for words in [
        vec!["link", "add", &link, "type", "bridge"],
        vec!["addr", "add", &address, "dev", &link],
        vec!["netns", "add", &namespace],
    ] {
        assert!(Command::new("ip").args(&words).status().unwrap().success(), "ip {words:?}");
    }
    let next = Lab::new().unwrap();
    assert_eq!(next.address().octets()[2], subnet, "the search begins at the same place");
    assert!(!Path::new("/sys/class/net").join(&link).exists());
    assert!(!Path::new("/run/netns").join(&namespace).exists());
}
