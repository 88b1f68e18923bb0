//! The first lines of a comparison: the verdict in a sentence, then which run is which.

use super::{ComparisonPage, margin};
use crate::text::headline::painted;
use crate::text::style::Paint;
use crate::text::units::counted;
use crate::text::wrap::{Indent, paragraph};
use narrows_model::comparison::{ComparedRun, Verdict, VerdictCounts};

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
    format!("{sentence}{meaning}\n{}{}", run("A", &found.a, page), run("B", &found.b, page))
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
            format!("Undecided: no load of {} is shown to differ by more than {margin}", total(counts))
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

/// Which run it is: its record, when, by what.
fn run(letter: &str, run: &ComparedRun, page: &ComparisonPage<'_>) -> String {
    let whole = if run.complete { "" } else { ", not whole" };
    let text = format!("{letter}: {}, {} at {}{whole}", run.record, run.target, run.started_at);
    paragraph(&text, Indent { first: "  ", rest: "     " }, page.style.width)
}
