//! The server that the kernel has mounted a file system from.

use narrows_model::inventory::{MountFacts, PathFacts};
use std::net::SocketAddr;

/// Where NFS is served; port 0 in the options asks the port mapper, which has it here too on nearly every server.
const NFS_PORT: u16 = 2049;
/// Where SMB is served over TCP.
const SMB_PORT: u16 = 445;

/// The end of the server to which the kernel is connected for the mount of `path`: NFS over TCP, and SMB; `None` for any
/// other mount, and where its options do not have the address.
#[must_use]
pub fn mount_server(path: &PathFacts) -> Option<SocketAddr> {
    let usual = usual_port(&path.mount)?;
    let known = path.nfs.as_ref().and_then(|nfs| nfs.address.as_deref());
    let address = known.or_else(|| path.mount.option("addr"))?.parse().ok()?;
    let port = path.mount.option("port").and_then(|port| port.parse().ok()).filter(|port| *port > 0);
    Some(SocketAddr::new(address, port.unwrap_or(usual)))
}

fn usual_port(mount: &MountFacts) -> Option<u16> {
    match mount.fs_type.as_str() {
        "nfs" | "nfs4" => {
            let over_tcp = mount.option("proto").is_none_or(|transport| transport.starts_with("tcp"));
            over_tcp.then_some(NFS_PORT)
        }
        "cifs" | "smb3" => Some(SMB_PORT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::inventory::PathKind;

    fn server(fs_type: &str, options: &[&str]) -> Option<String> {
        let mount = MountFacts {
            mount_point: "/mnt/share".to_owned(),
            source: "storage:/export".to_owned(),
            fs_type: fs_type.to_owned(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            device: "0:50".to_owned(),
            read_only: false,
        };
        let path = PathFacts {
            path: "/mnt/share".to_owned(),
            kind: PathKind::Nfs,
            mount,
            overlay_layers: Vec::new(),
            nfs: None,
            devices: Vec::new(),
            free_bytes: None,
            size_bytes: None,
        };
        mount_server(&path).map(|server| server.to_string())
    }

    #[test]
    fn the_server_of_a_mount_is_in_its_options_and_its_port_the_usual_one_unless_they_have_another() {
        let found = |fs_type, options: &[&str]| server(fs_type, options);
        assert_eq!(found("nfs4", &["rw", "addr=10.0.0.7", "proto=tcp"]).unwrap(), "10.0.0.7:2049");
        assert_eq!(found("nfs", &["addr=fd00::1", "proto=tcp6", "port=20490"]).unwrap(), "[fd00::1]:20490");
        assert_eq!(found("nfs", &["addr=10.0.0.7", "port=0"]).unwrap(), "10.0.0.7:2049");
        assert_eq!(found("cifs", &["addr=10.0.0.8"]).unwrap(), "10.0.0.8:445");
    }

    #[test]
    fn a_mount_over_another_transport_of_another_kind_or_without_an_address_has_none() {
        assert!(server("nfs", &["addr=10.0.0.7", "proto=rdma"]).is_none());
        assert!(server("fuse.sshfs", &["addr=10.0.0.7"]).is_none());
        assert!(server("nfs", &["proto=tcp"]).is_none() && server("nfs", &["addr=storage"]).is_none());
    }
}
