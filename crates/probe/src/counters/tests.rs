//! Facts about the reader on small trees and on this machine.

use std::fs;
use std::process::{Command, Stdio};

use narrows_model::counters::{ForeignCpu, ForeignProgram, ThreadTimes};
use narrows_model::units::Bytes;

use super::*;

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn pid_line(pid: u32, parent: u32, cpu: [u32; 4]) -> String {
    let [user, system, children_user, children_system] = cpu;
    format!(
        "{pid} (a (b) c) S {parent} 1 1 0 -1 0 0 0 0 0 {user} {system} {children_user} {children_system} 20 0 1 0 99 0\n"
    )
}

#[test]
fn an_empty_tree_gives_no_counter_and_says_so() {
    let folder = tree(&[]);
    let mut reader = CounterReader::new(
        &Root::at(folder.path()),
        Role::Client,
        &CounterScope { pids: vec![7], devices: vec![], path_pids: None },
    );
    let sample = reader.read(5);
    assert_eq!((sample.at_ns, sample.host_cpu, sample.process_cpu), (Nanos(5), None, None));
    assert!(sample.disks.is_empty() && sample.nics.is_empty() && sample.memory.is_none());
    let expected = ["/proc/stat", "/proc/meminfo", "/proc/net/dev", "/proc/diskstats", "/proc/7/stat"];
    for file in expected {
        assert!(reader.unknown().iter().any(|line| line.contains(file)), "{file}: {:?}", reader.unknown());
    }
}

#[test]
fn process_cpu_counts_children_that_ended() {
    let folder = tree(&[("proc/7/stat", &pid_line(7, 1, [3, 4, 10, 20]))]);
    let scope = CounterScope { pids: vec![7], devices: vec![], path_pids: None };
    let mut reader = CounterReader::new(&Root::at(folder.path()), Role::Server, &scope);
    let cpu = reader.read(0).process_cpu.unwrap();
    assert_eq!((cpu.user_ns, cpu.system_ns), (Nanos(130_000_000), Nanos(240_000_000)));
}

#[test]
fn threads_of_rings_are_distinguished_and_keep_their_time_when_they_end() {
    let folder = tree(&[
        ("proc/7/stat", &pid_line(7, 1, [3, 40, 0, 0])),
        ("proc/7/task/7/comm", "narrows\n"),
        ("proc/7/task/7/stat", &pid_line(7, 1, [3, 4, 0, 0])),
        ("proc/7/task/8/comm", "iou-sqp-7\n"),
        ("proc/7/task/8/stat", &pid_line(8, 1, [0, 30, 0, 0])),
        ("proc/7/task/9/comm", "iou-wrk-7\n"),
        ("proc/7/task/9/stat", &pid_line(9, 1, [1, 5, 0, 0])),
    ]);
    let scope = CounterScope { pids: vec![7], devices: vec![], path_pids: None };
    let mut reader = CounterReader::new(&Root::at(folder.path()), Role::Client, &scope);
    let ring = reader.read(0).ring_cpu.unwrap();
    assert_eq!((ring.polling_thread_count, ring.polling_ns), (1, Nanos(300_000_000)));
    assert_eq!((ring.worker_thread_count, ring.worker_ns), (1, Nanos(60_000_000)));
    fs::remove_dir_all(folder.path().join("proc/7/task/8")).unwrap();
    assert_eq!(reader.read(1).ring_cpu, Some(ring));
}

#[test]
fn a_line_out_of_shape_is_reported_with_file_and_line_and_only_once() {
    let folder = tree(&[("proc/diskstats", "8 0 sda 1 2 3 4 5 6 7 8 0 9 10\n8 16 sdb one\n")]);
    let scope = CounterScope { pids: vec![], devices: vec!["sdb".to_owned()], path_pids: None };
    let mut reader = CounterReader::new(&Root::at(folder.path()), Role::Client, &scope);
    reader.read(0);
    reader.read(1);
    let about = reader.unknown().iter().filter(|line| line.contains("/proc/diskstats")).collect::<Vec<_>>();
    assert_eq!(about.len(), 1);
    assert!(about[0].contains("line 2") && about[0].contains("one"), "{about:?}");
}

#[test]
fn a_file_larger_than_the_buffer_is_read_whole() {
    let lines: Vec<_> = (0..2_000).map(|n| format!("8 {n} sd{n} {n} 0 8 0 0 0 0 0 0 0 0")).collect();
    let lines = lines.join("\n");
    assert!(lines.len() > 32 << 10);
    let folder = tree(&[("proc/diskstats", &lines)]);
    let scope =
        CounterScope { pids: vec![], devices: vec!["sd0".to_owned(), "sd1999".to_owned()], path_pids: None };
    let mut reader = CounterReader::new(&Root::at(folder.path()), Role::Client, &scope);
    let disks = reader.read(0).disks;
    assert_eq!(disks.iter().map(|disk| disk.read_count).collect::<Vec<_>>(), [0, 1_999]);
    assert_eq!(disks[1].read_bytes, Bytes(4_096));
}

#[test]
fn partitions_are_left_out_when_no_device_is_named() {
    let line = |name: &str| format!("8 0 {name} 1 0 0 0 0 0 0 0 0 0 0\n");
    let stats = format!("{}{}{}", line("sda"), line("sda1"), line("cciss/c0d0"));
    let folder =
        tree(&[("proc/diskstats", &stats), ("sys/block/sda/size", "1"), ("sys/block/cciss!c0d0/size", "1")]);
    let mut reader = CounterReader::new(&Root::at(folder.path()), Role::Client, &CounterScope::default());
    let names: Vec<_> = reader.read(0).disks.into_iter().map(|disk| disk.name).collect();
    assert_eq!(names, ["sda", "cciss/c0d0"]);
}

#[test]
fn throttling_is_read_at_the_ancestor_with_the_tightest_quota() {
    let mounts = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    let stat = |usage: u32, throttled: u32| {
        format!("usage_usec {usage}\nnr_periods 9\nnr_throttled {throttled}\nthrottled_usec {throttled}\n")
    };
    let folder = tree(&[
        ("proc/self/mountinfo", mounts),
        ("proc/self/cgroup", "0::/a/b\n"),
        ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
        ("sys/fs/cgroup/a/cpu.stat", &stat(900, 4)),
        ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/a/b/cpu.stat", &stat(700, 0)),
    ]);
    let mut reader = CounterReader::new(&Root::at(folder.path()), Role::Client, &CounterScope::default());
    let group = reader.read(0).cgroup_cpu.unwrap();
    assert_eq!((group.path.as_str(), group.usage_ns), ("/a/b", Nanos(700_000)));
    assert_eq!((group.throttled_count, group.throttled_ns, group.period_count), (4, Nanos(4_000), 9));
    assert!(group.quota_cpus.is_some_and(|cpus| (cpus - 0.5).abs() < 1e-12));
}

#[test]
fn time_that_is_accounted_for_another_group_than_the_one_with_the_quota_is_not_taken_for_its_own() {
    let mounts = "30 1 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                  31 1 0:27 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n";
    let usage_ns = |accounted: &str| {
        let folder = tree(&[
            ("proc/self/mountinfo", mounts),
            ("proc/self/cgroup", &format!("3:cpuacct:{accounted}\n2:cpu:/a\n")),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "20000\n"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu/a/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 70\n"),
            ("sys/fs/cgroup/cpuacct/cpuacct.usage", "900\n"),
            ("sys/fs/cgroup/cpuacct/a/cpuacct.usage", "300\n"),
        ]);
        let mut reader = CounterReader::new(&Root::at(folder.path()), Role::Client, &CounterScope::default());
        let group = reader.read(0).cgroup_cpu.unwrap();
        assert_eq!((group.path.as_str(), group.throttled_ns, group.quota_cpus), ("/a", Nanos(70), Some(0.2)));
        group.usage_ns
    };
    assert_eq!((usage_ns("/a"), usage_ns("/")), (Nanos(300), Nanos(0)));
}

/// A child of this process that uses some CPU time and then waits for a line.
fn burner() -> std::process::Child {
    let script = "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; echo; read x";
    Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

fn finish_work(child: &mut std::process::Child) {
    use std::io::Read;
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
}

#[test]
fn an_ended_process_keeps_its_time_when_its_parent_is_not_counted() {
    let mut child = burner();
    finish_work(&mut child);
    let scope = CounterScope { pids: vec![child.id()], devices: vec![], path_pids: None };
    let mut reader = CounterReader::new(&Root::system(), Role::Client, &scope);
    let before = reader.read(0).process_cpu.unwrap();
    assert!(before.user_ns > Nanos(0));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(reader.read(1).process_cpu.unwrap().user_ns >= before.user_ns);
}

#[test]
fn an_ended_child_counts_once_when_its_parent_is_counted_too() {
    // A parent of its own, so that other tests' children are not charged to it.
    let script = "sh -c 'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; echo; read x' <&0 & c=$!; echo $c; wait $c; echo; read y";
    let mut parent = Command::new("bash")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(parent.stdout.take().unwrap()));
    let child: u32 = lines.next().unwrap().unwrap().parse().unwrap();
    lines.next();
    let scope = CounterScope { pids: vec![child, parent.id()], devices: vec![], path_pids: None };
    let mut reader = CounterReader::new(&Root::system(), Role::Client, &scope);
    let before = reader.read(0).process_cpu.unwrap();
    std::io::Write::write_all(parent.stdin.as_mut().unwrap(), b"end\n").unwrap();
    lines.next();
    let after = reader.read(1).process_cpu.unwrap();
    assert!(after.user_ns >= before.user_ns && before.user_ns > Nanos(50_000_000), "{before:?}");
    assert!(after.user_ns.0 < before.user_ns.0 * 3 / 2, "counted twice: {before:?} {after:?}");
    parent.kill().unwrap();
    parent.wait().unwrap();
}

#[test]
fn every_source_of_this_machine_can_be_read() {
    let scope = CounterScope { pids: vec![std::process::id()], devices: vec![], path_pids: None };
    let mut reader = CounterReader::new(&Root::system(), Role::Client, &scope);
    let sample = reader.read(0);
    assert!(reader.unknown().is_empty(), "{:?}", reader.unknown());
    let range = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let online: u32 = range
        .trim()
        .split(',')
        .map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            last.parse::<u32>().unwrap() - first.parse::<u32>().unwrap() + 1
        })
        .sum();
    assert_eq!(sample.host_cpu.unwrap().online_cpus, online);
    assert!(sample.memory.unwrap().available_bytes > Bytes(0));
    assert!(sample.nics.iter().any(|nic| nic.name == "lo"));
}

/// Processes of a tree: pid, parent, name, flags, and its CPU ticks in user mode, own and of children that ended.
fn set_processes(folder: &tempfile::TempDir, processes: &[(u32, u32, &str, u32, [u32; 2])]) {
    let _ = fs::remove_dir_all(folder.path().join("proc"));
    for (pid, parent, name, flags, [own, children]) in processes {
        let path = folder.path().join(format!("proc/{pid}/stat"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let line = format!(
            "{pid} ({name}) S {parent} 1 1 0 -1 {flags} 0 0 0 0 {own} 0 {children} 0 20 0 1 0 99 0\n"
        );
        fs::write(path, line).unwrap();
    }
}

const KERNEL_THREAD: u32 = 0x0020_0000;

/// A reader at process 7 whose path has process 9 too.
fn census(folder: &tempfile::TempDir) -> CounterReader {
    let scope = CounterScope { pids: vec![7], devices: vec![], path_pids: Some(vec![9]) };
    CounterReader::new(&Root::at(folder.path()), Role::Client, &scope)
}

#[test]
fn programs_of_others_are_all_but_the_paths_processes_their_children_and_the_kernels_threads() {
    let folder = tree(&[]);
    let processes = |grown: u32| {
        [
            (7, 1, "narrows", 0, [5 + grown, 0]),
            (8, 7, "client", 0, [5 + grown, 0]),
            (9, 1, "serve", 0, [5 + grown, 0]),
            (11, 2, "kworker/0:1", KERNEL_THREAD, [5 + grown, 0]),
            (20, 1, "burn\u{1b}[31m", 0, [1000 + 2 * grown, 0]),
            (21, 20, "idle", 0, [7, 0]),
            (22, 1, "some", 0, [0, grown]),
        ]
    };
    set_processes(&folder, &processes(0));
    let mut reader = census(&folder);
    assert_eq!(reader.read(0).foreign_cpu.unwrap(), ForeignCpu::default());
    set_processes(&folder, &processes(50));
    let foreign = reader.read(1).foreign_cpu.unwrap();
    assert_eq!(foreign.used_ns, Nanos(1_500_000_000));
    let named = |name: &str, pid, ms: u64| ForeignProgram {
        name: name.to_owned(),
        pid,
        used_ns: Nanos(ms * 1_000_000),
    };
    assert_eq!(foreign.programs, [named("burn\u{1b}[31m", 20, 1000), named("some", 22, 500)]);
    // Nothing since: the sum stays, and nobody is named.
    let again = reader.read(2).foreign_cpu.unwrap();
    assert_eq!((again.used_ns, again.programs), (Nanos(1_500_000_000), vec![]));
}

#[test]
fn programs_that_start_and_end_between_two_readings_are_charged_to_their_parents_and_counted_once() {
    let folder = tree(&[]);
    set_processes(&folder, &[(20, 1, "make", 0, [0, 0]), (21, 20, "cc", 0, [30, 0])]);
    let mut reader = census(&folder);
    // 21 ended with 10 ticks more, another one came and ended with 25, and 23 runs.
    set_processes(&folder, &[(20, 1, "make", 0, [1, 65]), (23, 20, "cc", 0, [4, 0])]);
    let foreign = reader.read(1).foreign_cpu.unwrap();
    assert_eq!(foreign.used_ns, Nanos((1 + 10 + 25 + 4) * 10_000_000));
    assert_eq!(foreign.programs[0].name, "make");
}

#[test]
fn what_a_chain_of_programs_had_used_before_is_not_charged_to_the_shell_that_waits_for_both() {
    let folder = tree(&[]);
    let before = [(20, 1, "bash", 0, [0, 0]), (21, 20, "timeout", 0, [1, 0]), (22, 21, "sh", 0, [400, 0])];
    set_processes(&folder, &before);
    let mut reader = census(&folder);
    // Both ended, with 15 ticks more.
    set_processes(&folder, &[(20, 1, "bash", 0, [0, 416])]);
    let foreign = reader.read(1).foreign_cpu.unwrap();
    assert_eq!((foreign.used_ns, foreign.programs[0].used_ns), (Nanos(150_000_000), Nanos(150_000_000)));
}

#[test]
fn a_number_that_is_anothers_by_now_and_a_process_that_ended_unseen_count_nothing_twice() {
    let folder = tree(&[]);
    set_processes(&folder, &[(20, 1, "old", 0, [500, 0])]);
    let mut reader = census(&folder);
    set_processes(&folder, &[(20, 1, "old", 0, [490, 0])]);
    assert_eq!(
        reader.read(1).foreign_cpu.unwrap().used_ns,
        Nanos(0),
        "a counter that goes back counts nothing"
    );
    set_processes(&folder, &[]);
    let folder_of_proc = folder.path().join("proc");
    fs::create_dir_all(folder_of_proc).unwrap();
    assert_eq!(reader.read(2).foreign_cpu.unwrap().used_ns, Nanos(0));
}

#[test]
fn without_knowing_the_paths_processes_no_program_is_counted() {
    let folder = tree(&[]);
    set_processes(&folder, &[(20, 1, "burn", 0, [5, 0])]);
    let scope = CounterScope { pids: vec![7], devices: vec![], path_pids: None };
    let mut reader = CounterReader::new(&Root::at(folder.path()), Role::Client, &scope);
    assert_eq!(reader.read(0).foreign_cpu, None);
}

#[test]
fn threads_sum_their_waits_and_the_busiest_is_that_since_the_reading_before() {
    let folder =
        tree(&[("proc/7/task/7/schedstat", "1000 50 3\n"), ("proc/7/task/8/schedstat", "9000 100 3\n")]);
    let scope = CounterScope { pids: vec![7], devices: vec![], path_pids: None };
    let mut reader = CounterReader::new(&Root::at(folder.path()), Role::Server, &scope);
    reader.read(0);
    fs::write(folder.path().join("proc/7/task/7/schedstat"), "1300 250 9\n").unwrap();
    fs::remove_dir_all(folder.path().join("proc/7/task/8")).unwrap();
    let threads = reader.read(1).threads.unwrap();
    let expected = ThreadTimes {
        running_ns: Nanos(10_300),
        waiting_ns: Nanos(350),
        busiest_running_ns: Nanos(300),
        busiest_waiting_ns: Nanos(200),
    };
    assert_eq!(threads, expected);
}

#[test]
fn a_thread_that_ends_between_two_readings_is_counted_to_its_end_if_it_notes_that() {
    if fs::read("/proc/thread-self/schedstat").is_err() {
        return; // A kernel without these times.
    }
    let scope = CounterScope { pids: vec![std::process::id()], devices: vec![], path_pids: None };
    let mut reader = CounterReader::new(&Root::system(), Role::Server, &scope);
    let before = reader.read(0).threads.unwrap();
    let used_ns = std::thread::spawn(|| {
        let mut sum = 0_u64;
        while narrows_sys::process::cpu_times(narrows_sys::process::CpuScope::Thread).total_ns() < 60_000_000
        {
            sum = std::hint::black_box(sum + 1);
        }
        note_ending_thread();
        50_000_000
    });
    let used_ns = used_ns.join().unwrap();
    let after = reader.read(1).threads.unwrap();
    assert!(after.running_ns.0 - before.running_ns.0 >= used_ns, "{before:?} {after:?}");
    assert!(after.busiest_running_ns.0 >= used_ns, "{after:?}");
}
