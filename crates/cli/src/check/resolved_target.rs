//! What TARGET is: a folder to make test files in, a file that is only read, an endpoint, or what an NFS server exports.

use crate::args::CheckArguments;
use crate::exit::CommandFailure;
use crate::measurement::{self, PathFound};
use narrows_engines::nfs::NfsFound;
use narrows_engines::psync::TestFolder;
use narrows_engines::{Clock, OwnPlace};
use narrows_model::{Bytes, EngineId, Inventory, Layer, NfsAddress, Target, Via};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What TARGET turned out to be, with the inventory of this machine.
#[derive(Debug)]
pub(crate) struct ResolvedTarget {
    kind: ResolvedTargetKind,
    inventory: Inventory,
}

/// What TARGET turned out to be.
#[derive(Debug)]
pub(crate) enum ResolvedTargetKind {
    /// A folder; the load makes a folder for its test files inside it.
    Folder {
        /// Our own folder in it; `None` when only a plan is asked for.
        own: Option<TestFolder>,
    },
    /// A file that exists and is only read.
    File {
        /// Its length.
        length: Bytes,
    },
    /// A folder of an NFS server; the load makes a folder for its test files inside it.
    Exported {
        /// Our own folder in it; `None` when only a plan is asked for.
        own: Option<Box<dyn OwnPlace>>,
        /// Room for files, as the server says.
        free_bytes: Option<Bytes>,
    },
    /// An endpoint.
    Endpoint {
        /// Name or address of its host.
        host: String,
        /// Its TCP port.
        port: u16,
        /// The proxy on the way to it.
        via: Option<Via>,
    },
}

impl ResolvedTarget {
    /// Examines TARGET; makes our own folder in it unless only a plan is asked for.
    pub(crate) fn resolve(
        arguments: &CheckArguments,
        nonce: u64,
        clock_resolution_ns: u64,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, CommandFailure> {
        let (kind, path) = match &arguments.target {
            Target::File { path } => (kind_of(path, arguments, nonce)?, Some(path.as_path())),
            Target::Tcp { layer: Layer::Sink | Layer::Source, .. } => {
                return Err(CommandFailure::bad_input(format!(
                    "{} is one cut of a path; check the path to /memory or /disk, which measures it too",
                    arguments.target
                )));
            }
            Target::Tcp { host, port, via, .. } => {
                (ResolvedTargetKind::Endpoint { host: host.clone(), port: *port, via: via.clone() }, None)
            }
            Target::Stripe(_) => {
                return Err(CommandFailure::bad_input(format!(
                    "{} spans several targets, which a check does not support; name it as the target of a study with \
                     cuts = [\"network_stream\", \"server_storage\"] for `narrows run`, or check one member",
                    arguments.target
                )));
            }
            Target::Scheme { engine: EngineId::Nfs, rest } => {
                (exported(rest, arguments, nonce, clock)?, None)
            }
            Target::Scheme { engine, .. } if engine.declaration().stores_data => {
                return Err(CommandFailure::bad_input(format!(
                    "{}: a check of this kind of target is not supported, because nothing cuts its path yet; measure it \
                     with a study (`narrows run`), or give the path where it is mounted",
                    arguments.target
                )));
            }
            Target::Null { .. } | Target::Sim { .. } | Target::Scheme { .. } => {
                return Err(CommandFailure::bad_input(format!(
                    "{} is not a storage path; give a folder, a file or tcp://HOST:PORT/disk",
                    arguments.target
                )));
            }
        };
        let inventory = measurement::machine(path, clock_resolution_ns)?;
        Ok(Self { kind, inventory })
    }

    /// What TARGET is.
    pub(crate) fn kind(&self) -> &ResolvedTargetKind {
        &self.kind
    }

    /// This machine and the path to TARGET.
    pub(crate) fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// Our own folder in TARGET.
    pub(crate) fn own_folder(&self) -> Option<&Path> {
        match &self.kind {
            ResolvedTargetKind::Folder { own: Some(own) } => Some(own.path()),
            _ => None,
        }
    }

    /// Where the load of `target` goes: into our own folder, where there is one on an NFS server.
    pub(crate) fn led_into_own(&self, target: &Target) -> Target {
        match (&self.kind, target) {
            (
                ResolvedTargetKind::Exported { own: Some(own), .. },
                Target::Scheme { engine: EngineId::Nfs, .. },
            ) => own.target().clone(),
            _ => target.clone(),
        }
    }

    /// Room for files on an NFS server.
    pub(crate) fn exported_free_bytes(&self) -> Option<Bytes> {
        match &self.kind {
            ResolvedTargetKind::Exported { free_bytes, .. } => *free_bytes,
            _ => None,
        }
    }

    /// Lets our own folder stay when the command ends, with what is in it; where it is, if there is one.
    pub(crate) fn keep(&mut self) -> Option<&Path> {
        match &mut self.kind {
            ResolvedTargetKind::Folder { own: Some(own) } => {
                own.keep();
                Some(own.path())
            }
            _ => None,
        }
    }

    /// What checks that were killed left in TARGET, in sentences.
    pub(crate) fn leftovers(&self, arguments: &CheckArguments) -> Vec<String> {
        match (&self.kind, &arguments.target) {
            (ResolvedTargetKind::Folder { .. }, Target::File { path }) => measurement::leftovers(path),
            (ResolvedTargetKind::Exported { own: Some(own), .. }, target) => {
                own.notes().iter().map(|note| format!("narrows: {target}: {note}")).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A file of ours in TARGET: file systems say of a file, not of a folder, whether it takes direct access.
    pub(crate) fn own_file(&self) -> Option<PathBuf> {
        match &self.kind {
            ResolvedTargetKind::Folder { own: Some(own) } => Some(own.marker()),
            _ => None,
        }
    }

    /// Kernel names of the block devices under TARGET, the one that the file system is on first.
    pub(crate) fn device_names(&self) -> Vec<String> {
        let devices = self.inventory.path.as_ref().map(|path| path.devices.as_slice());
        devices.unwrap_or_default().iter().map(|device| device.name.clone()).collect()
    }
}

fn kind_of(
    path: &Path,
    arguments: &CheckArguments,
    nonce: u64,
) -> Result<ResolvedTargetKind, CommandFailure> {
    match measurement::examine(path)? {
        PathFound::File { .. } if arguments.server.is_some() => Err(CommandFailure::bad_input(format!(
            "{} is a file; --server needs a folder in which test files can be created",
            path.display()
        ))),
        PathFound::File { length } => Ok(ResolvedTargetKind::File { length }),
        PathFound::Folder if arguments.output.plan && arguments.server.is_none() => {
            Ok(ResolvedTargetKind::Folder { own: None })
        }
        PathFound::Folder => Ok(ResolvedTargetKind::Folder { own: Some(measurement::make(path, nonce)?) }),
    }
}

/// What an NFS server has at `rest`.
fn exported(
    rest: &str,
    arguments: &CheckArguments,
    nonce: u64,
    clock: &Arc<dyn Clock>,
) -> Result<ResolvedTargetKind, CommandFailure> {
    let target = &arguments.target;
    if arguments.server.is_some() {
        return Err(CommandFailure::bad_input(format!(
            "--server is not supported with {target}: whether an endpoint serves the same export is not known without a \
             mount; mount it and check the folder with --server HOST:PORT, or check tcp://HOST:PORT/disk beside it"
        )));
    }
    let address = NfsAddress::parse(rest)
        .map_err(|problem| CommandFailure::bad_input(format!("{target} {problem}")))?;
    match measurement::examine_nfs(&address, clock)? {
        NfsFound::File { length } => Ok(ResolvedTargetKind::File { length }),
        NfsFound::Folder { free_bytes } => {
            let own =
                if arguments.output.plan { None } else { measurement::make_place(target, nonce, clock)? };
            Ok(ResolvedTargetKind::Exported { own, free_bytes })
        }
    }
}
