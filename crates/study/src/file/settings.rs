//! A study's text as settings: every key that is given, with its value and place; everything else is complained about.
//!
//! Not here: what the settings mean together.

use super::hint;
use super::keys::{Key, TABLES};
use super::kind::Kind;
use super::quantity::{self, RangeText};
use super::value::{Entry, Reader, Value};
use crate::located::Span;
use crate::located::{Complaint, Findings, Name, in_file_order, joined, type_words};
use narrows_model::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Most values of one factor.
const VALUES_MAX: usize = 1000;

/// A factor: a key with several values.
#[derive(Debug, Clone)]
pub(crate) struct Swept {
    pub(crate) key: &'static Key,
    /// Where its name stands.
    pub(crate) at: Span,
    /// In the order of the file; at least one.
    pub(crate) values: Vec<Entry>,
}

/// Every key that is given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    /// Keys with one value.
    pub(crate) fixed: BTreeMap<&'static str, Entry>,
    /// Factors in the order of the file.
    pub(crate) factors: Vec<Swept>,
    /// The head of `[sweep]`.
    pub(crate) sweep_at: Option<Span>,
    /// The head of `[workload]`.
    pub(crate) workload_at: Option<Span>,
    /// Every key that is given, be it readable or not, with the place of its value.
    pub(crate) given: BTreeMap<&'static str, Span>,
    /// Keys that were given, or meant, in a way that cannot be read.
    pub(crate) in_doubt: BTreeSet<&'static str>,
}

/// The settings of a document; what cannot be read is left out and complained about.
pub(crate) fn settings(document: &DeTable<'_>, findings: &mut Findings<'_>) -> Settings {
    let mut walk = Walk { settings: Settings::default(), findings };
    walk.table("", document);
    walk.settings.factors.sort_by_key(|factor| (factor.key.path != "target", factor.at.start));
    walk.settings
}

struct Walk<'a, 'b> {
    settings: Settings,
    findings: &'a mut Findings<'b>,
}

impl Walk<'_, '_> {
    fn table(&mut self, table: &str, entries: &DeTable<'_>) {
        for (name, found) in in_file_order(entries) {
            let path = joined(table, name.get_ref());
            if let Some(key) = Key::of(&path) {
                self.key(key, name, found);
            } else if TABLES.iter().any(|(known, _)| *known == path) {
                self.inner(&path, name, found);
            } else {
                self.unknown(table, name);
            }
        }
    }

    fn inner(&mut self, path: &str, name: Name<'_, '_>, found: &Spanned<DeValue<'_>>) {
        let Some(entries) = found.get_ref().as_table() else {
            let what = format!("{} ({})", self.findings.excerpt(&found.span()), type_words(found.get_ref()));
            let complaint =
                Complaint::new(path, what, "a table", format!("write [{path}], and its keys below"));
            self.findings.add(&found.span(), complaint);
            return;
        };
        if path == "sweep" {
            self.settings.sweep_at = Some(name.span());
            return self.sweep("", entries);
        }
        if path == "workload" {
            self.settings.workload_at = Some(name.span());
        }
        self.table(path, entries);
    }

    fn key(&mut self, key: &'static Key, name: Name<'_, '_>, found: &Spanned<DeValue<'_>>) {
        self.settings.given.insert(key.path, found.span());
        if let (Kind::Target, DeValue::Array(_)) = (key.kind, found.get_ref()) {
            return self.factor(key, key.path, name, found);
        }
        let read = Reader { key, path: key.path, findings: &mut *self.findings }.read(found);
        if let Some(entry) = read {
            self.settings.fixed.insert(key.path, entry);
        }
    }

    /// The keys below `[sweep]`; `inner` is the part of a key's path that stands in the table's own name.
    fn sweep(&mut self, inner: &str, entries: &DeTable<'_>) {
        for (name, found) in in_file_order(entries) {
            let factor = joined(inner, name.get_ref());
            let key = super::keys::KEYS.iter().find(|key| key.swept && key.factor() == factor);
            let is_table = super::keys::KEYS.iter().any(|key| {
                key.swept && key.factor().strip_prefix(&*factor).is_some_and(|rest| rest.starts_with('.'))
            });
            match (key, found.get_ref()) {
                (Some(key), _) => {
                    self.settings.given.insert(key.path, name.span());
                    self.factor(key, &joined("sweep", &factor), name, found);
                }
                (None, DeValue::Table(deeper)) if is_table => self.sweep(&factor, deeper),
                _ => self.unswept(inner, name),
            }
        }
    }

    fn factor(&mut self, key: &'static Key, path: &str, name: Name<'_, '_>, found: &Spanned<DeValue<'_>>) {
        let whole = std::slice::from_ref(found);
        let list: &[Spanned<DeValue<'_>>] = match found.get_ref() {
            DeValue::Array(array) => array,
            DeValue::String(text) if is_range(key.kind, text) => whole,
            other => {
                let what = format!("{} ({})", self.findings.excerpt(&found.span()), type_words(other));
                let hint = format!("write [{}], or the key in [workload] for one value", key.example);
                let complaint = Complaint::new(path, what, "a list of values", hint);
                return self.findings.add(&found.span(), complaint);
            }
        };
        if list.is_empty() {
            let hint = format!("write [{}], or leave the key out", key.example);
            let complaint = Complaint::new(path, "an empty list", "one value or more", hint);
            return self.findings.add(&found.span(), complaint);
        }
        let read: Vec<Entry> = list.iter().flat_map(|one| self.values(key, path, one)).collect();
        let values = self.distinct(path, read);
        if values.len() > VALUES_MAX {
            let what = format!("{} values", values.len());
            let complaint =
                Complaint::new(path, what, format!("{VALUES_MAX} values or fewer"), "leave some of them out");
            return self.findings.add(&found.span(), complaint);
        }
        if !values.is_empty() {
            self.settings.factors.push(Swept { key, at: name.span(), values });
        }
    }

    /// What one element of a list stands for: itself, or the values of a range.
    fn values(&mut self, key: &'static Key, path: &str, found: &Spanned<DeValue<'_>>) -> Vec<Entry> {
        let mut reader = Reader { key, path, findings: &mut *self.findings };
        match found.get_ref().as_str().filter(|text| is_range(key.kind, text)) {
            Some(text) => self.range(key, path, text, &found.span()),
            None => reader.read(found).into_iter().collect(),
        }
    }

    fn range(&mut self, key: &'static Key, path: &str, text: &str, at: &Span) -> Vec<Entry> {
        let values: Vec<Entry> = quantity::range(text)
            .and_then(|range| range_values(key.kind, range))
            .unwrap_or_default()
            .into_iter()
            .map(|value| Entry { value, at: at.clone() })
            .collect();
        if values.is_empty() {
            let example =
                if matches!(key.kind, Kind::Size { .. }) { "\"4KiB..1MiB x4\"" } else { "\"1..64 x4\"" };
            let found = self.findings.excerpt(at);
            let allowed = format!(
                "FIRST..LAST xFACTOR, FIRST no more than LAST, FACTOR 2 or more, each {}",
                key.kind.allowed()
            );
            self.findings
                .add(at, Complaint::new(path, found, allowed, format!("write for example {example}")));
        }
        values
    }

    fn distinct(&mut self, path: &str, read: Vec<Entry>) -> Vec<Entry> {
        let mut values: Vec<Entry> = Vec::new();
        for entry in read {
            if values.iter().any(|known| known.value == entry.value) {
                let found = format!("{} a second time", entry.value.words());
                let complaint = Complaint::new(
                    path,
                    found,
                    "every value once",
                    "remove one of them; stop.trials repeats cells",
                );
                self.findings.add(&entry.at, complaint);
            } else {
                values.push(entry);
            }
        }
        values
    }

    fn unknown(&mut self, table: &str, name: Name<'_, '_>) {
        let path = joined(table, name.get_ref());
        let found = format!("the key `{}`", self.findings.excerpt(&name.span()));
        // The nearest name is not looked for where nobody will read it.
        let (allowed, hint) = if self.findings.is_full() {
            (String::new(), String::new())
        } else {
            (hint::names_in(table).join(", "), hint::key(table, name.get_ref()))
        };
        self.findings.add(&name.span(), Complaint::new(path, found, allowed, hint));
    }

    fn unswept(&mut self, inner: &str, name: Name<'_, '_>) {
        let table = joined("sweep", inner);
        let table = table.trim_end_matches('.');
        let path = joined(table, name.get_ref());
        let known = super::keys::KEYS.iter().find(|key| !key.swept && key.name() == name.get_ref());
        let found = match known {
            Some(key) => format!("the key `{}`, which belongs to the whole study", key.name()),
            None => format!("the key `{}`", self.findings.excerpt(&name.span())),
        };
        let hint = match known {
            Some(key) if key.table().is_empty() => {
                format!("write {} above all tables, with one value", key.name())
            }
            Some(key) => format!("write {} in [{}], with one value", key.name(), key.table()),
            None => hint::key(table, name.get_ref()),
        };
        let allowed = hint::names_in(table).join(", ");
        self.findings.add(&name.span(), Complaint::new(path, found, allowed, hint));
    }
}

fn is_range(kind: Kind, text: &str) -> bool {
    matches!(kind, Kind::Size { .. } | Kind::Count { .. }) && text.contains("..")
}

fn range_values(kind: Kind, range: RangeText<'_>) -> Option<Vec<Value>> {
    let (Kind::Size { min, max } | Kind::Count { min, max }) = kind else { return None };
    let end = |text: &str| match kind {
        Kind::Size { .. } => narrows_model::size::parse_size(text).ok().map(|bytes| bytes.0),
        _ => text.parse().ok(),
    };
    let (first, last) = (end(range.first)?, end(range.last)?);
    let allowed = min..=max;
    (allowed.contains(&first) && allowed.contains(&last)).then(|| {
        let values = quantity::spread(first, last, range.factor).into_iter();
        match kind {
            Kind::Size { .. } => values.map(|bytes| Value::Size(Bytes(bytes))).collect(),
            _ => values.map(Value::Count).collect(),
        }
    })
}
