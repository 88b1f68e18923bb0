//! One statement with the counter it rests on and the command that shows it.

use super::names::CellNames;
use super::style::{Paint, Style};
use super::wrap::{Indent, paragraph};
use narrows_model::diagnosis::Evidence;

/// What every statement of a report is printed with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageContext<'a> {
    pub names: &'a CellNames<'a>,
    pub style: &'a Style,
}

/// `evidence` as a paragraph that starts with `label`, counter and command in brackets at its end.
pub(crate) fn render(
    label: &str,
    evidence: &Evidence,
    indent: Indent<'_>,
    PageContext { names, style }: PageContext<'_>,
) -> String {
    let lead = if label.is_empty() { String::new() } else { format!("{label}: ") };
    let text = names.replace_ids(&evidence.text);
    let text = without_direction(&text);
    paragraph(&format!("{lead}{text}{}", source(evidence)), indent, style.width)
}

/// `text` with its first `label` in colour; done last, so that breaking lines does not count colours as columns.
pub(crate) fn painted_label(text: &str, label: &str, paint: Paint, style: &Style) -> String {
    text.replacen(label, &style.paint(paint, label), 1)
}

/// `text` without the direction before it, where the name of the cell repeats it.
fn without_direction(text: &str) -> &str {
    let repeats_direction = |direction: &&str, rest: &str| rest.contains(&format!("{direction} "));
    match text.split_once(": ") {
        Some((direction @ ("read" | "write"), rest)) if repeats_direction(&direction, rest) => rest,
        _ => text,
    }
}

fn source(evidence: &Evidence) -> String {
    match (evidence.counter.is_empty(), evidence.command.is_empty()) {
        (true, true) => String::new(),
        (false, true) => format!(" [{}]", evidence.counter),
        (true, false) => format!(" [`{}`]", evidence.command),
        (false, false) => format!(" [{}: `{}`]", evidence.counter, evidence.command),
    }
}

/// At most `most` of `all` unless everything is shown, and the words that say how many are left out.
pub(crate) fn some_of<'a, T>(all: &'a [T], most: usize, style: &Style) -> (&'a [T], Option<String>) {
    if style.detail || all.len() <= most {
        return (all, None);
    }
    let shown = all.get(..most).unwrap_or(all);
    (shown, Some(format!("{} more with --detail", all.len() - shown.len())))
}
