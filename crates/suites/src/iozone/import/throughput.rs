//! Throughput mode of IOzone (`-t N`): processes that start together, and stop when the first is done.
//!
//! The children's sum adds rates of processes that did not all run all of the time; the parent's is all bytes over all time.

use super::super::throughput::shared_words;
use super::{FigureUnit, KIB, RATE_MAX};
use crate::import::source::{TextLine, TextWord, lines, words};
use narrows_model::located::{Complaint, Findings};
use narrows_model::observation::ObservedOp;
use narrows_model::units::{BytesPerSec, OpsPerSec, ratio, round_to_u64};
use narrows_model::{Bytes, Observation, Role};

/// What the line of -+u begins with, in small letters.
const CPU: &str = "cpu utilization: wall time";
/// More cores no machine has.
const CORES_MAX: f64 = 1e6;

/// One test of several processes.
#[derive(Debug, Clone, Default)]
struct ThroughputGroup {
    what: String,
    processes: u64,
    unit: Option<FigureUnit>,
    children: f64,
    parent: Option<f64>,
    least: Option<f64>,
    most: Option<f64>,
    /// Busy cores, where CPU time was printed and is above nothing.
    cores: Option<f64>,
    file_kib: Option<f64>,
    record_kib: Option<f64>,
}

/// The observations of throughput mode, and a sentence on each that is to be read with care.
pub(super) fn observations(text: &str, findings: &mut Findings<'_>) -> (Vec<Observation>, Vec<String>) {
    let groups = groups(text, findings);
    let mut seen = std::collections::BTreeMap::new();
    let (mut all, mut remarks) = (Vec::new(), Vec::new());
    for group in &groups {
        let mut one = observation(group);
        let count: &mut u32 = seen.entry(one.id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            one.id = format!("{} #{count}", one.id);
        }
        remarks.extend(remark(group, &one.id));
        let children = children(group, &one);
        all.push(one);
        all.extend(children);
    }
    (all, remarks)
}

fn groups(text: &str, findings: &mut Findings<'_>) -> Vec<ThroughputGroup> {
    let mut groups: Vec<ThroughputGroup> = Vec::new();
    let (mut file_kib, mut record_kib) = (None, None);
    for line in lines(text) {
        if line.text.contains("Each process writes a") {
            let sizes: Vec<f64> =
                words(line, char::is_whitespace).iter().filter_map(TextWord::number).collect();
            (file_kib, record_kib) = (sizes.first().copied(), sizes.get(1).copied());
        }
        if line.text.trim_start().starts_with("Children see throughput") {
            if let Some(group) = started(line, findings) {
                groups.push(ThroughputGroup { file_kib, record_kib, ..group });
            }
        } else if let Some(group) = groups.last_mut() {
            if line.text.trim_start().to_ascii_lowercase().starts_with(CPU) {
                group.cores = cores(line, findings);
                continue;
            }
            let place = match line.text.trim_start() {
                rest if rest.starts_with("Parent sees throughput") => &mut group.parent,
                rest if rest.starts_with("Min throughput per process") => &mut group.least,
                rest if rest.starts_with("Max throughput per process") => &mut group.most,
                _ => continue,
            };
            *place = value(line, findings);
        }
    }
    groups
}

/// `Children see throughput for  4 initial writers  =  262144.00 kB/sec`.
fn started(line: TextLine<'_>, findings: &mut Findings<'_>) -> Option<ThroughputGroup> {
    let children = value(line, findings)?;
    let (_, after) = line.text.split_once(" for ")?;
    let (what, rate) = after.split_once('=')?;
    let mut what = what.split_whitespace();
    let processes = what.next()?.parse::<u64>().ok().filter(|count| (1..=1_000_000).contains(count))?;
    let unit = if rate.contains("ops/sec") { FigureUnit::OpsPerS } else { FigureUnit::KbPerS };
    let what = what.collect::<Vec<_>>().join(" ");
    Some(ThroughputGroup { what, processes, unit: Some(unit), children, ..ThroughputGroup::default() })
}

/// `CPU Utilization: Wall time    2.671    CPU time    1.974    CPU utilization  73.89 %`: of all processes over the longest
/// wall time.
fn cores(line: TextLine<'_>, findings: &mut Findings<'_>) -> Option<f64> {
    let figures: Vec<f64> = words(line, char::is_whitespace).iter().filter_map(TextWord::number).collect();
    let busy_cores = match figures.as_slice() {
        [_, _, percent] => Some(percent / 100.0),
        // The share was cut off or wrapped.
        [wall_s, cpu_s] => ratio(*cpu_s, *wall_s),
        _ => None,
    };
    let busy_cores = busy_cores.filter(|cores| (0.0..=CORES_MAX).contains(cores));
    if busy_cores.is_none() {
        let hint = "the line is cut off: give the output as IOzone printed it";
        let allowed = "`... Wall time SECONDS CPU time SECONDS CPU utilization PERCENT %`";
        findings.add(&line.span(), Complaint::new("", "no CPU time", allowed, hint));
    }
    busy_cores.filter(|cores| *cores > 0.0)
}

fn value(line: TextLine<'_>, findings: &mut Findings<'_>) -> Option<f64> {
    let row = words(line, |c| c.is_whitespace() || c == '=');
    let equals = line.start + line.text.find('=').unwrap_or(line.text.len());
    let word = row.iter().find(|word| word.span.start >= equals);
    let value = word.and_then(TextWord::number).filter(|value| (0.0..=super::matrix::MOST).contains(value));
    if value.is_none() {
        let found = word.map_or_else(|| "no rate".to_owned(), |word| format!("`{}`", word.text));
        let hint = "the line is cut off: give the output as IOzone printed it";
        findings.add(&line.span(), Complaint::new("", found, "`... = RATE kB/sec`", hint));
    }
    value
}

fn observation(group: &ThroughputGroup) -> Observation {
    let bytes = |kib: Option<f64>| kib.map(|kib| Bytes(round_to_u64(kib * KIB))).filter(|bytes| bytes.0 > 0);
    let mut one = Observation {
        id: format!("{} x {}", group.what, group.processes),
        op: op(&group.what),
        clients: Some(group.processes),
        block_bytes: bytes(group.record_kib),
        file_bytes: bytes(group.file_kib),
        ..Observation::default()
    };
    one.factors.insert("pattern".to_owned(), narrows_model::cell::FactorValue::Text(group.what.clone()));
    let rate = group.parent.unwrap_or(group.children);
    match group.unit {
        Some(FigureUnit::OpsPerS) => {
            one.ops_per_s = Some(OpsPerSec(rate));
            one.bytes_per_s = group
                .record_kib
                .map(|record| rate * record * KIB)
                .filter(|rate| *rate <= RATE_MAX)
                .map(BytesPerSec);
        }
        _ => one.bytes_per_s = Some(BytesPerSec(rate * KIB)),
    }
    one.note =
        group.parent.map(|_| format!("as the parent saw it; the children's sum is {}", group.children));
    if group.parent.is_none() {
        one.quality = narrows_model::observation::Quality::UpperBound;
        one.note = Some("the children's sum of rates; the parent's is not printed".to_owned());
    }
    match group.cores {
        // One process has at most one core: what it used of that can be evaluated.
        Some(cores) if group.processes == 1 => {
            one.cpu_cores.insert(Role::Client, cores);
        }
        Some(cores) => {
            let busy = format!("{cores:.2} cores of the client were busy");
            one.note = Some(one.note.map_or_else(|| busy.clone(), |note| format!("{note}; {busy}")));
        }
        None => {}
    }
    one
}

/// What the children saw, where the parent's figure is another one: each child's clock stops before its fsync, close and
/// end, and before others have ended.
fn children(group: &ThroughputGroup, parent: &Observation) -> Option<Observation> {
    group.parent?;
    let sum = group.children;
    let in_bytes = |rate: f64| Some(BytesPerSec(rate)).filter(|rate| rate.0 <= RATE_MAX);
    let (ops_per_s, bytes_per_s) = match group.unit {
        Some(FigureUnit::OpsPerS) => {
            (Some(OpsPerSec(sum)), group.record_kib.and_then(|record| in_bytes(sum * record * KIB)))
        }
        _ => (None, in_bytes(sum * KIB)),
    };
    let mut one = Observation {
        id: format!("{} (children)", parent.id),
        ops_per_s,
        bytes_per_s,
        quality: narrows_model::observation::Quality::UpperBound,
        note: Some(
            "the sum of the children's own rates, before the fsync and the close of their files".to_owned(),
        ),
        cpu_cores: std::collections::BTreeMap::new(),
        ..parent.clone()
    };
    let pattern = format!("{} (children)", group.what);
    one.factors.insert("pattern".to_owned(), narrows_model::cell::FactorValue::Text(pattern));
    Some(one)
}

fn op(what: &str) -> ObservedOp {
    if what.contains("mixed") {
        ObservedOp::Mixed
    } else if what.contains("writer") {
        ObservedOp::Write
    } else {
        ObservedOp::Read
    }
}

fn remark(group: &ThroughputGroup, id: &str) -> Option<String> {
    let writes = op(&group.what) != ObservedOp::Read;
    let words = shared_words((group.children, group.parent), (group.least, group.most), writes)?;
    Some(format!("{id}: {words}."))
}
