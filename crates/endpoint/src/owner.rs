//! The owner of a session's folder: the marker names the process that made it, and shows later whether it still runs.
//!
//! Folders of processes that are gone are named to who starts a server, never removed here: on shared storage they
//! may belong to another machine.

use crate::store::PREFIX;
use narrows_sys::file::{OpenMode, open_beneath, pread};
use narrows_sys::process::started_ticks;
use rustix::fs::Dir;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// First line of a marker.
const MARKER_LINE: &str = "narrows serve made this folder and removes it when its session ends.";

/// Words of its second line, in order: process, its start, the boot of its machine, the machine's name.
const MARKER_LABELS: [&str; 4] = ["process ", " started at tick ", " in boot ", " on "];

/// Name of the file that marks a folder as made by a server.
pub(crate) const MARKER: &str = "made-by-narrows-serve";
/// A marker is shorter.
const MARKER_BYTES_MAX: usize = 1024;

/// Folders that servers which were killed have left below the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServeNotice {
    /// The folders.
    pub folders: Vec<PathBuf>,
}

impl fmt::Display for ServeNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "narrows serve: a server that was killed left data behind; remove it with: rm -r")?;
        self.folders.iter().try_for_each(|folder| write!(f, " {}", quoted(&folder.display().to_string())))
    }
}

/// What a process is known by, beyond its number.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnerProcess {
    pid: u32,
    started_ticks: u64,
    boot_id: String,
    hostname: String,
}

impl OwnerProcess {
    fn current() -> Self {
        let pid = std::process::id();
        let kernel = |name: &str| {
            fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default().trim().to_owned()
        };
        Self {
            pid,
            started_ticks: started_ticks(pid).unwrap_or(0),
            boot_id: kernel("random/boot_id"),
            hostname: kernel("hostname"),
        }
    }

    fn parse(marker: &str) -> Option<Self> {
        let line = marker.strip_prefix(MARKER_LINE)?.trim().strip_prefix(MARKER_LABELS[0])?;
        let (pid, line) = line.split_once(MARKER_LABELS[1])?;
        let (started, line) = line.split_once(MARKER_LABELS[2])?;
        let (boot_id, hostname) = line.split_once(MARKER_LABELS[3])?;
        Some(Self {
            pid: pid.parse().ok()?,
            started_ticks: started.parse().ok()?,
            boot_id: boot_id.to_owned(),
            hostname: hostname.to_owned(),
        })
    }

    /// Whether the process ran on the machine of `here` and has ended; unknown counts as not gone.
    fn is_gone(&self, here: &Self) -> bool {
        if self.boot_id == here.boot_id {
            started_ticks(self.pid) != Some(self.started_ticks)
        } else {
            self.hostname == here.hostname
        }
    }
}

impl fmt::Display for OwnerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [process, started, boot, on] = MARKER_LABELS;
        let Self { pid, started_ticks, boot_id, hostname } = self;
        write!(f, "{process}{pid}{started}{started_ticks}{boot}{boot_id}{on}{hostname}")
    }
}

/// What a marker of this process says.
pub(crate) fn marker() -> String {
    format!("{MARKER_LINE}\n{}\n", OwnerProcess::current())
}

/// The folders below `root` whose server is gone; `None` without any.
pub(crate) fn find_leftovers(root: &File, path: &Path) -> Option<ServeNotice> {
    let here = OwnerProcess::current();
    // A root that cannot be listed shows nothing, and opening a session in it reports why.
    let entries = Dir::read_from(root).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
    let mut folders: Vec<PathBuf> = names
        .filter(|name| name.starts_with(PREFIX))
        .filter(|name| read_owner(root, name).is_some_and(|owner| owner.is_gone(&here)))
        .map(|name| path.join(name))
        .collect();
    folders.sort();
    (!folders.is_empty()).then_some(ServeNotice { folders })
}

fn read_owner(root: &File, name: &str) -> Option<OwnerProcess> {
    let marker = open_beneath(root, &Path::new(name).join(MARKER), OpenMode::default(), 0).ok()?;
    let mut bytes = [0; MARKER_BYTES_MAX];
    let length = pread(&marker, &mut bytes, 0).ok()?.done_bytes();
    OwnerProcess::parse(std::str::from_utf8(&bytes[..length]).ok()?)
}

/// `text` as one word of a shell. A path of ours is absolute, so that it cannot be taken for an option.
fn quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+,:@%=".contains(letter);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, name: &str, owner: &OwnerProcess) {
        fs::create_dir(root.join(name)).unwrap();
        fs::write(root.join(name).join(MARKER), format!("{MARKER_LINE}\n{owner}\n")).unwrap();
    }

    #[test]
    fn only_folders_of_processes_that_are_gone_are_named() {
        let place = tempfile::tempdir().unwrap();
        let own = OwnerProcess::current();
        put(place.path(), ".narrows-alive", &own);
        put(place.path(), ".narrows-other start", &OwnerProcess { started_ticks: 0, ..own.clone() });
        put(place.path(), ".narrows-rebooted", &OwnerProcess { boot_id: "before".into(), ..own.clone() });
        let elsewhere = OwnerProcess { boot_id: "its".into(), hostname: "other".into(), ..own.clone() };
        put(place.path(), ".narrows-elsewhere", &elsewhere);
        put(place.path(), "narrows-other-name", &OwnerProcess { started_ticks: 0, ..own });
        fs::create_dir(place.path().join(".narrows-unmarked")).unwrap();
        fs::write(place.path().join(".narrows-file"), "x").unwrap();
        let notice = find_leftovers(&File::open(place.path()).unwrap(), Path::new("/r")).unwrap();
        assert_eq!(
            notice.to_string().split_once(": rm -r ").unwrap().1,
            "'/r/.narrows-other start' /r/.narrows-rebooted"
        );
    }

    #[test]
    fn a_root_with_nothing_left_has_no_notice() {
        let place = tempfile::tempdir().unwrap();
        put(place.path(), ".narrows-alive", &OwnerProcess::parse(&marker()).unwrap());
        assert_eq!(find_leftovers(&File::open(place.path()).unwrap(), place.path()), None);
    }
}
