//! What is wrong with a text that somebody wrote or another tool printed: its place, what was found, what is allowed, a hint.
//!
//! Shared by the readers of study files, observation files and imports, which so look alike when they refuse something.
//! Deliberately absent: finding what is wrong.

mod position;
mod problems;

pub use position::{Span, TextPosition, excerpt, printable, text_position};
pub use problems::{Complaint, FileProblem, FileProblems, Findings};
