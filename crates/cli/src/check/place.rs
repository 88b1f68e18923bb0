//! What TARGET is: a folder to make test files in, a file that is only read, or an endpoint.

use crate::args::CheckArguments;
use crate::exit::Failure;
use crate::measurement::{self, PathFound};
use narrows_engines::psync::TestFolder;
use narrows_model::{Bytes, Inventory, Layer, Target, Via};
use std::path::{Path, PathBuf};

/// What TARGET turned out to be, with the inventory of this machine.
#[derive(Debug)]
pub(crate) struct Place {
    kind: PlaceKind,
    inventory: Inventory,
}

/// What TARGET turned out to be.
#[derive(Debug)]
pub(crate) enum PlaceKind {
    /// A folder; test files go into a folder of their own inside it, once load is put on.
    Folder {
        /// Our own folder in it; `None` when only a plan is asked for.
        own: Option<TestFolder>,
    },
    /// A file that exists and is only read.
    File {
        /// Its length.
        length: Bytes,
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

impl Place {
    /// Examines TARGET; makes our own folder in it unless only a plan is asked for.
    pub(crate) fn resolve(
        arguments: &CheckArguments,
        nonce: u64,
        clock_resolution_ns: u64,
    ) -> Result<Self, Failure> {
        let (kind, path) = match &arguments.target {
            Target::File { path } => (kind_of(path, arguments, nonce)?, Some(path.as_path())),
            Target::Tcp { layer: Layer::Sink | Layer::Source, .. } => {
                return Err(Failure::bad_input(format!(
                    "{} is one cut of a path; check the path to /memory or /disk, which measures it too",
                    arguments.target
                )));
            }
            Target::Tcp { host, port, via, .. } => {
                (PlaceKind::Endpoint { host: host.clone(), port: *port, via: via.clone() }, None)
            }
            Target::Stripe(_) => {
                return Err(Failure::bad_input(format!(
                    "{} goes round several targets, which a check does not; name it as the target of a study with \
                     cuts = [\"network_stream\", \"server_storage\"] for `narrows run`, or check one member",
                    arguments.target
                )));
            }
            Target::Null { .. } | Target::Sim { .. } => {
                return Err(Failure::bad_input(format!(
                    "{} is no storage path; give a folder, a file or tcp://HOST:PORT/disk",
                    arguments.target
                )));
            }
        };
        let inventory = measurement::machine(path, clock_resolution_ns)?;
        Ok(Self { kind, inventory })
    }

    /// What TARGET is.
    pub(crate) fn kind(&self) -> &PlaceKind {
        &self.kind
    }

    /// This machine and the path to TARGET.
    pub(crate) fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// Our own folder in TARGET.
    pub(crate) fn own_folder(&self) -> Option<&Path> {
        match &self.kind {
            PlaceKind::Folder { own: Some(own) } => Some(own.path()),
            _ => None,
        }
    }

    /// Lets our own folder stay when the command ends, with what is in it; where it is, if there is one.
    pub(crate) fn keep(&mut self) -> Option<&Path> {
        match &mut self.kind {
            PlaceKind::Folder { own: Some(own) } => {
                own.keep();
                Some(own.path())
            }
            _ => None,
        }
    }

    /// What checks that were killed left in TARGET, in sentences.
    pub(crate) fn leftovers(&self, arguments: &CheckArguments) -> Vec<String> {
        match (&self.kind, &arguments.target) {
            (PlaceKind::Folder { .. }, Target::File { path }) => measurement::leftovers(path),
            _ => Vec::new(),
        }
    }

    /// A file of ours in TARGET: file systems say of a file, not of a folder, whether it takes direct access.
    pub(crate) fn own_file(&self) -> Option<PathBuf> {
        match &self.kind {
            PlaceKind::Folder { own: Some(own) } => Some(own.marker()),
            _ => None,
        }
    }

    /// Kernel names of the block devices under TARGET, the one that the file system lies on first.
    pub(crate) fn device_names(&self) -> Vec<String> {
        let devices = self.inventory.path.as_ref().map(|path| path.devices.as_slice());
        devices.unwrap_or_default().iter().map(|device| device.name.clone()).collect()
    }
}

fn kind_of(path: &Path, arguments: &CheckArguments, nonce: u64) -> Result<PlaceKind, Failure> {
    match measurement::examine(path)? {
        PathFound::File { .. } if arguments.server.is_some() => Err(Failure::bad_input(format!(
            "{} is a file; --server needs a folder in which test files can be made",
            path.display()
        ))),
        PathFound::File { length } => Ok(PlaceKind::File { length }),
        PathFound::Folder if arguments.output.plan && arguments.server.is_none() => {
            Ok(PlaceKind::Folder { own: None })
        }
        PathFound::Folder => Ok(PlaceKind::Folder { own: Some(measurement::make(path, nonce)?) }),
    }
}
