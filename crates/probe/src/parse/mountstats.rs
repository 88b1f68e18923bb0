//! `/proc/self/mountstats`: what the NFS client reports about its mounts beyond `mountinfo`.

use super::mountinfo::{split_options, unescape};
use super::{fields, lines};

/// One NFS mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NfsStats {
    pub(crate) point: String,
    pub(crate) options: Vec<String>,
    /// Lines `xprt:`: the connections to the server.
    pub(crate) connection_count: u32,
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
            Some(b"xprt:") => mount.connection_count = mount.connection_count.saturating_add(1),
            _ => {}
        }
    }
    mounts
}

fn header(line: &[u8]) -> Option<NfsStats> {
    let words: Vec<&[u8]> = fields(line).take(8).collect();
    match words.as_slice() {
        [b"device", _, b"mounted", b"on", point, b"with", b"fstype", b"nfs" | b"nfs4"] => {
            Some(NfsStats { point: unescape(point), options: Vec::new(), connection_count: 0 })
        }
        _ => None,
    }
}
