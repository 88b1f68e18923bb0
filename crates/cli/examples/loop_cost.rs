//! What the worker's loop costs: runs one cell and prints nanoseconds an operation, with all that a cell records.
//!
//! `loop_cost TARGET [DEPTH [BATCH [BLOCK_BYTES [SECONDS [FILE_BYTES [random]]]]]]`; on `null:` it is the loop alone.
#![allow(clippy::print_stdout, reason = "what an example prints is its result")]

use narrows_engines::{EngineRegistry, MonotonicClock};
use narrows_model::workload::{CacheState, Order};
use narrows_model::{Bytes, Cell, Cut, Event, Nanos, Stop, Workload};
use narrows_run::site::ANSWER_TIMEOUT_NS;
use narrows_run::{
    CellSite, NoCounters, Overruns, PeerLoss, PreparedObjects, StopFlag, ThreadCoordinator, clean_up,
    run_cell,
};
use std::sync::Arc;

const TRIALS: u32 = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u64| arguments.get(index).map_or(Ok(default), |text| text.parse());
    let target = arguments.first().map_or("null:", String::as_str).parse()?;
    let random = arguments.iter().any(|argument| argument == "random");
    let workload = Workload {
        queue_depth: u32::try_from(number(1, 32)?)?,
        batch: u32::try_from(number(2, 16)?)?,
        block_bytes: Bytes(number(3, 4096)?),
        file_bytes: Bytes(number(5, 64 << 20)?),
        order: if random { Order::Random } else { Order::Sequential },
        cache: CacheState::Warm,
        ..Workload::default()
    };
    let measure_ns = Nanos::from_millis(number(4, 1)? * 1000);
    let cell = Cell {
        trials: TRIALS,
        ..Cell::new(
            Cut::Generator,
            target,
            workload,
            Stop { warm_up_ns: Nanos::from_millis(200), measure_ns, bytes_max: None, ops_max: None },
        )
    };
    let mut events = Vec::new();
    let mut site = site();
    run_cell(&cell, &mut site, None, &mut events)?;
    for problem in clean_up(&mut site) {
        println!("{problem}");
    }
    for event in &events {
        if let Event::TrialFinished(trial) = event {
            let ns_per_op = trial.last_done_ns.0 as f64 / trial.op_count as f64;
            let cpu_ns: u64 = trial.clients.iter().map(|client| client.user_ns.0 + client.system_ns.0).sum();
            let cpu_ns_per_op = cpu_ns as f64 / trial.op_count as f64;
            println!("{}: {ns_per_op:.1} ns an operation, {cpu_ns_per_op:.1} ns of CPU", cell.id);
        }
    }
    Ok(())
}

fn site() -> CellSite {
    CellSite {
        registry: EngineRegistry::for_user(),
        clock: Arc::new(MonotonicClock::new()),
        stop: StopFlag::default(),
        peer_loss: PeerLoss::default(),
        coordinator: Box::new(ThreadCoordinator),
        counters: Box::new(NoCounters),
        server_metrics: None,
        hostname: "here".to_owned(),
        seed: 1,
        interval_ns: Nanos::from_millis(100),
        token: None,
        answer_timeout_ns: Nanos(ANSWER_TIMEOUT_NS),
        prepared: PreparedObjects::default(),
        overruns: Overruns::default(),
    }
}
