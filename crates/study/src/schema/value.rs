//! A value of a file, of any kind.

use super::Span;
use narrows_model::cell::FactorValue;
use narrows_model::quantity::exact_duration;
use narrows_model::workload::{BlockShare, OpShare, SyncPolicy};
use narrows_model::{Bytes, Nanos, Segment, Target};
use std::collections::BTreeMap;

/// A value of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FileValue {
    Text(String),
    Flag(bool),
    Target(Target),
    Name(&'static str),
    Names(Vec<&'static str>),
    Count(u64),
    Number(f64),
    Size(Bytes),
    Duration(Nanos),
    ByteRate(u64),
    OpRate(f64),
    OpShares(Vec<OpShare>),
    BlockShares(Vec<BlockShare>),
    Sync(SyncPolicy),
    Segment(Segment),
    Numbers(Vec<f64>),
    Each(BTreeMap<&'static str, f64>),
    EachSegment(BTreeMap<Segment, f64>),
    Segments(BTreeMap<String, Segment>),
    Factors(BTreeMap<String, FactorValue>),
    Arithmetic(ArithmeticValue),
}

/// Arithmetic as it is written, with its result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ArithmeticValue {
    pub(crate) text: String,
    pub(crate) value: f64,
}

/// A value with its position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LocatedValue {
    pub(crate) value: FileValue,
    pub(crate) at: Span,
}

impl FileValue {
    /// The value as a factor's.
    pub(crate) fn factor(&self) -> FactorValue {
        match self {
            Self::Count(count) | Self::ByteRate(count) => FactorValue::Number(*count as f64),
            Self::Size(bytes) => FactorValue::Number(bytes.as_f64()),
            Self::Number(number) | Self::OpRate(number) => FactorValue::Number(*number),
            Self::Duration(duration) => FactorValue::Number(duration.as_secs_f64()),
            _ => FactorValue::Text(self.words()),
        }
    }

    /// The value as it would be typed, without quotes; empty for kinds that no factor has.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Flag(flag) => flag.to_string(),
            Self::Target(target) => target.to_string(),
            Self::Name(name) => (*name).to_owned(),
            Self::Names(names) => names.join("+"),
            Self::Count(count) => count.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Size(bytes) => bytes.to_string(),
            Self::Duration(duration) => exact_duration(*duration),
            Self::ByteRate(rate) => format!("{}/s", Bytes(*rate)),
            Self::OpRate(rate) => format!("{rate}/s"),
            Self::OpShares(shares) => {
                summed(shares.iter().map(|share| format!("{}:{}", share.op, share.weight)))
            }
            Self::BlockShares(shares) => {
                summed(shares.iter().map(|share| format!("{}:{}", share.block_bytes, share.weight)))
            }
            Self::Sync(SyncPolicy::None) => "none".to_owned(),
            Self::Sync(SyncPolicy::Dsync) => "dsync".to_owned(),
            Self::Sync(SyncPolicy::AtEnd) => "at_end".to_owned(),
            Self::Sync(SyncPolicy::AfterEnd) => "after_end".to_owned(),
            Self::Sync(SyncPolicy::Every(writes)) => format!("every {writes}"),
            _ => String::new(),
        }
    }
}

fn summed(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join("+")
}
