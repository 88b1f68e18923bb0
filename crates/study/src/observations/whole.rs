//! What tables lack, alone and together: keys that must be given, ids given twice, values that contradict each other.
//!
//! Not here: single values.

use super::ObservationFile;
use super::keys::{CeilingKeys, ObservationKeys, schema};
use crate::schema::{AnyField, Complaint, Findings, KeyFields, KeyMark, Span, TableRow, missing};
use std::collections::BTreeSet;

pub(super) fn whole(file: &ObservationFile, findings: &mut Findings<'_>) {
    required("", &(0..1), &file.head, findings);
    let is_empty = file.observations.is_empty() && file.claims.is_empty();
    if is_empty && !findings.mentions("observation") {
        let hint = "write [[observation]], and below it id = \"one\" and what is known of it";
        findings.add(&(0..0), Complaint::new("observation", "no observation", "one or more", hint));
    }
    for row in &file.ceilings {
        required("ceiling", &row.at, &row.keys, findings);
        one_capacity(row, findings);
    }
    for row in &file.observations {
        required("observation", &row.at, &row.keys, findings);
        clients(&row.keys, findings);
        order_of_times(&row.keys, findings);
    }
    for row in &file.claims {
        required("claim", &row.at, &row.keys, findings);
    }
    ids(&file.observations, findings);
}

/// Keys that must be given and are not.
fn required(table: &str, at: &Span, keys: &dyn KeyFields, findings: &mut Findings<'_>) {
    for complaint in missing(&schema().keys, keys, schema().table(table)) {
        findings.add(at, complaint);
    }
}

fn one_capacity(row: &TableRow<CeilingKeys>, findings: &mut Findings<'_>) {
    const ALLOWED: &str = "one of bytes_per_s, ops_per_s and latency_s";
    let capacities: [&dyn AnyField; 3] = [&row.keys.bytes_per_s, &row.keys.ops_per_s, &row.keys.latency_s];
    let given: Vec<&KeyMark> =
        capacities.iter().filter(|field| field.is_set()).map(|field| field.mark()).collect();
    let in_doubt = || capacities.iter().any(|field| field.mark().in_doubt);
    match given.as_slice() {
        [] if !in_doubt() => {
            let hint = "write for example bytes_per_s = 12.5e6";
            findings.add(&row.at, Complaint::new("ceiling", "a [[ceiling]] without a value", ALLOWED, hint));
        }
        [first, second, ..] => {
            let found = format!("{} with {}", second.name(), first.name());
            contradiction(second, found, ALLOWED, "write a separate [[ceiling]] for each", findings);
        }
        _ => {}
    }
}

/// As many clients as rates of clients.
fn clients(keys: &ObservationKeys, findings: &mut Findings<'_>) {
    let (Some(clients), Some(rates)) = (keys.clients.value, &keys.per_client_bytes_per_s.value) else {
        return;
    };
    if clients != rates.len() as u64 {
        let found = format!("{} rates for {clients} clients", rates.len());
        let hint = "list all of them, or omit clients; where only a mean is known, write bytes_per_s_per_client_mean";
        contradiction(&keys.per_client_bytes_per_s.mark, found, "the rate of every client", hint, findings);
    }
}

fn order_of_times(keys: &ObservationKeys, findings: &mut Findings<'_>) {
    let (Some(first), Some(last)) = (keys.elapsed_first_s.value, keys.elapsed_s.value) else { return };
    if first > last {
        let found = format!("{first} s for the first client, {last} s for the last");
        contradiction(
            &keys.elapsed_first_s.mark,
            found,
            "elapsed_s or less",
            "are the two swapped?",
            findings,
        );
    }
}

/// Ids that are given above already.
fn ids(rows: &[TableRow<ObservationKeys>], findings: &mut Findings<'_>) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for id in rows.iter().map(|row| &row.keys.id) {
        let (Some(text), Some(at)) = (&id.value, &id.mark.at) else { continue };
        if !seen.insert(text) {
            let found = format!("{} a second time", findings.excerpt(at));
            contradiction(&id.mark, found, "every id once", "give it a unique id", findings);
        }
    }
}

fn contradiction(mark: &KeyMark, found: String, allowed: &str, hint: &str, findings: &mut Findings<'_>) {
    let at = mark.at.clone().unwrap_or(0..0);
    findings.add(&at, Complaint::new(mark.path, found, allowed, hint));
}
