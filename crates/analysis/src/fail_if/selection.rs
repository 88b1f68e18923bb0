//! Which loads a condition is about, by the words that reports use for them.

use crate::view::RegimeKind;
use narrows_model::cell::FactorValue;
use narrows_model::quantity::{parse_duration, parse_size};
use narrows_model::workload::{Acknowledgement, Order, SyncPolicy, Workload};
use narrows_model::{Bytes, Nanos};
use std::collections::BTreeMap;

/// Blocks up to this size are small, as in the report's loads.
const SMALL_BYTES: u64 = 64 << 10;
/// What is done, as reports name it.
const OPS: [&str; 9] = ["read", "write", "put", "get", "append", "stat", "rename", "delete", "transactions"];
/// All that may be said of a load, for refusals.
const LOAD_WORDS: &str = "bulk, random, one-at-a-time, synchronous; read, write, put, get, append, stat, rename, \
                          delete, transactions; a block size such as 4KiB; requests in flight such as x16; a factor of the study \
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

    /// Whether a load is one of those meant.
    pub(super) fn matches(&self, load: &Workload, factors: &BTreeMap<String, FactorValue>) -> bool {
        self.kind.is_none_or(|kind| kind.matches(load))
            && self.op.as_ref().is_none_or(|op| op == load.name())
            && self.block.is_none_or(|block| block == load.block_bytes)
            && self.in_flight.is_none_or(|count| count == load.in_flight_configured())
            && self
                .factors
                .iter()
                .all(|(name, value)| factors.get(name).is_some_and(|found| is_value(found, value)))
    }
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
    format!("{kind} {} {} x{in_flight}", load.name(), load.block_bytes).trim_start().to_owned()
}
