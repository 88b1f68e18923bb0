//! Files that a cell makes, passes over once, keeps or only reads.

use super::*;
use narrows_model::engine::EngineId;

#[test]
fn a_cell_that_continuesce_over_its_file_moves_just_its_bytes() {
    let (folder, stop) = (folder(), StopFlag::default());
    for (block_bytes, workers) in [(MIB, 1), (4096, 4), (64 << 10, 3)] {
        let cells = vec![cell(folder.path().to_str().unwrap(), writing(block_bytes, workers), true)];
        let (mut events, mut site) = (Vec::new(), site(&stop));
        let output = execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
        assert_eq!((output.reason, output.done_count), (EndReason::Finished, 1));
        let trial = trials(&events)[0];
        // Three workers share 64 blocks as 22, 21 and 21.
        assert_eq!((trial.bytes.0, trial.op_count), (4 * MIB, 4 * MIB / block_bytes));
        assert_eq!(trial.response.count(), trial.op_count);
        assert!(trial.complete && trial.errors.is_empty());
        assert_eq!(std::fs::metadata(folder.path().join("data-0")).unwrap().len(), 4 * MIB);
        assert!(clean_up(&mut site).is_empty());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    }
}

#[test]
fn a_load_that_writes_its_file_itself_begins_with_an_empty_one_and_the_next_reads_it() {
    let (folder, stop) = (folder(), StopFlag::default());
    let target = folder.path().display().to_string();
    let load = |op, mib: u64| {
        let workload =
            Workload { op, block_bytes: Bytes(MIB), prefill: Prefill::Nothing, ..Workload::default() };
        let mut cell = cell(&target, workload, true);
        cell.id.0 = format!("{op} {mib}");
        cell.workload.file_bytes = Bytes(mib * MIB);
        (cell.stop.bytes_max, cell.stop.ops_max) = (None, Some(mib));
        cell
    };
    let length = || std::fs::metadata(folder.path().join("data-0")).unwrap().len();
    let mut events = Vec::new();
    let mut site = site(&stop);
    // Nothing has written the file that the first one reads.
    let cells = vec![load(Op::Read, 1), load(Op::Write, 4), load(Op::Read, 4), load(Op::Write, 2)];
    execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
    let failed = events.iter().find_map(|event| match event {
        Event::CellFailed { message, .. } => Some(message.clone()),
        _ => None,
    });
    assert!(failed.unwrap().contains("no earlier load has written it completely"));
    assert_eq!(trials(&events).iter().map(|trial| trial.bytes.0 / MIB).collect::<Vec<_>>(), [4, 4, 2]);
    assert_eq!(length(), 2 * MIB);
    assert!(clean_up(&mut site).is_empty());
    assert!(!folder.path().join("data-0").exists());
}

#[test]
fn a_stripe_that_makes_its_files_begins_with_empty_ones_where_another_had_its_parts() {
    let (folder, stop) = (folder(), StopFlag::default());
    for name in ["a", "b", "c"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let load = |op, names: &[&str], mib: u64| {
        let members: Vec<String> =
            names.iter().map(|name| folder.path().join(name).display().to_string()).collect();
        let workload =
            Workload { op, block_bytes: Bytes(MIB), prefill: Prefill::Nothing, ..Workload::default() };
        let mut cell = cell(&format!("stripe:{}?unit=1MiB", members.join(",")), workload, true);
        cell.id.0 = format!("{op} {}", names.join(""));
        cell.workload.file_bytes = Bytes(mib * MIB);
        (cell.stop.bytes_max, cell.stop.ops_max) = (None, Some(mib));
        cell
    };
    let lengths = || {
        ["a", "b", "c"].map(|name| {
            std::fs::metadata(folder.path().join(name).join("data-0-part")).map_or(0, |file| file.len() / MIB)
        })
    };
    let (mut events, mut site) = (Vec::new(), site(&stop));
    let cells = vec![load(Op::Write, &["a", "b"], 6), load(Op::Read, &["a", "b"], 6)];
    execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
    assert_eq!(lengths(), [3, 3, 0]);
    // The second stripe's part of each file is smaller: what is longer was written over.
    let cells = vec![load(Op::Write, &["b", "c"], 2), load(Op::Read, &["b", "c"], 2)];
    execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
    assert_eq!(lengths(), [0, 1, 1]);
    assert_eq!(trials(&events).iter().map(|trial| trial.bytes.0 / MIB).collect::<Vec<_>>(), [6, 6, 2, 2]);
    // What was removed is not looked for as if it were there.
    let cells = vec![load(Op::Read, &["a", "b"], 6)];
    let mut again = Vec::new();
    execute(&plan(cells), Nanos(0), &mut site, None, &mut again).unwrap();
    assert!(again.iter().any(|event| matches!(event, Event::CellFailed { .. })), "{again:?}");
    assert!(clean_up(&mut site).is_empty());
    assert_eq!(lengths(), [0, 0, 0]);
}

#[test]
fn a_load_that_keeps_its_file_covers_what_is_there_and_may_leave_it() {
    let (folder, stop) = (folder(), StopFlag::default());
    let target = folder.path().display().to_string();
    let load = |op, prefill, order| {
        let mut workload = Workload { op, block_bytes: Bytes(MIB), prefill, order, ..Workload::default() };
        workload.edges.keeps_files = true;
        let mut cell = cell(&target, workload, true);
        cell.id.0 = format!("{op} {prefill:?} {order}");
        cell
    };
    let length = || std::fs::metadata(folder.path().join("data-0")).unwrap().len();
    let mut events = Vec::new();
    let mut site = site(&stop);
    // Four times the first block: the others stay.
    let cells = vec![
        load(Op::Write, Prefill::Nothing, Order::Sequential),
        load(Op::Write, Prefill::Kept, Order::OneBlock),
        load(Op::Read, Prefill::Kept, Order::Backward),
    ];
    execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
    assert_eq!(trials(&events).iter().map(|trial| trial.bytes.0 / MIB).collect::<Vec<_>>(), [4, 4, 4]);
    assert_eq!(length(), 4 * MIB);
    assert!(clean_up(&mut site).is_empty());
    assert_eq!(length(), 4 * MIB, "it is kept when the run is over");
    let mut alone = Vec::new();
    let cells = vec![load(Op::Write, Prefill::Kept, Order::Sequential)];
    execute(&plan(cells), Nanos(0), &mut self::site(&stop), None, &mut alone).unwrap();
    assert!(
        alone.iter().any(|event| matches!(event, Event::CellFailed { .. })),
        "nothing was written before"
    );
}

#[test]
fn samples_of_a_trial_add_up_to_it() {
    let (folder, stop) = (folder(), StopFlag::default());
    let reading = Workload { cache: CacheState::Cold, ..Workload::default() };
    let cells = vec![cell(folder.path().to_str().unwrap(), reading, true)];
    let (mut events, mut site) = (Vec::new(), site(&stop));
    execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
    let trial = trials(&events)[0];
    let sampled: u64 = events
        .iter()
        .filter_map(|event| if let Event::Interval(sample) = event { Some(sample) } else { None })
        .filter(|sample| sample.measured)
        .map(|sample| sample.bytes.0)
        .sum();
    assert_eq!((sampled, trial.bytes.0), (4 * MIB, 4 * MIB));
    assert!(trial.resident_ratio.unwrap() < 0.02, "the cache was dropped: {:?}", trial.resident_ratio);
    clean_up(&mut site);
}

#[test]
fn direct_access_is_granted_and_said() {
    let (folder, stop) = (folder(), StopFlag::default());
    let reading = Workload { access: Access::Direct, ..Workload::default() };
    let (mut events, mut site) = (Vec::new(), site(&stop));
    let cells = vec![cell(folder.path().to_str().unwrap(), reading, true)];
    execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
    let effective = trials(&events)[0].effective.clone().unwrap();
    assert_eq!((effective.engine.as_str(), effective.access), ("psync", Some(Access::Direct)));
    clean_up(&mut site);
}

#[test]
fn an_existing_file_is_read_and_never_changed() {
    let (folder, stop) = (folder(), StopFlag::default());
    let path = folder.path().join("precious");
    std::fs::write(&path, vec![7; 4 << 20]).unwrap();
    let before = std::fs::metadata(&path).unwrap().modified().unwrap();
    let mut reading = cell(path.to_str().unwrap(), Workload::default(), false);
    reading.read_only = true;
    let (mut events, mut site) = (Vec::new(), site(&stop));
    execute(&plan(vec![reading]), Nanos(0), &mut site, None, &mut events).unwrap();
    assert!(clean_up(&mut site).is_empty());
    assert!(trials(&events)[0].op_count > 0);
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 4 << 20]);
    assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), before);
}

#[test]
fn a_full_device_is_an_error_that_says_so() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let stop = StopFlag::default();
    let mut writing = cell("/dev/full", writing(4096, 1), true);
    writing.read_only = true;
    let mut events = Vec::new();
    let output = execute(&plan(vec![writing]), Nanos(0), &mut site(&stop), None, &mut events).unwrap();
    assert_eq!(output.done_count, 1, "{output:?}");
    let trial = trials(&events)[0];
    assert!(trial.errors.iter().any(|error| error.errno == "ENOSPC"), "{:?}", trial.errors);
    assert_eq!((trial.op_count, trial.complete), (0, false));
}

#[test]
fn a_mix_of_reads_and_writes_on_a_file_is_counted_by_kind() {
    let (folder, stop) = (folder(), StopFlag::default());
    let share = |op, weight| narrows_model::workload::OpShare { op, weight };
    let mixed = Workload {
        op_mix: vec![share(Op::Read, 7.0), share(Op::Write, 3.0), share(Op::Sync, 0.1)],
        order: narrows_model::workload::Order::Random,
        ..Workload::default()
    };
    let (mut events, mut site) = (Vec::new(), site(&stop));
    let cells = vec![cell(folder.path().to_str().unwrap(), mixed, false)];
    execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
    let trial = trials(&events)[0];
    assert!(trial.errors.is_empty() && trial.complete, "{:?}", trial.errors);
    let kinds: Vec<Op> = trial.by_kind.iter().map(|kind| kind.op).collect();
    assert_eq!(kinds, [Op::Read, Op::Write, Op::Sync]);
    assert_eq!(trial.by_kind.iter().map(|kind| kind.op_count).sum::<u64>(), trial.op_count);
    clean_up(&mut site);
}

#[test]
fn each_sync_after_writes_is_timed_by_itself_whatever_the_engine() {
    let (folder, stop) = (folder(), StopFlag::default());
    let engines = [(EngineId::Psync, 1), (EngineId::Uring, 4), (EngineId::Mmap, 1), (EngineId::Stdio, 1)];
    for (engine, queue_depth) in engines {
        let workload = Workload {
            engine: Some(engine),
            sync: SyncPolicy::Every(4),
            queue_depth,
            ..writing(64 << 10, 1)
        };
        let cells = vec![cell(folder.path().to_str().unwrap(), workload, true)];
        let (mut events, mut site) = (Vec::new(), site(&stop));
        execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
        let trial = trials(&events)[0];
        let syncs = trial.syncs.as_ref().unwrap_or_else(|| panic!("{engine:?}: {trial:?}"));
        assert_eq!((trial.op_count, syncs.count()), (64, 16), "{engine:?}");
        assert!(syncs.max_ns() <= trial.response.max_ns(), "{engine:?}: a sync is a part of its write");
        assert!(clean_up(&mut site).is_empty());
    }
}
