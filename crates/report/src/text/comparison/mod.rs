//! Two sides of one or more runs: what `narrows compare A B` shows.
//!
//! Not here: ratios, intervals and verdicts, which are `analysis`'; here they are only said.

mod doubt;
mod figures;
pub(super) mod head;

use super::Style;
use super::names::CellNames;
use super::style::Paint;
use super::wrap::{Indent, paragraph};
use narrows_model::comparison::{ComparedCell, RegimeLimit, UnpairedCell};
use narrows_model::{Comparison, Summary};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Cells without a counterpart that are named one by one without detail.
const UNPAIRED_SHOWN: usize = 6;

/// What is needed to say a comparison.
struct ComparisonPage<'p> {
    found: &'p Comparison,
    names_a: CellNames<'p>,
    names_b: CellNames<'p>,
    style: &'p Style,
}

impl ComparisonPage<'_> {
    /// The cell in words.
    fn name<'c>(&'c self, cell: &'c ComparedCell) -> &'c str {
        self.names_a.name(&cell.cell_a)
    }

    /// The cell in few words, for a column: workers are `w16`.
    fn short_name(&self, cell: &ComparedCell) -> String {
        self.name(cell).replace(" in each of ", " w").replace(" workers", "")
    }
}

/// The margin in percent, without digits that say nothing: `3 %`, `0.5 %`.
fn margin(page: &ComparisonPage<'_>) -> String {
    let percent = (page.found.margin_ratio * 1e6).round() / 1e4;
    format!("{percent} %")
}

/// The comparison of sides whose first runs have the summaries `a` and `b`: the verdict first, then what is not alike, the loads, what
/// else changed, what has no counterpart, and what limits each.
///
/// # Shape
/// A row for each pair; the rest is about forty lines unless [`Style::detail`] is set.
#[must_use]
pub fn comparison(found: &Comparison, a: &Summary, b: &Summary, style: &Style) -> String {
    let page = ComparisonPage {
        found,
        names_a: CellNames::from_summary(a),
        names_b: CellNames::from_summary(b),
        style,
    };
    let parts = [
        head::render(&page),
        doubt::render(&page),
        figures::render(&page),
        unpaired(&page),
        limits(&page),
        remarks(&page),
    ];
    parts.concat()
}

/// Cells that one run alone has.
fn unpaired(page: &ComparisonPage<'_>) -> String {
    let mut out = String::new();
    let (names_a, names_b) = (&page.names_a, &page.names_b);
    let lists =
        [("A", &page.found.only_in_a, names_a, names_b), ("B", &page.found.only_in_b, names_b, names_a)];
    for (run, cells, names, others) in lists {
        if cells.is_empty() {
            continue;
        }
        out.push_str(&page.style.heading(&format!("ONLY IN {run}"), "not compared"));
        out.push_str(&unpaired_in_run(cells, [names, others], page.style));
    }
    out
}

/// `names` are those of the run, then those of the other one, which the reasons name.
fn unpaired_in_run(cells: &[UnpairedCell], names: [&CellNames<'_>; 2], style: &Style) -> String {
    let shown = if style.detail { cells.len() } else { UNPAIRED_SHOWN };
    let formatted = |cell: &UnpairedCell| {
        paragraph(
            &format!("{}: {}", names[0].name(&cell.cell), names[1].replace_ids(&cell.reason)),
            HANGING,
            style.width,
        )
    };
    let mut out: String = cells.iter().take(shown).map(formatted).collect::<Vec<_>>().concat();
    if cells.len() > shown {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  and {} more: --detail lists them", cells.len() - shown);
    }
    out
}

const HANGING: Indent<'static> = Indent { first: "  ", rest: "    " };

/// What limits each kind of load, before and after.
fn limits(page: &ComparisonPage<'_>) -> String {
    let limits = &page.found.limits;
    if limits.a.is_empty() && limits.b.is_empty() {
        return String::new();
    }
    let loads =
        |limits: &[RegimeLimit]| -> BTreeSet<String> { limits.iter().flat_map(RegimeLimit::loads).collect() };
    let (of_a, of_b) = (loads(&limits.a), loads(&limits.b));
    let are_alike = of_a == of_b;
    let remark = match (limits.same, are_alike) {
        (true, true) => "the same in both",
        (true, false) => "the same for each load that both measured",
        (false, _) if of_a.is_disjoint(&of_b) => "no load has a verdict in both",
        (false, _) => "not the same in both",
    };
    let mut out = page.style.heading("LIMITED BY", remark);
    if limits.same && are_alike {
        out.push_str(&limits.a.iter().map(|limit| line("", limit, page.style)).collect::<Vec<_>>().concat());
        return out;
    }
    for (run, regimes) in [("A  ", &limits.a), ("B  ", &limits.b)] {
        if regimes.is_empty() {
            let _ = writeln!(out, "  {run}no verdict");
        }
        out.push_str(&regimes.iter().map(|limit| line(run, limit, page.style)).collect::<Vec<_>>().concat());
    }
    out
}

fn line(run: &str, limit: &RegimeLimit, style: &Style) -> String {
    let segments: Vec<&str> = limit.segments.iter().map(|segment| segment.id()).collect();
    paragraph(&format!("{run}{}: {}", limit.regime, segments.join(", ")), HANGING, style.width)
}

/// What must be known before a ratio is believed.
fn remarks(page: &ComparisonPage<'_>) -> String {
    if page.found.remarks.is_empty() {
        return String::new();
    }
    let formatted = page.found.remarks.iter().map(|remark| {
        let text = paragraph(&page.names_a.replace_ids(remark), HANGING, page.style.width);
        text.lines().map(|line| page.style.paint(Paint::Warning, line) + "\n").collect::<Vec<_>>().concat()
    });
    page.style.heading("BEFORE YOU CONCLUDE", "") + &formatted.collect::<Vec<_>>().concat()
}
