//! IOPerf (STAR at the RHIC Computing Facility): a table with a row for each run and three columns for each of five tests.
//!
//! `rows` reads the table, as text, HTML or CSV; `checks` computes its figures again; here rows become observations.
//! Deliberately absent: running it.

mod cells;
mod checks;
mod glued;
mod html;
mod rows;

use super::{IoperfTest, KB, TESTS};
use crate::import::completion::{BLOCK, LOCAL, LOCAL_SECTIONS, PATH, PROCESSES, SECTION};
use crate::import::{Import, ImportOptions, Importer, LocalResults};
use narrows_model::cell::FactorValue;
use narrows_model::counters::Role;
use narrows_model::located::Findings;
use narrows_model::observation::ObservedOp;
use narrows_model::units::BytesPerSec;
use narrows_model::workload::StdioCalls;
use narrows_model::{Bytes, Observation, Observations, Op};
use rows::{IoperfImportRow, IoperfImportRowKind};

/// What a test does.
fn op_of(test: &IoperfTest) -> ObservedOp {
    if test.op == Op::Write { ObservedOp::Write } else { ObservedOp::Read }
}

/// Bytes of a call of a test, where that is fixed.
fn call_bytes(test: &IoperfTest) -> Option<Bytes> {
    match test.calls {
        StdioCalls::Character => Some(Bytes(1)),
        StdioCalls::Block => test.block,
    }
}

/// The importer.
pub(crate) static IMPORTER: Importer = Importer {
    name: "ioperf",
    title: "IOPerf",
    definition: "The table of results, a row for each run: tag, file size in KB, and KB/sec, RealKB/sec and CPU% of \
                 fwrite, fread, putc, getc and seek. As text (columns that run together are separated by the two digits of each figure), as HTML, or as CSV with the \
                 columns' names. A section called local is of the server itself. A first row \
                 `<pattern*>` with the hosts below it is one run of all of them. `--block` gives the buffer, \
                 `--processes` the number of processes of which an NPV row is the mean.",
    source: "IOPerf at the RHIC Computing Facility (STAR, 2002), its published tables",
    example: "rcas6001 400000 173.47 43478.26 0.40 254777.07 253164.56 100.64 ...",
    takes: &[BLOCK, PROCESSES, SECTION, LOCAL_SECTIONS],
    looks_like: rows::looks_like,
    reads_tables: true,
    read,
};

fn read(text: &str, completion: &ImportOptions, findings: &mut Findings<'_>) -> Import {
    let rows = rows::rows(text, findings);
    if let LocalResults::Sections(local) = &completion.local {
        rows::known_sections(&rows, local, LOCAL_SECTIONS, findings);
    }
    rows::known_sections(&rows, &completion.sections, SECTION, findings);
    let rows = rows::of_sections(rows, &completion.sections);
    let (claims, mut remarks) = checks::checks(&rows);
    remarks.extend(local_by_name(&rows, completion));
    let head = Observations { title: "IOPerf".to_owned(), claims, ..Observations::default() };
    let mut made = Import { observations: head, remarks, ..Import::default() };
    let mut index = 0;
    while let Some(row) = rows.get(index) {
        let hosts = rows::hosts_of(&rows, index);
        made.observations.observations.extend(observations(row, hosts, completion));
        index += 1 + hosts.len();
    }
    repeated(&mut made);
    made
}

/// Names that several rows have get their order, so that each is one of its own.
fn repeated(made: &mut Import) {
    let mut seen: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    for one in &mut made.observations.observations {
        let count = seen.entry(one.id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            one.id = format!("{} #{count}", one.id);
        }
    }
}

fn observations(
    row: &IoperfImportRow,
    hosts: &[IoperfImportRow],
    completion: &ImportOptions,
) -> Vec<Observation> {
    let all = TESTS.iter().enumerate();
    all.map(|(test, of)| {
        let mut one = Observation {
            id: format!("{} {}", row.name(), of.name),
            op: op_of(of),
            block_bytes: call_bytes(of).or(completion.block),
            file_bytes: file_bytes(row, of, completion),
            ..Observation::default()
        };
        rate(&mut one, row, hosts, test, completion);
        if let Some(cpu_percent) = row.figure(test, 2) {
            one.cpu_cores.insert(Role::Client, cpu_percent / 100.0);
        }
        if matches!(row.kind, IoperfImportRowKind::Driver | IoperfImportRowKind::Processes) {
            one.factors.insert("driver".to_owned(), FactorValue::Text("PV".to_owned()));
        }
        if is_local(row, completion) {
            one.factors.insert(PATH.to_owned(), FactorValue::Text(LOCAL.to_owned()));
        }
        one
    })
    .collect()
}

fn rate(
    one: &mut Observation,
    row: &IoperfImportRow,
    hosts: &[IoperfImportRow],
    test: usize,
    completion: &ImportOptions,
) {
    let own = row.figure(test, 0).map(|rate| BytesPerSec(rate * KB));
    match row.kind {
        IoperfImportRowKind::Mean if !hosts.is_empty() => {
            one.clients = Some(hosts.len() as u64);
            one.per_client_bytes_per_s =
                hosts.iter().filter_map(|host| host.figure(test, 0)).map(|rate| rate * KB).collect();
            one.note = Some("clients that started together".to_owned());
        }
        IoperfImportRowKind::Mean | IoperfImportRowKind::Processes => {
            one.bytes_per_s_per_client_mean = own;
            one.clients = completion.processes.filter(|_| row.kind == IoperfImportRowKind::Processes);
            one.note = Some("a mean; its clients are not listed separately".to_owned());
        }
        IoperfImportRowKind::Plain | IoperfImportRowKind::Driver => {
            one.bytes_per_s = own;
            one.clients = Some(1);
        }
    }
}

/// Bytes that a test moves: the file, and for seek 20 bytes an I/O, whose count is file over buffer.
fn file_bytes(row: &IoperfImportRow, of: &IoperfTest, completion: &ImportOptions) -> Option<Bytes> {
    let file = row.file_kb.map(|kb| whole_bytes(kb * KB))?;
    match of.block {
        Some(each) => {
            let buffer = completion.block.filter(|buffer| buffer.0 > 0);
            buffer.map(|buffer| Bytes(file.0 / buffer.0 * each.0))
        }
        None => Some(file),
    }
    .filter(|bytes| bytes.0 > 0)
}

/// A size that was checked to be a whole number within range.
fn whole_bytes(bytes: f64) -> Bytes {
    Bytes(narrows_model::units::round_to_u64(bytes))
}

fn is_local(row: &IoperfImportRow, completion: &ImportOptions) -> bool {
    match &completion.local {
        LocalResults::Sections(sections) => {
            row.section.as_ref().is_some_and(|section| sections.contains(section))
        }
        LocalResults::None => row.section.as_deref().is_some_and(is_called_local),
        LocalResults::All => false,
    }
}

/// Whether a section is one of the server itself by its name, such as `server-local`.
fn is_called_local(section: &str) -> bool {
    section.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word.eq_ignore_ascii_case(LOCAL))
}

/// Which sections were taken as measured without a network because of their names.
fn local_by_name(rows: &[IoperfImportRow], completion: &ImportOptions) -> Option<String> {
    if completion.local != LocalResults::None {
        return None;
    }
    let mut names: Vec<&str> =
        rows.iter().filter_map(|row| row.section.as_deref()).filter(|name| is_called_local(name)).collect();
    names.dedup();
    let first = names.first()?;
    Some(format!(
        "Taken as measured on the server itself by its name: {}; --local={first} says so too, and another section \
         replaces it.",
        names.join(", ")
    ))
}
