//! Files that people write, in TOML: problems with their places, all of them at once, and the nearest name to a slip.
//!
//! Shared by study files and observation files, which so look alike when they are refused. Deliberately absent: any key,
//! and any meaning of a value.

mod nearest;
mod place;
mod problems;
mod syntax;
mod toml;

pub use nearest::nearest;
pub use problems::{FileProblem, FileProblems};

pub(crate) use nearest::nearest_hint;
pub(crate) use place::{Span, printable};
pub(crate) use problems::{Complaint, Findings};
pub(crate) use syntax::document;
pub(crate) use toml::{Name, in_file_order, integer, joined, number, type_words};
