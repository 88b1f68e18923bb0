//! The sockets that processes have open, by their inodes.

use std::collections::BTreeSet;

use crate::root::Root;

/// Inodes of the sockets that these processes have open; of processes of other users root alone sees them.
///
/// # Cost
/// Reads the open files of these processes.
#[must_use]
pub fn socket_inodes(root: &Root, pids: &[u32]) -> BTreeSet<u32> {
    pids.iter().flat_map(|pid| of_process(root, *pid)).collect()
}

/// Inodes of the sockets of all processes: any other one is the kernel's own, as far as this user can see.
///
/// # Cost
/// Reads the open files of all processes.
#[must_use]
pub fn all_socket_inodes(root: &Root) -> BTreeSet<u32> {
    let names = root.names("/proc").unwrap_or_default();
    let pids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    socket_inodes(root, &pids)
}

fn of_process(root: &Root, pid: u32) -> Vec<u32> {
    let folder = format!("/proc/{pid}/fd");
    let descriptors = root.names(&folder).unwrap_or_default();
    let inode = |descriptor: &String| {
        let target = std::fs::read_link(root.locate(&format!("{folder}/{descriptor}"))).ok()?;
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    descriptors.iter().filter_map(inode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_found_among_the_open_files_of_the_processes_that_are_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        for (pid, links) in
            [(5, ["socket:[71]", "/dev/null", "pipe:[9]"]), (6, ["socket:[72]", "socket:[x]", "x"])]
        {
            let open = folder.path().join(format!("proc/{pid}/fd"));
            std::fs::create_dir_all(&open).unwrap();
            for (number, target) in links.iter().enumerate() {
                std::os::unix::fs::symlink(target, open.join(number.to_string())).unwrap();
            }
        }
        let root = Root::at(folder.path());
        assert_eq!(socket_inodes(&root, &[5, 99]), BTreeSet::from([71]));
        assert_eq!(all_socket_inodes(&root), BTreeSet::from([71, 72]));
    }
}
