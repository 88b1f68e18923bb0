//! A text as TOML: every place at which it is none, and what can be read of it all the same.
//!
//! Not here: what its keys mean, which is said by who reads them.

use super::{Complaint, Findings, Span, place, printable};
use std::collections::BTreeSet;
use toml::de::DeTable;

/// Most errors of syntax that are told: one slip can make many, and the rest of a file is read by luck then.
const ERRORS_MAX: usize = 50;

/// What `read` makes of the document; `None` when the text is no TOML.
///
/// What can be read is checked even then, but for the lines that hold an error: what is left of their values was never
/// written.
pub(crate) fn document<T>(
    text: &str,
    findings: &mut Findings<'_>,
    read: impl FnOnce(&DeTable<'_>, &mut Findings<'_>) -> T,
) -> Option<T> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut lines = BTreeSet::new();
    let mut complaints = Vec::new();
    for error in errors.iter().take(ERRORS_MAX) {
        let span: Span = error.span().unwrap_or(0..0);
        let place = place(text, &span);
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
            "a key that stands above already",
            "every key once",
            "remove one of the two lines",
        );
    }
    if let Some((key, value)) = unquoted(line).filter(|_| !message.starts_with("key with no value")) {
        let found = format!("{value} without quotes");
        let hint = format!("sizes, durations and names stand in quotes: {key} = \"{value}\"");
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
