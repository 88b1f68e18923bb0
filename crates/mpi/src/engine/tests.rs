//! The suite of all engines, by a rank that `mpirun` starts: this test starts itself so.

use super::*;
use mpi::Threading;
use narrows_engines::conformance;
use narrows_model::{EngineId, Op};
use std::process::Command;

/// Set by the launcher for each of its processes.
const RANK_VARIABLE: &str = "OMPI_COMM_WORLD_RANK";

#[test]
fn a_rank_passes_the_suite_of_all_engines() {
    if std::env::var_os(RANK_VARIABLE).is_some() {
        return pass();
    }
    let status = Command::new("mpirun")
        .args(["-np", "1"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "engine::tests::a_rank_passes_the_suite_of_all_engines"])
        .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"), ("TMPDIR", "/tmp")])
        .status();
    assert!(status.unwrap().success());
}

fn pass() {
    let (universe, threading) = mpi::initialize_with_threading(Threading::Multiple).unwrap();
    let factory = MpiioFactory::new(IoRanks::new(&universe.world(), threading).unwrap());
    for (file, calls) in [("shared", "independent"), ("own", "independent"), ("own", "collective")] {
        for op in [Op::Write, Op::Read] {
            // In memory: how long a device takes for syncs is not what is tested.
            let folder = tempfile::tempdir_in("/dev/shm").unwrap();
            let mut spec = conformance::spec(folder.path().to_str().unwrap(), op, 1);
            spec.workload.engine = Some(EngineId::Mpiio);
            spec.workload.engine_options.set("file", file);
            spec.workload.engine_options.set("calls", calls);
            conformance::run(&factory, &spec);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{file} {calls} {op}");
        }
    }
}
