//! The keys of a study: one list, which the reader walks and the reference is written from.
//!
//! Options of engines come from the engines' declarations (`narrows_model::engine`). Not here: reading values, what keys
//! mean together (`clash`, `idle`), and what a plan makes of them.

use super::choices::{RepeatRule, TransactionHalves};
use super::study::CellOrder;
use super::synonyms::SYNONYMS;
use crate::schema::{
    BLOCK_BYTES, Choice, FileSchema, KeySpec, Requirement, TableForm, TableSpec, ValueKind, key_table,
};
use Requirement::{Optional, Required};
use narrows_model::engine::{EngineOption, OptionTable};
use narrows_model::units::NANOS_PER_SEC;
use narrows_model::workload::{
    Access, Acknowledgement, Arrivals, BIAS_MAX, BlockShare, CacheState, NameForm, OBJECT_BYTES_MAX,
    OBJECT_COUNT_MAX, OBJECT_FOLDERS_MAX, ObjectCalls, ObjectSync, OpShare, Order, Spread, SyncPolicy,
    TRANSACTION_COUNT_MAX,
};
use narrows_model::{Bytes, Cut, EngineId, Nanos, Op, Target};
use std::sync::LazyLock;

/// Everything that a study file may contain.
#[must_use]
pub fn schema() -> &'static FileSchema {
    static FILE: LazyLock<FileSchema> = LazyLock::new(|| FileSchema {
        keys: keys(),
        tables: tables(),
        synonyms: SYNONYMS,
        excess_hints: &[],
    });
    &FILE
}

fn keys() -> Vec<KeySpec> {
    let options: Vec<KeySpec> = engine_tables()
        .flat_map(|table| table.options.iter().map(|option| key_of_option(table, option)))
        .collect();
    let mut keys = [
        StudyHeadKeys::KEYS,
        WorkloadKeys::KEYS,
        &options,
        ObjectKeys::KEYS,
        TransactionKeys::KEYS,
        StopKeys::KEYS,
        RepeatKeys::KEYS,
    ]
    .concat();
    for key in &mut keys {
        key.swept = key.path == "target" || key.path.starts_with("workload.");
    }
    keys
}

fn key_of_option(table: &OptionTable, option: &EngineOption) -> KeySpec {
    KeySpec {
        path: leaked(format!("workload.{}.{}", table.name, option.name)),
        kind: option.kind.into(),
        requirement: Optional(option.default),
        meaning: option.meaning,
        example: option.example,
        swept: true,
    }
}

fn tables() -> Vec<TableSpec> {
    let options = engine_tables().map(|table| (leaked(format!("workload.{}", table.name)), table.title));
    let (before, after) = COMMON_TABLES.split_at(2);
    let all = before.iter().copied().chain(options).chain(after.iter().copied());
    all.map(|(path, meaning)| TableSpec { path, form: TableForm::Once, meaning }).collect()
}

pub(super) fn engine_tables() -> impl Iterator<Item = &'static OptionTable> {
    EngineId::ALL.iter().filter_map(|engine| engine.declaration().options.as_ref())
}

/// The text for the life of the process; for lists that are made once.
fn leaked(text: String) -> &'static str {
    text.leak()
}

/// The tables with what they contain; the options of engines are listed after the first two.
const COMMON_TABLES: &[(&str, &str)] = &[
    ("", "What is loaded, in which order, for how long."),
    ("workload", "The load of a cell. Every key may be swept."),
    (
        "workload.objects",
        "The whole files of a load that creates, reads, stats, renames or deletes them (`op = \"put\"`, `get`, \
        `append`, `stat`, `rename`, `delete`), or runs transactions on them. Cells with the same objects reuse those of earlier cells; if \
        there are none, they are created first, untimed. A trial ends when each object was visited once; \
        `rename` gives each another name and then its own back, which are two operations.",
    ),
    (
        "workload.transactions",
        "Transactions on whole objects as PostMark runs them, instead of `op`: a read or an append of a random \
        object, then the creation of a new one or the deletion of a random one.",
    ),
    ("stop", "When a trial stops: at the first of its bounds."),
    ("repeat", "When a cell has enough repetitions."),
    (
        "sweep",
        "Keys of the workload, and the target, with a list of values each: there is a cell for every combination. \
         Sizes and whole numbers also take a range: \"4KiB..1MiB x4\" is 4KiB, 16KiB, 64KiB, 256KiB, 1MiB.",
    ),
];

const HOUR_NS: u64 = 3_600 * NANOS_PER_SEC;
/// A synchronous engine needs a thread for each request in flight.
const WORKERS: ValueKind = ValueKind::Count { min: 1, max: 1024 };
const DEPTH: ValueKind = ValueKind::Count { min: 1, max: 65_536 };
const CLIENTS: ValueKind = ValueKind::Count { min: 1, max: 256 };
const BLOCK_SIZE: ValueKind = ValueKind::Size { min: *BLOCK_BYTES.start(), max: *BLOCK_BYTES.end() };
const FILE_SIZE: ValueKind = ValueKind::Size { min: 1, max: 1 << 50 };
const TRIALS: ValueKind = ValueKind::Count { min: 1, max: 1000 };

const OBJECT_SIZE: ValueKind = ValueKind::Size { min: 0, max: OBJECT_BYTES_MAX.0 };

const fn choice<T: Choice>() -> ValueKind {
    ValueKind::Choice(T::NAMES)
}

key_table! {
    /// Keys above all tables.
    StudyHeadKeys in "" {
        title: String, ValueKind::Text, Optional("none"), "\"does a deeper queue help?\"",
            "The question that the study answers, in one line; shown above its results.";
        target: Target, ValueKind::Target, Required, "\"null:\"",
            "What is loaded. A list of targets is a factor: there is a cell for each of them.";
        seconds: f64, ValueKind::Number { min: 1.0, max: 604_800.0, unit: "seconds" }, Optional("60"), "120",
            "Time for the whole command; cells that do not fit are left out, in the planned order, and listed.";
        seed: u64, ValueKind::Count { min: 0, max: u64::MAX }, Optional("drawn and recorded"), "7",
            "Seed of every random choice, the order of cells included.";
        cell_order: CellOrder, choice::<CellOrder>(), Optional("\"random\""), "\"as_written\"",
            "The order of cells: shuffled by the seed, so that a drift of the machine does not look like an effect of \
            a factor, or the order of the sweep.";
        cuts: Vec<Cut>, ValueKind::Choices(Cut::NAMES), Optional("[\"generator\"]"), "[\"generator\", \"memory_copy\"]",
            "Cuts of the path that are also measured with the same load, each once, before the first cell that needs \
            it. The path to `null:` is the generator itself and is not compared with it.";
        together: bool, ValueKind::Flag, Optional("false"), "true",
            "Whether the targets are also loaded all at once, with the clients of a cell at each of them: this shows \
            a bus that they share.";
    }
}

key_table! {
    /// Keys of `[workload]`.
    WorkloadKeys in "workload." {
        op: Op, choice::<Op>(), Optional("\"read\""), "\"write\"",
            "What a request does. `send` is for the layer `sink` of an endpoint, `receive` for `source`; `put`, \
            `get`, `append`, `stat`, `rename` and `delete` are for whole files (objects) in a folder, on an NFS server \
            (`nfs:`) or, but for `append` and `rename`, in a bucket (`s3:`), or for `null:`, where no files exist and the rate is \
            that of narrows itself.";
        ops: Vec<OpShare>, ValueKind::OpShares, Optional("`op` alone"), "{ read = 70, write = 30 }",
            "Operations of a mix with their weights, instead of `op`.";
        block: Bytes, BLOCK_SIZE, Optional("\"4KiB\""), "\"64KiB\"",
            "Bytes of a request.";
        blocks: Vec<BlockShare>, ValueKind::BlockShares, Optional("`block` alone"), "{ 4KiB = 60, 64KiB = 40 }",
            "Block sizes of a mix with their weights, instead of `block`.";
        file: Bytes, FILE_SIZE, Optional("\"64MiB\", or the whole of a file that exists"), "\"1GiB\"",
            "Bytes of each client's file (object) that requests visit.";
        order: Order, choice::<Order>(), Optional("\"sequential\""), "\"random_with_replacement\"",
            "The order in which blocks are visited; `random` visits each once before any of them again, `one_block` \
            repeats the first one, and `listing` visits objects in the order in which their folder lists them.";
        zipf_theta: f64, ValueKind::Number { min: 0.01, max: 10.0, unit: "" }, Optional("required by `order = \"zipf\"`"), "0.99",
            "The exponent of Zipf's law: the block of rank r is drawn with a probability of 1 / r^theta.";
        stride: Bytes, FILE_SIZE, Optional("required by `order = \"stride\"`"), "\"1MiB\"",
            "Bytes from the start of one block to the start of the next; a multiple of the block size.";
        write_back_every: u32, ValueKind::Count { min: 1, max: 1 << 20 }, Optional("no write-back"), "10",
            "After every N reads the block that was read last is changed and written back: a separate request, which \
            `stop` does not count. 1 rewrites every block. For `op = \"read\"` with one request in flight per worker.";
        access: Access, choice::<Access>(), Optional("\"buffered\""), "\"direct\"",
            "Through the page cache, or past it (`O_DIRECT`).";
        cache: CacheState, choice::<CacheState>(), Optional("\"as_found\""), "\"cold\"",
            "The cache state before a trial: unchanged, the file's pages dropped, or the file read once. A cold load \
            through the page cache visits an existing file once, without a warm-up unless one is given.";
        sync: SyncPolicy, ValueKind::Sync, Optional("\"none\""), "\"every 16\"",
            "When written data must be durable: never, with every write (`O_DSYNC`), after every N writes, at the end \
            of a trial, whose time includes that sync (data written by the warm-up is synced with it), or after the \
            end, outside of its time, so that the next trial does not run during write-back.";
        acknowledgement: Acknowledgement, choice::<Acknowledgement>(), Optional("\"early\""), "\"late\"",
            "When an endpoint acknowledges a write: as soon as it has received the data, or when the data is durable.";
        depth: u32, DEPTH, Optional("1"), "16",
            "Queue depth: requests that one worker keeps in flight.";
        workers: u32, WORKERS, Optional("1"), "4",
            "Threads (connections) of one client.";
        clients: u32, CLIENTS, Optional("1"), "2",
            "Processes that load the target: each has its own file; the blocks of an existing file are shared between \
            them as between workers.";
        batch: u32, DEPTH, Optional("1"), "8",
            "Completions that a worker waits for before it submits again, at most the queue depth: 1 refills after \
            each reap, N leaves slots free until there are N. All free slots are submitted together, the whole depth \
            at first (fio's `iodepth_batch_complete_min`, with `iodepth_batch = 0`).";
        think: Nanos, ValueKind::Duration { min_ns: 0, max_ns: HOUR_NS }, Optional("\"0s\""), "\"5ms\"",
            "Think time: from a completion to the next request in its slot.";
        arrivals: Arrivals, choice::<Arrivals>(), Optional("\"closed\""), "\"poisson\"",
            "When a request starts: at the completion of an earlier one (a closed loop), or by a schedule with \
            constant or exponentially distributed times between starts (an open loop).";
        offered: f64, ValueKind::OpRate, Optional("required by an open loop"), "\"1000/s\"",
            "Offered load: starts a second of all clients together.";
        max_rate: Bytes, ValueKind::ByteRate, Optional("as fast as possible"), "\"10MiB/s\"",
            "A cap on the bytes a second of all clients together.";
        max_ops: f64, ValueKind::OpRate, Optional("as fast as possible"), "\"500/s\"",
            "A cap on the operations a second of all clients together.";
        engine: EngineId, choice::<EngineId>(), Optional("the target's first: `psync` for files"), "\"uring\"",
            "The engine that issues the requests.";
        verify: bool, ValueKind::Flag, Optional("false"), "true",
            "Every block contains a label (seed, object, offset, generation, checksum), every read is compared with \
            the data written, and all data is read back after a trial. Rates are lower than without.";
    }
}

key_table! {
    /// Keys of `[workload.objects]`.
    ObjectKeys in "workload.objects." {
        count: u64, ValueKind::Count { min: 1, max: OBJECT_COUNT_MAX }, Optional("1000"), "16384",
            "Objects of each client.";
        min: Bytes, OBJECT_SIZE, Optional("\"0\""), "\"500\"",
            "Bytes of the smallest; sizes are drawn uniformly.";
        max: Bytes, OBJECT_SIZE, Optional("`min`"), "\"10000\"",
            "Bytes of the largest; appends make none larger.";
        folders: u32, ValueKind::Count { min: 0, max: OBJECT_FOLDERS_MAX as u64 }, Optional("0: one folder for \
            all"), "10",
            "Folders that a client's objects are spread over.";
        spread: Spread, choice::<Spread>(), Optional("\"in_order\""), "\"scattered\"",
            "Fill one folder after the other with consecutive objects, or choose a random folder for each.";
        names: NameForm, choice::<NameForm>(), Optional("\"number\""), "\"letters_number\"",
            "How names are generated: the number in decimal digits, hexadecimal digits followed by random letters, or \
            random letters followed by digits, so that their order is independent of creation (as bonnie++ does).";
        seed: u64, ValueKind::Count { min: 0, max: u64::MAX }, Optional("0"), "42",
            "Seed of sizes, names and transactions.";
        calls: ObjectCalls, choice::<ObjectCalls>(), Optional("\"system\""), "\"streams\"",
            "The calls that transfer their bytes, one block per call: write(2) and read(2), or fwrite and fread of \
            the C library.";
        read_block: Bytes, BLOCK_SIZE, Optional("`block`"), "\"512\"",
            "Bytes of each call that reads, if different from the calls that write.";
        sync: ObjectSync, choice::<ObjectSync>(), Optional("\"none\""), "\"data_and_folder\"",
            "What each operation makes durable before it completes: nothing, the data that it wrote (fsync), or also \
            the folder in which it created or deleted an object.";
        stat_reads: bool, ValueKind::Flag, Optional("false"), "true",
            "Whether a stat of an object that has bytes also reads it, as bonnie++ does.";
    }
}

key_table! {
    /// Keys of `[workload.transactions]`.
    TransactionKeys in "workload.transactions." {
        count: u64, ValueKind::Count { min: 1, max: TRANSACTION_COUNT_MAX }, Optional("no transactions"), "500",
            "Transactions of each client in a trial. They end earlier if all objects have been deleted.";
        halves: TransactionHalves, choice::<TransactionHalves>(), Optional("\"both\""), "\"read_append\"",
            "Which halves a transaction has.";
        read_bias: u64, ValueKind::Count { min: 0, max: BIAS_MAX as u64 }, Optional("5"), "7",
            "Tenths of the first halves that read an object; the others append to one, unless it has the largest size.";
        create_bias: u64, ValueKind::Count { min: 0, max: BIAS_MAX as u64 }, Optional("5"), "3",
            "Tenths of the second halves that create an object, unless there are twice as many as at the start; the \
            others delete one.";
    }
}

key_table! {
    /// Keys of `[stop]`.
    StopKeys in "stop." {
        warm_up: Nanos, ValueKind::Duration { min_ns: 0, max_ns: HOUR_NS }, Optional("\"300ms\"; none with `bytes` or `ops`"), "\"1s\"",
            "Load before the measured window; its completions are not counted.";
        measure: Nanos, ValueKind::Duration { min_ns: 10_000_000, max_ns: 24 * HOUR_NS }, Optional("1.5s; with `bytes` or `ops` what `seconds` leaves"), "\"500ms\"",
            "Length of the measured window. With `bytes` or `ops` the bound that is reached first ends it.";
        bytes: Bytes, FILE_SIZE, Optional("no bound"), "\"1GiB\"",
            "Most bytes that all clients move in a trial's measured window.";
        ops: u64, ValueKind::Count { min: 1, max: 1 << 50 }, Optional("no bound"), "1000000",
            "Most operations that all clients do in a trial's measured window.";
        stone_wall: bool, ValueKind::Flag, Optional("false"), "true",
            "Whether the first client that has completed its share of `bytes` or `ops` ends the trial for all; the \
            others finish their current request and stop.";
        trials: u32, TRIALS, Optional("1; 20 with `until = \"interval\"`, 25 with `until = \"steady\"`"), "30",
            "Repetitions of a cell; the maximum if `[repeat]` may end them earlier.";
    }
}

key_table! {
    /// Keys of `[repeat]`.
    RepeatKeys in "repeat." {
        until: RepeatRule, choice::<RepeatRule>(), Optional("\"fixed\""), "\"interval\"",
            "Run all trials; or until the interval of their mean rate is narrow; or until the last of them are steady \
            by SNIA's rule.";
        half_width: f64, ValueKind::Number { min: 0.001, max: 0.5, unit: "ratio of the mean" }, Optional("0.05"), "0.02",
            "Half the interval's width over the mean, at which it is narrow enough.";
        level: f64, ValueKind::Number { min: 0.5, max: 0.999, unit: "" }, Optional("0.95"), "0.99",
            "Confidence level of the interval.";
        trials_min: u32, ValueKind::Count { min: 3, max: 1000 }, Optional("5; `trials` where that is less"), "10",
            "Fewest trials before the interval may end them.";
        window: u32, ValueKind::Count { min: 2, max: 1000 }, Optional("5"), "5",
            "Trials that must be steady together.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_path_is_there_once_and_is_in_a_table() {
        let paths: BTreeSet<&str> = schema().keys.iter().map(|key| key.path).collect();
        assert_eq!(paths.len(), schema().keys.len());
        for key in &schema().keys {
            assert!(schema().table(key.table()).is_some(), "{}", key.path);
            assert!(!key.meaning.is_empty() && !key.default().is_empty(), "{}", key.path);
            assert_eq!(schema().key(key.path).map(|found| found.path), Some(key.path));
        }
    }

    #[test]
    fn no_two_factors_share_a_name() {
        let swept: Vec<&str> = schema().keys.iter().filter(|key| key.swept).map(KeySpec::factor).collect();
        assert_eq!(swept.iter().collect::<BTreeSet<_>>().len(), swept.len());
    }

    #[test]
    fn every_key_of_the_workload_and_the_target_may_be_swept() {
        for key in &schema().keys {
            let of_load = key.path.starts_with("workload.") || key.path == "target";
            assert_eq!(key.swept, of_load, "{}", key.path);
        }
    }
}
