//! The results of a study: what was done, a row for each cell in the order of the sweep, what each factor did, then
//! the verdict as far as the segments that were measured carry one.

mod columns;
mod effects;
mod head;
mod kinds;
mod open_loop;
mod rows;
mod sweep;
mod value;

use super::evidence::Page;
use super::names::CellNames;
use super::reading::path_cells;
use super::{Style, cells, headline, lists, next, path, remarks};
use narrows_model::{Cut, Segment, Summary};
use sweep::Sweep;

/// The results of the study in `summary`.
///
/// # Shape
/// A row for each cell, so as long as the study; the rest is about forty lines unless [`Style::detail`] is set.
#[must_use]
pub fn study(summary: &Summary, style: &Style) -> String {
    let names = CellNames::of(summary);
    let page = Page { names: &names, style };
    let sweep = Sweep::of(summary);
    let mut parts = vec![
        head::render(summary, style),
        rows::render(&sweep, style),
        kinds::render(&sweep, style),
        open_loop::render(&sweep, style),
        effects::render(summary, style),
    ];
    if says_something(summary) {
        parts.push(style.heading("VERDICT", ""));
        parts.push(headline::regimes(summary, style));
        parts.push(path::render(summary, style));
        parts.push(cells::alone(summary, style));
        parts.push(lists::render(summary, page));
    }
    parts.push(remarks::render(summary, page));
    parts.push(next::render(summary, style));
    parts.push(headline::origin(summary, style));
    parts.concat()
}

/// Whether a limit was named, or a segment other than the load generator was measured by a cut of its own: else the
/// lists could only say that nothing is known.
fn says_something(summary: &Summary) -> bool {
    let named = summary.diagnosis.limiting.iter().any(|entry| entry.segment != Segment::Unknown);
    let cut = summary.cells.iter().any(|cell| !matches!(cell.cut, Cut::Path | Cut::Generator));
    path_cells(summary).next().is_some() && (named || cut)
}
