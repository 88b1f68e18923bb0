//! The process that serves a FUSE mount.

use crate::root::Root;

/// The device through which a daemon talks with the kernel.
const FUSE_DEVICE: &str = "/dev/fuse";

/// The process id of the daemon that serves the mount with this device number (`MAJOR:MINOR`); `None` where none is found, or
/// it is not known which one of several it is.
///
/// The kernel names the connection of an open `/dev/fuse` in `fdinfo`, which is the minor number of its mount; where it does
/// not, the only process that has the device open is the daemon. Processes of other users are seen by root alone.
///
/// # Cost
/// Reads the open files of all processes.
#[must_use]
pub fn fuse_daemon(root: &Root, device: &str) -> Option<u32> {
    let connection: u64 = device.split_once(':')?.1.parse().ok()?;
    let mut pids: Vec<u32> = root.names("/proc").ok()?.iter().filter_map(|name| name.parse().ok()).collect();
    pids.sort_unstable();
    let open: Vec<(u32, Option<u64>)> = pids.into_iter().flat_map(|pid| connections(root, pid)).collect();
    // A daemon that forked has its parent's descriptors: the oldest one is the daemon.
    let named = open.iter().find(|(_, of)| *of == Some(connection));
    let unnamed = || {
        let (first, _) = open.first()?;
        open.iter().all(|(pid, of)| pid == first && of.is_none()).then_some(*first)
    };
    named.map(|(pid, _)| *pid).or_else(unnamed)
}

/// The connections that a process has open, with their numbers where the kernel names them.
fn connections(root: &Root, pid: u32) -> Vec<(u32, Option<u64>)> {
    let folder = format!("/proc/{pid}/fd");
    let descriptors = root.names(&folder).unwrap_or_default();
    let is_fuse = |descriptor: &String| {
        let target = std::fs::read_link(root.locate(&format!("{folder}/{descriptor}")));
        target.is_ok_and(|target| target == std::path::Path::new(FUSE_DEVICE))
    };
    let number = |descriptor: &String| {
        let text = root.text(&format!("/proc/{pid}/fdinfo/{descriptor}")).ok()?;
        let value = text.lines().find_map(|line| line.strip_prefix("fuse_connection:"))?;
        value.trim().parse().ok()
    };
    descriptors.iter().filter(|one| is_fuse(one)).map(|descriptor| (pid, number(descriptor))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(open: &[(u32, &str, Option<u64>)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        for (pid, target, connection) in open {
            let process = folder.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(process.join("fd")).unwrap();
            std::fs::create_dir_all(process.join("fdinfo")).unwrap();
            std::os::unix::fs::symlink(target, process.join("fd/4")).unwrap();
            let named = connection.map_or_else(String::new, |number| format!("fuse_connection:\t{number}\n"));
            std::fs::write(process.join("fdinfo/4"), format!("pos:\t0\n{named}")).unwrap();
        }
        folder
    }

    fn found(open: &[(u32, &str, Option<u64>)], device: &str) -> Option<u32> {
        fuse_daemon(&Root::at(tree(open).path()), device)
    }

    #[test]
    fn the_daemon_is_the_process_with_the_connection_of_the_mount() {
        let open = [(5, FUSE_DEVICE, Some(38)), (6, FUSE_DEVICE, Some(39)), (7, "/dev/null", None)];
        assert_eq!(found(&open, "0:39"), Some(6));
        assert_eq!(found(&open, "0:40"), None, "another mount's daemon is not taken for it");
    }

    #[test]
    fn where_the_kernel_names_no_connection_the_only_daemon_is_it_and_of_two_none() {
        assert_eq!(found(&[(5, FUSE_DEVICE, None), (6, "/dev/null", None)], "0:39"), Some(5));
        assert_eq!(found(&[(5, FUSE_DEVICE, None), (6, FUSE_DEVICE, None)], "0:39"), None);
    }

    #[test]
    fn no_daemon_and_no_device_number_are_none() {
        assert_eq!(found(&[], "0:39"), None);
        assert_eq!(found(&[(5, FUSE_DEVICE, Some(39))], "39"), None);
    }
}
