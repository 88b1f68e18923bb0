//! What TARGET is: a folder to make test files in, a file that is only read, an endpoint, or what a server of a storage
//! protocol has.

use super::mounted_export::MountedExport;
use crate::args::CheckArguments;
use crate::exit::CommandFailure;
use crate::measurement::units::{self, UnitSite};
use crate::measurement::{self, Announced, PathFound, Watch};
use narrows_engines::psync::TestFolder;
use narrows_engines::{Clock, OwnPlace, PlaceFound};
use narrows_model::{Bytes, EngineId, Inventory, Layer, Plan, Target, Via};
use narrows_study::redirect_targets;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What TARGET turned out to be, with the inventory of this machine.
///
/// Fields are dropped in order: our folder in the export is removed before the one that was made through the mount, so that
/// both are gone when the command ends.
pub(crate) struct ResolvedTarget {
    /// The export behind a mounted folder, or why it is not measured; `None` of any other path.
    export: Option<Result<MountedExport, String>>,
    kind: ResolvedTargetKind,
    inventory: Inventory,
}

/// What TARGET turned out to be.
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
    /// A folder of a server, or a part of a bucket; the load makes a place for its test files or objects inside it.
    Exported {
        /// Our own folder in it; `None` when only a plan is asked for.
        own: Option<Box<dyn OwnPlace>>,
        /// Room for files, as the server says.
        free_bytes: Option<Bytes>,
    },
    /// A logical unit or a block device, which is only read where it holds anything, unless it is named for overwriting.
    Unit(Box<UnitSite>),
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
        watch: &Watch,
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
            Target::Scheme { engine: EngineId::Iscsi, .. } | Target::Block(_) => {
                (unit(arguments, watch)?, None)
            }
            Target::Scheme { engine, .. } if engine.declaration().probe.is_some() => {
                (exported(arguments, nonce, &watch.clock)?, None)
            }
            Target::Null { .. } | Target::Sim { .. } | Target::Scheme { .. } => {
                return Err(CommandFailure::bad_input(format!(
                    "{} is not a storage path; give a folder, a file or tcp://HOST:PORT/disk",
                    arguments.target
                )));
            }
        };
        let of_device = match &kind {
            ResolvedTargetKind::Unit(site) => site.inventory().cloned(),
            _ => None,
        };
        let inventory = match of_device {
            Some(inventory) => inventory,
            None => measurement::machine(path, watch.clock_resolution_ns)?,
        };
        let mut resolved = Self { export: None, kind, inventory };
        // An endpoint on the server measures what is behind the mount, and more of it.
        if arguments.server.is_none() && matches!(resolved.kind, ResolvedTargetKind::Folder { .. }) {
            let facts = resolved.inventory.path.as_ref();
            resolved.export = facts
                .and_then(|facts| MountedExport::find(facts, resolved.own_folder(), nonce, &watch.clock));
        }
        Ok(resolved)
    }

    /// What TARGET is.
    pub(crate) fn kind(&self) -> &ResolvedTargetKind {
        &self.kind
    }

    /// The export behind a mounted folder, as a target, or why it is not measured; `None` of any other path.
    pub(crate) fn export(&self) -> Option<Result<Target, String>> {
        let found = self.export.as_ref()?.as_ref();
        Some(found.map(|export| export.target().clone()).map_err(Clone::clone))
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

    /// Where the load of `target` goes: into our own place, where there is one on a server.
    pub(crate) fn led_into_own(&self, target: &Target) -> Target {
        match (&self.kind, target) {
            (ResolvedTargetKind::Exported { own: Some(own), .. }, Target::Scheme { engine, .. })
                if engine.declaration().probe.is_some() =>
            {
                own.target().clone()
            }
            _ => match &self.export {
                Some(Ok(export)) if export.target() == target => export.own_target().clone(),
                _ => target.clone(),
            },
        }
    }

    /// Adds to `plan` what of a unit is written or read.
    pub(crate) fn describe_unit(&self, plan: &mut Plan) {
        if let ResolvedTargetKind::Unit(site) = &self.kind {
            site.describe(plan);
        }
    }

    /// Claims what `plan` writes of a unit, which writes to it, and leads its load there; what was done for that, in
    /// sentences.
    pub(crate) fn claim_unit(
        &mut self,
        plan: &mut Plan,
        watch: &Watch,
        announced: &Announced,
    ) -> Result<Vec<String>, CommandFailure> {
        let ResolvedTargetKind::Unit(site) = &mut self.kind else { return Ok(Vec::new()) };
        let notes = site.claim(plan, watch, announced)?;
        redirect_targets(plan, &|target| if site.is_at(target) { site.claimed() } else { target.clone() });
        Ok(notes)
    }

    /// The unit that TARGET is.
    pub(crate) fn unit(&self) -> Option<&UnitSite> {
        match &self.kind {
            ResolvedTargetKind::Unit(site) => Some(site),
            _ => None,
        }
    }

    /// Room for files or blocks at a server.
    pub(crate) fn exported_free_bytes(&self) -> Option<Bytes> {
        match &self.kind {
            ResolvedTargetKind::Exported { free_bytes, .. } => *free_bytes,
            ResolvedTargetKind::Unit(site) => Some(site.room()),
            _ => None,
        }
    }

    /// Our own folder on a server, where TARGET is a folder of one.
    pub(crate) fn own_place(&self) -> Option<&dyn OwnPlace> {
        match &self.kind {
            ResolvedTargetKind::Exported { own, .. } => own.as_deref(),
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
            (ResolvedTargetKind::Folder { .. }, Target::File { path }) => {
                let mut all = measurement::leftovers(path);
                if let Some(Ok(export)) = &self.export {
                    let of_export = |note: &String| format!("narrows: {}: {note}", export.target());
                    all.extend(export.notes().iter().map(of_export));
                }
                all
            }
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

/// What a server has at the target.
fn exported(
    arguments: &CheckArguments,
    nonce: u64,
    clock: &Arc<dyn Clock>,
) -> Result<ResolvedTargetKind, CommandFailure> {
    refuse_endpoint(arguments)?;
    let target = &arguments.target;
    match measurement::examine_place(target, clock)? {
        PlaceFound::File { .. } if arguments.server.is_some() => Err(CommandFailure::bad_input(format!(
            "{target} is a file; --server needs a folder in which test files can be created"
        ))),
        PlaceFound::File { length } => Ok(ResolvedTargetKind::File { length }),
        PlaceFound::Folder { free_bytes } => {
            let is_plan = arguments.output.plan && arguments.server.is_none();
            let own = if is_plan { None } else { measurement::make_place(target, nonce, clock)? };
            Ok(ResolvedTargetKind::Exported { own, free_bytes })
        }
    }
}

/// The unit or block device that the target is.
fn unit(arguments: &CheckArguments, watch: &Watch) -> Result<ResolvedTargetKind, CommandFailure> {
    refuse_endpoint(arguments)?;
    let target = &arguments.target;
    let site = units::examine(std::slice::from_ref(target), &arguments.overwrite, watch)?.pop();
    let site = site.ok_or_else(|| CommandFailure::bad_input(format!("{target} is no LUN or device")))?;
    match (site.read_only_reason(), &arguments.server) {
        (Some(reason), Some(_)) => Err(CommandFailure::bad_input(format!(
            "--server needs a LUN that is written, whose mark the endpoint then finds in the file behind it: {reason}; or give \
             --server-metrics"
        ))),
        _ => Ok(ResolvedTargetKind::Unit(Box::new(site))),
    }
}

/// Refuses `--server` beside a block device, which no server is asked for, and one of this machine beside a target of another:
/// a LUN, a folder of a server or a bucket.
fn refuse_endpoint(arguments: &CheckArguments) -> Result<(), CommandFailure> {
    let target = &arguments.target;
    match (arguments.server.as_deref(), target) {
        (Some(_), Target::Block(_)) => Err(CommandFailure::bad_input(format!(
            "--server is not supported with {target}: a block device of this machine does not say which server it is on"
        ))),
        (Some("self"), _) => Err(CommandFailure::bad_input(format!(
            "--server self is for folders of this machine, and {target} is another machine's; run `narrows serve --root` on \
             its server, and give --server HOST:PORT"
        ))),
        _ => Ok(()),
    }
}
