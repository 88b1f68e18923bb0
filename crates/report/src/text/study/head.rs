//! The first lines of a study: what must be known before any figure, then what was done.

use super::super::headline::{measured, painted};
use super::super::reading::path_cells;
use super::super::style::{Paint, Style};
use super::super::units::{counted, counted_len};
use super::super::wrap::Indent;
use super::super::{faults, headline};
use narrows_model::Summary;
use narrows_model::summary::CellSummary;

/// The first lines.
pub(super) fn render(summary: &Summary, style: &Style) -> String {
    let mut out = headline::warnings(summary, style);
    let trusted = faults::lines(summary).is_empty();
    let text = format!("{}: {}. {}", name(summary), done(summary), trust(summary, trusted));
    out.push_str(&painted(text.trim_end(), Indent { first: "", rest: "  " }, Paint::Heading, style));
    out
}

fn name(summary: &Summary) -> String {
    let Some(study) = &summary.study else { return "Study".to_owned() };
    let file = study.name.rsplit_once('/').map_or(study.name.as_str(), |(_, file)| file);
    match &study.title {
        Some(title) => format!("{} ({file})", headline::capitalised(title.trim_end_matches([':', '.']))),
        None => format!("Study {file}"),
    }
}

/// `12 cells measured over depth x block, 2 left out, 3 trials each`.
fn done(summary: &Summary) -> String {
    let measured = measured(path_cells(summary).filter(|cell| cell.ops_per_s.is_some()), summary);
    let left_out = summary.skipped.len() + summary.failed.len();
    let left_out = if left_out > 0 { format!(", {left_out} left out") } else { String::new() };
    let factors = summary.study.iter().flat_map(|study| &study.factors);
    let varied: Vec<&str> =
        factors.filter(|factor| factor.values.len() > 1).map(|factor| factor.name.as_str()).collect();
    let over = if varied.is_empty() { String::new() } else { format!(" over {}", varied.join(" x ")) };
    format!("{} measured{over}{left_out}{}", counted_len(measured, "cell"), trials(summary))
}

fn trials(summary: &Summary) -> String {
    let counts = || path_cells(summary).map(|cell| cell.trials.len() as u64);
    match (counts().min(), counts().max()) {
        (Some(least), Some(most)) if least != most => format!(", {least} to {most} trials each"),
        (Some(count), _) if count > 1 => format!(", {} each", counted(count, "trial")),
        _ => String::new(),
    }
}

/// Notes that say something of a cell without making its figures doubtful.
const REMARKS: [&str; 3] = ["verified", "wire_by_interfaces", "one_control_group"];
/// Notes on a rate that varied, which its interval says more exactly.
const VARIATION: [&str; 4] = ["unsteady", "mixture", "window_too_short", "warm_up_in_window"];
/// Half of an interval, as a share of the rate, up to which a rate that varied can be used as it is: a difference of a tenth
/// between two such cells is then more than both intervals.
const NARROW_RATIO: f64 = 0.05;

/// Whether the figures of a cell can mislead.
fn needs_care(cell: &CellSummary) -> bool {
    let half_width = cell.interval.as_ref().zip(cell.rate_bytes_per_s);
    let half_width = half_width.and_then(|(interval, rate)| interval.half_width_ratio(rate.0));
    let is_narrow = half_width.is_some_and(|ratio| ratio <= NARROW_RATIO);
    cell.flags
        .iter()
        .map(String::as_str)
        .any(|flag| !(REMARKS.contains(&flag) || is_narrow && VARIATION.contains(&flag)))
}

/// Whether the figures can be trusted.
fn trust(summary: &Summary, trusted: bool) -> String {
    let cell_count = path_cells(summary).count();
    let marked = path_cells(summary).filter(|cell| needs_care(cell)).count();
    let noted = path_cells(summary).filter(|cell| !cell.flags.is_empty()).count() - marked;
    let cells = counted_len(cell_count, "cell");
    match (trusted, marked, noted) {
        _ if cell_count == 0 => "Nothing was measured.".to_owned(),
        (false, ..) => String::new(),
        (true, 0, 0) => "No problem with the figures was found.".to_owned(),
        (true, 0, noted) => {
            let verb = if noted == 1 { "has" } else { "have" };
            format!(
                "No problem with the figures was found; {noted} of {cells} {verb} a note below the table."
            )
        }
        (true, marked, _) => {
            format!("{marked} of {cells} to be used with care: the letters below the table explain why.")
        }
    }
}
