//! Whether a workload can be loaded at all: what its numbers must be for the worker to make requests of them.
//!
//! A study is checked where it is written; this is for cells that come from elsewhere, such as from a peer.

use narrows_engines::{EngineError, ErrorKind};
use narrows_model::workload::{Arrivals, CacheState, ObjectDraws, Order, Prefill, SyncPolicy};
use narrows_model::{Cell, EngineId, Op, Workload};

/// Beyond this exponent all but one request in a thousand are for one block.
const THETA_MAX: f64 = 10.0;

/// Refuses a cell whose workload has no meaning, before anything is made for it.
///
/// # Errors
/// Which value it is and what it may be.
pub(crate) fn check(cell: &Cell) -> Result<(), EngineError> {
    let problem = problem(&cell.workload).or_else(|| objects_problem(cell)).or_else(|| sharing_problem(cell));
    match problem.or_else(|| crate::verify::problem(cell)) {
        None => Ok(()),
        Some(problem) => {
            Err(EngineError::new(ErrorKind::Unsupported, "load", cell.id.to_string()).detail(problem))
        }
    }
}

fn problem(workload: &Workload) -> Option<String> {
    let positive = |value: f64| value.is_finite() && value > 0.0;
    let weights = workload.op_mix.iter().map(|share| share.weight);
    let mut weights = weights.chain(workload.block_mix.iter().map(|share| share.weight));
    if let Some(weight) = weights.find(|weight| !positive(*weight)) {
        return Some(format!("a share of a mix weighs {weight}; it must be above 0"));
    }
    let most = workload.block_bytes.0;
    let mut blocks = workload.block_mix.iter().map(|share| share.block_bytes.0);
    if let Some(block) = blocks.find(|block| !(1..=most).contains(block)) {
        return Some(format!("a mix has blocks of {block} bytes; it must be 1 to the largest block, {most}"));
    }
    if let Order::Zipf { theta } = workload.order
        && !(positive(theta) && theta <= THETA_MAX)
    {
        return Some(format!(
            "the exponent of Zipf's law is {theta}; it must be above 0 and at most {THETA_MAX}"
        ));
    }
    if let Some(problem) = workload.write_back_every.and_then(|every| write_back_problem(workload, every)) {
        return Some(problem);
    }
    let rates = [workload.arrivals.offered_ops_per_s(), workload.max_ops_per_s];
    let rate = rates.into_iter().flatten().find(|rate| !positive(*rate))?;
    Some(format!("{rate} operations per second were requested; it must be above 0"))
}

/// Why blocks cannot be written back after every `every` reads of this load.
fn write_back_problem(workload: &Workload, every: u32) -> Option<String> {
    let is_closed = matches!(workload.arrivals, Arrivals::Closed) && workload.think_ns.0 == 0;
    let is_capped = workload.max_bytes_per_s.is_some() || workload.max_ops_per_s.is_some();
    let reads_alone = workload.op == Op::Read && workload.op_mix.is_empty() && workload.block_mix.is_empty();
    let sound = every > 0 && reads_alone && workload.queue_depth == 1 && is_closed && !is_capped;
    (!sound || workload.verify).then(|| {
        format!(
            "a block was to be written back after every {every} reads; that needs reads of one block size at a depth \
             of 1, without a rate limit and not verified"
        )
    })
}

/// Why a load of whole objects, or one that is not, cannot be loaded so.
fn objects_problem(cell: &Cell) -> Option<String> {
    let workload = &cell.workload;
    let is_of_objects = workload.op.is_of_objects();
    let Some(set) = &workload.objects else {
        let odd = is_of_objects || workload.order == Order::Listing;
        return odd.then(|| format!("{} in the order {} needs whole objects", workload.op, workload.order));
    };
    let transacts = set.transactions.is_some();
    let is_closed = matches!(workload.arrivals, Arrivals::Closed) && workload.think_ns.0 == 0;
    let is_capped = workload.max_bytes_per_s.is_some() || workload.max_ops_per_s.is_some();
    let is_plain = workload.op_mix.is_empty() && workload.block_mix.is_empty() && workload.block_bytes.0 > 0;
    let order_serves = match workload.order {
        Order::Sequential => true,
        Order::Random => !transacts,
        Order::Listing => !transacts && workload.workers <= 1 && matches!(workload.op, Op::Stat | Op::Delete),
        _ => false,
    };
    let rules = [
        (
            is_of_objects || transacts,
            "an operation on whole objects (put, get, append, stat, rename, delete)",
        ),
        (is_plain, "one operation, in blocks of one size"),
        (order_serves, "the order sequential or random, or listing for one worker that stats or deletes"),
        (workload.queue_depth == 1 && workload.batch <= 1, "a depth of 1"),
        (is_closed && !is_capped, "requests without a rate limit"),
        (
            matches!(workload.sync, SyncPolicy::None | SyncPolicy::AtEnd) || is_durable_by_writes(cell),
            "no sync except that of the objects, or one of their file system at the end",
        ),
        (workload.cache == CacheState::AsFound, "caches in their present state"),
        (!workload.verify, "no verification"),
        (workload.write_back_every.is_none(), "no write-back"),
        (cell.stop.warm_up_ns.0 == 0 && cell.stop.bytes_max.is_none(), "no warm-up, and no limit in bytes"),
        (!cell.read_only, "a folder that this user may write to"),
        (set.count >= u64::from(workload.workers), "at least one object for each worker"),
        (
            set.draws == ObjectDraws::Own || is_as_postmark(workload, transacts),
            "with PostMark's draws one worker that makes, transacts on or deletes objects in their order",
        ),
    ];
    let broken = rules
        .iter()
        .find(|(holds, _)| !holds)
        .map(|(_, words)| format!("a load of whole objects needs {words}"));
    set.problem().or(broken).or_else(|| crate::object_kinds::problem(cell, set))
}

/// Why clients cannot share a file, or make their calls together, in this cell.
fn sharing_problem(cell: &Cell) -> Option<String> {
    let (load, stop) = (&cell.workload, &cell.stop);
    if let Some(words) = client_files_problem(cell) {
        return Some(format!(
            "clients that access one file block by block, or files of others, need {words}"
        ));
    }
    if load.shares_file() && !cell.more_targets.is_empty() {
        return Some(
            "clients that share one file load one target, and several targets were requested".to_owned(),
        );
    }
    let bounds = [stop.ops_max, stop.bytes_max.map(|bytes| (bytes.0 / load.block_bytes.0.max(1)).max(1))];
    let bound = bounds.into_iter().flatten().min().filter(|_| load.is_in_step())?;
    let clients = u64::from(load.clients.max(1));
    if !bound.is_multiple_of(clients) {
        return Some(format!(
            "{bound} operations of {clients} clients were requested; clients that make their calls together do the same number \
             each: give a multiple (ops, bytes, or the length of a file that exists and is to be cold)"
        ));
    }
    (stop.warm_up_ns.0 > 0).then(|| {
        "a warm-up before a count was requested; clients that make their calls together cross its end at different calls, and \
         would count different ones: omit one of both"
            .to_owned()
    })
}

/// What files that belong to clients in another way than a file for each need of the cell; `None` where it has all of it.
fn client_files_problem(cell: &Cell) -> Option<&'static str> {
    let files = &cell.workload.client_files;
    let is_of_one_folder = !cell.read_only && cell.more_targets.is_empty();
    let folder =
        (!files.are_plain() && !is_of_one_folder).then_some("one folder, in which narrows creates the files");
    files.problem(&cell.workload).or(folder)
}

/// Whether each write of the objects is to be durable by itself, which an engine that stores them early can do.
fn is_durable_by_writes(cell: &Cell) -> bool {
    let engine = cell.workload.engine.or_else(|| cell.target.default_engine());
    let serves = |engine: EngineId| engine.declaration().has_durable_object_writes();
    cell.workload.sync == SyncPolicy::Dsync && engine.is_some_and(serves)
}

/// Whether PostMark's one stream of random numbers decides all of the load.
fn is_as_postmark(workload: &Workload, transacts: bool) -> bool {
    let is_drawn = transacts || matches!(workload.op, Op::Put | Op::Delete);
    let is_made_before = matches!(workload.prefill, Prefill::Nothing | Prefill::Kept);
    is_drawn && is_made_before && workload.workers <= 1 && workload.order == Order::Sequential
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::workload::{BlockShare, ObjectSet, OpShare};
    use narrows_model::{Bytes, Cut, EngineId, Nanos, Stop, Target};

    #[test]
    fn the_default_and_each_sound_value_can_be_loaded() {
        let sound = Workload {
            op_mix: vec![OpShare { op: Op::Read, weight: 0.5 }],
            block_mix: vec![BlockShare { block_bytes: Bytes(512), weight: 2.0 }],
            order: Order::Zipf { theta: 0.99 },
            arrivals: Arrivals::Poisson { ops_per_s: 0.1 },
            max_ops_per_s: Some(1e9),
            ..Workload::default()
        };
        assert_eq!((problem(&Workload::default()), problem(&sound)), (None, None));
    }

    #[test]
    fn values_without_meaning_are_refused_and_named() {
        let base = Workload::default;
        let block = |bytes: u64| vec![BlockShare { block_bytes: Bytes(bytes), weight: 1.0 }];
        let cases = [
            (Workload { op_mix: vec![OpShare { op: Op::Read, weight: f64::NAN }], ..base() }, "NaN"),
            (Workload { block_mix: block(0), ..base() }, "0 bytes"),
            (Workload { block_mix: block(8192), ..base() }, "8192 bytes"),
            (Workload { order: Order::Zipf { theta: -1.0 }, ..base() }, "-1"),
            (Workload { order: Order::Zipf { theta: f64::INFINITY }, ..base() }, "inf"),
            (Workload { arrivals: Arrivals::Constant { ops_per_s: 0.0 }, ..base() }, "0 operations"),
            (Workload { max_ops_per_s: Some(-5.0), ..base() }, "-5 operations"),
        ];
        for (workload, found) in cases {
            let problem = problem(&workload).unwrap();
            assert!(problem.contains(found), "{problem}");
        }
    }

    #[test]
    fn clients_in_step_do_the_same_number_of_operations_each() {
        let cell = |change: &dyn Fn(&mut Cell)| {
            let mut workload = Workload { engine: Some(EngineId::Mpiio), clients: 4, ..Workload::default() };
            workload.engine_options.set("calls", "collective");
            let stop = Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(1), bytes_max: None, ops_max: None };
            let mut cell = Cell::new(Cut::Path, "/a".parse::<Target>().unwrap(), workload, stop);
            change(&mut cell);
            sharing_problem(&cell)
        };
        assert_eq!(cell(&|_| ()), None);
        assert_eq!(cell(&|cell| cell.stop.ops_max = Some(8)), None);
        assert_eq!(cell(&|cell| cell.stop.bytes_max = Some(Bytes(16 << 10))), None);
        assert_eq!(cell(&|cell| cell.stop.warm_up_ns = Nanos(1)), None, "time ends it for all");
        let problem = |change: &dyn Fn(&mut Cell)| cell(change).unwrap();
        assert!(problem(&|cell| cell.stop.ops_max = Some(9)).starts_with("9 operations of 4 clients"));
        assert!(problem(&|cell| cell.stop.bytes_max = Some(Bytes(4096))).starts_with("1 operations"));
        let counted = |cell: &mut Cell| (cell.stop.ops_max, cell.stop.warm_up_ns) = (Some(8), Nanos(1));
        assert!(problem(&counted).starts_with("a warm-up"));
        let several = |cell: &mut Cell| cell.more_targets = vec!["/b".parse().unwrap()];
        assert!(problem(&several).contains("load one target"));
        let alone = |cell: &mut Cell| {
            several(cell);
            cell.workload.engine_options.set("file", "own");
            cell.stop.ops_max = Some(9);
        };
        assert_eq!(cell(&alone), None);
    }

    #[test]
    fn files_that_clients_exchange_are_in_one_folder_and_accessed_by_psync() {
        let problem = |change: &dyn Fn(&mut Cell)| {
            let mut workload = Workload { engine: Some(EngineId::Psync), clients: 4, ..Workload::default() };
            workload.client_files.shift = 1;
            let stop = Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(1), bytes_max: None, ops_max: None };
            let mut cell = Cell::new(Cut::Path, "/a".parse::<Target>().unwrap(), workload, stop);
            change(&mut cell);
            sharing_problem(&cell).unwrap_or_default()
        };
        assert_eq!(problem(&|_| ()), "");
        assert!(problem(&|cell| cell.read_only = true).contains("one folder"));
        assert!(problem(&|cell| cell.more_targets = vec!["/b".parse().unwrap()]).contains("one folder"));
        assert!(problem(&|cell| cell.workload.engine = Some(EngineId::Mmap)).contains("the engine psync"));
    }

    #[test]
    fn writes_of_objects_are_durable_one_by_one_where_their_engine_stores_them_early() {
        let problem = |target: &str, engine: Option<EngineId>, sync| {
            let objects = Some(ObjectSet::default());
            let workload = Workload { engine, op: Op::Put, objects, sync, ..Workload::default() };
            let stop = Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(1), bytes_max: None, ops_max: None };
            objects_problem(&Cell::new(Cut::Path, target.parse::<Target>().unwrap(), workload, stop))
        };
        assert_eq!(problem("nfs://h/e", None, SyncPolicy::Dsync), None);
        for (target, engine, sync) in [
            ("/a", Some(EngineId::Objects), SyncPolicy::Dsync),
            ("null:", None, SyncPolicy::Dsync),
            ("nfs://h/e", None, SyncPolicy::Every(1)),
        ] {
            assert!(problem(target, engine, sync).unwrap().contains("no sync"), "{target} {sync:?}");
        }
    }

    #[test]
    fn blocks_are_written_back_in_a_plain_loop_of_reads_alone() {
        let sound = Workload { write_back_every: Some(10), ..Workload::default() };
        assert_eq!(problem(&sound), None);
        let cases = [
            Workload { write_back_every: Some(0), ..sound.clone() },
            Workload { op: Op::Write, ..sound.clone() },
            Workload { op_mix: vec![OpShare { op: Op::Read, weight: 1.0 }], ..sound.clone() },
            Workload {
                block_mix: vec![BlockShare { block_bytes: Bytes(512), weight: 1.0 }],
                ..sound.clone()
            },
            Workload { queue_depth: 2, ..sound.clone() },
            Workload { think_ns: Nanos(1), ..sound.clone() },
            Workload { arrivals: Arrivals::Constant { ops_per_s: 1.0 }, ..sound.clone() },
            Workload { max_bytes_per_s: Some(1), ..sound.clone() },
            Workload { max_ops_per_s: Some(1.0), ..sound.clone() },
            Workload { verify: true, ..sound.clone() },
        ];
        for workload in cases {
            assert!(problem(&workload).unwrap().contains("written back"), "{workload:?}");
        }
    }
}
