//! The keys of an observation file: one static list, which the reader walks and the reference is written from.
//!
//! Not here: reading values (`value`), and what is made of them (`assemble`).

use super::kind::{Kind, PLACES, ROLES};
use narrows_model::observation::{ObservedOp, Quality, SCHEMA, Scope};

/// Where a key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Above all tables.
    Top,
    /// In each `[[ceiling]]`.
    Ceiling,
    /// In each `[[observation]]`.
    Observation,
    /// In each `[[claim]]`.
    Claim,
}

impl Table {
    /// The table's name; empty for the top.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Table::Top => "",
            Table::Ceiling => "ceiling",
            Table::Observation => "observation",
            Table::Claim => "claim",
        }
    }
}

/// Whether a key must be given, and what holds without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// It must be.
    Required,
    /// Without it: this, in words.
    Else(&'static str),
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Where it stands.
    pub table: Table,
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Whether it must be given.
    pub need: Need,
    /// What it means, in one line for people.
    pub meaning: &'static str,
    /// A value of it, as TOML.
    pub example: &'static str,
}

impl Key {
    /// The key of this name in this table; `None` when there is none.
    #[must_use]
    pub fn of(table: Table, name: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.table == table && key.name == name)
    }

    /// Its path in messages, such as `observation.bytes_per_s`.
    #[must_use]
    pub fn path(&self) -> String {
        if self.table == Table::Top {
            self.name.to_owned()
        } else {
            format!("{}.{}", self.table.name(), self.name)
        }
    }
}

/// Tables of the file, in the order of the reference, with what they hold.
pub const TABLES: &[(Table, &str)] = &[
    (Table::Top, "What was measured, and where the numbers come from."),
    (
        Table::Ceiling,
        "`[[ceiling]]`: what a segment can carry. One of `bytes_per_s`, `ops_per_s` and `latency_s` is given.",
    ),
    (
        Table::Observation,
        "`[[observation]]`: one measurement. Give what is known; what is not given is not guessed.",
    ),
    (Table::Claim, "`[[claim]]`: arithmetic that the source prints; it is computed again."),
];

/// The name of the table that says which segment a factor varies: `[factor_segment]`, names of factors with segments.
pub(crate) const FACTOR_SEGMENT: &str = "factor_segment";

const OPS: &[&str] = &named_ops();
const SCOPES: &[&str] = &named_scopes();
const QUALITIES: &[&str] = &["exact", "approximate", "lower-bound", "upper-bound"];
const BASES: &[&str] = &["declared", "measured"];
const SCHEMAS: &[&str] = &[SCHEMA];

const fn named_ops() -> [&'static str; ObservedOp::ALL.len()] {
    ["read", "write", "mixed", "metadata", "send", "unknown"]
}

const fn named_scopes() -> [&'static str; Scope::ALL.len()] {
    ["client", "server", "shared", "connection", "device", "node"]
}

const _: () = assert!(QUALITIES.len() == Quality::ALL.len());

/// What no machine passes: an exabyte a second, a billion years, and so on; only slips lie beyond.
const VAST: f64 = 1e18;
const COUNT_MAX: u64 = 1 << 53;
const BYTE_RATE: Kind = Kind::Number { min: 0.0, max: VAST, unit: "bytes/s" };
const OP_RATE: Kind = Kind::Number { min: 0.0, max: VAST, unit: "operations/s" };
const BYTE_CEILING: Kind = Kind::Number { min: 1.0, max: VAST, unit: "bytes/s" };
const OP_CEILING: Kind = Kind::Number { min: 1e-6, max: VAST, unit: "operations/s" };
/// Times above nothing.
const SECONDS: Kind = Kind::Number { min: 1e-12, max: 1e12, unit: "seconds" };
const CPU_SECONDS: Kind = Kind::Number { min: 0.0, max: 1e12, unit: "seconds" };
/// Measured shares pass the whole by a few percent; beyond a tenth the figure is something else.
const RATIO: Kind = Kind::Number { min: 0.0, max: 1.1, unit: "ratio, 0 to 1; a tenth more is taken as 1" };
/// The CPU's alike, but beyond a tenth it is told as a contradiction: figures of others are what they are. Twice the whole is
/// no slip of a clock.
const CPU_RATIO: Kind = Kind::Number {
    min: 0.0,
    max: 2.0,
    unit: "ratio, 0 to 1; a tenth more is taken as 1, beyond it a finding says so",
};
/// May pass 1 by far: that of two trials that differ twofold is four times their mean.
const HALF_WIDTH: Kind = Kind::Number { min: 0.0, max: 1e3, unit: "ratio" };
const CORES: Kind = Kind::Number { min: 0.0, max: 1e6, unit: "cores" };
const CPUS: Kind = Kind::Number { min: 0.001, max: 1e6, unit: "CPUs" };
const IN_FLIGHT: Kind = Kind::Number { min: 0.0, max: 1e9, unit: "requests" };
const BYTES: Kind = Kind::Whole { min: 0, max: COUNT_MAX, unit: "bytes" };
const SIZE: Kind = Kind::Whole { min: 1, max: COUNT_MAX, unit: "bytes" };
const CLIENTS: Kind = Kind::Whole { min: 1, max: 100_000_000, unit: "" };
const CALLS: Kind = Kind::Whole { min: 0, max: COUNT_MAX, unit: "calls" };
const MANY: Kind = Kind::Whole { min: 0, max: COUNT_MAX, unit: "" };
const VALUE: Kind = Kind::Number { min: -VAST, max: VAST, unit: "" };

macro_rules! keys {
    ($($table:ident.$name:ident, $kind:expr, $need:expr, $example:literal, $meaning:literal;)*) => {
        /// Every key of an observation file.
        pub const KEYS: &[Key] = &[$(Key {
            table: Table::$table, name: stringify!($name), kind: $kind, need: $need, meaning: $meaning, example: $example,
        }),*];
    };
}

use Need::{Else, Required};
const NONE: Need = Else("not known");

keys! {
    Top.schema, Kind::Name(SCHEMAS), Required, "\"narrows.observations/1\"",
        "The format of the file.";
    Top.title, Kind::Text, Required, "\"47 clients write to one NFS server\"",
        "What was measured, in one line; shown above the verdict.";
    Top.source, Kind::Text, Else("none"), "\"R. Author, A Title, 2002, table 3\"",
        "Where the numbers come from.";

    Ceiling.segment, Kind::Segment, Required, "\"network.bandwidth\"",
        "The segment, by its id.";
    Ceiling.bytes_per_s, BYTE_CEILING, NONE, "12.5e6",
        "Bytes a second that one of its scope carries at most.";
    Ceiling.ops_per_s, OP_CEILING, NONE, "150",
        "Operations a second that one of its scope carries at most.";
    Ceiling.latency_s, SECONDS, NONE, "0.0002",
        "Time that an operation takes there at least.";
    Ceiling.scope, Kind::Name(SCOPES), Else("\"shared\""), "\"client\"",
        "Of what there is one with this value: a link of each `client`, a disk (`device`), one that all share (`shared`). With `client` and `connection` and no `count` there are as many as an observation has of them.";
    Ceiling.count, CLIENTS, Else("1; of `client` and `connection`, as many as each observation has"), "12",
        "How many of that scope there are: together they carry count x value. It holds for every observation, whatever the number of its clients.";
    Ceiling.op, Kind::Name(OPS), Else("all"), "\"read\"",
        "The operation that it holds for, where reads and writes have ceilings of their own.";
    Ceiling.basis, Kind::Name(BASES), Else("\"measured\""), "\"declared\"",
        "`declared` by a data sheet or a link's speed: nothing passes it. `measured` by a test of the segment alone: a lower bound, which a faster path raises.";
    Ceiling.note, Kind::Text, Else("none"), "\"100BASE-T\"",
        "A remark, told with the evidence.";

    Observation.id, Kind::Text, Required, "\"write-47\"",
        "A name of its own, by which the verdict speaks of it.";
    Observation.op, Kind::Name(OPS), Else("\"unknown\""), "\"write\"",
        "What the clients did.";
    Observation.clients, CLIENTS, Else("not known; as many as `per_client_bytes_per_s` has"), "47",
        "Load-generating processes at once.";
    Observation.bytes_per_s, BYTE_RATE, NONE, "9.02e6",
        "Rate of all clients together.";
    Observation.ops_per_s, OP_RATE, NONE, "1100.0",
        "Operations a second of all clients together.";
    Observation.bytes_per_s_per_client_mean, BYTE_RATE, NONE, "1.9e5",
        "Mean rate of a client, where that is all that is known; times `clients` it stands for the sum.";
    Observation.per_client_bytes_per_s, Kind::Numbers(&BYTE_RATE), NONE, "[1.8e5, 2.1e5]",
        "Rate of every client; tested for a mixture before anything is made of their mean.";
    Observation.offered_ops_per_s, OP_RATE, NONE, "800",
        "Operations a second that were asked for, where load came at a rate of its own (open loop).";
    Observation.offered_bytes_per_s, BYTE_RATE, NONE, "1e7",
        "Bytes a second that were asked for.";
    Observation.latency_s, SECONDS, NONE, "0.0566",
        "Mean response time.";
    Observation.in_flight_configured, IN_FLIGHT, NONE, "20",
        "Requests in flight that were asked for, of all clients: depth x clients.";
    Observation.in_flight_measured, IN_FLIGHT, NONE, "20.1",
        "Requests in flight that were seen, by Little's law or a counter.";
    Observation.window_bytes, SIZE, NONE, "65536",
        "Window of one connection: bytes that may be under way unacknowledged.";
    Observation.connections, CLIENTS, Else("1 in the test of the window"), "1",
        "Connections of each client.";
    Observation.block_bytes, SIZE, NONE, "8192",
        "Bytes of a request.";
    Observation.file_bytes, SIZE, NONE, "400000000",
        "Bytes that each client moves.";
    Observation.elapsed_s, SECONDS, NONE, "1.626",
        "Time until the last client was done.";
    Observation.elapsed_half_width_ratio, HALF_WIDTH, NONE, "0.05",
        "Half of the 95 % interval of `elapsed_s` over it, from the spread of its trials.";
    Observation.elapsed_first_s, SECONDS, NONE, "1.1",
        "Time until the first client was done.";
    Observation.calls, Kind::Each(ROLES, &CALLS), NONE, "{ client = 12288, proxy = 12288, server = 12288 }",
        "System calls that moved data, by role: writes of the client, reads of proxy and server.";
    Observation.read_calls, Kind::Each(ROLES, &CALLS), NONE, "{ proxy = 12288, server = 12288 }",
        "Of these, reads, where both are known; they stand for `calls` of proxy and server.";
    Observation.write_calls, Kind::Each(ROLES, &CALLS), NONE, "{ client = 12288, proxy = 12288 }",
        "Of these, writes, where both are known; they stand for `calls` of the client.";
    Observation.tcp_segments, Kind::Each(ROLES, &CALLS), NONE, "{ client = 34700 }",
        "TCP segments with data that a role sent (TCP_INFO): tells Nagle's coalescing from late reads.";
    Observation.round_trips, MANY, NONE, "16384",
        "Requests with their reply, each pair counted once.";
    Observation.messages, MANY, NONE, "33362",
        "Messages of both directions; half of them are round trips where those are not given.";
    Observation.rtt_s, SECONDS, NONE, "0.01",
        "Round-trip time of the network.";
    Observation.cpu_ratio, Kind::Each(ROLES, &CPU_RATIO), NONE, "{ client = 0.004, server = 0.9 }",
        "Busy share of the CPUs that a role may use: the least of those online, its affinity, its quota. Where a process of several threads is counted in busy cores, that is `cpu_cores`.";
    Observation.cpu_cores, Kind::Each(ROLES, &CORES), NONE, "{ client = 0.9 }",
        "Busy cores, where that is what is known; over `cpus` a share, without them against one core.";
    Observation.cpu_busiest_core_ratio, Kind::Each(ROLES, &CPU_RATIO), NONE, "{ server = 1.0 }",
        "Busy share of the busiest core: one full thread limits however many cores are idle.";
    Observation.user_s, Kind::Each(ROLES, &CPU_SECONDS), NONE, "{ proxy = 0.26 }",
        "CPU time in user mode; with `system_s` over `elapsed_s` it stands for `cpu_cores`.";
    Observation.system_s, Kind::Each(ROLES, &CPU_SECONDS), NONE, "{ proxy = 2.12 }",
        "CPU time in system mode.";
    Observation.cpus, Kind::Each(ROLES, &CPUS), NONE, "{ client = 2, server = 2 }",
        "CPUs that a role may use.";
    Observation.busy_ratio, Kind::EachSegment(&RATIO), NONE, "{ device = 0.9 }",
        "Busy share of any other segment.";
    Observation.hit_ratio, RATIO, NONE, "0.53",
        "Share of the requests that a cache served.";
    Observation.errors, MANY, Else("none known"), "0",
        "Requests that failed.";
    Observation.bytes, Kind::Each(PLACES, &BYTES), NONE, "{ application = 1e9, wire = 0, device = 0 }",
        "Bytes counted at several places in the same time.";
    Observation.memory_bytes, Kind::Each(ROLES, &SIZE), NONE, "{ client = 536870912, server = 1073741824 }",
        "Memory of a role: less data than that may never have reached a device.";
    Observation.factor, Kind::Factors, Else("nothing"), "{ server_threads = 8, disks = 2, setting = \"on\" }",
        "What was varied between observations. The names with a known segment are listed below.";
    Observation.sequence, MANY, Else("not known"), "3",
        "Order in time, for whoever reads the file: it is checked and kept, and no rule rests on it.";
    Observation.quality, Kind::Name(QUALITIES), Else("\"exact\""), "\"approximate\"",
        "How the figures are to be taken: `approximate` is read off a chart; a `lower-bound` clears nothing as idle, an `upper-bound` convicts nothing as full.";
    Observation.note, Kind::Text, Else("none"), "\"after a reboot\"",
        "A remark, told with the evidence.";

    Claim.text, Kind::Text, Required, "\"9/47 = 215 kB/s\"",
        "The claim as it is printed.";
    Claim.left, Kind::Arithmetic, Required, "\"9000/47\"",
        "Its left side: numbers with + - * / and brackets.";
    Claim.right, VALUE, Required, "215.0",
        "What it is said to come to.";
    Claim.tolerance_ratio, Kind::Number { min: 0.0, max: 10.0, unit: "ratio of the right side" }, Else("0.01"), "0.02",
        "How far the two may lie apart.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_stands_once_in_a_table_and_says_what_it_means() {
        for (index, key) in KEYS.iter().enumerate() {
            assert!(!KEYS[..index].iter().any(|other| other.path() == key.path()), "{}", key.path());
            assert!(TABLES.iter().any(|(table, _)| *table == key.table), "{}", key.path());
            assert!(!key.meaning.is_empty() && !key.example.is_empty(), "{}", key.path());
        }
    }

    #[test]
    fn names_are_those_of_the_model() {
        assert_eq!(OPS, ObservedOp::ALL.map(ObservedOp::name));
        assert_eq!(SCOPES, Scope::ALL.map(Scope::name));
        assert_eq!(QUALITIES, Quality::ALL.map(Quality::name));
    }
}
