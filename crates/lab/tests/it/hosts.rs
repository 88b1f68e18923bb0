//! `--hosts` between real hosts: clients on namespaces with limited links, started by `ip netns exec`, and on a host whose
//! clock and processes are others.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use narrows_lab::{Host, Lab, narrows_bin};
use narrows_model::counters::Role;
use narrows_model::summary::{CpuBasis, SharedStageState};
use narrows_model::{Cut, Inventory, Segment};

use crate::support::check::{Checked, assert_within, run_check, serve};
use crate::support::{SOON, lab, on_a_calm_machine};

/// What the link of each client's host is limited to.
const HOST_LINK: &str = "50mbit";
const HOST_BITS_PER_S: u64 = 50_000_000;
/// The server's link: two hosts fill it, and one cannot.
const SERVER_LINK: &str = "100mbit";
const SERVER_BITS_PER_S: u64 = 100_000_000;

/// Hosts from number `first` on, behind links of their own.
fn client_hosts(lab: &Lab, first: u8, count: u8) -> Vec<Host> {
    let start = |index| {
        let host = lab.host(index).unwrap();
        host.limit_rate(HOST_LINK).unwrap();
        host
    };
    (first..first + count).map(start).collect()
}

/// The inventory of the run, as its record has it.
fn inventory(checked: &Checked) -> Inventory {
    serde_json::from_str(&fs::read_to_string(checked.record.join("inventory.json")).unwrap()).unwrap()
}

#[test]
#[ignore = "campaign: half a minute for a curve over four hosts"]
fn one_host_fills_its_own_link_and_more_of_them_the_link_of_the_server() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let server = lab.host(1).unwrap();
        server.limit_rate(SERVER_LINK).unwrap();
        let served = serve(&lab, &server, None, |_| {});
        let hosts = client_hosts(&lab, 2, 4);
        let names: Vec<&str> = hosts.iter().map(Host::netns).collect();
        let mut command = lab.host(9).unwrap().command(narrows_bin().unwrap());
        command.arg("scale").arg(format!("tcp://{}/memory", served.address));
        command.arg("--token-file").arg(served.token());
        command.args(["--hosts", &names.join(","), "--remote-shell", "ip netns exec"]);
        let words = "--clients 1,2,4 --block 64KiB --depth 4 --cell-seconds 1 --trials 2 --seconds 50";
        let checked = run_check(&lab, "scale-hosts", command, words);

        let scaling = checked.summary.scaling.as_ref().expect("a curve");
        let host_link = server.payload_bytes_per_s(HOST_BITS_PER_S);
        let server_link = server.payload_bytes_per_s(SERVER_BITS_PER_S);
        let expected = [(1, host_link), (2, server_link), (4, server_link)];
        for (point, (clients, rate)) in scaling.points.iter().zip(expected) {
            assert_eq!(point.clients, clients);
            assert_within(point.rate, rate, 0.12);
        }
        // Two trials need not decide that the last doubling adds nothing; one client never fills what they share.
        let state = scaling.shared_stage.state;
        let may = [SharedStageState::SaturatedWithMany, SharedStageState::Undecided];
        assert!(may.contains(&state), "{:?}", scaling.shared_stage);
        for entry in checked.limiting("bulk") {
            assert_eq!(entry.segment, Segment::NetworkBandwidth, "{:#?}", entry.evidence);
        }
        for cell in checked.cells(Cut::Path) {
            let ran: Vec<&str> = cell.per_client.iter().map(|client| client.host.as_str()).collect();
            assert_eq!(ran, names[..ran.len()], "{}", cell.id);
        }
        // Namespaces are hosts of one machine: its counters are theirs.
        assert!(inventory(&checked).client_hosts.iter().all(|host| host.shares_machine));
    });
}

/// A remote shell to hosts with processes and a monotonic clock of their own, 5000 s ahead, in another folder.
fn far_shell(lab: &Lab) -> PathBuf {
    let path = lab.scratch().join("far");
    let text = "#!/bin/sh\nshift\nexec unshare --pid --fork --mount-proc --kill-child --time --monotonic 5000 sh -c \"cd /; \
                exec $*\"\n";
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn clients_elsewhere_start_together_by_another_clock_and_are_not_charged_to_this_machine() {
    let Some(lab) = lab() else { return };
    let folder = lab.scratch().join("shared");
    fs::create_dir(&folder).unwrap();
    let mut command = Command::new(narrows_bin().unwrap());
    // Paths that are relative here are the same files there.
    command.current_dir(lab.scratch()).args(["check", "shared", "--hosts", "a,b", "--remote-shell"]);
    command.arg(far_shell(&lab));
    let words = "--block 64KiB --depth 1 --seconds 20 --cell-seconds 1 --max-rate 100M";
    let checked = run_check(&lab, "far", command, words);

    for host in inventory(&checked).client_hosts {
        assert!(!host.shares_machine, "{host:?}");
        let offset_s = host.clock_offset_ns as f64 / 1e9;
        assert!((offset_s - 5000.0).abs() < 0.1 && host.clock_uncertainty_ns.0 > 0, "{host:?}");
    }
    let mut charged = 0;
    for cell in checked.cells(Cut::Path) {
        let hosts: Vec<&str> = cell.per_client.iter().map(|client| client.host.as_str()).collect();
        assert_eq!(hosts, ["a", "b"], "{}", cell.id);
        // Writes include the sync at their end, for which the disk of this machine takes its time.
        let elapsed_s_max = if cell.op.moves_towards_device() { 4.0 } else { 1.3 };
        for client in &cell.per_client {
            assert!(
                client.ops > 0 && (0.8..elapsed_s_max).contains(&client.elapsed_s),
                "{}: {client:?}",
                cell.id
            );
        }
        if let Some(cpu) = cell.cpu.get(&Role::Client) {
            assert_eq!(cpu.basis, CpuBasis::Thread, "{}", cell.id);
            charged += 1;
        }
        assert!(cell.foreign_cpu.is_empty(), "{}: nothing of this machine is the clients'", cell.id);
    }
    assert!(charged > 0);
    let named = checked.summary.diagnosis.limiting.iter().map(|entry| entry.segment);
    assert!(named.into_iter().all(|segment| segment != Segment::HostCpu));
    assert!(fs::read_dir(&folder).unwrap().next().is_none(), "what was made is removed");
}

#[test]
fn a_block_device_is_refused_where_a_host_is_another_machine() {
    let Some(lab) = lab() else { return };
    let mut command = Command::new(narrows_bin().unwrap());
    command.args(["scale", "blk:/dev/null", "--hosts", "a", "--remote-shell"]).arg(far_shell(&lab));
    let mut process = lab.start("scale-block", command).unwrap();
    let status = process.wait(SOON).unwrap();
    let said = process.stderr().unwrap();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("on host a that name is another disk"), "{said}");
}
