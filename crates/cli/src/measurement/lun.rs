//! A logical unit of an iSCSI target: what is on it, and what of it a run claims.
//!
//! A unit that holds anything is only read, unless it is named by its serial number.

use super::Watch;
use super::folder::{claim_unit, survey_unit};
use crate::exit::CommandFailure;
use narrows_engines::RegionNeed;
use narrows_engines::iscsi::{UnitHolding, UnitRegion, UnitSurvey};
use narrows_model::{Bytes, EngineId, IscsiAddress, Target};

/// A unit.
pub(super) struct LogicalUnit {
    /// As the study names it, with consent to overwrite it where that was given.
    address: IscsiAddress,
    survey: UnitSurvey,
    /// What this run may write of it; `None` until it is claimed.
    region: Option<UnitRegion>,
}

impl LogicalUnit {
    /// The unit at `address`, examined; `overwrite` has serial numbers of those that may be overwritten.
    ///
    /// # Errors
    /// When it cannot be reached or read.
    pub(super) fn examine(
        address: IscsiAddress,
        overwrite: &[String],
        watch: &Watch,
    ) -> Result<Self, CommandFailure> {
        let survey = survey_unit(&address, &watch.clock)?;
        let mut unit = Self { address, survey, region: None };
        if unit.survey.serial.as_ref().is_some_and(|serial| overwrite.contains(serial)) {
            unit.address.overwrite.clone_from(&unit.survey.serial);
        }
        Ok(unit)
    }

    pub(super) fn serial(&self) -> Option<&String> {
        self.survey.serial.as_ref()
    }

    /// The serial number that its address names for overwriting.
    pub(super) fn named(&self) -> Option<&String> {
        self.address.overwrite.as_ref()
    }

    pub(super) fn read_only_reason(&self) -> Option<String> {
        self.survey.read_only_reason(&self.address)
    }

    pub(super) fn length(&self) -> Bytes {
        self.survey.length
    }

    pub(super) fn room(&self) -> Bytes {
        self.survey.room()
    }

    pub(super) fn claim(
        &mut self,
        need: RegionNeed,
        nonce: u64,
        watch: &Watch,
    ) -> Result<Vec<String>, CommandFailure> {
        let region = claim_unit(&self.address, need, nonce, &watch.clock)?;
        let notes = region.notes().to_vec();
        self.region = Some(region);
        Ok(notes)
    }

    /// The nonce of the mark on it; `None` until it is claimed.
    pub(super) fn claim_nonce(&self) -> Option<u64> {
        self.region.as_ref()?.address().claim.map(|claim| claim.nonce)
    }

    pub(super) fn claimed(&self) -> Option<Target> {
        let region = self.region.as_ref()?;
        Some(Target::Scheme { engine: EngineId::Iscsi, rest: region.address().to_string() })
    }

    /// What it is, and what on it is overwritten.
    pub(super) fn words(&self) -> (String, Option<String>) {
        let serial = self.survey.serial.as_deref().unwrap_or("none");
        let what = format!("{}, serial {serial}, {}", self.survey.description, self.survey.length);
        match &self.survey.holding {
            UnitHolding::Other(words) => (what, Some(words.clone())),
            _ => (what, None),
        }
    }
}
