//! One value of an observation file: read by what its key takes, or complained about with its place.
//!
//! Not here: which keys there are, and what a row lacks.

use super::hint;
use super::keys::Key;
use super::kind::{self, Kind, VALUES_MAX};
use crate::located::{Complaint, Findings, Span, in_file_order, nearest_hint, type_words};
use narrows_model::Segment;
use narrows_model::cell::FactorValue;
use narrows_model::units::round_to_u64;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Name(&'static str),
    Segment(Segment),
    Number(f64),
    Whole(u64),
    Numbers(Vec<f64>),
    Each(BTreeMap<&'static str, Value>),
    EachSegment(BTreeMap<Segment, f64>),
    Factors(BTreeMap<String, FactorValue>),
    Arithmetic { text: String, value: f64 },
}

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) value: Value,
    pub(super) at: Span,
}

/// Reads values of one key.
pub(super) struct Reader<'a, 'b> {
    pub(super) key: &'static Key,
    pub(super) findings: &'a mut Findings<'b>,
}

impl Reader<'_, '_> {
    /// The value, or a complaint.
    pub(super) fn read(&mut self, found: &Spanned<DeValue<'_>>) -> Option<Entry> {
        let at = found.span();
        let value = match (self.key.kind, found.get_ref()) {
            (Kind::Numbers(of), DeValue::Array(array)) if (1..=VALUES_MAX).contains(&array.len()) => {
                self.numbers(*of, array)
            }
            (Kind::Each(names, of), DeValue::Table(table)) => self.each(names, *of, table),
            (Kind::EachSegment(of), DeValue::Table(table)) => self.each_segment(*of, table),
            (Kind::Factors, DeValue::Table(table)) => self.factors(table, &at),
            (Kind::Arithmetic, DeValue::String(text)) => self.arithmetic(text, &at),
            (Kind::Arithmetic, value) if signed(value).is_some() => {
                signed(value).map(|value| Value::Arithmetic { text: value.to_string(), value })
            }
            (kind, value) => self.scalar_of(kind, value, &at),
        };
        value.map(|value| Entry { value, at })
    }

    fn scalar_of(&mut self, kind: Kind, value: &DeValue<'_>, at: &Span) -> Option<Value> {
        let read = scalar(kind, value);
        if read.is_none() {
            let found = format!("{} ({})", self.findings.excerpt(at), type_words(value));
            let hint = hint::instead(self.key, kind, value);
            self.complain(at, found, hint);
        }
        read
    }

    fn numbers(&mut self, of: Kind, array: &[Spanned<DeValue<'_>>]) -> Option<Value> {
        let read: Vec<Option<Value>> =
            array.iter().map(|one| self.scalar_of(of, one.get_ref(), &one.span())).collect();
        let numbers: Option<Vec<f64>> =
            read.into_iter().map(|value| value.and_then(|value| float(&value))).collect();
        numbers.map(Value::Numbers)
    }

    /// A value for each of some names.
    fn each(&mut self, names: &'static [&'static str], of: Kind, table: &DeTable<'_>) -> Option<Value> {
        let mut each = BTreeMap::new();
        let mut whole = true;
        for (name, found) in in_file_order(table) {
            let known = names.iter().find(|known| *known == name.get_ref());
            if known.is_none() {
                let what = format!("`{}`", self.findings.excerpt(&name.span()));
                let hint = nearest_hint(name.get_ref(), names).unwrap_or_else(|| hint::example(self.key));
                self.complain(&name.span(), what, hint);
            }
            let value = self.scalar_of(of, found.get_ref(), &found.span());
            whole &= known.is_some() && value.is_some();
            each.extend(known.copied().zip(value));
        }
        whole.then_some(Value::Each(each))
    }

    fn each_segment(&mut self, of: Kind, table: &DeTable<'_>) -> Option<Value> {
        let mut each = BTreeMap::new();
        let mut whole = true;
        // A dotted id without quotes is a table in a table: `device.bus = 0.9`.
        for (name, found) in in_file_order(table) {
            let inner = found.get_ref().as_table().map(in_file_order).unwrap_or_default();
            let dotted = inner
                .iter()
                .map(|(deeper, found)| (format!("{}.{}", name.get_ref(), deeper.get_ref()), *found));
            let entries: Vec<(String, &Spanned<DeValue<'_>>)> =
                if inner.is_empty() { vec![(name.get_ref().to_string(), found)] } else { dotted.collect() };
            for (id, found) in entries {
                let segment = self.segment(&id, &name.span());
                let value = self.scalar_of(of, found.get_ref(), &found.span());
                whole &= segment.is_some() && value.is_some();
                each.extend(segment.zip(value.as_ref().and_then(float)));
            }
        }
        whole.then_some(Value::EachSegment(each))
    }

    fn segment(&mut self, id: &str, at: &Span) -> Option<Segment> {
        let segment = Segment::from_id(id);
        if segment.is_none() {
            let found = format!("`{}`", self.findings.excerpt(at));
            let hint = hint::segment(id).unwrap_or_else(|| hint::example(self.key));
            self.complain(at, found, hint);
        }
        segment
    }

    fn factors(&mut self, table: &DeTable<'_>, at: &Span) -> Option<Value> {
        if table.len() > kind::FACTORS_MAX {
            let hint = format!("name {} factors or fewer", kind::FACTORS_MAX);
            self.complain(at, format!("{} factors", table.len()), hint);
            return None;
        }
        let mut factors = BTreeMap::new();
        let mut whole = true;
        for (name, found) in in_file_order(table) {
            let number = signed(found.get_ref()).map(FactorValue::Number);
            let flag = || match found.get_ref() {
                DeValue::Boolean(flag) => Some(FactorValue::Text(flag.to_string())),
                _ => None,
            };
            let text = || found.get_ref().as_str().and_then(taken_text).map(FactorValue::Text);
            let value = number.or_else(flag).or_else(text);
            if value.is_none() {
                let words = type_words(found.get_ref());
                let what = format!("{} ({words})", self.findings.excerpt(&found.span()));
                self.complain(&found.span(), what, "write a number or a text".to_owned());
            }
            whole &= value.is_some();
            factors.extend(taken_text(name.get_ref()).zip(value));
        }
        whole.then_some(Value::Factors(factors))
    }

    fn arithmetic(&mut self, text: &str, at: &Span) -> Option<Value> {
        match super::arithmetic::value(text) {
            Ok(value) => Some(Value::Arithmetic { text: text.to_owned(), value }),
            Err(error) => {
                let found = format!("{}: {error}", self.findings.excerpt(at));
                self.complain(at, found, hint::example(self.key));
                None
            }
        }
    }

    fn complain(&mut self, at: &Span, found: String, hint: String) {
        let allowed = self.key.kind.allowed();
        self.findings.add(at, Complaint::new(self.key.path(), found, allowed, hint));
    }
}

/// A value that is neither a list nor a table; `None` when it is not what `kind` takes.
fn scalar(kind: Kind, value: &DeValue<'_>) -> Option<Value> {
    match (kind, value) {
        (Kind::Text, DeValue::String(text)) => taken_text(text).map(Value::Text),
        (Kind::Name(names), DeValue::String(text)) => {
            names.iter().find(|name| **name == *text).map(|name| Value::Name(name))
        }
        (Kind::Segment, DeValue::String(text)) => Segment::from_id(text).map(Value::Segment),
        (Kind::Number { min, max, .. }, value) => {
            signed(value).filter(|number| (min..=max).contains(number)).map(Value::Number)
        }
        (Kind::Whole { min, max, .. }, value) => {
            let number = signed(value).filter(|number| *number >= 0.0 && number.fract().abs() <= 0.0);
            number.map(round_to_u64).filter(|count| (min..=max).contains(count)).map(Value::Whole)
        }
        _ => None,
    }
}

/// A text that can be told: not empty, not endless, nothing that steers a terminal.
fn taken_text(text: &str) -> Option<String> {
    let fits = !text.trim().is_empty() && text.chars().count() <= kind::TEXT_CHARS_MAX;
    fits.then(|| crate::located::printable(&text.replace(['\n', '\r'], " ")))
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Whole(count) => Some(*count as f64),
        _ => None,
    }
}

/// A finite number with its sign.
pub(super) fn signed(value: &DeValue<'_>) -> Option<f64> {
    let float = value.as_float().and_then(|float| float.as_str().parse::<f64>().ok());
    let integer = || {
        let integer = value.as_integer()?;
        i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(|integer| integer as f64)
    };
    float.or_else(integer).filter(|number| number.is_finite())
}
