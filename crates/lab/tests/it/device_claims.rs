//! When a block device or a unit is written first: after the announcement, and on the device that was claimed.

use std::fs;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};

use crate::support::loop_device::LoopDevice;
use crate::support::tgt::{SERIAL, Tgt, TgtSetup};
use crate::support::waits::wait_until;
use crate::support::{SOON, lab_with_blocks, lab_with_iscsi};
use narrows_lab::{Lab, narrows_bin};

const FILLING: u8 = 0xA5;
const DEVICE_MIB: u64 = 64;
const NAMED: [&str; 2] = ["--overwrite-device", "64MiB"];

fn is_as_it_was(device: &LoopDevice) -> bool {
    device.content().iter().all(|byte| *byte == FILLING)
}

/// A study that writes to `target` for so long.
fn study(lab: &Lab, target: &str, measure: &str) -> String {
    let text = format!(
        "title = \"a device\"\ntarget = \"{target}\"\ncuts = []\nseconds = 1300\n\n[workload]\nop = \"write\"\nfile = \"8MiB\"\nblock = \
         \"64KiB\"\n\n[stop]\nwarm_up = \"0s\"\nmeasure = \"{measure}\"\ntrials = 1\n"
    );
    let file = lab.scratch().join("study.toml");
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn nothing_is_written_to_a_device_where_a_load_is_refused() {
    let Some(lab) = lab_with_blocks() else { return };
    let device = LoopDevice::filled(&lab, "refused", DEVICE_MIB, FILLING);
    let target = device.target();
    let long = lab.scratch().join("long.toml");
    fs::rename(study(&lab, &target, "20min"), &long).unwrap();
    let (long, short) = (long.to_str().unwrap(), study(&lab, &target, "1s"));
    let full = lab.scratch().join("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("file"), "x").unwrap();
    let full = full.to_str().unwrap();
    let scale = ["scale", &target, "--op", "write", "--clients", "1,2", "--file", "4MiB"];
    let costs = "It needs a confirmation";
    let occupied = "the folder is not empty";
    for (words, part) in [
        (&["run", long][..], costs),
        (&["run", "--yes", "--out", full, &short], occupied),
        (&["check", &target, "--seconds", "2000", "--whole-plan", "--cell-seconds", "100"], costs),
        (&["check", &target, "--seconds", "10", "--yes", "--out", full], occupied),
        (&["noise", &target, "--seconds", "60", "--runs", "100"], costs),
        (&[&scale[..], &["--seconds", "4000", "--cell-seconds", "500"]].concat(), costs),
        (&[&scale[..], &["--yes", "--out", full]].concat(), occupied),
    ] {
        let mut command = Command::new(narrows_bin().unwrap());
        let output = command.args(words).args(NAMED).current_dir(lab.scratch()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let message = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{words:?}: {message}");
        assert!(message.contains(part), "{words:?}: {message}");
        assert!(is_as_it_was(&device), "{words:?}: nothing was written");
    }
}

#[test]
fn nothing_is_written_to_a_unit_where_a_load_is_refused() {
    let Some(lab) = lab_with_iscsi() else { return };
    let server = Tgt::start(&lab, 1, DEVICE_MIB << 20, TgtSetup::default());
    fs::write(server.image(), vec![FILLING; 64 << 20]).unwrap();
    let long = lab.scratch().join("long.toml");
    fs::rename(study(&lab, &server.target(""), "20min"), &long).unwrap();
    let (long, short) = (long.to_str().unwrap(), study(&lab, &server.target(""), "1s"));
    for (words, part) in [
        (&["run", long][..], "It needs a confirmation"),
        (&["run", "--yes", "--out", ".", &short], "the folder is not empty"),
        (&["check", &server.target(""), "--yes", "--out", "."], "the folder is not empty"),
    ] {
        let mut command = Command::new(narrows_bin().unwrap());
        let output = command
            .args(words)
            .args(["--overwrite-lun", SERIAL])
            .current_dir(lab.scratch())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let message = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{words:?}: {message}");
        assert!(message.contains(part), "{words:?}: {message}");
        let content = fs::read(server.image()).unwrap();
        assert!(content.iter().all(|byte| *byte == FILLING), "{words:?}: nothing was written");
    }
}

#[test]
fn a_signal_at_the_announcement_leaves_a_device_as_it_was() {
    let Some(lab) = lab_with_blocks() else { return };
    let device = LoopDevice::filled(&lab, "signal", DEVICE_MIB, FILLING);
    let file = study(&lab, &device.target(), "5s");
    // Nobody reads what is said, and there is no room for it: the announcement waits.
    let (_reader, mut writer) = std::io::pipe().unwrap();
    let flags = rustix::fs::fcntl_getfl(writer.as_fd()).unwrap();
    rustix::fs::fcntl_setfl(writer.as_fd(), flags | rustix::fs::OFlags::NONBLOCK).unwrap();
    while writer.write(&[0; 4096]).is_ok() {}
    while writer.write(&[0]).is_ok() {}
    rustix::fs::fcntl_setfl(writer.as_fd(), flags).unwrap();
    let mut command = Command::new(narrows_bin().unwrap());
    command.args(["run", "--yes", &file]).args(NAMED).current_dir(lab.scratch());
    let mut run = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer).spawn().unwrap();
    let call = format!("/proc/{}/syscall", run.id());
    // Its first argument is stderr.
    wait_until(|| fs::read_to_string(&call).is_ok_and(|text| text.split(' ').nth(1) == Some("0x2")));
    let is_unwritten = is_as_it_was(&device);
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = run.wait().unwrap();
    assert!(is_unwritten, "nothing is written before the announcement was read");
    assert_eq!(status.code(), Some(3));
    assert!(is_as_it_was(&device), "nothing was written");
}

#[test]
fn a_device_that_is_replaced_during_a_run_ends_it_with_exit_4_and_the_other_is_not_written() {
    let Some(lab) = lab_with_blocks() else { return };
    let (device, other) = (
        LoopDevice::filled(&lab, "claimed", DEVICE_MIB, FILLING),
        LoopDevice::filled(&lab, "other", DEVICE_MIB, FILLING),
    );
    // A link, as those that udev makes: it may lead elsewhere at any time.
    let link = lab.scratch().join("device");
    std::os::unix::fs::symlink(device.path(), &link).unwrap();
    for (name, clients) in [("in-process", 1), ("clients", 2)] {
        let text = format!(
            "title = \"a device\"\ntarget = \"blk:{}\"\ncuts = []\n\n[workload]\nop = \"write\"\nfile = \"8MiB\"\n\
             block = \"64KiB\"\nclients = {clients}\n\n[stop]\nwarm_up = \"0s\"\nmeasure = \"2s\"\ntrials = 4\n",
            link.display()
        );
        let file = lab.scratch().join(format!("{name}.toml"));
        fs::write(&file, text).unwrap();
        let mut command = Command::new(narrows_bin().unwrap());
        command.args(["run", "--yes", "--out", name]).args(NAMED).arg(&file).current_dir(lab.scratch());
        let mut run = lab.start(name, command).unwrap();
        let events = lab.scratch().join(name).join("events.jsonl");
        wait_until(|| fs::read_to_string(&events).is_ok_and(|text| text.contains("trial_finished")));
        // The mark of the run is on both, as on a copy.
        other.put(0, &device.content()[..4096]);
        let before = other.content();
        let passing = lab.scratch().join("passing");
        std::os::unix::fs::symlink(other.path(), &passing).unwrap();
        fs::rename(&passing, &link).unwrap();
        let code = run.wait(SOON).unwrap().code();
        let message = run.stderr().unwrap();
        assert!(other.content() == before, "{name}: nothing of the other device was written: {message}");
        assert_eq!(code, Some(4), "{name}: {message}");
        assert!(message.contains("another device is in its place"), "{name}: {message}");
        assert!(
            !device.content().starts_with(b"made-by-narrows"),
            "{name}: the claimed one is cleared: {message}"
        );
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(device.path(), &link).unwrap();
        other.put(0, &[FILLING; 4096]);
    }
}
