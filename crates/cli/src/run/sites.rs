//! What the targets of a study are: folders in which it makes one of its own, files that it only reads, an endpoint.

use crate::exit::Failure;
use crate::measurement::{self, PathFound, Watch, random_u64};
use narrows_engines::endpoint::ControlClient;
use narrows_engines::psync::TestFolder;
use narrows_model::{Bytes, Inventory, Plan, Site, Target};
use narrows_study::Study;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The targets of a study on this machine.
///
/// Fields are dropped in order: the endpoint's session ends before our folders go.
pub(super) struct Sites {
    endpoint: Option<Endpoint>,
    paths: Vec<PathSite>,
    machine: Inventory,
}

/// A path among the targets.
pub(super) struct PathSite {
    path: PathBuf,
    found: PathFound,
    /// Our own folder in it; `None` in a file, and when only a plan is asked for.
    own: Option<TestFolder>,
    inventory: Inventory,
}

/// The endpoint of a study, connected.
struct Endpoint {
    host: String,
    port: u16,
    client: ControlClient,
}

impl Sites {
    /// Examines every target; makes our own folder in each folder unless only a plan is asked for.
    ///
    /// # Errors
    /// Everything that is wrong with the paths, at once; an endpoint that cannot be reached.
    pub(super) fn of(
        study: &Study,
        token: Option<&[u8]>,
        watch: &Watch,
        plan_only: bool,
    ) -> Result<Self, Failure> {
        let targets = study.targets();
        let mut found = Vec::new();
        let mut wrong = Vec::new();
        for target in &targets {
            let Target::File { path } = target else { continue };
            match measurement::examine(path) {
                Ok(kind) => found.push((path.clone(), kind)),
                Err(failure) => wrong.push(failure),
            }
        }
        Failure::of_all(&wrong)?;
        let endpoint = Endpoint::of(&targets, token, watch)?;
        let paths: Result<Vec<PathSite>, Failure> =
            found.into_iter().map(|(path, found)| PathSite::of(path, found, watch, plan_only)).collect();
        let machine = measurement::machine(None, watch.clock_resolution_ns)?;
        Ok(Self { endpoint, paths: paths?, machine })
    }

    /// This machine, and the path to the first target that is one.
    pub(super) fn inventory(&self) -> &Inventory {
        self.paths.first().map_or(&self.machine, |site| &site.inventory)
    }

    /// Kernel names of the block devices under all paths, each once.
    pub(super) fn device_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let paths = self.paths.iter().filter_map(|site| site.inventory.path.as_ref());
        for device in paths.flat_map(|path| &path.devices) {
            if !names.contains(&device.name) {
                names.push(device.name.clone());
            }
        }
        names
    }

    /// The site at `path`; `None` when it is no path of this study.
    pub(super) fn path(&self, path: &Path) -> Option<&PathSite> {
        self.paths.iter().find(|site| site.path == path)
    }

    /// Whether `host` and `port` are those of the endpoint of this study; `None` without one.
    pub(super) fn is_endpoint(&self, host: &str, port: u16) -> Option<bool> {
        self.endpoint.as_ref().map(|endpoint| endpoint.host == host && endpoint.port == port)
    }

    /// Free space in the endpoint's store.
    pub(super) fn endpoint_free_bytes(&self) -> Option<Bytes> {
        let client = &self.endpoint.as_ref()?.client;
        measurement::store_free_bytes(client)
    }

    /// The control connection to the endpoint.
    pub(super) fn server(&mut self) -> Option<&mut ControlClient> {
        self.endpoint.as_mut().map(|endpoint| &mut endpoint.client)
    }

    /// What runs that were killed left in the folders, in sentences.
    pub(super) fn leftovers(&self) -> Vec<String> {
        let folders = self.paths.iter().filter(|site| site.found == PathFound::Folder);
        folders.flat_map(|site| measurement::leftovers(&site.path)).collect()
    }

    /// Sends the cells of `plan` into our own folders: nothing else in a folder is touched.
    pub(super) fn lead_into_own_folders(&self, plan: &mut Plan) {
        for cell in plan.cells.iter_mut().filter(|cell| cell.site == Site::Client) {
            for target in std::iter::once(&mut cell.target).chain(&mut cell.more_targets) {
                if let Target::File { path } = target
                    && let Some(own) = self.path(path).and_then(|site| site.own.as_ref())
                {
                    *target = Target::File { path: own.path().to_path_buf() };
                }
            }
        }
    }
}

impl PathSite {
    fn of(path: PathBuf, found: PathFound, watch: &Watch, plan_only: bool) -> Result<Self, Failure> {
        let inventory = measurement::machine(Some(&path), watch.clock_resolution_ns)?;
        // Not the seed: a run with a seed can be repeated beside what a killed one left.
        let own = match found {
            PathFound::Folder if !plan_only => Some(measurement::make(&path, random_u64()?)?),
            _ => None,
        };
        Ok(Self { path, found, own, inventory })
    }

    /// What is asked for its abilities: file systems say of a file, not of a folder, whether it takes direct access.
    pub(super) fn probed(&self) -> Target {
        let path = self.own.as_ref().map_or_else(|| self.path.clone(), TestFolder::marker);
        Target::File { path }
    }

    /// Its length where it is a file.
    pub(super) fn file_length(&self) -> Option<Bytes> {
        match self.found {
            PathFound::File { length } => Some(length),
            PathFound::Folder => None,
        }
    }

    /// What leads to it.
    pub(super) fn inventory(&self) -> &Inventory {
        &self.inventory
    }
}

impl Endpoint {
    /// The first endpoint among `targets`, connected; `None` without any. Cells at further ones are left out, because
    /// a run has one session and one server whose counters stand beside its cells.
    fn of(targets: &[Target], token: Option<&[u8]>, watch: &Watch) -> Result<Option<Self>, Failure> {
        let first = targets.iter().find_map(|target| match target {
            Target::Tcp { host, port, .. } => Some((host.clone(), *port)),
            _ => None,
        });
        let Some((host, port)) = first else { return Ok(None) };
        let client = measurement::connect(&host, port, token, Arc::clone(&watch.clock))?;
        Ok(Some(Self { host, port, client }))
    }
}
