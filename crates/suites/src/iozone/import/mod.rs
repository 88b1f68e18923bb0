//! IOzone: the table of records and files, the spreadsheet blocks of `-R`, and throughput mode.
//!
//! `matrix`, `sheet` and `throughput` read the three; `surface` names the ridges of the first two. Deliberately absent:
//! running it, and the binary file of `-b`.

mod matrix;
mod sheet;
mod surface;
mod throughput;

use super::columns::{AccessPattern, COLUMNS, CallKind, IozoneColumn};
use super::request::FigureUnit;
use crate::import::source::{TextLine, lines};
use crate::import::{Import, ImportOptions, Importer};
use narrows_model::cell::FactorValue;
use narrows_model::located::{Complaint, Findings};
use narrows_model::observation::ObservedOp;
use narrows_model::units::{BytesPerSec, OpsPerSec, ratio, round_to_u64};
use narrows_model::{Bytes, Observation, Observations, Op, Role};

/// Sizes and rates are in KiB.
const KIB: f64 = 1024.0;
/// A faster rate an observation does not take: its row was damaged.
const RATE_MAX: f64 = 1e18;

/// What a whole output starts with, and the blocks of `-R`; and what each of them ends with.
const STARTS: [&str; 2] = [BANNER, "Excel output is below:"];
const BANNER: &str = "Iozone: Performance Test of File I/O";
const END: &str = "iozone test complete";

/// The importer.
pub(crate) static IMPORTER: Importer = Importer {
    name: "iozone",
    title: "IOzone",
    definition: "The table `kB reclen write rewrite ...` of any version, each figure assigned by the column under \
                 which it ends, 0 for a skipped cell; the blocks of -R (\"Writer report\" and so on), where there is \
                 no table; and throughput mode (-t): the throughput seen by the parent, and the children's sum. Rates \
                 in kB/s, with -O in operations a second, with -N in microseconds an operation. CPU shares of -+u \
                 become busy cores of the client where one process ran; for several they are in the note, because the \
                 number of cores is not printed. Not read: the binary file of -b, the transfer counts of -C.",
    source: "IOzone 3 by William Norcott and Don Capps: its documentation, and results that were published",
    example: "262144 64 115506 122981 229070 229314 133219 129767",
    takes: &[],
    looks_like,
    reads_tables: false,
    read,
};

/// Columns that are in the table: all but that of mixed requests.
fn table_columns() -> impl Iterator<Item = &'static IozoneColumn> {
    COLUMNS.iter().filter(|column| !column.is_mixed())
}

/// What a test does: tests of one pattern are compared.
fn pattern(column: &IozoneColumn) -> &'static str {
    match (column.visit, column.calls, column.is_retest) {
        (AccessPattern::Random, ..) => "random",
        (AccessPattern::Backward, ..) => "backward",
        (AccessPattern::OneRecord, ..) => "one record",
        (AccessPattern::Stride, ..) => "stride",
        (AccessPattern::Forward, CallKind::AtPosition, false) => "first",
        (AccessPattern::Forward, CallKind::AtPosition, true) => "again",
        (AccessPattern::Forward, CallKind::Stdio, false) => "stdio",
        (AccessPattern::Forward, CallKind::Stdio, true) => "stdio again",
        (AccessPattern::Forward, CallKind::AtOffset, false) => "positioned",
        (AccessPattern::Forward, CallKind::AtOffset, true) => "positioned again",
        (AccessPattern::Forward, CallKind::Vectors, false) => "vectors",
        (AccessPattern::Forward, CallKind::Vectors, true) => "vectors again",
    }
}

fn op_of(column: &IozoneColumn) -> ObservedOp {
    if column.op == Op::Write { ObservedOp::Write } else { ObservedOp::Read }
}

/// One figure of the surface.
#[derive(Debug, Clone, Copy, PartialEq)]
struct IozoneImportPoint {
    test: &'static IozoneColumn,
    file_kib: f64,
    record_kib: f64,
    value: f64,
}

fn looks_like(text: &str) -> bool {
    let table = text.lines().any(matrix::is_header);
    table
        || text.contains(BANNER)
        || text.contains("Children see throughput")
        || text.lines().any(|line| sheet::report(line).is_some())
}

fn read(text: &str, _: &ImportOptions, findings: &mut Findings<'_>) -> Import {
    if let Some(line) = stopped(text) {
        findings.add(&line.span(), unfinished());
        return Import::default();
    }
    let unit = unit(text);
    let mut points = matrix::points(text, findings);
    if points.is_empty() && findings.is_empty() {
        points = sheet::points(text, findings);
    }
    let mut made = Import {
        observations: Observations { title: title(text), ..Observations::default() },
        remarks: surface::ridges(&points, unit),
        ..Import::default()
    };
    let mut seen = std::collections::BTreeMap::new();
    let cpu = sheet::cpu_percents(text, findings);
    for point in &points {
        let mut one = observation(point, unit);
        one.cpu_cores.extend(cpu_cores(&cpu, point).map(|cores| (Role::Client, cores)));
        let count: &mut u32 = seen.entry(one.id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            one.id = format!("{} #{count}", one.id);
        }
        made.observations.observations.push(one);
    }
    let (threads, remarks) = throughput::observations(text, findings);
    made.observations.observations.extend(threads);
    made.remarks.extend(remarks);
    made
}

/// The cores that the one process of a point kept busy.
fn cpu_cores(percents: &[IozoneImportPoint], point: &IozoneImportPoint) -> Option<f64> {
    let key = |one: &IozoneImportPoint| (one.test.name, one.file_kib.to_bits(), one.record_kib.to_bits());
    percents.iter().find(|one| key(one) == key(point)).map(|one| one.value / 100.0)
}

/// The line that a whole output starts with, where the one is missing that ends it.
fn stopped(text: &str) -> Option<TextLine<'_>> {
    let starts = |line: &TextLine<'_>| STARTS.iter().any(|start| line.text.contains(start));
    lines(text).find(starts).filter(|_| !text.contains(END))
}

fn unfinished() -> Complaint {
    Complaint::new(
        "",
        "a run that does not end",
        format!("output with its last line, `{END}`"),
        "the run was stopped or its output cut off: give all of it, or only the complete rows without the lines above \
         their headings",
    )
}

fn unit(text: &str) -> FigureUnit {
    if text.contains("OPS Mode.") || text.contains("Output is in ops/sec") {
        FigureUnit::OpsPerS
    } else if text.contains("Microseconds/op Mode") || text.contains("Output is in microseconds per") {
        FigureUnit::MicrosPerOp
    } else {
        FigureUnit::KbPerS
    }
}

/// The command, where the output has it: it says more than the tool's name.
fn title(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    let command = text.lines().find_map(|line| line.split_once("Command line used:"));
    let command = command.map(|(_, command)| command.trim().chars().take(CHARS_MAX).collect::<String>());
    command.filter(|command| !command.is_empty()).unwrap_or_else(|| "IOzone".to_owned())
}

fn observation(point: &IozoneImportPoint, unit: FigureUnit) -> Observation {
    let IozoneImportPoint { test, file_kib, record_kib, value } = *point;
    let mut one = Observation {
        id: format!("{} {file_kib}/{record_kib}", test.name),
        op: op_of(test),
        block_bytes: Some(Bytes(round_to_u64(record_kib * KIB))),
        file_bytes: Some(Bytes(round_to_u64(file_kib * KIB))),
        ..Observation::default()
    };
    let ops_per_s = match unit {
        FigureUnit::KbPerS => None,
        FigureUnit::OpsPerS => Some(value),
        FigureUnit::MicrosPerOp => ratio(1e6, value),
    };
    one.ops_per_s = ops_per_s.filter(|rate| *rate <= RATE_MAX).map(OpsPerSec);
    let bytes_per_s = ops_per_s.map_or(value * KIB, |ops| ops * record_kib * KIB);
    one.bytes_per_s = Some(bytes_per_s).filter(|rate| *rate <= RATE_MAX).map(BytesPerSec);
    one.latency_s = (unit == FigureUnit::MicrosPerOp).then_some(value * 1e-6);
    one.factors.insert("file_kib".to_owned(), FactorValue::Number(file_kib));
    one.factors.insert("pattern".to_owned(), FactorValue::Text(pattern(test).to_owned()));
    one
}
