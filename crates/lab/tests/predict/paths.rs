//! The paths of which rates are predicted: one limit each that all clients share.

use crate::support::apart::cgroup_with_quota;
use crate::support::check::{Served, serve};
use narrows_lab::{BlkioThrottle, DiskPlan, Host, Lab, pin_to_cpus};

/// A path with one limit that all clients share.
pub(crate) struct ScaledPath {
    /// In words.
    pub limit: &'static str,
    /// Starts its server in this host.
    pub start: fn(&Lab, &Host) -> Served,
    /// The endpoint's store.
    pub layer: &'static str,
    /// Words of `narrows scale`.
    pub words: &'static str,
}

fn memory_behind(lab: &Lab, server: &Host, rate: &str, one_way_us: u64) -> Served {
    server.limit_rate(rate).unwrap();
    if one_way_us > 0 {
        lab.host(2).unwrap().delay(one_way_us).unwrap();
    }
    serve(lab, server, None, |_| {})
}

fn memory_with_quota(lab: &Lab, server: &Host, cpus: f64) -> Served {
    let slow = cgroup_with_quota(lab, "server", cpus);
    serve(lab, server, None, |command| {
        pin_to_cpus(command, &[1]);
        slow.enter(command);
    })
}

fn throttled(lab: &Lab, server: &Host, limits: &BlkioThrottle) -> Served {
    let root = lab.scratch().join("served");
    std::fs::create_dir(&root).unwrap();
    let slow = lab.cgroup("slow").unwrap();
    slow.limit_io(&BlkioThrottle { path: root.clone(), ..limits.clone() }).unwrap();
    serve(lab, server, Some(&root), |command| slow.enter(command))
}

fn disk(lab: &Lab, server: &Host, plan: &DiskPlan) -> Served {
    let disks = lab.disks("predicted", plan).unwrap();
    serve(lab, server, Some(&disks.path(0)), |command| pin_to_cpus(command, &[1]))
}

const LARGE: &str = "--block 64KiB --depth 4 --file 4MiB";
const ONE_AT_A_TIME: &str = "--block 64KiB --depth 1 --file 1MiB";
const SMALL: &str = "--block 4KiB --depth 1 --file 1MiB";

pub(crate) static PATHS: &[ScaledPath] = &[
    ScaledPath {
        limit: "link of 50 Mbit/s",
        start: |lab, server| memory_behind(lab, server, "50mbit", 0),
        layer: "memory",
        words: LARGE,
    },
    ScaledPath {
        limit: "link of 50 Mbit/s, writes",
        start: |lab, server| memory_behind(lab, server, "50mbit", 0),
        layer: "memory",
        words: "--op write --block 64KiB --depth 4 --file 4MiB",
    },
    ScaledPath {
        limit: "link of 100 Mbit/s, 20 ms away",
        start: |lab, server| memory_behind(lab, server, "100mbit", 10_000),
        layer: "memory",
        words: ONE_AT_A_TIME,
    },
    ScaledPath {
        limit: "link of 200 Mbit/s, 20 ms away",
        start: |lab, server| memory_behind(lab, server, "200mbit", 10_000),
        layer: "memory",
        words: ONE_AT_A_TIME,
    },
    ScaledPath {
        limit: "link of 20 Mbit/s, 4 ms away, small requests",
        start: |lab, server| memory_behind(lab, server, "20mbit", 2_000),
        layer: "memory",
        words: SMALL,
    },
    ScaledPath {
        limit: "a fifth of a server's CPU",
        start: |lab, server| memory_with_quota(lab, server, 0.2),
        layer: "memory",
        words: LARGE,
    },
    ScaledPath {
        limit: "a tenth of a server's CPU, small requests",
        start: |lab, server| memory_with_quota(lab, server, 0.1),
        layer: "memory",
        words: SMALL,
    },
    ScaledPath {
        limit: "device of 20 MiB/s",
        start: |lab, server| {
            let limit = Some(20 << 20);
            let limits = BlkioThrottle {
                read_bytes_per_s: limit,
                write_bytes_per_s: limit,
                ..BlkioThrottle::default()
            };
            throttled(lab, server, &limits)
        },
        layer: "disk",
        words: "--block 64KiB --depth 4 --file 4MiB",
    },
    ScaledPath {
        limit: "device of 300 reads a second",
        start: |lab, server| {
            throttled(lab, server, &BlkioThrottle { read_ops_per_s: Some(300), ..BlkioThrottle::default() })
        },
        layer: "disk",
        words: "--block 4KiB --depth 1 --file 4MiB",
    },
    ScaledPath {
        limit: "disk of 400 reads a second",
        // Two at once, so that 4 clients show that it is full.
        start: |lab, server| disk(lab, server, &DiskPlan { read_us: 5_000, at_once: 2, ..DiskPlan::PLAIN }),
        layer: "disk",
        words: "--block 4KiB --depth 1 --file 4MiB",
    },
    ScaledPath {
        limit: "disk of 5 ms a read, 16 at once, behind a link of 300 Mbit/s",
        start: |lab, server| {
            server.limit_rate("300mbit").unwrap();
            disk(lab, server, &DiskPlan { read_us: 5_000, at_once: 16, ..DiskPlan::PLAIN })
        },
        layer: "disk",
        words: "--block 64KiB --depth 1 --file 4MiB",
    },
    ScaledPath {
        limit: "bus of 20 MiB/s",
        start: |lab, server| {
            disk(lab, server, &DiskPlan { shared_bytes_per_s: Some(20 << 20), ..DiskPlan::PLAIN })
        },
        layer: "disk",
        words: "--block 64KiB --depth 2 --file 4MiB",
    },
];
