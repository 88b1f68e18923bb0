//! What rows lack, alone and together: keys that must be given, ids given twice, values that contradict each other.
//!
//! Not here: single values, which are `value`'s.

use super::keys::{KEYS, Need, Table};
use super::table::{Row, Rows};
use super::value::Value;
use crate::located::{Complaint, Findings};
use std::collections::BTreeSet;

pub(super) fn whole(rows: &Rows, findings: &mut Findings<'_>) {
    required(Table::Top, &rows.top, findings);
    if rows.observations.is_empty() && rows.claims.is_empty() && !findings.mention("observation") {
        let hint = "write [[observation]], and below it id = \"one\" and what is known of it";
        findings.add(&(0..0), Complaint::new("observation", "no observation", "one or more", hint));
    }
    for row in &rows.ceilings {
        required(Table::Ceiling, row, findings);
        one_capacity(row, findings);
    }
    for row in &rows.observations {
        required(Table::Observation, row, findings);
        clients(row, findings);
        order_of_times(row, findings);
    }
    for row in &rows.claims {
        required(Table::Claim, row, findings);
    }
    ids(&rows.observations, findings);
}

/// Keys that must be given and are not.
fn required(table: Table, row: &Row, findings: &mut Findings<'_>) {
    let missing = KEYS.iter().filter(|key| key.table == table && key.need == Need::Required).filter(|key| {
        let in_doubt = || row.in_doubt.iter().any(|name| name == key.name || alike(name, key.name));
        !row.entries.contains_key(key.name) && !in_doubt()
    });
    for key in missing {
        let found = match table {
            Table::Top => format!("no {}", key.name),
            _ => format!("a [[{}]] without {}", table.name(), key.name),
        };
        let hint = format!("write {} = {}", key.name, key.example);
        findings.add(&head(row), Complaint::new(key.path(), found, key.kind.allowed(), hint));
    }
}

/// The first character of a row, so that the head of its table is shown.
fn head(row: &Row) -> crate::located::Span {
    row.at.start..row.at.start + 1
}

/// Whether an unknown key was meant for a known one, so that it is not told as missing too.
fn alike(found: &str, key: &str) -> bool {
    crate::located::nearest(found, std::iter::once(key)).is_some()
}

fn one_capacity(row: &Row, findings: &mut Findings<'_>) {
    const CAPACITIES: [&str; 3] = ["bytes_per_s", "ops_per_s", "latency_s"];
    let given: Vec<&str> = CAPACITIES.into_iter().filter(|name| row.entries.contains_key(name)).collect();
    let in_doubt =
        || CAPACITIES.iter().any(|name| row.in_doubt.iter().any(|known| known == name || alike(known, name)));
    let allowed = "one of bytes_per_s, ops_per_s and latency_s";
    match given.as_slice() {
        [] if !in_doubt() => {
            let complaint = Complaint::new(
                "ceiling",
                "a [[ceiling]] without a value",
                allowed,
                "write for example bytes_per_s = 12.5e6",
            );
            findings.add(&head(row), complaint);
        }
        [first, second, ..] => {
            let found = format!("{second} beside {first}");
            let hint = "write a [[ceiling]] of its own for each";
            findings
                .add(&row.place(second), Complaint::new(format!("ceiling.{second}"), found, allowed, hint));
        }
        _ => {}
    }
}

/// As many clients as rates of clients.
fn clients(row: &Row, findings: &mut Findings<'_>) {
    let (Some(Value::Whole(clients)), Some(Value::Numbers(rates))) =
        (row.value("clients"), row.value("per_client_bytes_per_s"))
    else {
        return;
    };
    if *clients != rates.len() as u64 {
        let found = format!("{} rates for {clients} clients", rates.len());
        let complaint = Complaint::new(
            "observation.per_client_bytes_per_s",
            found,
            "the rate of every client",
            "list all of them, or leave clients out; where only a mean is known, write bytes_per_s_per_client_mean",
        );
        findings.add(&row.place("per_client_bytes_per_s"), complaint);
    }
}

fn order_of_times(row: &Row, findings: &mut Findings<'_>) {
    let (Some(Value::Number(first)), Some(Value::Number(last))) =
        (row.value("elapsed_first_s"), row.value("elapsed_s"))
    else {
        return;
    };
    if first > last {
        let found = format!("{first} s for the first client, {last} s for the last");
        let hint = "are the two exchanged?";
        let complaint = Complaint::new("observation.elapsed_first_s", found, "elapsed_s or less", hint);
        findings.add(&row.place("elapsed_first_s"), complaint);
    }
}

/// Ids that stand above already.
fn ids(rows: &[Row], findings: &mut Findings<'_>) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for row in rows {
        let Some(Value::Text(id)) = row.value("id") else { continue };
        if !seen.insert(id) {
            let found = format!("{} a second time", findings.excerpt(&row.place("id")));
            let complaint =
                Complaint::new("observation.id", found, "every id once", "give it an id of its own");
            findings.add(&row.place("id"), complaint);
        }
    }
}
