//! Every rule of the planner as a fact: what its tests share.

mod bounds;
mod endpoint;
mod local;
mod protocol;
mod requests;

use super::*;
use crate::request::{EngineFacts, RequestedServer, ServerKind};
use narrows_model::capabilities::{Capabilities, Completion, Support};
use narrows_model::inventory::PathKind;
use narrows_model::plan::Topology;
use narrows_model::workload::{Access, Acknowledgement, CacheState, Order, SyncPolicy};
use narrows_model::{Bytes, Cell, CellId, Cut, Layer, Op, Segment, Site, Target, Workload};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const MIB: u64 = 1 << 20;
const KIB: u64 = 1 << 10;

fn capabilities(engine: &str, direct: Support, queue_depth_max: u32) -> Capabilities {
    Capabilities {
        engine: engine.into(),
        ops: vec![Op::Read, Op::Write],
        queue_depth_max,
        direct,
        completion_polling: Support::default(),
        durable_writes: Support::Yes,
        stores_data: true,
        alignment_bytes: Bytes(512),
        write_completion: Completion::InPageCache,
        lockstep: false,
    }
}

fn request(target: &str) -> CheckRequest {
    CheckRequest {
        free_bytes: Some(Bytes(100 << 30)),
        memory_bytes: Some(Bytes(8 << 30)),
        engines: EngineFacts {
            path: Some(capabilities("psync", Support::Yes, 1)),
            server_memory: Some(capabilities("endpoint", Support::Yes, 64)),
            server_disk: Some(capabilities("endpoint", Support::Yes, 64)),
        },
        ..CheckRequest::new(target.parse().unwrap())
    }
}

fn roomy(target: &str) -> CheckRequest {
    CheckRequest { budget_s: 600.0, ..request(target) }
}

fn beside(kind: ServerKind) -> RequestedServer {
    RequestedServer { kind, host: "storage".into(), port: 7300 }
}

fn plan(request: &CheckRequest) -> Plan {
    plan_check(request).unwrap()
}

fn cut(plan: &Plan, cut: Cut) -> Vec<&Cell> {
    plan.cells.iter().filter(|cell| cell.cut == cut).collect()
}

fn ids(cells: &[&Cell]) -> Vec<String> {
    cells.iter().map(|cell| cell.id.0.clone()).collect()
}

fn seconds(cells: &[Cell]) -> f64 {
    cells.iter().map(|cell| estimate(cell).as_secs_f64()).sum()
}

fn reason<'a>(plan: &'a Plan, id: &str) -> &'a str {
    &plan.skipped.iter().find(|skip| skip.cell.0 == id).unwrap().reason
}
