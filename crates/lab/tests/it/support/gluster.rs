//! A real GlusterFS: a daemon on each of several hosts of the lab, a volume over their bricks, mounts of it on others.
//!
//! Each host has process ids, a `/run` and a `/var/lib/glusterd` of its own, which no network namespace separates; all that the
//! daemon starts ends with it.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::fuse::FuseMount;
use super::waits::wait_until;
use narrows_lab::{Host, Lab, LabProcess};

/// The daemons ask each other for options of sockets, without which a peer is not found.
const DAEMON_OPTIONS: &str = "volume management
    type mgmt/glusterd
    option working-directory /var/lib/glusterd
    option run-directory /run/gluster
    option transport-type socket
    option transport.address-family inet
    option transport.socket.keepalive-time 10
    option transport.socket.keepalive-interval 2
    option transport.tcp-user-timeout 10
    option base-port 49152
    option max-port 60999
end-volume
";

/// How a volume spreads its files over bricks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Layout {
    /// Parts of 4 MiB, each on one brick.
    Distributed,
    /// Each file on two bricks, which follow each other in the list.
    Replicated,
    /// Each file in parts on all bricks, one of which may fail.
    Dispersed,
}

/// The name of the only volume.
const VOLUME: &str = "narrows";

/// Daemons that serve one volume; they end with this value.
pub(crate) struct Gluster<'a> {
    lab: &'a Lab,
    address: String,
    daemons: Vec<LabProcess>,
}

impl<'a> Gluster<'a> {
    /// A started volume over these bricks, each a folder of this machine and the host that serves it.
    pub(crate) fn start(lab: &'a Lab, layout: Layout, bricks: &[(u8, PathBuf)]) -> Self {
        let hosts: BTreeSet<u8> = bricks.iter().map(|(host, _)| *host).collect();
        let hosts: Vec<Host> = hosts.into_iter().map(|index| lab.host(index).unwrap()).collect();
        let daemons: Vec<LabProcess> = hosts.iter().map(|host| start_daemon(lab, host)).collect();
        let ask = |words: &str| ask(&daemons[0], words);
        for host in &hosts[1..] {
            ask(&format!("peer probe {}", host.address()));
        }
        for host in &hosts[1..] {
            wait_for_peer(&daemons[0], host);
        }
        let places: Vec<String> = bricks
            .iter()
            .map(|(host, folder)| {
                format!("{}:{}/brick", lab.host(*host).unwrap().address(), folder.display())
            })
            .collect();
        let form = match layout {
            Layout::Distributed => String::new(),
            Layout::Replicated => "replica 2 ".to_owned(),
            Layout::Dispersed => format!("disperse {} redundancy 1 ", bricks.len()),
        };
        ask(&format!("volume create {VOLUME} {form}{} force", places.join(" ")));
        // Requests past the page cache of the client go past that of the server too.
        ask(&format!("volume set {VOLUME} performance.strict-o-direct on"));
        ask(&format!("volume set {VOLUME} network.remote-dio disable"));
        if matches!(layout, Layout::Distributed) {
            ask(&format!("volume set {VOLUME} features.shard on"));
            ask(&format!("volume set {VOLUME} features.shard-block-size 4MB"));
        }
        ask(&format!("volume start {VOLUME}"));
        Self { lab, address: hosts[0].address().to_string(), daemons }
    }

    /// Mounts the volume on `client` at a new folder of this name.
    pub(crate) fn mount(&self, client: &Host, name: &str) -> FuseMount {
        let point = self.lab.scratch().join(name);
        fs::create_dir(&point).unwrap();
        let log = self.lab.scratch().join(format!("{name}.log"));
        let mut command = client.command("glusterfs");
        command.args(["-s", &self.address, &format!("--volfile-id={VOLUME}"), "-l"]).arg(&log);
        command.arg("--fuse-mountopts=default_permissions").arg(&point);
        let status = command.stdin(Stdio::null()).status().unwrap();
        let mount = FuseMount::at(&point);
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let of_point = |line: &&str| line.contains(&point.display().to_string());
        let is_there = mounts.lines().filter(of_point).any(|line| line.contains("fuse.glusterfs"));
        let said = || fs::read_to_string(&log).unwrap_or_default();
        assert!(status.success() && is_there, "no mount ({status}):\n{}", said());
        mount
    }
}

impl Drop for Gluster<'_> {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            // It waits for the daemon and lets no other signal end it; with it end the process ids that it has made.
            let _ = daemon.kill9();
        }
    }
}

fn start_daemon(lab: &Lab, host: &Host) -> LabProcess {
    let options = lab.scratch().join(format!("glusterd-{}.vol", host.index()));
    fs::write(&options, DAEMON_OPTIONS).unwrap();
    let mut command = host.command("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c"]);
    command.arg(format!(
        "for folder in /run /var/lib/glusterd /var/log/glusterfs; do mkdir -p $folder; mount -t tmpfs tmpfs $folder || exit 1; done
         mkdir -p /run/gluster; exec glusterd -N -f {} -l /run/glusterd.log -p /run/glusterd.pid",
        options.display()
    ));
    let daemon = lab.start(&format!("glusterd-{}", host.index()), command).unwrap();
    // Until it has namespaces of its own, and listens, each look enters anew.
    wait_until(|| {
        let answer = entered(&daemon, &["gluster", "--mode=script", "volume", "list"]).output();
        answer.unwrap().status.success()
    });
    daemon
}

/// The command `words` on the host of `daemon`, with its files and processes.
fn entered(daemon: &LabProcess, words: &[&str]) -> Command {
    let namespaces = format!("/proc/{}/ns", daemon.pid());
    let mut command = Command::new("nsenter");
    command.arg(format!("--net={namespaces}/net")).arg(format!("--mount={namespaces}/mnt"));
    command.arg(format!("--pid={namespaces}/pid_for_children")).arg("--").args(words);
    command.stdin(Stdio::null());
    command
}

/// What the daemon answers to a command of `gluster`.
#[track_caller]
fn ask(daemon: &LabProcess, words: &str) -> String {
    let mut all = vec!["gluster", "--mode=script"];
    all.extend(words.split(' '));
    let output = entered(daemon, &all).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "gluster {words}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Waits until the daemons of both have agreed on the peer.
fn wait_for_peer(daemon: &LabProcess, host: &Host) {
    let joined = |status: &str| {
        status.split("Hostname: ").any(|peer| {
            peer.starts_with(&host.address().to_string()) && peer.contains("Peer in Cluster (Connected)")
        })
    };
    wait_until(|| joined(&ask(daemon, "peer status")));
}
