//! A region of a unit that a run may write: claimed by a mark in the unit's first block, and cleared at the end.
//!
//! A unit that holds anything is never written, unless the address names it by its serial number. What is written is from
//! the unit's beginning on: the mark, and from the second MiB on the data of each client. Whoever writes checks the mark
//! first. Of runs that claim one unit within the same moment, one alone gets it: see `mark`.

use super::contents::describe;
use super::mark::{MarkFailure, put_mark, read_mark, remove_mark};
use super::portal::IscsiPortal;
use super::session::{DEFAULT_OPTIONS, UnitSession};
use super::unit::UnitFacts;
use crate::clock::Clock;
use crate::connections::StoragePeer;
use crate::error::{EngineError, ErrorKind};
use crate::files::{clear_disk, forget_disk, lock_making, note_disk, note_problem, note_replaced};
use crate::region::{DATA_AT_BYTES, RegionMark, RegionNeed};
use crate::stop::StopFlag;
use narrows_model::target::UnitClaim;
use narrows_model::{Bytes, IscsiAddress};
use std::sync::Arc;

/// The part of a unit at its end where partition tables and RAIDs leave marks too.
const TAIL_BYTES: u64 = 1 << 20;
/// Wait for each answer while a region is cleared.
const CLEAR_TIMEOUT_NS: u64 = 10_000_000_000;

/// What is on a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnitHolding {
    /// Nothing at its beginning and end.
    Nothing,
    /// What a run of narrows that was killed has left.
    LeftByRun {
        /// Where it ends.
        end_bytes: Bytes,
    },
    /// Something else, in words.
    Other(String),
}

/// What a unit is, found without changing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitSurvey {
    /// Vendor, product and name.
    pub description: String,
    /// Its serial number; `None` of a unit without one.
    pub serial: Option<String>,
    /// Its length.
    pub length: Bytes,
    /// What is on it.
    pub holding: UnitHolding,
}

impl UnitSurvey {
    /// Why it may only be read; `None` where it may be written.
    #[must_use]
    pub fn read_only_reason(&self, address: &IscsiAddress) -> Option<String> {
        let UnitHolding::Other(words) = &self.holding else { return None };
        if is_consent(address, self.serial.as_deref()) {
            return None;
        }
        let serial = self.serial.as_deref().map_or_else(
            || "it has no serial number by which it could be named for overwriting".to_owned(),
            |serial| format!("--overwrite-lun {serial} allows its content to be overwritten"),
        );
        Some(format!("LUN {} holds {words} and is only read; {serial}", address.unit))
    }

    /// Where what a killed run has left ends; `None` where it left nothing.
    fn left_bytes(&self) -> Option<u64> {
        match self.holding {
            UnitHolding::LeftByRun { end_bytes } => Some(end_bytes.0),
            UnitHolding::Nothing | UnitHolding::Other(_) => None,
        }
    }

    /// What is done to make room on it, in sentences.
    fn room_notes(&self) -> Vec<String> {
        match &self.holding {
            UnitHolding::Other(_) => {
                let serial = self.serial.as_deref().unwrap_or_default();
                vec![format!("overwrites the content of the unit {serial}")]
            }
            UnitHolding::LeftByRun { .. } => vec!["cleared what a run that was killed had left".to_owned()],
            UnitHolding::Nothing => Vec::new(),
        }
    }

    /// Bytes that a run may fill.
    #[must_use]
    pub fn room(&self) -> Bytes {
        Bytes(self.length.0.saturating_sub(DATA_AT_BYTES))
    }
}

/// Whether the address names the unit of this serial number for overwriting.
fn is_consent(address: &IscsiAddress, serial: Option<&str>) -> bool {
    serial.is_some() && address.overwrite.as_deref() == serial
}

/// What the unit at `address` is. Nothing is changed; `is_gone` knows whether the run of a mark's line has ended.
///
/// # Errors
/// When the unit cannot be reached or read.
pub fn survey(
    address: &IscsiAddress,
    is_gone: &dyn Fn(&str) -> bool,
    clock: Arc<dyn Clock>,
    timeout_ns: u64,
) -> Result<UnitSurvey, EngineError> {
    let portal = IscsiPortal::new(address.clone(), clock, timeout_ns, StopFlag::default());
    let mut session = UnitSession::open(&portal, &DEFAULT_OPTIONS, None, portal.deadline())?;
    let facts = session.unit_facts()?;
    let surveyed = surveyed(&mut session, &facts, is_gone);
    session.log_out();
    surveyed.map(|(survey, _)| survey)
}

/// What is on the unit, and its first bytes, of which that was said.
fn surveyed(
    session: &mut UnitSession,
    facts: &UnitFacts,
    is_gone: &dyn Fn(&str) -> bool,
) -> Result<(UnitSurvey, Vec<u8>), EngineError> {
    let head = session.read_blocks(facts, 0, DATA_AT_BYTES.min(facts.length_bytes()))?;
    let identity = &facts.identity;
    let parts = [identity.vendor.as_str(), &identity.product, facts.name.as_deref().unwrap_or_default()];
    let description: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let survey = UnitSurvey {
        description: description.join(" "),
        serial: facts.serial.clone(),
        length: Bytes(facts.length_bytes()),
        holding: holding(session, facts, &head, is_gone)?,
    };
    Ok((survey, head))
}

fn holding(
    session: &mut UnitSession,
    facts: &UnitFacts,
    head: &[u8],
    is_gone: &dyn Fn(&str) -> bool,
) -> Result<UnitHolding, EngineError> {
    let length_bytes = facts.length_bytes();
    if let Some(mark) = RegionMark::parse(head) {
        return Ok(if is_gone(&mark.owner) && mark.end_bytes <= length_bytes {
            UnitHolding::LeftByRun { end_bytes: Bytes(mark.end_bytes) }
        } else {
            UnitHolding::Other(format!("the data of another run ({})", mark.owner))
        });
    }
    if let Some(words) = describe(head) {
        return Ok(UnitHolding::Other(words.to_owned()));
    }
    let tail_bytes = length_bytes.saturating_sub(TAIL_BYTES).max(head.len() as u64);
    Ok(match session.first_non_zero(facts, tail_bytes, length_bytes)? {
        None => UnitHolding::Nothing,
        Some(at) => UnitHolding::Other(format!("data near its end, at byte {at}")),
    })
}

/// Fails where the mark of `claim` is not on the unit; otherwise where the claim ends.
pub(super) fn check_claim(
    session: &mut UnitSession,
    facts: &UnitFacts,
    claim: UnitClaim,
) -> Result<u64, EngineError> {
    let found = facts.identity_text();
    if let Some(known) = session.portal.address.identity.as_ref().filter(|known| **known != found) {
        return Err(replaced(
            session,
            &format!("it is another unit ({found}) than the one that was claimed ({known})"),
        ));
    }
    match read_mark(session, facts)?.filter(|mark| mark.nonce == claim.nonce) {
        Some(mark) => Ok(mark.end_bytes),
        None => Err(replaced(
            session,
            "the mark of this run is not on it: somebody else has written there, or it is another unit",
        )),
    }
}

/// The error that something else is in the place of the unit of `session`; the run ends with it.
fn replaced(session: &UnitSession, what: &str) -> EngineError {
    let error = EngineError::new(ErrorKind::Replaced, "open", session.portal.name())
        .detail(format!("{what}; nothing was written to it"))
        .hint("see what has changed at the target, and run again");
    note_replaced(&error);
    error
}

/// Fails where the unit of a session that was made again is not the one of `facts`, or has lost the mark of the run.
pub(super) fn check_same(session: &mut UnitSession, facts: &UnitFacts) -> Result<(), EngineError> {
    let serial = session.serial()?;
    if serial != facts.serial {
        let named = |serial: &Option<String>| serial.clone().unwrap_or_else(|| "none".to_owned());
        let why = format!("its serial number is {}, and was {}", named(&serial), named(&facts.serial));
        return Err(replaced(
            session,
            &format!("after the session was made again it is another unit: {why}"),
        ));
    }
    match session.portal.address.claim {
        Some(claim) => check_claim(session, facts, claim).map(drop),
        None => Ok(()),
    }
}

/// A region of a unit that this run may write; dropping it clears it.
#[derive(Debug)]
pub struct UnitRegion {
    address: IscsiAddress,
    portal: IscsiPortal,
    end_bytes: u64,
    notes: Vec<String>,
    /// Nothing of this run is on the unit.
    is_lost: bool,
}

impl UnitRegion {
    /// Claims what `need` states of the unit at `address`, by a mark with `nonce` and `owner`, the line that states which
    /// run it is of. What a run has left whose line `is_gone` knows to have ended is cleared.
    ///
    /// # Errors
    /// When the unit cannot be reached, is too small, or holds something that the address does not name for overwriting.
    pub fn claim(
        address: &IscsiAddress,
        need: RegionNeed,
        nonce: u64,
        owner: &str,
        is_gone: &dyn Fn(&str) -> bool,
        clock: Arc<dyn Clock>,
        timeout_ns: u64,
    ) -> Result<Self, EngineError> {
        let portal = IscsiPortal::new(address.clone(), clock, timeout_ns, StopFlag::default());
        let mut session = UnitSession::open(&portal, &DEFAULT_OPTIONS, None, portal.deadline())?;
        let facts = session.unit_facts()?;
        let (stride_bytes, end_bytes) = (need.stride_bytes(), need.end_bytes().0);
        if end_bytes > facts.length_bytes() {
            return Err(EngineError::new(ErrorKind::NoSpace, "write to", portal.name())
                .detail(format!(
                    "it has {}, and the run needs {end_bytes} bytes",
                    Bytes(facts.length_bytes())
                ))
                .hint("use smaller files, fewer clients or a larger unit"));
        }
        session.end_within(end_bytes);
        let (found, head) = surveyed(&mut session, &facts, is_gone)?;
        check_consent(&session, &facts, address, &found)?;
        check_empty(&mut session, &facts, address, &found, end_bytes)?;
        let left_bytes = found.left_bytes();
        let end_bytes = end_bytes.max(left_bytes.unwrap_or(0));
        let claim = UnitClaim { nonce, stride_bytes };
        // Until the mark is whole: a signal meanwhile waits for it, and removes it.
        let making = lock_making();
        let identity = Some(facts.identity_text());
        let address = IscsiAddress { claim: Some(claim), identity, ..address.clone() };
        let portal = IscsiPortal { address: address.clone(), ..portal };
        let mut region = Self { address, portal, end_bytes, notes: Vec::new(), is_lost: false };
        note_disk(&region.key(), region.remover());
        let mark = RegionMark { owner: owner.to_owned(), nonce, end_bytes };
        // Dropping the region removes what was written.
        match put_mark(&mut session, &facts, &mark, &head) {
            Ok(()) => {}
            Err(MarkFailure::Other(error)) => return Err(error),
            Err(MarkFailure::Lost(error)) => {
                region.is_lost = true;
                return Err(error);
            }
        }
        drop(making);
        if let Some(left_bytes) = left_bytes {
            // Under the new mark already: nobody else clears it too.
            session.end_within(left_bytes);
            session.clear_blocks(&facts, DATA_AT_BYTES, left_bytes)?;
        }
        region.notes = found.room_notes();
        session.log_out();
        Ok(region)
    }

    /// The address that engines write to.
    #[must_use]
    pub fn address(&self) -> &IscsiAddress {
        &self.address
    }

    /// What was done before, in sentences.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn key(&self) -> String {
        format!("iscsi:{}", self.address.plain())
    }

    /// Clears it on a session of its own.
    fn remover(&self) -> Arc<dyn Fn() -> Result<(), String> + Send + Sync> {
        let timeout_ns = self.portal.timeout_ns.min(CLEAR_TIMEOUT_NS);
        let portal = IscsiPortal { timeout_ns, ..self.portal.clone() };
        let (claim, end_bytes) = (self.address.claim, self.end_bytes);
        Arc::new(move || cleared(&portal, claim, end_bytes).map_err(|error| error.to_string()))
    }
}

impl Drop for UnitRegion {
    fn drop(&mut self) {
        if !self.is_lost
            && let Err(left) = clear_disk(&self.key(), &*self.remover())
        {
            note_problem(left);
        }
        forget_disk(&self.key());
    }
}

/// Clears the data, then the mark: a kill in between leaves what the next run knows.
fn cleared(portal: &IscsiPortal, claim: Option<UnitClaim>, end_bytes: u64) -> Result<(), EngineError> {
    let mut session = UnitSession::open(portal, &DEFAULT_OPTIONS, None, portal.deadline())?;
    let facts = session.unit_facts()?;
    let found = facts.identity_text();
    if let Some(known) = portal.address.identity.as_ref().filter(|known| **known != found) {
        return Err(EngineError::new(ErrorKind::Replaced, "clear", portal.name())
            .detail(format!("it is another unit ({found}) than the one that was written ({known})")));
    }
    session.end_within(end_bytes);
    let head = session.read_blocks(&facts, 0, DATA_AT_BYTES.min(facts.length_bytes()))?;
    if head.iter().all(|byte| *byte == 0) {
        // Nothing was written, or it was cleared before.
        return Ok(());
    }
    if RegionMark::parse(&head).map(|mark| mark.nonce) != claim.map(|claim| claim.nonce) {
        return Err(EngineError::new(ErrorKind::Io, "clear", portal.name())
            .detail("its beginning was written by somebody else, and nothing was touched"));
    }
    session.clear_blocks(&facts, DATA_AT_BYTES, end_bytes)?;
    remove_mark(&mut session, &facts)?;
    session.log_out();
    Ok(())
}

/// Refuses a unit that nobody named for overwriting, and one that was named by another number.
fn check_consent(
    session: &UnitSession,
    facts: &UnitFacts,
    address: &IscsiAddress,
    found: &UnitSurvey,
) -> Result<(), EngineError> {
    let refused = |detail: String, hint: &str| {
        Err(EngineError::new(ErrorKind::Permission, "write to", session.portal.name())
            .detail(detail)
            .hint(hint))
    };
    if let Some(named) = address.overwrite.as_ref().filter(|_| !is_consent(address, facts.serial.as_deref()))
    {
        let serial = facts.serial.as_deref().unwrap_or("none");
        return refused(
            format!("its serial number is {serial}, and {named} was named for overwriting"),
            "check which unit is meant",
        );
    }
    match found.read_only_reason(address) {
        Some(reason) => refused(reason, "or give a unit that is empty"),
        None => Ok(()),
    }
}

/// Refuses a unit on which anything is up to `end_bytes` that is not of a killed run and was not named for overwriting.
fn check_empty(
    session: &mut UnitSession,
    facts: &UnitFacts,
    address: &IscsiAddress,
    found: &UnitSurvey,
    end_bytes: u64,
) -> Result<(), EngineError> {
    if is_consent(address, facts.serial.as_deref()) {
        return Ok(());
    }
    // What a killed run has written is known to be its own only up to where its claim ended.
    let from_bytes = found.left_bytes().unwrap_or(0).max(DATA_AT_BYTES);
    let Some(at) = session.first_non_zero(facts, from_bytes, end_bytes)? else { return Ok(()) };
    let serial = facts.serial.as_deref().unwrap_or("SERIAL");
    Err(EngineError::new(ErrorKind::Permission, "write to", session.portal.name())
        .detail(format!(
            "LUN {} is not empty: byte {at} is not zero, where the run would write",
            address.unit
        ))
        .hint(format!("--overwrite-lun {serial} allows its content to be overwritten")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_that_contains_something_is_written_only_under_its_own_serial_number() {
        let address = |options: &str| IscsiAddress::parse(&format!("//h/iqn.x/1{options}")).unwrap();
        let survey = |holding| UnitSurvey {
            description: String::new(),
            serial: Some("beaf".to_owned()),
            length: Bytes(1 << 30),
            holding,
        };
        let held = survey(UnitHolding::Other("an XFS file system".to_owned()));
        let reason = held.read_only_reason(&address("")).unwrap();
        assert!(reason.contains("an XFS file system") && reason.contains("--overwrite-lun beaf"), "{reason}");
        assert!(held.read_only_reason(&address("?overwrite=dead")).is_some());
        assert_eq!(held.read_only_reason(&address("?overwrite=beaf")), None);
        assert_eq!(survey(UnitHolding::Nothing).read_only_reason(&address("")), None);
        let nameless = UnitSurvey { serial: None, ..held };
        assert!(nameless.read_only_reason(&address("?overwrite=beaf")).is_some());
    }
}
