//! How a command can end, from the command line's own list.

use crate::markdown::{head, table};

/// The page of exit codes.
pub(crate) fn exit_codes() -> String {
    let lists = "How every command of `narrows` ends.";
    let mut page = head("Exit codes", lists, "the list `narrows::EXIT_CODES`");
    let rows = narrows::EXIT_CODES.iter().map(|exit| {
        [exit.code.to_string(), exit.title.to_owned(), exit.definition.to_owned(), exit.example.to_owned()]
    });
    page.push('\n');
    page.push_str(&table(["code", "says", "when", "for example"], rows));
    page
}
