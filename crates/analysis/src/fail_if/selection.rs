//! Which loads a condition is about, by the words that reports use for them.

use crate::view::RegimeKind;
use narrows_model::cell::FactorValue;
use narrows_model::quantity::{parse_duration, parse_size};
use narrows_model::summary::{CellSummary, KindSummary};
use narrows_model::workload::{Acknowledgement, Order, SyncPolicy, Workload};
use narrows_model::{Bytes, Nanos};
use std::collections::BTreeMap;

/// Blocks up to this size are small, as in the report's loads.
const SMALL_BYTES: u64 = 64 << 10;
/// What is done, as reports name it.
const OPS: [&str; 9] = ["read", "write", "put", "get", "append", "stat", "rename", "delete", "transactions"];
/// The word for loads that mix operations or block sizes.
const MIX: &str = "mix";
/// All that may be said of a load, for refusals.
const LOAD_WORDS: &str = "bulk, random, one-at-a-time, synchronous; read, write, put, get, append, stat, rename, \
                          delete, transactions; mix; a block size such as 4KiB; requests in flight such as x16; a factor of the study \
                          such as depth=16";

/// A kind of load by its word in reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedKind {
    Bulk,
    Random,
    OneAtATime,
    Synchronous,
}

/// What was said of the loads that are meant; what was not said may be anything.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct LoadSelection {
    pub(super) kind: Option<NamedKind>,
    op: Option<String>,
    /// Whether loads are meant that mix operations or block sizes.
    is_mix: bool,
    block: Option<Bytes>,
    in_flight: Option<u64>,
    factors: Vec<(String, String)>,
}

impl LoadSelection {
    /// The loads that `words` mean; what is none of a load's words is added to `problems`.
    pub(super) fn parse(words: &[&str], problems: &mut Vec<String>) -> Self {
        let mut selection = Self::default();
        for word in words {
            if let Err(problem) = selection.add(word) {
                problems.push(problem);
            }
        }
        selection
    }

    fn add(&mut self, word: &str) -> Result<(), String> {
        let twice = |what: &str| format!("found `{word}`, a second {what}; allowed: one");
        if let Some(kind) = kind(word) {
            return if self.kind.replace(kind).is_some() { Err(twice("kind of load")) } else { Ok(()) };
        }
        if OPS.contains(&word) {
            let second = self.op.replace(word.to_owned()).is_some();
            return if second { Err(twice("operation")) } else { Ok(()) };
        }
        if word == MIX {
            return if std::mem::replace(&mut self.is_mix, true) { Err(twice("word of it")) } else { Ok(()) };
        }
        if let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) {
            self.factors.push((name.to_owned(), value.to_owned()));
            return Ok(());
        }
        if let Some(count) = word.strip_prefix('x').and_then(|count| count.parse().ok()) {
            let second = self.in_flight.replace(count).is_some();
            return if second { Err(twice("number in flight")) } else { Ok(()) };
        }
        // A bare number could be anything.
        let has_unit = word.ends_with(|letter: char| letter.is_ascii_alphabetic());
        match parse_size(word) {
            Ok(block) if has_unit => {
                let second = self.block.replace(block).is_some();
                if second { Err(twice("block size")) } else { Ok(()) }
            }
            _ => Err(unknown(word)),
        }
    }

    /// The kinds of requests of a mix that are meant; `None` where all of the load is.
    pub(super) fn kinds<'c>(&self, cell: &'c CellSummary) -> Option<Vec<&'c KindSummary>> {
        let is_part = cell.requested.is_weighted_mix() && (self.op.is_some() || self.block.is_some());
        let meant = |kind: &&KindSummary| {
            self.op.as_ref().is_none_or(|op| op == kind.op.name())
                && self.block.is_none_or(|block| block == kind.block_bytes)
        };
        let meant: Vec<&KindSummary> = cell.kinds.iter().filter(meant).collect();
        (is_part && meant.len() < cell.kinds.len().max(1)).then_some(meant)
    }

    /// Whether a load, or a part of its mix, is one of those meant.
    pub(super) fn matches(&self, load: &Workload, factors: &BTreeMap<String, FactorValue>) -> bool {
        self.kind.is_none_or(|kind| kind.matches(load))
            && (!self.is_mix || load.is_weighted_mix())
            && self.op.as_ref().is_none_or(|op| does(load, op))
            && self.block.is_none_or(|block| block == load.block_bytes || has_block(load, block))
            && self.in_flight.is_none_or(|count| count == load.in_flight_configured())
            && self
                .factors
                .iter()
                .all(|(name, value)| factors.get(name).is_some_and(|found| is_value(found, value)))
    }
}

/// Whether a load, or a part of its mix, is an operation.
fn does(load: &Workload, op: &str) -> bool {
    op == load.name() || load.op_mix.iter().any(|share| share.op.name() == op)
}

fn has_block(load: &Workload, block: Bytes) -> bool {
    load.block_mix.iter().any(|share| share.block_bytes == block)
}

fn unknown(word: &str) -> String {
    format!("found `{word}`; allowed of a load: {LOAD_WORDS}")
}

fn kind(word: &str) -> Option<NamedKind> {
    match word {
        "bulk" => Some(NamedKind::Bulk),
        "random" => Some(NamedKind::Random),
        "one-at-a-time" => Some(NamedKind::OneAtATime),
        "synchronous" => Some(NamedKind::Synchronous),
        _ => None,
    }
}

impl NamedKind {
    /// Whether a load may be reported by this word.
    fn matches(self, load: &Workload) -> bool {
        let is_one = load.in_flight_configured() == 1;
        let is_small = load.block_bytes.0 <= SMALL_BYTES;
        let is_random = load.order != Order::Sequential;
        match self {
            Self::Bulk => !(is_small && (is_one || is_random)),
            Self::Random => !is_one && is_random,
            Self::OneAtATime => is_one,
            Self::Synchronous => is_one && is_durable_each(load),
        }
    }

    /// The kind of the report's loads that has this word.
    pub(super) fn regime(self) -> RegimeKind {
        match self {
            Self::Bulk => RegimeKind::Bulk,
            Self::Random => RegimeKind::SmallParallel,
            Self::OneAtATime | Self::Synchronous => RegimeKind::Single,
        }
    }
}

fn is_durable_each(load: &Workload) -> bool {
    matches!(load.sync, SyncPolicy::Dsync | SyncPolicy::Every(1))
        || load.acknowledgement == Acknowledgement::Late
}

/// Whether a factor has the value that was typed: sizes and times may have their units.
fn is_value(found: &FactorValue, typed: &str) -> bool {
    match found {
        FactorValue::Text(text) => text == typed,
        FactorValue::Number(number) => {
            let values = [
                typed.parse().ok(),
                parse_size(typed).ok().map(Bytes::as_f64),
                parse_duration(typed).map(Nanos::as_secs_f64),
            ];
            values.into_iter().flatten().any(|value: f64| (value - number).abs() <= number.abs() * 1e-9)
        }
    }
}

/// A load in words that a condition may use: `random read 4KiB x16`.
pub(super) fn words(load: &Workload) -> String {
    let kind = [
        (NamedKind::Bulk, "bulk"),
        (NamedKind::Random, "random"),
        (NamedKind::Synchronous, "synchronous"),
        (NamedKind::OneAtATime, "one-at-a-time"),
    ];
    let kind = kind.into_iter().find(|(kind, _)| kind.matches(load)).map_or("", |(_, word)| word);
    let in_flight = load.in_flight_configured();
    let sizes: Vec<String> = match load.block_mix.as_slice() {
        [] => vec![load.block_bytes.to_string()],
        mix => mix.iter().map(|share| share.block_bytes.to_string()).collect(),
    };
    let ops: Vec<&str> = match load.op_mix.as_slice() {
        [] => vec![load.name()],
        mix => mix.iter().map(|share| share.op.name()).collect(),
    };
    let (ops, sizes) = (ops.join(" or "), sizes.join(" or "));
    let text = if load.is_weighted_mix() {
        format!("{kind} mix x{in_flight} (of it {ops}, {sizes})")
    } else {
        format!("{kind} {ops} {sizes} x{in_flight}")
    };
    text.trim_start().to_owned()
}
