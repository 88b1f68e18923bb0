//! The verdict on observations: what `diagnose FILE.toml` shows.

use super::evidence::PageContext;
use super::names::CellNames;
use super::style::{Paint, Style};
use super::units::counted;
use super::wrap::{Indent, paragraph};
use super::{headline, lists, remarks};
use narrows_model::diagnosis::Severity;
use narrows_model::observation::{DiagnosisDocument, ObservationUse};
use narrows_model::quantity as text;

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
        uses(document, style),
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

/// With [`Style::detail`] every observation, with its rate and what it was used for, or why it was not.
fn uses(document: &DiagnosisDocument, style: &Style) -> String {
    if !style.detail || document.observations.is_empty() {
        return String::new();
    }
    let of_one = |one: &ObservationUse| {
        let rate = one.bytes_per_s.map(text::storage_rate).or_else(|| one.ops_per_s.map(text::op_rate));
        let use_of = match (&one.not_used, one.rules.is_empty()) {
            (Some(why), _) => format!("not used: {why}"),
            (None, true) => "evidence for others".to_owned(),
            (None, false) => one.rules.join(", "),
        };
        let line = format!("{}: {}; {use_of}", one.id, rate.unwrap_or_else(|| "no rate".to_owned()));
        paragraph(&line, Indent { first: "  ", rest: "    " }, style.width)
    };
    let lines: Vec<String> = document.observations.iter().map(of_one).collect();
    style.heading("OBSERVATIONS", "all of the file, and the rules that used them") + &lines.concat()
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
