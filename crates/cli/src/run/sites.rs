//! What the targets of a study or a suite are: folders in which it makes one of its own, files that it only reads, an endpoint.

use crate::args::OverwriteArguments;
use crate::exit::CommandFailure;
use crate::hosts::ClientStart;
use crate::measurement::units::{self, UnitSite};
use crate::measurement::{
    self, ConnectedMetrics, FinishedRun, OutputContext, PathFound, RunExtent, RunSpec, Watch, random_u64,
};
use narrows_engines::OwnPlace;
use narrows_engines::endpoint::ControlClient;
use narrows_engines::psync::TestFolder;
use narrows_model::inventory::PathFacts;
use narrows_model::{Bytes, Inventory, Plan, Target, Via};
use narrows_run::Servers;
use narrows_study::{EndpointAddress, redirect_targets, redirected};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Our own places, each with the target around it.
type OwnPlaces = Vec<(Target, Box<dyn OwnPlace>)>;
/// What may be done to the targets.
#[derive(Clone, Copy)]
pub(crate) struct Consent<'a> {
    /// Only a plan is asked for: nothing is made.
    pub(crate) plan_only: bool,
    /// Which disks without folders may be overwritten.
    pub(crate) overwrite: &'a OverwriteArguments,
}

/// The targets of a study or a suite on this machine.
///
/// Fields are dropped in order: the endpoints' sessions end before our folders are removed.
pub(crate) struct Sites {
    servers: Option<Servers>,
    /// The metrics of a server on which nothing of ours runs.
    server_metrics: Option<ConnectedMetrics>,
    /// Host and port of each of them, and the proxy on the way.
    endpoints: Vec<EndpointAddress>,
    paths: Vec<PathSite>,
    /// Our own places at targets that are no paths, each with the target around it; none when only a plan is asked for.
    places: OwnPlaces,
    units: Vec<UnitSite>,
    machine: Inventory,
}

/// A path among the targets.
pub(crate) struct PathSite {
    path: PathBuf,
    found: PathFound,
    /// Our own folder in it; `None` in a file, and when only a plan is asked for.
    own: Option<TestFolder>,
    /// Why nothing can be made in the folder.
    refusal: Option<String>,
    inventory: Inventory,
}

impl Sites {
    /// Runs `plan` on these targets, each folder led into our own in it, and gives them up.
    ///
    /// # Errors
    /// As [`measurement::run`] does.
    pub(crate) fn run(
        mut self,
        mut plan: Plan,
        token: Option<Vec<u8>>,
        clients: ClientStart,
        watch: &Watch,
        context: OutputContext<'_>,
    ) -> Result<FinishedRun, CommandFailure> {
        let inventory = self.whole_inventory();
        let announced = context.announce(&plan, &inventory)?;
        for unit in &mut self.units {
            for note in unit.claim(&plan, watch, &announced)? {
                context.console.say(&note);
            }
        }
        redirect_targets(&mut plan, &|target| self.led_into_own(target));
        let spec = RunSpec {
            plan: &plan,
            inventory: &inventory,
            devices: self.device_names(),
            server_metrics: self.server_metrics.take(),
            servers: self.servers(),
            token,
            refine: None,
            extent: RunExtent::WholePlan,
            confirm: false,
            clients,
        };
        measurement::run(spec, watch, context)
    }

    /// Examines every target; makes our own folder in each folder unless only a plan is asked for.
    ///
    /// # Errors
    /// Everything that is wrong with the paths, at once; an endpoint that cannot be reached; a stripe of files that exist
    /// and of folders.
    pub(crate) fn examine(
        targets: &[Target],
        token: Option<&[u8]>,
        watch: &Watch,
        consent: Consent<'_>,
    ) -> Result<Self, CommandFailure> {
        let plan_only = consent.plan_only;
        let found = examined(targets)?;
        let units = units::examine(targets, consent.overwrite, watch)?;
        let endpoints = narrows_study::endpoints(targets);
        let mut clients = Vec::with_capacity(endpoints.len());
        let mut proxy = None;
        for (host, port, via) in &endpoints {
            let (client, through) =
                measurement::connect_through(host, *port, via.as_ref(), token, &watch.clock)?;
            clients.push(client);
            proxy = proxy.or(through);
        }
        let servers = Servers::from_clients(clients).map(|servers| servers.behind(proxy));
        let paths: Result<Vec<PathSite>, CommandFailure> =
            found.into_iter().map(|(path, found)| PathSite::new(path, found, watch, plan_only)).collect();
        let paths = paths?;
        let places = if plan_only { Vec::new() } else { own_places(targets, watch)? };
        let machine = match units.iter().find_map(UnitSite::inventory) {
            Some(device) => device.clone(),
            None => measurement::machine(None, watch.clock_resolution_ns)?,
        };
        Ok(Self { servers, server_metrics: None, endpoints, paths, places, units, machine })
    }

    /// The same, with the metrics of a server.
    pub(crate) fn with_metrics(self, server_metrics: Option<ConnectedMetrics>) -> Self {
        Self { server_metrics, ..self }
    }

    /// `target`, led into our own folder in it.
    fn led_into_own(&self, target: &Target) -> Target {
        if let Some(unit) = self.unit(target) {
            return unit.claimed();
        }
        match self.places.iter().find(|(around, _)| around == target) {
            Some((_, own)) => own.target().clone(),
            None => redirected(target, &|path| Some(self.own_folder(path)?.path().to_path_buf())),
        }
    }

    /// This machine, and the path to the first target that is one, or that is a block device where none is.
    pub(crate) fn inventory(&self) -> &Inventory {
        self.paths.first().map_or(&self.machine, |site| &site.inventory)
    }

    /// [`Sites::inventory`] with the paths to all further targets.
    fn whole_inventory(&self) -> Inventory {
        let more_paths = self.path_facts().skip(1).cloned().collect();
        Inventory { more_paths, ..self.inventory().clone() }
    }

    /// The paths to all targets that are one, then those to block devices.
    fn path_facts(&self) -> impl Iterator<Item = &PathFacts> {
        let paths = self.paths.iter().map(|site| &site.inventory);
        paths.chain(self.units.iter().filter_map(UnitSite::inventory)).filter_map(|found| found.path.as_ref())
    }

    /// Kernel names of the block devices under all paths, each once.
    fn device_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for device in self.path_facts().flat_map(|path| &path.devices) {
            if !names.contains(&device.name) {
                names.push(device.name.clone());
            }
        }
        names
    }

    /// The site at `path`; `None` when it is no path of this study.
    pub(crate) fn path(&self, path: &Path) -> Option<&PathSite> {
        self.paths.iter().find(|site| site.path == path)
    }

    /// Whether `host` and `port` are those of an endpoint of this study, reached through `via`: the counters of one
    /// proxy are reported with all cells.
    pub(crate) fn is_endpoint(&self, host: &str, port: u16, via: Option<&Via>) -> bool {
        let same = |known: &EndpointAddress| known.0 == host && known.1 == port && known.2.as_ref() == via;
        self.endpoints.iter().any(same)
    }

    /// Free space in the store of the endpoint at `host` and `port`.
    pub(crate) fn endpoint_free_bytes(&self, host: &str, port: u16) -> Option<Bytes> {
        self.servers.as_ref()?.free_bytes(host, port)
    }

    /// The control connections to the endpoints.
    fn servers(&mut self) -> Option<&mut Servers> {
        self.servers.as_mut()
    }

    /// Memory of the largest machine among this one and the endpoints'.
    pub(crate) fn memory_bytes_max(&self) -> Option<Bytes> {
        let servers = self.servers.iter().flat_map(Servers::iter).map(ControlClient::inventory);
        servers.chain([&self.machine]).filter_map(|inventory| inventory.host.usable_memory()).max()
    }

    /// The endpoints that run on other machines, by their addresses.
    pub(crate) fn remote_addresses(&self) -> Vec<String> {
        let facts = self.servers.iter().flat_map(Servers::iter).map(ControlClient::facts);
        facts.filter(|facts| !facts.shares_machine).map(|facts| facts.address.clone()).collect()
    }

    /// What runs that were killed left in the folders, in sentences.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let folders = self.paths.iter().filter(|site| site.found == PathFound::Folder);
        let notes = self.places.iter().flat_map(|(around, own)| {
            own.notes().iter().map(move |note| format!("narrows: {around}: {note}"))
        });
        folders.flat_map(|site| measurement::leftovers(&site.path)).chain(notes).collect()
    }

    /// Why `target` cannot be loaded, where files are to be made in a folder that takes none.
    pub(crate) fn refusal(&self, target: &Target) -> Option<String> {
        target.members().iter().find_map(|member| match member {
            Target::File { path } => self.path(path)?.refusal.clone(),
            _ => None,
        })
    }

    /// The unit that `target` is.
    pub(super) fn unit(&self, target: &Target) -> Option<&UnitSite> {
        self.units.iter().find(|unit| unit.is_at(target))
    }

    /// Adds to `plan` what of each unit is written or read.
    pub(crate) fn describe_units(&self, plan: &mut Plan) {
        self.units.iter().for_each(|unit| unit.describe(plan));
    }

    /// `text` with the user's folders in the place of our own in them.
    pub(crate) fn with_user_paths(&self, text: &str) -> String {
        let text = self.places.iter().fold(text.to_owned(), |text, (around, own)| {
            text.replace(&own.target().to_string(), &around.to_string())
        });
        let text = self.units.iter().fold(text, |text, unit| unit.with_user_target(&text));
        let owned = self.paths.iter().filter_map(|site| Some((site, site.own.as_ref()?)));
        owned.fold(text, |text, (site, own)| {
            let known = site.path.display().to_string();
            let marker = own.marker().display().to_string();
            text.replace(&marker, &known).replace(&own.path().display().to_string(), &known)
        })
    }

    /// What is asked for its abilities: file systems say of a file, not of a folder, whether it takes direct access.
    pub(crate) fn probed(&self, target: &Target) -> Target {
        redirected(target, &|path| self.own_folder(path).map(TestFolder::marker))
    }

    fn own_folder(&self, path: &Path) -> Option<&TestFolder> {
        self.path(path)?.own.as_ref()
    }
}

impl PathSite {
    fn new(path: PathBuf, found: PathFound, watch: &Watch, plan_only: bool) -> Result<Self, CommandFailure> {
        let inventory = measurement::machine(Some(&path), watch.clock_resolution_ns)?;
        // Not the seed: a run with a seed can be repeated beside what a killed one left.
        let made = match found {
            PathFound::File { .. } => Ok(None),
            PathFound::Folder if plan_only => takes_files(&path).map(|()| None),
            PathFound::Folder => measurement::make(&path, random_u64()?).map(Some),
        };
        let (own, refusal) = match made {
            Ok(own) => (own, None),
            Err(failure) => (None, Some(failure.message())),
        };
        Ok(Self { path, found, own, refusal, inventory })
    }

    /// Its length where it is a file.
    pub(crate) fn file_length(&self) -> Option<Bytes> {
        match self.found {
            PathFound::File { length } => Some(length),
            PathFound::Folder => None,
        }
    }

    /// What leads to it.
    pub(crate) fn inventory(&self) -> &Inventory {
        &self.inventory
    }
}

/// Looks whether a folder of our own can be made in `path`, and leaves nothing there.
fn takes_files(path: &Path) -> Result<(), CommandFailure> {
    narrows_sys::access::may_make_files_in(path).map_err(|error| {
        let hint = "give a folder that this user may write to, or a file, which is only read";
        CommandFailure::could_not_run(format!("{error}; {hint}"))
    })
}

/// Our own place at each of `targets` that is of a scheme and stores data, each once.
fn own_places(targets: &[Target], watch: &Watch) -> Result<OwnPlaces, CommandFailure> {
    let mut made = OwnPlaces::new();
    for target in targets.iter().filter(|target| stores_at_scheme(target)) {
        if made.iter().any(|(known, _)| known == target) {
            continue;
        }
        if let Some(own) = measurement::make_place(target, random_u64()?, &watch.clock)? {
            made.push((target.clone(), own));
        }
    }
    Ok(made)
}

fn stores_at_scheme(target: &Target) -> bool {
    matches!(target, Target::Scheme { engine, .. } if engine.declaration().stores_data)
}

/// What each path of `targets` is, each once.
///
/// # Errors
/// Everything that is wrong with them, at once.
fn examined(targets: &[Target]) -> Result<Vec<(PathBuf, PathFound)>, CommandFailure> {
    let mut found: Vec<(PathBuf, PathFound)> = Vec::new();
    let mut wrong = Vec::new();
    for target in targets {
        let mut kinds = Vec::new();
        for member in target.members() {
            let Target::File { path } = member else { continue };
            match measurement::examine(path) {
                Ok(kind) => {
                    kinds.push(kind == PathFound::Folder);
                    if !found.iter().any(|(known, _)| known == path) {
                        found.push((path.clone(), kind));
                    }
                }
                Err(failure) => wrong.push(failure),
            }
        }
        wrong.extend(duplicate_member(target));
        if kinds.contains(&true) && kinds.contains(&false) {
            let problem = "files that exist, which are only read, and folders, in which files are created";
            wrong.push(CommandFailure::bad_input(format!(
                "target {target}: it spans {problem}; name one kind"
            )));
        }
    }
    CommandFailure::combine(&wrong)?;
    Ok(found)
}

/// That two members of a stripe are one file or folder by two names.
fn duplicate_member(target: &Target) -> Option<CommandFailure> {
    let mut known: Vec<((u64, u64), &Path)> = Vec::new();
    for member in target.members() {
        let Target::File { path } = member else { continue };
        // A missing path is reported where it is examined.
        let Ok(facts) = std::fs::metadata(path) else { continue };
        let place = (facts.dev(), facts.ino());
        if let Some((_, first)) = known.iter().find(|(other, _)| *other == place) {
            return Some(CommandFailure::bad_input(format!(
                "target {target}: {} and {} are the same place under two names; give each member a separate place",
                first.display(),
                path.display()
            )));
        }
        known.push((place, path));
    }
    None
}
