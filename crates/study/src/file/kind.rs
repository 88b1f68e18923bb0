//! What a key of a study takes: type, unit, range.
//!
//! Not here: reading a value of it, which is `value`'s; the keys themselves, which are `keys`'.

use narrows_model::{Bytes, Nanos};

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Any text.
    Text,
    /// Yes or no.
    Flag,
    /// A target, or a list of them.
    Target,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// A list of these names.
    Choices(&'static [&'static str]),
    /// A whole number.
    Count {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// A number, with its unit in words; empty where it has none.
    Number {
        /// The least.
        min: f64,
        /// The most.
        max: f64,
        /// What it counts.
        unit: &'static str,
    },
    /// Bytes, as a size or a whole number.
    Size {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// A time with its unit.
    Duration {
        /// The least, in nanoseconds.
        min_ns: u64,
        /// The most, in nanoseconds.
        max_ns: u64,
    },
    /// Bytes a second, as a size over a second.
    ByteRate,
    /// Operations a second, as a number or a number over a second.
    OpRate,
    /// Operations with their weights.
    OpShares,
    /// Block sizes with their weights.
    BlockShares,
    /// When written data must be durable.
    Sync,
}

/// Operations that a study can ask for.
pub(crate) const OPS: &[&str] =
    &["read", "write", "send", "receive", "put", "get", "append", "stat", "delete"];
/// Operations that a study can mix.
pub(crate) const MIXED_OPS: &[&str] = &["read", "write", "send", "receive"];
/// Rates lie above nothing and below what any machine does.
pub(crate) const OP_RATE: std::ops::RangeInclusive<f64> = 0.001..=1e9;
/// Least and most bytes a second of a cap.
pub(crate) const BYTE_RATE: std::ops::RangeInclusive<u64> = 1..=1 << 50;
/// Least and most bytes of a block: above this one request takes a slow disk a second.
pub(crate) const BLOCK: std::ops::RangeInclusive<u64> = 1..=64 << 20;
/// Weights of a mix.
pub(crate) const WEIGHT: std::ops::RangeInclusive<f64> = 1e-6..=1e6;
/// Most parts of a mix.
pub(crate) const SHARES_MAX: usize = 16;
/// Most writes between two syncs.
pub(crate) const SYNC_EVERY: std::ops::RangeInclusive<u64> = 1..=1_000_000;

impl Kind {
    /// The type in words, for the reference.
    #[must_use]
    pub fn type_words(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Flag => "true or false",
            Kind::Target => "target",
            Kind::Choice(_) | Kind::Sync => "name",
            Kind::Choices(_) => "list of names",
            Kind::Count { .. } => "whole number",
            Kind::Number { .. } => "number",
            Kind::Size { .. } => "size",
            Kind::Duration { .. } => "duration",
            Kind::ByteRate | Kind::OpRate => "rate",
            Kind::OpShares | Kind::BlockShares => "table of weights",
        }
    }

    /// The unit in words; empty where there is none.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Kind::Size { .. } => "bytes (`KiB`, `MiB`, `GiB` of 1024, `kB`, `MB`, `GB` of 1000)",
            Kind::Duration { .. } => "`ns`, `us`, `ms`, `s`, `min` or `h`, always given",
            Kind::ByteRate => "bytes a second",
            Kind::OpRate => "operations a second",
            Kind::Number { unit, .. } => unit,
            _ => "",
        }
    }

    /// What is allowed, in words that follow "allowed:".
    #[must_use]
    pub fn allowed(self) -> String {
        match self {
            Kind::Text => "a text in quotes".to_owned(),
            Kind::Flag => "true or false".to_owned(),
            Kind::Target => "PATH, file:PATH, tcp://HOST:PORT/sink|source|memory|disk, stripe:MEMBER,MEMBER?unit=64KiB, null:, null:copy or sim:PROFILE, in quotes; several as a list"
                .to_owned(),
            Kind::Choice(names) => quoted(names),
            Kind::Choices(names) => format!("a list of {}", quoted(names)),
            Kind::Count { min, max: u64::MAX } => format!("a whole number of {min} or more"),
            Kind::Count { min, max } => format!("a whole number from {min} to {max}"),
            Kind::Number { min, max, .. } => format!("a number from {min} to {max}"),
            Kind::Size { min, max } => {
                format!("a size from {} to {}, such as \"64KiB\", or a whole number of bytes", Bytes(min), Bytes(max))
            }
            Kind::Duration { min_ns, max_ns } => {
                format!("a duration with its unit from {} to {}, such as \"1.5s\" or \"300ms\"", time(min_ns), time(max_ns))
            }
            Kind::ByteRate => format!(
                "bytes a second from {}/s to {}/s, such as \"10MiB/s\"",
                Bytes(*BYTE_RATE.start()),
                Bytes(*BYTE_RATE.end())
            ),
            Kind::OpRate => format!(
                "operations a second from {} to {}, such as 1000 or \"1000/s\"",
                OP_RATE.start(),
                OP_RATE.end()
            ),
            Kind::OpShares => format!("a table of operations with weights above 0, such as {{ read = 70, write = 30 }}; operations are {}", MIXED_OPS.join(", ")),
            Kind::BlockShares => {
                "a table of sizes with weights above 0, such as { 4KiB = 60, 64KiB = 40 }".to_owned()
            }
            Kind::Sync => format!("\"none\", \"dsync\", \"at_end\", \"after_end\" or \"every N\", N writes from {} to {}", SYNC_EVERY.start(), SYNC_EVERY.end()),
        }
    }

    /// The names that it may have; empty where it takes no names.
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Kind::Choice(names) | Kind::Choices(names) => names,
            Kind::Sync => &["none", "dsync", "at_end", "after_end", "every"],
            Kind::OpShares => MIXED_OPS,
            _ => &[],
        }
    }
}

fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    quoted.join(", ")
}

/// A time in its largest whole unit.
pub(crate) fn time(nanos: u64) -> String {
    const UNITS: [(u64, &str); 5] = [
        (3_600_000_000_000, "h"),
        (60_000_000_000, "min"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
    ];
    let unit = UNITS.into_iter().find(|(factor, _)| nanos >= *factor && nanos.is_multiple_of(*factor));
    match unit {
        Some((factor, name)) => format!("{}{name}", nanos / factor),
        None if nanos >= 1_000_000 => format!("{}s", Nanos(nanos).as_secs_f64()),
        None if nanos == 0 => "0s".to_owned(),
        None => format!("{nanos}ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_its_largest_whole_unit() {
        assert_eq!(time(0), "0s");
        assert_eq!(time(1_500), "1500ns");
        assert_eq!(time(300_000_000), "300ms");
        assert_eq!(time(7_200_000_000_000), "2h");
    }
}
