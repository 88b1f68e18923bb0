//! What the outputs of many ranks cost: they are merged in a tree, as bytes from one to the next, made one trial, and written.

use super::*;
use narrows_run::merge_outputs;
use narrows_sys::clock::Monotonic;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use std::io::Write as _;
use std::sync::Mutex;

/// Response times of one rank: those of a second of small requests on a file system far away.
const TIMES_OF_RANK: u64 = 5_000;

/// Ranks that each did what one client did, with response times of their own.
struct SimulatedRanks {
    merging: Arc<Mutex<Merging>>,
}

/// When the merged outputs were there, and how long the merging took.
#[derive(Debug, Clone, Copy, Default)]
struct Merging {
    took_ns: u64,
    ended_ns: u64,
}

impl Coordinator for SimulatedRanks {
    fn run(
        &self,
        assignments: &[Assignment],
        context: &LocalContext<'_>,
        hooks: &mut dyn TrialHooks,
    ) -> Result<Vec<ClientOutput>, RunError> {
        let one = ThreadCoordinator.run(&assignments[..1], context, hooks)?.remove(0);
        let count = u32::try_from(assignments.len()).unwrap();
        let (clock, mut simulating_ns) = (Monotonic::new(), 0);
        let from_ns = clock.now_ns();
        let mut all = merged(&one, 0..count, &mut simulating_ns);
        all.sort_by_key(|output| output.client_index);
        let ended_ns = clock.now_ns();
        *self.merging.lock().unwrap() = Merging { took_ns: ended_ns - from_ns - simulating_ns, ended_ns };
        Ok(all)
    }
}

/// The outputs of these ranks, of which the first has those of the others sent to it in a binomial tree. One thread does what the
/// ranks of a job do beside each other.
fn merged(one: &ClientOutput, ranks: std::ops::Range<u32>, simulating_ns: &mut u64) -> Vec<ClientOutput> {
    let clock = Monotonic::new();
    let from_ns = clock.now_ns();
    let own = simulated(one, ranks.start);
    *simulating_ns += clock.now_ns() - from_ns;
    let mut all = Vec::new();
    merge_outputs(&mut all, vec![own]);
    let mut end = ranks.end;
    while end - ranks.start > 1 {
        let middle = ranks.start + (end - ranks.start).div_ceil(2);
        let sent = serde_json::to_vec(&merged(one, middle..end, simulating_ns)).unwrap();
        merge_outputs(&mut all, serde_json::from_slice(&sent).unwrap());
        end = middle;
    }
    all
}

/// What rank `rank` did: as much as the client, in times that spread over three powers of ten.
fn simulated(one: &ClientOutput, rank: u32) -> ClientOutput {
    let mut own = ClientOutput { client_index: rank, ..one.clone() };
    let mut draw = SplitMix64::seed_from_u64(u64::from(rank));
    let worker = &mut own.workers[0];
    (worker.op_count, worker.bytes, worker.response_sum_ns) = (0, Bytes(0), 0);
    worker.response = narrows_model::Histogram::new();
    for _ in 0..TIMES_OF_RANK {
        let latency_ns = (10_000 << (draw.next_u64() % 10)) + draw.next_u64() % 10_000;
        worker.response.record(latency_ns);
        worker.op_count += 1;
        worker.response_sum_ns += latency_ns;
    }
    worker.bytes = Bytes(worker.op_count * 4096);
    own
}

/// The events of a trial of so many simulated ranks, and how their outputs were merged.
fn run_of(ranks: u32) -> (Vec<Event>, Merging) {
    let stop = StopFlag::default();
    let workload = Workload { clients: ranks, block_bytes: Bytes(4096), ..Workload::default() };
    let merging = Arc::new(Mutex::new(Merging::default()));
    let coordinator = Box::new(SimulatedRanks { merging: Arc::clone(&merging) });
    let mut site = CellSite { coordinator, ..site(&stop) };
    let mut events = Vec::new();
    execute(&plan(vec![cell("null:", workload, false)]), Nanos(0), &mut site, None, &mut events).unwrap();
    let merging = *merging.lock().unwrap();
    (events, merging)
}

/// Fails unless each rank, and every response time of each, is in the trial.
#[track_caller]
fn assert_whole(trial: &TrialOutput, ranks: u32) {
    let ops = TIMES_OF_RANK * u64::from(ranks);
    assert_eq!((trial.op_count, trial.response.count(), trial.bytes.0), (ops, ops, ops * 4096));
    assert_eq!(trial.clients.len() as u64, u64::from(ranks));
    for (rank, client) in (0..).zip(&trial.clients) {
        assert_eq!((client.client_index, client.op_count), (rank, TIMES_OF_RANK));
    }
}

#[test]
fn the_outputs_of_any_number_of_ranks_are_merged_whole() {
    for ranks in [1, 2, 7, 33] {
        assert_whole(trials(&run_of(ranks).0)[0], ranks);
    }
}

#[test]
#[ignore = "figure: `cargo xtask perf mpi-merge` runs it in a process of its own"]
#[allow(clippy::print_stdout, reason = "the figures are what it is run for")]
fn the_outputs_of_1024_ranks() {
    let (events, merging) = run_of(1024);
    let mut file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for event in &events {
        serde_json::to_writer(&mut file, event).unwrap();
        file.write_all(b"\n").unwrap();
    }
    file.sync_all().unwrap();
    let took = Nanos(merging.took_ns + Monotonic::new().now_ns() - merging.ended_ns);
    assert_whole(trials(&events)[0], 1024);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    println!("merged_s={} peak={peak}", took.as_secs_f64());
}
