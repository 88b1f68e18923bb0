//! The first lines of a comparison: the verdict in a sentence, then which runs are which.

use super::{ComparisonPage, margin};
use crate::text::headline::painted;
use crate::text::style::{Paint, Style};
use crate::text::units::{counted, counted_len};
use crate::text::wrap::{Indent, paragraph};
use narrows_model::comparison::{ComparedSide, Verdict, VerdictCounts};

/// The first lines.
pub(super) fn render(page: &ComparisonPage<'_>) -> String {
    let found = page.found;
    let paint = match found.verdict {
        Verdict::Worse => Paint::Limit,
        Verdict::Better => Paint::Cleared,
        Verdict::Undecided => Paint::Heading,
    };
    let indent = Indent { first: "", rest: "  " };
    let sentence = painted(&sentence(page), indent, paint, page.style);
    let meaning = format!("Ratios are B over A. Differences below {} are ignored (--margin).", margin(page));
    let meaning = paragraph(&meaning, Indent::all("  "), page.style.width);
    let noise = found.noise.as_ref().map(|noise| side("noise", noise, page.style)).unwrap_or_default();
    let sides = side("A", &found.a, page.style) + &side("B", &found.b, page.style);
    format!("{sentence}{meaning}\n{sides}{noise}")
}

fn sentence(page: &ComparisonPage<'_>) -> String {
    let counts = page.found.counts;
    let margin = margin(page);
    let loads = counted(total(counts), "load");
    let both = counts.better_count > 0 && counts.worse_count > 0;
    let head = match page.found.verdict {
        Verdict::Worse => format!("B is worse than A in {} of {loads}", counts.worse_count),
        Verdict::Better => format!("B is better than A in {} of {loads}", counts.better_count),
        Verdict::Undecided if both => format!(
            "Undecided: B is better than A in {} of {loads} and worse in {}",
            counts.better_count, counts.worse_count
        ),
        Verdict::Undecided if counts.within_margin_count == total(counts) => {
            return format!(
                "B and A are equivalent: a difference of more than {margin} is ruled out in {}.",
                all(counts)
            );
        }
        Verdict::Undecided => {
            format!("Undecided: no load of {} is shown to differ", total(counts))
        }
    };
    let within = format!("the same within {margin} in {}", counts.within_margin_count);
    let rest = [
        (counts.within_margin_count > 0).then_some(within),
        (counts.undecided_count > 0).then(|| format!("undecided in {}", counts.undecided_count)),
    ];
    let rest: Vec<String> = rest.into_iter().flatten().collect();
    if rest.is_empty() { format!("{head}.") } else { format!("{head}; {}.", rest.join(", ")) }
}

fn total(counts: VerdictCounts) -> u64 {
    counts.better_count + counts.worse_count + counts.within_margin_count + counts.undecided_count
}

fn all(counts: VerdictCounts) -> String {
    match total(counts) {
        1 => "the one load".to_owned(),
        count => format!("all {count} loads"),
    }
}

/// Which runs they are: their record, when, by what.
pub(in crate::text) fn side(letter: &str, side: &ComparedSide, style: &Style) -> String {
    let Some(first) = side.runs.first() else { return String::new() };
    let damaged = side.runs.iter().filter(|run| !run.complete).count();
    let indent = Indent { first: "  ", rest: "     " };
    if side.runs.len() == 1 {
        let whole = if damaged == 0 { "" } else { ", not whole" };
        let text = format!("{letter}: {}, {} at {}{whole}", side.record, first.target, first.started_at);
        return paragraph(&text, indent, style.width);
    }
    let last = side.runs.last().unwrap_or(first);
    let whole =
        if damaged == 0 { String::new() } else { format!(", {} not whole", counted_len(damaged, "run")) };
    let text = format!(
        "{letter}: {}, {} of {} from {} to {}{whole}",
        side.record,
        counted_len(side.runs.len(), "run"),
        first.target,
        first.started_at,
        last.started_at
    );
    paragraph(&text, indent, style.width)
}
