//! What a key takes: type, unit, range.
//!
//! Not here: reading a value of it; the keys themselves.

use narrows_model::engine::OptionKind;
use narrows_model::quantity::exact_duration;
use narrows_model::{Bytes, Nanos, target};

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueKind {
    /// Any text.
    Text,
    /// A text that is not empty, without line ends, of 4,000 characters or fewer.
    Remark,
    /// Yes or no.
    Flag,
    /// A target, or a list of them.
    Target,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// A list of these names.
    Choices(&'static [&'static str]),
    /// A whole number without a fraction or an exponent.
    Count {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// A whole number, with what it counts; `1e9` is one too.
    Whole {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
        /// What it counts.
        unit: &'static str,
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
    /// The id of a segment.
    Segment,
    /// A list of numbers of this kind.
    Numbers(&'static ValueKind),
    /// A value of this kind for each of some names.
    Each(&'static [&'static str], &'static ValueKind),
    /// A value of this kind for each of some segments.
    EachSegment(&'static ValueKind),
    /// A segment for each of any names.
    Segments,
    /// Names of factors with their value: a number or a text.
    Factors,
    /// Numbers with `+ - * / ( )`.
    Arithmetic,
}

/// Operations that a study can mix.
const MIXED_OPERATION_NAMES: &[&str] = &["read", "write", "send", "receive"];
/// Rates are above nothing and below what any machine does.
pub(super) const OP_RATE: std::ops::RangeInclusive<f64> = 0.001..=1e9;
/// Least and most bytes a second of a cap.
pub(super) const BYTE_RATE: std::ops::RangeInclusive<u64> = 1..=1 << 50;
/// Least and most bytes of a block: above this one request takes a slow disk a second.
pub(crate) const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 1..=64 << 20;
/// Weights of a mix.
pub(super) const WEIGHT: std::ops::RangeInclusive<f64> = 1e-6..=1e6;
/// Most parts of a mix.
pub(super) const SHARES_MAX: usize = 16;
/// Most writes between two syncs.
pub(super) const SYNC_EVERY: std::ops::RangeInclusive<u64> = 1..=1_000_000;
/// The names of a table by role.
pub(crate) const ROLE_NAMES: &[&str] = &["client", "proxy", "server"];
/// Most values of a list.
pub(super) const VALUES_MAX: usize = 100_000;
/// Most factors of an observation.
pub(super) const FACTORS_MAX: usize = 32;
/// Most characters of a remark.
pub(super) const REMARK_CHARS_MAX: usize = 4_000;

impl ValueKind {
    /// The unit in words; empty where there is none.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Size { .. } => "bytes (`KiB`, `MiB`, `GiB` of 1024, `kB`, `MB`, `GB` of 1000)",
            Self::Duration { .. } => "`ns`, `us`, `ms`, `s`, `min` or `h`, always given",
            Self::ByteRate => "bytes a second",
            Self::OpRate => "operations a second",
            Self::Number { unit, .. } | Self::Whole { unit, .. } => unit,
            Self::Numbers(of) | Self::Each(_, of) | Self::EachSegment(of) => of.unit(),
            _ => "",
        }
    }

    /// What is allowed, in words that follow "allowed:".
    #[must_use]
    pub fn allowed(self) -> String {
        match self {
            Self::Text | Self::Remark => "a text in quotes".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Target => format!("{}, in quotes; several as a list", target::forms("or")),
            Self::Choice(names) => quoted(names),
            Self::Choices(names) => format!("a list of {}", quoted(names)),
            Self::Count { min, max: u64::MAX } => format!("a whole number of {min} or more"),
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
            Self::Whole { min, max, unit } => {
                format!("a whole number from {min} to {max}{}", bracketed(unit))
            }
            Self::Number { min, max, unit } => format!("a number from {min} to {max}{}", bracketed(unit)),
            Self::Size { min, max } => format!(
                "a size from {} to {}, such as \"64KiB\", or a whole number of bytes",
                Bytes(min),
                Bytes(max)
            ),
            Self::Duration { min_ns, max_ns } => format!(
                "a duration with its unit from {} to {}, such as \"1.5s\" or \"300ms\"",
                exact_duration(Nanos(min_ns)),
                exact_duration(Nanos(max_ns))
            ),
            Self::ByteRate => format!(
                "bytes a second from {}/s to {}/s, such as \"10MiB/s\"",
                Bytes(*BYTE_RATE.start()),
                Bytes(*BYTE_RATE.end())
            ),
            Self::OpRate => format!(
                "operations a second from {} to {}, such as 1000 or \"1000/s\"",
                OP_RATE.start(),
                OP_RATE.end()
            ),
            _ => self.allowed_in_parts(),
        }
    }

    /// As [`Self::allowed`], for values that are made of others.
    fn allowed_in_parts(self) -> String {
        match self {
            Self::OpShares => format!(
                "a table of operations with weights above 0, such as {{ read = 70, write = 30 }}; operations are {}",
                MIXED_OPERATION_NAMES.join(", ")
            ),
            Self::BlockShares => {
                "a table of sizes with weights above 0, such as { 4KiB = 60, 64KiB = 40 }".to_owned()
            }
            Self::Sync => format!(
                "\"none\", \"dsync\", \"at_end\", \"after_end\" or \"every N\", N writes from {} to {}",
                SYNC_EVERY.start(),
                SYNC_EVERY.end()
            ),
            Self::Segment => {
                "the id of a segment, such as \"network.bandwidth\"; `narrows explain` lists them".to_owned()
            }
            Self::Numbers(of) => format!("a list of 1 to {VALUES_MAX}, each {}", of.allowed()),
            Self::Each(names, of) => format!("a table of {}, each {}", names.join(", "), of.allowed()),
            Self::EachSegment(of) => format!("a table of segments, each {}", of.allowed()),
            Self::Segments => {
                "names of factors with the segment that each varies, such as osds = \"server.threads\""
                    .to_owned()
            }
            Self::Factors => {
                "a table of names with numbers or texts, such as { disks = 2, cache = \"on\" }".to_owned()
            }
            _ => "numbers with + - * / and brackets, such as \"9 * 1024 / 47\"".to_owned(),
        }
    }

    /// The names that it may have; empty where it takes no names.
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Choice(names) | Self::Choices(names) | Self::Each(names, _) => names,
            Self::Sync => &["none", "dsync", "at_end", "after_end", "every"],
            Self::OpShares => MIXED_OPERATION_NAMES,
            _ => &[],
        }
    }
}

impl From<OptionKind> for ValueKind {
    fn from(kind: OptionKind) -> Self {
        match kind {
            OptionKind::Flag => Self::Flag,
            OptionKind::Choice(names) => Self::Choice(names),
            OptionKind::Count { min, max } => Self::Count { min, max },
            OptionKind::Size { min, max } => Self::Size { min, max },
            OptionKind::Text => Self::Remark,
            OptionKind::Duration { min_ns, max_ns } => Self::Duration { min_ns, max_ns },
        }
    }
}

fn bracketed(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" ({unit})") }
}

fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    quoted.join(", ")
}
