//! The keys of a study: one static list, which the validator walks and the reference is written from.
//!
//! Not here: reading values (`value`), what keys mean together (`combine`), and what a plan makes of them.

use super::kind::{BLOCK, Kind, OPS};
use narrows_model::units::NANOS_PER_SEC;
use narrows_model::workload::{
    BIAS_MAX, OBJECT_BYTES_MAX, OBJECT_COUNT_MAX, OBJECT_FOLDERS_MAX, TRANSACTION_COUNT_MAX, VECTORS_MAX,
};

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its path in the file, such as `workload.block`.
    pub path: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds without it, in words.
    pub default: &'static str,
    /// What it means, in one line for people.
    pub meaning: &'static str,
    /// A value of it, as TOML.
    pub example: &'static str,
    /// Whether it may be swept, below `[sweep]` under its name without `workload.`.
    pub swept: bool,
}

impl Key {
    /// The key of this path; `None` when there is none.
    #[must_use]
    pub fn of(path: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.path == path)
    }

    /// Its name below `[sweep]`, and as a factor.
    #[must_use]
    pub fn factor(&self) -> &'static str {
        self.path.strip_prefix("workload.").unwrap_or(self.path)
    }

    /// Its name in its table.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, name)| name)
    }

    /// The table in which it stands; empty at the top.
    #[must_use]
    pub fn table(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }
}

/// Tables of a study, in the order of the reference, with what they hold.
pub const TABLES: &[(&str, &str)] = &[
    ("", "What is loaded, in which order, for how long."),
    ("workload", "The load of a cell. Every key may be swept."),
    ("workload.ring", "How an `io_uring` is set up; for the engine `uring` alone."),
    ("workload.psync", "How requests are handed to the kernel; for the engine `psync` alone."),
    ("workload.stdio", "How the C library's streams are used; for the engine `stdio` alone."),
    (
        "workload.objects",
        "The whole files of a load that makes, reads, looks at or deletes them (`op = \"put\"`, `get`, `append`, `stat`, `delete`), or transacts on them. Cells of the same objects find what earlier ones have left; where that is none, they are made untimed before. A trial ends when each was visited once.",
    ),
    (
        "workload.transactions",
        "Transactions on whole objects as PostMark draws them, instead of `op`: a read or an append of a random object, then the making of a new one or the deletion of a random one.",
    ),
    ("stop", "When a trial stops: at the first of its bounds."),
    ("repeat", "When a cell has been repeated often enough."),
    (
        "sweep",
        "Keys of the workload, and the target, with a list of values each: cells are made for every combination. \
         Sizes and whole numbers also take a range: \"4KiB..1MiB x4\" is 4KiB, 16KiB, 64KiB, 256KiB, 1MiB.",
    ),
];

pub(crate) const ENGINES: &[&str] =
    &["null", "sim", "psync", "uring", "mmap", "stdio", "objects", "endpoint"];
pub(crate) const ORDERS: &[&str] = &[
    "sequential",
    "backward",
    "random",
    "random_with_replacement",
    "zipf",
    "stride",
    "one_block",
    "listing",
];
pub(crate) const CUTS: &[&str] = &[
    "generator",
    "memory_copy",
    "page_cache",
    "local_device",
    "network_stream",
    "server_memory",
    "server_storage",
    "early_path",
];
const WISHES: &[&str] = &["if_granted", "required", "off"];
const SPREADS: &[&str] = &["in_order", "scattered"];
const NAME_FORMS: &[&str] = &["number", "number_letters", "letters_number"];
const OBJECT_CALLS: &[&str] = &["system", "streams"];
const OBJECT_SYNCS: &[&str] = &["none", "data", "data_and_folder"];
const HALVES: &[&str] = &["both", "read_append", "create_delete"];
const OBJECT_SIZE: Kind = Kind::Size { min: 0, max: OBJECT_BYTES_MAX.0 };
const STDIO_CALLS: &[&str] = &["block", "character"];
const PSYNC_CALLS: &[&str] = &["at_offset", "at_position"];
const STDIO_FLUSHES: &[&str] = &["none", "fflush", "fdatasync", "fsync"];
const ACCESSES: &[&str] = &["buffered", "direct"];
const CACHES: &[&str] = &["as_found", "cold", "warm"];
const ACKNOWLEDGEMENTS: &[&str] = &["early", "late"];
const ARRIVALS: &[&str] = &["closed", "constant", "poisson"];
const CELL_ORDERS: &[&str] = &["random", "as_written"];
const UNTILS: &[&str] = &["fixed", "interval", "steady"];

const HOUR_NS: u64 = 3_600 * NANOS_PER_SEC;
/// A synchronous engine needs a thread for each request in flight.
const WORKERS: Kind = Kind::Count { min: 1, max: 1024 };
const DEPTH: Kind = Kind::Count { min: 1, max: 65_536 };
const CLIENTS: Kind = Kind::Count { min: 1, max: 256 };
const BLOCK_SIZE: Kind = Kind::Size { min: *BLOCK.start(), max: *BLOCK.end() };
const FILE_SIZE: Kind = Kind::Size { min: 1, max: 1 << 50 };
const TRIALS: Kind = Kind::Count { min: 1, max: 1000 };

macro_rules! keys {
    ($($path:literal, $kind:expr, $swept:literal, $default:literal, $example:literal, $meaning:literal;)*) => {
        /// Every key of a study.
        pub const KEYS: &[Key] = &[$(Key {
            path: $path, kind: $kind, default: $default, meaning: $meaning, example: $example, swept: $swept,
        }),*];
    };
}

keys! {
    "title", Kind::Text, false, "none", "\"does a deeper queue help?\"",
        "What the study is to answer, in one line; shown above its results.";
    "target", Kind::Target, true, "required", "\"null:\"",
        "What is loaded. A list of targets is a factor: every cell is made for each of them.";
    "seconds", Kind::Number { min: 1.0, max: 604_800.0, unit: "seconds" }, false, "60", "120",
        "Time for the whole command; cells past it are left out in the planned order and listed.";
    "seed", Kind::Count { min: 0, max: u64::MAX }, false, "drawn and recorded", "7",
        "Seed of every random choice, the order of cells included.";
    "cell_order", Kind::Choice(CELL_ORDERS), false, "\"random\"", "\"as_written\"",
        "The order of cells: shuffled by the seed, so that a drift of the machine does not look like a factor's effect, or that of the sweep.";
    "cuts", Kind::Choices(CUTS), false, "[\"generator\"]", "[\"generator\", \"memory_copy\"]",
        "Cuts of the path that are measured beside it with the same load, each once, before the first cell that needs it. The path to `null:` is the generator itself and is not held against it.";
    "together", Kind::Flag, false, "false", "true",
        "Whether the targets are also loaded all at once, with the clients of a cell at each of them: only so a bus that they share is seen.";

    "workload.op", Kind::Choice(OPS), true, "\"read\"", "\"write\"",
        "What a request does. `send` is for the layer `sink` of an endpoint, `receive` for `source`; `put`, `get`, `append`, `stat` and `delete` are of whole files (objects) in a folder, or of none at `null:`, which shows what narrows itself needs for them.";
    "workload.ops", Kind::OpShares, true, "`op` alone", "{ read = 70, write = 30 }",
        "Operations of a mix with their weights, instead of `op`.";
    "workload.block", BLOCK_SIZE, true, "\"4KiB\"", "\"64KiB\"",
        "Bytes that a request moves.";
    "workload.blocks", Kind::BlockShares, true, "`block` alone", "{ 4KiB = 60, 64KiB = 40 }",
        "Block sizes of a mix with their weights, instead of `block`.";
    "workload.file", FILE_SIZE, true, "\"64MiB\", or the whole of a file that exists", "\"1GiB\"",
        "Bytes of each client's file (object) that requests visit.";
    "workload.order", Kind::Choice(ORDERS), true, "\"sequential\"", "\"random_with_replacement\"",
        "The order in which blocks are visited; `random` visits each once before any of them again, `one_block` stays at the first one, and `listing` takes objects as their folder lists them.";
    "workload.zipf_theta", Kind::Number { min: 0.01, max: 10.0, unit: "" }, true, "required by `order = \"zipf\"`", "0.99",
        "The exponent of Zipf's law: the block of rank r is drawn with a probability of 1 / r^theta.";
    "workload.stride", FILE_SIZE, true, "required by `order = \"stride\"`", "\"1MiB\"",
        "Bytes from the start of one block to the start of the next; a multiple of the block size.";
    "workload.write_back_every", Kind::Count { min: 1, max: 1 << 20 }, true, "nothing is written back", "10",
        "After every so many reads the block that was read last is changed and written back to its place: a request of its own, which `stop` does not count. 1 rewrites every block. For `op = \"read\"` with one request in flight a worker.";
    "workload.access", Kind::Choice(ACCESSES), true, "\"buffered\"", "\"direct\"",
        "Through the page cache, or past it (`O_DIRECT`).";
    "workload.cache", Kind::Choice(CACHES), true, "\"as_found\"", "\"cold\"",
        "What is done about caches before a trial: nothing, the file's pages are dropped, or the file is read once. A cold load through the page cache goes over a file that exists once, without a warm-up unless one is given.";
    "workload.sync", Kind::Sync, true, "\"none\"", "\"every 16\"",
        "When written data must be durable: never, with every write (`O_DSYNC`), after every N writes, at the end of a trial, whose time lasts to the end of that sync (what the warm-up wrote is synced with it), or after the end, outside of its time, so that the next trial does not run beside the writing.";
    "workload.acknowledgement", Kind::Choice(ACKNOWLEDGEMENTS), true, "\"early\"", "\"late\"",
        "When an endpoint acknowledges a write: as soon as it has the data, or when the data is durable.";
    "workload.depth", DEPTH, true, "1", "16",
        "Queue depth: requests that one worker keeps in flight.";
    "workload.workers", WORKERS, true, "1", "4",
        "Threads (connections) of one client.";
    "workload.clients", CLIENTS, true, "1", "2",
        "Processes that load the target: each has a file of its own, and of a file that exists they share the blocks as workers do.";
    "workload.batch", DEPTH, true, "1", "8",
        "Completions that a worker waits for together before it refills, at most the queue depth: 1 refills at each look, N leaves places free until N are. Every place that is free is submitted with the others, the whole depth at first, whatever this is (fio's `iodepth_batch_complete_min`, with `iodepth_batch = 0`).";
    "workload.think", Kind::Duration { min_ns: 0, max_ns: HOUR_NS }, true, "\"0s\"", "\"5ms\"",
        "Time from a completion to the next request in its place, as a user thinks.";
    "workload.arrivals", Kind::Choice(ARRIVALS), true, "\"closed\"", "\"poisson\"",
        "What makes a request start: the end of an earlier one (a closed loop), or a schedule with constant or exponentially distributed times between starts (an open loop).";
    "workload.offered", Kind::OpRate, true, "required by an open loop", "\"1000/s\"",
        "Offered load: starts a second of all clients together.";
    "workload.max_rate", Kind::ByteRate, true, "as fast as it goes", "\"10MiB/s\"",
        "A cap on the bytes a second of all clients together.";
    "workload.max_ops", Kind::OpRate, true, "as fast as it goes", "\"500/s\"",
        "A cap on the operations a second of all clients together.";
    "workload.engine", Kind::Choice(ENGINES), true, "the target's first: `psync` for files", "\"uring\"",
        "The engine that issues the requests.";
    "workload.verify", Kind::Flag, true, "false", "true",
        "Every block says what it is (seed, object, offset, generation, checksum), every read is checked against what was written, and all of it is read back after a trial. Rates are lower than without.";
    "workload.ring.registered_buffers", Kind::Choice(WISHES), true, "\"if_granted\"", "\"required\"",
        "Buffers registered with the kernel.";
    "workload.ring.registered_files", Kind::Choice(WISHES), true, "\"if_granted\"", "\"off\"",
        "Files registered with the kernel.";
    "workload.ring.completion_polling", Kind::Flag, true, "false", "true",
        "Completions are polled for at the device (IOPOLL); direct access alone.";
    "workload.ring.submission_polling", Kind::Flag, true, "false", "true",
        "A kernel thread takes up submissions (SQPOLL); it uses a CPU of its own.";
    "workload.psync.calls", Kind::Choice(PSYNC_CALLS), true, "\"at_offset\"", "\"at_position\"",
        "What moves a block: one pread or pwrite, or a read or write at the file's own position, after an lseek where the block lies elsewhere.";
    "workload.psync.vectors", Kind::Count { min: 1, max: VECTORS_MAX as u64 }, true, "one buffer", "4",
        "Buffers of equal size that one preadv or pwritev moves for a request.";
    "workload.stdio.calls", Kind::Choice(STDIO_CALLS), true, "\"block\"", "\"character\"",
        "What moves the bytes of a request: one fwrite or fread, or a putc or getc for every byte.";
    "workload.stdio.flush", Kind::Choice(STDIO_FLUSHES), true, "\"none\"", "\"fflush\"",
        "What follows each request that writes, by block or by character; fdatasync and fsync follow an fflush.";
    "workload.stdio.buffer", Kind::Size { min: 0, max: 64 << 20 }, true, "the C library's", "\"64KiB\"",
        "Bytes of a stream's buffer; 0 is none.";

    "workload.objects.count", Kind::Count { min: 1, max: OBJECT_COUNT_MAX }, true, "1000", "16384",
        "Objects of each client.";
    "workload.objects.min", OBJECT_SIZE, true, "\"0\"", "\"500\"",
        "Bytes of the smallest; sizes are drawn uniformly.";
    "workload.objects.max", OBJECT_SIZE, true, "`min`", "\"10000\"",
        "Bytes of the largest; appends make none larger.";
    "workload.objects.folders", Kind::Count { min: 0, max: OBJECT_FOLDERS_MAX as u64 }, true, "0: one folder holds all", "10",
        "Folders that a client's objects are spread over.";
    "workload.objects.spread", Kind::Choice(SPREADS), true, "\"in_order\"", "\"scattered\"",
        "Consecutive objects in one folder after the other, or each in a folder that is drawn for it.";
    "workload.objects.names", Kind::Choice(NAME_FORMS), true, "\"number\"", "\"letters_number\"",
        "How names are made: the number in decimal digits, hexadecimal digits with random letters after them, or with letters before them, whose order has nothing to do with that of creation (bonnie++'s).";
    "workload.objects.seed", Kind::Count { min: 0, max: u64::MAX }, true, "0", "42",
        "Seed of sizes, names and transactions.";
    "workload.objects.calls", Kind::Choice(OBJECT_CALLS), true, "\"system\"", "\"streams\"",
        "What moves their bytes, a block a call: write(2) and read(2), or fwrite and fread of the C library.";
    "workload.objects.read_block", BLOCK_SIZE, true, "`block`", "\"512\"",
        "Bytes of each call that reads, where it is not that of those that write.";
    "workload.objects.sync", Kind::Choice(OBJECT_SYNCS), true, "\"none\"", "\"data_and_folder\"",
        "What each operation makes durable before it is complete: nothing, what it wrote (fsync), or also the folder in which it made or deleted an object.";
    "workload.objects.stat_reads", Kind::Flag, true, "false", "true",
        "Whether a stat of an object that has bytes also reads it, as bonnie++ does.";
    "workload.transactions.count", Kind::Count { min: 1, max: TRANSACTION_COUNT_MAX }, true, "no transactions", "500",
        "Transactions of each client in a trial. They end before where all objects have been deleted.";
    "workload.transactions.halves", Kind::Choice(HALVES), true, "\"both\"", "\"read_append\"",
        "Which halves of a transaction there are.";
    "workload.transactions.read_bias", Kind::Count { min: 0, max: BIAS_MAX as u64 }, true, "5", "7",
        "Tenths of the first halves that read an object; the others append to one, unless it is as large as any may be.";
    "workload.transactions.create_bias", Kind::Count { min: 0, max: BIAS_MAX as u64 }, true, "5", "3",
        "Tenths of the second halves that make an object, unless twice as many are there as at first; the others delete one.";

    "stop.warm_up", Kind::Duration { min_ns: 0, max_ns: HOUR_NS }, false,
        "\"300ms\"; none with `bytes` or `ops`", "\"1s\"",
        "Load before the measured window; its completions are not counted.";
    "stop.measure", Kind::Duration { min_ns: 10_000_000, max_ns: 24 * HOUR_NS }, false, "1.5s; with `bytes` or `ops` what `seconds` leaves", "\"500ms\"",
        "Length of the measured window. With `bytes` or `ops` the first of the bounds ends it.";
    "stop.bytes", FILE_SIZE, false, "no bound", "\"1GiB\"",
        "Most bytes that all clients move in a trial's measured window.";
    "stop.ops", Kind::Count { min: 1, max: 1 << 50 }, false, "no bound", "1000000",
        "Most operations that all clients do in a trial's measured window.";
    "stop.stone_wall", Kind::Flag, false, "false", "true",
        "Whether the first client that has done its share of `bytes` or `ops` ends the trial for all; the others stop with the request that they are at.";
    "stop.trials", TRIALS, false, "1; 20 with `until = \"interval\"`, 25 with `until = \"steady\"`", "30",
        "Repetitions of a cell; the most of them where `[repeat]` may end them earlier.";

    "repeat.until", Kind::Choice(UNTILS), false, "\"fixed\"", "\"interval\"",
        "All trials are made; or until the interval of their mean rate is narrow; or until the last of them are steady by SNIA's rule.";
    "repeat.half_width", Kind::Number { min: 0.001, max: 0.5, unit: "ratio of the mean" }, false, "0.05", "0.02",
        "Half the interval's width over the mean, at which it is narrow enough.";
    "repeat.level", Kind::Number { min: 0.5, max: 0.999, unit: "" }, false, "0.95", "0.99",
        "Confidence level of the interval.";
    "repeat.trials_min", Kind::Count { min: 3, max: 1000 }, false, "5; `trials` where that is less", "10",
        "Fewest trials before the interval may end them.";
    "repeat.window", Kind::Count { min: 2, max: 1000 }, false, "5", "5",
        "Trials that must be steady together.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::EngineId;
    use std::collections::BTreeSet;

    #[test]
    fn every_path_is_there_once_and_stands_in_a_table() {
        let paths: BTreeSet<&str> = KEYS.iter().map(|key| key.path).collect();
        assert_eq!(paths.len(), KEYS.len());
        for key in KEYS {
            assert!(TABLES.iter().any(|(table, _)| *table == key.table()), "{}", key.path);
            assert!(!key.meaning.is_empty() && !key.default.is_empty(), "{}", key.path);
            assert_eq!(Key::of(key.path).map(|found| found.path), Some(key.path));
        }
    }

    #[test]
    fn no_two_factors_share_a_name() {
        let swept: Vec<&str> = KEYS.iter().filter(|key| key.swept).map(Key::factor).collect();
        assert_eq!(swept.iter().collect::<BTreeSet<_>>().len(), swept.len());
    }

    #[test]
    fn every_engine_of_the_model_can_be_named() {
        assert_eq!(ENGINES, EngineId::ALL.map(EngineId::name));
    }

    #[test]
    fn every_key_of_the_workload_and_the_target_may_be_swept() {
        for key in KEYS {
            let of_load = key.path.starts_with("workload.") || key.path == "target";
            assert_eq!(key.swept, of_load, "{}", key.path);
        }
    }
}
