//! Block devices without a file system: read as they are, written only where they are named and nothing is on them.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::support::loop_device::LoopDevice;
use crate::support::waits::{pause, wait_until};
use crate::support::{SOON, lab_with_blocks};
use narrows_lab::{Lab, LabProcess, narrows_bin};
use narrows_model::inventory::PathKind;
use narrows_model::{Op, Segment, Summary};

const MIB: u64 = 1 << 20;
/// No signature of anything begins or ends so.
const FILLING: u8 = 0xA5;
const DEVICE_MIB: u64 = 64;

fn start(lab: &Lab, name: &str, words: &[&str]) -> LabProcess {
    let mut command = Command::new(narrows_bin().unwrap());
    command.args(words).current_dir(lab.scratch());
    if !words.contains(&"--plan") {
        command.args(["--yes", "--json", "--out"]).arg(lab.scratch().join(name));
    }
    lab.start(name, command).unwrap()
}

/// A study at `target`, with more lines of its load.
fn study(lab: &Lab, name: &str, target: &str, lines: &str, stop: &str) -> String {
    let text = format!(
        "title = \"a device\"\ntarget = \"{target}\"\ncuts = []\n\n[workload]\n{lines}\n\n[stop]\nwarm_up = \"0s\"\n\
         {stop}\n"
    );
    let file = lab.scratch().join(format!("{name}.toml"));
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// The exit code of a command that has ended, and what it said.
fn ended(lab: &Lab, name: &str, words: &[&str]) -> (Option<i32>, LabProcess) {
    let mut process = start(lab, name, words);
    let status = process.wait(SOON).unwrap();
    (status.code(), process)
}

fn summary(process: &LabProcess) -> Summary {
    let json = process.stdout().unwrap();
    serde_json::from_str(&json)
        .unwrap_or_else(|error| panic!("{error}: {json}\n{}", process.stderr().unwrap()))
}

#[test]
fn reads_of_every_engine_are_those_that_the_kernel_counts_and_nothing_is_written() {
    const OPS: u64 = 2000;
    let Some(lab) = lab_with_blocks() else { return };
    let device = LoopDevice::filled(&lab, "read", DEVICE_MIB, FILLING);
    for (engine, depth) in [("psync", 1_u32), ("uring", 8)] {
        let lines = format!(
            "engine = \"{engine}\"\nop = \"read\"\norder = \"random_with_replacement\"\nblock = \"4KiB\"\naccess = \
             \"direct\"\ndepth = {depth}"
        );
        let stop = format!("measure = \"20s\"\nops = {OPS}");
        let file = study(&lab, engine, &device.target(), &lines, &stop);
        let before = device.counted_reads();
        let (code, run) = ended(&lab, engine, &["run", "--trials", "1", &file]);
        let after = device.counted_reads();
        assert_eq!(code, Some(0), "{}", run.stderr().unwrap());
        let cell = summary(&run).cells[0].clone();
        assert_eq!(cell.bytes.application.0, OPS * 4096, "{engine}");
        let (reads, sectors) = (after.0 - before.0, after.1 - before.1);
        // What was in flight at the end is read too, and the kernel reads a block or two itself. Neighbours that happen to be
        // in flight together are merged.
        assert!((OPS - u64::from(depth)..=OPS + 16).contains(&reads), "{engine}: {reads} reads");
        assert!((OPS * 8..=OPS * 8 + 128).contains(&sectors), "{engine}: {sectors} sectors");
    }
    assert!(device.content().iter().all(|byte| *byte == FILLING), "nothing was written");
}

#[test]
fn a_check_names_the_segments_of_a_device_and_records_its_queue() {
    let Some(lab) = lab_with_blocks() else { return };
    let device = LoopDevice::filled(&lab, "check", DEVICE_MIB, FILLING);
    let words = ["check", &device.target(), "--seconds", "10", "--cell-seconds", "0.5"];
    let (_, run) = ended(&lab, "check", &words);
    let summary = summary(&run);
    let path = summary.hosts[0].inventory.path.as_ref().unwrap();
    assert_eq!(path.kind, PathKind::BlockDevice);
    assert_eq!(path.size_bytes.unwrap().0, DEVICE_MIB * MIB);
    let queue = path.devices[0].queue.as_ref().unwrap();
    assert!(queue.request_bytes_max.is_some() && queue.physical_block_bytes.is_some(), "{queue:?}");
    let segments: Vec<Segment> = summary.segments.iter().map(|segment| segment.id).collect();
    assert!(!segments.contains(&Segment::ClientFilesystem), "{segments:?}");
    assert!(segments.contains(&Segment::DeviceLatency) && segments.contains(&Segment::ClientCache));
    assert!(summary.cells.iter().all(|cell| cell.op != Op::Write), "it is only read");
    assert!(!summary.diagnosis.limiting.is_empty(), "{}", run.stderr().unwrap());
    assert!(device.content().iter().all(|byte| *byte == FILLING), "nothing was written");
}

/// A study that writes 8 MiB of `device`.
fn writing(lab: &Lab, name: &str, device: &LoopDevice, seconds: u32) -> String {
    let lines = "verify = true\nops = { read = 1, write = 1 }\norder = \"random_with_replacement\"\nfile = \
                 \"8MiB\"\nblock = \"4KiB\"\nengine = \"uring\"\ndepth = 4";
    study(lab, name, &device.target(), lines, &format!("measure = \"{seconds}s\""))
}

/// That a run with these arguments is refused with these words, and changes nothing.
fn assert_refused(lab: &Lab, name: &str, device: &LoopDevice, arguments: &[&str], parts: &[&str]) {
    let file = writing(lab, name, device, 1);
    let before = device.content();
    let words = [&["run", "--trials", "1"], arguments, &[file.as_str()]].concat();
    let (code, run) = ended(lab, name, &words);
    let message = run.stderr().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(matches!(code, Some(2 | 3)), "{name}: {code:?} {message}");
    assert!(parts.iter().all(|part| message.contains(part)), "{name}: {message}");
    assert!(device.content() == before, "{name}: nothing was written");
}

#[test]
fn a_device_is_written_only_where_its_serial_number_or_size_is_named() {
    let Some(lab) = lab_with_blocks() else { return };
    let device = LoopDevice::filled(&lab, "named", DEVICE_MIB, FILLING);
    assert_refused(&lab, "unnamed", &device, &[], &["is only read", "--overwrite-device 64MiB"]);
    let wrong = ["no block device of this run has the serial number or size", "it has 64MiB"];
    assert_refused(&lab, "wrong-size", &device, &["--overwrite-device", "63MiB"], &wrong);
    assert_refused(&lab, "wrong-serial", &device, &["--overwrite-device", "WD-1"], &wrong);
    let claimed = format!("{}?claim=1&stride=1048576", device.target());
    let file = study(&lab, "typed", &claimed, "op = \"write\"\nfile = \"1MiB\"", "measure = \"1s\"");
    let (code, run) = ended(&lab, "typed", &["run", &file]);
    assert_eq!(code, Some(2), "{}", run.stderr().unwrap());
    assert!(run.stderr().unwrap().contains("a claim is written by narrows"), "{}", run.stderr().unwrap());
    let file = writing(&lab, "plan", &device, 1);
    let (_, plan) = ended(&lab, "plan", &["run", "--plan", "--overwrite-device", "64MiB", &file]);
    let printed = plan.stdout().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains("OVERWRITING what is there: the first 9MiB are written"), "{printed}");
    assert!(device.content().iter().all(|byte| *byte == FILLING), "a plan changes nothing");
    let size = (DEVICE_MIB * MIB).to_string();
    let words = ["run", "--trials", "1", "--overwrite-device", &size, &file];
    let (code, run) = ended(&lab, "written", &words);
    assert_eq!(code, Some(0), "{}", run.stderr().unwrap());
    let verified = summary(&run).cells[0].verification.clone().unwrap();
    assert_eq!((verified.wrong_bytes.0, verified.mismatch_count), (0, 0), "{verified:?}");
    assert!(verified.checked_bytes.0 > 0, "{verified:?}");
    let content = device.content();
    let (written, rest) = content.split_at(usize::try_from(9 * MIB).unwrap());
    assert!(written.iter().all(|byte| *byte == 0), "what was written is zeroes at the end");
    assert!(rest.iter().all(|byte| *byte == FILLING), "nothing behind what was claimed is written");
}

#[test]
fn a_device_with_anything_on_it_is_refused_also_where_it_is_named() {
    let Some(lab) = lab_with_blocks() else { return };
    let named = &["--overwrite-device", "64MiB"];
    let device = LoopDevice::filled(&lab, "signed", DEVICE_MIB, 0);
    device.format();
    assert_refused(&lab, "ext4", &device, named, &["has ext4 on it", "wipefs"]);
    let device = LoopDevice::filled(&lab, "swap", DEVICE_MIB, 0);
    assert!(Command::new("mkswap").arg("-q").arg(device.path()).status().unwrap().success());
    assert_refused(&lab, "swap", &device, named, &["has swap on it"]);
    let device = LoopDevice::filled(&lab, "table", DEVICE_MIB, 0);
    device.put(0, &partition_table());
    assert_refused(&lab, "table", &device, named, &["a partition table (dos)"]);
}

/// The first sector of a disk with one partition of Linux, from the second MiB on.
fn partition_table() -> [u8; 512] {
    let mut sector = [0; 512];
    sector[446..462].copy_from_slice(&[0, 32, 33, 0, 131, 41, 49, 2, 0, 8, 0, 0, 0, 128, 0, 0]);
    sector[510..].copy_from_slice(&[0x55, 0xAA]);
    sector
}

/// A mount that ends with the test.
struct DeviceMount<'a>(&'a Path);

impl Drop for DeviceMount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_device_in_use_is_refused_also_where_it_is_named() {
    let Some(lab) = lab_with_blocks() else { return };
    let named = &["--overwrite-device", "64MiB"];
    let device = LoopDevice::filled(&lab, "mounted", DEVICE_MIB, 0);
    device.format();
    let point = lab.scratch().join("point");
    fs::create_dir(&point).unwrap();
    // Read-only, as otherwise the file system itself writes some seconds later.
    let mount = Command::new("mount").args(["-o", "ro"]).arg(device.path()).arg(&point).status().unwrap();
    assert!(mount.success());
    let mounted = DeviceMount(&point);
    assert_refused(&lab, "mounted", &device, named, &["is in use", "it is mounted at", "point"]);
    drop(mounted);
    let device = LoopDevice::filled(&lab, "held", DEVICE_MIB, FILLING);
    let exclusively = i32::try_from(rustix::fs::OFlags::EXCL.bits()).unwrap();
    let held: File = File::options().read(true).custom_flags(exclusively).open(device.path()).unwrap();
    assert_refused(&lab, "held", &device, named, &["is in use", "does not open it exclusively"]);
    drop(held);
    let above = LoopDevice::over(device.path());
    let name = above.path().file_name().unwrap().to_str().unwrap();
    assert_refused(&lab, "below", &device, named, &["is in use", &format!("its data is that of {name}")]);
}

#[test]
fn what_a_run_wrote_is_cleared_after_a_signal_and_by_the_next_run_after_a_kill() {
    let Some(lab) = lab_with_blocks() else { return };
    let device = LoopDevice::filled(&lab, "killed", DEVICE_MIB, FILLING);
    let file = writing(&lab, "long", &device, 20);
    let words = ["run", "--trials", "1", "--overwrite-device", "64MiB", &file];
    let is_loaded = || device.content()[usize::try_from(MIB).unwrap()] != FILLING;
    let mut killed = start(&lab, "killed-run", &words);
    wait_until(is_loaded);
    killed.kill9().unwrap();
    assert!(device.content().starts_with(b"made-by-narrows"));
    let mut interrupted = start(&lab, "interrupted", &words);
    interrupted.wait_for_line("killed", SOON).unwrap();
    wait_until(|| device.content().starts_with(b"made-by-narrows"));
    // It is in its cell then, of 20 s.
    pause(Duration::from_secs(3));
    // Twice: the first one waits for the end of the cell.
    interrupted.interrupt().unwrap();
    pause(Duration::from_millis(300));
    interrupted.interrupt().unwrap();
    interrupted.wait(SOON).unwrap();
    let content = device.content();
    let (written, rest) = content.split_at(usize::try_from(9 * MIB).unwrap());
    let message = interrupted.stderr().unwrap();
    assert!(message.contains("clears what a run that was killed had left"), "{message}");
    assert!(written.iter().all(|byte| *byte == 0), "{message}");
    assert!(rest.iter().all(|byte| *byte == FILLING));
}

#[test]
fn what_is_no_device_and_what_is_one_are_said() {
    let Some(lab) = lab_with_blocks() else { return };
    let device = LoopDevice::filled(&lab, "kinds", DEVICE_MIB, FILLING);
    let plain = device.path().to_str().unwrap();
    for (name, target, part) in [
        ("folder", "blk:/tmp", "is no block device"),
        ("missing", "blk:/dev/absent", "give a block device that exists"),
        ("character", "blk:/dev/null", "is no block device"),
        ("plain", plain, "give it as blk:PATH"),
    ] {
        let (code, run) = ended(&lab, name, &["check", target]);
        assert_eq!(code, Some(2), "{name}");
        assert!(run.stderr().unwrap().contains(part), "{name}: {}", run.stderr().unwrap());
    }
}
