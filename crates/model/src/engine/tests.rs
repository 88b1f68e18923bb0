//! What every declaration promises.

use super::*;
use crate::Workload;
use serde_json::Value;
use std::collections::BTreeSet;

fn tables() -> impl Iterator<Item = &'static OptionTable> {
    EngineId::ALL.iter().filter_map(|engine| engine.declaration().options.as_ref())
}

#[test]
fn every_name_is_that_of_its_engine_in_records_too() {
    for engine in EngineId::ALL {
        assert_eq!(EngineId::from_name(engine.name()), Some(*engine));
        assert_eq!(engine.declaration().id, *engine);
        assert_eq!(serde_json::to_value(engine).unwrap(), engine.name());
    }
}

#[test]
fn every_declaration_is_whole() {
    for engine in EngineId::ALL {
        let EngineDeclaration { description, ops, queue_depth_max, .. } = engine.declaration();
        let texts = [description.title, description.targets, description.completion, description.advice];
        assert!(texts.iter().chain([&description.source]).all(|text| !text.is_empty()), "{engine}");
        assert!(!ops.is_empty() && *queue_depth_max >= 1, "{engine}");
        let example: Target = description.example.parse().unwrap();
        assert!(engine.serves(&example), "{engine} does not serve its example {example}");
    }
}

#[test]
fn no_two_tables_of_options_or_schemes_share_a_name() {
    let names: Vec<&str> = tables().map(|table| table.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    let schemes: Vec<&str> = EngineId::ALL.iter().filter_map(|engine| Some(engine.scheme()?.name)).collect();
    assert_eq!(schemes.iter().collect::<BTreeSet<_>>().len(), schemes.len(), "{schemes:?}");
}

/// Values of an option, one of each name that it takes.
fn values(kind: OptionKind) -> Vec<Value> {
    match kind {
        OptionKind::Flag => vec![true.into(), false.into()],
        OptionKind::Choice(names) => names.iter().map(|name| (*name).into()).collect(),
        OptionKind::Count { min, max } | OptionKind::Size { min, max } => vec![min.into(), max.into()],
        OptionKind::Text => vec!["words".into()],
        OptionKind::Duration { min_ns, max_ns } => vec![min_ns.into(), max_ns.into()],
    }
}

#[test]
fn every_value_of_every_option_is_taken_by_a_workload() {
    for table in tables() {
        for option in table.options {
            for value in values(option.kind) {
                let mut options = EngineOptions::default();
                options.set(option.name, value.clone());
                let mut workload = Workload::default();
                let taken = workload.set_engine_options(table.name, options);
                assert!(taken.is_ok(), "{}.{} = {value}: {taken:?}", table.name, option.name);
                let stored: Workload =
                    serde_json::from_value(serde_json::to_value(&workload).unwrap()).unwrap();
                assert_eq!(stored, workload);
            }
        }
    }
}

/// Options as an engine reads them.
#[derive(serde::Deserialize)]
struct OwnOptions {
    pattern: String,
}

#[test]
fn an_option_that_an_engine_reads_itself_survives_a_record() {
    let mut options = EngineOptions::default();
    options.set("pattern", "alternating");
    let mut workload = Workload::default();
    workload.set_engine_options("of-an-engine", options).unwrap();
    let stored: Workload = serde_json::from_value(serde_json::to_value(&workload).unwrap()).unwrap();
    assert_eq!(stored.engine_options.typed::<OwnOptions>().unwrap().pattern, "alternating");
    let plain = serde_json::to_value(Workload::default()).unwrap();
    assert!(plain.get("engine_options").is_none(), "{plain}");
}

#[test]
fn engines_whose_protocol_is_a_probe_store_data_behind_a_scheme_and_ping() {
    let probes = EngineId::ALL.iter().map(|id| id.declaration()).filter(|engine| engine.probe.is_some());
    let mut count = 0;
    for engine in probes {
        assert!(engine.stores_data && matches!(engine.serves, Serves::Scheme(_)), "{}", engine.name());
        assert!(engine.ops.contains(&crate::Op::Ping), "{}", engine.name());
        count += 1;
    }
    assert_eq!(count, 3, "NFS, iSCSI, S3");
}
