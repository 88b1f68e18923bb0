//! The native output: tables of text and, after them or alone, a line of CSV for each run and process.

use super::request::Request;
use super::{csv, figures, text};
use narrows_model::Summary;

/// What stdout has after a run of `request`.
pub(super) fn native(request: &Request, summary: &Summary) -> String {
    let rows = figures::rows(summary, request);
    let lines = csv::lines(&rows, request, summary);
    if request.csv_alone { lines } else { text::tables(&rows, request) + &lines }
}
