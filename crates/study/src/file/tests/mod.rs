//! What every key promises, and what is wrong with combinations: what their tests share.

mod clashes;
mod keys;
mod points;
mod texts;

use super::*;
use crate::schema::KeySpec;
use narrows_model::engine::OptionTable;
use narrows_model::{EngineId, Nanos};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What a key needs beside it to mean anything.
fn companions(path: &str) -> Vec<(&'static str, &'static str)> {
    const OF: &[(&str, &[(&str, &str)])] = &[
        ("together", &[("target", "[\"null:\", \"null:copy\"]")]),
        ("workload.zipf_theta", &[("workload.order", "\"zipf\"")]),
        ("workload.stride", &[("workload.order", "\"stride\"")]),
        ("workload.offered", &[("workload.arrivals", "\"poisson\"")]),
        ("workload.arrivals", &[("workload.offered", "\"1000/s\"")]),
        ("workload.engine", &[("target", "\"/data\"")]),
        ("workload.sync", &[("workload.op", "\"write\"")]),
        ("workload.acknowledgement", &[("target", "\"tcp://h:7300/disk\"")]),
        ("workload.batch", &[("workload.depth", "16")]),
        ("workload.verify", &[("target", "\"/data\"")]),
        ("workload.ring.completion_polling", &[("workload.access", "\"direct\"")]),
        ("workload.nfs.stat", OBJECTS),
        ("workload.mpiio.piece", &[("workload.mpiio.layout", "\"subarray\"")]),
        ("stop.stone_wall", &[("stop.ops", "1000")]),
        ("workload.objects.count", OBJECTS),
        ("workload.objects.min", &[("workload.op", "\"put\""), ("workload.objects.max", "\"1GiB\"")]),
        ("workload.objects.max", OBJECTS),
        ("workload.objects.folders", OBJECTS),
        ("workload.objects.spread", OBJECTS),
        ("workload.objects.names", OBJECTS),
        ("workload.objects.seed", OBJECTS),
        ("workload.objects.calls", OBJECTS),
        ("workload.objects.read_block", OBJECTS),
        ("workload.objects.sync", OBJECTS),
        ("workload.objects.stat_reads", OBJECTS),
        ("workload.transactions.halves", TRANSACTIONS),
        ("workload.transactions.read_bias", TRANSACTIONS),
        ("workload.transactions.create_bias", TRANSACTIONS),
        ("repeat.half_width", &[("repeat.until", "\"interval\"")]),
        ("repeat.level", &[("repeat.until", "\"interval\"")]),
        ("repeat.trials_min", &[("repeat.until", "\"interval\"")]),
        ("repeat.window", &[("repeat.until", "\"steady\"")]),
    ];
    const OBJECTS: &[(&str, &str)] = &[("workload.op", "\"put\"")];
    const TRANSACTIONS: &[(&str, &str)] = &[("workload.transactions.count", "10")];
    let needed = OF.iter().find(|(known, _)| *known == path).map_or(&[][..], |(_, needed)| needed);
    needed.iter().copied().chain(of_engine(path)).collect()
}

/// The engine and the target that an option of an engine needs.
fn of_engine(path: &str) -> Vec<(&'static str, &'static str)> {
    let mut declared = EngineId::ALL.iter().map(|engine| engine.declaration());
    let has = |table: &OptionTable| path.starts_with(&format!("workload.{}.", table.name));
    let owner = declared.rfind(|engine| engine.options.as_ref().is_some_and(has));
    let quoted = |text: &str| &*format!("\"{text}\"").leak();
    let needed = owner.map(|engine| {
        [("target", quoted(engine.description.example)), ("workload.engine", quoted(engine.name()))]
    });
    needed.into_iter().flatten().collect()
}

/// The text of a study with these keys.
fn text_of(entries: &[(&str, &str)]) -> String {
    let mut tables: BTreeMap<&str, String> = BTreeMap::new();
    for (path, value) in entries {
        let (table, name) = path.rsplit_once('.').unwrap_or(("", path));
        let lines = tables.entry(table).or_default();
        lines.extend([name, " = ", value, "\n"]);
    }
    let mut text = tables.remove("").unwrap_or_default();
    for (table, lines) in tables {
        text.extend(["[", table, "]\n", &lines]);
    }
    text
}

/// A study that holds nothing but `key = value` and what it needs.
fn with(path: &str, value: &str) -> String {
    let mut entries = vec![("target", "\"null:\"")];
    for (needed, its_value) in companions(path).into_iter().chain([(path, value)]) {
        entries.retain(|(known, _)| *known != needed);
        entries.push((needed, its_value));
    }
    text_of(&entries)
}

fn problems(text: &str) -> Vec<StudyProblem> {
    match parse(text, "study.toml") {
        Ok(_) => panic!("nothing was found wrong with\n{text}"),
        Err(problems) => problems.list,
    }
}

/// The one problem of a text.
fn problem(text: &str) -> StudyProblem {
    let mut list = problems(text);
    assert_eq!(list.len(), 1, "{list:#?}\n{text}");
    list.remove(0)
}
