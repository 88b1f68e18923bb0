//! Which part of a device an object is, and what is checked of a claim.

use super::*;
use narrows_model::Workload;

fn spec(target: &str, op: Op, create: bool) -> OpenSpec {
    OpenSpec {
        target: target.parse().unwrap(),
        workload: Workload { op, ..Workload::default() },
        objects: vec!["data-0".to_owned()],
        object_bytes: Bytes(1 << 20),
        create,
        laid_down: false,
        token: None,
        session: None,
        answer_timeout_ns: 1,
    }
}

fn part(spec: &OpenSpec, name: &str) -> Result<Range<u64>, String> {
    part_of(spec, device(&spec.target).unwrap(), name).map_err(|error| error.to_string())
}

#[test]
fn a_device_that_was_not_claimed_is_read_as_a_whole_and_never_written() {
    assert_eq!(part(&spec("blk:/dev/x", Op::Read, false), ""), Ok(0..1 << 20));
    for spec in [spec("blk:/dev/x", Op::Write, false), spec("blk:/dev/x", Op::Read, true)] {
        let message = part(&spec, "").unwrap_err();
        assert!(message.contains("nothing of the device was claimed for writing"), "{message}");
    }
}

#[test]
fn objects_of_a_claim_are_parts_behind_its_mark_and_as_long_as_claimed() {
    let claimed = spec("blk:/dev/x?claim=1&stride=1048576", Op::Write, true);
    assert_eq!(part(&claimed, "data-0"), Ok(1 << 20..2 << 20));
    assert_eq!(part(&claimed, "data-2"), Ok(3 << 20..4 << 20));
    let longer = OpenSpec { object_bytes: Bytes((1 << 20) + 1), ..claimed.clone() };
    assert!(part(&longer, "data-0").unwrap_err().contains("is not in what was claimed"));
    assert!(part(&claimed, "").unwrap_err().contains("is not in what was claimed"));
}

#[test]
fn a_mark_of_another_run_is_no_claim_and_parts_end_within_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let mark = RegionMark { owner: "narrows".to_owned(), nonce: 7, end_bytes: 2 << 20 };
    std::fs::write(&path, mark.to_block(LOOK_BYTES)).unwrap();
    let opened = File::open(&path).unwrap();
    let address = BlockAddress { path, claim: None };
    let claim = |nonce| UnitClaim { nonce, stride_bytes: 1 << 20 };
    let (within, beyond): (Range<u64>, Range<u64>) = (1 << 20..2 << 20, 1 << 20..(2 << 20) + 1);
    let (within, beyond) = (std::slice::from_ref(&within), std::slice::from_ref(&beyond));
    assert!(check_claim(&address, &opened, claim(7), within).is_ok());
    let message = check_claim(&address, &opened, claim(7), beyond).unwrap_err().to_string();
    assert!(message.contains("beyond what was claimed"), "{message}");
    let message = check_claim(&address, &opened, claim(8), within).unwrap_err().to_string();
    assert!(message.contains("the mark of this run is not on it"), "{message}");
}
