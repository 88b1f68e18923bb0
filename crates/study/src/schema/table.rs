//! Tables of a file, walked by the schema: keys that it declares, rows of a repeated table, what a table lacks.
//!
//! Not here: reading the value of a key.

use super::field::{AnyField, KeyFields};
use super::read::FileReader;
use super::toml_value::{FoundName, FoundValue, in_file_order, joined};
use super::{Complaint, KeySpec, Requirement, Span, TableForm, TableSpec};
use toml::de::{DeTable, DeValue};

/// Rows of one table at most: the longest sweep has hundreds.
const ROWS_MAX: usize = 10_000;

/// An entry of a table that the schema declares.
pub(crate) enum DeclaredEntry {
    Key(&'static KeySpec),
    Table(&'static TableSpec),
}

/// One of the tables of a repeated one.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableRow<T> {
    /// The first character of its head.
    pub(crate) at: Span,
    pub(crate) keys: T,
}

impl FileReader<'_, '_> {
    /// The entries of the table at `path` in the order of the file, with what the schema declares each as; others are
    /// complained about, and `fields` marked as in doubt that were meant.
    pub(crate) fn entries<'t, 'i>(
        &mut self,
        path: &str,
        table: &'t DeTable<'i>,
        fields: &mut dyn KeyFields,
    ) -> Vec<(DeclaredEntry, FoundName<'t, 'i>, FoundValue<'t, 'i>)> {
        let mut entries = Vec::new();
        for (name, found) in in_file_order(table) {
            let inner = joined(path, name.get_ref());
            if let Some(key) = self.schema.key(&inner) {
                entries.push((DeclaredEntry::Key(key), name, found));
            } else if let Some(table) = self.schema.table(&inner) {
                entries.push((DeclaredEntry::Table(table), name, found));
            } else {
                self.unknown(path, name, fields);
            }
        }
        entries
    }

    /// Complains about a name that the table at `path` does not know.
    pub(crate) fn unknown(&mut self, path: &str, name: FoundName<'_, '_>, fields: &mut dyn KeyFields) {
        let found = format!("the key `{}`", self.findings.excerpt(&name.span()));
        // The nearest name is not looked for where nobody will read it.
        let (allowed, hint) = if self.findings.is_full() {
            (String::new(), String::new())
        } else {
            let near = self.schema.name_hint(path, name.get_ref());
            if let Some(meant) = &near.meant {
                fields.doubt(meant);
            }
            (self.schema.names_in(path).join(", "), near.hint)
        };
        self.complain(&name.span(), Complaint::new(joined(path, name.get_ref()), found, allowed, hint));
    }

    /// The keys of a table that is given as one; else a complaint.
    pub(crate) fn inner<'t, 'i>(
        &mut self,
        table: &TableSpec,
        found: FoundValue<'t, 'i>,
    ) -> Option<&'t DeTable<'i>> {
        let entries = found.get_ref().as_table();
        if entries.is_none() {
            let hint = format!("write {}, and its keys below", table.head());
            let complaint = Complaint::new(table.path, self.described(found), "a table", hint);
            self.complain(&found.span(), complaint);
        }
        entries
    }

    /// Reads the value of a key into its field.
    pub(crate) fn set(
        &mut self,
        key: &'static KeySpec,
        found: FoundValue<'_, '_>,
        fields: &mut dyn KeyFields,
    ) {
        match (self.value(key, key.path, found), fields.field_mut(key.path)) {
            (Some(value), Some(field)) => field.set(&value),
            _ => fields.doubt_at(key.path, found.span()),
        }
    }

    /// The rows of a repeated table.
    pub(crate) fn rows<T: KeyFields + Default>(
        &mut self,
        table: &TableSpec,
        name: FoundName<'_, '_>,
        found: FoundValue<'_, '_>,
    ) -> Vec<TableRow<T>> {
        let (path, head) = (table.path, table.head());
        let DeValue::Array(array) = found.get_ref() else {
            let what = format!("one {path}, without its second brackets");
            let hint = format!("write {head} above its keys, once for each {path}");
            let complaint = Complaint::new(path, what, format!("a list of tables: {head}"), hint);
            self.complain(&name.span(), complaint);
            return Vec::new();
        };
        if array.len() > ROWS_MAX {
            let what = format!("{} tables {head}", array.len());
            let hint = "omit some of them";
            self.complain(&name.span(), Complaint::new(path, what, format!("{ROWS_MAX} or fewer"), hint));
            return Vec::new();
        }
        array.iter().filter_map(|one| self.row(table, one)).collect()
    }

    fn row<T: KeyFields + Default>(
        &mut self,
        table: &TableSpec,
        found: FoundValue<'_, '_>,
    ) -> Option<TableRow<T>> {
        let start = found.span().start;
        let mut row = TableRow { at: start..start + 1, keys: T::default() };
        let keys = self.inner(table, found)?;
        for (declared, _, found) in self.entries(table.path, keys, &mut row.keys) {
            if let DeclaredEntry::Key(key) = declared {
                self.set(key, found, &mut row.keys);
            }
        }
        Some(row)
    }
}

/// A complaint about each key that must be given and is not: above all tables, or in a row.
pub(crate) fn missing(keys: &[KeySpec], fields: &dyn KeyFields, table: Option<&TableSpec>) -> Vec<Complaint> {
    let is_absent = |field: &&dyn AnyField| field.mark().at.is_none() && !field.mark().in_doubt;
    let fields = fields.fields();
    let absent = fields.into_iter().filter(is_absent);
    let required = absent.filter_map(|field| {
        let key = keys.iter().find(|key| key.path == field.mark().path)?;
        (key.requirement == Requirement::Required).then_some(key)
    });
    let complaint = |key: &KeySpec| {
        let found = match table.filter(|table| table.form == TableForm::Repeated) {
            Some(table) => format!("a {} without {}", table.head(), key.name()),
            None => format!("no {}", key.name()),
        };
        let place = if key.table().is_empty() { " above all tables" } else { "" };
        let hint = format!("write {} = {}{place}", key.name(), key.example);
        Complaint::new(key.path, found, key.kind.allowed(), hint)
    };
    required.map(complaint).collect()
}
