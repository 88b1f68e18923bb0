//! The whole verdict on a run: what `check` and `diagnose` show.

use super::evidence::PageContext;
use super::names::CellNames;
use super::{
    Style, block_trace, cells, first_screen, headline, lists, next, nfs_mount, path, protocol, relay,
    remarks, study, thresholds,
};
use narrows_model::Summary;

/// The verdict on `summary`: faults and preface first, then what limits each load, the path, the requests, the
/// lists with their evidence, and what to do next.
///
/// # Shape
/// About sixty lines unless [`Style::detail`] is set; never empty.
#[must_use]
pub fn verdict(summary: &Summary, style: &Style) -> String {
    let names = CellNames::from_summary(summary);
    let page = PageContext { names: &names, style };
    // Many lines, for those who ask what was counted.
    let calls = if style.detail {
        [
            block_trace::render(summary, &names, style),
            protocol::render(summary, &names, style),
            nfs_mount::render(summary, &names, style),
        ]
        .concat()
    } else {
        String::new()
    };
    let parts = [
        headline::render(summary, style),
        thresholds::render(summary, &names, style),
        path::render(summary, style),
        cells::render(summary, style),
        calls,
        lists::render(summary, page),
        remarks::render(summary, page),
        next::render(summary, style),
        headline::origin(summary, style),
    ];
    parts.concat()
}

/// What a run shows: the results of a study or of the buffer experiment where one was run, else the verdict: its first
/// screen, or all of it with [`Style::detail`].
#[must_use]
pub fn results(summary: &Summary, style: &Style) -> String {
    if summary.relay.is_some() {
        relay::relay(summary, style)
    } else if summary.study.is_some() {
        study(summary, style)
    } else if style.detail {
        verdict(summary, style)
    } else {
        first_screen::render(summary, style)
    }
}
