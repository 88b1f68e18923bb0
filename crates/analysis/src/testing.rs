//! Simulated machines measured on the grid of `check`: for the tests of the rules, and for the fit of the confidence.
//!
//! Uses nothing but public interfaces, so that the example that fits the confidence can include this file.

#[cfg(test)]
pub(crate) mod by_protocol;
#[cfg(test)]
pub(crate) mod injected;
#[cfg(test)]
pub(crate) mod mounted;
#[cfg(test)]
pub(crate) mod observed;
#[cfg(test)]
pub(crate) mod proxied;
#[cfg(test)]
pub(crate) mod scaled;

use narrows_analysis::{Input, RunFacts};
use narrows_model::cell::{Site, Stop};
use narrows_model::plan::{LoadStatement, PLAN_SCHEMA, Topology};
use narrows_model::sim_profile::SimProfile;
use narrows_model::workload::{Access, Op};
use narrows_model::{Bytes, Cell, Cut, Nanos, Plan, Segment, Summary, Target, Workload};
use std::collections::BTreeMap;
#[cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(test)]
use std::sync::{Arc, Mutex, OnceLock};

/// Blocks of the grid.
pub(crate) const BLOCKS: [u64; 3] = [4 << 10, 64 << 10, 1 << 20];
/// Depths of the grid.
pub(crate) const DEPTHS: [u32; 2] = [1, 16];
/// Operations of one cell: enough for the figures to settle, few enough for a test.
const OPS_MAX: u64 = 3_000;

/// What to vary of the grid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    /// Seed of the simulation.
    pub(crate) seed: u64,
    /// Whether the path uses the page cache.
    pub(crate) access: Access,
}

impl Default for Grid {
    fn default() -> Self {
        Self { seed: 1, access: Access::Direct }
    }
}

/// The whole analysis of a machine measured on the grid.
pub(crate) fn measured(profile: &SimProfile, grid: Grid) -> Summary {
    measured_by(profile, &plan(profile, grid))
}

/// The plan of `check` for this machine: every cut that it has, on the grid.
pub(crate) fn plan(profile: &SimProfile, grid: Grid) -> Plan {
    let remote = profile.network.is_some();
    let cells = cuts(remote).into_iter().flat_map(|cut| cells(cut, grid)).collect();
    Plan {
        schema: PLAN_SCHEMA.to_owned(),
        seed: grid.seed,
        target: Target::Sim { profile: profile.name.clone() },
        topology: if remote { Topology::ClientServer } else { Topology::Local },
        segments: segments(remote),
        cells,
        skipped: Vec::new(),
        load: LoadStatement {
            planned_ns: Nanos(0),
            prefill_bytes: Bytes(0),
            prefill_ns_max: Nanos(0),
            file_bytes_max: Bytes(1 << 30),
            write_bytes_max: None,
            touches: Vec::new(),
            in_flight_max: 16,
            max_bytes_per_s: None,
        },
        budget_ns: Nanos(3_600_000_000_000),
        interval_ns: Nanos(100_000_000),
        study: None,
        relay: None,
        suite: None,
        fail_if: Vec::new(),
    }
}

/// The plan that the planner of `check` makes for a path to this machine, bounded for a test.
#[cfg(test)]
fn planned(profile: &SimProfile) -> Plan {
    use narrows_model::capabilities::{Capabilities, Completion, Support};
    use narrows_study::{CheckRequest, EngineFacts, plan_check};
    let capabilities = |engine: &str, queue_depth_max: u32| Capabilities {
        engine: engine.to_owned(),
        ops: vec![Op::Read, Op::Write],
        queue_depth_max,
        direct: Support::Yes,
        completion_polling: Support::default(),
        durable_writes: Support::Yes,
        stores_data: true,
        alignment_bytes: Bytes(512),
        write_completion: Completion::InPageCache,
        lockstep: false,
    };
    let target = if profile.network.is_some() { "tcp://storage:7300/disk" } else { "/data" };
    let request = CheckRequest {
        // Virtual time: long enough for a magnetic disk's rate to settle within a few percent.
        budget_s: 3_600.0,
        cell_seconds: 6.0,
        free_bytes: Some(Bytes(100 << 30)),
        memory_bytes: Some(Bytes(8 << 30)),
        engines: EngineFacts {
            path: Some(capabilities("psync", 1)),
            server_memory: Some(capabilities("endpoint", 64)),
            server_disk: Some(capabilities("endpoint", 64)),
        },
        ..CheckRequest::new(target.parse().expect("a target"))
    };
    let mut plan = plan_check(&request).expect("the request can be planned");
    for cell in &mut plan.cells {
        cell.stop.ops_max = Some(OPS_MAX);
    }
    plan
}

/// The analysis of a machine measured by the planner's plan. A raw stream's sender waits for no reply, which the
/// simulator, whose operations all are requests, shows by several in flight.
#[cfg(test)]
pub(crate) fn checked(profile: &SimProfile) -> Summary {
    once(format!("{profile:?}"), || driven(profile, &planned(profile)))
}

/// A summary that is made by the first call with its key; other calls with it wait until it is there.
#[cfg(test)]
fn once(key: String, measure: impl FnOnce() -> Summary) -> Summary {
    static MEASURED: Mutex<BTreeMap<String, Arc<OnceLock<Summary>>>> = Mutex::new(BTreeMap::new());
    let summary = Arc::clone(MEASURED.lock().expect("no test panics here").entry(key).or_default());
    summary.get_or_init(measure).clone()
}

/// The same, refined as the command does it.
#[cfg(test)]
pub(crate) fn refined(profile: &SimProfile) -> Summary {
    once(format!("refined {profile:?}"), || {
        let mut plan = planned(profile);
        plan.cells.extend(refining_cells(&plan, &checked(profile)));
        driven(profile, &plan)
    })
}

/// The cells that the command adds to `plan` after this analysis of it.
#[cfg(test)]
fn refining_cells(plan: &Plan, summary: &Summary) -> Vec<Cell> {
    use narrows_study::{SuspectedCell, refine};
    let suspects: Vec<SuspectedCell> = narrows_analysis::refinement(summary)
        .into_iter()
        .map(|suspect| SuspectedCell { segment: suspect.segment, cell: narrows_model::CellId(suspect.cell) })
        .collect();
    refine(plan, &suspects, Nanos(u64::MAX)).cells
}

#[cfg(test)]
fn driven(profile: &SimProfile, plan: &Plan) -> Summary {
    analysed(profile, plan, &machine_events(profile, plan))
}

/// What a run of `plan` on this machine reports.
#[cfg(test)]
fn machine_events(profile: &SimProfile, plan: &Plan) -> Vec<narrows_model::Event> {
    let mut driven = plan.clone();
    for cell in driven.cells.iter_mut().filter(|cell| cell.cut == Cut::NetworkStream) {
        cell.workload.queue_depth = DEPTHS[1];
    }
    narrows_sim::simulate(profile, &driven).expect("the machine can be simulated")
}

#[cfg(test)]
fn analysed(profile: &SimProfile, plan: &Plan, events: &[narrows_model::Event]) -> Summary {
    let inventory = narrows_sim::inventory(profile);
    let manifest = RunFacts::default();
    narrows_analysis::analyse(&Input { manifest, plan, inventory: &inventory, events })
}

/// The analysis of a machine with two devices, each loaded alone and then both together.
#[cfg(test)]
pub(crate) fn two_devices(profile: &SimProfile) -> Summary {
    let mut plan = planned(profile);
    plan.segments.push(Segment::DeviceBus);
    let bulk = |cell: &Cell| cell.cut == Cut::Path && cell.workload.block_bytes == Bytes(1 << 20);
    let mut cells: Vec<Cell> = plan.cells.iter().filter(|cell| bulk(cell)).cloned().collect();
    let second: Target = "/data2".parse().expect("a target");
    for mut cell in std::mem::take(&mut cells) {
        cell.stop.bytes_max = None;
        let mut other = Cell { target: second.clone(), ..cell.clone() };
        other.id.0.push_str("/second");
        let mut both = Cell { more_targets: vec![second.clone()], ..cell.clone() };
        both.workload.clients = 2;
        both.id.0.push_str("/both");
        cells.extend([other, both]);
    }
    plan.cells.extend(cells);
    measured_by(profile, &plan)
}

/// The analysis of a machine measured by this plan.
pub(crate) fn measured_by(profile: &SimProfile, plan: &Plan) -> Summary {
    let events = narrows_sim::simulate(profile, plan).expect("the machine can be simulated");
    let inventory = narrows_sim::inventory(profile);
    let manifest = RunFacts::default();
    narrows_analysis::analyse(&Input { manifest, plan, inventory: &inventory, events: &events })
}

/// The analysis of a machine that is mounted: no connection of the load's own, so that only interfaces show the wire.
#[cfg(test)]
pub(crate) fn mounted(name: &str) -> Summary {
    use narrows_model::Event;
    use narrows_model::inventory::PathKind;
    let profile = machine(name);
    let mut plan = plan(&profile, Grid::default());
    let mut events = narrows_sim::simulate(&profile, &plan).expect("the machine can be simulated");
    for cell in plan.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
        cell.target = Target::File { path: "/mnt".into() };
    }
    for event in &mut events {
        let Event::TrialFinished(trial) = event else { continue };
        if trial.cell.0.starts_with("path/") {
            for pair in &mut trial.counters {
                (pair.before.tcp, pair.after.tcp) = (None, None);
            }
        }
    }
    let mut inventory = narrows_sim::inventory(&profile);
    inventory.path = events.iter().find_map(|event| match event {
        Event::ServerConnected { inventory, .. } => inventory.path.clone(),
        _ => None,
    });
    let path = inventory.path.as_mut().expect("the server tells of its store");
    (path.kind, path.devices) = (PathKind::Nfs, Vec::new());
    let manifest = RunFacts::default();
    narrows_analysis::analyse(&Input { manifest, plan: &plan, inventory: &inventory, events: &events })
}

/// Segments of a path.
pub(crate) fn segments(remote: bool) -> Vec<Segment> {
    let network = |segment: &Segment| {
        let parent = segment.parent();
        parent == Some(Segment::Network) || parent == Some(Segment::Server) || *segment == Segment::HostCpu
    };
    let proxy = |segment: &Segment| segment.parent() == Some(Segment::Proxy);
    let whole = [
        Segment::Client,
        Segment::Network,
        Segment::Proxy,
        Segment::Server,
        Segment::Device,
        Segment::Unknown,
    ];
    Segment::ALL
        .iter()
        .copied()
        .filter(|segment| !whole.contains(segment) && !proxy(segment) && *segment != Segment::OfferedLoad)
        .filter(|segment| remote || !network(segment))
        .collect()
}

fn cuts(remote: bool) -> Vec<Cut> {
    let mut cuts = vec![Cut::Generator, Cut::MemoryCopy];
    if remote {
        cuts.extend([Cut::NetworkStream, Cut::ServerMemory, Cut::ServerStorage]);
    } else {
        cuts.extend([Cut::PageCache, Cut::LocalDevice]);
    }
    cuts.push(Cut::Path);
    cuts
}

fn cells(cut: Cut, grid: Grid) -> Vec<Cell> {
    let ops = match cut {
        Cut::NetworkStream => [Op::Receive, Op::Send],
        _ => [Op::Read, Op::Write],
    };
    let access = if cut == Cut::Path { grid.access } else { Access::Direct };
    let mut cells = Vec::new();
    for op in ops {
        for block_bytes in BLOCKS.map(Bytes) {
            for queue_depth in DEPTHS {
                let workload = Workload {
                    op,
                    block_bytes,
                    queue_depth,
                    access,
                    file_bytes: Bytes(1 << 30),
                    ..Workload::default()
                };
                cells.push(cell(cut, workload));
            }
        }
    }
    cells
}

pub(crate) fn cell(cut: Cut, workload: Workload) -> Cell {
    Cell {
        site: if cut == Cut::ServerStorage { Site::Server } else { Site::Client },
        ..Cell::new(
            cut,
            Target::Sim { profile: "machine".to_owned() },
            workload,
            Stop {
                warm_up_ns: Nanos(20_000_000),
                measure_ns: Nanos(2_000_000_000),
                bytes_max: None,
                ops_max: Some(OPS_MAX),
            },
        )
    }
}

/// Makes a cell one of a mix in equal shares, with what each operation moves in bytes a second.
#[cfg(test)]
pub(crate) fn make_mix(cell: &mut narrows_model::summary::CellSummary, parts: [(Op, f64); 2]) {
    use narrows_model::BytesPerSec;
    use narrows_model::summary::KindSummary;
    use narrows_model::workload::OpShare;
    let kind = |(op, bytes_per_s)| KindSummary {
        op,
        block_bytes: cell.block_bytes,
        op_count: 1000,
        rate_bytes_per_s: Some(BytesPerSec(bytes_per_s)),
        ops_per_s: None,
        latency_ns: cell.latency_ns,
    };
    let kinds = parts.map(kind).to_vec();
    cell.kinds = kinds;
    cell.requested.op_mix = parts.map(|(op, _)| OpShare { op, weight: 1.0 }).to_vec();
}

/// The analysis of a machine that comes with the simulator, measured as `check` measures it, once for all tests.
#[cfg(test)]
pub(crate) fn builtin(name: &str) -> Summary {
    checked(&machine(name))
}

/// Every machine that comes with the simulator, by its name; tests that ask at the same time share the work.
#[cfg(test)]
pub(crate) fn builtins() -> Vec<(&'static str, Summary)> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let all = narrows_sim::BUILTIN;
    // Each test takes the next machine that none has taken, and then waits for those of the others.
    while let Some(machine) = all.get(NEXT.fetch_add(1, Ordering::Relaxed)) {
        builtin(machine.id);
    }
    all.iter().map(|machine| (machine.id, builtin(machine.id))).collect()
}

/// The same measured on the grid, where path and cuts have one shape: for figures, not for rules. Once for all tests.
#[cfg(test)]
pub(crate) fn gridded(name: &str) -> Summary {
    once(format!("grid {name}"), || measured(&machine(name), Grid::default()))
}

/// The profile of a machine that comes with the simulator.
pub(crate) fn machine(name: &str) -> SimProfile {
    narrows_sim::builtin(name).expect("the simulator has a machine of this name")
}

/// Segments named for the regimes whose name starts with `regime`, the first of each; `single` is one request at a time,
/// durable or not.
pub(crate) fn named(summary: &Summary, regime: &str) -> Vec<Segment> {
    let starts = match regime {
        "single" => &["one-at-a-time", "synchronous"][..],
        named => &[named],
    };
    let of_regime =
        |entry: &&narrows_model::Limiting| starts.iter().any(|start| entry.regime.starts_with(start));
    summary.diagnosis.limiting.iter().filter(of_regime).map(|entry| entry.segment).collect()
}

/// Whether a rule with this code blames its segment anywhere in the run.
pub(crate) fn found(summary: &Summary, code: &str) -> bool {
    summary.diagnosis.findings.iter().any(|finding| finding.code == code)
}

/// Whether the segment was cleared.
pub(crate) fn cleared(summary: &Summary, segment: Segment) -> bool {
    summary.diagnosis.exonerated.iter().any(|entry| entry.segment == segment)
}

/// A whole trial of a cell in which nothing was done.
#[cfg(test)]
pub(crate) fn empty_trial(cell: &narrows_model::CellId) -> narrows_model::TrialOutput {
    narrows_model::TrialOutput {
        cell: cell.clone(),
        trial: 0,
        complete: true,
        start_ns: Nanos(0),
        first_done_ns: Nanos(0),
        last_done_ns: Nanos(0),
        ended_ns: None,
        op_count: 0,
        bytes: narrows_model::Bytes(0),
        response: narrows_model::Histogram::new(),
        response_sum_ns: 0,
        by_kind: Vec::new(),
        open_loop: None,
        in_flight_at_end: None,
        effective: None,
        clients: Vec::new(),
        errors: Vec::new(),
        counters: Vec::new(),
        file_bytes: narrows_model::Bytes(0),
        resident_ratio: None,
        verification: None,
        rpc: None,
        syncs: None,
    }
}
