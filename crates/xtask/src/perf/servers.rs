//! Servers of storage protocols for the figures: nfs-ganesha, tgt, versitygw, as the lab starts them.
//!
//! The first two need ports and a folder `/run` that are theirs: they get a network namespace, into which their clients
//! go too, and everything is over its loopback. That takes root.

use super::bench::Bench;
use crate::process::{RunningProgram, is_installed};
use anyhow::Context;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Ports of the NFS server; its port mapper is not asked.
pub(crate) const NFS_PORT: u16 = 20490;
pub(crate) const MOUNT_PORT: u16 = 20480;
/// The iSCSI target.
pub(crate) const ISCSI_URL: &str = "iscsi://127.0.0.1:3260/iqn.2026-01.lab:perf/1";
/// Keys of the S3 server, and its bucket.
pub(crate) const S3_KEYS: [&str; 2] = ["perf", "perfsecret"];
pub(crate) const S3_BUCKET: &str = "bucket";

/// A server in a namespace of its own; it ends when dropped.
pub(crate) struct NamespaceServer {
    program: RunningProgram,
}

impl NamespaceServer {
    /// Starts `script` in new namespaces, and waits until it has printed `ready`.
    fn start(bench: &Bench, name: &str, script: &str, ready: &str) -> anyhow::Result<Self> {
        let mut command = Command::new("unshare");
        let inside = format!("ip link set lo up && mount -t tmpfs tmpfs /run && {script}");
        command.args(["--net", "--mount", "bash", "-e", "-c", &inside]);
        let mut program = bench.serve(name, &mut command)?;
        program.until(|text| text.contains(ready).then_some(()))?;
        Ok(Self { program })
    }

    /// The same program and words, in the server's network.
    pub(crate) fn beside(&self, command: &Command) -> Command {
        let mut entered = Command::new("nsenter");
        entered.args([&format!("--net=/proc/{}/ns/net", self.program.pid()), "--"]);
        entered.arg(command.get_program()).args(command.get_args());
        entered
    }
}

/// An NFS server that exports a folder in memory as `/data`; or the reason why there is none.
pub(crate) fn ganesha(bench: &Bench, export: &Path) -> anyhow::Result<Result<NamespaceServer, String>> {
    if let Err(why) = needed(
        &["ganesha.nfsd", "rpcbind", "unshare", "nsenter", "setpriv"],
        "nfs-ganesha nfs-ganesha-vfs rpcbind",
    ) {
        return Ok(Err(why));
    }
    let recovery = bench.place("recovery");
    fs::create_dir_all(&recovery)?;
    let config = bench.place("ganesha.conf");
    fs::write(
        &config,
        format!(
            "NFS_CORE_PARAM {{ NFS_Protocols = 3; NFS_Port = {NFS_PORT}; MNT_Port = {MOUNT_PORT};
  mount_path_pseudo = true; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false;
  Plugins_Dir = \"/usr/lib/x86_64-linux-gnu/ganesha\"; }}
NFSV4 {{ Graceless = true; RecoveryBackend = fs; RecoveryRoot = \"{}\"; }}
EXPORT {{ Export_Id = 1; Path = \"{}\"; Pseudo = \"/data\"; Protocols = 3; Transports = TCP; Access_Type = RW;
  SecType = sys; MaxRead = 1048576; MaxWrite = 1048576; Squash = No_Root_Squash; FSAL {{ Name = VFS; }} }}
LOG {{ Default_Log_Level = EVENT; }}
",
            recovery.display(),
            export.display()
        ),
    )?;
    // The port mapper ends with the process that becomes the server.
    let script = format!(
        "mkdir -p /run/rpcbind /run/ganesha; setpriv --pdeathsig KILL rpcbind -f -w &
for step in $(seq 100); do test -S /run/rpcbind.sock && break; sleep 0.05; done
exec ganesha.nfsd -F -f {} -L STDOUT -p /run/ganesha.pid",
        config.display()
    );
    NamespaceServer::start(bench, "ganesha", &script, "NFS SERVER INITIALIZED").map(Ok)
}

/// An iSCSI target over a file of `bytes` in `folder` that holds something, so that it is only read; or the reason why there
/// is none.
pub(crate) fn tgt(
    bench: &Bench,
    folder: &Path,
    bytes: u64,
) -> anyhow::Result<Result<NamespaceServer, String>> {
    if let Err(why) = needed(&["tgtd", "tgtadm", "unshare", "nsenter"], "tgt") {
        return Ok(Err(why));
    }
    let image = folder.join("lun.img");
    fs::write(&image, vec![0x5a; usize::try_from(bytes)?])?;
    let unit = format!("--tid 1 --lun 1 -b {} --blocksize 512", image.display());
    let script = format!(
        "mkdir -p /run/tgtd; A='tgtadm -C 0 --lld iscsi'
(
for step in $(seq 100); do $A --mode sys --op show >/dev/null 2>&1 && break; sleep 0.05; done
$A --mode target --op new --tid 1 -T iqn.2026-01.lab:perf
$A --mode logicalunit --op new {unit}
$A --mode target --op bind --tid 1 -I ALL
echo target is ready
) &
exec tgtd -f -C 0 --iscsi portal=127.0.0.1:3260"
    );
    NamespaceServer::start(bench, "tgt", &script, "target is ready").map(Ok)
}

/// An S3 server over `folder` and its address; or the reason why there is none. It ends when dropped.
pub(crate) fn versitygw(
    bench: &Bench,
    folder: &Path,
) -> anyhow::Result<Result<(RunningProgram, String), String>> {
    let built = bench.tools.target_folder.join("tools/bin/versitygw");
    let program = if built.is_file() { built } else { PathBuf::from("versitygw") };
    if !is_installed(&program) {
        return Ok(Err("versitygw is not installed, so nothing is compared over S3: ./test installs it where there is Go".to_owned()));
    }
    fs::create_dir_all(folder.join(S3_BUCKET))?;
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let address = format!("127.0.0.1:{}", free.context("no free port")?.port());
    let mut command = Command::new(program);
    command.args(["--port", &address, "--keep-alive", "posix"]).arg(folder);
    command.env("ROOT_ACCESS_KEY", S3_KEYS[0]).env("ROOT_SECRET_KEY", S3_KEYS[1]);
    let mut server = bench.serve("versitygw", &mut command)?;
    server.until(|_| std::net::TcpStream::connect(&address).ok().map(drop))?;
    Ok(Ok((server, address)))
}

/// Fails in words unless all of these programs are installed and this process may use namespaces.
fn needed(programs: &[&str], packages: &str) -> Result<(), String> {
    let finds = |program: &&&str| {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
        !found.is_ok_and(|output| output.status.success())
    };
    if let Some(missing) = programs.iter().find(finds) {
        return Err(format!(
            "{missing} is not installed, so nothing is compared with it (apt install {packages})"
        ));
    }
    let may = Command::new("unshare").args(["--net", "--mount", "true"]).output();
    if may.is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    Err("namespaces need root here, so no server is started".to_owned())
}
