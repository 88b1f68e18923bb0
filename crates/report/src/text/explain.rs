//! An explanation of a rule or a segment, as `analysis` gives it.

use super::headline::capitalised;
use super::style::{Paint, Style};
use super::wrap::{Indent, paragraph};
use narrows_analysis::Explanation;

/// The explanation as a page: topic and title, then each paragraph below its name.
#[must_use]
pub fn explanation(explanation: &Explanation, style: &Style) -> String {
    let topic = style.paint(Paint::Heading, explanation.topic);
    let mut out = format!("{topic}: {}\n", explanation.title);
    for (name, text) in &explanation.paragraphs {
        out.push('\n');
        out.push_str(&style.paint(Paint::Heading, &capitalised(name)));
        out.push('\n');
        for part in text.lines() {
            out.push_str(&paragraph(part, Indent::all("  "), style.width));
        }
    }
    out
}
