//! The results of a study: what was done, a row for each cell in the order of the sweep, what each factor did, then the
//! verdict as far as the measured segments support one.

mod columns;
mod effects;
mod head;
mod kinds;
mod open_loop;
mod rows;
mod scaling;
mod sweep;

use super::evidence::PageContext;
use super::names::CellNames;
use super::reading::path_cells;
use super::wrap::{Indent, paragraph};
use super::{
    Style, block_trace, cells, headline, lists, next, nfs_mount, path, protocol, remarks, thresholds,
    verified,
};
use narrows_model::{Cut, Segment, Summary, Target};
use sweep::SweepCells;

/// The results of the study in `summary`.
///
/// # Shape
/// A row for each cell, so as long as the study; the rest is about forty lines unless [`Style::detail`] is set.
#[must_use]
pub fn study(summary: &Summary, style: &Style) -> String {
    let names = CellNames::from_summary(summary);
    let page = PageContext { names: &names, style };
    let sweep = SweepCells::from_summary(summary);
    let mut parts = vec![
        head::render(summary, style),
        scaling::render(summary, style),
        rows::render(&sweep, style),
        kinds::render(&sweep, style),
        open_loop::render(&sweep, style),
        effects::render(summary, style),
        verified::render(summary, &names, style),
        block_trace::render(summary, &names, style),
        protocol::render(summary, &names, style),
        nfs_mount::render(summary, &names, style),
        thresholds::render(summary, &names, style),
    ];
    match verdict(summary) {
        StudyVerdict::Given => {
            parts.push(style.heading("VERDICT", ""));
            parts.push(headline::regimes(summary, style));
            parts.push(path::render(summary, style));
            parts.push(cells::alone(summary, style));
            parts.push(lists::render(summary, page));
            parts.push(remarks::render(summary, page));
            parts.push(next::render(summary, style));
        }
        StudyVerdict::NotOnePath(factor) => {
            let text = format!(
                "None: cells that differ in {factor} are not the same path under the same kind of load. A study with \
                 one value of {factor}, or `narrows check`, gives a verdict."
            );
            parts.push(without_verdict(summary, page, &text));
        }
        StudyVerdict::NoStorage(target) => {
            let why = match target.form() {
                Target::Null { .. } => {
                    "It completes requests immediately, so the figures show the load generator itself."
                }
                _ => "Its engine stores no data, so no segment of a path to storage was measured.",
            };
            parts.push(without_verdict(summary, page, &format!("None: {target} is not storage. {why}")));
        }
        StudyVerdict::NothingKnown => {
            parts.push(style.heading("VERDICT", ""));
            parts.push(unknown(summary, style));
            parts.push(rest(summary, page));
        }
    }
    parts.push(headline::origin(summary, style));
    parts.concat()
}

/// Whether the diagnosis of a study applies to it.
enum StudyVerdict<'a> {
    /// It does.
    Given,
    /// Its cells differ in this factor, which makes several paths, or kinds of load that no regime distinguishes.
    NotOnePath(&'a str),
    /// All targets of its load are no storage; this is the first.
    NoStorage(&'a Target),
    /// Nothing beside the load generator was measured, and no limit named.
    NothingKnown,
}

/// Factors over which one path has one verdict: the grid of block size, concurrency and direction.
const GRID: [&str; 7] = ["op", "block", "file", "depth", "workers", "clients", "batch"];

fn verdict(summary: &Summary) -> StudyVerdict<'_> {
    let factors = summary.study.iter().flat_map(|study| &study.factors);
    // Of a factor of which one value alone could be measured, the cells do not differ in it.
    let differ = |name: &str| {
        let mut values = path_cells(summary).filter_map(|cell| cell.factors.get(name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let mut others = factors.filter(|factor| !GRID.contains(&factor.name.as_str()) && differ(&factor.name));
    let mut path = path_cells(summary).peekable();
    let first = path.peek().map(|cell| &cell.target);
    let no_storage = first.filter(|_| path.all(|cell| !cell.target.is_storage()));
    let measured = path_cells(summary).next().is_some();
    match (no_storage, others.next()) {
        (Some(target), _) => StudyVerdict::NoStorage(target),
        (None, Some(factor)) if measured => StudyVerdict::NotOnePath(&factor.name),
        _ if !says_something(summary) => StudyVerdict::NothingKnown,
        _ => StudyVerdict::Given,
    }
}

/// States that the limit is not known, why, and what would show it.
fn unknown(summary: &Summary, style: &Style) -> String {
    let named = !summary.diagnosis.limiting.is_empty();
    if path_cells(summary).next().is_none() {
        return headline::regimes(summary, style);
    }
    let first = if named { "No" } else { "Not found: no" };
    let why = format!(
        "{first} cut of the path was measured, and no counter shows a segment at its limit. A study with `cuts`, or \
         `narrows check`, measures segments separately."
    );
    let regimes = if named { headline::regimes(summary, style) } else { String::new() };
    regimes + &paragraph(&why, Indent::all("  "), style.width)
}

/// Why there is no verdict, and what is printed beside that.
fn without_verdict(summary: &Summary, page: PageContext<'_>, why: &str) -> String {
    let heading = page.style.heading("VERDICT", "");
    let why = paragraph(why, Indent::all("  "), page.style.width);
    heading + &why + &cells::alone(summary, page.style) + &rest(summary, page)
}

/// What is printed if there is no verdict: findings about single cells, skips, what to do.
fn rest(summary: &Summary, page: PageContext<'_>) -> String {
    let mut summary = summary.clone();
    summary.diagnosis.limiting.clear();
    let about_verdict = |code: &str| matches!(code, "not-enough-evidence" | "too-little-concurrency");
    summary.diagnosis.findings.retain(|finding| !about_verdict(&finding.code));
    remarks::render(&summary, page) + &next::render(&summary, page.style)
}

/// Whether a limit was named, or a segment other than the load generator was measured by a cut of its own: else the
/// lists could only say that nothing is known.
fn says_something(summary: &Summary) -> bool {
    let named = summary.diagnosis.limiting.iter().any(|entry| entry.segment != Segment::Unknown);
    let cut = summary.cells.iter().any(|cell| !matches!(cell.cut, Cut::Path | Cut::Generator));
    path_cells(summary).next().is_some() && (named || cut)
}
