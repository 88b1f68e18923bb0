//! Clients: as processes or not, and each at its own target.

use super::*;

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
