//! dd: the last line of each copy, with its bytes and its seconds.
//!
//! Deliberately absent: running it, and what dd does not print, such as what it copied from and to.

use super::source::{TextLine, TextWord, lines, words};
use super::{Import, ImportOptions, Importer};
use narrows_model::located::{Complaint, Findings};
use narrows_model::units::{BytesPerSec, ratio};
use narrows_model::{Bytes, Observation, Observations};
use std::ops::RangeInclusive;

#[cfg(test)]
mod tests;

/// The importer.
pub(crate) static IMPORTER: Importer = Importer {
    name: "dd",
    title: "dd",
    definition: "The last line of each copy in the C locale; several in one file are several runs, and so is what dd \
                 prints on SIGUSR1. The rate is computed from bytes and seconds, and the printed sizes and the printed \
                 rate must agree with it. Where all records are whole, bytes over `records out` is the block. Lines of \
                 `status=progress`, and copies of nothing, are left out. dd does not print whether it read or wrote a \
                 file: `op` remains to be written.",
    source: "dd of GNU coreutils 9.1, what it prints; the form since coreutils 8.24",
    example: EXAMPLE,
    takes: &[],
    looks_like,
    reads_tables: false,
    read,
};

/// A line of the output.
const EXAMPLE: &str = "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.5 s, 2.1 GB/s";
/// Most bytes that an observation file takes.
const BYTES_MAX: u64 = 1 << 53;
/// Seconds that an observation file takes.
const SECONDS: RangeInclusive<f64> = 1e-12..=1e12;
/// Most bytes a second that an observation file takes.
const RATE_MAX: f64 = 1e18;
/// How far a printed figure is from its value at most, in units of its last digit: half of one, and what the seconds are
/// rounded by.
const ROUNDING: f64 = 0.6;

fn looks_like(text: &str) -> bool {
    lines(text).any(is_result)
}

/// Whether a line has the form of a result. Lines of progress start with a carriage return.
fn is_result(line: TextLine<'_>) -> bool {
    line.text.contains(" copied, ") && !line.text.contains('\r') && starts_with_bytes(line)
}

fn starts_with_bytes(line: TextLine<'_>) -> bool {
    let mut row = line.text.split(' ');
    let is_count =
        row.next().is_some_and(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()));
    is_count && matches!(row.next(), Some("byte" | "bytes"))
}

/// What the lines above a result say of its copy.
#[derive(Debug, Clone, Copy, Default)]
struct CopyHead {
    /// Whether the line with the records that were written was seen.
    is_complete: bool,
    /// Whole records that were written, where there were no others.
    whole_records: Option<u64>,
    /// Whether dd printed an error or a warning.
    has_errors: bool,
}

impl CopyHead {
    /// Adds what `line` says.
    fn see(&mut self, line: &str) {
        if let Some((whole, partial)) = line.strip_suffix(" records out").and_then(|two| two.split_once('+'))
        {
            self.is_complete = true;
            self.whole_records = whole.parse().ok().filter(|_| partial == "0");
        }
        self.has_errors |= line.starts_with("dd: ");
    }
}

fn read(text: &str, _: &ImportOptions, findings: &mut Findings<'_>) -> Import {
    let mut made = Import {
        observations: Observations { title: "dd".to_owned(), ..Observations::default() },
        ..Import::default()
    };
    let (mut head, mut run, mut progress_count) = (CopyHead::default(), 0_u32, 0_u32);
    let mut rest = lines(text).peekable();
    while let Some(line) = rest.next() {
        let is_cut = head.is_complete && starts_with_bytes(line);
        if !is_result(line) && !is_cut {
            progress_count += u32::from(line.text.contains(" copied, "));
            head.see(line.text);
            continue;
        }
        if !head.is_complete && rest.peek().is_some_and(|next| next.text.ends_with(" records in")) {
            progress_count += 1;
            continue;
        }
        run += 1;
        add(run, line, head, findings, &mut made);
        head = CopyHead::default();
    }
    if progress_count > 0 {
        made.remarks.push(format!("{progress_count} lines of progress are left out."));
    }
    if run > 0 {
        let remark = "dd does not print whether it read or wrote: write op = \"read\" or op = \"write\".";
        made.remarks.push(remark.to_owned());
    }
    made
}

/// Adds the observation of one result, or the problem that it has.
fn add(run: u32, line: TextLine<'_>, head: CopyHead, findings: &mut Findings<'_>, made: &mut Import) {
    let result = match result(line) {
        Ok(result) => result,
        Err(complaint) => return findings.add(&line.span(), complaint),
    };
    if result.bytes == 0 {
        made.remarks.push(format!("Run {run} copied nothing and is left out."));
        return;
    }
    if head.has_errors {
        made.remarks.push(format!(
            "Run {run}: dd printed an error or a warning; its bytes are those that were copied all the same."
        ));
    }
    let block = head.whole_records.filter(|records| *records > 0 && result.bytes.is_multiple_of(*records));
    made.observations.observations.push(Observation {
        id: format!("run {run}"),
        clients: Some(1),
        file_bytes: Some(Bytes(result.bytes)),
        block_bytes: block.map(|records| Bytes(result.bytes / records)),
        elapsed_s: Some(result.seconds),
        bytes_per_s: Some(BytesPerSec(result.bytes_per_s)),
        ..Observation::default()
    });
}

/// The figures of a result.
#[derive(Debug)]
struct CopyResult {
    bytes: u64,
    seconds: f64,
    bytes_per_s: f64,
}

/// The figures of a line, or what is wrong with it.
fn result(line: TextLine<'_>) -> Result<CopyResult, Complaint> {
    let cut = || {
        let hint = "look whether the line is whole, and run dd with LC_ALL=C: other locales print a comma";
        Complaint::new("", "a result whose figures cannot be read", EXAMPLE, hint)
    };
    let row = words(line, |c| c.is_whitespace() || c == ',');
    let copied = row.iter().position(|word| word.text == "copied").ok_or_else(cut)?;
    let (before, after) = row.split_at(copied);
    let bytes: u64 = before.first().and_then(|word| word.text.parse().ok()).ok_or_else(cut)?;
    let sizes = before.get(2..).and_then(sizes).ok_or_else(cut)?;
    let [_, seconds, unit, rate, rate_unit] = after else { return Err(cut()) };
    let seconds = seconds.number().filter(|_| unit.text == "s").ok_or_else(cut)?;
    let printed = rate_unit.text.strip_suffix("/s").and_then(|unit| PrintedSize::new(&rate.text, unit));
    let printed = printed.ok_or_else(cut)?;
    let bytes_per_s = ratio(bytes as f64, seconds).unwrap_or(f64::INFINITY);
    if bytes > BYTES_MAX || !SECONDS.contains(&seconds) || bytes_per_s > RATE_MAX {
        let allowed = format!("at most {BYTES_MAX} bytes, and 1e-12 to 1e12 s");
        let hint = "correct the line, or leave this run out";
        return Err(Complaint::new("", "a figure out of range", allowed, hint));
    }
    if !printed.agrees_with(bytes_per_s) || !sizes.iter().all(|size| size.agrees_with(bytes as f64)) {
        let hint = "look whether a digit was lost, and correct the line or leave this run out";
        let allowed = "sizes that are the bytes rounded, and a rate that is bytes over seconds";
        return Err(Complaint::new("", "figures that contradict each other", allowed, hint));
    }
    Ok(CopyResult { bytes, seconds, bytes_per_s })
}

/// The sizes in brackets, of which there are none, one or two; `None` where they have another form.
fn sizes(row: &[TextWord<'_>]) -> Option<Vec<PrintedSize>> {
    let [first, .., last] = row else { return row.is_empty().then(Vec::new) };
    let is_bracketed = first.text.starts_with('(') && last.text.ends_with(')');
    let size = |pair: &[TextWord<'_>]| match pair {
        [number, unit] => {
            PrintedSize::new(number.text.trim_start_matches('('), unit.text.trim_end_matches(')'))
        }
        _ => None,
    };
    let sizes = row.chunks(2).map(size).collect::<Option<Vec<_>>>()?;
    (is_bracketed && sizes.len() <= 2).then_some(sizes)
}

/// A rounded figure with a unit, as it is printed.
#[derive(Debug, Clone, Copy)]
struct PrintedSize {
    number: f64,
    /// Bytes of the unit.
    unit_bytes: f64,
    /// What one in the last digit is.
    last_digit: f64,
}

impl PrintedSize {
    /// The figure; `None` where the number or the unit is none.
    fn new(text: &str, unit: &str) -> Option<Self> {
        let number = super::source::number(text)?;
        let unit_bytes = unit_bytes(unit)?;
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        Some(Self { number, unit_bytes, last_digit: 10_f64.powi(-i32::try_from(decimals).ok()?) })
    }

    /// Whether it is `bytes` rounded.
    fn agrees_with(self, bytes: f64) -> bool {
        (bytes / self.unit_bytes - self.number).abs() <= ROUNDING * self.last_digit
    }
}

/// Bytes of a unit: B, kB to EB in powers of 1000, KiB to EiB in powers of 1024.
fn unit_bytes(unit: &str) -> Option<f64> {
    let (prefix, base) = match unit.strip_suffix("iB") {
        Some(prefix) => (prefix, 1024_f64),
        None => (unit.strip_suffix('B')?, 1000_f64),
    };
    let power =
        ["", "k", "M", "G", "T", "P", "E"].iter().position(|known| known.eq_ignore_ascii_case(prefix))?;
    i32::try_from(power).ok().map(|power| base.powi(power))
}
