//! A real iSCSI target on a host of the lab: tgt, ended by its process id.
//!
//! Its control socket is in `/run`, which no network namespace separates: it gets a mount namespace with another one.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::SOON;
use narrows_lab::{Host, Lab, LabProcess};

/// The target's name.
pub(crate) const TARGET: &str = "iqn.2026-01.lab:t1";
/// The serial number of its unit.
pub(crate) const SERIAL: &str = "lab-0001";
/// The target's port.
pub(crate) const PORT: u16 = 3260;

/// How a target is set up.
#[derive(Debug, Clone, Default)]
pub(crate) struct TgtSetup {
    /// Name and secret of CHAP.
    pub(crate) chap: Option<(&'static str, &'static str)>,
    /// Name and secret by which the target proves itself.
    pub(crate) own_chap: Option<(&'static str, &'static str)>,
    /// Keys of the target, such as `MaxBurstLength=4096`.
    pub(crate) keys: &'static [&'static str],
    /// Whether blocks cannot be unmapped.
    pub(crate) is_thick: bool,
}

/// A running target with the file `image` as LUN 1.
pub(crate) struct Tgt<'a> {
    lab: &'a Lab,
    host: Host,
    server: LabProcess,
    setup: TgtSetup,
    image: PathBuf,
    start_count: u32,
}

impl<'a> Tgt<'a> {
    /// A target on host `index` with a new unit of `bytes`.
    pub(crate) fn start(lab: &'a Lab, index: u8, bytes: u64, setup: TgtSetup) -> Self {
        Self::start_placed(lab, index, lab.scratch(), bytes, setup, |_| ())
    }

    /// The same with the unit's file in `folder`, where `place` puts the target's command where it shall run.
    pub(crate) fn start_placed(
        lab: &'a Lab,
        index: u8,
        folder: &Path,
        bytes: u64,
        setup: TgtSetup,
        place: impl FnOnce(&mut Command),
    ) -> Self {
        let host = lab.host(index).unwrap();
        let image = folder.join("lun1.img");
        fs::File::create(&image).unwrap().set_len(bytes).unwrap();
        let server = start_server(lab, &host, &image, &setup, 0, place);
        Self { lab, host, server, setup, image, start_count: 1 }
    }

    /// The unit, with what follows its number.
    pub(crate) fn target(&self, options: &str) -> String {
        format!("iscsi://{}:{PORT}/{TARGET}/1{options}", self.host.address())
    }

    /// The file behind the unit.
    pub(crate) fn image(&self) -> &Path {
        &self.image
    }

    /// Kills the target as a crash would.
    pub(crate) fn kill(&mut self) {
        self.server.kill9().unwrap();
    }

    /// Starts it again, after it was killed.
    pub(crate) fn start_again(&mut self) {
        self.server = start_server(self.lab, &self.host, &self.image, &self.setup, self.start_count, |_| ());
        self.start_count += 1;
    }

    /// Whether the file behind the unit has only zeroes.
    pub(crate) fn is_empty(&self) -> bool {
        const PART: usize = 1 << 20;
        let (zeroes, mut part) = (vec![0; PART], vec![0; PART]);
        let mut file = fs::File::open(&self.image).unwrap();
        loop {
            let count = file.read(&mut part).unwrap();
            if count == 0 || part[..count] != zeroes[..count] {
                return count == 0;
            }
        }
    }
}

fn start_server(
    lab: &Lab,
    host: &Host,
    image: &Path,
    setup: &TgtSetup,
    count: u32,
    place: impl FnOnce(&mut Command),
) -> LabProcess {
    let script = lab.scratch().join(format!("tgt-{count}.sh"));
    fs::write(&script, script_text(image, setup)).unwrap();
    let mut command = host.command("unshare");
    command.args(["--mount", "bash", "-e"]).arg(&script);
    place(&mut command);
    let mut server = lab.start(&format!("tgt-{count}"), command).unwrap();
    server.wait_for_line("target is ready", SOON).unwrap();
    server
}

/// Sets the target up from the background, so that the process that is ended is the target itself.
fn script_text(image: &Path, setup: &TgtSetup) -> String {
    let mut lines = vec![
        format!("$A --mode target --op new --tid 1 -T {TARGET}"),
        format!("$A --mode logicalunit --op new --tid 1 --lun 1 -b {} --blocksize 512", image.display()),
        format!("$A --mode logicalunit --op update --tid 1 --lun 1 --params scsi_sn={SERIAL}"),
    ];
    if !setup.is_thick {
        lines.push(
            "$A --mode logicalunit --op update --tid 1 --lun 1 --params thin_provisioning=1".to_owned(),
        );
    }
    for key in setup.keys {
        let (name, value) = key.split_once('=').unwrap();
        lines.push(format!("$A --mode target --op update --tid 1 --name {name} --value {value}"));
    }
    for (account, direction) in [(setup.chap, ""), (setup.own_chap, " --outgoing")] {
        if let Some((user, password)) = account {
            lines.push(format!("$A --mode account --op new --user {user} --password {password}"));
            lines.push(format!("$A --mode account --op bind --tid 1 --user {user}{direction}"));
        }
    }
    lines.push("$A --mode target --op bind --tid 1 -I ALL".to_owned());
    format!(
        "mount -t tmpfs tmpfs /run\nmkdir -p /run/tgtd\nA='tgtadm -C 0 --lld iscsi'\n(\nfor step in $(seq 100); do $A \
         --mode sys --op show >/dev/null 2>&1 && break; sleep 0.05; done\n{}\necho target is ready\n) &\nexec tgtd -f -C \
         0 --iscsi portal=0.0.0.0:{PORT}\n",
        lines.join("\n")
    )
}
