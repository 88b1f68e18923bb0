//! What a suite asks of the machine and the folder that were prepared for it.

use crate::check::PreparedCheck;
use narrows_engines::{EngineFactory, EngineRegistry};
use narrows_model::capabilities::Support;
use narrows_model::{Bytes, Target};
use narrows_suites::SuiteMachine;
use std::path::Path;

/// Where the machine lists the caches of its first processor.
const CPU_CACHES: &str = "/sys/devices/system/cpu/cpu0/cache";

/// The machine and the folder; caches and direct access are looked at when they are asked for.
pub(super) struct FolderMachine<'a> {
    prepared: &'a PreparedCheck,
    targets: &'a [Target],
    has_other_folders: bool,
}

impl<'a> FolderMachine<'a> {
    /// What was `prepared`; with files in other folders the free room of its own says nothing.
    pub(super) fn new(prepared: &'a PreparedCheck, targets: &'a [Target], has_other_folders: bool) -> Self {
        Self { prepared, targets, has_other_folders }
    }
}

impl SuiteMachine for FolderMachine<'_> {
    fn hostname(&self) -> &str {
        &self.prepared.resolved.inventory().host.hostname
    }

    fn memory_bytes(&self) -> Option<Bytes> {
        self.prepared.resolved.inventory().host.usable_memory()
    }

    fn free_bytes(&self) -> Option<Bytes> {
        let path = self.prepared.resolved.inventory().path.as_ref();
        path.and_then(|path| path.free_bytes).filter(|_| !self.has_other_folders)
    }

    fn cpu_cache_bytes(&self) -> Option<Bytes> {
        largest_cache_fact(Path::new(CPU_CACHES), "size")
    }

    fn cpu_cache_line_bytes(&self) -> Option<Bytes> {
        largest_cache_fact(Path::new(CPU_CACHES), "coherency_line_size")
    }

    /// File systems answer for a file, not for a folder.
    fn direct_alignment_bytes(&self) -> Result<Bytes, String> {
        let own = self.prepared.resolved.own_file().map(|path| Target::File { path });
        let probed = own.or_else(|| self.targets.first().cloned()).ok_or("no folder")?;
        let factory = EngineRegistry::for_user().factory(&probed, None).map_err(|error| error.to_string())?;
        let capabilities =
            EngineFactory::capabilities(factory.as_ref(), &probed).map_err(|error| error.to_string())?;
        match capabilities.direct {
            Support::Yes => Ok(capabilities.alignment_bytes),
            Support::No { reason } => Err(reason),
        }
    }
}

/// The largest `fact` of the caches below `folder`, whose sizes are written as `32768K` and lines as `64`.
fn largest_cache_fact(folder: &Path, fact: &str) -> Option<Bytes> {
    let entries = std::fs::read_dir(folder).ok()?;
    let sizes = entries.filter_map(|entry| {
        let text = std::fs::read_to_string(entry.ok()?.path().join(fact)).ok()?;
        narrows_model::size::parse_size(&text.trim().replace('K', "KiB").replace('M', "MiB")).ok()
    });
    sizes.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_cache_is_found() {
        let folder = tempfile::tempdir().unwrap();
        for (name, size) in [("index0", "32K\n"), ("index3", "16M\n"), ("index2", "512K\n"), ("power", "x")] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("size"), size).unwrap();
            std::fs::write(folder.path().join(name).join("coherency_line_size"), "64\n").unwrap();
        }
        assert_eq!(largest_cache_fact(folder.path(), "size"), Some(Bytes(16 << 20)));
        assert_eq!(largest_cache_fact(folder.path(), "coherency_line_size"), Some(Bytes(64)));
        assert_eq!(largest_cache_fact(&folder.path().join("none"), "size"), None);
    }
}
