//! A lab: hosts on a bridge of their own, cgroups, disks, a scratch folder, and their removal.
//!
//! It owns what it makes and removes exactly that, also when a test panics. What a killed process could not
//! remove, the next lab on the same subnet does ([`crate::claim`]).

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::cgroup::Cgroup;
use crate::claim::SubnetClaim;
use crate::disks::{DiskPlan, LabDisks};
use crate::error::{Error, LabErrorKind, Result};
use crate::host::Host;
use crate::link;
use crate::locate::make_scratch;
use crate::process::LabProcess;
use crate::termination;

/// Network hosts, cgroups, disks and scratch space for one test, gone when it is dropped.
///
/// Declare it before the [`LabProcess`]es that run in it, so that they end first; what is left in its namespaces
/// and cgroups after that it ends itself.
#[derive(Debug)]
pub struct Lab {
    claim: SubnetClaim,
    scratch: PathBuf,
    logs: PathBuf,
    resources: Mutex<LabResources>,
}

#[derive(Debug, Default)]
struct LabResources {
    hosts: Vec<Host>,
    cgroups: Vec<Cgroup>,
    disks: Vec<LabDisks>,
}

impl Lab {
    /// A new lab on a free subnet 10.77.x.0/24, with a bridge and no host yet.
    ///
    /// # Errors
    /// What the machine refused; [`crate::available`] reports beforehand whether it will.
    pub fn new() -> Result<Self> {
        let claim = SubnetClaim::take()?;
        let scratch = make_scratch(claim.prefix())?;
        let logs = scratch.join("logs");
        let subnet = claim.subnet();
        let lab = Self { claim, scratch, logs, resources: Mutex::default() };
        // From here on dropping `lab` removes what was made.
        fs::create_dir(&lab.logs)
            .map_err(|source| Error::os("create", lab.logs.display().to_string(), source))?;
        let mac = format!("02:77:{subnet:02x}:00:01:00");
        link::make_bridge(&lab.claim.bridge(), &mac, &format!("{}/24", lab.address()))?;
        Ok(lab)
    }

    /// The machine's own address on the bridge.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, self.claim.subnet(), 1)
    }

    /// The bridge that joins the hosts, for further links to it; their names begin with [`Lab::prefix`].
    #[must_use]
    pub fn bridge(&self) -> String {
        self.claim.bridge()
    }

    /// What every name of this lab begins with: links, namespaces, cgroups.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.claim.prefix()
    }

    /// Host number `index` (1 to 99), made at the first call.
    ///
    /// # Errors
    /// [`LabErrorKind::Invalid`] for another number, else what `ip` said.
    pub fn host(&self, index: u8) -> Result<Host> {
        let mut resources = self.resources();
        if let Some(host) = resources.hosts.iter().find(|host| host.index() == index) {
            return Ok(host.clone());
        }
        let claim = &self.claim;
        let host = Host::new(index, claim.subnet(), claim.prefix(), &claim.bridge(), self.logs.clone())?;
        // Noted before it is made, so that a half-made one is removed too.
        resources.hosts.push(host.clone());
        host.make()?;
        Ok(host)
    }

    /// The cgroup of this name, made at the first call, without limits.
    ///
    /// # Errors
    /// [`LabErrorKind::Invalid`] for a name that is not one plain word, [`LabErrorKind::Refused`] without cgroup controllers.
    pub fn cgroup(&self, name: &str) -> Result<Cgroup> {
        check_name("make cgroup", name)?;
        let mut resources = self.resources();
        let full_name = format!("{}-{name}", self.claim.prefix());
        if let Some(cgroup) = resources.cgroups.iter().find(|cgroup| cgroup.name() == full_name) {
            return Ok(cgroup.clone());
        }
        let cgroup = Cgroup::make(&full_name)?;
        resources.cgroups.push(cgroup.clone());
        Ok(cgroup)
    }

    /// New disks with the delays of `plan`, mounted below the scratch folder under this name.
    ///
    /// # Errors
    /// [`LabErrorKind::Invalid`] for a name that is not one plain word or a plan without disks,
    /// [`LabErrorKind::Missing`] when the binary `delaydisk` is not built, else what the machine refused;
    /// [`crate::disks_available`] reports that beforehand.
    pub fn disks(&self, name: &str, plan: &DiskPlan) -> Result<LabDisks> {
        check_name("make disks", name)?;
        let disks = LabDisks::new(self.scratch.join(name));
        // Noted before they are made, so that half-made ones are removed too.
        self.resources().disks.push(disks.clone());
        disks.make(name, &self.logs, plan)?;
        Ok(disks)
    }

    /// Starts a command under guard, its output in the lab's folder.
    ///
    /// # Errors
    /// As [`LabProcess::start`].
    pub fn start(&self, name: &str, command: Command) -> Result<LabProcess> {
        LabProcess::start(name, &self.logs, command)
    }

    /// A folder on a disk file system (never in memory) that is removed with the lab.
    #[must_use]
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// Removes all that the lab made, and reports what could not be removed; dropping does the same silently.
    ///
    /// # Errors
    /// The first thing that could not be removed; the others were tried nevertheless.
    pub fn close(self) -> Result<()> {
        self.remove_all()
    }

    fn remove_all(&self) -> Result<()> {
        let resources = std::mem::take(&mut *self.resources());
        let mut outcomes = vec![end_processes(&resources)];
        outcomes.extend(resources.disks.iter().map(LabDisks::remove));
        outcomes.extend(resources.hosts.iter().map(Host::remove_link));
        outcomes.push(link::remove(&self.claim.bridge()));
        outcomes.extend(resources.hosts.iter().map(Host::remove_netns));
        outcomes.extend(resources.cgroups.iter().map(Cgroup::remove));
        outcomes.push(remove_folder(&self.scratch));
        outcomes.into_iter().collect()
    }

    /// A panic in a test must not keep the rest from being removed.
    fn resources(&self) -> MutexGuard<'_, LabResources> {
        self.resources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Dropped in a panic perhaps: nothing may be raised here. `close` is there for those who ask.
        let _left = self.remove_all();
    }
}

/// Whether a name can be part of others: of folders, cgroups, files.
fn check_name(operation: &'static str, name: &str) -> Result<()> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if name.is_empty() || !name.chars().all(plain) {
        return Err(Error::new(LabErrorKind::Invalid, operation, name, "letters, digits, - and _ only"));
    }
    Ok(())
}

/// Ends by id what still runs inside the lab's own namespaces and cgroups: only its tests put it there.
fn end_processes(resources: &LabResources) -> Result<()> {
    let in_hosts = resources.hosts.iter().flat_map(Host::pids);
    let mut pids: Vec<u32> = in_hosts.chain(resources.cgroups.iter().flat_map(Cgroup::pids)).collect();
    pids.sort_unstable();
    pids.dedup();
    pids.retain(|&pid| pid != std::process::id());
    match termination::end_all(&pids) {
        0 => Ok(()),
        count => Err(Error::new(
            LabErrorKind::Late,
            "end",
            format!("{count} processes"),
            "SIGKILL did not end them",
        )),
    }
}

fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::os("remove", folder.display().to_string(), source))
        }
        _ => Ok(()),
    }
}
