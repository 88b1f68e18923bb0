//! The export behind a folder on an NFS mount, which is measured beside it by a client in user space: then the kernel's
//! client is distinguished from the network and the server.
//!
//! Not here: what its figures say of the mount, which the analysis does.

use crate::exit::CommandFailure;
use crate::measurement;
use narrows_engines::{Clock, OwnPlace, PlaceFound};
use narrows_model::inventory::{NfsFacts, PathFacts};
use narrows_model::{EngineId, NfsAddress, Target};
use std::path::Path;
use std::sync::Arc;

/// Changes the nonce of the folder's name: the one made through the mount has it already.
const NONCE_CHANGE: u64 = 1;

/// The export behind the mount that a folder is on.
#[derive(Debug)]
pub(super) struct MountedExport {
    target: Target,
    own: Option<Box<dyn OwnPlace>>,
}

impl MountedExport {
    /// The export behind the folder of `path`, in which `own` was made through the mount; a folder of our own is made there
    /// too, unless only a plan is asked for, when there is no `own`. `None` for any other path.
    ///
    /// # Errors
    /// Why the export is not measured, as a sentence.
    pub(super) fn find(
        path: &PathFacts,
        own: Option<&Path>,
        nonce: u64,
        clock: &Arc<dyn Clock>,
    ) -> Option<Result<Self, String>> {
        let nfs = path.nfs.as_ref()?;
        Some(address(path, nfs).and_then(|address| Self::open(&address, own, nonce, clock)))
    }

    fn open(
        address: &NfsAddress,
        own: Option<&Path>,
        nonce: u64,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, String> {
        let target = target_of(address);
        let Some(own) = own else { return Ok(Self { target, own: None }) };
        let name = own.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // Another export, or the parent of a mounted subfolder, may have the same path.
        let refused =
            |error: CommandFailure| format!("narrows's own NFS client could not use it: {}", error.message());
        match measurement::examine_place(&target_of(&address.within(&name)), clock).map_err(refused)? {
            PlaceFound::Folder { .. } => {}
            PlaceFound::File { .. } => return Err(format!("{target} is not the folder that is mounted")),
        }
        let made = measurement::make_place(&target, nonce ^ NONCE_CHANGE, clock).map_err(refused)?;
        Ok(Self { target, own: made })
    }

    /// The export's folder, as a target.
    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// What killed runs have left in it: removed, or why not, in sentences.
    pub(super) fn notes(&self) -> &[String] {
        self.own.as_ref().map_or(&[], |own| own.notes())
    }

    /// Where its load goes: into our own folder, once it was made.
    pub(super) fn own_target(&self) -> &Target {
        self.own.as_ref().map_or(&self.target, |own| own.target())
    }
}

fn target_of(address: &NfsAddress) -> Target {
    Target::Scheme { engine: EngineId::Nfs, rest: address.to_string() }
}

/// The address of the folder on its server.
fn address(path: &PathFacts, nfs: &NfsFacts) -> Result<NfsAddress, String> {
    let mount = &path.mount;
    if let Some(transport) = nfs.transport.as_deref().filter(|transport| !transport.starts_with("tcp")) {
        return Err(format!("the mount is over {transport}, and narrows's own NFS client speaks TCP"));
    }
    if let Some(security) = mount.option("sec").filter(|security| security.starts_with("krb5")) {
        return Err(format!(
            "the mount is secured by Kerberos (sec={security}), which narrows's own NFS client does not speak"
        ));
    }
    if let Some(security) = mount.option("xprtsec").filter(|security| *security != "none") {
        return Err(format!(
            "the mount is encrypted (xprtsec={security}), which narrows's own NFS client does not speak"
        ));
    }
    let below = Path::new(&path.path).strip_prefix(&mount.mount_point).unwrap_or(Path::new(""));
    let whole = format!("{}/{}", nfs.export.trim_end_matches('/'), below.display());
    let whole = whole.trim_end_matches('/');
    if whole.is_empty() || whole.contains('?') {
        let whole = if whole.is_empty() { "/" } else { whole };
        return Err(format!("the export `{whole}` is no path that narrows's own NFS client can be given"));
    }
    let port = |name| mount.option(name).and_then(|port| port.parse().ok()).filter(|port| *port > 0);
    // The port of a MOUNT service over UDP says nothing of the one over TCP.
    let is_udp = mount.option("mountproto").is_some_and(|transport| transport.starts_with("udp"));
    let host = nfs.address.as_ref().unwrap_or(&nfs.server);
    let bare = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(host);
    Ok(NfsAddress {
        host: bare.to_owned(),
        port: port("port"),
        path: whole.to_owned(),
        mount_port: port("mountport").filter(|_| !is_udp),
        user_id: None,
        group_id: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::inventory::{MountFacts, PathKind};

    fn path(folder: &str, options: &[&str]) -> PathFacts {
        PathFacts {
            path: folder.to_owned(),
            kind: PathKind::Nfs,
            mount: MountFacts {
                mount_point: "/mnt/share".to_owned(),
                source: "storage:/export/data".to_owned(),
                fs_type: "nfs".to_owned(),
                options: options.iter().map(|option| (*option).to_owned()).collect(),
                device: "0:50".to_owned(),
                read_only: false,
            },
            overlay_layers: Vec::new(),
            nfs: None,
            devices: Vec::new(),
            free_bytes: None,
            size_bytes: None,
        }
    }

    fn nfs(transport: &str) -> NfsFacts {
        NfsFacts {
            server: "storage".to_owned(),
            export: "/export/data".to_owned(),
            version: "3".to_owned(),
            read_bytes_max: None,
            write_bytes_max: None,
            connection_count: None,
            transport: Some(transport.to_owned()),
            address: Some("10.0.0.7".to_owned()),
            synchronous: false,
        }
    }

    fn shown(folder: &str, options: &[&str], transport: &str) -> Result<String, String> {
        address(&path(folder, options), &nfs(transport)).map(|address| target_of(&address).to_string())
    }

    #[test]
    fn a_folder_below_the_mount_point_is_below_the_export_by_the_ports_of_the_mount() {
        assert_eq!(shown("/mnt/share", &["rw"], "tcp").unwrap(), "nfs://10.0.0.7/export/data");
        assert_eq!(
            shown("/mnt/share/a/b", &["port=2050", "mountport=20049"], "tcp").unwrap(),
            "nfs://10.0.0.7:2050/export/data/a/b?mountport=20049"
        );
        assert_eq!(
            shown("/mnt/share", &["port=0", "mountport=65535x"], "tcp6").unwrap(),
            "nfs://10.0.0.7/export/data"
        );
    }

    #[test]
    fn the_port_of_a_mount_service_over_udp_is_not_one_over_tcp() {
        let options = ["mountport=892", "mountproto=udp"];
        assert_eq!(shown("/mnt/share", &options, "tcp").unwrap(), "nfs://10.0.0.7/export/data");
    }

    #[test]
    fn a_folder_that_no_address_can_name_is_a_reason() {
        let odd = shown("/mnt/share/what?", &[], "tcp").unwrap_err();
        assert!(odd.contains("what?"), "{odd}");
        let root = NfsFacts { export: "/".to_owned(), ..nfs("tcp") };
        let root = address(&path("/mnt/share", &[]), &root).unwrap_err();
        assert!(root.contains("`/`"), "{root}");
    }

    #[test]
    fn what_the_own_client_does_not_speak_is_a_reason() {
        let encrypted = shown("/mnt/share", &["xprtsec=tls"], "tcp").unwrap_err();
        assert!(encrypted.contains("xprtsec=tls"), "{encrypted}");
        assert!(shown("/mnt/share", &["xprtsec=none"], "tcp").is_ok());
        let kerberos = shown("/mnt/share", &["sec=krb5p"], "tcp").unwrap_err();
        assert!(kerberos.contains("sec=krb5p"), "{kerberos}");
        let rdma = shown("/mnt/share", &["sec=sys"], "rdma").unwrap_err();
        assert!(rdma.contains("rdma") && rdma.contains("TCP"), "{rdma}");
    }
}
