//! Calls of the kernel's NFS client at the mounts of the path: how many of each procedure, and where their time was spent.

use super::names::CellNames;
use super::style::{Paint, Style};
use super::table::{Align, Field, TextTable};
use super::wrap::{Indent, paragraph};
use narrows_model::nfs_mount::MountProcedure;
use narrows_model::printable::one_line;
use narrows_model::quantity::{amount, span};
use narrows_model::{Cut, Nanos, Summary};

const WORDS: &str = "queue: waiting for a slot or for the connection; round trip: network and server; execute: all of it, \
                     with the client's own part. Means of whole milliseconds a call (/proc/self/mountstats).";

/// The section; empty where the path is on no NFS mount.
pub(crate) fn render(summary: &Summary, names: &CellNames<'_>, style: &Style) -> String {
    let mut table = TextTable::new(&[
        ("cell", Align::Left),
        ("procedure", Align::Left),
        ("calls", Align::Right),
        ("errors", Align::Right),
        ("sent again", Align::Right),
        ("timeouts", Align::Right),
        ("sent", Align::Right),
        ("received", Align::Right),
        ("queue", Align::Right),
        ("round trip", Align::Right),
        ("execute", Align::Right),
    ]);
    let mut is_empty = true;
    for cell in summary.cells.iter().filter(|cell| cell.cut == Cut::Path) {
        for counts in cell.nfs_mounts.iter().flat_map(|mount| &mount.procedures) {
            is_empty = false;
            table.row(row(names.name(&cell.id), counts));
        }
    }
    if is_empty {
        return String::new();
    }
    let mut out = style.heading("CALLS OF THE NFS MOUNT", "as the kernel's client counts them");
    out.push_str(&table.render(style));
    out.push_str(&paragraph(WORDS, Indent::all("  "), style.width));
    out
}

fn row(name: &str, counts: &MountProcedure) -> Vec<Field> {
    let alarming =
        |count: u64| Field::new(count.to_string(), if count > 0 { Paint::Limit } else { Paint::Plain });
    let mean = |sum: Nanos| match sum.0.checked_div(counts.call_count) {
        Some(mean) => span(Nanos(mean)),
        None => "-".to_owned(),
    };
    vec![
        name.into(),
        one_line(&counts.procedure).into_owned().into(),
        counts.call_count.to_string().into(),
        alarming(counts.error_count),
        alarming(counts.transmission_count.saturating_sub(counts.call_count)),
        alarming(counts.timeout_count),
        amount(counts.sent_bytes).into(),
        amount(counts.received_bytes).into(),
        mean(counts.queue_ns).into(),
        mean(counts.round_trip_ns).into(),
        mean(counts.execute_ns).into(),
    ]
}
