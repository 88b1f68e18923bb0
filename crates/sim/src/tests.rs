//! Machines, cells and readings that the tests of this crate share.

mod counters;
mod engine;
mod holds;
mod run;
mod theory;

use crate::machine::{Machine, RequestOutcome};
use crate::{BUILTIN, builtin, simulate};
use narrows_model::counters::{CounterSample, Role};
use narrows_model::event::{EndReason, Phase};
use narrows_model::plan::{LoadStatement, PLAN_SCHEMA, Topology};
use narrows_model::sim_profile::{CacheLaw, Fault, NetworkLaw, SimProfile, StationLaw};
use narrows_model::trial::{CounterPair, TrialOutput};
use narrows_model::workload::Access;
use narrows_model::{
    Bytes, BytesPerSec, Cell, CellId, Cut, Event, Nanos, Op, OpsPerSec, Plan, Site, Target, Workload,
};
use std::collections::BinaryHeap;

const SEED: u64 = 11;

const CUTS: [Cut; 9] = [
    Cut::Generator,
    Cut::MemoryCopy,
    Cut::PageCache,
    Cut::NetworkStream,
    Cut::ServerMemory,
    Cut::ServerStorage,
    Cut::LocalDevice,
    Cut::EarlyPath,
    Cut::Path,
];

fn law(per_op_ns: u64, variation: f64) -> StationLaw {
    StationLaw {
        per_op_ns: Nanos(per_op_ns),
        bytes_per_s: None,
        parallel: 1,
        variation,
        ..StationLaw::default()
    }
}

/// A machine of round numbers whose stations all serve one at a time.
fn machine(variation: f64) -> SimProfile {
    SimProfile {
        name: "test".to_owned(),
        client_cpus: 1.0,
        generator: law(0, 0.0),
        client_cpu: law(20_000, variation),
        network: Some(NetworkLaw {
            rtt_ns: Nanos(100_000),
            bytes_per_s: BytesPerSec(100e6),
            link_bits_per_s: None,
            window_bytes: None,
            loss_ratio: 0.0,
        }),
        server_cpus: 1.0,
        server_cpu: law(50_000, variation),
        device: law(80_000, variation),
        device_ops_per_s: None,
        cache: CacheLaw::default(),
        shared_machine: false,
        machine_cpus: 1,
        faults: Vec::new(),
        file_bytes: Bytes(1 << 30),
    }
}

fn local(profile: SimProfile) -> SimProfile {
    SimProfile { network: None, ..profile }
}

fn cell(cut: Cut, op: Op, block_bytes: u64, queue_depth: u32) -> Cell {
    let workload = Workload {
        op,
        block_bytes: Bytes(block_bytes),
        queue_depth,
        access: Access::Direct,
        ..Workload::default()
    };
    Cell {
        site: if cut == Cut::ServerStorage { Site::Server } else { Site::Client },
        ..Cell::new(
            cut,
            Target::Sim { profile: "test".to_owned() },
            workload,
            narrows_model::Stop {
                warm_up_ns: Nanos::from_millis(300),
                measure_ns: Nanos::from_millis(3_000),
                bytes_max: None,
                ops_max: None,
            },
        )
    }
}

fn plan(cells: Vec<Cell>) -> Plan {
    Plan {
        schema: PLAN_SCHEMA.to_owned(),
        seed: SEED,
        target: Target::Sim { profile: "test".to_owned() },
        topology: Topology::ClientServer,
        segments: Vec::new(),
        cells,
        skipped: Vec::new(),
        load: LoadStatement {
            planned_ns: Nanos(0),
            prefill_bytes: Bytes(0),
            prefill_ns_max: Nanos(0),
            file_bytes_max: Bytes(0),
            write_bytes_max: None,
            touches: Vec::new(),
            in_flight_max: 1,
            max_bytes_per_s: None,
        },
        budget_ns: Nanos::from_millis(3_600_000),
        interval_ns: Nanos::from_millis(100),
        study: None,
        relay: None,
        suite: None,
        fail_if: Vec::new(),
    }
}

fn events(profile: &SimProfile, cells: Vec<Cell>) -> Vec<Event> {
    simulate(profile, &plan(cells)).unwrap()
}

fn trials(events: &[Event]) -> Vec<&TrialOutput> {
    let trial = |event: &'_ Event| matches!(event, Event::TrialFinished(_));
    let all = events.iter().filter(|event| trial(event));
    all.filter_map(|event| if let Event::TrialFinished(output) = event { Some(&**output) } else { None })
        .collect()
}

fn run(profile: &SimProfile, cell: Cell) -> TrialOutput {
    let events = events(profile, vec![cell]);
    trials(&events)[0].clone()
}

fn rate_per_s(output: &TrialOutput) -> f64 {
    OpsPerSec::over(output.op_count, output.last_done_ns).unwrap().0
}

fn pair(output: &TrialOutput, role: Role) -> &CounterPair {
    output.counters.iter().find(|pair| pair.before.role == role).unwrap()
}

fn grew(pair: &CounterPair, read: impl Fn(&CounterSample) -> u64) -> u64 {
    read(&pair.after) - read(&pair.before)
}

fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value / expected - 1.0).abs() <= tolerance
}
