//! A summary, a comparison, noise, or the verdict on observations, as JSON for programs: generated from the types, never from text.

use narrows_model::extrapolation::Extrapolation;
use narrows_model::figures::FigureComparison;
use narrows_model::observation::DiagnosisDocument;
use narrows_model::{Comparison, Json, Noise, Plan, Summary};
use serde_json::json;

/// The summary as indented JSON that ends in a newline; keys are in the order of the types.
///
/// # Panics
/// Never: every map of a summary has keys that are text, and memory takes every write.
#[must_use]
pub fn summary(summary: &Summary) -> String {
    indented(summary)
}

/// A plan as indented JSON that ends in a newline; keys are in the order of the types.
///
/// # Panics
/// Never, as [`summary`].
#[must_use]
pub fn plan(plan: &Plan) -> String {
    indented(plan)
}

/// The verdict on observations as indented JSON that ends in a newline; keys are in the order of the types.
///
/// # Panics
/// Never, as [`summary`].
#[must_use]
pub fn diagnosis(document: &DiagnosisDocument) -> String {
    indented(document)
}

/// A comparison as indented JSON that ends in a newline; keys are in the order of the types.
///
/// # Panics
/// Never, as [`summary`].
#[must_use]
pub fn comparison(found: &Comparison) -> String {
    indented(found)
}

/// Figures of two sides as indented JSON that ends in a newline; keys are in the order of the types.
///
/// # Panics
/// Never, as [`summary`].
#[must_use]
pub fn figures(found: &FigureComparison) -> String {
    indented(found)
}

/// The noise of runs as indented JSON that ends in a newline; keys are in the order of the types.
///
/// # Panics
/// Never, as [`summary`].
#[must_use]
pub fn noise(found: &Noise) -> String {
    indented(found)
}

/// Rates of more clients than were measured as indented JSON that ends in a newline; keys are in the order of the types.
///
/// # Panics
/// Never, as [`summary`].
#[must_use]
pub fn extrapolation(found: &Extrapolation) -> String {
    indented(found)
}

#[allow(
    clippy::expect_used,
    reason = "the documents' maps have text keys, the only thing that could fail in memory"
)]
fn indented(document: &impl Json) -> String {
    let text = document.to_json().expect("a document has maps with text keys alone");
    let mut text = narrows_model::json::indented(&text);
    text.push('\n');
    text
}

/// Why a command failed, as what it prints in place of its result: the name of its exit `code`, the message for people, and
/// as hint the part of it that says what to do, which follows its first semicolon (null where it has none).
#[must_use]
pub fn failure(kind: &str, message: &str, code: u8) -> String {
    let hint = message.split_once("; ").map(|(_, hint)| hint);
    let error = json!({ "kind": kind, "message": message, "hint": hint, "code": code });
    format!("{}\n", json!({ "error": error }))
}
