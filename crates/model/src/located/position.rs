//! Positions in a text: lines and columns of byte spans.
//!
//! Not here: what is wrong there.

use std::ops::Range;

/// Bytes of a text, from and to.
pub type Span = Range<usize>;

/// A place in a text, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPosition {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// Characters that are meant; at least 1.
    pub length: usize,
    /// The line, without its end.
    pub text: String,
}

/// The place of `span`; of its first line, where it has several.
///
/// # Shape
/// A span that is outside the text, or splits a character, is moved to the nearest border inside.
#[must_use]
pub fn text_position(text: &str, span: &Span) -> TextPosition {
    let start = char_boundary_before(text, span.start);
    let end = char_boundary_before(text, span.end.max(span.start));
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let line_text = text[line_start..line_end].trim_end_matches('\r');
    TextPosition {
        line: text[..start].matches('\n').count() + 1,
        column: text[line_start..start].chars().count() + 1,
        length: text[start..end.min(line_end)].trim_end().chars().count().max(1),
        text: line_text.to_owned(),
    }
}

/// The border between characters at or before `index`.
fn char_boundary_before(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// The text of `span` in one line, cut where it is long.
#[must_use]
pub fn excerpt(text: &str, span: &Span) -> String {
    const CHARS_MAX: usize = 60;
    let (start, end) =
        (char_boundary_before(text, span.start), char_boundary_before(text, span.end.max(span.start)));
    let whole = &text[start..end];
    let line: String = printable(whole.lines().next().unwrap_or_default());
    let cut = line.chars().count() > CHARS_MAX || whole.trim_end().lines().count() > 1;
    if cut { format!("{} ...", line.chars().take(CHARS_MAX).collect::<String>().trim_end()) } else { line }
}

/// `text` without characters that would steer a terminal: each is a replacement sign.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_count_from_one() {
        let text = "a = 1\r\nü = \"x\"\r\n";
        let found = text_position(text, &(12..15));
        assert_eq!((found.line, found.column, found.length), (2, 5, 3));
        assert_eq!(found.text, "ü = \"x\"");
    }

    #[test]
    fn a_span_outside_the_text_is_at_its_end() {
        let found = text_position("ab", &(900..1000));
        assert_eq!((found.line, found.column, found.length), (1, 3, 1));
        assert_eq!(text_position("", &(0..0)).line, 1);
    }

    #[test]
    fn a_value_of_several_lines_is_shown_by_its_first() {
        assert_eq!(excerpt("[1,\n2]", &(0..6)), "[1, ...");
        assert_eq!(excerpt("\u{1b}[31m", &(0..5)), "\u{fffd}[31m");
    }
}
