//! What makes two runs hard to compare: runs that cannot be relied on, machines and loads that are not alike, flags that
//! one side alone has.

use super::{ComparisonPage, HANGING};
use crate::text::flags;
use crate::text::style::Paint;
use crate::text::units::counted_len;
use crate::text::wrap::paragraph;
use narrows_model::comparison::{ComparedCell, ComparedRun, ComparedSide, Difference};

/// The sections; empty where all is alike and to be relied on.
pub(super) fn render(page: &ComparisonPage<'_>) -> String {
    section(page, "DO NOT RELY ON THIS", "", doubts(page))
        + &section(page, "NOT ALIKE", "differences besides the load, which may be the reason", unlike(page))
}

fn section(page: &ComparisonPage<'_>, name: &str, remark: &str, lines: Vec<String>) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut out = page.style.heading(name, remark);
    for line in lines {
        for line in paragraph(&line, HANGING, page.style.width).lines() {
            out.push_str(&page.style.paint(Paint::Warning, line));
            out.push('\n');
        }
    }
    out
}

/// Why a run cannot be relied on.
fn doubts(page: &ComparisonPage<'_>) -> Vec<String> {
    let of_run = |name: &str, run: &ComparedRun| -> Vec<String> {
        let mut lines: Vec<String> =
            run.doubts.iter().map(|doubt| format!("{name}: {}", doubt.text)).collect();
        if !run.complete && run.doubts.is_empty() {
            lines.push(format!("{name}: its record is damaged: what is missing is not compared"));
        }
        lines
    };
    let of = |(letter, side): (&str, &ComparedSide)| -> Vec<String> {
        let is_one = side.runs.len() == 1;
        let name =
            |run: &ComparedRun| if is_one { letter.to_owned() } else { format!("{letter}, {}", run.record) };
        side.runs.iter().flat_map(|run| of_run(&name(run), run)).collect()
    };
    let noise = page.found.noise.iter().map(|noise| ("noise", noise));
    [("A", &page.found.a), ("B", &page.found.b)].into_iter().chain(noise).flat_map(of).collect()
}

fn unlike(page: &ComparisonPage<'_>) -> Vec<String> {
    let around = page.found.differences.iter().map(format_difference);
    around.chain(cell_differences(page)).chain(flag_differences(page)).collect()
}

fn format_difference(difference: &Difference) -> String {
    format!("{}: {} in A, {} in B", difference.what, difference.a, difference.b)
}

/// What differs in the loads, each thing once, with the first cell that it concerns.
fn cell_differences(page: &ComparisonPage<'_>) -> Vec<String> {
    let mut kinds: Vec<(&str, Vec<(&ComparedCell, &Difference)>)> = Vec::new();
    for cell in &page.found.cells {
        for difference in &cell.differences {
            match kinds.iter_mut().find(|(what, _)| *what == difference.what) {
                Some((_, all)) => all.push((cell, difference)),
                None => kinds.push((&difference.what, vec![(cell, difference)])),
            }
        }
    }
    let line = |(_, all): &(&str, Vec<(&ComparedCell, &Difference)>)| {
        let (cell, first) = all.first()?;
        let more = all.len() - 1;
        let more = if more > 0 { format!(", and {} more", counted_len(more, "cell")) } else { String::new() };
        Some(format!("{} ({}{more})", format_difference(first), page.name(cell)))
    };
    kinds.iter().filter_map(line).collect()
}

/// Flags that a cell has in one run alone.
fn flag_differences(page: &ComparisonPage<'_>) -> Vec<String> {
    let cells = &page.found.cells;
    let mut codes: Vec<&String> = Vec::new();
    for code in cells.iter().flat_map(|cell| cell.flags_a.iter().chain(&cell.flags_b)) {
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    let line = |code: &String| {
        let only = |here: fn(&ComparedCell) -> &Vec<String>, there: fn(&ComparedCell) -> &Vec<String>| {
            cells.iter().filter(|cell| here(cell).contains(code) && !there(cell).contains(code)).count()
        };
        let only_a = only(|cell| &cell.flags_a, |cell| &cell.flags_b);
        let only_b = only(|cell| &cell.flags_b, |cell| &cell.flags_a);
        if only_a + only_b == 0 {
            return None;
        }
        let meaning = flags::meaning(code).unwrap_or("a flag that this version does not know");
        let sides = [(only_a, "A"), (only_b, "B")].into_iter().filter(|(count, _)| *count > 0);
        let sides: Vec<String> =
            sides.map(|(count, run)| format!("{} only in {run}", counted_len(count, "cell"))).collect();
        Some(format!("{code} in {}: {meaning}", sides.join(" and ")))
    };
    codes.into_iter().filter_map(line).collect()
}
