//! `/proc/self/mountstats`: what the NFS client reports about its mounts beyond `mountinfo`.

use super::mountinfo::{split_options, unescape};
use super::{fields, lines, number};
use narrows_model::nfs_mount::MountProcedure;
use narrows_model::{Bytes, Nanos};

/// Procedures of one mount that are looked at: `NFSv4.2` has some seventy.
const PROCEDURES_MAX: usize = 256;

/// One NFS mount.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NfsStats {
    pub(crate) point: String,
    pub(crate) options: Vec<String>,
    /// Lines `xprt:`: the connections to the server.
    pub(crate) connection_count: u32,
    /// Bytes that the server was asked for and sent, past the client's cache.
    pub(crate) read_bytes: u64,
    pub(crate) write_bytes: u64,
    /// Procedures that were called.
    pub(crate) procedures: Vec<MountProcedure>,
}

/// The NFS mounts, in the kernel's order; all else is passed over.
///
/// # Source
/// `nfs_show_stats` of the kernel: `device SOURCE mounted on POINT with fstype TYPE statvers=N`, then indented lines.
pub(crate) fn parse(bytes: &[u8]) -> Vec<NfsStats> {
    let mut mounts = Vec::new();
    let mut inside = false;
    for (_, line) in lines(bytes) {
        if !line[0].is_ascii_whitespace() {
            let mount = header(line);
            inside = mount.is_some();
            mounts.extend(mount);
            continue;
        }
        let Some(mount) = mounts.last_mut().filter(|_| inside) else { continue };
        let mut parts = fields(line);
        match parts.next() {
            Some(b"opts:") => mount.options = parts.next().map(split_options).unwrap_or_default(),
            Some(b"bytes:") => {
                // Read and written by applications through the cache, past it, then by the server.
                let all: Vec<u64> = parts.map(|part| number(part).unwrap_or(0)).take(6).collect();
                if let [_, _, _, _, read, written] = all.as_slice() {
                    (mount.read_bytes, mount.write_bytes) = (*read, *written);
                }
            }
            Some(b"xprt:") => mount.connection_count = mount.connection_count.saturating_add(1),
            Some(name) if mount.procedures.len() < PROCEDURES_MAX => {
                mount.procedures.extend(procedure(name, parts));
            }
            _ => {}
        }
    }
    mounts
}

/// A line `NAME: calls transmissions timeouts sent received queue rtt execute [errors]`, times in milliseconds; `None` for
/// any other line, and for a procedure that was not called.
fn procedure<'line>(name: &[u8], parts: impl Iterator<Item = &'line [u8]>) -> Option<MountProcedure> {
    let name = std::str::from_utf8(name.strip_suffix(b":")?).ok()?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let values: Option<Vec<u64>> = parts.take(9).map(number).collect();
    let values = values.filter(|values| values.len() >= 8 && is_name)?;
    let [calls, transmissions, timeouts, sent, received, queue, rtt, execute] = *values.first_chunk::<8>()?;
    let milliseconds = |count: u64| Nanos(count.saturating_mul(1_000_000));
    (calls > 0 || transmissions > 0).then(|| MountProcedure {
        procedure: name.to_owned(),
        call_count: calls,
        transmission_count: transmissions,
        timeout_count: timeouts,
        error_count: values.get(8).copied().unwrap_or(0),
        sent_bytes: Bytes(sent),
        received_bytes: Bytes(received),
        queue_ns: milliseconds(queue),
        round_trip_ns: milliseconds(rtt),
        execute_ns: milliseconds(execute),
    })
}

fn header(line: &[u8]) -> Option<NfsStats> {
    let words: Vec<&[u8]> = fields(line).take(8).collect();
    match words.as_slice() {
        [b"device", _, b"mounted", b"on", point, b"with", b"fstype", b"nfs" | b"nfs4"] => {
            Some(NfsStats { point: unescape(point), ..NfsStats::default() })
        }
        _ => None,
    }
}
