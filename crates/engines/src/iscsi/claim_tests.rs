//! Claims of a unit beside others: whoever writes to it at the same moment, and what was there before.

use super::IscsiFactory;
use super::claim::UnitRegion;
use super::fake_target::{BLOCK, FakeUnit};
use super::portal::IscsiPortal;
use super::session::{DEFAULT_OPTIONS, UnitSession};
use crate::clock::{Clock, MonotonicClock};
use crate::conformance;
use crate::connections::StoragePeer;
use crate::contract::EngineFactory;
use crate::error::{EngineError, ErrorKind};
use crate::files::MARKER;
use crate::region::RegionNeed;
use crate::stop::StopFlag;
use narrows_model::{Bytes, IscsiAddress, Op};
use std::sync::Arc;
use std::time::Duration;

const MIB: usize = 1 << 20;
const TIMEOUT_NS: u64 = 5_000_000_000;
// Operations of commands.
const READ: u8 = 0x28;
const WRITE: u8 = 0x2a;
const COMPARE_AND_WRITE: u8 = 0x89;

fn nothing(_: &mut Vec<u8>, _: &[u8; 16]) {}

/// Claims `clients` times a MiB of `unit` as the run `nonce`; a run has ended where its line says so.
fn claim(unit: &FakeUnit, clients: u32, nonce: u64) -> Result<UnitRegion, EngineError> {
    let address = IscsiAddress::parse(&format!("//127.0.0.1:{}/iqn.2026-01.x:t/1", unit.port)).unwrap();
    let need = RegionNeed { client_bytes: Bytes(1 << 20), client_count: clients };
    let clock = Arc::new(MonotonicClock::new());
    UnitRegion::claim(&address, need, nonce, "a living run", &|line| line == "ended", clock, TIMEOUT_NS)
}

/// The block of the mark of a run.
fn mark(owner: &str, nonce: u64, end: usize) -> Vec<u8> {
    let mut block = format!("{MARKER}\n{owner}\nclaim {nonce:016x}\nend {end}\n").into_bytes();
    block.resize(BLOCK, 0);
    block
}

fn is_empty(data: &[u8]) -> bool {
    data.iter().all(|byte| *byte == 0)
}

#[test]
fn a_claim_is_marked_and_cleared_with_and_without_compare_and_write() {
    for can_compare in [true, false] {
        let unit = FakeUnit::start(vec![0; 8 * MIB], can_compare, nothing);
        let region = claim(&unit, 2, 7).unwrap();
        assert!(unit.data().starts_with(&mark("a living run", 7, 3 * MIB)), "{can_compare}");
        let refused = claim(&unit, 2, 8).unwrap_err().to_string();
        assert!(refused.contains("the data of another run (a living run)"), "{refused}");
        drop(region);
        assert!(is_empty(&unit.data()), "{can_compare}");
    }
}

#[test]
fn another_unit_in_the_place_of_the_claimed_one_is_neither_written_nor_cleared() {
    let unit = FakeUnit::start(vec![0; 8 * MIB], true, nothing);
    let region = claim(&unit, 1, 7).unwrap();
    let mut spec = conformance::spec(&format!("iscsi:{}", region.address()), Op::Write, 1);
    spec.objects = vec!["data-0".to_owned()];
    let open = || IscsiFactory.open(&spec, &conformance::worker());
    open().unwrap().close().unwrap();
    // A copy of it has its mark, and not its serial number.
    unit.set_serial(*b"dead");
    let before = unit.data();
    let error = open().err().unwrap();
    assert_eq!(error.kind, ErrorKind::Replaced);
    let message = error.to_string();
    assert!(
        message.contains("another unit (serial dead)") && message.contains("claimed (serial beaf)"),
        "{message}"
    );
    drop(region);
    assert!(unit.data() == before, "nothing of the other unit was touched");
}

#[test]
fn of_two_runs_that_claim_at_once_the_one_whose_mark_is_first_has_the_unit() {
    let other = mark("the other run", 9, 2 * MIB);
    let (first, mut is_written) = (other.clone(), false);
    // The other run's mark is there right before this one's, after all looks.
    let unit = FakeUnit::start(vec![0; 8 * MIB], true, move |data, cdb| {
        if cdb[0] == COMPARE_AND_WRITE && !is_written {
            data[..BLOCK].copy_from_slice(&first);
            is_written = true;
        }
    });
    let error = claim(&unit, 1, 7).unwrap_err().to_string();
    assert!(error.contains("somebody else has written to its beginning meanwhile"), "{error}");
    assert!(unit.data().starts_with(&other), "nothing of the other run was touched");
}

#[test]
fn a_run_that_looked_before_and_writes_its_mark_later_is_noticed_where_blocks_are_not_compared() {
    let other = mark("the other run", 9, 2 * MIB);
    let (late, mut reads_after) = (other.clone(), None);
    let unit = FakeUnit::start(vec![0; 8 * MIB], false, move |data, cdb| {
        if cdb[0] == WRITE {
            reads_after = Some(0);
        } else if cdb[0] == READ
            && let Some(count) = &mut reads_after
        {
            // By the time this run reads again, the other one has written.
            if *count == 0 {
                data[..BLOCK].copy_from_slice(&late);
            }
            *count += 1;
        }
    });
    let clock = MonotonicClock::new();
    let began = clock.now();
    let error = claim(&unit, 1, 7).unwrap_err().to_string();
    assert!(error.contains("somebody else has written to its beginning meanwhile"), "{error}");
    assert!(clock.now().since(began) >= 2_000_000_000, "who looked before had time to write");
    assert!(unit.data().starts_with(&other), "nothing of the other run was touched");
}

#[test]
fn a_unit_that_changes_while_it_is_examined_is_not_written() {
    let mut reads = 0;
    let unit = FakeUnit::start(vec![0; 8 * MIB], false, move |data, cdb| {
        reads += u32::from(cdb[0] == READ);
        if reads == 3 {
            data[0] = b'X';
        }
    });
    let error = claim(&unit, 1, 7).unwrap_err().to_string();
    assert!(error.contains("somebody else has written to its beginning meanwhile"), "{error}");
    assert_eq!(unit.data()[..2], *b"X\0");
}

#[test]
fn what_a_killed_run_left_is_cleared_and_nothing_behind_it() {
    let left = |behind: bool| {
        let mut data = vec![0; 8 * MIB];
        data[..BLOCK].copy_from_slice(&mark("ended", 3, 2 * MIB));
        data[MIB..2 * MIB].fill(0xaa);
        data[3 * MIB] = u8::from(behind);
        data
    };
    let unit = FakeUnit::start(left(false), true, nothing);
    let region = claim(&unit, 4, 7).unwrap();
    assert!(is_empty(&unit.data()[BLOCK..]), "its data is gone, and its mark");
    assert!(region.notes()[0].contains("a run that was killed"));
    drop(region);
    assert!(is_empty(&unit.data()));
    // What somebody has behind the end of its claim is nothing that it has written.
    let unit = FakeUnit::start(left(true), true, nothing);
    let error = claim(&unit, 4, 7).unwrap_err().to_string();
    assert!(error.contains("is not empty: byte 3145728 is not zero"), "{error}");
    assert_eq!(unit.data(), left(true));
    drop(claim(&unit, 1, 7).unwrap());
    assert_eq!(unit.data()[3 * MIB], 1, "a smaller claim does not reach it");
}

#[test]
fn a_target_that_answers_everything_late_is_given_up() {
    let unit = FakeUnit::start(vec![0; 8 * MIB], true, |_, cdb| {
        if cdb[0] == READ {
            let (_open, waits) = std::sync::mpsc::channel::<()>();
            let _late = waits.recv_timeout(Duration::from_millis(100));
        }
    });
    let address = IscsiAddress::parse(&format!("//127.0.0.1:{}/iqn.2026-01.x:t/1", unit.port)).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(MonotonicClock::new());
    let portal = IscsiPortal::new(address, clock, TIMEOUT_NS, StopFlag::default());
    let mut session = UnitSession::open(&portal, &DEFAULT_OPTIONS, None, portal.deadline()).unwrap();
    let facts = session.unit_facts().unwrap();
    session.end_within(0);
    // What that sets is as long as many answers.
    assert!(session.ends_at.unwrap() > portal.deadline());
    session.ends_at = Some(portal.clock.now().after(500_000_000));
    let mut answered = 0;
    let error = loop {
        match session.read_blocks(&facts, 0, BLOCK as u64) {
            Ok(_) => answered += 1,
            Err(error) => break error,
        }
        assert!(answered < 100, "each answer came in time, and it has no end");
    };
    assert!(error.to_string().contains("all commands together took too long"), "{error}");
}

#[test]
fn the_next_run_s_mark_stays_while_this_one_removes_its_own() {
    let next = mark("the next run", 9, 2 * MIB);
    let (taken, mut is_marked) = (next.clone(), false);
    let unit = FakeUnit::start(vec![0; 8 * MIB], true, move |data, cdb| {
        let is_free = data[..BLOCK].iter().all(|byte| *byte == 0);
        // It claims the unit as soon as the mark of this run, which was there once, is gone.
        if is_free && is_marked && cdb[0] != COMPARE_AND_WRITE {
            data[..BLOCK].copy_from_slice(&taken);
        }
        is_marked |= !is_free;
    });
    drop(claim(&unit, 1, 7).unwrap());
    assert!(unit.data().starts_with(&next));
}
