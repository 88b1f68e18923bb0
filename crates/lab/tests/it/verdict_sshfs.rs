//! Folders that a process of this machine serves from another one: it has no device here, and waits for its connection.

use crate::support::check::run_check;
use crate::support::sshfs::SshfsMount;
use crate::support::{lab_with_sshfs, on_a_calm_machine};
use narrows_lab::narrows_bin;
use narrows_model::{Op, Segment};

#[test]
#[ignore = "campaign: needs sshfs, socat and the SFTP server of OpenSSH"]
fn a_folder_behind_sshfs_waits_for_the_network_and_for_no_device() {
    on_a_calm_machine(|| {
        /// A round trip of 10 ms is most of the time of any request.
        const WAY_US: u64 = 5000;
        let Some(lab) = lab_with_sshfs() else { return };
        let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
        server.delay(WAY_US).unwrap();
        let (backing, point) = (lab.scratch().join("backing"), lab.scratch().join("far"));
        std::fs::create_dir(&backing).unwrap();
        let _mounted = SshfsMount::new(&lab, &client, &server, &backing, &point);
        let words = "--block 4KiB --depth 1,4 --seconds 20 --cell-seconds 1.0";
        // In the network of the daemon, whose connection is counted.
        let mut command = client.command(narrows_bin().unwrap());
        command.arg("check").arg(&point);
        let checked = run_check(&lab, "sshfs", command, words);
        for load in ["one-at-a-time read", "random read"] {
            checked.assert_limiting_first(load, Segment::NetworkLatency);
        }
        let limiting = &checked.summary.diagnosis.limiting;
        assert!(limiting.iter().all(|entry| !entry.segment.is_within(Segment::Device)), "{limiting:#?}");
        assert!(limiting.iter().all(|entry| entry.segment != Segment::Unknown), "{limiting:#?}");
        let cell = checked.path_cell(Op::Read, 4 << 10, 1);
        assert_eq!(cell.daemon.as_ref().expect("the daemon is found").name, "sshfs");
        let round_trip = cell.rtt_min_ns.expect("the daemon's connection is found").as_secs_f64() * 1e6;
        assert!((round_trip - (2 * WAY_US) as f64).abs() < 0.15 * (2 * WAY_US) as f64, "{round_trip} us");
        let request_us = 1e6 / cell.ops_per_s.unwrap().0;
        assert!(request_us > (2 * WAY_US) as f64, "each request is sent over the wire: {request_us} us");
    });
}
