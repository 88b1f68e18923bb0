//! Folders on file systems made for one try each: images on loop devices, memory, one layered over another, and one that a
//! slow process serves.

use narrows_lab::device_under;
use narrows_lab::mounts::unmount_below;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Sparse: only what a check writes takes space.
const IMAGE_BYTES: u64 = 6 << 30;
/// Has room for the files of a check, and leaves the rest of a machine of 8 GiB alone.
const MEMORY_SIZE: &str = "size=3g";

/// What serves a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BehindFolder {
    /// The block device below it, or the CPU time that its data takes on the way.
    Device,
    /// Nothing but CPU time.
    Memory,
    /// A process that lets no more than [`DAEMON_RATE`] pass.
    SlowDaemon,
}

/// Far below what a disk or the CPU takes.
const DAEMON_RATE: [&str; 2] = ["--read-rate=2M", "--write-rate=2M"];

/// A file system on which a folder is checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FolderKind {
    pub name: &'static str,
    pub behind: BehindFolder,
    mount: fn(&Path) -> Result<PathBuf, String>,
}

/// All of them.
pub(crate) const FOLDERS: [FolderKind; 7] = [
    FolderKind { name: "plain folder", behind: BehindFolder::Device, mount: plain },
    FolderKind {
        name: "ext4 on loop",
        behind: BehindFolder::Device,
        mount: |at| on_loop(at, &["mkfs.ext4", "-q"]),
    },
    FolderKind {
        name: "xfs on loop",
        behind: BehindFolder::Device,
        mount: |at| on_loop(at, &["mkfs.xfs", "-q"]),
    },
    FolderKind {
        name: "btrfs on loop",
        behind: BehindFolder::Device,
        mount: |at| on_loop(at, &["mkfs.btrfs", "-q"]),
    },
    FolderKind { name: "tmpfs", behind: BehindFolder::Memory, mount: in_memory },
    FolderKind { name: "overlay", behind: BehindFolder::Device, mount: layered },
    FolderKind { name: "slow daemon", behind: BehindFolder::SlowDaemon, mount: served },
];

impl FolderKind {
    /// Makes one below `scratch`; why there can be none here.
    pub(crate) fn make(&self, scratch: &Path) -> Result<MountedFolder, String> {
        let root = scratch.join("quickstart");
        fs::create_dir(&root).map_err(|error| error.to_string())?;
        let mut mounted = MountedFolder { path: PathBuf::new(), device: None, root };
        mounted.path = (self.mount)(&mounted.root)?;
        mounted.device = match self.behind {
            BehindFolder::Memory => None,
            _ => Some(device_of(&mounted.root)?),
        };
        Ok(mounted)
    }
}

/// The device by the kernel's name: that of the image in `root`, where there is one, else the one below `root`. What is mounted
/// is not asked, for btrfs and overlay have numbers of their own.
fn device_of(root: &Path) -> Result<String, String> {
    let image = root.join("image");
    if !image.exists() {
        return device_under(root).map(|device| device.name).map_err(|error| error.to_string());
    }
    let output = Command::new("losetup")
        .args(["--noheadings", "--output", "NAME", "--associated"])
        .arg(&image)
        .output();
    let text =
        String::from_utf8_lossy(&output.map_err(|error| format!("losetup: {error}"))?.stdout).into_owned();
    let name = text.trim().strip_prefix("/dev/").filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or_else(|| format!("losetup knows no device of {}: {text}", image.display()))
}

/// A folder to check; unmounted and removed when it is dropped.
#[derive(Debug)]
pub(crate) struct MountedFolder {
    pub path: PathBuf,
    /// The block device behind it, by the kernel's name; `None` without one.
    pub device: Option<String>,
    root: PathBuf,
}

impl Drop for MountedFolder {
    fn drop(&mut self) {
        // Best effort: the lab that ends next unmounts and removes what is left.
        let _ = unmount_below(&self.root);
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn plain(root: &Path) -> Result<PathBuf, String> {
    made(root, "folder")
}

fn on_loop(root: &Path, make: &[&str]) -> Result<PathBuf, String> {
    let image = root.join("image");
    File::create(&image)
        .and_then(|file| file.set_len(IMAGE_BYTES))
        .map_err(|error| format!("{}: {error}", image.display()))?;
    let point = made(root, "mounted")?;
    run(make, &[&image])?;
    run(&["mount", "-o", "loop"], &[&image, &point])?;
    Ok(point)
}

fn in_memory(root: &Path) -> Result<PathBuf, String> {
    let point = made(root, "mounted")?;
    run(&["mount", "-t", "tmpfs", "-o", MEMORY_SIZE, "tmpfs"], &[&point])?;
    Ok(point)
}

fn layered(root: &Path) -> Result<PathBuf, String> {
    let [lower, upper, work] = ["lower", "upper", "work"].map(|name| made(root, name));
    let point = made(root, "mounted")?;
    let layers =
        format!("lowerdir={},upperdir={},workdir={}", lower?.display(), upper?.display(), work?.display());
    run(&["mount", "-t", "overlay", "-o", &layers, "overlay"], &[&point])?;
    Ok(point)
}

fn served(root: &Path) -> Result<PathBuf, String> {
    let (backing, point) = (made(root, "backing")?, made(root, "mounted")?);
    let words = [&["bindfs", "--no-allow-other"], DAEMON_RATE.as_slice()].concat();
    run(&words, &[&backing, &point])?;
    Ok(point)
}

fn made(root: &Path, name: &str) -> Result<PathBuf, String> {
    let folder = root.join(name);
    fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

fn run(words: &[&str], paths: &[&Path]) -> Result<(), String> {
    let Some((program, rest)) = words.split_first() else { return Err("no program".to_owned()) };
    let output = Command::new(program)
        .args(rest)
        .args(paths)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    let words = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{program}: {}", words.trim())) }
}
