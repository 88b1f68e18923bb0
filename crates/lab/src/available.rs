//! Finds out whether a lab can run on this machine, and if not, why, by trying the rarest of what it needs.
//!
//! It leaves nothing behind, and it does not decide what a test does about the answer.

use std::path::Path;
use std::sync::OnceLock;

use crate::cgroup::Cgroup;
use crate::error::Result;
use crate::tool::{ip, run, tc};

const PROGRAMS: [(&str, &str); 5] = [
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("nsenter", "util-linux"),
    ("taskset", "util-linux"),
    ("sh", "dash or bash"),
];

const DISK_PROGRAMS: [(&str, &str); 5] = [
    ("losetup", "mount"),
    ("mount", "mount"),
    ("mkfs.ext4", "e2fsprogs"),
    ("blockdev", "util-linux"),
    ("bindfs", "bindfs"),
];

/// Nothing, or in one sentence what this machine lacks for a [`crate::Lab`]; tried once a process.
///
/// # Errors
/// The reason, for people.
pub fn available() -> std::result::Result<(), String> {
    static ANSWER: OnceLock<std::result::Result<(), String>> = OnceLock::new();
    ANSWER.get_or_init(look).clone()
}

/// Nothing, or in one sentence what this machine lacks for [`crate::Lab::disks`]; tried once a process.
///
/// # Errors
/// The reason, for people; that there can be no [`crate::Lab`] is one.
pub fn disks_available() -> std::result::Result<(), String> {
    static ANSWER: OnceLock<std::result::Result<(), String>> = OnceLock::new();
    ANSWER.get_or_init(|| available().and_then(|()| look_for_disks())).clone()
}

fn look_for_disks() -> std::result::Result<(), String> {
    check_programs(&DISK_PROGRAMS)?;
    // Opened, not looked for: the file may be there without its driver.
    let fuse = std::fs::File::options().read(true).write(true).open("/dev/fuse");
    fuse.map_err(|error| format!("/dev/fuse cannot be opened: disks with a delay need FUSE ({error})"))?;
    run("losetup", &["--find"]).map_err(|error| format!("there is no free loop device: {error}"))?;
    Ok(())
}

fn check_programs(programs: &[(&str, &str)]) -> std::result::Result<(), String> {
    for (program, package) in programs {
        if !is_on_path(program) {
            return Err(format!("the program {program} is missing (Debian package {package})"));
        }
    }
    Ok(())
}

fn look() -> std::result::Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("not root: network namespaces and cgroups need it (run it with sudo)".to_owned());
    }
    check_programs(&PROGRAMS)?;
    if !Path::new("/dev/net/tun").exists() {
        return Err("/dev/net/tun is missing: the delay wire needs TAP devices".to_owned());
    }
    let name = format!("nlt{}", std::process::id());
    let links = try_links(&name);
    let _left = ip(&["netns", "del", &name]);
    links.map_err(|error| format!("network namespaces, veth or tbf are refused: {error}"))?;
    let tried = Cgroup::make(&name).and_then(|cgroup| cgroup.remove());
    tried.map_err(|error| format!("cgroups are refused: {error}"))
}

/// A namespace, and inside of it, where it disturbs nobody, a link with a rate.
fn try_links(name: &str) -> Result<()> {
    ip(&["netns", "add", name])?;
    ip(&["-n", name, "link", "add", "name", "b0", "type", "bridge"])?;
    ip(&["-n", name, "link", "add", "name", "v0", "type", "veth", "peer", "name", "v1"])?;
    let limit = ["root", "tbf", "rate", "1mbit", "burst", "256kb", "latency", "50ms"];
    tc(&[&["-n", name, "qdisc", "add", "dev", "v0"][..], &limit].concat()).map(drop)
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::is_on_path;

    #[test]
    fn programs_are_found_on_the_path_only() {
        assert!(is_on_path("sh"));
        assert!(!is_on_path("narrows-no-such-tool"));
    }
}
