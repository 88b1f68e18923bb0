//! What a suite asks of the machine and the folder that were prepared for it.

use crate::check::PreparedCheck;
use narrows_engines::EngineFactory;
use narrows_model::capabilities::Support;
use narrows_model::{Bytes, Target};
use narrows_probe::Root;
use narrows_probe::inventory::largest_cpu_cache;
use narrows_suites::SuiteMachine;

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
        largest_cpu_cache(&Root::system())?.size_bytes
    }

    fn cpu_cache_line_bytes(&self) -> Option<Bytes> {
        largest_cpu_cache(&Root::system())?.line_bytes
    }

    /// File systems answer for a file, not for a folder.
    fn direct_alignment_bytes(&self) -> Result<Bytes, String> {
        let own = self.prepared.resolved.own_file().map(|path| Target::File { path });
        let probed = own.or_else(|| self.targets.first().cloned()).ok_or("no folder")?;
        let factory =
            crate::registry::registry().factory(&probed, None).map_err(|error| error.to_string())?;
        let capabilities =
            EngineFactory::capabilities(factory.as_ref(), &probed).map_err(|error| error.to_string())?;
        match capabilities.direct {
            Support::Yes => Ok(capabilities.alignment_bytes),
            Support::No { reason } => Err(reason),
        }
    }
}
