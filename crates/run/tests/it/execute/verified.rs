//! Loads whose data is checked.

use super::*;

/// What a unit of 512 bytes says of itself, read by nothing but the documented layout: seed, offset, object, generation.
fn unit(bytes: &[u8]) -> (u64, u64, u32, u32) {
    let crc = !bytes[..508].iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    });
    assert_eq!((&bytes[..8], &bytes[508..]), (&b"narrows1"[..], &crc.to_le_bytes()[..]));
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    (long(8), long(16), short(24), short(28))
}

#[test]
fn workers_that_share_a_verified_file_leave_it_as_their_writes_say_in_every_trial() {
    let (folder, stop) = (folder(), StopFlag::default());
    let share = |op| OpShare { op, weight: 1.0 };
    let workload = Workload {
        verify: true,
        workers: 4,
        op_mix: vec![share(Op::Read), share(Op::Write)],
        order: Order::Zipf { theta: 1.0 },
        ..Workload::default()
    };
    let target = folder.path().to_str().unwrap();
    // Cells that verify nothing go before and after, over the same file.
    let mut cells = vec![
        cell(target, writing(4096, 1), true),
        cell(target, workload, false),
        cell(target, Workload::default(), true),
    ];
    cells[1].trials = 3;
    (cells[1].stop.measure_ns, cells[1].stop.ops_max) = (Nanos::from_millis(10_000), Some(4000));
    let mut site = site(&stop);
    let mut events = Vec::new();
    let output = execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
    assert_eq!((output.reason, output.done_count), (EndReason::Finished, 3));
    let trials = trials(&events);
    let verified: Vec<_> = trials.iter().filter_map(|trial| trial.verification.as_ref()).collect();
    assert_eq!((trials.len(), verified.len()), (5, 3));
    for found in verified {
        assert_eq!(
            (found.mismatch_count, found.undecided_bytes.0, found.unread_bytes.0),
            (0, 0, 0),
            "{found:?}"
        );
        assert!(found.checked_bytes.0 > 0);
        assert_eq!(found.read_back_bytes.0, 4 * MIB);
    }
    let file = std::fs::read(folder.path().join("data-0")).unwrap();
    let units: Vec<_> = file.chunks(512).map(unit).collect();
    for (place, (seed, offset, object, _)) in (0..).zip(&units) {
        assert_eq!((*seed, *offset, *object), (units[0].0, place * 512, 0));
    }
    let writes = trials[3].by_kind.iter().find(|kind| kind.op == Op::Write).unwrap();
    let written: u64 = units.iter().map(|unit| u64::from(unit.3)).sum();
    assert_eq!(written * 512, writes.bytes.0, "each unit counts its own writes");
    assert!(clean_up(&mut site).is_empty());
}

#[test]
fn what_cannot_be_verified_fails_with_its_reason_and_nothing_is_made() {
    let (folder, stop) = (folder(), StopFlag::default());
    let target = folder.path().to_str().unwrap();
    let verified = |workload: Workload| Workload { verify: true, ..workload };
    let odd = Workload { block_bytes: Bytes(1000), ..Workload::default() };
    let mut of_others = cell(target, verified(Workload::default()), false);
    of_others.read_only = true;
    let cases = [
        (cell("null:", verified(Workload::default()), false), "null:, which stores none"),
        (cell("sim:local-ssd", verified(Workload::default()), false), "which stores none"),
        (cell(target, verified(odd), false), "multiples of 512"),
        (of_others, "did not write"),
    ];
    for (cell, reason) in cases {
        let output = execute(&plan(vec![cell]), Nanos(0), &mut site(&stop), None, &mut Vec::new()).unwrap();
        assert!(output.failed[0].reason.contains(reason), "{}", output.failed[0].reason);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
