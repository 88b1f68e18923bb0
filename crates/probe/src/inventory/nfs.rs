//! What is known of an NFS mount: from its options, and from `mountstats` where the kernel has it.

use narrows_model::inventory::NfsFacts;
use narrows_model::units::{Bytes, saturate_u32};

use crate::error::Result;
use crate::parse::mountinfo::Mount;
use crate::parse::mountstats::{self, NfsStats};
use crate::parse::number;
use crate::root::Root;
use crate::unknown::UnknownFacts;

/// The facts of `mount`, which is of type `nfs` or `nfs4`.
pub(super) fn read(root: &Root, mount: &Mount, unknown: &mut UnknownFacts) -> NfsFacts {
    let stats =
        unknown.note_unless_missing("NFS statistics of the mount", stats(root, &mount.point)).flatten();
    let options = MountOptions { mount, stats: stats.as_ref() };
    let (server, export) = split_source(&mount.source);
    let connections = stats.as_ref().map(|stats| stats.connection_count).filter(|&count| count > 0);
    let declared = options.number("nconnect").map(saturate_u32);
    let facts = NfsFacts {
        server,
        export,
        version: options.version().unwrap_or_else(|| "unknown".to_owned()),
        read_bytes_max: options.number("rsize").map(Bytes),
        write_bytes_max: options.number("wsize").map(Bytes),
        connection_count: connections.or(declared),
        transport: options.value("proto").map(ToOwned::to_owned),
        address: options.value("addr").map(ToOwned::to_owned),
        synchronous: options.has("sync"),
    };
    list_missing(&facts, unknown);
    facts
}

fn list_missing(facts: &NfsFacts, unknown: &mut UnknownFacts) {
    let missing = [
        ("protocol version", facts.version == "unknown"),
        ("largest read request (rsize)", facts.read_bytes_max.is_none()),
        ("largest write request (wsize)", facts.write_bytes_max.is_none()),
        ("number of connections", facts.connection_count.is_none()),
        ("transport", facts.transport.is_none()),
        ("server's address", facts.address.is_none()),
    ];
    for (fact, _) in missing.iter().filter(|(_, missing)| *missing) {
        unknown.add(format!("NFS {fact}: neither in /proc/self/mountinfo nor in /proc/self/mountstats"));
    }
}

/// The mount's options, and those that `mountstats` adds.
struct MountOptions<'facts> {
    mount: &'facts Mount,
    stats: Option<&'facts NfsStats>,
}

impl<'facts> MountOptions<'facts> {
    fn all(&self) -> impl Iterator<Item = &'facts str> {
        let stats = self.stats.into_iter().flat_map(|stats| &stats.options);
        self.mount.super_options.iter().chain(&self.mount.options).chain(stats).map(String::as_str)
    }

    fn has(&self, name: &str) -> bool {
        self.all().any(|option| option == name)
    }

    fn value(&self, key: &str) -> Option<&'facts str> {
        self.all().find_map(|option| option.strip_prefix(key)?.strip_prefix('='))
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.value(key).and_then(|value| number(value.as_bytes()))
    }

    /// Kernels before 3.4 write the minor version apart.
    fn version(&self) -> Option<String> {
        let version = self.value("vers").or_else(|| self.value("nfsvers"))?;
        Some(match self.value("minorversion") {
            Some(minor) if version == "4" => format!("4.{minor}"),
            _ => version.to_owned(),
        })
    }
}

fn stats(root: &Root, point: &str) -> Result<Option<NfsStats>> {
    let mounts = mountstats::parse(&root.read("/proc/self/mountstats")?);
    // Of several mounts at one place the last is on top.
    Ok(mounts.into_iter().rev().find(|mount| mount.point == point))
}

/// `server:/export`; an IPv6 address is in brackets.
fn split_source(source: &str) -> (String, String) {
    let end = if source.starts_with('[') { source.find("]:").map(|at| at + 1) } else { source.find(':') };
    match end {
        Some(end) => (source[..end].to_owned(), source[end + 1..].to_owned()),
        None => (source.to_owned(), String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_may_be_an_address_in_brackets() {
        assert_eq!(split_source("[fe80::1]:/srv"), ("[fe80::1]".to_owned(), "/srv".to_owned()));
        assert_eq!(split_source("nas:/srv/a:b"), ("nas".to_owned(), "/srv/a:b".to_owned()));
    }
}
