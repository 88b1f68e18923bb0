//! A folder of another host that `sshfs` serves here, without any sshd: `socat` starts the SFTP server for each connection.

use super::fuse::FuseMount;
use crate::support::SOON;
use narrows_lab::{Host, Lab, LabProcess};
use std::path::Path;
use std::process::Stdio;

/// Where Debian, Fedora and Arch have the SFTP server of OpenSSH.
const SERVERS: [&str; 3] =
    ["/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server"];

/// The SFTP server of OpenSSH on this machine; why there is none.
pub(crate) fn sftp_server() -> Result<&'static str, String> {
    let found = SERVERS.into_iter().find(|path| Path::new(path).exists());
    found.ok_or_else(|| format!("it needs the SFTP server of OpenSSH, one of {}", SERVERS.join(", ")))
}

/// A mount of `sshfs` and its server, which ends after it.
pub(crate) struct SshfsMount {
    _mount: FuseMount,
    _server: LabProcess,
}

impl SshfsMount {
    /// Makes `point`, and serves there what is in `backing`, from `server` to `client` over their links.
    pub(crate) fn new(lab: &Lab, client: &Host, server: &Host, backing: &Path, point: &Path) -> Self {
        Self::at_port(lab, (client, server), backing, point, 7022)
    }

    /// The same, whose server listens at `port`: each of several mounts has one of its own.
    pub(crate) fn at_port(
        lab: &Lab,
        (client, server): (&Host, &Host),
        backing: &Path,
        point: &Path,
        port: u16,
    ) -> Self {
        std::fs::create_dir(point).unwrap();
        let mut listening = server.command("socat");
        let address = format!("TCP-LISTEN:{port},bind={},reuseaddr,fork,nodelay", server.address());
        listening.args(["-d", "-d", &address, &format!("EXEC:{}", sftp_server().unwrap())]);
        let mut listening = lab.start("sftp", listening).unwrap();
        listening.wait_for_line("listening on", SOON).unwrap();
        let mut command = client.command("sshfs");
        command.arg(format!("{}:{}", server.address(), backing.display())).arg(point);
        command.args(["-o", &format!("directport={port}")]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "sshfs serves nothing: {}", String::from_utf8_lossy(&output.stderr));
        Self { _mount: FuseMount::at(point), _server: listening }
    }
}
