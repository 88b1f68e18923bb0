//! The keys of an observation file: one list, which the reader walks and the reference is written from.
//!
//! Not here: reading values, and what is made of them (`assemble`).

use crate::schema::{
    ArithmeticValue, Choice, FileSchema, ROLE_NAMES, Requirement, TableForm, TableSpec, ValueKind, choices,
    key_table,
};
use Requirement::{Optional, Required};
use narrows_model::cell::FactorValue;
use narrows_model::counters::Role;
use narrows_model::observation::{CeilingBasis, ObservedBytes, ObservedOp, Quality, Scope};
use narrows_model::{Bytes, BytesPerSec, OpsPerSec, Segment};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Everything that an observation file may contain.
#[must_use]
pub fn schema() -> &'static FileSchema {
    static FILE: LazyLock<FileSchema> = LazyLock::new(|| FileSchema {
        keys: [HeadKeys::KEYS, CeilingKeys::KEYS, ObservationKeys::KEYS, ClaimKeys::KEYS].concat(),
        tables: TABLES.to_vec(),
        synonyms: SYNONYMS,
        excess_hints: &[("observation.cpu_ratio", "busy cores are written as cpu_cores")],
    });
    &FILE
}

const fn table(path: &'static str, form: TableForm, meaning: &'static str) -> TableSpec {
    TableSpec { path, form, meaning }
}

const TABLES: &[TableSpec] = &[
    table("", TableForm::Once, "What was measured, and where the numbers come from."),
    table(
        "ceiling",
        TableForm::Repeated,
        "`[[ceiling]]`: the capacity of a segment. One of `bytes_per_s`, `ops_per_s` and `latency_s` is given.",
    ),
    table(
        "observation",
        TableForm::Repeated,
        "`[[observation]]`: one measurement. Give what is known; nothing else is assumed.",
    ),
    table("claim", TableForm::Repeated, "`[[claim]]`: arithmetic that the source prints; it is recomputed."),
];

/// What other tools call our keys.
const SYNONYMS: &[(&str, &str)] = &[
    ("bandwidth", "observation.bytes_per_s"),
    ("block", "observation.block_bytes"),
    ("block_size", "observation.block_bytes"),
    ("bs", "observation.block_bytes"),
    ("cpu", "observation.cpu_ratio"),
    ("elapsed", "observation.elapsed_s"),
    ("factors", "observation.factor"),
    ("iops", "observation.ops_per_s"),
    ("latency", "observation.latency_s"),
    ("name", "observation.id"),
    ("nprocs", "observation.clients"),
    ("processes", "observation.clients"),
    ("queue_depth", "observation.in_flight_configured"),
    ("rate", "observation.bytes_per_s"),
    ("reads", "observation.read_calls"),
    ("runtime", "observation.elapsed_s"),
    ("segments", "observation.tcp_segments"),
    ("threads", "observation.clients"),
    ("throughput", "observation.bytes_per_s"),
    ("time", "observation.elapsed_s"),
    ("window", "observation.window_bytes"),
    ("writes", "observation.write_calls"),
];

/// Where bytes are counted, as keys.
const COUNTED_AT: &[&str] = &["application", "wire", "device"];

/// The format that a file names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SchemaName;

choices! {
    SchemaName { "narrows.observations/1" = SchemaName }
    ObservedOp {
        "read" = ObservedOp::Read,
        "write" = ObservedOp::Write,
        "mixed" = ObservedOp::Mixed,
        "metadata" = ObservedOp::Metadata,
        "send" = ObservedOp::Send,
        "unknown" = ObservedOp::Unknown,
    }
    Scope {
        "client" = Scope::Client,
        "server" = Scope::Server,
        "shared" = Scope::Shared,
        "connection" = Scope::Connection,
        "device" = Scope::Device,
        "node" = Scope::Node,
    }
    Quality {
        "exact" = Quality::Exact,
        "approximate" = Quality::Approximate,
        "lower-bound" = Quality::LowerBound,
        "upper-bound" = Quality::UpperBound,
    }
    CeilingBasis { "declared" = CeilingBasis::Declared, "measured" = CeilingBasis::Measured }
}

const fn kind<T: Choice>() -> ValueKind {
    ValueKind::Choice(T::NAMES)
}

/// What no machine passes: an exabyte a second, a billion years, and so on; only slips are beyond.
const VAST: f64 = 1e18;
const COUNT_MAX: u64 = 1 << 53;
const BYTE_RATE: ValueKind = ValueKind::Number { min: 0.0, max: VAST, unit: "bytes/s" };
const OP_RATE: ValueKind = ValueKind::Number { min: 0.0, max: VAST, unit: "operations/s" };
const BYTE_CEILING: ValueKind = ValueKind::Number { min: 1.0, max: VAST, unit: "bytes/s" };
const OP_CEILING: ValueKind = ValueKind::Number { min: 1e-6, max: VAST, unit: "operations/s" };
/// Times above nothing.
const SECONDS: ValueKind = ValueKind::Number { min: 1e-12, max: 1e12, unit: "seconds" };
const CPU_SECONDS: ValueKind = ValueKind::Number { min: 0.0, max: 1e12, unit: "seconds" };
/// Measured shares pass the whole by a few percent; beyond a tenth the figure is something else.
const RATIO: ValueKind =
    ValueKind::Number { min: 0.0, max: 1.1, unit: "ratio, 0 to 1; up to a tenth more is taken as 1" };
/// The CPU's alike, but beyond a tenth it is reported as a contradiction: figures of others are what they are. Twice the whole is
/// no slip of a clock.
const CPU_RATIO: ValueKind = ValueKind::Number {
    min: 0.0,
    max: 2.0,
    unit: "ratio, 0 to 1; up to a tenth more is taken as 1, above that a finding reports it",
};
/// May pass 1 by far: that of two trials that differ twofold is four times their mean.
const HALF_WIDTH: ValueKind = ValueKind::Number { min: 0.0, max: 1e3, unit: "ratio" };
const CORES: ValueKind = ValueKind::Number { min: 0.0, max: 1e6, unit: "cores" };
const CPUS: ValueKind = ValueKind::Number { min: 0.001, max: 1e6, unit: "CPUs" };
const IN_FLIGHT: ValueKind = ValueKind::Number { min: 0.0, max: 1e9, unit: "requests" };
const BYTES: ValueKind = ValueKind::Whole { min: 0, max: COUNT_MAX, unit: "bytes" };
const SIZE: ValueKind = ValueKind::Whole { min: 1, max: COUNT_MAX, unit: "bytes" };
const CLIENTS: ValueKind = ValueKind::Whole { min: 1, max: 100_000_000, unit: "" };
const CALLS: ValueKind = ValueKind::Whole { min: 0, max: COUNT_MAX, unit: "calls" };
const MANY: ValueKind = ValueKind::Whole { min: 0, max: COUNT_MAX, unit: "" };
const VALUE: ValueKind = ValueKind::Number { min: -VAST, max: VAST, unit: "" };

const NONE: Requirement = Optional("not known");

key_table! {
    /// Keys above all tables.
    HeadKeys in "" {
        schema: SchemaName, kind::<SchemaName>(), Required, "\"narrows.observations/1\"",
        "The format of the file.";
        title: String, ValueKind::Remark, Required, "\"47 clients write to one NFS server\"",
        "What was measured, in one line; shown above the verdict.";
        source: String, ValueKind::Remark, Optional("none"), "\"R. Author, A Title, 2002, table 3\"",
        "Where the numbers come from.";
        factor_segment: BTreeMap<String, Segment>, ValueKind::Segments, Optional("by the names of factors"), "{ osds = \"server.threads\" }",
        "Which segment a factor varies, where its name does not say it; a table `[factor_segment]`, see below.";
    }
}

key_table! {
    /// Keys of each `[[ceiling]]`.
    CeilingKeys in "ceiling." {
        segment: Segment, ValueKind::Segment, Required, "\"network.bandwidth\"",
        "The segment, by its id.";
        bytes_per_s: BytesPerSec, BYTE_CEILING, NONE, "12.5e6",
        "Maximum bytes per second of one of its scope.";
        ops_per_s: OpsPerSec, OP_CEILING, NONE, "150",
        "Maximum operations per second of one of its scope.";
        latency_s: f64, SECONDS, NONE, "0.0002",
        "Minimum time of an operation there.";
        scope: Scope, kind::<Scope>(), Optional("\"shared\""), "\"client\"",
        "What has this value: the link of each `client`, a disk (`device`), or one that all share (`shared`). With \
        `client` and `connection` and no `count` there are as many as the observation has.";
        count: u64, CLIENTS, Optional("1; of `client` and `connection`, as many as each observation has"), "12",
        "How many of that scope there are: together they transfer count x value. It applies to every observation, \
        with any number of clients.";
        op: ObservedOp, kind::<ObservedOp>(), Optional("all"), "\"read\"",
        "The operation that it applies to, where reads and writes have separate ceilings.";
        basis: CeilingBasis, kind::<CeilingBasis>(), Optional("\"measured\""), "\"declared\"",
        "`declared` by a data sheet or a link's speed: no rate exceeds it. `measured` by a test of the segment alone: \
        a lower bound, which a faster path raises.";
        note: String, ValueKind::Remark, Optional("none"), "\"100BASE-T\"",
        "A remark, shown with the evidence.";
    }
}

key_table! {
    /// Keys of each `[[observation]]`.
    ObservationKeys in "observation." {
        id: String, ValueKind::Remark, Required, "\"write-47\"",
        "A unique name, which the verdict uses.";
        op: ObservedOp, kind::<ObservedOp>(), Optional("\"unknown\""), "\"write\"",
        "What the clients did.";
        clients: u64, CLIENTS, Optional("not known; as many as `per_client_bytes_per_s` has"), "47",
        "Load-generating processes at once.";
        bytes_per_s: BytesPerSec, BYTE_RATE, NONE, "9.02e6",
        "Rate of all clients together.";
        ops_per_s: OpsPerSec, OP_RATE, NONE, "1100.0",
        "Operations a second of all clients together.";
        bytes_per_s_per_client_mean: BytesPerSec, BYTE_RATE, NONE, "1.9e5",
        "Mean rate of a client, if nothing else is known; it is multiplied by `clients`.";
        per_client_bytes_per_s: Vec<f64>, ValueKind::Numbers(&BYTE_RATE), NONE, "[1.8e5, 2.1e5]",
        "Rate of every client; tested for a mixture before their mean is used.";
        offered_ops_per_s: OpsPerSec, OP_RATE, NONE, "800",
        "Offered operations per second, for an open loop.";
        offered_bytes_per_s: BytesPerSec, BYTE_RATE, NONE, "1e7",
        "Offered bytes per second.";
        latency_s: f64, SECONDS, NONE, "0.0566",
        "Mean response time.";
        in_flight_configured: f64, IN_FLIGHT, NONE, "20",
        "Requests in flight as configured, of all clients: depth x clients.";
        in_flight_measured: f64, IN_FLIGHT, NONE, "20.1",
        "Requests in flight as observed, by Little's law or a counter.";
        window_bytes: Bytes, SIZE, NONE, "65536",
        "Window of one connection: bytes that may be in flight unacknowledged.";
        connections: u64, CLIENTS, Optional("1 in the test of the window"), "1",
        "Connections of each client.";
        block_bytes: Bytes, SIZE, NONE, "8192",
        "Bytes of a request.";
        file_bytes: Bytes, SIZE, NONE, "400000000",
        "Bytes that each client moves.";
        elapsed_s: f64, SECONDS, NONE, "1.626",
        "Time until the last client was done.";
        elapsed_half_width_ratio: f64, HALF_WIDTH, NONE, "0.05",
        "Half of the 95 % interval of `elapsed_s`, as a ratio of it, from the spread of its trials.";
        elapsed_first_s: f64, SECONDS, NONE, "1.1",
        "Time until the first client was done.";
        calls: BTreeMap<Role, u64>, ValueKind::Each(ROLE_NAMES, &CALLS), NONE, "{ client = 12288, proxy = 12288, server = 12288 }",
        "System calls that moved data, by role: writes of the client, reads of proxy and server.";
        read_calls: BTreeMap<Role, u64>, ValueKind::Each(ROLE_NAMES, &CALLS), NONE, "{ proxy = 12288, server = 12288 }",
        "Of these, reads, where both are known; they are used as `calls` of proxy and server.";
        write_calls: BTreeMap<Role, u64>, ValueKind::Each(ROLE_NAMES, &CALLS), NONE, "{ client = 12288, proxy = 12288 }",
        "Of these, writes, where both are known; they are used as `calls` of the client.";
        tcp_segments: BTreeMap<Role, u64>, ValueKind::Each(ROLE_NAMES, &CALLS), NONE, "{ client = 34700 }",
        "TCP segments with data that a role sent (TCP_INFO): distinguishes Nagle's coalescing from late reads.";
        round_trips: u64, MANY, NONE, "16384",
        "Requests with their reply, each pair counted once.";
        messages: u64, MANY, NONE, "33362",
        "Messages of both directions; half of their number is used as round trips where those are not given.";
        rtt_s: f64, SECONDS, NONE, "0.01",
        "Round-trip time of the network.";
        cpu_ratio: BTreeMap<Role, f64>, ValueKind::Each(ROLE_NAMES, &CPU_RATIO), NONE, "{ client = 0.004, server = 0.9 }",
        "Busy share of the CPUs that a role may use: the smallest of those online, its affinity and its quota. For \
        busy cores of a process with several threads use `cpu_cores`.";
        cpu_cores: BTreeMap<Role, f64>, ValueKind::Each(ROLE_NAMES, &CORES), NONE, "{ client = 0.9 }",
        "Busy cores; divided by `cpus`, or compared with one core where `cpus` is not given.";
        cpu_busiest_core_ratio: BTreeMap<Role, f64>, ValueKind::Each(ROLE_NAMES, &CPU_RATIO), NONE, "{ server = 1.0 }",
        "Busy share of the busiest core: one full thread limits even if other cores are idle.";
        user_s: BTreeMap<Role, f64>, ValueKind::Each(ROLE_NAMES, &CPU_SECONDS), NONE, "{ proxy = 0.26 }",
        "CPU time in user mode; with `system_s` it is used as `cpu_cores`: (user_s + system_s) / elapsed_s.";
        system_s: BTreeMap<Role, f64>, ValueKind::Each(ROLE_NAMES, &CPU_SECONDS), NONE, "{ proxy = 2.12 }",
        "CPU time in system mode.";
        cpus: BTreeMap<Role, f64>, ValueKind::Each(ROLE_NAMES, &CPUS), NONE, "{ client = 2, server = 2 }",
        "CPUs that a role may use.";
        busy_ratio: BTreeMap<Segment, f64>, ValueKind::EachSegment(&RATIO), NONE, "{ device = 0.9 }",
        "Busy share of any other segment.";
        hit_ratio: f64, RATIO, NONE, "0.53",
        "Share of the requests that a cache served.";
        errors: u64, MANY, Optional("none known"), "0",
        "Requests that failed.";
        bytes: ObservedBytes, ValueKind::Each(COUNTED_AT, &BYTES), NONE, "{ application = 1e9, wire = 0, device = 0 }",
        "Bytes counted at several places in the same time.";
        memory_bytes: BTreeMap<Role, Bytes>, ValueKind::Each(ROLE_NAMES, &SIZE), NONE, "{ client = 536870912, server = 1073741824 }",
        "Memory of a role: less data than this may never have reached a device.";
        factor: BTreeMap<String, FactorValue>, ValueKind::Factors, Optional("nothing"), "{ server_threads = 8, disks = 2, setting = \"on\" }",
        "What was varied between observations. The names with a known segment are listed below.";
        sequence: u64, MANY, Optional("not known"), "3",
        "Order in time, for the reader of the file: it is checked and stored, and no rule uses it.";
        quality: Quality, kind::<Quality>(), Optional("\"exact\""), "\"approximate\"",
        "How exact the figures are: `approximate` is read off a chart; a `lower-bound` never clears a segment, an \
        `upper-bound` never shows one as full.";
        note: String, ValueKind::Remark, Optional("none"), "\"after a reboot\"",
        "A remark, shown with the evidence.";
    }
}

key_table! {
    /// Keys of each `[[claim]]`.
    ClaimKeys in "claim." {
        text: String, ValueKind::Remark, Required, "\"9/47 = 215 kB/s\"",
        "The claim as it is printed.";
        left: ArithmeticValue, ValueKind::Arithmetic, Required, "\"9000/47\"",
        "Its left side: numbers with + - * / and brackets.";
        right: f64, VALUE, Required, "215.0",
        "The value that the source gives.";
        tolerance_ratio: f64, ValueKind::Number { min: 0.0, max: 10.0, unit: "ratio of the right side" }, Optional("0.01"), "0.02",
        "Allowed difference between the two.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::observation::SCHEMA;

    #[test]
    fn every_key_is_given_once_in_a_table_and_has_a_meaning() {
        let keys = &schema().keys;
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[..index].iter().any(|other| other.path == key.path), "{}", key.path);
            assert!(schema().table(key.table()).is_some(), "{}", key.path);
            assert!(!key.meaning.is_empty() && !key.example.is_empty(), "{}", key.path);
        }
    }

    #[test]
    fn names_are_those_of_the_model() {
        assert_eq!(ObservedOp::NAMES, ObservedOp::ALL.map(ObservedOp::name));
        assert_eq!(Scope::NAMES, Scope::ALL.map(Scope::name));
        assert_eq!(Quality::NAMES, Quality::ALL.map(Quality::name));
        assert_eq!(SchemaName::NAMES, [SCHEMA]);
    }
}
