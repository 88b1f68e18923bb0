//! The verdict on observations: what `diagnose FILE.toml` shows.

use super::evidence::PageContext;
use super::names::CellNames;
use super::style::{Paint, Style};
use super::units::counted;
use super::wrap::{Indent, paragraph};
use super::{headline, lists, remarks};
use narrows_model::diagnosis::Severity;
use narrows_model::observation::DiagnosisDocument;

/// The verdict of `document`: what was measured and by whom, what limits, the lists with their evidence, the findings,
/// and what to read next.
///
/// # Shape
/// Whole lines; never empty. With [`Style::detail`] every statement is shown.
#[must_use]
pub fn observations(document: &DiagnosisDocument, style: &Style) -> String {
    let names = CellNames::none();
    let page = PageContext { names: &names, style };
    let diagnosis = &document.diagnosis;
    let none = "No verdict: there is no observation in the file.";
    let parts = [
        title(document, style),
        headline::format_limits(&diagnosis.limiting, none, &|_| String::new(), style),
        lists::render_observations(diagnosis, page),
        remarks::findings(diagnosis, page),
        next(document, style),
        origin(document, style),
    ];
    parts.concat()
}

fn title(document: &DiagnosisDocument, style: &Style) -> String {
    let title = headline::painted(&document.title, Indent::all(""), Paint::Heading, style);
    let source = document.source.as_ref().map(|source| paragraph(source, Indent::all("  "), style.width));
    title + &source.unwrap_or_default() + "\n"
}

/// The rule to read about: the one behind the first limit, else behind the gravest finding.
fn next(document: &DiagnosisDocument, style: &Style) -> String {
    let diagnosis = &document.diagnosis;
    let of_limits = diagnosis.limiting.iter().flat_map(|entry| &entry.codes).next();
    let of_findings = || {
        diagnosis
            .findings
            .iter()
            .find(|finding| finding.severity > Severity::Info)
            .map(|finding| &finding.code)
    };
    of_limits.or_else(of_findings).map_or_else(String::new, |code| {
        let purpose = style.paint(Paint::Faint, "# the basis of the verdict");
        style.heading("NEXT", "") + &format!("  {purpose}\n  narrows explain {code}\n")
    })
}

fn origin(document: &DiagnosisDocument, style: &Style) -> String {
    let count = counted(document.observation_count, "observation");
    let text = format!("{count}, measured elsewhere, evaluated by narrows {}.", document.narrows_version);
    format!("\n{}", headline::painted(&text, Indent::all(""), Paint::Faint, style))
}
