//! Files that people write, in TOML: problems with their places, all of them at once, and the nearest name to a slip.
//!
//! Shared by study files and observation files, which so look alike when they are refused; places and problems are those
//! of `model`. Deliberately absent: any key, and any meaning of a value.

mod nearest;
mod syntax;
mod toml;

pub use narrows_model::located::{FileProblem, FileProblems};
pub use nearest::nearest;

pub(crate) use narrows_model::located::{Complaint, Findings, Span, place, printable};
pub(crate) use nearest::nearest_hint;
pub(crate) use syntax::document;
pub(crate) use toml::{Name, in_file_order, integer, joined, number, type_words};
