//! The cells of a line of an IOPerf table, and how many of them are its figures.
//!
//! Not here: what a row is.

use crate::import::source::{TextLine, TextWord, words};
use crate::ioperf::TESTS;
use crate::ioperf::native::COLUMNS;

/// Figures of a row: three for each of five tests.
pub(super) const FIGURES: usize = TESTS.len() * COLUMNS.len();

/// The cells of a line of text.
pub(super) fn cells(line: TextLine<'_>) -> Vec<TextWord<'_>> {
    words(line, |c| c.is_ascii_whitespace() || c == '|' || c == ',')
}

/// How many numbers the cells end in.
pub(super) fn figure_count(cells: &[TextWord<'_>]) -> usize {
    cells.iter().rev().take_while(|cell| cell.number().is_some()).count()
}
