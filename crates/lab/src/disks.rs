//! Disks whose delays the lab sets: file systems on loop devices on files that answer late.
//!
//! The data is in memory, so that the machine's own disk does not affect them. They end with their [`crate::Lab`];
//! nothing but block requests is delayed, and no request fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::error::{Error, LabErrorKind, Result};
use crate::locate::delaydisk_bin;
use crate::mounts::unmount_below;
use crate::process::LabProcess;
use crate::tool;

/// More disks than any test loads together.
const COUNT_MAX: u8 = 16;
/// Mounting is a call; a machine that works takes milliseconds.
const MOUNT_TIMEOUT: Duration = Duration::from_secs(10);

/// What disks are made like, all of them alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskPlan {
    /// How many disks, 1 to 16.
    pub count: u8,
    /// Size of each in MiB; only what is written takes memory.
    pub mebibytes: u64,
    /// How long a read takes, in microseconds.
    pub read_us: u64,
    /// How long a write takes, in microseconds. Written data is volatile until a flush, as far as can be observed.
    pub write_us: u64,
    /// How long a flush of the disk's cache takes, in microseconds.
    pub flush_us: u64,
    /// How many requests each disk serves at a time; 1 at least.
    pub at_once: u32,
    /// What all disks together move, in bytes a second: the bus that they share.
    pub shared_bytes_per_s: Option<u64>,
    /// How far the kernel reads ahead of what is asked for, in KiB. Set on each disk, since a loop device keeps what its
    /// last user set.
    pub read_ahead_kib: u32,
}

impl DiskPlan {
    /// One disk of 512 MiB without delays that serves 64 requests at a time, read ahead as Linux does.
    pub const PLAIN: Self = Self {
        count: 1,
        mebibytes: 512,
        read_us: 0,
        write_us: 0,
        flush_us: 0,
        at_once: 64,
        shared_bytes_per_s: None,
        read_ahead_kib: 128,
    };
}

/// Disks of one [`DiskPlan`], each with an ext4; a cheap handle that stays valid as long as its [`crate::Lab`].
#[derive(Debug, Clone)]
pub struct LabDisks {
    folder: PathBuf,
    server: Arc<Mutex<Option<LabProcess>>>,
}

impl LabDisks {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, server: Arc::default() }
    }

    /// Where a disk's file system is mounted; disks are numbered from 0.
    #[must_use]
    pub fn path(&self, index: u8) -> PathBuf {
        self.folder.join(format!("disk{index}"))
    }

    /// Makes them; what was made before a failure is [`LabDisks::remove`]'s.
    pub(crate) fn make(&self, name: &str, logs: &Path, plan: &DiskPlan) -> Result<()> {
        if plan.count == 0 || plan.count > COUNT_MAX || plan.at_once == 0 {
            let allowed = format!("1 to {COUNT_MAX} disks that serve one request at a time or more");
            return Err(Error::new(LabErrorKind::Invalid, "make disks", name, allowed));
        }
        for inner in ["images", "slow"] {
            make_folder(&self.folder.join(inner))?;
        }
        let size = format!("size={}m,mode=700", u64::from(plan.count) * plan.mebibytes);
        mount(&["-t", "tmpfs", "-o", &size, "tmpfs"], &self.folder.join("images"))?;
        for index in 0..plan.count {
            make_image(&self.image("images", index), plan.mebibytes)?;
        }
        let mut server = LabProcess::start(&format!("disks-{name}"), logs, self.server_command(plan)?)?;
        let ready = server.wait_for_line("ready", MOUNT_TIMEOUT);
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(server);
        ready?;
        (0..plan.count).try_for_each(|index| self.attach(index, plan))
    }

    /// Makes a loop device of an image as it is behind the delays, and mounts it.
    fn attach(&self, index: u8, plan: &DiskPlan) -> Result<()> {
        // Direct: requests reach the file as they come, many at a time, and past the page cache.
        let image = self.image("slow", index);
        let words = ["--find", "--show", "--direct-io=on", &image.to_string_lossy()];
        let device = tool::run("losetup", &words)?;
        let device = device.trim();
        let point = self.path(index);
        let mounted = set_read_ahead(device, plan.read_ahead_kib)
            .and_then(|()| make_folder(&point))
            .and_then(|()| mount(&[device], &point));
        // From now on the device is gone with its last user, which is the mount, or nobody where that failed.
        let detached = tool::run("losetup", &["--detach", device]).map(drop);
        mounted.and(detached)
    }

    fn image(&self, folder: &str, index: u8) -> PathBuf {
        // Two digits keep the order of names that of numbers.
        self.folder.join(folder).join(format!("disk{index:02}"))
    }

    fn server_command(&self, plan: &DiskPlan) -> Result<Command> {
        let mut command = Command::new(delaydisk_bin()?);
        command.arg(&self.folder);
        let rate = plan.shared_bytes_per_s.unwrap_or(0);
        let numbers = [plan.read_us, plan.write_us, plan.flush_us, u64::from(plan.at_once), rate];
        command.args(numbers.map(|number| number.to_string()));
        Ok(command)
    }

    /// Unmounts them while they are still served, so that nothing that is flushed then is lost, and ends their server.
    pub(crate) fn remove(&self) -> Result<()> {
        let unmounted = unmount_below(&self.folder);
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ended = server.map_or(Ok(()), |mut server| server.end().map(drop));
        // A server that had died left a dead mount, and may have come in the way of the first try.
        unmounted.or_else(|_| unmount_below(&self.folder)).and(ended)
    }
}

fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|source| Error::os("create", folder.display().to_string(), source))
}

fn mount(words: &[&str], point: &Path) -> Result<()> {
    tool::run("mount", &[words, &[&*point.to_string_lossy()]].concat()).map(drop)
}

fn set_read_ahead(device: &str, kibibytes: u32) -> Result<()> {
    let sectors = u64::from(kibibytes) * 2;
    tool::run("blockdev", &["--setra", &sectors.to_string(), device]).map(drop)
}

/// An ext4 whose tables are all written now: else the kernel would write them while a test measures.
fn make_image(image: &Path, mebibytes: u64) -> Result<()> {
    let target = image.display().to_string();
    let made = fs::File::create(image).and_then(|file| file.set_len(mebibytes << 20));
    made.map_err(|source| Error::os("create", &target, source))?;
    let words = ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", &target];
    tool::run("mkfs.ext4", &words).map(drop)
}
