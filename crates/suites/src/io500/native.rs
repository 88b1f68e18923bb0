//! The native output: a line of each phase and the score, as IO500 prints them, and what the run is not.
//!
//! Not here: the files that the original writes beside, and its head, which names a version of it.

use super::figures::{Io500Figure, figures};
use super::request::Request;
use super::score::Io500Score;
use super::{STONEWALL_S, TRANSFER_HARD};
use narrows_model::quantity::amount;
use narrows_model::{Cut, Summary};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What the original marks as not valid.
const INVALID: &str = " [INVALID]";

/// The output of a run of `request`.
pub(super) fn native(request: &Request, summary: &Summary) -> String {
    let figures = figures(summary, request);
    let mut out = head(request, summary);
    for figure in figures.iter().filter(|figure| figure.is_whole) {
        result(&mut out, figure);
    }
    let broken: Vec<&str> =
        figures.iter().filter(|figure| !figure.is_whole).map(|figure| figure.phase.name).collect();
    if !broken.is_empty() {
        let _ = writeln!(out, "incomplete, without a line: {}", broken.join(", "));
    }
    match Io500Score::from_figures(&figures) {
        Some(score) => {
            // Writing into a string cannot fail.
            let _ = writeln!(
                out,
                "[SCORE ] Bandwidth {:.6} GiB/s : IOPS {:.6} kiops : TOTAL {:.6}{INVALID}",
                score.gib_per_s, score.kops_per_s, score.total
            );
        }
        None => out.push_str("no score: it is of all twelve phases\n"),
    }
    let _ = writeln!(
        out,
        "This is narrows' own run of the phases of IO500 and not an IO500 submission: its phases end with their counts, not \
         with a stonewall of {STONEWALL_S} seconds."
    );
    out
}

/// What was run, by how many.
fn head(request: &Request, summary: &Summary) -> String {
    let phases = summary.cells.iter().filter(|cell| cell.cut == Cut::Path && cell.test.is_some());
    let hosts: BTreeSet<&str> =
        phases.flat_map(|cell| &cell.per_client).map(|rank| rank.host.as_str()).collect();
    let shift = request.shift();
    let shifted = match (shift, request.host_ranks.filter(|_| request.typed_shift.is_none())) {
        (0, _) => "each rank reads and looks up what it has written itself".to_owned(),
        (_, None) => format!("each rank reads and looks up what the rank {shift} further on has written"),
        (_, Some(_)) => format!(
            "each rank reads and looks up what the rank {shift} further on has written: there are {shift} on the first host, one after \
             the other"
        ),
    };
    format!(
        "IO500 phases by narrows (own run)\n\
         {} rank(s) on {} node(s); each: ior-easy {} in transfers of {}, ior-hard {} transfers of {} bytes, mdtest {} files\n\
         {shifted}\n",
        request.ranks(),
        hosts.len().max(1),
        amount(request.bytes_easy),
        amount(request.transfer_easy),
        request.segments_hard,
        TRANSFER_HARD.0,
        request.items
    )
}

/// The line of a phase.
fn result(out: &mut String, figure: &Io500Figure<'_>) {
    let unit = if figure.phase.is_of_bytes() { "GiB/s" } else { "kIOPS" };
    let is_short = figure.phase.has_stonewall() && figure.elapsed_s < STONEWALL_S;
    let _ = writeln!(
        out,
        "[RESULT] {:>20} {:>15.6} {unit} : time {:.3} seconds{}",
        figure.phase.name,
        figure.score,
        figure.elapsed_s,
        if is_short { INVALID } else { "" }
    );
}
