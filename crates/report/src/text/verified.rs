//! What the check of data found: how much of each cell was checked, and every mismatch that was kept.

use super::names::CellNames;
use super::style::{Paint, Style};
use super::table::{Align, Field, TextTable};
use super::units::counted;
use super::wrap::{Indent, paragraph};
use narrows_model::quantity::{amount, percent};
use narrows_model::summary::CellSummary;
use narrows_model::verification::Verification;
use narrows_model::{Bytes, Summary};

/// What the figures of a verified cell are and are not.
const NOTE: &str = "The workers generated and checked the blocks, outside of response times: do not compare rates and \
                    CPU times with those of cells that are not verified. A read through a cache verifies the content \
                    of the cache.";

/// The section; empty where no cell was verified.
pub(crate) fn render(summary: &Summary, names: &CellNames<'_>, style: &Style) -> String {
    let cells: Vec<(&CellSummary, &Verification)> =
        summary.cells.iter().filter_map(|cell| Some((cell, cell.verification.as_ref()?))).collect();
    if cells.is_empty() {
        return String::new();
    }
    let mut out = style.heading("VERIFIED DATA", "");
    out.push_str(&table(&cells, names, style));
    out.push_str(&paragraph(NOTE, Indent::all("  "), style.width));
    for (cell, found) in &cells {
        out.push_str(&mismatches(names.name(&cell.id), found, style));
    }
    out
}

fn table(cells: &[(&CellSummary, &Verification)], names: &CellNames<'_>, style: &Style) -> String {
    let mut table = TextTable::new(&[
        ("cell", Align::Left),
        ("checked", Align::Right),
        ("read back", Align::Right),
        ("not checked", Align::Right),
        ("wrong", Align::Right),
        ("cost", Align::Right),
    ]);
    for (cell, found) in cells {
        let missed = found.unread_bytes.saturating_add(found.undecided_bytes);
        let wrong = if found.wrong_bytes.0 > 0 { Paint::Limit } else { Paint::Plain };
        table.row(vec![
            names.name(&cell.id).into(),
            size(found.checked_bytes).into(),
            size(found.read_back_bytes).into(),
            size(missed).into(),
            Field::new(size(found.wrong_bytes), wrong),
            cost(cell, found).into(),
        ]);
    }
    table.render(style)
}

/// Bytes with their unit, or a bare zero.
fn size(bytes: Bytes) -> String {
    if bytes.0 == 0 { "0".to_owned() } else { amount(bytes) }
}

/// Share of the workers' time that making and checking blocks took.
fn cost(cell: &CellSummary, found: &Verification) -> String {
    let workers = f64::from(cell.requested.workers) * f64::from(cell.clients);
    let share = narrows_model::units::ratio(found.cost_ns.as_secs_f64(), cell.elapsed_s.last_done * workers);
    share.map_or_else(String::new, percent)
}

/// Each mismatch that was kept, and how many there were.
fn mismatches(cell: &str, found: &Verification, style: &Style) -> String {
    if found.mismatch_count == 0 {
        return String::new();
    }
    let kept = found.mismatches.len();
    let head = match u64::try_from(kept) {
        Ok(kept) if kept < found.mismatch_count => {
            format!("{cell}: {}, the first {kept}:", counted(found.mismatch_count, "wrong place"))
        }
        _ => format!("{cell}: {}:", counted(found.mismatch_count, "wrong place")),
    };
    let mut out = paragraph(&head, Indent { first: "  ", rest: "    " }, style.width);
    for mismatch in &found.mismatches {
        let client = if mismatch.client_index == 0 {
            String::new()
        } else {
            format!("client {}, ", mismatch.client_index)
        };
        let text = format!("{client}{mismatch}");
        out.push_str(&paragraph(&text, Indent { first: "    ", rest: "      " }, style.width));
    }
    out
}
