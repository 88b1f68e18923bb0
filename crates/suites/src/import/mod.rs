//! What other tools printed, as observations: parsers from bytes to values, each with every problem located.
//!
//! [`import`] finds the format, an [`Importer`] reads it, `completion` adds what no native output has and the caller knows.
//! The importer of a suite's output is in the suite's folder; the list of all, [`IMPORTERS`], is in the crate's root.
//! Deliberately absent: files (the bytes are passed in), and any verdict, which is `analysis`' on the observations.

pub(crate) mod completion;
pub(crate) mod dd;
mod decode;
mod foreign;
mod page;
pub(crate) mod source;
// new importer: module

pub use completion::{ImportOptions, LocalResults};

use crate::IMPORTERS;
use narrows_model::Observations;
use narrows_model::located::{Complaint, FileProblems, Findings};

/// Most bytes that are read: the longest runs print a few thousand lines, and more is some other file.
pub const TEXT_BYTES_MAX: usize = 4 << 20;
/// Most observations that an import makes, as many as an observation file may contain.
const OBSERVATIONS_MAX: usize = 10_000;

/// A tool whose native output can be imported.
#[derive(Debug)]
pub struct Importer {
    /// Its name on the command line.
    pub name: &'static str,
    /// The tool, in one line.
    pub title: &'static str,
    /// Which of its outputs are read.
    pub definition: &'static str,
    /// What the format rests on.
    pub source: &'static str,
    /// A line of such an output.
    pub example: &'static str,
    /// Options of which only some outputs have a use, and this one has.
    pub takes: &'static [&'static str],
    /// Whether a text looks like such an output.
    pub(crate) looks_like: fn(&str) -> bool,
    /// Whether it reads tables of web pages itself, cell by cell.
    pub(crate) reads_tables: bool,
    /// Reads it.
    pub(crate) read: fn(&str, &ImportOptions, &mut Findings<'_>) -> Import,
}

/// What an import gives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Import {
    /// The importer that read it.
    pub format: &'static str,
    /// The figures.
    pub observations: Observations,
    /// What was checked, left out or found to be wrong, a sentence each.
    pub remarks: Vec<String>,
    /// What no native output contains, and was not given: how to write it.
    pub missing: Vec<String>,
}

impl Import {
    /// Lines for the head of the observation file: the remarks and what is missing.
    #[must_use]
    pub fn comments(&self) -> Vec<String> {
        let head = format!("Imported from {} by narrows.", self.format);
        std::iter::once(head)
            .chain(self.remarks.iter().cloned())
            .chain(self.missing.iter().cloned())
            .collect()
    }
}

/// The importer of this name.
#[must_use]
pub fn importer(name: &str) -> Option<&'static Importer> {
    IMPORTERS.iter().copied().find(|importer| importer.name == name)
}

/// Reads the native output `bytes` of another tool; `name` is what its file was called, for messages. Without `importer`
/// the format is found by its looks.
///
/// # Errors
/// Everything that is wrong, located: what is no text, is empty, looks like another format, is cut short, or has numbers
/// out of range.
///
/// # Cost
/// Linear in the text; at most 4 MiB and 10,000 observations.
pub fn import(
    bytes: &[u8],
    name: &str,
    importer: Option<&'static Importer>,
    completion: &ImportOptions,
) -> Result<Import, FileProblems> {
    let decoded = decode::decode(bytes);
    let text: &str = decoded.as_ref().map_or("", |decoded| &decoded.text);
    let mut findings = Findings::new(name, text);
    let mut made = if let Err(complaint) = &decoded {
        findings.add(&(0..0), complaint.clone());
        Import::default()
    } else {
        let shown = page::is_page(text).then(|| page::shown(text));
        let given = GivenText { text, shown: shown.as_deref() };
        read(given, importer, completion, &mut findings)
    };
    findings.into_result()?;
    made.remarks.extend(decoded.ok().and_then(|decoded| decoded.remark));
    completion.apply(&mut made);
    Ok(made)
}

/// A text, and what a browser shows of it where it is a web page.
#[derive(Debug, Clone, Copy)]
struct GivenText<'t> {
    text: &'t str,
    shown: Option<&'t str>,
}

impl<'t> GivenText<'t> {
    /// What `importer` reads of it.
    fn seen_by(self, importer: &Importer) -> &'t str {
        let reads_itself = importer.reads_tables && page::has_table(self.text);
        self.shown.filter(|_| !reads_itself).unwrap_or(self.text)
    }
}

fn read(
    given: GivenText<'_>,
    asked: Option<&'static Importer>,
    completion: &ImportOptions,
    findings: &mut Findings<'_>,
) -> Import {
    let is_of = |importer: &Importer| (importer.looks_like)(given.seen_by(importer));
    let looks = IMPORTERS.iter().copied().find(|importer| is_of(importer));
    let importer = match (asked, looks) {
        (Some(asked), _) if is_of(asked) => asked,
        (None, Some(looks)) => looks,
        (asked, looks) => {
            findings.add(&(0..0), foreign::complaint(given.text, asked, looks));
            return Import::default();
        }
    };
    for option in completion.given().into_iter().filter(|option| !importer.takes.contains(option)) {
        findings.add(&(0..0), idle(option, importer));
    }
    let text = given.seen_by(importer);
    let before = Import { format: importer.name, ..(importer.read)(text, completion, findings) };
    // The end of a page closes its last line.
    let is_closed = given.shown.is_some() && source::torn(given.text).is_none();
    if let Some(line) = source::torn(text).filter(|_| findings.is_empty() && !is_closed) {
        findings.add(&line.span(), torn());
    }
    let count = before.observations.observations.len();
    if findings.is_empty() && count == 0 && before.observations.ceilings.is_empty() {
        findings.add(&(0..0), nothing(importer));
    }
    if count > OBSERVATIONS_MAX {
        let hint = "import a part of the file, such as the rows of one file size";
        findings.add(
            &(0..0),
            Complaint::new("", format!("{count} figures"), format!("at most {OBSERVATIONS_MAX}"), hint),
        );
    }
    before
}

fn idle(option: &str, importer: &Importer) -> Complaint {
    let takers: Vec<&str> =
        IMPORTERS.iter().filter(|other| other.takes.contains(&option)).map(|other| other.title).collect();
    Complaint::new(
        option,
        format!("an option that does not apply to output of {}", importer.title),
        format!("with output of {}", takers.join(", ")),
        "omit it",
    )
}

fn torn() -> Complaint {
    Complaint::new(
        "",
        "a last line of figures without a line end",
        "complete lines, as the tool printed them: a figure that is cut off would look like a smaller number",
        "give the output of a complete run; if the line is complete, add a line break",
    )
}

fn nothing(importer: &Importer) -> Complaint {
    Complaint::new(
        "",
        format!("no figures of {}", importer.title),
        format!("its results, such as `{}`", importer.example),
        "the run may have ended before its first result: give the file of a complete run",
    )
}
