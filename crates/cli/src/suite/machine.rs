//! What a suite asks of the machine and the folder that were prepared for it.

use crate::check::PreparedCheck;
use crate::measurement::{self, Watch};
use narrows_engines::EngineFactory;
use narrows_model::capabilities::Support;
use narrows_model::{Bytes, Target};
use narrows_probe::Root;
use narrows_probe::inventory::largest_cpu_cache;
use narrows_suites::{FolderRoom, SuiteMachine};

/// What a plan depends on beside the run and its folder.
#[derive(Clone, Copy)]
pub(super) struct PlanSite<'a> {
    /// Clients of a load that does not say how many.
    pub(super) usual_clients: u32,
    /// Memory that a client may use on the host with the least of it, where known.
    pub(super) memory: Option<Bytes>,
    /// The clock and the request to stop.
    pub(super) watch: &'a Watch,
}

/// The machine and the folder; caches and direct access are looked at when they are asked for.
pub(super) struct FolderMachine<'a> {
    prepared: &'a PreparedCheck,
    targets: &'a [Target],
    clock_resolution_ns: u64,
    memory: Option<Bytes>,
    /// Clients of a load that does not say how many: one on each host, or the ranks of a job.
    usual_clients: u32,
}

impl<'a> FolderMachine<'a> {
    /// What was `prepared`, with the folders of the files and what is known of the `site`.
    pub(super) fn new(prepared: &'a PreparedCheck, targets: &'a [Target], site: &PlanSite<'_>) -> Self {
        Self {
            prepared,
            targets,
            clock_resolution_ns: site.watch.clock_resolution_ns,
            memory: site.memory,
            usual_clients: site.usual_clients,
        }
    }

    /// The room of every folder; none where that of any is not known.
    fn all_rooms(&self) -> Vec<FolderRoom> {
        self.targets.iter().map(|target| self.room(target)).collect::<Option<_>>().unwrap_or_default()
    }

    /// The room of the folder `target`; `None` where it is not known.
    fn room(&self, target: &Target) -> Option<FolderRoom> {
        let Target::File { path } = target else { return None };
        let found = measurement::machine(Some(path), self.clock_resolution_ns).ok()?.path?;
        Some(FolderRoom { file_system: found.mount.device, free: found.free_bytes? })
    }
}

fn is_one_file_system(rooms: &[FolderRoom]) -> bool {
    rooms.windows(2).all(|pair| pair[0].file_system == pair[1].file_system)
}

impl SuiteMachine for FolderMachine<'_> {
    fn hostname(&self) -> &str {
        &self.prepared.resolved.inventory().host.hostname
    }

    fn memory_bytes(&self) -> Option<Bytes> {
        self.memory
    }

    fn free_bytes(&self) -> Option<Bytes> {
        let rooms = self.all_rooms();
        let local = rooms.first().map(|room| room.free).filter(|_| is_one_file_system(&rooms));
        local.or(self.prepared.resolved.exported_free_bytes())
    }

    fn rooms(&self) -> Vec<FolderRoom> {
        Some(self.all_rooms()).filter(|rooms| !is_one_file_system(rooms)).unwrap_or_default()
    }

    fn cpu_cache_bytes(&self) -> Option<Bytes> {
        largest_cpu_cache(&Root::system())?.size_bytes
    }

    fn cpu_cache_line_bytes(&self) -> Option<Bytes> {
        largest_cpu_cache(&Root::system())?.line_bytes
    }

    fn usual_clients(&self) -> u32 {
        self.usual_clients
    }

    fn ranks_of_host(&self, clients: u32) -> Option<u32> {
        crate::ranks::of_first_host(clients)
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
