//! A real NFS server on a host of the lab: nfs-ganesha with a port mapper of its own.
//!
//! Both are ended by their process ids. The port mapper's socket is in `/run`, which no network namespace separates: it
//! gets a mount namespace with another one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::SOON;
use narrows_lab::{Host, Lab, LabProcess};

/// Ports of the server; the port mapper's is the usual one.
pub(crate) const NFS_PORT: u16 = 20490;
pub(crate) const MOUNT_PORT: u16 = 20480;

/// A running server that exports a folder as `/data`.
pub(crate) struct Ganesha<'a> {
    lab: &'a Lab,
    host: Host,
    mapper: LabProcess,
    server: LabProcess,
    config: PathBuf,
    start_count: u32,
}

impl<'a> Ganesha<'a> {
    /// A server on host `index` of the folder `export` of this machine, with further lines of its export's block.
    pub(crate) fn start(lab: &'a Lab, index: u8, export: &Path, options: &str) -> Self {
        Self::start_placed(lab, index, export, options, |_| ())
    }

    /// The same, where `place` puts the server's command where it shall run.
    pub(crate) fn start_placed(
        lab: &'a Lab,
        index: u8,
        export: &Path,
        options: &str,
        place: impl FnOnce(&mut Command),
    ) -> Self {
        let served = ServedExport { options, version: 3, calls_are_logged: false };
        Self::start_served(lab, index, export, &served, place)
    }

    /// A server of this version of NFS alone.
    pub(crate) fn start_version(lab: &'a Lab, index: u8, export: &Path, version: u32) -> Self {
        let served = ServedExport { options: "Squash = No_Root_Squash;", version, calls_are_logged: false };
        Self::start_served(lab, index, export, &served, |_| ())
    }

    /// A server that logs each call, which [`Ganesha::logged_calls`] counts.
    pub(crate) fn start_logging(lab: &'a Lab, index: u8, export: &Path) -> Self {
        let served = ServedExport { options: "Squash = No_Root_Squash;", version: 3, calls_are_logged: true };
        Self::start_served(lab, index, export, &served, |_| ())
    }

    fn start_served(
        lab: &'a Lab,
        index: u8,
        export: &Path,
        served: &ServedExport<'_>,
        place: impl FnOnce(&mut Command),
    ) -> Self {
        let host = lab.host(index).unwrap();
        let base = lab.scratch().join("ganesha");
        fs::create_dir_all(base.join("recovery")).unwrap();
        let config = base.join("ganesha.conf");
        fs::write(&config, config_text(export, &base, served)).unwrap();
        let mut command = host.command("unshare");
        let private = "mount -t tmpfs tmpfs /run && mkdir -p /run/rpcbind /run/ganesha && exec rpcbind -f -w";
        command.args(["--mount", "sh", "-c", private]);
        let mapper = lab.start("rpcbind", command).unwrap();
        let server = start_server(lab, &host, &mapper, &config, 0, place);
        Self { lab, host, mapper, server, config, start_count: 1 }
    }

    /// What `nfs:` needs to reach `path` of the server by its ports.
    pub(crate) fn target(&self, path: &str) -> String {
        format!("nfs://{}:{NFS_PORT}{path}?mountport={MOUNT_PORT}", self.host.address())
    }

    /// The same, where the port mapper has to be asked.
    pub(crate) fn mapped_target(&self, path: &str) -> String {
        format!("nfs://{}{path}", self.host.address())
    }

    /// The address of its host.
    pub(crate) fn address(&self) -> std::net::Ipv4Addr {
        self.host.address()
    }

    /// How often the server logged the execution of a procedure, by the name that the RFC has for it.
    pub(crate) fn logged_calls(&self, procedure: &str) -> usize {
        let call = format!("Calling NFS3_{procedure} ");
        self.server.stdout().unwrap().lines().filter(|line| line.contains(&call)).count()
    }

    /// Kills the server as a crash would.
    pub(crate) fn kill(&mut self) {
        self.server.kill9().unwrap();
    }

    /// Starts it again, after it was killed.
    pub(crate) fn start_again(&mut self) {
        self.server =
            start_server(self.lab, &self.host, &self.mapper, &self.config, self.start_count, |_| ());
        self.start_count += 1;
    }
}

fn start_server(
    lab: &Lab,
    host: &Host,
    mapper: &LabProcess,
    config: &Path,
    count: u32,
    place: impl FnOnce(&mut Command),
) -> LabProcess {
    let mut command = host.command("sh");
    // The port mapper needs a moment before it has mounts of its own, which are entered anew until then, and listens.
    let entered = format!("nsenter --mount=/proc/{}/ns/mnt", mapper.pid());
    let listens = "test -d /run/ganesha -a -S /run/rpcbind.sock";
    let serve = "ganesha.nfsd -F -f \"$0\" -L STDOUT -p /run/ganesha.pid";
    command.arg("-c").arg(format!(
        "for step in $(seq 200); do {entered} {listens} && break; sleep 0.05; done; exec {entered} {serve}"
    ));
    command.arg(config);
    place(&mut command);
    let mut server = lab.start(&format!("ganesha-{count}"), command).unwrap();
    server.wait_for_line("NFS SERVER INITIALIZED", SOON).unwrap();
    server
}

/// How an export is served.
struct ServedExport<'s> {
    /// Further lines of its block.
    options: &'s str,
    version: u32,
    calls_are_logged: bool,
}

fn config_text(export: &Path, base: &Path, served: &ServedExport<'_>) -> String {
    let ServedExport { options, version, calls_are_logged } = served;
    let components = if *calls_are_logged { "COMPONENTS { NFS3 = DEBUG; }" } else { "" };
    format!(
        "NFS_CORE_PARAM {{ NFS_Protocols = {version}; NFS_Port = {NFS_PORT}; MNT_Port = {MOUNT_PORT};
  mount_path_pseudo = true; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false;
  Plugins_Dir = \"/usr/lib/x86_64-linux-gnu/ganesha\"; }}
NFSV4 {{ Graceless = true; RecoveryBackend = fs; RecoveryRoot = \"{}\"; }}
EXPORT {{ Export_Id = 1; Path = \"{}\"; Pseudo = \"/data\"; Protocols = {version}; Transports = TCP; Access_Type = RW;
  SecType = sys; MaxRead = 1048576; MaxWrite = 1048576; {options} FSAL {{ Name = VFS; }} }}
LOG {{ Default_Log_Level = EVENT; {components} }}
",
        base.join("recovery").display(),
        export.display(),
    )
}
