//! Values of a file, each read by what its key takes, or complained about with its position.
//!
//! Not here: which keys there are, and what values mean together.

use super::kind::{self, ValueKind};
use super::scalar::{remark, scalar};
use super::toml_value::{FoundName, FoundValue, in_file_order, number, type_words};
use super::value::{FileValue, LocatedValue};
use super::{Complaint, FileSchema, Findings, KeySpec, Span, suggest};
use narrows_model::cell::FactorValue;
use narrows_model::{Segment, Target};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// Reads a file by its schema.
#[derive(Debug)]
pub(crate) struct FileReader<'a, 'b> {
    pub(crate) schema: &'static FileSchema,
    pub(crate) findings: &'a mut Findings<'b>,
}

impl FileReader<'_, '_> {
    /// The value, or a complaint at `path`, under which the file gives the key.
    pub(crate) fn value(
        &mut self,
        key: &'static KeySpec,
        path: &str,
        found: FoundValue<'_, '_>,
    ) -> Option<LocatedValue> {
        let mut reader = ValueReader { key, path, schema: self.schema, findings: &mut *self.findings };
        let value = reader.any(found)?;
        Some(LocatedValue { value, at: found.span() })
    }

    pub(crate) fn complain(&mut self, at: &Span, complaint: Complaint) {
        self.findings.add(at, complaint);
    }

    /// Names that the table at `path` may contain, for messages.
    pub(crate) fn names_in(&self, path: &str) -> String {
        self.schema.names_in(path).join(", ")
    }

    /// What is at `found`, with its type, for messages.
    pub(crate) fn described(&self, found: FoundValue<'_, '_>) -> String {
        described(self.findings, found)
    }
}

/// Reads values of one key.
pub(super) struct ValueReader<'a, 'b> {
    pub(super) key: &'static KeySpec,
    /// The key as it is given, such as `sweep.block`.
    path: &'a str,
    schema: &'static FileSchema,
    pub(super) findings: &'a mut Findings<'b>,
}

impl ValueReader<'_, '_> {
    fn any(&mut self, found: FoundValue<'_, '_>) -> Option<FileValue> {
        let at = found.span();
        match (self.key.kind, found.get_ref()) {
            (ValueKind::OpShares, DeValue::Table(table)) => self.op_shares(table, &at),
            (ValueKind::BlockShares, DeValue::Table(table)) => self.block_shares(table, &at),
            (ValueKind::Choices(names), DeValue::Array(array)) => self.names(names, array),
            (ValueKind::Numbers(of), DeValue::Array(array))
                if (1..=kind::VALUES_MAX).contains(&array.len()) =>
            {
                let read: Vec<_> = array.iter().map(|one| self.number(*of, one)).collect();
                read.into_iter().collect::<Option<_>>().map(FileValue::Numbers)
            }
            (ValueKind::Each(names, of), DeValue::Table(table)) => {
                let named = |name: &str| names.iter().find(|known| **known == name).copied();
                self.table(in_file_order(table), named, |reader, one| reader.number(*of, one))
                    .map(FileValue::Each)
            }
            (ValueKind::EachSegment(of), DeValue::Table(table)) => self.each_segment(*of, table),
            (ValueKind::Segments, DeValue::Table(table)) => self
                .table(in_file_order(table), |name| Some(name.to_owned()), Self::segment)
                .map(FileValue::Segments),
            (ValueKind::Factors, DeValue::Table(table)) => self.factors(table, &at),
            (kind, _) => self.scalar(kind, found),
        }
    }

    fn scalar(&mut self, kind: ValueKind, found: FoundValue<'_, '_>) -> Option<FileValue> {
        let value = scalar(kind, found.get_ref());
        if value.is_none() {
            self.refuse(kind, found);
        }
        value
    }

    fn number(&mut self, kind: ValueKind, found: FoundValue<'_, '_>) -> Option<f64> {
        match self.scalar(kind, found)? {
            FileValue::Number(number) => Some(number),
            FileValue::Count(count) => Some(count as f64),
            _ => None,
        }
    }

    fn segment(&mut self, found: FoundValue<'_, '_>) -> Option<Segment> {
        match self.scalar(ValueKind::Segment, found)? {
            FileValue::Segment(segment) => Some(segment),
            _ => None,
        }
    }

    fn names(
        &mut self,
        names: &'static [&'static str],
        array: &[toml::Spanned<DeValue<'_>>],
    ) -> Option<FileValue> {
        let mut read = Vec::new();
        for found in array {
            if let Some(FileValue::Name(name)) = self.scalar(ValueKind::Choice(names), found) {
                read.push(name);
            }
        }
        (read.len() == array.len()).then_some(FileValue::Names(read))
    }

    /// A value for each name; `None` after a complaint.
    fn table<'t, 'i: 't, K: Ord, V>(
        &mut self,
        entries: Vec<(FoundName<'t, 'i>, FoundValue<'t, 'i>)>,
        named: impl Fn(&str) -> Option<K>,
        value_of: impl Fn(&mut Self, FoundValue<'t, 'i>) -> Option<V>,
    ) -> Option<BTreeMap<K, V>> {
        let mut values = BTreeMap::new();
        let count = entries.len();
        let mut read = 0;
        for (name, found) in entries {
            let known = self.name(name.get_ref(), &name.span(), &named);
            if let (Some(name), Some(value)) = (known, value_of(self, found)) {
                values.insert(name, value);
                read += 1;
            }
        }
        (read == count).then_some(values)
    }

    /// What `named` makes of a name, or a complaint.
    pub(super) fn name<K>(&mut self, text: &str, at: &Span, named: impl Fn(&str) -> Option<K>) -> Option<K> {
        let known = named(text);
        if known.is_none() {
            let found = format!("`{}`", self.findings.excerpt(at));
            let hint = suggest::name(self.key.kind, text).unwrap_or_else(|| self.example());
            self.complain(at, found, hint);
        }
        known
    }

    fn each_segment(&mut self, of: ValueKind, table: &DeTable<'_>) -> Option<FileValue> {
        let mut values = BTreeMap::new();
        let mut is_whole = true;
        // A dotted id without quotes is a table in a table: `device.bus = 0.9`.
        for (name, found) in in_file_order(table) {
            let inner = found.get_ref().as_table().map(in_file_order).unwrap_or_default();
            let ids: Vec<(String, FoundValue<'_, '_>)> = if inner.is_empty() {
                vec![(name.get_ref().to_string(), found)]
            } else {
                let dotted = |deeper: &str| format!("{}.{deeper}", name.get_ref());
                inner.into_iter().map(|(deeper, found)| (dotted(deeper.get_ref()), found)).collect()
            };
            for (id, found) in ids {
                let segment = self.name(&id, &name.span(), Segment::from_id);
                let value = self.number(of, found);
                is_whole &= segment.is_some() && value.is_some();
                values.extend(segment.zip(value));
            }
        }
        is_whole.then_some(FileValue::EachSegment(values))
    }

    fn factors(&mut self, table: &DeTable<'_>, at: &Span) -> Option<FileValue> {
        if table.len() > kind::FACTORS_MAX {
            let hint = format!("name {} factors or fewer", kind::FACTORS_MAX);
            self.complain(at, format!("{} factors", table.len()), hint);
            return None;
        }
        self.table(in_file_order(table), |name| Some(remark(name)), Self::factor).map(|factors| {
            FileValue::Factors(factors.into_iter().filter_map(|(name, value)| Some((name?, value))).collect())
        })
    }

    fn factor(&mut self, found: FoundValue<'_, '_>) -> Option<FactorValue> {
        let value = match found.get_ref() {
            DeValue::Boolean(flag) => Some(FactorValue::Text(flag.to_string())),
            DeValue::String(text) => remark(text).map(FactorValue::Text),
            value => number(value).map(FactorValue::Number),
        };
        if value.is_none() {
            let what = described(self.findings, found);
            self.complain(&found.span(), what, "write a number or a text".to_owned());
        }
        value
    }

    fn refuse(&mut self, kind: ValueKind, found: FoundValue<'_, '_>) {
        let (value, at) = (found.get_ref(), found.span());
        let text = value.as_str();
        let reason = match kind {
            ValueKind::Target => {
                text.and_then(|text| text.parse::<Target>().err()).map(|error| (error.problem, error.hint))
            }
            ValueKind::Arithmetic => {
                let error = text.and_then(|text| super::arithmetic::value(text).err());
                error.map(|error| (error.to_string(), self.example()))
            }
            _ => None,
        };
        let (what, hint) = if let Some((reason, hint)) = reason {
            let hint = text.and_then(|text| suggest::name(kind, text)).unwrap_or(hint);
            (format!("{}: {reason}", self.findings.excerpt(&at)), hint)
        } else {
            (described(self.findings, found), suggest::instead(self.schema, self.key, self.path, kind, value))
        };
        self.complain(&at, what, hint);
    }

    pub(super) fn example(&self) -> String {
        suggest::example(self.key)
    }

    pub(super) fn complain(&mut self, at: &Span, found: String, hint: String) {
        let allowed = self.key.kind.allowed();
        self.findings.add(at, Complaint::new(self.path, found, allowed, hint));
    }
}

fn described(findings: &Findings<'_>, found: FoundValue<'_, '_>) -> String {
    format!("{} ({})", findings.excerpt(&found.span()), type_words(found.get_ref()))
}
