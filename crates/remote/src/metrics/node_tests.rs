//! What is read of the text of a `node_exporter`, and what of it is refused: cut, malformed and hostile texts.

use super::*;

const TEXT: &str = r#"# HELP go_goroutines Number of goroutines that currently exist.
# TYPE go_goroutines gauge
go_goroutines 8
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 1000.5
node_cpu_seconds_total{cpu="0",mode="iowait"} 1
node_cpu_seconds_total{cpu="0",mode="irq"} 0.25
node_cpu_seconds_total{cpu="0",mode="nice"} 0.5
node_cpu_seconds_total{cpu="0",mode="softirq"} 2
node_cpu_seconds_total{cpu="0",mode="steal"} 3
node_cpu_seconds_total{cpu="0",mode="system"} 4
node_cpu_seconds_total{cpu="0",mode="user"} 5
node_cpu_seconds_total{cpu="1",mode="idle"} 1.0e+03
node_cpu_guest_seconds_total{cpu="0",mode="user"} 7
node_disk_io_time_seconds_total{device="nvme0n1"} 12.5
node_disk_read_bytes_total{device="nvme0n1"} 4.096e+06
node_disk_read_bytes_total{device="nvme0n1p1"} 4.096e+06
node_disk_reads_completed_total{device="nvme0n1"} 1000
node_disk_written_bytes_total{device="dm-0"} 8192
node_disk_written_bytes_total{device="nvme0n1"} 8192
node_disk_info{device="nvme0n1",major="259",minor="0",path="pci-0000:00"} 1
node_filesystem_size_bytes{device="/dev/x",mountpoint="/"} broken line that is not read
node_memory_Cached_bytes 2.0e+09
node_memory_MemAvailable_bytes 8.0e+09
node_network_receive_bytes_total{device="eth0"} 1.5e+09
node_network_transmit_bytes_total{device="eth0"} 2.5e+09
"#;

#[test]
fn the_figures_of_a_machine_are_read() {
    let found = counters(TEXT).unwrap();
    let cpu = found.host_cpu;
    assert_eq!((cpu.online_cpus, cpu.user_ns), (2, Nanos(5_500_000_000)));
    assert_eq!((cpu.system_ns, cpu.irq_ns), (Nanos(4_000_000_000), Nanos(250_000_000)));
    assert_eq!((cpu.softirq_ns, cpu.steal_ns), (Nanos(2_000_000_000), Nanos(3_000_000_000)));
    assert_eq!((cpu.idle_ns, cpu.iowait_ns), (Nanos(2_000_500_000_000), Nanos(1_000_000_000)));
    let [disk] = found.disks.as_slice() else { panic!("{:?}", found.disks) };
    assert_eq!((disk.name.as_str(), disk.read_bytes), ("nvme0n1", Bytes(4_096_000)));
    assert_eq!((disk.read_count, disk.write_bytes), (1000, Bytes(8192)));
    assert_eq!(disk.busy_ns, Nanos(12_500_000_000));
    assert_eq!(
        (found.nics[0].receive_bytes, found.nics[0].send_bytes),
        (Bytes(1_500_000_000), Bytes(2_500_000_000))
    );
    assert_eq!(found.memory.unwrap().available_bytes, Bytes(8_000_000_000));
}

#[test]
fn the_time_of_boot_is_read_in_whole_seconds_where_it_is_there() {
    assert_eq!(counters(TEXT).unwrap().boot_time_s, None);
    let booted = format!("{TEXT}node_boot_time_seconds 1.732571234e+09\n");
    assert_eq!(counters(&booted).unwrap().boot_time_s, Some(1_732_571_234));
    assert!(counters(&format!("{TEXT}node_boot_time_seconds NaN\n")).is_err());
}

#[test]
fn devices_whose_busy_time_is_not_reported_are_left_out_instead_of_idle() {
    let kept: Vec<&str> = TEXT.lines().filter(|line| !line.contains("_io_time_")).collect();
    let without = format!("{}\n", kept.join("\n"));
    assert!(counters(&without).unwrap().disks.is_empty());
    // The busy time of one of two devices says nothing of the busier one.
    let one_of_two = format!("{TEXT}node_disk_read_bytes_total{{device=\"sdb\"}} 1\n");
    assert!(counters(&one_of_two).unwrap().disks.is_empty());
    // That of a device on top of others is not needed, and one whose counters do not move is idle.
    let idle = TEXT.replace("12.5", "0");
    assert_eq!(counters(&idle).unwrap().disks[0].busy_ns, Nanos(0));
}

#[test]
fn devices_on_top_of_others_that_come_with_file_systems_and_copies_are_none_by_themselves() {
    let names = ["drbd0", "bcache0", "bcache0p1", "zd16", "nbd0", "sda", "zram0"];
    let all: BTreeMap<String, usize> = names.iter().map(|name| ((*name).to_owned(), name.len())).collect();
    let kept: Vec<&str> = names.into_iter().filter(|name| is_device(name, &all)).collect();
    assert_eq!(kept, ["nbd0", "sda"]);
}

#[test]
fn a_text_without_cpu_time_is_not_a_node_exporters() {
    for text in ["", "<html>\n<body>hello</body>\n", "node_memory_MemAvailable_bytes 1\n"] {
        let problem = counters(text).unwrap_err();
        assert!(problem.contains("it has no node_cpu_seconds_total"), "{text}: {problem}");
    }
}

#[test]
fn a_text_that_is_cut_at_any_byte_is_an_error_or_has_whole_lines() {
    let ends = (1..TEXT.len()).filter(|end| TEXT.is_char_boundary(*end));
    for end in ends {
        let read = counters(&TEXT[..end]);
        assert!(read.is_err() || TEXT[..end].ends_with('\n'), "{end}");
    }
}

#[test]
fn values_that_no_counter_has_are_refused_with_their_line() {
    for value in ["-1", "NaN", "+Inf", "1e300", "x", ""] {
        let text = format!("node_cpu_seconds_total{{cpu=\"0\",mode=\"idle\"}} {value}\n");
        let problem = counters(&text).unwrap_err();
        assert!(problem.starts_with("line 1 "), "{value}: {problem}");
    }
    let unlabelled = counters("node_cpu_seconds_total 5\n").unwrap_err();
    assert!(unlabelled.contains("no labels cpu and mode"), "{unlabelled}");
}

#[test]
fn a_cpu_that_is_there_twice_is_refused() {
    let line = "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 1\n";
    assert!(counters(&line.repeat(2)).unwrap_err().contains("line 2 is there twice"));
}

#[test]
fn hostile_names_are_bounded_and_printable() {
    let long = "x".repeat(NAME_BYTES_MAX + 1);
    let text = format!("node_disk_read_bytes_total{{device=\"{long}\"}} 1\n");
    assert!(counters(&text).unwrap_err().contains("a device of 129 bytes"));
    let escape = "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 1\nnode_disk_io_time_seconds_total{device=\"a\x1b[2Jb\"} 1\n";
    let found = counters(escape).unwrap();
    assert!(!found.disks[0].name.contains('\x1b'), "{:?}", found.disks[0].name);
    let many = (0..=PARTS_MAX)
        .map(|cpu| format!("node_cpu_seconds_total{{cpu=\"{cpu}\",mode=\"idle\"}} 1\n"))
        .collect::<Vec<_>>()
        .concat();
    assert!(counters(&many).unwrap_err().contains("more than 8192 CPUs"));
}

#[test]
fn random_bytes_are_never_a_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..20_000 {
        let mut bytes = TEXT.as_bytes()[100..900].to_vec();
        for _ in 0..4 {
            let at = usize::try_from(next() % 800).unwrap();
            bytes[at] = next().to_le_bytes()[0];
        }
        let _read = counters(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn devices_by_themselves_are_told_from_parts_and_from_those_on_top() {
    let names =
        ["sda", "sda1", "nvme0n1", "nvme0n1p2", "mmcblk0", "mmcblk0p1", "dm-3", "md0", "loop7", "sdb", "vda"];
    let all: BTreeMap<String, DiskCounters> = names
        .iter()
        .map(|name| {
            ((*name).to_owned(), DiskCounters { name: (*name).to_owned(), ..DiskCounters::default() })
        })
        .collect();
    let kept: Vec<&str> = names.into_iter().filter(|name| is_device(name, &all)).collect();
    assert_eq!(kept, ["sda", "nvme0n1", "mmcblk0", "sdb", "vda"]);
}
