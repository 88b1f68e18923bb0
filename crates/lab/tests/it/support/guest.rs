//! A guest kernel (user-mode Linux) on the bridge of a lab: it has an NFS client and server of the kernel, which this machine's
//! kernel may lack. Its files are this machine's, its network and its processes are its own, and it has one CPU.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use narrows_lab::clock::monotonic_ns;
use narrows_lab::{Lab, LabProcess, narrows_bin, pin_to_cpus};

use super::SOON;
use super::check::Checked;
use super::ganesha::{Ganesha, MOUNT_PORT, NFS_PORT};

/// Longer than any check in a guest takes, with its boot of two or three seconds.
const GUEST: Duration = Duration::from_secs(90);
/// C source of the `ptrace` that is preloaded into user-mode Linux.
const PTRACE_SOURCE: &str = include_str!("guest_ptrace.c");
/// The last number of its address; hosts have others.
const ADDRESS: u8 = 250;
/// Port of the MOUNT service of a guest that serves NFS.
const KERNEL_MOUNT_PORT: u16 = 20_049;
/// Where the export is mounted in the guest.
const MOUNT_POINT: &str = "/mnt/share";

/// A guest's link to a lab, removed with this value.
pub(crate) struct Guest<'a> {
    lab: &'a Lab,
    tap: String,
}

impl<'a> Guest<'a> {
    /// A guest that may be started in `lab`.
    pub(crate) fn new(lab: &'a Lab) -> Self {
        let guest = Self { lab, tap: format!("{}t1", lab.prefix()) };
        ip(&["tuntap", "add", &guest.tap, "mode", "tap"]);
        ip(&["link", "set", &guest.tap, "master", &lab.bridge(), "up"]);
        guest
    }

    /// Boots it, mounts the export of `server` with these further options, and checks the mount with `words`.
    #[track_caller]
    pub(crate) fn check_mount(&self, server: &Ganesha<'_>, options: &str, words: &str) -> Checked {
        let base = self.lab.scratch().join("guest");
        fs::create_dir(&base).unwrap();
        let record = base.join("record");
        let [json, errors, code] = ["check.json", "check.err", "check.code"].map(|name| base.join(name));
        let check = format!(
            "cd /mnt && {} check {MOUNT_POINT} --quiet --json --seed 7 --out {} {words} >{} 2>{}; echo $? >{}",
            narrows_bin().unwrap().display(),
            record.display(),
            json.display(),
            errors.display(),
            code.display(),
        );
        let started_ns = monotonic_ns();
        let said = self.boot(&base.join("init"), &mount(self.lab, server, options, &check));
        let wall_time = Duration::from_nanos(monotonic_ns() - started_ns);
        let read =
            |path: &PathBuf| fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}: {said}"));
        let exit_code = read(&code).trim().parse().unwrap();
        let stderr = read(&errors);
        let value: serde_json::Value = serde_json::from_str(&read(&json))
            .unwrap_or_else(|error| panic!("no JSON ({error}), exit code {exit_code}: {stderr}\n{said}"));
        let summary = serde_json::from_value(value.clone()).unwrap_or_else(|error| {
            panic!("no summary ({error}), exit code {exit_code}: {value:#} {stderr}")
        });
        let checked = Checked { json: value, summary, record, exit_code, stderr, wall_time };
        checked.print("mount");
        checked
    }

    /// Boots it with the kernel's NFS server, which exports a folder in the guest's memory; the guest, which ends when dropped,
    /// and the export as a target.
    pub(crate) fn serve_nfs(&self) -> (LabProcess, String) {
        let base = self.lab.scratch().join("guest");
        fs::create_dir(&base).unwrap();
        let mut process = self.start(&base.join("init"), &nfs_server(self.lab));
        let line = process.wait_for_line("the kernel serves", SOON).unwrap();
        assert!(line.contains("+3"), "version 3 is served: {line}");
        (process, format!("nfs://{}:2049/mnt/export?mountport={KERNEL_MOUNT_PORT}", own_address(self.lab)))
    }

    /// Runs `script` as the guest's only program; what it and the kernel said.
    fn boot(&self, init: &Path, script: &str) -> String {
        let mut process = self.start(init, script);
        process.wait(GUEST).unwrap();
        process.stdout().unwrap()
    }

    /// The library with the `ptrace` by which a guest runs on any processor, built beside `init`.
    fn build_ptrace(init: &Path) -> PathBuf {
        let (source, library) = (init.with_file_name("ptrace.c"), init.with_file_name("ptrace.so"));
        fs::write(&source, PTRACE_SOURCE).unwrap();
        let built =
            Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).arg(&source).status();
        assert!(built.unwrap().success(), "cc {}", source.display());
        library
    }

    fn start(&self, init: &Path, script: &str) -> LabProcess {
        fs::write(init, script).unwrap();
        let made = Command::new("chmod").arg("+x").arg(init).status().unwrap();
        assert!(made.success());
        let mut command = Command::new("linux.uml");
        command.env("LD_PRELOAD", Self::build_ptrace(init));
        command.args(["mem=768M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw", "quiet"]);
        command.args(["con0=fd:0,fd:1", "con=null", &format!("init={}", init.display())]);
        command.arg(format!("vec0:transport=tap,ifname={},depth=128,gro=1", self.tap));
        command.env("TMPDIR", "/dev/shm").env("HOME", self.lab.scratch());
        pin_to_cpus(&mut command, &[0]);
        self.lab.start("guest", command).unwrap()
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        let _gone = Command::new("ip").args(["link", "del", &self.tap]).status();
    }
}

/// How the script of each guest begins: its own file systems, and its address.
fn begin(lab: &Lab) -> String {
    let own = own_address(lab);
    format!(
        "#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /mnt
mkdir -p /run/modules/lib; ln -s /usr/lib/uml/modules /run/modules/lib/modules
ip link set lo up; ip addr add {own}/24 dev vec0; ip link set vec0 up"
    )
}

fn own_address(lab: &Lab) -> String {
    let [a, b, c, _] = lab.address().octets();
    format!("{a}.{b}.{c}.{ADDRESS}")
}

/// The script of a guest whose kernel exports a folder in memory by NFS, until it is ended.
fn nfs_server(lab: &Lab) -> String {
    let begin = begin(lab);
    format!(
        "{begin}
modprobe -d /run/modules nfsd; mount -t nfsd nfsd /proc/fs/nfsd
mount -t tmpfs tmpfs /var/lib/nfs; mkdir -p /var/lib/nfs/v4recovery /var/lib/nfs/sm /var/lib/nfs/nfsdcltrack /run/rpcbind /mnt/export
touch /var/lib/nfs/etab /var/lib/nfs/rmtab /var/lib/nfs/xtab
rpcbind -w
exportfs -o rw,no_root_squash,insecure,fsid=1,no_subtree_check '*:/mnt/export'
rpc.mountd -p {KERNEL_MOUNT_PORT}; rpc.nfsd 4
echo the kernel serves $(cat /proc/fs/nfsd/versions)
sleep 3600
"
    )
}

/// The script of a guest that mounts the export of `server`, runs `command` and ends.
fn mount(lab: &Lab, server: &Ganesha<'_>, options: &str, command: &str) -> String {
    let storage = server.address();
    let options = format!(
        "addr={storage},vers=3,proto=tcp,port={NFS_PORT},mountport={MOUNT_PORT},mountproto=tcp,nolock{options}"
    );
    let begin = begin(lab);
    format!(
        "{begin}
mkdir -p {MOUNT_POINT}
modprobe -d /run/modules nfsv3
mount -i -t nfs -o {options} {storage}:/data {MOUNT_POINT} && ( {command} )
umount {MOUNT_POINT}; echo o >/proc/sysrq-trigger; sleep 5
"
    )
}

fn ip(arguments: &[&str]) {
    let done = Command::new("ip").args(arguments).status().unwrap();
    assert!(done.success(), "ip {}", arguments.join(" "));
}
