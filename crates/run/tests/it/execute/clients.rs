//! Clients: as processes or not, and each at its own target.

use super::*;
use narrows_model::EngineId;
use narrows_model::workload::ClientFiles;

#[test]
fn a_client_that_is_alone_is_a_process_only_where_that_is_asked_for() {
    let (folder, stop) = (folder(), StopFlag::default());
    let run = |own_process| {
        let workload = Workload { own_process, block_bytes: Bytes(MIB), ..Workload::default() };
        let plan = plan(vec![cell(&folder.path().display().to_string(), workload, true)]);
        // A program that is not there can be no client, and this process needs none.
        let coordinator = Box::new(ProcessCoordinator::new("/no/such/program".into(), Vec::new()));
        let mut site = CellSite { coordinator, ..site(&stop) };
        let mut events = Vec::new();
        execute(&plan, Nanos(0), &mut site, None, &mut events).unwrap();
        clean_up(&mut site);
        let failed = |event: &Event| match event {
            Event::CellFailed { message, .. } => Some(message.clone()),
            _ => None,
        };
        (trials(&events).len(), events.iter().find_map(failed).unwrap_or_default())
    };
    assert_eq!(run(false), (1, String::new()));
    let (count, failed) = run(true);
    assert!(count == 0 && failed.contains("could not be started by /no/such/program"), "{failed}");
}

/// Several clients, one after the other in this process.
struct InTurn;

impl Coordinator for InTurn {
    fn run(
        &self,
        assignments: &[Assignment],
        context: &LocalContext<'_>,
        hooks: &mut dyn TrialHooks,
    ) -> Result<Vec<ClientOutput>, RunError> {
        let mut outputs = Vec::new();
        for assignment in assignments {
            outputs.extend(ThreadCoordinator.run(std::slice::from_ref(assignment), context, hooks)?);
        }
        Ok(outputs)
    }
}

#[test]
fn clients_share_a_file_block_by_block_and_read_what_others_have_written() {
    const BLOCK: u64 = 47_008;
    let (folder, stop) = (folder(), StopFlag::default());
    let load = |op, interleaved, shift| {
        let workload = Workload {
            engine: Some(EngineId::Psync),
            op,
            block_bytes: Bytes(BLOCK),
            clients: 3,
            client_files: ClientFiles { interleaved, shift },
            prefill: Prefill::Nothing,
            ..Workload::default()
        };
        let mut cell = cell(folder.path().to_str().unwrap(), workload, true);
        cell.id.0 = format!("{op} {interleaved}");
        cell.workload.file_bytes = Bytes(5 * BLOCK);
        (cell.stop.bytes_max, cell.stop.ops_max) = (None, Some(15));
        cell
    };
    let cells = vec![
        load(Op::Write, false, 0),
        load(Op::Write, true, 0),
        load(Op::Read, false, 1),
        load(Op::Read, true, 2),
    ];
    let (mut events, mut site) = (Vec::new(), site(&stop));
    site.coordinator = Box::new(InTurn);
    let output = execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
    assert_eq!(output.done_count, 4, "{output:?}");
    for trial in trials(&events) {
        assert_eq!((trial.bytes.0, trial.op_count), (15 * BLOCK, 15), "{}", trial.cell);
        assert!(trial.errors.is_empty() && trial.clients.iter().all(|client| client.op_count == 5));
    }
    let content = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    for (name, blocks) in [("data-0", 5), ("data-1", 5), ("data-2", 5), ("data-shared", 15)] {
        let content = content(name);
        let written = content.chunks(47_008).filter(|block| block.iter().any(|byte| *byte != 0)).count();
        assert_eq!((content.len() as u64, written), (blocks as u64 * BLOCK, blocks), "{name} has no holes");
    }
    assert!(clean_up(&mut site).is_empty());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn clients_go_to_their_own_targets_and_nothing_is_left_in_any() {
    let (one, other, stop) = (folder(), folder(), StopFlag::default());
    let mut shared = cell(one.path().to_str().unwrap(), writing(MIB, 1), true);
    shared.workload.clients = 3;
    shared.stop.bytes_max = Some(Bytes(12 * MIB));
    shared.more_targets = vec![other.path().to_str().unwrap().parse().unwrap()];
    let (mut events, mut site) = (Vec::new(), site(&stop));
    site.coordinator = Box::new(InTurn);
    let output = execute(&plan(vec![shared]), Nanos(0), &mut site, None, &mut events).unwrap();
    assert_eq!(output.done_count, 1, "{output:?}");
    let names = |folder: &tempfile::TempDir| {
        let files = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(
        (names(&one), names(&other)),
        (vec!["data-0".to_owned(), "data-2".to_owned()], vec!["data-1".to_owned()])
    );
    let trial = trials(&events)[0];
    assert_eq!((trial.bytes.0, trial.clients.len()), (12 * MIB, 3));
    assert!(clean_up(&mut site).is_empty());
    assert!(names(&one).is_empty() && names(&other).is_empty());
}
