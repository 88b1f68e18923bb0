//! Cells that a client may not run on a server, whatever it asks for.

use crate::support::{Running, TERMS, names_in, options, server_cell};
use narrows_engines::ErrorKind;
use narrows_engines::endpoint::{ControlClient, RemoteCellParams};
use narrows_model::workload::{Access, BlockShare, OpShare, Order};
use narrows_model::{Bytes, Cell, EngineId, Event, Nanos, Op, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What is wrong with a cell, and what makes it so.
type Wrong = (&'static str, fn(&mut Cell));

const REFUSED: &[Wrong] = &[
    ("clients", |cell| cell.workload.clients = u32::MAX),
    ("two clients", |cell| cell.workload.clients = 2),
    ("no client", |cell| cell.workload.clients = 0),
    ("workers", |cell| cell.workload.workers = u32::MAX),
    ("no worker", |cell| cell.workload.workers = 0),
    ("depth", |cell| cell.workload.queue_depth = u32::MAX),
    ("no depth", |cell| cell.workload.queue_depth = 0),
    ("block", |cell| cell.workload.block_bytes = Bytes(u64::MAX)),
    ("no block", |cell| cell.workload.block_bytes = Bytes(0)),
    ("block above file", |cell| cell.workload.file_bytes = Bytes(100)),
    ("blocks together", |cell| {
        cell.workload.block_bytes = Bytes(64 << 20);
        cell.workload.file_bytes = Bytes(64 << 20);
        cell.workload.workers = 256;
    }),
    ("trials", |cell| cell.trials = u32::MAX),
    ("no trial", |cell| cell.trials = 0),
    ("time", |cell| cell.stop.measure_ns = Nanos(u64::MAX)),
    ("warm-up", |cell| cell.stop.warm_up_ns = Nanos(u64::MAX)),
    ("op", |cell| cell.workload.op = Op::Trim),
    ("an op of a mix", |cell| cell.workload.op_mix = shares(&[Op::Read, Op::Trim])),
    ("a block of a mix above the largest", |cell| {
        cell.workload.block_mix = vec![BlockShare { block_bytes: Bytes(1 << 30), weight: 1.0 }];
    }),
    ("kinds", |cell| cell.workload.op_mix = shares(&[Op::Read; 65])),
    ("another target", |cell| cell.more_targets = vec![Target::File { path: "/etc".into() }]),
];

const REFUSED_ON_FILES: &[Wrong] = &[
    ("file", |cell| cell.workload.file_bytes = Bytes(u64::MAX)),
    ("file above the quota", |cell| cell.workload.file_bytes = Bytes((1 << 30) + 1)),
    ("an object", |cell| cell.target = Target::File { path: "data-0".into() }),
    ("a dear name", |cell| cell.target = Target::File { path: "././.".into() }),
    ("what is there", |cell| cell.read_only = true),
    ("an engine", |cell| cell.workload.engine = Some(EngineId::Uring)),
];

fn shares(ops: &[Op]) -> Vec<OpShare> {
    ops.iter().map(|op| OpShare { op: *op, weight: 1.0 }).collect()
}

#[test]
fn a_cell_beyond_the_servers_limits_is_refused_and_nothing_is_made() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::start(narrows_endpoint::ServeOptions {
        root: Some(root.path().to_owned()),
        quota_bytes: Some(1 << 30),
        ..options()
    });
    let mut control = server.control();
    let targets = [Target::File { path: ".".into() }, Target::Null { copy: true }];
    let both = REFUSED.iter().flat_map(|case| targets.iter().map(move |target| (case, target)));
    for ((what, change), target) in both.chain(REFUSED_ON_FILES.iter().map(|case| (case, &targets[0]))) {
        let mut cell = server_cell(target.clone());
        change(&mut cell);
        let ran = control.run_cell(&cell, TERMS, &mut |_| {}, &|| false);
        let error = ran.expect_err(what);
        assert!(matches!(error.kind, ErrorKind::Unsupported | ErrorKind::NoSpace), "{what}: {error}");
        assert!(!error.to_string().contains("failed inside"), "{what}: {error}");
        assert_eq!(names_in(root.path()), [""; 0], "{what}");
    }
    control.counters().unwrap();
}

#[test]
fn a_cells_files_and_a_clients_objects_of_the_same_name_are_two() {
    let root = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let server = Running::with_root(root.path());
    let mut control = server.control();
    let mut cell = server_cell(Target::File { path: ".".into() });
    cell.workload.access = Access::Buffered;
    control.run_cell(&cell, TERMS, &mut |_| {}, &|| false).unwrap();
    let folder = root.path().join(&names_in(root.path())[0]);
    assert!(!folder.join("data-0").exists());
    assert!(folder.join("cells/data-0").exists());
    control.end().unwrap();
    assert_eq!(names_in(root.path()), [""; 0]);
}

/// A cell at the server that ends by a count of random blocks.
fn random_cell(op_count: u64) -> Cell {
    let mut cell = server_cell(Target::File { path: ".".into() });
    cell.workload.access = Access::Buffered;
    cell.workload.block_bytes = Bytes(4096);
    cell.workload.order = Order::RandomWithReplacement;
    cell.stop.measure_ns = Nanos::from_millis(20_000);
    cell.stop.ops_max = Some(op_count);
    cell.trials = 1;
    cell
}

/// The blocks that a cell wrote, in a session of its own at a server of its own. All it wrote was from one buffer,
/// while no two blocks of the file that was made for it are alike.
fn blocks_written(seed: u64) -> BTreeSet<usize> {
    let root = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let server = Running::with_root(root.path());
    let mut control = server.control();
    control.run_cell(&random_cell(64), RemoteCellParams { seed, ..TERMS }, &mut |_| {}, &|| false).unwrap();
    let file = root.path().join(&names_in(root.path())[0]).join("cells/data-0");
    written_in(&file)
}

fn written_in(file: &Path) -> BTreeSet<usize> {
    let content = std::fs::read(file).unwrap();
    let mut places: BTreeMap<&[u8], BTreeSet<usize>> = BTreeMap::new();
    for (index, block) in content.chunks(4096).enumerate() {
        // Each block starts with a stamp of its place and time.
        places.entry(&block[16..]).or_default().insert(index);
    }
    places.into_values().max_by_key(BTreeSet::len).unwrap()
}

/// Reads and writes of a mix.
fn kinds_drawn(control: &mut ControlClient, seed: u64) -> Vec<u64> {
    let mut cell = random_cell(2000);
    cell.workload.op_mix = shares(&[Op::Read, Op::Write]);
    let mut counts = Vec::new();
    let mut note = |event| {
        if let Event::TrialFinished(trial) = event {
            counts = trial.by_kind.iter().map(|kind| kind.op_count).collect();
        }
    };
    control.run_cell(&cell, RemoteCellParams { seed, ..TERMS }, &mut note, &|| false).unwrap();
    counts
}

#[test]
fn a_cell_at_the_server_goes_where_the_runs_seed_sends_it() {
    let written = blocks_written(7);
    assert!((40..=64).contains(&written.len()), "{written:?}");
    assert_eq!(written, blocks_written(7));
    assert_ne!(written, blocks_written(8));
}

#[test]
fn a_cell_at_the_server_draws_what_the_runs_seed_lets_it() {
    let root = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let server = Running::with_root(root.path());
    let mut control = server.control();
    let counts = kinds_drawn(&mut control, 7);
    assert_eq!(counts.iter().sum::<u64>(), 2000);
    assert_eq!(counts, kinds_drawn(&mut control, 7));
    let others: Vec<Vec<u64>> = (8..12).map(|seed| kinds_drawn(&mut control, seed)).collect();
    assert!(others.iter().any(|other| *other != counts), "{others:?}");
}
