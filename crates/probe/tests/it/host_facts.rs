//! Facts about eight machines given as trees: what each of them is.

use crate::support::{host, lists, nic, root};
use narrows_model::units::Bytes;
use narrows_probe::inventory::{CpuCache, largest_cpu_cache};

const KIB: u64 = 1024;

fn is_near(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() < 1e-9)
}

#[test]
fn the_laptop_is_no_virtual_machine_and_saves_power() {
    let (facts, _) = host("laptop");
    assert_eq!((facts.hostname.as_str(), facts.online_cpus), ("thinkpad", 8));
    assert_eq!(facts.kernel_release.as_deref(), Some("6.8.0-45-generic"));
    assert_eq!(facts.boot_id.as_deref(), Some("7d1c1e7e-53f4-4bd3-9a2b-0c1d2e3f4a5b"));
    assert_eq!(facts.cpu_model.as_deref(), Some("Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz"));
    assert_eq!((facts.governor.as_deref(), facts.virtual_machine), (Some("powersave"), Some(false)));
    assert_eq!(facts.memory_bytes, Some(Bytes(16_128_000 * KIB)));
    assert_eq!(facts.memory_available_bytes, Some(Bytes(9_000_000 * KIB)));
    assert_eq!((facts.cgroup_version, facts.quota_cpus, facts.memory_limit_bytes), (Some(2), None, None));
    assert!(is_near(facts.steal_ratio, 0.0));
}

#[test]
fn what_the_process_knows_of_itself_is_passed_through() {
    let (facts, _) = host("laptop");
    assert_eq!(facts.affinity_cpus, [0, 1]);
    assert_eq!(facts.clock_resolution_ns.map(|ns| ns.0), Some(1));
}

#[test]
fn a_wireless_or_unplugged_link_has_no_speed_and_that_is_listed() {
    let (facts, unknown) = host("laptop");
    for name in ["wlp3s0", "enp0s31f6"] {
        assert_eq!(nic(&facts, name).link_bits_per_s, None);
        assert!(!nic(&facts, name).is_virtual);
        assert!(lists(&unknown, &["link speed", name]), "{unknown:?}");
    }
    assert_eq!(nic(&facts, "enp0s31f6").operstate, "down");
    assert!(nic(&facts, "lo").is_virtual);
    assert_eq!(nic(&facts, "lo").mtu_bytes, Some(Bytes(65_536)));
    assert!(!lists(&unknown, &["link speed", "lo"]));
}

#[test]
fn the_server_has_jumbo_frames_a_bond_and_a_link_without_speed() {
    let (facts, _) = host("md-server");
    assert_eq!(facts.nics.len(), 4, "bonding_masters is no interface");
    assert_eq!(nic(&facts, "eno1").link_bits_per_s, Some(10_000_000_000));
    assert_eq!(nic(&facts, "eno1").mtu_bytes, Some(Bytes(9_000)));
    assert_eq!(nic(&facts, "eno2").link_bits_per_s, None, "4294967295 is the kernel's unknown");
    assert!(nic(&facts, "bond0").is_virtual);
    assert_eq!(nic(&facts, "bond0").link_bits_per_s, Some(20_000_000_000), "the sum of its links");
    assert_eq!(facts.memory_limit_bytes, Some(Bytes(64 << 30)), "set on the ancestor alone");
}

#[test]
fn the_container_is_bound_by_the_quota_of_its_ancestor_and_its_own_memory_limit() {
    let (facts, _) = host("container");
    assert_eq!(facts.cgroup_version, Some(2));
    assert!(is_near(facts.quota_cpus, 1.5), "{:?}", facts.quota_cpus);
    assert_eq!(facts.memory_limit_bytes, Some(Bytes(512 << 20)));
    assert_eq!((facts.virtual_machine, facts.governor), (Some(true), None));
    // 500 of 6000 + 2000 + 90000 + 1000 + 500 + 500 ticks.
    assert!(is_near(facts.steal_ratio, 0.005));
}

#[test]
fn the_hybrid_guest_takes_each_limit_from_its_own_hierarchy() {
    let (facts, unknown) = host("firecracker");
    assert_eq!((facts.cgroup_version, facts.virtual_machine), (Some(1), Some(true)));
    assert!(is_near(facts.quota_cpus, 0.3));
    assert_eq!(facts.memory_limit_bytes, Some(Bytes(2 << 30)), "the largest number of version 1 is no limit");
    assert_eq!(nic(&facts, "eth0").link_bits_per_s, None);
    assert!(!lists(&unknown, &["hypervisor"]));
}

#[test]
fn a_version_1_hierarchy_that_nothing_mounts_limits_nothing() {
    let (facts, _) = host("nfs3-server");
    assert_eq!((facts.cgroup_version, facts.quota_cpus), (None, None));
}

#[test]
fn what_the_old_kernel_does_not_report_is_none_and_listed() {
    let (facts, unknown) = host("old-kernel");
    assert!(facts.boot_id.is_none() && facts.memory_available_bytes.is_none() && facts.steal_ratio.is_none());
    assert_eq!((facts.online_cpus, facts.cgroup_version), (2, None));
    assert!(
        lists(&unknown, &["boot id", "/proc/sys/kernel/random/boot_id", "does not exist"]),
        "{unknown:?}"
    );
    assert!(lists(&unknown, &["memory available", "MemAvailable"]));
    assert!(lists(&unknown, &["steal"]));
    assert_eq!(nic(&facts, "eth0").link_bits_per_s, Some(1_000_000_000));
}

#[test]
fn an_empty_tree_names_everything_that_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let process = narrows_probe::inventory::ProcessFacts::default();
    let (facts, unknown) = narrows_probe::inventory::host(&narrows_probe::Root::at(folder.path()), &process);
    assert_eq!((facts.online_cpus, facts.virtual_machine, facts.memory_bytes), (0, None, None));
    for fact in ["host name", "boot id", "kernel release", "CPU model", "CPUs online", "memory", "hypervisor"]
    {
        assert!(lists(&unknown, &[fact]), "{fact}: {unknown:?}");
    }
}

#[test]
fn the_number_that_a_veth_gives_as_its_speed_is_no_link_speed() {
    let (facts, unknown) = host("container");
    let eth0 = nic(&facts, "eth0");
    assert_eq!((eth0.is_virtual, eth0.link_bits_per_s), (true, None));
    assert!(!lists(&unknown, &["link speed"]), "{unknown:?}");
}

#[test]
fn without_a_flag_of_the_cpu_the_firmware_show_a_hypervisor_or_nothing_does() {
    let makers = [
        ("Amazon EC2", "m7g.large", Some(true)),
        ("Amazon EC2", "m7g.metal", None),
        ("QEMU", "virt", Some(true)),
        ("Ampere", "Mt. Jade", None),
    ];
    for (vendor, product, expected) in makers {
        let folder = tempfile::tempdir().unwrap();
        let firmware = folder.path().join("sys/class/dmi/id");
        std::fs::create_dir_all(&firmware).unwrap();
        std::fs::create_dir_all(folder.path().join("proc")).unwrap();
        std::fs::write(folder.path().join("proc/cpuinfo"), "processor\t: 0\nFeatures\t: fp asimd\n").unwrap();
        std::fs::write(firmware.join("sys_vendor"), vendor).unwrap();
        std::fs::write(firmware.join("product_name"), product).unwrap();
        let process = narrows_probe::inventory::ProcessFacts::default();
        let (facts, _) = narrows_probe::inventory::host(&narrows_probe::Root::at(folder.path()), &process);
        assert_eq!(facts.virtual_machine, expected, "{vendor} {product}");
    }
}

#[test]
fn the_largest_cache_is_found_where_the_machine_lists_any() {
    let of = |machine| largest_cpu_cache(&root(machine));
    let (size_bytes, line_bytes) = (Some(Bytes(8 << 20)), Some(Bytes(64)));
    assert_eq!(of("laptop"), Some(CpuCache { size_bytes, line_bytes }));
    assert_eq!(of("container"), Some(CpuCache { size_bytes: None, line_bytes: Some(Bytes(128)) }));
    assert_eq!(of("old-kernel"), None);
}
