//! How the mark of a claim is put in the first block of a unit so that of several runs one alone has it.
//!
//! Where the target compares and writes in one command, that decides. Elsewhere the mark is written, and read again once
//! every run that had looked before has either written its own or given up.

use super::session::{UnitCommand, UnitSession};
use super::unit::UnitFacts;
use crate::connections::StoragePeer;
use crate::error::{EngineError, ErrorKind};
use crate::region::{DATA_AT_BYTES, LOOK_BYTES, RegionMark};
use narrows_wire::iscsi::scsi::cdb::ScsiCdb;

/// Longest time from the last look at a unit until the mark is on it, where the target does not compare and write; and how
/// long the mark is left alone before it is read again.
///
/// Whoever looked before this run's mark was there has its own on the unit by the end of that wait, or has given up.
const SETTLE_NS: u64 = 2_000_000_000;

/// Removes the mark, which is alone in its first MiB. That block alone is written: whoever claims the unit next may do so
/// at once.
pub(super) fn remove_mark(session: &mut UnitSession, facts: &UnitFacts) -> Result<(), EngineError> {
    let zeroes = vec![0; usize::try_from(facts.block_bytes()).unwrap_or(512)];
    session.write_blocks(facts, 0, &zeroes)
}

/// The mark that is on the unit; `None` where there is none.
pub(super) fn read_mark(
    session: &mut UnitSession,
    facts: &UnitFacts,
) -> Result<Option<RegionMark>, EngineError> {
    let head = session.read_blocks(facts, 0, LOOK_BYTES.min(facts.length_bytes()))?;
    Ok(RegionMark::parse(&head))
}

/// Where the mark of a claim was not put, or did not stay.
#[derive(Debug)]
pub(super) enum MarkFailure {
    /// Somebody else has written there meanwhile: nothing of this run is on the unit.
    Lost(EngineError),
    /// Anything else: the mark may be there.
    Other(EngineError),
}

impl From<EngineError> for MarkFailure {
    fn from(error: EngineError) -> Self {
        Self::Other(error)
    }
}

/// Puts `mark` in the first block of a unit, which began with `head` when it was examined.
pub(super) fn put_mark(
    session: &mut UnitSession,
    facts: &UnitFacts,
    mark: &RegionMark,
    head: &[u8],
) -> Result<(), MarkFailure> {
    let block = mark.to_block(facts.block_bytes());
    let Some((found, behind)) = head.split_at_checked(block.len()) else {
        return Err(session.portal.malformed("claim", "its first block was not returned").into());
    };
    if !compared_and_written(session, &block, found)? {
        write_and_look_again(session, facts, &block, found)?;
    }
    if behind.iter().any(|byte| *byte != 0) {
        clear_behind(session, facts)?;
    }
    match read_mark(session, facts)? {
        Some(there) if there.nonce == mark.nonce => Ok(()),
        _ => Err(MarkFailure::Lost(lost(session))),
    }
}

/// Whether the target compares and writes in one command: then the mark is there.
fn compared_and_written(session: &mut UnitSession, block: &[u8], found: &[u8]) -> Result<bool, MarkFailure> {
    session.extend_deadline();
    let data = [found, block].concat();
    let asked = UnitCommand { cdb: ScsiCdb::compare_and_write(0, 1), returned_bytes: 0, data: &data };
    match session.execute("claim", &asked)? {
        Ok(_) => {
            session.synchronize()?;
            Ok(true)
        }
        Err(failure) if failure.sense.is_miscompare() => Err(MarkFailure::Lost(lost(session))),
        // A target that has no such command.
        Err(failure) if failure.sense.is_illegal() => Ok(false),
        Err(failure) => Err(session.portal.failed("claim", failure).into()),
    }
}

fn write_and_look_again(
    session: &mut UnitSession,
    facts: &UnitFacts,
    block: &[u8],
    found: &[u8],
) -> Result<(), MarkFailure> {
    let clock = std::sync::Arc::clone(&session.portal.clock);
    let looked_at = clock.now();
    if session.read_blocks(facts, 0, block.len() as u64)? != found {
        return Err(MarkFailure::Lost(lost(session)));
    }
    session.write_blocks(facts, 0, block)?;
    let written_at = clock.now();
    let took_ns = written_at.since(looked_at);
    if took_ns > SETTLE_NS {
        let why = format!("its mark was on the unit only after {} ms", took_ns / 1_000_000);
        return Err(EngineError::new(ErrorKind::Io, "claim", session.portal.name())
            .detail(format!("{why}: another run may have claimed it meanwhile"))
            .hint("run again when the target answers faster")
            .into());
    }
    clock.wait_until(written_at.after(SETTLE_NS));
    Ok(())
}

/// Zeroes what was behind the mark in its first MiB, so that nothing is taken for it.
fn clear_behind(session: &mut UnitSession, facts: &UnitFacts) -> Result<(), EngineError> {
    let end_bytes = DATA_AT_BYTES.min(facts.length_bytes());
    session.clear_blocks(facts, facts.block_bytes(), end_bytes)
}

fn lost(session: &UnitSession) -> EngineError {
    EngineError::new(ErrorKind::Io, "claim", session.portal.name())
        .detail("somebody else has written to its beginning meanwhile, such as another run that claims it")
        .hint("let one run at a time use the unit")
}
