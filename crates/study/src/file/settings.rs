//! A study's text as settings: every key that is given, with its value and position; everything else is complained about.
//!
//! Not here: what the settings mean together.

use super::fields::StudyKeys;
use super::keys::schema;
use crate::schema::{
    Complaint, DeclaredEntry, FileReader, FoundName, FoundValue, KeyFields, KeySpec, LocatedValue, Span,
    ValueKind, in_file_order, joined,
};
use narrows_model::cell::FactorValue;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Most values of one factor.
const VALUES_MAX: usize = 1000;

/// A factor: a key with several values.
#[derive(Debug, Clone)]
pub(crate) struct SweptKey {
    pub(crate) key: &'static KeySpec,
    /// Where its name is.
    pub(crate) at: Span,
    /// In the order of the file; at least one.
    pub(crate) values: Vec<LocatedValue>,
}

/// Everything that a study gives.
#[derive(Debug, Clone, Default)]
pub(crate) struct StudySettings {
    /// Keys with one value.
    pub(crate) fixed: StudyKeys,
    /// Factors in the order of the file.
    pub(crate) factors: Vec<SweptKey>,
    /// The head of `[sweep]`.
    pub(crate) sweep_at: Option<Span>,
}

impl StudySettings {
    /// The keys at one point of the sweep, of which `chosen` has the index of each factor's value.
    pub(crate) fn at_point(&self, chosen: &[usize]) -> StudyKeys {
        let mut keys = self.fixed.clone();
        for (factor, value) in self.values(chosen) {
            if let Some(field) = keys.field_mut(factor.key.path) {
                field.set(value);
                field.mark_mut().is_swept = true;
            }
        }
        keys
    }

    /// The factors with their values at a point.
    pub(crate) fn factor_values(&self, chosen: &[usize]) -> BTreeMap<String, FactorValue> {
        self.values(chosen)
            .map(|(factor, found)| (factor.key.factor().to_owned(), found.value.factor()))
            .collect()
    }

    /// The factors with their values at a point as they would be typed, in the order of the sweep.
    pub(crate) fn factor_words(&self, chosen: &[usize]) -> Vec<(&'static str, String)> {
        self.values(chosen).map(|(factor, found)| (factor.key.factor(), found.value.words())).collect()
    }

    fn values(&self, chosen: &[usize]) -> impl Iterator<Item = (&SweptKey, &LocatedValue)> {
        let chosen = self.factors.iter().zip(chosen);
        chosen.filter_map(|(factor, index)| Some((factor, factor.values.get(*index)?)))
    }

    /// The factor `target`; `None` where there is one target.
    pub(crate) fn targets(&self) -> Option<&SweptKey> {
        self.factors.iter().find(|factor| factor.key.path == self.fixed.head.target.mark.path)
    }
}

/// The settings of a document; what cannot be read is left out and complained about.
pub(crate) fn settings(document: &DeTable<'_>, reader: &mut FileReader<'_, '_>) -> StudySettings {
    let mut walk = SettingsWalk { settings: StudySettings::default(), reader };
    walk.table("", document);
    let first = walk.settings.fixed.head.target.mark.path;
    walk.settings.factors.sort_by_key(|factor| (factor.key.path != first, factor.at.start));
    walk.settings
}

struct SettingsWalk<'w, 'a, 'b> {
    settings: StudySettings,
    reader: &'w mut FileReader<'a, 'b>,
}

impl SettingsWalk<'_, '_, '_> {
    fn table(&mut self, path: &str, entries: &DeTable<'_>) {
        for (declared, name, found) in self.reader.entries(path, entries, &mut self.settings.fixed) {
            match (declared, found.get_ref()) {
                (DeclaredEntry::Key(key), DeValue::Array(_)) if key.kind == ValueKind::Target => {
                    self.factor(key, key.path, name, found);
                }
                (DeclaredEntry::Key(key), _) => self.reader.set(key, found, &mut self.settings.fixed),
                (DeclaredEntry::Table(table), _) => match self.reader.inner(table, found) {
                    Some(inner) if table.path == "sweep" => {
                        self.settings.sweep_at = Some(name.span());
                        self.sweep("", inner);
                    }
                    Some(inner) => {
                        if table.path == "workload" {
                            self.settings.fixed.workload_at = Some(name.span());
                        }
                        self.table(table.path, inner);
                    }
                    None => self.settings.fixed.doubt(table.path),
                },
            }
        }
    }

    /// The keys below `[sweep]`; `inner` is the part of a key's path that is in the table's own name.
    fn sweep(&mut self, inner: &str, entries: &DeTable<'_>) {
        for (name, found) in in_file_order(entries) {
            let factor = joined(inner, name.get_ref());
            let is_part = |rest: &str| rest.starts_with('.');
            let is_table = schema()
                .keys
                .iter()
                .any(|key| key.swept && key.factor().strip_prefix(&*factor).is_some_and(is_part));
            match (schema().swept_key(&factor), found.get_ref()) {
                (Some(key), _) => self.factor(key, &joined("sweep", &factor), name, found),
                (None, DeValue::Table(deeper)) if is_table => self.sweep(&factor, deeper),
                _ => self.unswept(inner, name),
            }
        }
    }

    fn factor(
        &mut self,
        key: &'static KeySpec,
        path: &str,
        name: FoundName<'_, '_>,
        found: FoundValue<'_, '_>,
    ) {
        let read = self.values(key, path, found);
        if let Some(field) = self.settings.fixed.field_mut(key.path) {
            let mark = field.mark_mut();
            mark.at.get_or_insert(name.span());
            mark.in_doubt |= read.is_err();
        }
        let values = read.unwrap_or_else(|readable| readable);
        if !values.is_empty() {
            self.settings.factors.push(SweptKey { key, at: name.span(), values });
        }
    }

    /// The values of a factor; after a complaint those that could be read all the same.
    fn values(
        &mut self,
        key: &'static KeySpec,
        path: &str,
        found: FoundValue<'_, '_>,
    ) -> Result<Vec<LocatedValue>, Vec<LocatedValue>> {
        let refusal = |what: String, allowed: &str, hint: String| Complaint::new(path, what, allowed, hint);
        let list: &[Spanned<DeValue<'_>>] = match found.get_ref() {
            DeValue::Array(array) => array,
            DeValue::String(text) if key.kind.is_range(text) => std::slice::from_ref(found),
            _ => {
                let hint = format!("write [{}], or the key in [workload] for one value", key.example);
                let refusal = refusal(self.reader.described(found), "a list of values", hint);
                self.reader.complain(&found.span(), refusal);
                return Err(Vec::new());
            }
        };
        if list.is_empty() {
            let hint = format!("write [{}], or omit the key", key.example);
            let refusal = refusal("an empty list".to_owned(), "one value or more", hint);
            self.reader.complain(&found.span(), refusal);
            return Err(Vec::new());
        }
        let mut is_whole = true;
        let mut values: Vec<LocatedValue> = Vec::new();
        for one in list {
            let read = self.reader.range_or_value(key, path, one);
            is_whole &= !read.is_empty();
            for value in read {
                if values.iter().any(|known| known.value == value.value) {
                    is_whole = false;
                    let hint = "remove one of them; stop.trials repeats cells".to_owned();
                    let what = format!("{} a second time", value.value.words());
                    self.reader.complain(&value.at, refusal(what, "every value once", hint));
                } else {
                    values.push(value);
                }
            }
        }
        if values.len() > VALUES_MAX {
            let allowed = format!("{VALUES_MAX} values or fewer");
            let hint = "omit some of them".to_owned();
            let refusal = refusal(format!("{} values", values.len()), &allowed, hint);
            self.reader.complain(&found.span(), refusal);
            return Err(Vec::new());
        }
        if is_whole { Ok(values) } else { Err(values) }
    }

    /// A key that may not be swept, or is none.
    fn unswept(&mut self, inner: &str, name: FoundName<'_, '_>) {
        let table = joined("sweep", inner);
        let table = table.trim_end_matches('.');
        let known = schema().keys.iter().find(|key| !key.swept && key.name() == name.get_ref());
        let Some(key) = known else {
            return self.reader.unknown(table, name, &mut self.settings.fixed);
        };
        let place = match key.table() {
            "" => "above all tables".to_owned(),
            table => format!("in [{table}]"),
        };
        self.settings.fixed.doubt(key.path);
        self.reader.complain(
            &name.span(),
            Complaint::new(
                joined(table, name.get_ref()),
                format!("the key `{}`, which belongs to the whole study", key.name()),
                self.reader.names_in(table),
                format!("write {} {place}, with one value", key.name()),
            ),
        );
    }
}
