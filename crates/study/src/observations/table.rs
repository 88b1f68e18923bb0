//! An observation file's text as rows: every key that is given, with its value and place.
//!
//! Not here: what the rows lack.

use super::hint;
use super::keys::{FACTOR_SEGMENT, Key, Table};
use super::value::{Entry, Reader, Value};
use crate::located::{Complaint, Findings, Name, Span, in_file_order, type_words};
use narrows_model::Segment;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Rows of one table at most: the longest sweep has hundreds.
const ROWS_MAX: usize = 10_000;

/// A row of a table: its keys and where it starts.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub(super) at: Span,
    pub(super) entries: BTreeMap<&'static str, Entry>,
    /// Keys that were given in a way that cannot be read.
    pub(super) in_doubt: Vec<String>,
}

impl Row {
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.entries.get(name).map(|entry| &entry.value)
    }

    /// Where the key stands; the row's start where it does not.
    pub(super) fn place(&self, name: &str) -> Span {
        self.entries.get(name).map_or_else(|| self.at.clone(), |entry| entry.at.clone())
    }
}

/// Everything that is given.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    pub(super) top: Row,
    pub(super) ceilings: Vec<Row>,
    pub(super) observations: Vec<Row>,
    pub(super) claims: Vec<Row>,
    pub(super) factor_segments: BTreeMap<String, Segment>,
}

/// The rows of a document; what cannot be read is left out and complained about.
pub(super) fn rows(document: &DeTable<'_>, findings: &mut Findings<'_>) -> Rows {
    let mut rows = Rows::default();
    for (name, found) in in_file_order(document) {
        match name.get_ref().as_ref() {
            "ceiling" => rows.ceilings = list(Table::Ceiling, name, found, findings),
            "observation" => rows.observations = list(Table::Observation, name, found, findings),
            "claim" => rows.claims = list(Table::Claim, name, found, findings),
            FACTOR_SEGMENT => rows.factor_segments = factor_segments(found, findings),
            _ => entry(Table::Top, name, found, &mut rows.top, findings),
        }
    }
    rows
}

fn list(
    table: Table,
    name: Name<'_, '_>,
    found: &Spanned<DeValue<'_>>,
    findings: &mut Findings<'_>,
) -> Vec<Row> {
    let path = table.name();
    let DeValue::Array(array) = found.get_ref() else {
        let what = format!("one {path}, without its second brackets");
        let hint = format!("write [[{path}]] above its keys, once for each {path}");
        findings.add(&name.span(), Complaint::new(path, what, format!("a list of tables: [[{path}]]"), hint));
        return Vec::new();
    };
    if array.len() > ROWS_MAX {
        let what = format!("{} tables [[{path}]]", array.len());
        let complaint = Complaint::new(path, what, format!("{ROWS_MAX} or fewer"), "leave some of them out");
        findings.add(&name.span(), complaint);
        return Vec::new();
    }
    array.iter().map(|one| row(table, one, findings)).collect()
}

fn row(table: Table, found: &Spanned<DeValue<'_>>, findings: &mut Findings<'_>) -> Row {
    let mut row = Row { at: found.span(), ..Row::default() };
    let Some(entries) = found.get_ref().as_table() else {
        let what = format!("{} ({})", findings.excerpt(&found.span()), type_words(found.get_ref()));
        let hint = format!("write [[{}]], and its keys below", table.name());
        findings.add(&found.span(), Complaint::new(table.name(), what, "a table", hint));
        return row;
    };
    for (name, found) in in_file_order(entries) {
        entry(table, name, found, &mut row, findings);
    }
    row
}

fn entry(
    table: Table,
    name: Name<'_, '_>,
    found: &Spanned<DeValue<'_>>,
    row: &mut Row,
    findings: &mut Findings<'_>,
) {
    let Some(key) = Key::of(table, name.get_ref()) else {
        row.in_doubt.push(name.get_ref().to_string());
        return unknown(table, name, findings);
    };
    match (Reader { key, findings }).read(found) {
        Some(entry) => drop(row.entries.insert(key.name, entry)),
        None => row.in_doubt.push(key.name.to_owned()),
    }
}

fn unknown(table: Table, name: Name<'_, '_>, findings: &mut Findings<'_>) {
    let path = crate::located::joined(table.name(), name.get_ref());
    let found = format!("the key `{}`", findings.excerpt(&name.span()));
    // The nearest name is not looked for where nobody will read it.
    let (allowed, hint) = if findings.is_full() {
        (String::new(), String::new())
    } else {
        (hint::names_in(table).join(", "), hint::key(table, name.get_ref()))
    };
    findings.add(&name.span(), Complaint::new(path, found, allowed, hint));
}

/// Factors with the segment that each varies.
fn factor_segments(found: &Spanned<DeValue<'_>>, findings: &mut Findings<'_>) -> BTreeMap<String, Segment> {
    const ALLOWED: &str =
        "names of factors with the segment that each varies, such as osds = \"server.threads\"";
    let Some(table) = found.get_ref().as_table() else {
        let what = format!("{} ({})", findings.excerpt(&found.span()), type_words(found.get_ref()));
        let hint = format!("write [{FACTOR_SEGMENT}], and the factors below");
        findings.add(&found.span(), Complaint::new(FACTOR_SEGMENT, what, ALLOWED, hint));
        return BTreeMap::new();
    };
    let mut segments = BTreeMap::new();
    for (name, found) in in_file_order(table) {
        let text = found.get_ref().as_str();
        if let Some(segment) = text.and_then(Segment::from_id) {
            segments.insert(name.get_ref().to_string(), segment);
            continue;
        }
        let what = format!("{} ({})", findings.excerpt(&found.span()), type_words(found.get_ref()));
        let hint = text.and_then(hint::segment);
        let hint = hint.unwrap_or_else(|| "`narrows explain` lists the segments".to_owned());
        let path = crate::located::joined(FACTOR_SEGMENT, name.get_ref());
        findings.add(&found.span(), Complaint::new(path, what, ALLOWED, hint));
    }
    segments
}
