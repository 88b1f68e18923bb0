//! A summary as JSON, for programs: generated from the types, never from text.

use narrows_model::Summary;

/// The summary as indented JSON that ends in a newline; keys stand in the order of the types.
///
/// # Panics
/// Never: every map of a summary has keys that are text, and memory takes every write.
#[must_use]
#[allow(
    clippy::expect_used,
    reason = "a summary's maps have text keys, the only thing that could fail in memory"
)]
pub fn summary(summary: &Summary) -> String {
    let mut text = serde_json::to_string_pretty(summary).expect("a summary has maps with text keys alone");
    text.push('\n');
    text
}
