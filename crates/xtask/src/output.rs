//! Where the chores write: results on stdout, complaints on stderr.
//!
//! A closed pipe (`cargo xtask tidy | head`) ends the output and not the chore, so write errors are dropped here
//! and nowhere else.

use std::io::Write;

/// One result, with a line end.
pub(crate) fn line(text: &str) {
    drop(writeln!(std::io::stdout(), "{text}"));
}

/// One message about the chore itself, with a line end.
pub(crate) fn complaint(text: &str) {
    drop(writeln!(std::io::stderr(), "{text}"));
}
