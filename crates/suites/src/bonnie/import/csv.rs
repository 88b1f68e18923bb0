//! The CSV of bonnie++: fields by position, and which position they have in which version.
//!
//! The header that 2.00 prints with `-x` names 48 columns for 50 fields, so names are no help. Not here: their meaning.

use super::run::{BonnieFigure, BonnieRun, LinkKind};
use crate::bonnie::DATA_PHASES;
use crate::bonnie::layout::{CsvLayout, V1_03, V1_96, V1_98};
use crate::import::source::{TextLine, TextWord, fields, lines};
use narrows_model::located::{Complaint, Findings};
use narrows_model::size::parse_size;

/// 1.96 and 1.97 print a comma too few where no data are tested (`-s 0`).
const WITHOUT_DATA: usize = V1_96.field_count - 1;
/// More commas than this are in no line of text around the results.
const COMMAS_MIN: usize = 10;
/// Beyond any rate.
const RATE_MAX: f64 = 1e12;
/// A hundred CPUs are none of one process.
const CPU_PERCENT_MAX: f64 = 1e4;

/// Whether a line is a result; whole or not.
pub(super) fn is_row(line: TextLine<'_>) -> bool {
    let first = line.text.split(',').next().unwrap_or_default().trim();
    let is_format_row = is_format(first) && line.text.contains(',');
    let is_header = is_header(line) || first == "name";
    let is_long = line.text.matches(',').count() >= COMMAS_MIN;
    is_format_row || (is_long && !is_header && layout_by_looks(line.text))
}

/// Whether a line is the header that 2.00 prints with `-x`; whole or not.
pub(super) fn is_header(line: TextLine<'_>) -> bool {
    line.text.trim_start().starts_with("format_version,")
}

/// Whether the fields from the second on look like those of a bonnie++ line: a version, or a size and figures.
fn layout_by_looks(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let versioned = fields.first().is_some_and(|first| is_format(first));
    let size = fields.get(1).is_some_and(|size| size.is_empty() || size_of(size).is_some());
    let figures = fields.iter().skip(2).all(|field| {
        field.is_empty()
            || field.starts_with('+')
            || field.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.')
    });
    versioned || (size && figures)
}

/// Whether a first field is the format of 1.9x and 2.00, and no name of a machine.
fn is_format(first: &str) -> bool {
    let digits = first.strip_prefix("1.9").or_else(|| first.strip_prefix("2.0"));
    digits.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.len() <= 3)
}

/// The runs of every line of results.
pub(super) fn runs(text: &str, findings: &mut Findings<'_>) -> Vec<BonnieRun> {
    let mut rows = lines(text).filter(|line| is_row(*line)).peekable();
    if let Some(header) = lines(text).find(|line| is_header(*line)).filter(|_| rows.peek().is_none()) {
        let hint = "the file is cut off after its header: give the output of a complete run";
        findings.add(
            &header.span(),
            Complaint::new("", "a header without rows", "a line of CSV for each run below it", hint),
        );
    }
    rows.filter_map(|line| run(line, findings)).collect()
}

fn run(line: TextLine<'_>, findings: &mut Findings<'_>) -> Option<BonnieRun> {
    let mut row = fields(line, |c| c == ',');
    let versioned = row.first().is_some_and(|first| is_format(&first.text));
    let (first, last) = (V1_96.size_index, V1_96.size_index + WITHOUT_DATA);
    let blank = row.iter().take(last).skip(first).take(13).all(|field| field.text.is_empty());
    if versioned && row.len() == WITHOUT_DATA && blank {
        let empty = TextWord { text: "".into(), span: line.span() };
        row.insert(V1_96.size_index, empty);
    }
    let layouts: &[&CsvLayout] = if versioned { &[&V1_96, &V1_98] } else { &[&V1_03] };
    let Some(layout) = layouts.iter().copied().find(|layout| layout.field_count == row.len()) else {
        let counts: Vec<String> = layouts
            .iter()
            .map(|layout| format!("{} (version {})", layout.field_count, layout.version))
            .collect();
        let found = format!("a line of {} fields", row.len());
        let hint = "the line is cut off or joined with another: give it complete, as bonnie++ printed it";
        findings.add(&line.span(), Complaint::new("", found, counts.join(", "), hint));
        return None;
    };
    Some(read_by_layout(layout, &row, findings))
}

fn read_by_layout(layout: &CsvLayout, row: &[TextWord<'_>], findings: &mut Findings<'_>) -> BonnieRun {
    let field = |index: usize| row.get(index).filter(|field| !field.text.is_empty());
    let optional = |index: Option<usize>| index.and_then(field);
    let mut run = BonnieRun {
        name: field(layout.name).map_or_else(|| "bonnie++".to_owned(), |name| name.text.clone().into_owned()),
        own_char_size: layout.latencies.is_some(),
        ..BonnieRun::default()
    };
    if let Some(size) = field(layout.size_index) {
        sizes(&mut run, size, findings);
    }
    if let Some(chunk) = optional(layout.chunk) {
        run.chunk_bytes = size_of(&chunk.text);
    }
    let mut count = |index: Option<usize>| optional(index).and_then(|word| counted(word, findings));
    run.concurrency = count(layout.concurrency);
    run.seeks = count(layout.seeks);
    run.seek_processes = count(layout.seeks.map(|index| index + 1));
    run.has_chunk_field = layout.chunk.is_some();
    run.files = field(layout.files()).and_then(|files| leading(&files.text));
    let mut sizes = [layout.files(), layout.files() + 1].into_iter().filter_map(field);
    run.links = sizes.find_map(|word| LinkKind::named(&word.text));
    for (index, figure) in run.figures.iter_mut().enumerate() {
        let at = if index < DATA_PHASES {
            layout.data + 2 * index
        } else {
            layout.names + 2 * (index - DATA_PHASES)
        };
        *figure = self::figure(row.get(at), row.get(at + 1), findings);
    }
    for (index, latency) in run.latencies.iter_mut().enumerate() {
        *latency =
            optional(layout.latencies.map(|first| first + index)).map(|word| word.text.clone().into_owned());
    }
    run
}

/// The figure and the CPU share of a test.
pub(super) fn figure(
    rate: Option<&TextWord<'_>>,
    cpu: Option<&TextWord<'_>>,
    findings: &mut Findings<'_>,
) -> BonnieFigure {
    let Some(rate) = rate.filter(|rate| !rate.text.is_empty()) else { return BonnieFigure::NotRun };
    if rate.text.starts_with("+++") {
        return BonnieFigure::TooFast;
    }
    let known = cpu.filter(|cpu| !cpu.text.is_empty() && !cpu.text.starts_with('+'));
    let rate = within(rate, RATE_MAX, findings);
    let cpu = known.and_then(|cpu| within(cpu, CPU_PERCENT_MAX, findings));
    rate.map_or(BonnieFigure::NotRun, |rate| BonnieFigure::Rate(rate, cpu))
}

fn within(word: &TextWord<'_>, most: f64, findings: &mut Findings<'_>) -> Option<f64> {
    let value = word.number().filter(|value| (0.0..=most).contains(value));
    if value.is_none() {
        let allowed = format!("a number from 0 to {most}, `+++++`, or nothing");
        let hint = "bonnie++ prints no such figure: check that the line is complete";
        findings.add(&word.span, Complaint::new("", format!("`{}`", word.text), allowed, hint));
    }
    value
}

/// A number of processes or of seeks.
fn counted(word: &TextWord<'_>, findings: &mut Findings<'_>) -> Option<f64> {
    const COUNT_MAX: f64 = 1e9;
    let value = word.number().filter(|count| (1.0..=COUNT_MAX).contains(count));
    if value.is_none() {
        let hint = "these fields are the number of processes and the number of seeks";
        let complaint =
            Complaint::new("", format!("`{}`", word.text), format!("a number from 1 to {COUNT_MAX}"), hint);
        findings.add(&word.span, complaint);
    }
    value
}

/// `SIZE` or `SIZE:CHUNK`; a bare size is in MiB.
pub(super) fn sizes(run: &mut BonnieRun, word: &TextWord<'_>, findings: &mut Findings<'_>) {
    let mut parts = word.text.split(':');
    run.file_bytes = parts.next().and_then(size_of);
    run.chunk_bytes = parts.next().and_then(size_of);
    if run.file_bytes.is_none() {
        let hint = "the second field of 1.03, the sixth of later versions, is the size of the file";
        let complaint =
            Complaint::new("", format!("`{}`", word.text), "a size such as 10G, 300M or 512M:64k", hint);
        findings.add(&word.span, complaint);
    }
}

fn size_of(text: &str) -> Option<u64> {
    let text = text.split(':').next().unwrap_or_default();
    let bare = text.bytes().all(|byte| byte.is_ascii_digit());
    let typed = if bare { format!("{text}M") } else { text.to_owned() };
    parse_size(&typed).ok().map(|bytes| bytes.0).filter(|bytes| (1..=1 << 53).contains(bytes))
}

/// The number that a field such as `16:1000:10/4` starts with.
pub(super) fn leading(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse::<f64>().ok().filter(|count| (1.0..=1e9).contains(count))
}
