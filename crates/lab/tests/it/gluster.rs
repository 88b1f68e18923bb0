//! GlusterFS as a real parallel file system: daemons on several hosts, bricks on disks whose rates the lab sets, a mount on
//! the client's host.
//!
//! What a volume moves is compared with what its bricks allow: a disk that serves one write of 128 KiB at a time in 10 ms
//! takes 12.5 MiB/s.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::support::check::{Checked, run_check};
use crate::support::fuse::FuseMount;
use crate::support::gluster::{Gluster, Layout};
use crate::support::study::run_study;
use crate::support::{lab_with_gluster, on_a_calm_machine};
use narrows_lab::{DiskPlan, Host, Lab, LabDisks, narrows_bin};
use narrows_model::Cut;

const MIB: f64 = (1 << 20) as f64;
/// Hosts that serve, two bricks each.
const SERVERS: [u8; 2] = [2, 3];
const BRICKS: u8 = 4;
const PLAN: DiskPlan = DiskPlan {
    count: BRICKS,
    mebibytes: 256,
    read_us: 10_000,
    write_us: 10_000,
    at_once: 1,
    ..DiskPlan::PLAIN
};

/// A volume over four slow disks on two hosts, and a host that mounts it.
struct Cluster {
    lab: Lab,
    disks: LabDisks,
}

impl Cluster {
    fn new(lab: Lab) -> Self {
        let disks = lab.disks("bricks", &PLAN).unwrap();
        Self { lab, disks }
    }

    /// The rate of one disk by itself, in bytes a second.
    fn disk_rate(&self) -> f64 {
        rate(&run_study(&self.lab, "disk", &direct_writes(&self.disks.path(0), 4)))
    }

    fn client(&self) -> Host {
        self.lab.host(1).unwrap()
    }

    /// Bricks on the hosts in turn, so that two copies of a file are on two hosts.
    fn bricks(&self, count: u8) -> Vec<(u8, PathBuf)> {
        (0..count)
            .map(|index| (SERVERS[usize::from(index) % SERVERS.len()], self.disks.path(index)))
            .collect()
    }

    fn volume(&self, layout: Layout, brick_count: u8) -> (Gluster<'_>, FuseMount) {
        let volume = Gluster::start(&self.lab, layout, &self.bricks(brick_count));
        let mount = volume.mount(&self.client(), &format!("{layout:?}"));
        (volume, mount)
    }

    /// Removes what a volume that has ended left on the disks: a brick belongs to one volume for ever.
    fn empty_bricks(&self) {
        for index in 0..BRICKS {
            let brick = self.disks.path(index).join("brick");
            if brick.exists() {
                fs::remove_dir_all(brick).unwrap();
            }
        }
    }

    /// Bytes of all files on a brick, whatever they are called there.
    fn stored_bytes(&self, index: u8) -> u64 {
        fn below(folder: &std::path::Path) -> u64 {
            let Ok(entries) = fs::read_dir(folder) else { return 0 };
            let size = |entry: fs::DirEntry| match entry.file_type().unwrap() {
                // Each file has a second name there.
                _ if entry.file_name() == ".glusterfs" => 0,
                kind if kind.is_dir() => below(&entry.path()),
                kind if kind.is_file() => entry.metadata().unwrap().len(),
                _ => 0,
            };
            entries.map(|entry| size(entry.unwrap())).sum()
        }
        below(&self.disks.path(index).join("brick"))
    }
}

/// Writes of 128 KiB past the page caches of client and servers, by this many clients, each with a file of its own: FUSE lets one such
/// write of a file pass at a time.
fn direct_writes(target: &std::path::Path, clients: u32) -> String {
    format!(
        r#"
title = "direct writes"
target = "{}"
seconds = 20

[workload]
op = "write"
block = "128KiB"
file = "16MiB"
order = "random_with_replacement"
access = "direct"
clients = {clients}

[stop]
warm_up = "500ms"
measure = "2s"
"#,
        target.display()
    )
}

fn rate(checked: &Checked) -> f64 {
    checked.only(Cut::Path).rate_bytes_per_s.unwrap().0
}

#[test]
#[ignore = "campaign: needs GlusterFS"]
fn a_volume_moves_what_its_bricks_move_together_by_its_layout() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_gluster() else { return };
        let cluster = Cluster::new(lab);
        let disk = cluster.disk_rate();
        assert!((10.0 * MIB..=13.0 * MIB).contains(&disk), "12.5 MiB/s: {disk}");
        // How many bricks' rates the volume has at most, and how many bytes the bricks store for each of a file.
        let layouts = [
            (Layout::Distributed, BRICKS, 4.0, 1.0),
            (Layout::Replicated, BRICKS, 2.0, 2.0),
            // Each write is one on every brick, however small.
            (Layout::Dispersed, 3, 1.0, 1.5),
        ];
        for (layout, bricks, disks, copies) in layouts {
            let (_volume, mount) = cluster.volume(layout, bricks);
            let whole = vec![7; 8 << 20];
            fs::write(mount.path().join("whole"), &whole).unwrap();
            assert_eq!(fs::read(mount.path().join("whole")).unwrap(), whole);
            let stored: u64 = (0..BRICKS).map(|index| cluster.stored_bytes(index)).sum();
            assert!((stored as f64 / (8.0 * MIB) - copies).abs() < 0.01, "{layout:?}: {stored} bytes");
            let moved = rate(&run_study(
                &cluster.lab,
                &format!("volume-{layout:?}"),
                &direct_writes(mount.path(), 16),
            ));
            assert!(
                moved <= disks * 13.0 * MIB && moved >= 0.5 * disks * disk,
                "{layout:?}: {moved} of {disk}"
            );
            drop(mount);
            cluster.empty_bricks();
        }
    });
}

#[test]
#[ignore = "campaign: needs GlusterFS"]
fn one_disk_and_then_the_volume_with_more_and_more_clients() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_gluster() else { return };
        let cluster = Cluster::new(lab);
        let disk = cluster.disk_rate();
        let (_volume, mount) = cluster.volume(Layout::Distributed, BRICKS);
        let mut command = Command::new(narrows_bin().unwrap());
        command.arg("scale").arg(mount.path()).args(["--clients", "1,2,4,16", "--op", "write"]);
        command.args(["--block", "128KiB", "--file", "16MiB"]);
        let scaled = run_check(&cluster.lab, "scale", command, "--seconds 60");
        let scaling = scaled.summary.scaling.as_ref().expect("a curve");
        let rates: Vec<f64> = scaling.points.iter().map(|point| point.rate).collect();
        // One request at a time is on one disk. Sixteen are on all of them: chance puts the parts of the files on bricks, and
        // what the volume notes beside each write takes turns of the disks too, so that eight clients reach 1.9 to 2.3 disks.
        assert!(rates[0] <= disk * 1.1, "{disk} {rates:?}");
        assert!(
            rates[3] >= 2.0 * disk && rates[3] <= 4.0 * 13.0 * MIB,
            "{disk} {rates:?} {:#?}",
            scaling.shared_stage
        );
    });
}
