//! The engine `iscsi` against a real target: conformance, verified runs, restarts in the middle of a load, refusals.

use std::fs;
use std::sync::Arc;

use crate::support::lab_with_iscsi;
use crate::support::tgt::{Tgt, TgtSetup};
use narrows_engines::conformance;
use narrows_engines::iscsi::{RegionNeed, UnitRegion};
use narrows_engines::{EngineRegistry, MonotonicClock};
use narrows_model::workload::SyncPolicy;
use narrows_model::{Bytes, IscsiAddress, Op, Target};

const MIB: u64 = 1 << 20;
const ANSWER_NS: u64 = 10_000_000_000;

/// A region of `target` for one client with a file of 1 MiB.
fn claim(target: &str) -> UnitRegion {
    let address = IscsiAddress::parse(target.strip_prefix("iscsi:").unwrap()).unwrap();
    let need = RegionNeed { client_bytes: Bytes(MIB), client_count: 1 };
    let clock = Arc::new(MonotonicClock::new());
    UnitRegion::claim(&address, need, 7, "a test", &|_| false, clock, ANSWER_NS).unwrap()
}

#[test]
fn the_engine_conforms_at_every_depth_and_size() {
    let Some(lab) = lab_with_iscsi() else { return };
    let server = Tgt::start(&lab, 1, 64 * MIB, TgtSetup::default());
    for (depth, options) in [
        (1, &[][..]),
        (8, &[]),
        (32, &[]),
        (32, &[("sessions", 4_u64)]),
        // A request of 4 KiB is then several commands, of which each is asked for in parts.
        (8, &[("transfer", 1024)]),
        (8, &[("max_burst", 1024), ("first_burst", 512), ("receive", 512)]),
    ] {
        let region = claim(&server.target(""));
        let target = format!("iscsi:{}", region.address());
        for (op, sync) in [(Op::Read, SyncPolicy::None), (Op::Write, SyncPolicy::Dsync)] {
            let mut spec = conformance::spec(&target, op, depth);
            spec.objects = vec!["data-0".to_owned()];
            spec.workload.sync = sync;
            for (name, value) in options {
                spec.workload.engine_options.set(name, *value);
            }
            let factory =
                EngineRegistry::for_user().factory(&target.parse::<Target>().unwrap(), None).unwrap();
            conformance::run(factory.as_ref(), &spec);
        }
    }
    assert!(server.is_empty(), "what was written is zeroes again");
    assert!(fs::metadata(server.image()).is_ok());
}
