//! Disks that answer as late as the lab says: a file system in user space, whose files become loop devices.
//!
//! `delaydisk FOLDER READ_US WRITE_US FLUSH_US AT_ONCE BYTES_PER_S` shows each file of FOLDER/images at FOLDER/slow,
//! where every read, write and flush (fsync) takes so long, a file serves `AT_ONCE` requests at a time, and all files
//! together move so many bytes a second (0: without a bound). It says `ready` when it is mounted and runs until it is
//! unmounted. When the process that started it is gone, it unmounts whatever is mounted below FOLDER. It makes no
//! loop device, reorders nothing and loses nothing. For tests only.
#![forbid(unsafe_code)]

mod files;
mod replies;
mod timing;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use files::DelayedFiles;
use fuser::{Config, MountOption, Session};
use narrows_lab::mounts;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, getppid, pidfd_open};
use timing::{ServiceTimes, Timing};

const USAGE: &str = "usage: delaydisk FOLDER READ_US WRITE_US FLUSH_US AT_ONCE BYTES_PER_S";

type DelayDiskError = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Where it cannot be said it can only be returned.
            let _unheard = writeln!(std::io::stderr(), "delaydisk: {failure}");
            ExitCode::from(3)
        }
    }
}

fn run() -> Result<(), DelayDiskError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, numbers @ ..] = arguments.as_slice() else { return Err(USAGE.into()) };
    let number = |text: &String| text.parse::<u64>().map_err(|_| format!("'{text}' is no whole number"));
    let numbers = numbers.iter().map(number).collect::<Result<Vec<u64>, String>>()?;
    let [read_us, write_us, flush_us, at_once, bytes_per_s] = numbers[..] else { return Err(USAGE.into()) };
    let [read, write, flush] = [read_us, write_us, flush_us].map(Duration::from_micros);
    let times = ServiceTimes { read, write, flush };
    let at_once = usize::try_from(at_once)?;
    let folder = PathBuf::from(folder);
    let timing = |disk_count| Timing::new(times, disk_count, at_once, bytes_per_s);
    let files = DelayedFiles::open(&folder.join("images"), timing)
        .map_err(|error| format!("open the images: {error}"))?;
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName("delaydisk".to_owned())];
    let session = Session::new(files, folder.join("slow"), &config)
        .map_err(|error| format!("mount the files: {error}"))?;
    clean_up_after_parent(folder)?;
    // Ahead of those who wait for it: it needs little, and its delays are to be the lab's and not the scheduler's.
    let _as_it_is = rustix::process::nice(-20);
    let mut stdout = std::io::stdout();
    writeln!(stdout, "ready")?;
    stdout.flush()?;
    session.run().map_err(|error| format!("serve the files: {error}").into())
}

/// Watches the parent from a thread of its own: the mounts of a test that was killed are removed by nobody else.
fn clean_up_after_parent(folder: PathBuf) -> Result<(), DelayDiskError> {
    let parent = getppid().ok_or("it has no parent")?;
    let handle = pidfd_open(parent, PidfdFlags::empty())?;
    thread::Builder::new().name("parent".to_owned()).spawn(move || {
        while poll(&mut [PollFd::new(&handle, PollFlags::IN)], None) == Err(Errno::INTR) {}
        remove_mounts(&folder);
    })?;
    Ok(())
}

fn remove_mounts(folder: &Path) {
    if let Err(refused) = mounts::unmount_below(folder) {
        let _unheard = writeln!(std::io::stderr(), "delaydisk: {refused}");
    }
}
