//! From a study to its cells: the examples, every combination, and any study.

use super::*;

fn examples() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/studies");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let studies = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    studies
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read_to_string(&path).unwrap(),
            )
        })
        .collect()
}

#[test]
fn every_example_says_its_question_and_is_planned_whole_within_its_time() {
    let examples = examples();
    assert!(examples.len() > 20);
    for (name, text) in examples {
        assert!(
            text.starts_with("# ") && text.lines().take(4).any(|line| line.contains(['?', '.'])),
            "{name}"
        );
        let study = parse(&text, &name).unwrap_or_else(|problems| panic!("{problems}"));
        let plan = plan_study(&study, &facts(&study), SEED).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(!paths(&plan).is_empty(), "{name}");
        let late: Vec<_> = plan.skipped.iter().filter(|skip| skip.reason.contains("budget")).collect();
        assert!(late.is_empty(), "{name}: {late:?}");
    }
}

#[test]
fn every_key_stands_in_an_example() {
    // Completion polling needs a device whose driver is set to poll; few machines have one.
    let rare = ["workload.ring.completion_polling"];
    // Of an engine with targets of its own, the declaration has the examples: the tests of keys read and sweep them.
    let own_targets = EngineId::ALL.iter().filter(|engine| engine.scheme().is_some());
    let own_tables: Vec<String> = own_targets
        .filter_map(|engine| Some(format!("workload.{}", engine.declaration().options?.name)))
        .collect();
    let is_shown =
        |path: &str, table: &str| rare.contains(&path) || own_tables.iter().any(|own| own == table);
    let given: BTreeSet<String> = examples().iter().flat_map(|(_, text)| paths_in(text)).collect();
    for key in schema().keys.iter().filter(|key| !is_shown(key.path, key.table())) {
        let swept = format!("sweep.{}", key.path.strip_prefix("workload.").unwrap_or(key.path));
        assert!(given.contains(key.path) || given.contains(&swept), "{} is in no example", key.path);
    }
}

/// The dotted paths of all keys that are in separate lines.
fn paths_in(text: &str) -> Vec<String> {
    let mut table = String::new();
    let mut paths = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            table = format!("{name}.");
        } else if let Some((name, _)) = line.split_once(" = ") {
            paths.push(format!("{table}{name}"));
        }
    }
    paths
}

#[test]
fn what_the_generator_does_not_know_adds_no_cut_of_it() {
    let text = "target = \"/data\"\ncuts = [\"generator\"]\n[sweep]\npsync.calls = [\"at_offset\", \"at_position\"]\n";
    let cuts = plan(text).cells.iter().filter(|cell| cell.cut == Cut::Generator).count();
    assert_eq!((paths(&plan(text)).len(), cuts), (2, 1));
}

#[test]
fn every_combination_is_a_cell_with_its_factors() {
    let plan = plan(
        "target = \"null:\"\n[sweep]\nblock = [\"4KiB\", \"64KiB\"]\norder = [\"sequential\", \"random\"]\n",
    );
    let found: BTreeSet<String> = paths(&plan).iter().map(|cell| format!("{:?}", cell.factors)).collect();
    assert_eq!(found.len(), 4);
    assert!(paths(&plan).iter().all(|cell| cell.factors.len() == 2));
    let ids: BTreeSet<_> = plan.cells.iter().map(|cell| &cell.id).collect();
    assert_eq!(ids.len(), plan.cells.len());
}

#[test]
fn one_seed_gives_one_order_and_as_written_is_that_of_the_sweep() {
    let text = "target = \"null:\"\nseconds = 600\ncuts = []\n[sweep]\ndepth = \"1..1024 x2\"\n";
    let depths = |plan: &Plan| paths(plan).iter().map(|cell| cell.workload.queue_depth).collect::<Vec<_>>();
    let sorted: Vec<u32> = (0..11).map(|power| 1 << power).collect();
    let random = depths(&plan(text));
    assert_eq!(random, depths(&plan(text)));
    assert_ne!(random, sorted);
    let study = study(text);
    assert_ne!(random, depths(&plan_study(&study, &facts(&study), SEED + 1).unwrap()));
    assert_eq!(depths(&plan(&format!("cell_order = \"as_written\"\n{text}"))), sorted);
}

#[test]
fn the_plan_keeps_the_study_and_its_seed() {
    let text = "title = \"t\"\ntarget = \"null:\"\n[sweep]\ndepth = [1, 2]\n";
    let plan = plan(text);
    let source = plan.study.unwrap();
    assert_eq!((source.text.as_str(), source.title.as_deref(), plan.seed), (text, Some("t"), SEED));
    assert_eq!(source.factors.len(), 1);
}

#[test]
fn the_largest_sweep_is_planned_with_an_id_for_each_cell() {
    let plan = plan(
        "target = \"null:copy\"\nseconds = 604800\n[sweep]\ndepth = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\nworkers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n\
         clients = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\nblock = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n",
    );
    assert_eq!((count(&plan, Cut::Path), count(&plan, Cut::Generator)), (10_000, 10_000));
    assert_eq!(plan.cells.iter().map(|cell| &cell.id).collect::<BTreeSet<_>>().len(), 20_000);
}

/// One of some values of a key.
fn line(key: &'static str, values: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::sample::select(values).prop_map(move |value| match value {
        "" => String::new(),
        _ => format!("{key} = {value}\n"),
    })
}

proptest! {
    #[test]
    fn any_study_that_is_read_gives_a_plan_that_keeps_its_promises_or_problems(
        target in line("target", &["\"null:\"", "\"/d\"", "[\"/d\", \"null:copy\"]", "\"tcp://h:1/disk\"", "[\"/a\", \"/b\"]", "\"stripe:/a,/b?unit=512\"", "\"stripe:tcp://h:1/disk,tcp://i:1/disk\"", "[\"stripe:tcp://h:1/memory,tcp://i:1/memory?peer_depth=2\", \"tcp://h:1/memory\"]"]),
        seconds in line("seconds", &["", "1", "7", "604800"]),
        together in line("together", &["", "true"]),
        cuts in line("cuts", &["", "[]", "[\"generator\", \"memory_copy\", \"page_cache\", \"local_device\"]", "[\"network_stream\", \"server_memory\", \"server_storage\", \"early_path\"]"]),
        load in proptest::collection::vec(prop_oneof![
            line("op", &["\"write\""]), line("blocks", &["{ 1KiB = 1, 64MiB = 2 }"]), line("file", &["1", "\"1GiB\"", "\"1024TiB\""]),
            line("access", &["\"direct\""]), line("clients", &["256"]), line("acknowledgement", &["\"late\""]),
        ], 0..3),
        sweep in proptest::collection::vec(prop_oneof![
            line("block", &["[512, 4096]", "\"1B..64MiB x4\""]), line("depth", &["[1, 16]"]), line("engine", &["[\"psync\", \"uring\"]"]),
            line("workers", &["[1, 1024]"]), line("sync", &["[\"dsync\", \"every 3\"]"]),
        ], 0..3),
        existing in any::<bool>(), free in any::<u64>(), forbidden in any::<bool>(), seed in any::<u64>(),
    ) {
        let text = format!("{target}{seconds}{together}{cuts}[workload]\n{}[sweep]\n{}", load.concat(), sweep.concat());
        let Ok(study) = parse(&text, "s") else { return Ok(()) };
        let mut facts = facts(&study);
        for known in &mut facts.targets {
            known.free_bytes = Some(Bytes(free));
            known.existing_file = existing.then_some(Bytes(free % (1 << 30)));
            if forbidden {
                known.engines.iter_mut().for_each(|answer| answer.capabilities = Err("no".to_owned()));
            }
        }
        match plan_study(&study, &facts, seed) {
            Err(problems) => prop_assert!(!problems.list.is_empty()),
            Ok(plan) => {
                let ids: BTreeSet<_> = plan.cells.iter().map(|cell| &cell.id).chain(plan.skipped.iter().map(|skip| &skip.cell)).collect();
                prop_assert_eq!(ids.len(), plan.cells.len() + plan.skipped.len());
                let points = paths(&plan).len() + plan.skipped.iter().filter(|skip| skip.cell.0.starts_with("path/")).count();
                prop_assert_eq!(points, study.points.len());
                prop_assert!(plan.load.planned_ns <= plan.budget_ns);
                prop_assert!(!forbidden || plan.cells.is_empty());
                let writable = |cell: &Cell| {
                    matches!(cell.target, Target::File { .. }) && cell.site == Site::Client && !cell.read_only
                };
                prop_assert!(!existing || !plan.cells.iter().any(writable));
            }
        }
    }
}
