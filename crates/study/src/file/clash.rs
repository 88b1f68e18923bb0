//! Settings that do not go together at one point of a sweep.
//!
//! Not here: what the machine refuses, which is the planner's; settings without any effect, which are `idle`'s.

use super::place::Span;
use super::point::View;
use super::problems::Complaint;
use narrows_model::workload::{Access, Arrivals, Order};
use narrows_model::{Bytes, EngineId, Layer, Op, Target, Workload};

/// Direct access works in sectors, and no device has smaller ones.
const SECTOR_BYTES: u64 = 512;
/// Most requests in flight of one cell: buffers and, in a simulation, the events of a trial grow with them.
const IN_FLIGHT_MAX: u64 = 65_536;
/// Most memory for the buffers of one cell's requests in flight.
const BUFFER_BYTES_MAX: u64 = 8 << 30;

/// Settings that do not go together.
#[derive(Debug, Clone)]
pub(crate) struct Clash {
    /// Which rule they break.
    pub(crate) code: &'static str,
    pub(crate) at: Span,
    pub(crate) complaint: Complaint,
}

/// A rule: what does not go together, if anything.
type Rule = fn(&Subject<'_>) -> Option<Clash>;

const RULES: &[Rule] = &[
    block_over_file,
    worker_without_block,
    unaligned_direct,
    direct_in_memory,
    depth_of_synchronous,
    batch_over_depth,
    batch_of_synchronous,
    in_flight,
    think_in_open_loop,
    open_loop_without_offer,
    cap_in_open_loop,
    mix_of_blocks_once_each,
    stride_of_blocks,
    stride_missing,
    stride_over_file,
    zipf_without_theta,
    polling_without_direct,
    engine_of_target,
    op_of_target,
    bytes_below_block,
    cap_below_block,
];

/// What the rules look at.
struct Subject<'a> {
    view: View<'a>,
    load: Workload,
    target: &'a Target,
}

/// Everything that does not go together at a point.
pub(crate) fn clashes(view: View<'_>, target: &Target) -> Vec<Clash> {
    let subject = Subject { view, load: view.workload(), target };
    RULES.iter().filter_map(|rule| rule(&subject)).collect()
}

impl Subject<'_> {
    /// A clash at the first of `paths` that is given.
    fn clash(&self, code: &'static str, paths: &[&str], words: Words) -> Clash {
        let given = paths.iter().find(|path| self.view.entry(path).is_some());
        let key = given.or(paths.first()).map(|path| self.view.path(path)).unwrap_or_default();
        let complaint = Complaint::new(key, words.found, words.allowed, words.hint);
        Clash { code, at: self.view.at(paths), complaint }
    }

    fn engine(&self) -> EngineId {
        let default = self.target.engines().first().copied().unwrap_or(EngineId::Null);
        self.load.engine.unwrap_or(default)
    }

    fn is_open(&self) -> bool {
        matches!(self.view.name("workload.arrivals"), Some("constant" | "poisson"))
    }

    fn block_key(&self) -> &'static str {
        if self.load.block_mix.is_empty() { "workload.block" } else { "workload.blocks" }
    }
}

struct Words {
    found: String,
    allowed: String,
    hint: String,
}

fn words(found: impl Into<String>, allowed: impl Into<String>, hint: impl Into<String>) -> Words {
    Words { found: found.into(), allowed: allowed.into(), hint: hint.into() }
}

fn block_over_file(subject: &Subject<'_>) -> Option<Clash> {
    let (block, file) = (subject.load.block_bytes, subject.load.file_bytes);
    // A file that exists has its own length, which the planner compares.
    if block <= file {
        return None;
    }
    let hint = format!("write file = \"{block}\" or more, or a smaller block");
    let words = words(
        format!("a block of {block}, larger than the file of {file}"),
        format!("a block of {file} or less"),
        hint,
    );
    Some(subject.clash("block_over_file", &[subject.block_key(), "workload.file"], words))
}

fn worker_without_block(subject: &Subject<'_>) -> Option<Clash> {
    let load = &subject.load;
    let least = load.block_bytes.0.saturating_mul(u64::from(load.workers));
    if least <= load.file_bytes.0 || load.block_bytes > load.file_bytes {
        return None;
    }
    let words = words(
        format!(
            "{} workers with blocks of {} in a file of {}",
            load.workers, load.block_bytes, load.file_bytes
        ),
        "a block or more of the file for each worker",
        format!("write file = \"{}\" or more, or fewer workers", Bytes(least)),
    );
    Some(subject.clash("worker_without_block", &["workload.workers", "workload.file"], words))
}

fn unaligned_direct(subject: &Subject<'_>) -> Option<Clash> {
    let blocks = subject.load.blocks();
    let odd = blocks.iter().find(|share| !share.block_bytes.0.is_multiple_of(SECTOR_BYTES))?.block_bytes;
    if subject.load.access != Access::Direct {
        return None;
    }
    let near = Bytes(odd.0.div_ceil(SECTOR_BYTES) * SECTOR_BYTES);
    let words = words(
        format!("direct access with a block of {odd}"),
        format!("a multiple of {SECTOR_BYTES} bytes, or access = \"buffered\""),
        format!("the next multiple is {near}"),
    );
    Some(subject.clash("unaligned_direct", &[subject.block_key(), "workload.access"], words))
}

fn direct_in_memory(subject: &Subject<'_>) -> Option<Clash> {
    if subject.load.access != Access::Direct || subject.engine() != EngineId::Mmap {
        return None;
    }
    let words = words(
        "direct access with the engine mmap, which maps the page cache itself",
        "access = \"buffered\" with mmap",
        "leave access out, or use engine = \"psync\" or \"uring\"",
    );
    Some(subject.clash("direct_in_memory", &["workload.access", "workload.engine"], words))
}

fn depth_of_synchronous(subject: &Subject<'_>) -> Option<Clash> {
    let (engine, depth) = (subject.engine(), subject.load.queue_depth);
    if depth <= 1 || !engine.is_synchronous() {
        return None;
    }
    let words = words(
        format!("a depth of {depth} with the synchronous engine {engine}"),
        format!("a depth of 1 with {engine}: a worker waits for its request"),
        format!("write workers = {depth} instead, or engine = \"uring\""),
    );
    Some(subject.clash("depth_of_synchronous", &["workload.depth", "workload.engine"], words))
}

fn batch_over_depth(subject: &Subject<'_>) -> Option<Clash> {
    let (batch, depth) = (subject.load.batch, subject.load.queue_depth);
    if batch <= depth {
        return None;
    }
    let words = words(
        format!("a batch of {batch} at a depth of {depth}"),
        format!("a batch from 1 to {depth}"),
        format!("write depth = {batch} or more, or a smaller batch"),
    );
    Some(subject.clash("batch_over_depth", &["workload.batch", "workload.depth"], words))
}

/// Kept apart from the depth's rule, which says the same of a deep queue already.
fn batch_of_synchronous(subject: &Subject<'_>) -> Option<Clash> {
    let engine = subject.engine();
    let batch = subject.load.batch;
    if batch <= 1 || subject.load.queue_depth > 1 || !engine.is_synchronous() {
        return None;
    }
    let words = words(
        format!("a batch of {batch} with the synchronous engine {engine}"),
        format!("a batch of 1 with {engine}"),
        "leave batch out, or write engine = \"uring\" with a depth",
    );
    Some(subject.clash("batch_of_synchronous", &["workload.batch"], words))
}

fn in_flight(subject: &Subject<'_>) -> Option<Clash> {
    let in_flight = subject.load.in_flight_configured();
    let buffers = in_flight.saturating_mul(subject.load.block_bytes.0);
    if in_flight <= IN_FLIGHT_MAX && buffers <= BUFFER_BYTES_MAX {
        return None;
    }
    let words = words(
        format!("{in_flight} requests in flight with buffers of {}", Bytes(buffers)),
        format!(
            "clients x workers x depth up to {IN_FLIGHT_MAX}, and buffers up to {}",
            Bytes(BUFFER_BYTES_MAX)
        ),
        "lower clients, workers, depth or block",
    );
    Some(subject.clash("in_flight", &["workload.depth", "workload.workers", "workload.clients"], words))
}

fn think_in_open_loop(subject: &Subject<'_>) -> Option<Clash> {
    if subject.load.think_ns.0 == 0 || !subject.is_open() {
        return None;
    }
    let words = words(
        "think time in an open loop, where requests start by a schedule",
        "think time with arrivals = \"closed\"",
        "leave think out: offered is what decides when requests start",
    );
    Some(subject.clash("think_in_open_loop", &["workload.think", "workload.arrivals"], words))
}

fn open_loop_without_offer(subject: &Subject<'_>) -> Option<Clash> {
    if !subject.is_open() || subject.load.arrivals != Arrivals::Closed {
        return None;
    }
    let words = words(
        "an open loop without its offered load",
        "offered beside arrivals = \"constant\" or \"poisson\"",
        "write offered = \"1000/s\"",
    );
    Some(subject.clash("open_loop_without_offer", &["workload.arrivals"], words))
}

fn cap_in_open_loop(subject: &Subject<'_>) -> Option<Clash> {
    let capped = subject.load.max_bytes_per_s.is_some() || subject.load.max_ops_per_s.is_some();
    if !capped || !subject.is_open() {
        return None;
    }
    let words = words(
        "a cap on the rate of an open loop, whose rate is offered",
        "max_rate and max_ops with arrivals = \"closed\"",
        "leave the cap out, and offer less",
    );
    Some(subject.clash("cap_in_open_loop", &["workload.max_rate", "workload.max_ops"], words))
}

fn mix_of_blocks_once_each(subject: &Subject<'_>) -> Option<Clash> {
    if subject.load.block_mix.len() < 2 || subject.load.order != Order::Random {
        return None;
    }
    let words = words(
        "several block sizes in order = \"random\", which visits each block once",
        "one block size with \"random\"",
        "write order = \"random_with_replacement\"",
    );
    Some(subject.clash("mix_of_blocks_once_each", &["workload.blocks", "workload.order"], words))
}

fn stride_of_blocks(subject: &Subject<'_>) -> Option<Clash> {
    let Order::Stride { stride_bytes } = subject.load.order else { return None };
    let block =
        subject.load.blocks().into_iter().find(|share| !stride_bytes.is_multiple_of(share.block_bytes.0))?;
    let block = block.block_bytes;
    let near = Bytes(stride_bytes.div_ceil(block.0).max(1).saturating_mul(block.0));
    let words = words(
        format!("a stride of {}, no multiple of the block of {block}", Bytes(stride_bytes)),
        "a stride that is a multiple of the block",
        format!("the next multiple is {near}"),
    );
    Some(subject.clash("stride_of_blocks", &["workload.stride"], words))
}

fn stride_missing(subject: &Subject<'_>) -> Option<Clash> {
    let asked = matches!(subject.load.order, Order::Stride { .. });
    if !asked || subject.view.size("workload.stride").is_some() {
        return None;
    }
    let near = Bytes(subject.load.block_bytes.0.saturating_mul(4));
    let words = words(
        "order = \"stride\" without a stride",
        "stride beside it",
        format!("write stride = \"{near}\""),
    );
    Some(subject.clash("stride_missing", &["workload.order"], words))
}

fn stride_over_file(subject: &Subject<'_>) -> Option<Clash> {
    let Order::Stride { stride_bytes } = subject.load.order else { return None };
    let file = subject.load.file_bytes;
    if stride_bytes < file.0 || stride_bytes == 0 {
        return None;
    }
    let words = words(
        format!("a stride of {} in a file of {file}", Bytes(stride_bytes)),
        "a stride below the file's size",
        "write a larger file or a smaller stride",
    );
    Some(subject.clash("stride_over_file", &["workload.stride"], words))
}

fn zipf_without_theta(subject: &Subject<'_>) -> Option<Clash> {
    let asked = matches!(subject.load.order, Order::Zipf { .. });
    if !asked || subject.view.number("workload.zipf_theta").is_some() {
        return None;
    }
    let words = words(
        "order = \"zipf\" without its exponent",
        "zipf_theta above 0 beside it",
        "write zipf_theta = 0.99, which is usual for caches",
    );
    Some(subject.clash("zipf_without_theta", &["workload.order"], words))
}

fn polling_without_direct(subject: &Subject<'_>) -> Option<Clash> {
    let polls = subject.load.ring.completion_polling && subject.engine() == EngineId::Uring;
    if !polls || subject.load.access == Access::Direct {
        return None;
    }
    let words = words(
        "completion polling with buffered access",
        "completion_polling with access = \"direct\": the kernel polls devices alone",
        "write access = \"direct\", or leave completion_polling out",
    );
    Some(subject.clash("polling_without_direct", &["workload.ring.completion_polling"], words))
}

fn engine_of_target(subject: &Subject<'_>) -> Option<Clash> {
    let engine = subject.load.engine?;
    let serving = subject.target.engines();
    if serving.contains(&engine) {
        return None;
    }
    let names: Vec<String> = serving.iter().map(|engine| format!("\"{engine}\"")).collect();
    let words = words(
        format!("the engine {engine}, which does not serve {}", subject.target),
        format!("{} for this target", names.join(", ")),
        "leave engine out for the target's own",
    );
    Some(subject.clash("engine_of_target", &["workload.engine", "target"], words))
}

fn op_of_target(subject: &Subject<'_>) -> Option<Clash> {
    let allowed: &[Op] = match subject.target {
        Target::Tcp { layer: Layer::Sink, .. } => &[Op::Send],
        Target::Tcp { layer: Layer::Source, .. } => &[Op::Receive],
        Target::Tcp { .. } | Target::File { .. } => &[Op::Read, Op::Write],
        Target::Null { .. } | Target::Sim { .. } => return None,
    };
    let odd = subject.load.ops().into_iter().find(|share| !allowed.contains(&share.op))?.op;
    let names: Vec<String> = allowed.iter().map(|op| format!("\"{op}\"")).collect();
    let words = words(
        format!("the operation {odd} at {}", subject.target),
        format!("{} there", names.join(", ")),
        format!("write op = {}", names.first().cloned().unwrap_or_default()),
    );
    Some(subject.clash("op_of_target", &["workload.ops", "workload.op", "target"], words))
}

fn bytes_below_block(subject: &Subject<'_>) -> Option<Clash> {
    let bytes = subject.view.size("stop.bytes")?;
    let block = subject.load.block_bytes;
    if bytes >= block {
        return None;
    }
    let words = words(
        format!("a stop after {bytes}, less than one block of {block}"),
        format!("{block} or more"),
        "raise stop.bytes, or leave it out",
    );
    Some(subject.clash("bytes_below_block", &["stop.bytes"], words))
}

fn cap_below_block(subject: &Subject<'_>) -> Option<Clash> {
    let cap = subject.load.max_bytes_per_s?;
    let window = subject.view.stop().measure_ns;
    let moved = Bytes(narrows_model::units::round_to_u64(Bytes(cap).as_f64() * window.as_secs_f64()));
    let block = subject.load.block_bytes;
    if moved >= block {
        return None;
    }
    let words = words(
        format!("a cap of {}/s, which moves {moved} in a window of {} s", Bytes(cap), window.as_secs_f64()),
        format!("a block of {block} or more in the window"),
        "raise max_rate or stop.measure, or write a smaller block",
    );
    Some(subject.clash("cap_below_block", &["workload.max_rate"], words))
}
