//! The suite of all engines, by a rank that the launcher starts: this test starts itself so.

use super::*;
use launcher::MpiLauncher;
use mpi::Threading;
use narrows_engines::conformance;
use narrows_model::{EngineId, Op};

#[path = "../../tests/it/launcher.rs"]
mod launcher;

#[test]
fn a_rank_passes_the_suite_of_all_engines() {
    let launcher = MpiLauncher::from_library();
    if std::env::var_os(launcher.rank_variable()).is_some() {
        return pass();
    }
    let status = launcher
        .command()
        .args(["-np", "1"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "engine::tests::a_rank_passes_the_suite_of_all_engines"])
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
