//! A simulated machine under one load by several numbers of clients, with the cuts of its path by the same clients.

use super::{cell, measured_by, once, plan};
use crate::testing::Grid;
use narrows_model::cell::FactorValue;
use narrows_model::sim_profile::SimProfile;
use narrows_model::workload::{Access, Op};
use narrows_model::{Bytes, Cell, Cut, Plan, Summary, Workload};
use std::collections::BTreeMap;

/// One load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScaledLoad<'a> {
    /// Numbers of clients.
    pub(crate) clients: &'a [u32],
    /// Operation.
    pub(crate) op: Op,
    /// Bytes of a request.
    pub(crate) block_bytes: u64,
    /// Requests in flight of each client.
    pub(crate) depth: u32,
    /// Most operations of each trial.
    pub(crate) ops_max: u64,
    /// Seed of the simulation.
    pub(crate) seed: u64,
}

impl Default for ScaledLoad<'_> {
    fn default() -> Self {
        Self {
            clients: &[1, 2, 4, 8, 16, 32],
            op: Op::Read,
            block_bytes: 1 << 20,
            depth: 1,
            ops_max: 2_000,
            seed: 1,
        }
    }
}

/// The analysis of `profile` under `load`, made once for all tests.
pub(crate) fn scaled(profile: &SimProfile, load: ScaledLoad<'_>) -> Summary {
    once(format!("scaled {load:?} {profile:?}"), || measured_by(profile, &scaled_plan(profile, load)))
}

/// The same, kept for nobody.
pub(crate) fn scaled_anew(profile: &SimProfile, load: ScaledLoad<'_>) -> Summary {
    measured_by(profile, &scaled_plan(profile, load))
}

/// The rate of the path alone with the first number of clients of `load`, in one trial.
pub(crate) fn path_rate(profile: &SimProfile, load: ScaledLoad<'_>) -> f64 {
    let clients = load.clients.first().copied().unwrap_or(1);
    let cell = Cell { trials: 1, ..one(Cut::Path, clients, load) };
    let plan = Plan { cells: vec![cell], ..scaled_plan(profile, load) };
    let summary = measured_by(profile, &plan);
    summary.cells.first().and_then(|cell| cell.rate_bytes_per_s).map_or(0.0, |rate| rate.0)
}

/// The plan of that: path and cuts at every number of clients, three trials each.
pub(crate) fn scaled_plan(profile: &SimProfile, load: ScaledLoad<'_>) -> Plan {
    let grid = Grid { seed: load.seed, access: Access::Direct };
    let cuts: &[Cut] = if profile.network.is_some() {
        &[Cut::Generator, Cut::NetworkStream, Cut::ServerMemory, Cut::ServerStorage, Cut::Path]
    } else {
        &[Cut::Generator, Cut::LocalDevice, Cut::Path]
    };
    let cells = load.clients.iter().flat_map(|clients| cuts.iter().map(|cut| one(*cut, *clients, load)));
    Plan { cells: cells.collect(), ..plan(profile, grid) }
}

fn one(cut: Cut, clients: u32, load: ScaledLoad<'_>) -> Cell {
    let op = match (cut, load.op) {
        (Cut::NetworkStream, Op::Write) => Op::Send,
        (Cut::NetworkStream, _) => Op::Receive,
        (_, op) => op,
    };
    let workload = Workload {
        op,
        block_bytes: Bytes(load.block_bytes),
        queue_depth: load.depth,
        clients,
        access: Access::Direct,
        file_bytes: Bytes(1 << 30),
        ..Workload::default()
    };
    let factors = BTreeMap::from([("clients".to_owned(), FactorValue::Number(f64::from(clients)))]);
    let mut cell = Cell {
        trials: 3,
        factors: if cut == Cut::Path { factors } else { BTreeMap::new() },
        ..cell(cut, workload)
    };
    // Virtual time: long enough for slow machines, which the count ends for fast ones.
    cell.stop.measure_ns = narrows_model::Nanos(20_000_000_000);
    cell.stop.ops_max = Some(load.ops_max);
    cell
}
