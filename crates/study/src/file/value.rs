//! One value of a study: read by what its key takes, or complained about with its place.
//!
//! Not here: which keys there are, and what they mean together.

use super::hint;
use super::keys::Key;
use super::kind::{self, Kind};
use super::quantity;
use super::suggest;
use crate::located::Span;
use crate::located::{Complaint, Findings, integer, number, type_words};
use narrows_model::cell::FactorValue;
use narrows_model::size::parse_size;
use narrows_model::workload::{BlockShare, OpShare, SyncPolicy};
use narrows_model::{Bytes, Nanos, Op, Target};
use toml::Spanned;
use toml::de::DeValue;

/// A value of a study.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
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
}

impl Value {
    /// The value as a factor's.
    pub(crate) fn factor(&self) -> FactorValue {
        match self {
            Value::Count(count) | Value::ByteRate(count) => FactorValue::Number(*count as f64),
            Value::Size(bytes) => FactorValue::Number(bytes.as_f64()),
            Value::Number(number) | Value::OpRate(number) => FactorValue::Number(*number),
            Value::Duration(time) => FactorValue::Number(time.as_secs_f64()),
            _ => FactorValue::Text(self.words()),
        }
    }

    /// The value as it would be typed, without quotes.
    pub(crate) fn words(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::Flag(flag) => flag.to_string(),
            Value::Target(target) => target.to_string(),
            Value::Name(name) => (*name).to_owned(),
            Value::Names(names) => names.join("+"),
            Value::Count(count) => count.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Size(bytes) => bytes.to_string(),
            Value::Duration(time) => kind::time(time.0),
            Value::ByteRate(rate) => format!("{}/s", Bytes(*rate)),
            Value::OpRate(rate) => format!("{rate}/s"),
            Value::OpShares(shares) => {
                let parts: Vec<String> =
                    shares.iter().map(|share| format!("{}:{}", share.op, share.weight)).collect();
                parts.join("+")
            }
            Value::BlockShares(shares) => {
                let parts: Vec<String> =
                    shares.iter().map(|share| format!("{}:{}", share.block_bytes, share.weight)).collect();
                parts.join("+")
            }
            Value::Sync(SyncPolicy::None) => "none".to_owned(),
            Value::Sync(SyncPolicy::Dsync) => "dsync".to_owned(),
            Value::Sync(SyncPolicy::AtEnd) => "at_end".to_owned(),
            Value::Sync(SyncPolicy::AfterEnd) => "after_end".to_owned(),
            Value::Sync(SyncPolicy::Every(writes)) => format!("every {writes}"),
        }
    }
}

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) value: Value,
    pub(crate) at: Span,
}

/// Reads values of one key.
pub(crate) struct Reader<'a, 'b> {
    pub(crate) key: &'static Key,
    /// The key as it stands in the file, such as `sweep.block`.
    pub(crate) path: &'a str,
    pub(crate) findings: &'a mut Findings<'b>,
}

impl Reader<'_, '_> {
    /// The value, or a complaint.
    pub(crate) fn read(&mut self, found: &Spanned<DeValue<'_>>) -> Option<Entry> {
        let at = found.span();
        let value = match (self.key.kind, found.get_ref()) {
            (Kind::OpShares, DeValue::Table(table)) => self.op_shares(table, &at),
            (Kind::BlockShares, DeValue::Table(table)) => self.block_shares(table, &at),
            (Kind::Choices(names), DeValue::Array(array)) => {
                let read: Vec<_> = array.iter().map(|one| self.one_name(names, one)).collect();
                read.into_iter().collect::<Option<Vec<_>>>().map(Value::Names)
            }
            (Kind::Target, DeValue::String(text)) => self.target(text, &at),
            (kind, value) => scalar(kind, value).or_else(|| {
                self.wrong(value, &at);
                None
            }),
        };
        value.map(|value| Entry { value, at })
    }

    fn one_name(
        &mut self,
        names: &'static [&'static str],
        found: &Spanned<DeValue<'_>>,
    ) -> Option<&'static str> {
        let name = found.get_ref().as_str().and_then(|text| names.iter().find(|name| **name == text));
        if name.is_none() {
            self.wrong(found.get_ref(), &found.span());
        }
        name.copied()
    }

    fn target(&mut self, text: &str, at: &Span) -> Option<Value> {
        match text.parse::<Target>() {
            Ok(target) => Some(Value::Target(target)),
            Err(error) => {
                let found = format!("{}: {}", self.findings.excerpt(at), error.problem);
                self.complain(at, found, hint::target(text).unwrap_or(error.hint));
                None
            }
        }
    }

    fn wrong(&mut self, value: &DeValue<'_>, at: &Span) {
        let found = format!("{} ({})", self.findings.excerpt(at), type_words(value));
        let hint = suggest::instead(self.key, self.path, value);
        self.complain(at, found, hint);
    }

    pub(super) fn example(&self) -> String {
        suggest::example(self.key)
    }

    pub(super) fn complain(&mut self, at: &Span, found: String, hint: String) {
        let allowed = self.key.kind.allowed();
        self.findings.add(at, Complaint::new(self.path, found, allowed, hint));
    }
}

/// Operations that may be mixed.
pub(super) const OPERATIONS: [Op; 4] = [Op::Read, Op::Write, Op::Send, Op::Receive];
/// Operations on whole objects, of which a load has one, or transactions.
pub(super) const OBJECT_OPERATIONS: [Op; 5] = [Op::Put, Op::Get, Op::Append, Op::Stat, Op::Delete];

/// The operation of this name; `None` when a study cannot ask for it.
pub(crate) fn op(name: &str) -> Option<Op> {
    OPERATIONS.into_iter().chain(OBJECT_OPERATIONS).find(|op| op.name() == name)
}

/// A value that is neither a list nor a table; `None` when it is not what `kind` takes.
pub(super) fn scalar(kind: Kind, value: &DeValue<'_>) -> Option<Value> {
    match (kind, value) {
        (Kind::Text, DeValue::String(text)) => Some(Value::Text(text.to_string())),
        (Kind::Flag, DeValue::Boolean(flag)) => Some(Value::Flag(*flag)),
        (Kind::Choice(names), DeValue::String(text)) => {
            names.iter().find(|name| **name == *text).map(|name| Value::Name(name))
        }
        (Kind::Count { min, max }, value) => {
            integer(value).filter(|count| (min..=max).contains(count)).map(Value::Count)
        }
        (Kind::Number { min, max, .. }, value) => {
            number(value).filter(|number| (min..=max).contains(number)).map(Value::Number)
        }
        (Kind::Size { min, max }, value) => {
            size(value).filter(|bytes| (min..=max).contains(&bytes.0)).map(Value::Size)
        }
        (Kind::Duration { min_ns, max_ns }, DeValue::String(text)) => quantity::duration_ns(text)
            .filter(|nanos| (min_ns..=max_ns).contains(nanos))
            .map(|nanos| Value::Duration(Nanos(nanos))),
        (Kind::ByteRate, DeValue::String(text)) => {
            quantity::byte_rate(text).filter(|rate| kind::BYTE_RATE.contains(rate)).map(Value::ByteRate)
        }
        (Kind::OpRate, value) => {
            let rate = value.as_str().map_or_else(|| number(value), quantity::op_rate);
            rate.filter(|rate| kind::OP_RATE.contains(rate)).map(Value::OpRate)
        }
        (Kind::Sync, DeValue::String(text)) => sync(text).map(Value::Sync),
        _ => None,
    }
}

/// Bytes of a size's text or of a whole number.
pub(crate) fn size(value: &DeValue<'_>) -> Option<Bytes> {
    match value {
        DeValue::String(text) => parse_size(text).ok(),
        _ => integer(value).map(Bytes),
    }
}

fn sync(text: &str) -> Option<SyncPolicy> {
    match text {
        "none" => Some(SyncPolicy::None),
        "dsync" => Some(SyncPolicy::Dsync),
        "at_end" => Some(SyncPolicy::AtEnd),
        "after_end" => Some(SyncPolicy::AfterEnd),
        _ => {
            let writes: u64 = text.strip_prefix("every ")?.trim().parse().ok()?;
            let writes = Some(writes).filter(|writes| kind::SYNC_EVERY.contains(writes))?;
            u32::try_from(writes).ok().map(SyncPolicy::Every)
        }
    }
}
