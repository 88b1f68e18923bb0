//! The lab's cgroups enforce their configured limits: CPU quotas, device throttles.

use std::process::Command;
use std::time::Duration;

use crate::support::{SOON, lab};
use narrows_lab::clock::monotonic_ns;
use narrows_lab::{BlkioThrottle, CpuQuota, counters, device_under};

const MIB: u64 = 1 << 20;

#[test]
fn a_busy_loop_under_a_quota_of_0_3_gets_0_3_cpu_seconds_a_second() {
    let Some(lab) = lab() else { return };
    let cgroup = lab.cgroup("busy").unwrap();
    cgroup.limit_cpu(CpuQuota { cpus: 0.3 }).unwrap();
    let mut command = lab.host(1).unwrap().command("sh");
    command.args(["-c", "echo up; while :; do :; done"]);
    cgroup.enter(&mut command);
    let mut busy = lab.start("busy", command).unwrap();
    busy.wait_for_line("up", SOON).unwrap();
    let (started_ns, used_before_ns) = (monotonic_ns(), cgroup.cpu_usage_ns().unwrap());
    assert!(busy.wait(Duration::from_secs(3)).is_err(), "it goes on");
    let elapsed_ns = monotonic_ns() - started_ns;
    let cpu_ratio = (cgroup.cpu_usage_ns().unwrap() - used_before_ns) as f64 / elapsed_ns as f64;
    assert!((cpu_ratio - 0.3).abs() <= 0.05, "{cpu_ratio} CPU seconds a second");
    assert!(cgroup.throttled_ns().unwrap() > 0, "it was held back");
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_device_throttle_of_20_mib_a_second_applies_for_direct_io() {
    let Some(lab) = lab() else { return };
    let file = lab.scratch().join("throttled");
    let cgroup = lab.cgroup("slow").unwrap();
    let limit = 20 * MIB;
    let path = lab.scratch().to_owned();
    let both = BlkioThrottle {
        path,
        read_bytes_per_s: Some(limit),
        write_bytes_per_s: Some(limit),
        ..BlkioThrottle::default()
    };
    cgroup.limit_io(&both).unwrap();
    let device = device_under(lab.scratch()).unwrap().name;
    let before = counters::diskstats(&device).unwrap();
    let name = file.display();
    let write = format!("dd if=/dev/zero of={name} bs=1M count=64 oflag=direct conv=notrunc");
    let read = format!("dd if={name} of=/dev/null bs=1M iflag=direct");
    for script in [write, read] {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec {script}")]);
        cgroup.enter(&mut command);
        let started_ns = monotonic_ns();
        let mut dd = lab.start("dd", command).unwrap();
        assert!(dd.wait(SOON).unwrap().success(), "{}", dd.stderr().unwrap());
        let bytes_per_s = 64.0 * MIB as f64 / ((monotonic_ns() - started_ns) as f64 / 1e9);
        let ratio = bytes_per_s / limit as f64;
        assert!((ratio - 1.0).abs() <= 0.1, "{ratio} of the limit: {script}");
    }
    let after = counters::diskstats(&device).unwrap();
    assert!(after.written_bytes - before.written_bytes >= 64 * MIB);
    assert!(after.read_bytes - before.read_bytes >= 64 * MIB);
}

#[test]
fn a_file_is_read_from_the_device_again_after_the_caches_were_dropped() {
    let Some(lab) = lab() else { return };
    let file = lab.scratch().join("cached");
    std::fs::write(&file, vec![7; 8 << 20]).unwrap();
    counters::drop_caches().unwrap();
    let device = device_under(&file).unwrap().name;
    let before = counters::diskstats(&device).unwrap().read_bytes;
    assert_eq!(std::fs::read(&file).unwrap().len(), 8 << 20);
    assert!(counters::diskstats(&device).unwrap().read_bytes - before >= 8 * MIB);
}
