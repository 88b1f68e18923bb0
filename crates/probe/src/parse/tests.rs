//! Facts about the readers of the kernel's texts.

use super::block::{DeviceThrottle, ThrottleKind};
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn no_reader_panics_on_arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        feed_all(&bytes);
    }

    #[test]
    fn no_reader_panics_on_nearly_right_text(text in "(cpu|MemTotal:|8 0 sda|eth0:|1 2 8:1 / / rw -|0::|7 \\(x\\) S|usage_usec|[ 0-9:,/\\\\-]|\n){0,60}") {
        feed_all(text.as_bytes());
    }

    #[test]
    fn what_the_kernel_escapes_comes_back(text in "[a-z \t\\\\]{0,20}") {
        let escaped: String = text.bytes().map(|byte| match byte {
            b' ' | b'\t' | b'\\' => format!("\\{byte:03o}"),
            byte => char::from(byte).to_string(),
        }).collect();
        prop_assert_eq!(mountinfo::unescape(escaped.as_bytes()), text);
    }
}

/// The outcome does not matter, only that there is one.
fn feed_all(bytes: &[u8]) {
    let _ = block::flag(bytes);
    let _ = block::active_scheduler(bytes);
    let _ = block::throttle_v1(bytes, ThrottleKind::ReadBytes);
    let _ = block::throttle_v2(bytes);
    let _ = cpu_list::count(bytes);
    let _ = cpu_list::numbers(bytes);
    let _ = trace_format::parse(bytes);
    let _ = cpuinfo::parse(bytes);
    let _ = mountstats::parse(bytes);
    let _ = cgroup::parse(bytes);
    let _ = cgroup::limit(bytes);
    let _ = cgroup::cpu_max(bytes);
    let _ = cgroup::keyed(bytes, "usage_usec");
    let _ = diskstats::parse(bytes, |_| true);
    let _ = meminfo::parse(bytes);
    let _ = mountinfo::parse(bytes);
    let _ = net_dev::parse(bytes);
    let _ = pid_stat::parse(bytes);
    let _ = proc_stat::parse(bytes);
}

#[test]
fn a_number_above_the_largest_is_none() {
    assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
    assert_eq!(number(b"18446744073709551616"), None);
    assert_eq!(number(b""), None);
    assert_eq!(number(b"1x"), None);
}

#[test]
fn guests_count_once_in_the_total() {
    let cpu = proc_stat::parse(b"cpu  10 1 2 30 4 5 6 7 8 9\ncpu0 1\ncpu2 1\nintr 5\n").unwrap();
    assert_eq!((cpu.online_cpus, cpu.total(), cpu.steal), (2, 65, Some(7)));
}

#[test]
fn a_kernel_without_steal_has_none() {
    assert_eq!(proc_stat::parse(b"cpu 1 2 3 4 5 6 7\n").unwrap().steal, None);
}

#[test]
fn a_process_name_may_contain_parentheses_and_newlines() {
    let line = b"9 (a) S 1 (\n) R 4 0 0 0 0 0 0 0 0 0 11 12 13 14 20 0 1 0 99 0\n";
    let stat = pid_stat::parse(line).unwrap();
    assert_eq!((stat.parent_pid, stat.user, stat.children_system), (4, 11, 14));
}

#[test]
fn an_interface_without_a_space_after_its_colon_is_read() {
    let text = b"Inter-|\n face |\n  eth0:12 1 0 3 0 0 0 0 34 2 0 5 0 0 0 0\n";
    let nics = net_dev::parse(text).unwrap();
    assert_eq!((nics[0].name.as_str(), nics[0].receive_bytes.0, nics[0].send_bytes.0), ("eth0", 12, 34));
    assert_eq!((nics[0].receive_drop_count, nics[0].send_drop_count), (3, 5));
}

#[test]
fn flushes_of_a_new_kernel_are_read_and_those_of_an_old_one_are_zero() {
    let new = b"259 0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 99\n";
    let disk = diskstats::parse(new, |_| true).unwrap().remove(0);
    assert_eq!((disk.flush_count, disk.flush_ns.0, disk.read_bytes.0), (16, 17_000_000, 1_536));
    let old = b"8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n";
    let disk = diskstats::parse(old, |_| true).unwrap().remove(0);
    assert_eq!((disk.flush_count, disk.busy_ns.0, disk.queue_ns.0), (0, 10_000_000, 11_000_000));
}

#[test]
fn a_mount_with_optional_fields_and_an_escaped_name_is_read() {
    let line = br"36 35 98:0 /mnt1 /a\040b rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue";
    let mount = mountinfo::parse(line).unwrap().remove(0);
    assert_eq!((mount.point.as_str(), mount.source.as_str()), ("/a b", "/dev/root"));
    assert_eq!(mount.super_options, ["rw", "errors=continue"]);
}

#[test]
fn a_mount_with_an_empty_source_keeps_its_options() {
    let mount = mountinfo::parse(b"1 0 0:5 / /x rw - tmpfs  rw,size=4k").unwrap().remove(0);
    assert_eq!((mount.source.as_str(), mount.super_options.len()), ("", 2));
}

#[test]
fn a_limit_of_max_or_minus_one_is_none() {
    assert_eq!(cgroup::limit(b"max"), Ok(None));
    assert_eq!(cgroup::limit(b"-1"), Ok(None));
    assert_eq!(cgroup::limit(b"4096"), Ok(Some(4096)));
    assert!(cgroup::limit(b"many").is_err());
}

#[test]
fn a_group_path_may_contain_colons() {
    let memberships = cgroup::parse(b"4:cpu,cpuacct:/a:b\n0::/\n").unwrap();
    assert_eq!((memberships[0].path.as_str(), memberships[0].controllers.len()), ("/a:b", 2));
    assert!(memberships[1].controllers.is_empty());
}

#[test]
fn a_cpu_list_counts_ranges_and_single_numbers() {
    assert_eq!(cpu_list::count(b"0-3,8,10-11\n"), Ok(7));
    assert_eq!(cpu_list::count(b"0\n"), Ok(1));
    assert!(cpu_list::count(b"3-1").is_err());
    assert!(cpu_list::count(b"").is_err());
    assert_eq!(cpu_list::numbers(b"0-3,8,10-11\n"), Ok(vec![0, 1, 2, 3, 8, 10, 11]));
    for malformed in [&b""[..], b"0-", b"0-9999999", b"x", b"1,,2"] {
        assert!(cpu_list::numbers(malformed).is_err());
    }
}

#[test]
fn the_scheduler_in_brackets_is_the_active_one() {
    assert_eq!(block::active_scheduler(b"mq-deadline kyber [bfq] none\n").as_deref(), Some("bfq"));
    assert_eq!(block::active_scheduler(b"none\n").as_deref(), Some("none"));
    assert_eq!(block::active_scheduler(b"a b\n"), None);
}

#[test]
fn io_max_gives_each_limit_that_is_set() {
    let limits =
        block::throttle_v2(b"8:0 rbps=max wbps=1048576 riops=max wiops=120\n8:16 rbps=max wbps=max\n");
    let rule = |kind, limit_per_s| DeviceThrottle { device: "8:0".to_owned(), kind, limit_per_s };
    assert_eq!(
        limits,
        Ok(vec![rule(ThrottleKind::WriteBytes, 1_048_576), rule(ThrottleKind::WriteOps, 120)])
    );
    assert!(block::throttle_v2(b"8:0 riops=many\n").is_err());
}

#[test]
fn mountstats_counts_the_connections_of_each_mount() {
    let text = b"device proc mounted on /proc with fstype proc\n\
        device srv:/x mounted on /mnt/a\\040b with fstype nfs4 statvers=1.1\n\
        \topts:\trw,vers=4.2,proto=tcp\n\txprt:\ttcp 0 0 1\n\txprt:\ttcp 0 0 1\n";
    let mounts = mountstats::parse(text);
    assert_eq!((mounts.len(), mounts[0].point.as_str(), mounts[0].connection_count), (1, "/mnt/a b", 2));
    assert_eq!(mounts[0].options, ["rw", "vers=4.2", "proto=tcp"]);
}

#[test]
fn mountstats_counts_the_calls_of_each_procedure_and_passes_over_what_is_none() {
    let text = b"device srv:/x mounted on /mnt with fstype nfs statvers=1.1\n\
        \tage:\t9\n\tbytes:\t1 2 3 4 4096 8192 7 8\n\tRPC iostats version: 1.1  p/v: 100003/3 (nfs)\n\
        \tper-op statistics\n\t        NULL: 0 0 0 0 0 0 0 0 0\n\
        \t        READ: 10 12 1 1480 41000 30 250 290 2\n\t       WRITE: 3 3 0 900 480 0 9 9\n\
        \t      COMMIT: 1 x 0 1 1 1 1 1\n\t        low: 1 1 1 1 1 1 1 1 1\n";
    let mounts = mountstats::parse(text);
    let [mount] = mounts.as_slice() else { panic!("{mounts:?}") };
    assert_eq!((mount.read_bytes, mount.write_bytes), (4096, 8192));
    let names: Vec<&str> = mount.procedures.iter().map(|one| one.procedure.as_str()).collect();
    assert_eq!(names, ["READ", "WRITE"]);
    let read = &mount.procedures[0];
    assert_eq!(
        (read.call_count, read.transmission_count, read.timeout_count, read.error_count),
        (10, 12, 1, 2)
    );
    let times = [read.queue_ns, read.round_trip_ns, read.execute_ns].map(|time| time.0 / 1_000_000);
    assert_eq!((times, read.received_bytes.0), ([30, 250, 290], 41_000));
    assert_eq!(mount.procedures[1].error_count, 0, "kernels before 5.3 do not count them");
}

#[test]
fn a_cpu_without_a_line_of_flags_says_nothing_about_hypervisors() {
    let arm = cpuinfo::parse(b"processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU part\t: 0xd0c\n");
    assert_eq!((arm.model, arm.hypervisor), (None, None));
    let x86 = cpuinfo::parse(b"model name\t: Some CPU @ 2: GHz\nflags\t\t: fpu hypervisor sse\n");
    assert_eq!((x86.model.as_deref(), x86.hypervisor), (Some("Some CPU @ 2: GHz"), Some(true)));
}
