//! A text as TOML: every place at which it is none, and what can be read of it all the same.
//!
//! Not here: what its keys mean.

use super::{Complaint, FileProblems, FileReader, FileSchema, Findings, Span};
use narrows_model::located::{printable, text_position};
use std::collections::BTreeSet;
use toml::de::DeTable;

/// Most errors of syntax that are reported: one slip can make many, and the rest of a file is read by luck then.
const ERRORS_MAX: usize = 50;

/// A kind of file: what it may contain, and how long it may be.
pub(crate) struct FileType {
    pub(crate) schema: &'static FileSchema,
    /// In messages, such as "a study".
    pub(crate) name: &'static str,
    pub(crate) bytes_max: usize,
}

/// What `check` makes of what `read` finds in a text, or everything that is wrong with it; `name` is the file's.
///
/// `check` sees only what was read of a text that is TOML throughout.
pub(crate) fn parsed<R, T>(
    text: &str,
    name: &str,
    file: &FileType,
    read: impl FnOnce(&DeTable<'_>, &mut FileReader<'_, '_>) -> R,
    check: impl FnOnce(R, &mut Findings<'_>) -> Option<T>,
) -> Result<T, FileProblems> {
    let mut findings = Findings::new(name, text);
    let made = if text.len() > file.bytes_max {
        let (found, allowed) = (text.len(), format!("{} of {} bytes or fewer", file.name, file.bytes_max));
        findings
            .add(&(0..0), Complaint::new("", format!("{found} bytes"), allowed, "is this the right file?"));
        None
    } else {
        let read = document(text, &mut findings, |document, findings| {
            read(document, &mut FileReader { schema: file.schema, findings })
        });
        read.and_then(|read| check(read, &mut findings))
    };
    match (findings.into_result(), made) {
        (Ok(()), Some(made)) => Ok(made),
        (Ok(()), None) => Err(FileProblems { name: name.to_owned(), list: Vec::new(), more_count: 0 }),
        (Err(problems), _) => Err(problems),
    }
}

/// What `read` makes of the document; `None` when the text is no TOML.
///
/// What can be read is checked even then, but for the lines with an error: what is left of their values was never written.
fn document<T>(
    text: &str,
    findings: &mut Findings<'_>,
    read: impl FnOnce(&DeTable<'_>, &mut Findings<'_>) -> T,
) -> Option<T> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut lines = BTreeSet::new();
    let mut complaints = Vec::new();
    for error in errors.iter().take(ERRORS_MAX) {
        let span: Span = error.span().unwrap_or(0..0);
        let place = text_position(text, &span);
        // The first error of a line causes the others.
        if lines.insert(place.line) {
            complaints.push((span, complaint(error.message(), &place.text)));
        }
    }
    let broken = !complaints.is_empty();
    let mut seen = Findings::new("", text);
    let made = read(document.get_ref(), &mut seen);
    findings.take(seen, |problem| !lines.contains(&problem.line));
    for (span, complaint) in complaints {
        findings.add(&span, complaint);
    }
    (!broken).then_some(made)
}

fn complaint(message: &str, line: &str) -> Complaint {
    let message = printable(message.lines().next().unwrap_or_default());
    if message == "duplicate key" {
        return Complaint::new(
            "",
            "a key that is already given above",
            "every key once",
            "remove one of the two lines",
        );
    }
    if let Some((key, value)) = unquoted(line).filter(|_| !message.starts_with("key with no value")) {
        let found = format!("{value} without quotes");
        let hint = format!("sizes, durations and names are in quotes: {key} = \"{value}\"");
        return Complaint::new("", found, "a number, true, false, a \"text\", a [list] or a { table }", hint);
    }
    let (found, allowed) = match message.split_once(", expected ") {
        Some((found, expected)) => (found.to_owned(), expected.to_owned()),
        None => (message, "TOML: `key = value` below a `[table]`".to_owned()),
    };
    Complaint::new(
        "",
        found,
        allowed,
        "a line is `key = value`, `[table]` or a comment with `#`; every quote and bracket is closed",
    )
}

/// What is wrong most often: the key and the value of a line whose size, duration or name has no quotes.
fn unquoted(line: &str) -> Option<(String, String)> {
    const CHARS_MAX: usize = 60;
    let (key, value) = line.split_once('=')?;
    let bare = value.split('#').next().unwrap_or_default().trim();
    let quotable = !bare.is_empty() && !bare.contains(['"', '\'', '[', ']', '{', '}', '=']);
    let short = |text: &str| printable(text.trim()).chars().take(CHARS_MAX).collect::<String>();
    quotable.then(|| (short(key), short(bare)))
}
