//! The classics with clients on several hosts, whose links are limited: rows show the rate of each host's own link or its
//! share of the server's, a full link is called saturated, and hosts that differ are named.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use narrows_lab::{Lab, narrows_bin};
use narrows_model::Cut;
use narrows_model::summary::CellSummary;

use crate::support::check::{Checked, Served, assert_within, run_check, serve};
use crate::support::sshfs::SshfsMount;
use crate::support::{SOON, lab, lab_with_sshfs, on_a_calm_machine};

/// What the link of each host is limited to: two of them fill the server's, and one cannot.
const HOST_LINK: &str = "50mbit";
const HOST_BITS_PER_S: u64 = 50_000_000;
const SERVER_LINK: &str = "100mbit";
const SERVER_BITS_PER_S: u64 = 100_000_000;

/// The native output and the reading of a record.
fn diagnosed(lab: &Lab, checked: &Checked) -> String {
    let mut command = Command::new(narrows_bin().unwrap());
    command.arg("diagnose").arg(&checked.record);
    let mut process = lab.start("diagnose", command).unwrap();
    process.wait(SOON).unwrap();
    // Sentences are wrapped.
    process.stdout().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Bytes a second of each client, after their hosts were compared with `names`.
#[track_caller]
fn rates(cell: &CellSummary, names: &[String]) -> Vec<f64> {
    let hosts: Vec<&String> = cell.per_client.iter().map(|client| &client.host).collect();
    assert_eq!(hosts, names.iter().take(hosts.len()).collect::<Vec<_>>(), "{}", cell.id);
    cell.per_client.iter().map(|client| client.bytes.0 as f64 / client.elapsed_s).collect()
}

/// Fails unless `rates` are all of `link` together, and no host has more than its own link or much less than others.
#[track_caller]
fn assert_shared(rates: &[f64], link: f64, host_link: f64) {
    let sum: f64 = rates.iter().sum();
    assert!(sum <= 1.35 * link && sum >= 0.85 * link, "{rates:?} of {link}");
    assert!(rates.iter().all(|rate| *rate <= 1.12 * host_link && *rate >= 0.4 * sum / 4.0), "{rates:?}");
}

/// `narrows suite jovian` from four hosts to the disks of one server, each on a port of its own.
fn four_to_one(lab: &Lab, name: &str, disks: u32, words: &str) -> Checked {
    let server = lab.host(1).unwrap();
    server.limit_rate(SERVER_LINK).unwrap();
    let start = |disk: u32| {
        let root = lab.scratch().join(format!("disk{disk}"));
        fs::create_dir(&root).unwrap();
        serve(lab, &server, Some(&root), |_| {})
    };
    let served: Vec<Served> = (0..disks).map(start).collect();
    let hosts = (2..6).map(|index| {
        let host = lab.host(index).unwrap();
        host.limit_rate(HOST_LINK).unwrap();
        host.netns().to_owned()
    });
    let names: Vec<String> = hosts.collect();
    let addresses = served.iter().map(|served| served.address.clone()).collect::<Vec<_>>().join(",");
    let mut command = lab.host(9).unwrap().command(narrows_bin().unwrap());
    command.args(["suite", "jovian"]).args(words.split_whitespace());
    command.args(["--servers", &addresses, "--node-disks", &disks.to_string(), "--token-file"]);
    command.arg(served[0].token()).args(["--hosts", &names.join(","), "--remote-shell", "ip netns exec"]);
    let checked = run_check(lab, name, command, "--flush drop --trials 1");
    let (link, host_link) =
        (server.payload_bytes_per_s(SERVER_BITS_PER_S), server.payload_bytes_per_s(HOST_BITS_PER_S));
    for cell in checked.cells(Cut::Path) {
        match rates(cell, &names).as_slice() {
            [alone] => assert_within(*alone, host_link, 0.15),
            all => {
                assert_shared(all, link, host_link);
                // All of it until the last was done.
                assert_within(cell.rate_bytes_per_s.unwrap().0, link, 0.15);
            }
        }
    }
    checked
}

#[test]
fn clients_on_four_hosts_share_the_link_of_one_server_in_equal_parts() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        four_to_one(&lab, "jovian-hosts", 1, "c4-s1 --bytes 3MiB --no-verdict");
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn clients_on_four_hosts_saturate_the_link_of_a_server_of_two_disks_and_are_cleared() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let checked = four_to_one(&lab, "jovian-disks", 2, "c1-s1 c4-s1 --bytes 8MiB --cell-seconds 1");
        let text = diagnosed(&lab, &checked);
        for op in ["write", "read"] {
            assert!(text.contains(&format!("network saturated: {op} of c4-s1: 4 clients reach")), "{text}");
        }
    });
}

/// Hosts that have mounted the same folder of a server at the same path, each over its own link; their processes, mounts and
/// clock are their own.
struct FarHosts {
    names: Vec<String>,
    shell: PathBuf,
    /// The folder, as the server has it and the command's machine sees it.
    shared: PathBuf,
    _mounts: Vec<SshfsMount>,
}

impl FarHosts {
    /// Hosts with `links`, of a server behind `server_link`.
    fn start(lab: &Lab, links: &[&str], server_link: Option<&str>) -> Self {
        let server = lab.host(1).unwrap();
        if let Some(rate) = server_link {
            server.limit_rate(rate).unwrap();
        }
        let shared = lab.scratch().join("shared");
        fs::create_dir(&shared).unwrap();
        let mounted = |(index, link): (u8, &&str)| {
            let host = lab.host(index).unwrap();
            host.limit_rate(link).unwrap();
            let point = lab.scratch().join(format!("mount-{}", host.netns()));
            let mount = SshfsMount::at_port(lab, (&host, &server), &shared, &point, 7022 + u16::from(index));
            (host.netns().to_owned(), mount)
        };
        let (names, mounts): (Vec<String>, Vec<SshfsMount>) = (2..).zip(links).map(mounted).unzip();
        let from = format!("{}/mount-$host", lab.scratch().display());
        let place = "ip netns exec $host unshare --mount --pid --fork --mount-proc --kill-child --time --monotonic 5000";
        let shell = shell(lab, &shared, &from, place);
        Self { names, shell, shared, _mounts: mounts }
    }

    /// `narrows suite` with these words on the hosts.
    fn suite(&self, words: &str) -> Command {
        let mut command = Command::new(narrows_bin().unwrap());
        command.arg("suite").args(words.split_whitespace());
        command.args(["--hosts", &self.names.join(","), "--remote-shell"]).arg(&self.shell);
        command
    }
}

/// A remote shell to hosts, each placed by the words `place`, which have what is at `from` in the place of `shared`.
fn shell(lab: &Lab, shared: &Path, from: &str, place: &str) -> PathBuf {
    let path = lab.scratch().join("far");
    let text = format!(
        "#!/bin/sh\nhost=$1\nshift\nexec {place} sh -c \"mount --bind {from} {} && cd / && exec $*\"\n",
        shared.display()
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// The cell of a test's phase.
#[track_caller]
fn cell<'a>(checked: &'a Checked, id: &str) -> &'a CellSummary {
    let found = checked.summary.cells.iter().find(|cell| cell.id == id);
    found.unwrap_or_else(|| panic!("{id} was not measured"))
}

#[test]
#[ignore = "campaign: needs sshfs, socat and the SFTP server of OpenSSH"]
fn ioperf_and_bonnie_on_four_hosts_share_the_link_of_the_server() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_sshfs() else { return };
        let far = FarHosts::start(&lab, &[HOST_LINK; 4], Some(SERVER_LINK));
        let server = lab.host(1).unwrap();
        let (link, host_link) =
            (server.payload_bytes_per_s(SERVER_BITS_PER_S), server.payload_bytes_per_s(HOST_BITS_PER_S));
        let folder = far.shared.display();
        let words = format!(
            "ioperf {folder} --buffer 256 --count 32 --flush fdatasync --link 100Mbit/s --no-verdict"
        );
        let checked = run_check(&lab, "ioperf-hosts", far.suite(&words), "");
        for test in ["fwrite", "fread", "putc"] {
            let alone = rates(cell(&checked, &format!("1PV/{test}")), &far.names);
            assert_within(alone[0], host_link, 0.2);
            assert_shared(&rates(cell(&checked, &format!("NPV/{test}")), &far.names), link, host_link);
        }
        let text = diagnosed(&lab, &checked);
        assert!(text.contains("network saturated: fwrite: 4 clients reach"), "{text}");
        assert!(text.contains(&format!("on {} reaches alone, divided by 4", far.names[0])), "{text}");
        assert!(text.contains("of the link, as given, without headers, divided by 4"), "{text}");

        let words = format!("bonnie -d {folder} -s 8:64k:40:2 -r 0 -n 0 -f --no-verdict");
        let checked = run_check(&lab, "bonnie-hosts", far.suite(&words), "");
        for phase in ["put_block", "get_block"] {
            assert_shared(&rates(cell(&checked, &format!("run1/{phase}")), &far.names), link, host_link);
        }
        assert!(fs::read_dir(&far.shared).unwrap().next().is_none(), "what was made is removed");
    });
}

#[test]
#[ignore = "campaign: needs sshfs, socat and the SFTP server of OpenSSH"]
fn a_host_behind_a_slow_link_is_a_straggler_by_name() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_sshfs() else { return };
        let far = FarHosts::start(&lab, &[HOST_LINK, HOST_LINK, HOST_LINK, "10mbit"], None);
        let list = lab.scratch().join("list");
        let program = narrows_bin().unwrap();
        let lines =
            far.names.iter().map(|name| format!("{name} {} {}\n", far.shared.display(), program.display()));
        fs::write(&list, lines.collect::<String>()).unwrap();
        let mut command = Command::new(&program);
        command.env("RSH", &far.shell).args(["suite", "iozone", "-+m"]).arg(&list);
        let words = "-t 4 -i 0 -i 1 -+n -e -s 8m -r 256 --no-verdict";
        let checked = run_check(&lab, "iozone-hosts", command, words);
        let host_link = lab.host(1).unwrap().payload_bytes_per_s(HOST_BITS_PER_S);
        let all = rates(cell(&checked, "t4/8192/256/write"), &far.names);
        for rate in &all[..3] {
            assert_within(*rate, host_link, 0.25);
        }
        assert_within(all[3], host_link / 5.0, 0.3);
        let text = diagnosed(&lab, &checked);
        let named = format!("or less: {}", far.names[3]);
        assert!(
            text.contains("initial writers: stragglers, with half of the median") && text.contains(&named),
            "{text}"
        );
    });
}

#[test]
fn a_host_without_the_folder_is_named_once_and_nothing_is_left() {
    let Some(lab) = lab() else { return };
    let folders = ["shared", "same-a", "same-b"].map(|name| lab.scratch().join(name));
    for folder in &folders {
        fs::create_dir(folder).unwrap();
    }
    let shared = &folders[0];
    // Both hosts have a folder at that path, which is another one.
    let from = format!("{}/same-$host", lab.scratch().display());
    let shell = shell(&lab, shared, &from, "unshare --mount");
    let mut command = Command::new(narrows_bin().unwrap());
    command.args(["suite", "ioperf"]).arg(shared).args(["--count", "20", "--no-verdict", "--hosts", "a,b"]);
    command.arg("--remote-shell").arg(shell).arg("--out").arg(lab.scratch().join("record"));
    let mut process = lab.start("without", command).unwrap();
    let status = process.wait(SOON).unwrap();
    let said = process.stderr().unwrap();
    assert_eq!(status.code(), Some(3), "{said}");
    for host in ["host a does not have the folder", "host b does not have the folder"] {
        assert_eq!(said.matches(host).count(), 1, "{said}");
    }
    assert!(said.contains("a file system that each host has mounted at the same path"), "{said}");
    for folder in &folders {
        assert!(fs::read_dir(folder).unwrap().next().is_none(), "what was made is removed");
    }
    assert!(!lab.scratch().join("record").exists(), "nothing was measured");
}

#[test]
fn a_host_without_the_file_is_named_with_what_it_needs() {
    let Some(lab) = lab() else { return };
    let folders = ["shared", "same-b"].map(|name| lab.scratch().join(name));
    for folder in &folders {
        fs::create_dir(folder).unwrap();
    }
    let file = folders[0].join("data");
    fs::write(&file, vec![1; 1 << 20]).unwrap();
    let from = format!("{}/same-$host", lab.scratch().display());
    let place = "unshare --mount --pid --fork --mount-proc --kill-child";
    let shell = shell(&lab, &folders[0], &from, place);
    let mut command = Command::new(narrows_bin().unwrap());
    command.arg("scale").arg(&file).args(["--clients", "1,2", "--trials", "1", "--cell-seconds", "0.1"]);
    command
        .args(["--hosts", "b", "--remote-shell"])
        .arg(shell)
        .arg("--out")
        .arg(lab.scratch().join("record"));
    let mut process = lab.start("without-file", command).unwrap();
    let status = process.wait(SOON).unwrap();
    let said = process.stderr().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(status.code(), Some(3), "{said}");
    assert!(
        said.contains("on b failed: ") && said.contains("it is missing on b, where this client runs"),
        "{said}"
    );
    assert!(!said.contains("check that it exists"), "no advice for this machine, which has it: {said}");
}

#[test]
fn the_size_of_a_file_follows_from_the_memory_of_the_host_that_has_less_than_this_machine() {
    let Some(lab) = lab() else { return };
    let (shared, memory) = (lab.scratch().join("shared"), lab.scratch().join("meminfo"));
    fs::create_dir(&shared).unwrap();
    fs::write(&memory, "MemTotal:         163840 kB\nMemFree:          163840 kB\n").unwrap();
    let place = format!(
        "unshare --mount sh -c 'mount --bind {} /proc/meminfo && exec \"$@\"' small",
        memory.display()
    );
    let shell = shell(&lab, &shared, &shared.display().to_string(), &place);
    let mut command = Command::new(narrows_bin().unwrap());
    command.args(["suite", "bonnie", "-d"]).arg(&shared).args(["-s", "100", "-n", "0", "--no-verdict"]);
    command.args(["--hosts", "b", "--remote-shell"]).arg(shell);
    let mut process = lab.start("small-host", command).unwrap();
    let status = process.wait(SOON).unwrap();
    let said = process.stderr().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("a file of 100 MiB where the memory is 160 MiB"), "{said}");
    assert!(fs::read_dir(&shared).unwrap().next().is_none(), "nothing was made, or it is removed");
}
