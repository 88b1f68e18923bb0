//! Logical units of iSCSI targets among targets: what is on each, and what of it a run claims.
//!
//! A unit that holds anything is only read, unless it is named by its serial number.

use super::folder::{claim_unit, survey_unit};
use super::{Watch, random_u64};
use crate::exit::CommandFailure;
use narrows_engines::iscsi::{RegionNeed, UnitHolding, UnitRegion, UnitSurvey};
use narrows_model::{Bytes, Cell, EngineId, IscsiAddress, Plan, Site, Target};
use std::collections::BTreeSet;

/// A unit.
pub(crate) struct UnitSite {
    /// As the study names it.
    target: Target,
    /// The same, with consent to overwrite it where that was given.
    address: IscsiAddress,
    survey: UnitSurvey,
    /// What this run may write of it; `None` until it is claimed.
    region: Option<UnitRegion>,
}

/// The units among `targets`, examined; `overwrite` has serial numbers of those that may be overwritten.
///
/// # Errors
/// A unit that cannot be reached or read, and a serial number that none of them has.
pub(crate) fn examine(
    targets: &[Target],
    overwrite: &[String],
    watch: &Watch,
) -> Result<Vec<UnitSite>, CommandFailure> {
    let mut sites = Vec::new();
    for (target, mut address) in targets.iter().filter_map(|target| Some((target, address(target)?))) {
        let survey = survey_unit(&address, &watch.clock)?;
        let is_named = survey.serial.as_ref().is_some_and(|serial| overwrite.contains(serial));
        if is_named {
            address.overwrite.clone_from(&survey.serial);
        }
        sites.push(UnitSite { target: target.clone(), address, survey, region: None });
    }
    check_named(&sites, overwrite)?;
    Ok(sites)
}

/// Fails for a serial number of no unit: a typing error must not go unnoticed.
fn check_named(sites: &[UnitSite], overwrite: &[String]) -> Result<(), CommandFailure> {
    let known: BTreeSet<&String> = sites.iter().filter_map(|site| site.survey.serial.as_ref()).collect();
    let named = sites.iter().filter_map(|site| site.address.overwrite.as_ref());
    match overwrite.iter().chain(named).find(|serial| !known.contains(serial)) {
        None => Ok(()),
        Some(serial) => {
            let known: Vec<&str> = known.into_iter().map(String::as_str).collect();
            let known = if known.is_empty() {
                "has no LUN with one".to_owned()
            } else {
                format!("has {}", known.join(", "))
            };
            Err(CommandFailure::bad_input(format!(
                "no LUN of this run has the serial number {serial}, which is to be overwritten; it {known}"
            )))
        }
    }
}

impl UnitSite {
    pub(crate) fn is_at(&self, target: &Target) -> bool {
        self.target == *target
    }

    /// Why it is only read; `None` where it may be written.
    pub(crate) fn read_only_reason(&self) -> Option<String> {
        self.survey.read_only_reason(&self.address)
    }

    /// Its length where it is only read.
    pub(crate) fn read_length(&self) -> Option<Bytes> {
        self.read_only_reason().map(|_| self.survey.length)
    }

    /// Bytes that a run may fill.
    pub(crate) fn room(&self) -> Bytes {
        self.survey.room()
    }

    /// Claims what the cells of `plan` write, and returns what was done for that, in sentences.
    pub(crate) fn claim(&mut self, plan: &Plan, watch: &Watch) -> Result<Vec<String>, CommandFailure> {
        let Some(need) = self.need(plan) else { return Ok(Vec::new()) };
        let region = claim_unit(&self.address, need, random_u64()?, &watch.clock)?;
        let notes = region.notes().iter().map(|note| format!("narrows: {}: {note}", self.target));
        let notes = notes.collect();
        self.region = Some(region);
        Ok(notes)
    }

    /// The target that engines work on.
    pub(crate) fn claimed(&self) -> Target {
        match &self.region {
            Some(region) => Target::Scheme { engine: EngineId::Iscsi, rest: region.address().to_string() },
            None => self.target.clone(),
        }
    }

    /// `text` with the user's target in place of what was claimed.
    pub(crate) fn with_user_target(&self, text: &str) -> String {
        match &self.region {
            Some(_) => text.replace(&self.claimed().to_string(), &self.target.to_string()),
            None => text.to_owned(),
        }
    }

    fn cells<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = &'a Cell> {
        let is_here = |cell: &&Cell| {
            let targets = std::iter::once(&cell.target).chain(&cell.more_targets);
            cell.site == Site::Client && targets.into_iter().any(|target| *target == self.target)
        };
        plan.cells.iter().filter(is_here)
    }

    /// What the cells of `plan` write there; `None` where they only read.
    fn need(&self, plan: &Plan) -> Option<RegionNeed> {
        let written = || self.cells(plan).filter(|cell| !cell.read_only);
        let client_bytes = written().map(|cell| cell.workload.file_bytes).max()?;
        let client_count = written().map(|cell| cell.workload.clients.max(1)).max()?;
        Some(RegionNeed { client_bytes, client_count })
    }

    /// Adds to `plan` what of the unit is written or read.
    pub(crate) fn describe(&self, plan: &mut Plan) {
        let name = self.target.to_string();
        let serial = self.survey.serial.as_deref().unwrap_or("none");
        let unit = format!("{name} ({}, serial {serial}, {}", self.survey.description, self.survey.length);
        let words = match self.need(plan) {
            None => format!("{unit}: only read)"),
            Some(need) => {
                let end = need.end_bytes();
                let before = match &self.survey.holding {
                    UnitHolding::Other(words) => format!("OVERWRITING {words}: "),
                    _ => String::new(),
                };
                format!("{unit}: {before}the first {end} are written, and are zeroes at the end)")
            }
        };
        let touches = &mut plan.load.touches;
        touches.retain(|place| *place != name);
        touches.push(words);
    }
}

fn address(target: &Target) -> Option<IscsiAddress> {
    match target {
        Target::Scheme { engine: EngineId::Iscsi, rest } => IscsiAddress::parse(rest).ok(),
        _ => None,
    }
}
