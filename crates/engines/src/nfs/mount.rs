//! From an address to the handle of its folder: the port mapper, MOUNT, and LOOKUP of what is below the export.

use super::server::NfsServer;
use super::session::RpcSession;
use crate::connections::StoragePeer;
use crate::error::{EngineError, ErrorKind};
use narrows_wire::nfs::attributes::FileHandle;
use narrows_wire::nfs::calls::put_name;
use narrows_wire::nfs::mount::{put_path, put_port_of, read_exports, read_mount, read_port};
use narrows_wire::nfs::procedure::{MOUNT, NFS, RpcProgram};
use narrows_wire::nfs::results::read_lookup;
use narrows_wire::nfs::rpc::RpcRefusal;
use narrows_wire::nfs::{Procedure, Status};

/// Where every port mapper listens.
const PORTMAP_PORT: u16 = 111;
/// Longest wait for a port mapper to accept a connection, and then to answer: it answers from memory, and firewalls that let
/// NFS pass often drop what is sent to it. Twice what a name server that is silent costs a resolver.
const PORTMAP_TIMEOUT_NS: u64 = 10_000_000_000;
/// Where NFS servers listen that need no port mapper.
const NFS_PORT: u16 = 2049;
/// Longest wait for a server to accept a connection, and then to say which versions it has: it is asked to explain a failure.
const VERSIONS_TIMEOUT_NS: u64 = 2_000_000_000;
const OTHER_VERSIONS_HINT: &str = "mount the export and check the mounted folder (narrows check /mnt/FOLDER), whose calls are \
    counted too; or let the server serve version 3 as well, with its port mapper and MOUNT";
/// Exports that a message lists.
const LISTED_EXPORTS_MAX: usize = 8;
/// Exports that are looked through.
const EXPORTS_MAX: usize = 4096;

/// A connection to the NFS service, and the folder of the address.
#[derive(Debug)]
pub(super) struct MountedFolder {
    pub(super) session: RpcSession,
    pub(super) folder: FileHandle,
}

/// Mounts the export of the server's address, and finds the folder in it.
pub(super) fn mount(server: &NfsServer) -> Result<MountedFolder, EngineError> {
    mount_by_version_3(server).map_err(|error| match error.kind {
        // No port mapper, no MOUNT, no NFSv3: a server of other versions has none of them.
        ErrorKind::Refused | ErrorKind::PeerGone | ErrorKind::Unsupported => {
            only_other_versions(server).unwrap_or(error)
        }
        _ => error,
    })
}

/// The error that the server speaks NFS, and version 3 is not among its versions; `None` where it does not say so.
fn only_other_versions(server: &NfsServer) -> Option<EngineError> {
    let timeout_ns = server.timeout_ns.min(VERSIONS_TIMEOUT_NS);
    let asked = NfsServer { timeout_ns, ..server.clone() };
    // Port mappers name the port of a program where they know other versions of it alone.
    let port = port(&asked, NFS, server.address.port).unwrap_or(NFS_PORT);
    let mut service = RpcSession::open(&asked, port).ok()?;
    let answered = service.call_or_refusal("ask for versions", Procedure::Null, |_| {}, |_| Ok(())).ok()?;
    match answered {
        Err(RpcRefusal::Version { low, high }) if low > NFS.version || high < NFS.version => {
            let versions =
                if low == high { format!("version {low}") } else { format!("versions {low} to {high}") };
            Some(
                EngineError::new(ErrorKind::Unsupported, "mount", server.name())
                    .detail(format!(
                        "the server speaks {versions} of NFS alone, and narrows speaks version 3"
                    ))
                    .hint(OTHER_VERSIONS_HINT),
            )
        }
        _ => None,
    }
}

fn mount_by_version_3(server: &NfsServer) -> Result<MountedFolder, EngineError> {
    let address = &server.address;
    let mount_port = port(server, MOUNT, address.mount_port)?;
    let nfs_port = port(server, NFS, address.port)?;
    let (root, rest) = exported(server, mount_port)?;
    let mut session = RpcSession::open(server, nfs_port)?;
    let mut folder = root;
    for name in rest.split('/').filter(|name| !name.is_empty()) {
        let found = session
            .call("look up", Procedure::Lookup, |out| put_name(out, &folder, name), read_lookup)?
            .map_err(|status| server.failed("look up", name, status))?;
        folder = found.handle;
    }
    Ok(MountedFolder { session, folder })
}

/// The port of `program`: the given one, or that which the port mapper knows.
fn port(server: &NfsServer, program: RpcProgram, given: Option<u16>) -> Result<u16, EngineError> {
    if let Some(port) = given {
        return Ok(port);
    }
    let asked = ask_port_mapper(server, program, (PORTMAP_PORT, PORTMAP_TIMEOUT_NS)).map_err(|error| {
        match error.kind {
            ErrorKind::Refused | ErrorKind::PeerGone => error.hint(
                "no port mapper (rpcbind) answers there, or a firewall is before it; give both ports: \
             nfs://HOST:PORT/EXPORT/PATH?mountport=PORT",
            ),
            _ => error,
        }
    });
    asked?.ok_or_else(|| {
        EngineError::new(ErrorKind::Unsupported, "ask for a port", server.name())
            .detail(format!("its port mapper knows no {} version {} over TCP", program.name, program.version))
            .hint("let the server serve NFS version 3 over TCP, or give its ports in the address")
    })
}

/// The port of `program` that the port mapper on `mapper_port` knows, which has so long to accept and so long to answer.
fn ask_port_mapper(
    server: &NfsServer,
    program: RpcProgram,
    (mapper_port, timeout_ns): (u16, u64),
) -> Result<Option<u16>, EngineError> {
    let server = NfsServer { timeout_ns: server.timeout_ns.min(timeout_ns), ..server.clone() };
    let mut mapper = RpcSession::open(&server, mapper_port)?;
    mapper.call("ask for a port", Procedure::GetPort, |out| put_port_of(out, program), read_port)
}

/// The handle of the export that contains the path, and the path below it.
fn exported(server: &NfsServer, port: u16) -> Result<(FileHandle, &str), EngineError> {
    let path = server.address.path.as_str();
    let mut service = RpcSession::open(server, port)?;
    let exports: Vec<String> = service.call(
        "list exports",
        Procedure::Exports,
        |_| {},
        |reader| Ok(read_exports(reader, EXPORTS_MAX)?.into_iter().map(str::to_owned).collect()),
    )?;
    let mut failure = None;
    for export in candidates(path, &exports) {
        let mounted = service.call("mount", Procedure::Mount, |out| put_path(out, export), read_mount)?;
        match mounted {
            Ok(handle) => {
                // What was mounted is not kept in the server's list: the handle needs no entry there.
                service.call("mount", Procedure::Unmount, |out| put_path(out, export), |_| Ok(()))?;
                return Ok((handle, &path[if export == "/" { 0 } else { export.len() }..]));
            }
            // What is said of the likeliest one.
            Err(status) => failure = failure.or(Some(status)),
        }
    }
    Err(not_exported(server, failure.unwrap_or(Status::NOT_FOUND), &exports))
}

/// What may be mounted to reach `path`, the likeliest first: exports that contain it, the deepest first; and where none of
/// the list does, the path itself and every folder around it, since a server need not list what it exports.
fn candidates<'a>(path: &'a str, exports: &[String]) -> Vec<&'a str> {
    let around = around(path);
    let listed: Vec<&str> = listed(&around, exports).collect();
    if listed.is_empty() { around } else { listed }
}

/// `path` and every folder around it, the deepest first.
fn around(path: &str) -> Vec<&str> {
    let folders = path.match_indices('/').map(|(at, _)| &path[..at.max(1)]);
    let mut around: Vec<&str> = folders.chain([path]).collect();
    around.reverse();
    around
}

/// Those of `folders` that are exports.
fn listed<'a>(folders: &[&'a str], exports: &[String]) -> impl Iterator<Item = &'a str> {
    folders.iter().copied().filter(|folder| exports.iter().any(|export| export == folder))
}

fn not_exported(server: &NfsServer, status: Status, exports: &[String]) -> EngineError {
    let path = &server.address.path;
    let error = server.failed("mount", path, status);
    if listed(&around(path), exports).next().is_some() {
        return error;
    }
    let mut names = exports.iter().take(LISTED_EXPORTS_MAX).cloned().collect::<Vec<_>>().join(", ");
    if exports.len() > LISTED_EXPORTS_MAX {
        names.push_str(" and more");
    }
    let hint = if names.is_empty() {
        "the server lists no exports".to_owned()
    } else {
        format!("the server exports {names}")
    };
    error.hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::MonotonicClock;
    use crate::stop::StopFlag;
    use narrows_model::NfsAddress;
    use std::sync::Arc;

    #[test]
    fn the_deepest_listed_export_is_mounted_and_every_folder_is_tried_where_none_is_listed() {
        let exports = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(candidates("/a/b/c", &exports(&["/a", "/a/b", "/a/bc"])), ["/a/b", "/a"]);
        assert_eq!(candidates("/a/b", &exports(&["/"])), ["/"]);
        assert_eq!(candidates("/a/b", &exports(&["/other"])), ["/a/b", "/a", "/"]);
    }

    /// A server whose calls may take an hour.
    fn patient_server(address: &str) -> NfsServer {
        NfsServer {
            address: NfsAddress::parse(address).unwrap(),
            clock: Arc::new(MonotonicClock::new()),
            timeout_ns: 3_600_000_000_000,
            stop: StopFlag::default(),
        }
    }

    #[test]
    fn a_port_mapper_that_is_silent_is_given_up_long_before_the_answer_timeout() {
        // Its backlog takes the connection; nobody answers.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = patient_server("//127.0.0.1/data");
        let error = ask_port_mapper(&server, MOUNT, (port, 50_000_000)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::PeerGone);
        assert!(error.to_string().contains("no answer within 50 ms"), "{error}");
    }
}
