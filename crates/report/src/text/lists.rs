//! The three lists: what limits, what was cleared, what was not measured.

use super::evidence::{PageContext, painted_label, render as evidence, some_of};
use super::reading::reading;
use super::style::{Paint, Style};
use super::wording::serves_itself;
use super::wrap::{Indent, paragraph};
use narrows_model::diagnosis::Evidence;
use narrows_model::summary::UsedOf;
use narrows_model::{Diagnosis, Exonerated, Limiting, NotMeasured, Segment, Summary};

/// Statements shown for one segment of a run; the other direction and the other loads say the same most of the time.
const EVIDENCE_OF_RUN: usize = 1;
/// Statements shown for one segment of observations: a law, why the role, and a figure.
const EVIDENCE_OF_OBSERVATIONS: usize = 3;
const INDENT: Indent<'_> = Indent { first: "  ", rest: "    " };

/// The three lists of a run; each is left out when it is empty.
pub(crate) fn render(summary: &Summary, page: PageContext<'_>) -> String {
    lists(&summary.diagnosis, Some(summary), page)
}

/// The three lists of a verdict without a run, as [`render`].
pub(crate) fn render_observations(diagnosis: &Diagnosis, page: PageContext<'_>) -> String {
    lists(diagnosis, None, page)
}

fn lists(diagnosis: &Diagnosis, summary: Option<&Summary>, page: PageContext<'_>) -> String {
    let style = page.style;
    let mut out = String::new();
    if !diagnosis.limiting.is_empty() {
        out.push_str(&style.heading("LIMITING", "in brackets: the counter and a command that shows it"));
        out.extend(diagnosis.limiting.iter().map(|entry| limiting(entry, summary.is_some(), page)));
    }
    if !diagnosis.exonerated.is_empty() {
        out.push_str(&style.heading("CLEARED", "measured, and not the limit"));
        out.extend(diagnosis.exonerated.iter().map(|entry| exonerated(entry, summary, page)));
    }
    if !diagnosis.not_measured.is_empty() {
        out.push_str(
            &style.heading("NOT MEASURED", "or not distinguished: nothing in this run clears these"),
        );
        out.extend(groups(&diagnosis.not_measured, style).iter().map(|group| not_measured(group, style)));
    }
    out
}

fn limiting(entry: &Limiting, of_run: bool, page: PageContext<'_>) -> String {
    let style = page.style;
    let most = if of_run { EVIDENCE_OF_RUN } else { EVIDENCE_OF_OBSERVATIONS };
    let id = entry.segment.id();
    let show_codes = style.detail && !entry.codes.is_empty();
    let codes = if show_codes { format!(", rule {}", entry.codes.join(" ")) } else { String::new() };
    let remark = match entry.segment {
        segment if serves_itself(segment) => ", served there, storage not measured",
        Segment::Unknown if of_run => "; nearest to its limit",
        _ => "",
    };
    let head = paragraph(&format!("{id}: {}{remark}{codes}", entry.regime), INDENT, style.width);
    let mut out = painted_label(&head, id, Paint::Limit, style);
    let (shown, more) = some_of(&entry.evidence, most, style);
    out.extend(shown.iter().map(|one| evidence("", one, Indent::all("    "), page)));
    out.extend(more.map(|more| format!("    {more}\n")).filter(|_| entry.evidence.len() > most + 1));
    out
}

fn exonerated(entry: &Exonerated, summary: Option<&Summary>, page: PageContext<'_>) -> String {
    let style = page.style;
    let id = entry.segment.id();
    let (shown, _) = some_of(&entry.evidence, EVIDENCE_OF_RUN, style);
    let short = if style.detail { None } else { summary.and_then(|summary| short(entry, summary)) };
    let text: String = match &short {
        Some(short) => evidence(id, short, INDENT, page),
        None => shown.iter().map(|one| evidence(id, one, INDENT, page)).collect(),
    };
    painted_label(&text, id, Paint::Cleared, style)
}

/// How full the segment was at most, in place of the statements of each load; `None` where that is no share.
fn short(entry: &Exonerated, summary: &Summary) -> Option<Evidence> {
    let segment = summary.segments.iter().find(|known| known.id == entry.segment)?;
    let reading = reading(segment, summary);
    reading.used_ratio.filter(|used| *used < 1.0)?;
    let (first, share) = (entry.evidence.first()?, reading.used()?);
    let most = if share.starts_with("under") { "" } else { "at most " };
    let verb = if reading.of == Some(UsedOf::Time) { "" } else { " used" };
    Some(Evidence { text: format!("{most}{share}{verb}"), ..first.clone() })
}

/// Segments that were not measured for the same reason.
struct UnmeasuredGroup<'a> {
    entries: Vec<&'a NotMeasured>,
    why: &'a str,
}

impl UnmeasuredGroup<'_> {
    /// How to measure them, where that is the same for all.
    fn how_to(&self) -> Option<&str> {
        let first = self.entries.first()?;
        self.entries.iter().all(|entry| entry.how_to == first.how_to).then_some(first.how_to.as_str())
    }
}

/// Entries joined by reason; with detail only where the remedy is the same too.
fn groups<'a>(entries: &'a [NotMeasured], style: &Style) -> Vec<UnmeasuredGroup<'a>> {
    let mut groups: Vec<UnmeasuredGroup<'a>> = Vec::new();
    for entry in entries {
        let same = |group: &&mut UnmeasuredGroup<'a>| {
            group.why == entry.why && (!style.detail || group.how_to() == Some(entry.how_to.as_str()))
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.entries.push(entry),
            None => groups.push(UnmeasuredGroup { entries: vec![entry], why: &entry.why }),
        }
    }
    groups
}

fn not_measured(group: &UnmeasuredGroup<'_>, style: &Style) -> String {
    let names: Vec<&str> = group.entries.iter().map(|entry| entry.segment.id()).collect();
    let how_to = group.how_to().unwrap_or("see `narrows explain SEGMENT`");
    let text = format!("{}: {}. To measure: {how_to}.", names.join(", "), group.why);
    paragraph(&text, INDENT, style.width)
}
