//! The lab's disks respond as late as configured, serve as many requests at a time, and are removed with their lab.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;
use std::thread;

use crate::support::{SOON, lab_with_disks};
use narrows_lab::clock::monotonic_ns;
use narrows_lab::{DiskPlan, Lab, LabDisks, LabErrorKind, device_under, died_of};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

const BLOCK_BYTES: usize = 4096;
const MIB: u64 = 1 << 20;

/// A block where direct requests want it.
#[derive(Clone, Copy)]
#[repr(align(4096))]
struct Block([u8; BLOCK_BYTES]);

/// The disk's block device.
fn device(disks: &LabDisks, index: u8) -> PathBuf {
    Path::new("/dev").join(device_under(&disks.path(index)).unwrap().name)
}

/// Opens a file or a device past every cache.
fn open(path: &Path) -> File {
    let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).unwrap();
    File::options().read(true).write(true).custom_flags(direct).open(path).unwrap()
}

/// How long so many reads of a block take that begin together, in milliseconds.
fn reads_ms(device: &File, count: u64) -> f64 {
    let start = Barrier::new(usize::try_from(count).unwrap());
    let spans: Vec<(u64, u64)> = thread::scope(|scope| {
        let read = |index: u64| {
            let mut block = Block([0; BLOCK_BYTES]);
            start.wait();
            let started_ns = monotonic_ns();
            device.read_exact_at(&mut block.0, index * MIB).unwrap();
            (started_ns, monotonic_ns())
        };
        let readers: Vec<_> = (0..count).map(|index| scope.spawn(move || read(index))).collect();
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    let first_ns = spans.iter().map(|span| span.0).min().unwrap();
    let last_ns = spans.iter().map(|span| span.1).max().unwrap();
    (last_ns - first_ns) as f64 / 1e6
}

/// The best of three: whatever else the machine does makes a wait longer, never shorter.
fn best_of_3(mut measure: impl FnMut() -> f64) -> f64 {
    (0..3).map(|_| measure()).fold(f64::INFINITY, f64::min)
}

#[track_caller]
fn assert_between(measured: f64, least: f64, most: f64) {
    assert!((least..=most).contains(&measured), "{measured}, not {least} to {most}");
}

#[test]
fn sixteen_reads_of_5_ms_take_5_ms_together_and_80_ms_one_after_the_other() {
    let Some(lab) = lab_with_disks() else { return };
    let plan = DiskPlan { mebibytes: 64, read_us: 5000, at_once: 16, ..DiskPlan::PLAIN };
    let disks = lab.disks("parallel", &plan).unwrap();
    let many_at_once = open(&device(&disks, 0));
    assert_between(best_of_3(|| reads_ms(&many_at_once, 1)), 5.0, 6.0);
    assert_between(best_of_3(|| reads_ms(&many_at_once, 16)), 5.0, 9.0);
    let disks = lab.disks("one-by-one", &DiskPlan { at_once: 1, ..plan }).unwrap();
    let one_at_once = open(&device(&disks, 0));
    assert_between(best_of_3(|| reads_ms(&one_at_once, 16)), 80.0, 90.0);
}

#[test]
fn a_flush_takes_as_long_as_configured_and_the_write_before_it_does_not() {
    let Some(lab) = lab_with_disks() else { return };
    let plan = DiskPlan { mebibytes: 64, flush_us: 20_000, ..DiskPlan::PLAIN };
    let disks = lab.disks("flushed", &plan).unwrap();
    let path = disks.path(0).join("file");
    fs::write(&path, [1; BLOCK_BYTES]).unwrap();
    let file = open(&path);
    file.sync_all().unwrap();
    let timed_ms = |act: &dyn Fn()| {
        best_of_3(|| {
            let started_ns = monotonic_ns();
            act();
            (monotonic_ns() - started_ns) as f64 / 1e6
        })
    };
    let write_ms = timed_ms(&|| file.write_all_at(&Block([7; BLOCK_BYTES]).0, 0).unwrap());
    assert_between(write_ms, 0.0, 5.0);
    assert_between(timed_ms(&|| file.sync_data().unwrap()), 20.0, 25.0);
}

#[test]
fn what_is_written_is_read_back_from_the_device() {
    let Some(lab) = lab_with_disks() else { return };
    let disks = lab.disks("kept", &DiskPlan { count: 2, mebibytes: 64, ..DiskPlan::PLAIN }).unwrap();
    let data: Vec<u8> = (0..3 * MIB).map(|index| (index * 7 / 5).to_le_bytes()[0]).collect();
    for index in [0, 1] {
        let mut file = File::create(disks.path(index).join("file")).unwrap();
        file.write_all(&data[usize::from(index)..]).unwrap();
        file.sync_all().unwrap();
    }
    narrows_lab::counters::drop_caches().unwrap();
    for index in [0, 1] {
        assert!(
            fs::read(disks.path(index).join("file")).unwrap() == data[usize::from(index)..],
            "disk {index}"
        );
    }
}

#[test]
fn two_disks_move_together_what_their_bus_transfers() {
    const RATE_BYTES_PER_S: u64 = 64 * MIB;
    let Some(lab) = lab_with_disks() else { return };
    let rate = Some(RATE_BYTES_PER_S);
    let plan = DiskPlan { count: 2, mebibytes: 64, shared_bytes_per_s: rate, ..DiskPlan::PLAIN };
    let disks = lab.disks("bus", &plan).unwrap();
    let started_ns = monotonic_ns();
    let readers = [0, 1].map(|index| {
        let mut command = Command::new("dd");
        command.arg(format!("if={}", device(&disks, index).display()));
        command.args(["of=/dev/null", "iflag=direct", "bs=1M", "count=32"]);
        lab.start(&format!("dd{index}"), command).unwrap()
    });
    for mut reader in readers {
        assert!(reader.wait(SOON).unwrap().success(), "{}", reader.stderr().unwrap());
    }
    let seconds = (monotonic_ns() - started_ns) as f64 / 1e9;
    assert_between(64.0 * MIB as f64 / seconds / RATE_BYTES_PER_S as f64, 0.9, 1.01);
}

/// Creates disks and leaves a file open on one; returns the folder they are in, and the loop devices.
fn furnish(lab: &Lab) -> (PathBuf, Vec<String>, File) {
    let disks = lab.disks("left", &DiskPlan { count: 2, mebibytes: 64, ..DiskPlan::PLAIN }).unwrap();
    let file = File::create(disks.path(1).join("open")).unwrap();
    let devices = [0, 1].map(|index| device_under(&disks.path(index)).unwrap().name);
    (lab.scratch().join("left"), devices.to_vec(), file)
}

/// Fails when something is mounted below the folder, or a loop device has a file there.
#[track_caller]
fn assert_gone(folder: &Path, devices: &[String]) {
    let place = folder.to_str().unwrap();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(place), "{mounts}");
    for device in devices {
        let backing = Path::new("/sys/block").join(device).join("loop/backing_file");
        let backing = fs::read_to_string(backing).unwrap_or_default();
        assert!(!backing.contains(place), "{device}: {backing}");
    }
    assert!(!folder.exists());
}

#[test]
fn disks_are_gone_with_their_lab_after_a_panic_too() {
    let Some(lab) = lab_with_disks() else { return };
    let mut made = None;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let lab = lab;
        let (folder, devices, file) = furnish(&lab);
        made = Some((folder, devices));
        drop(file);
        panic!("as a failing assertion does");
    }));
    assert!(panicked.is_err());
    let (folder, devices) = made.unwrap();
    assert_gone(&folder, &devices);
}

#[test]
fn a_file_that_is_still_open_does_not_keep_the_disks_mounted() {
    let Some(lab) = lab_with_disks() else { return };
    let (folder, devices, file) = furnish(&lab);
    lab.close().unwrap();
    assert!(!fs::read_to_string("/proc/self/mounts").unwrap().contains(folder.to_str().unwrap()));
    drop(file);
    assert_gone(&folder, &devices);
}

#[test]
fn the_mounts_of_a_lab_that_was_killed_are_removed_by_the_disks_themselves() {
    let Some(lab) = lab_with_disks() else { return };
    let folder = lab.scratch().join("orphaned");
    fs::create_dir_all(folder.join("images")).unwrap();
    fs::create_dir(folder.join("slow")).unwrap();
    fs::write(folder.join("images/disk00"), [0; BLOCK_BYTES]).unwrap();
    // The shell represents the killed lab.
    let mut command = Command::new("sh");
    let script = format!("{} \"$0\" 0 0 0 1 0 & echo pid $!; wait", env!("CARGO_BIN_EXE_delaydisk"));
    command.args(["-c", &script]).arg(&folder);
    let mut parent = lab.start("parent", command).unwrap();
    parent.wait_for_line("ready", SOON).unwrap();
    let line = parent.wait_for_line("pid ", SOON).unwrap();
    let pid = Pid::from_raw(line.strip_prefix("pid ").unwrap().parse().unwrap()).unwrap();
    let server = pidfd_open(pid, PidfdFlags::empty()).unwrap();
    let shown = folder.join("slow/disk00");
    assert_eq!(fs::read(&shown).unwrap(), [0; BLOCK_BYTES]);
    assert!(died_of(parent.kill9().unwrap(), 9));
    let patience = Timespec { tv_sec: 10, tv_nsec: 0 };
    assert_eq!(poll(&mut [PollFd::new(&server, PollFlags::IN)], Some(&patience)), Ok(1), "it ends");
    assert!(!shown.exists());
}

#[test]
fn a_plan_without_disks_or_without_places_is_refused() {
    let Some(lab) = lab_with_disks() else { return };
    for plan in [
        DiskPlan { count: 0, ..DiskPlan::PLAIN },
        DiskPlan { count: 17, ..DiskPlan::PLAIN },
        DiskPlan { at_once: 0, ..DiskPlan::PLAIN },
    ] {
        assert_eq!(lab.disks("none", &plan).unwrap_err().kind(), LabErrorKind::Invalid, "{plan:?}");
    }
    assert_eq!(lab.disks("a/b", &DiskPlan::PLAIN).unwrap_err().kind(), LabErrorKind::Invalid);
}
