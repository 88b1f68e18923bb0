//! Every rule of the planner of studies as a fact: what its tests share.

mod bounds;
mod cells;
mod cuts;
mod machine;

use super::*;
use crate::file::{parse, schema};
use narrows_model::capabilities::{Capabilities, Completion, Support};
use narrows_model::workload::{Access, Acknowledgement, CacheState};
use narrows_model::{Bytes, Cut, EngineId, Op, Site};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::PathBuf;

const SEED: u64 = 7;

fn capabilities(engine: EngineId) -> Capabilities {
    Capabilities {
        engine: engine.name().into(),
        ops: vec![Op::Read, Op::Write, Op::Sync, Op::Put, Op::Get, Op::Append, Op::Stat, Op::Delete],
        queue_depth_max: if engine.is_synchronous() { 1 } else { 1024 },
        direct: Support::Yes,
        completion_polling: Support::default(),
        durable_writes: Support::Yes,
        stores_data: true,
        alignment_bytes: Bytes(512),
        write_completion: Completion::InPageCache,
        lockstep: false,
    }
}

/// A machine on which everything works, and what it says of every target of a study.
fn facts(study: &Study) -> StudyFacts {
    let mut facts =
        StudyFacts { targets: Vec::new(), memory_bytes: Some(Bytes(8 << 30)), ..StudyFacts::default() };
    for (target, engine) in study.wanted() {
        let default = target.default_engine().unwrap();
        let answer = EngineAnswer { engine, capabilities: Ok(capabilities(engine.unwrap_or(default))) };
        match facts.targets.iter_mut().find(|known| known.target == target) {
            Some(known) => known.engines.push(answer),
            None => facts.targets.push(TargetFacts {
                engines: vec![answer],
                free_bytes: Some(Bytes(100 << 30)),
                ..TargetFacts::unknown(target)
            }),
        }
    }
    facts
}

fn study(text: &str) -> Study {
    parse(text, "study.toml").unwrap_or_else(|problems| panic!("{problems}"))
}

fn plan(text: &str) -> Plan {
    let study = study(text);
    plan_study(&study, &facts(&study), SEED).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The plan on a machine that `change` made of one on which everything works.
fn plan_where(text: &str, change: impl Fn(&mut TargetFacts)) -> Result<Plan, StudyProblems> {
    let study = study(text);
    let mut facts = facts(&study);
    facts.targets.iter_mut().for_each(change);
    plan_study(&study, &facts, SEED)
}

fn paths(plan: &Plan) -> Vec<&Cell> {
    plan.cells.iter().filter(|cell| cell.cut == Cut::Path).collect()
}

fn count(plan: &Plan, cut: Cut) -> usize {
    plan.cells.iter().filter(|cell| cell.cut == cut).count()
}
