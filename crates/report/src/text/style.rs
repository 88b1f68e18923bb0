//! How text is laid out: width, colour, characters, and how much is shown.

/// How text is laid out.
///
/// Colour only repeats what a word says already, so text without it loses nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns that a line should not pass; commands are never broken, so that they can be copied.
    pub width: usize,
    /// Whether ANSI colours are used.
    pub colour: bool,
    /// Whether characters beyond ASCII are used.
    pub unicode: bool,
    /// Whether everything is shown; otherwise what fits about sixty lines.
    pub detail: bool,
}

impl Default for Style {
    /// Ninety columns of plain ASCII, short.
    fn default() -> Self {
        Self { width: 90, colour: false, unicode: false, detail: false }
    }
}

/// Every sequence that colours text and ends it; nothing else that a report prints begins with an escape character.
pub const COLOURS: &[&str] =
    &["\u{1b}[1m", "\u{1b}[1;31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[2m", "\u{1b}[0m"];

/// What a piece of text is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Heading,
    Limit,
    Cleared,
    Warning,
    Faint,
}

impl Style {
    /// `text` in the colour of `paint`, or as it is.
    pub(crate) fn paint(&self, paint: Paint, text: &str) -> String {
        let code = match paint {
            _ if !self.colour || text.is_empty() => return text.to_owned(),
            Paint::Plain => return text.to_owned(),
            Paint::Heading => "1",
            Paint::Limit => "1;31",
            Paint::Cleared => "32",
            Paint::Warning => "33",
            Paint::Faint => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// The heading of a section, on a line of its own after an empty one.
    pub(crate) fn heading(&self, name: &str, remark: &str) -> String {
        let gap = if remark.is_empty() { "" } else { "  " };
        format!("\n{}{gap}{}\n", self.paint(Paint::Heading, name), self.paint(Paint::Faint, remark))
    }

    /// A bar of ten characters for a share of the whole; more than the whole is a full bar.
    pub(crate) fn bar(&self, ratio: f64) -> String {
        let (full, empty) = if self.unicode { ("█", "░") } else { ("#", ".") };
        let filled = (1..=10).filter(|step| ratio * 10.0 >= f64::from(*step) - 0.5).count();
        full.repeat(filled) + &empty.repeat(10 - filled)
    }

    /// The arrow from one machine to the next.
    pub(crate) fn arrow(&self) -> &'static str {
        if self.unicode { "→" } else { "->" }
    }

    /// The sign between factors.
    pub(crate) fn times(&self) -> &'static str {
        if self.unicode { "×" } else { "x" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_ten_characters_for_every_share() {
        let style = Style::default();
        for (ratio, bar) in
            [(0.0, ".........."), (0.5, "#####....."), (0.96, "##########"), (7.0, "##########")]
        {
            assert_eq!(style.bar(ratio), bar);
        }
        assert_eq!(style.bar(f64::NAN), "..........");
    }

    #[test]
    fn every_colour_is_in_the_list() {
        let style = Style { colour: true, ..Style::default() };
        for paint in [Paint::Heading, Paint::Limit, Paint::Cleared, Paint::Warning, Paint::Faint] {
            let text = style.paint(paint, "|");
            let (start, end) = text.split_once('|').unwrap();
            assert!(COLOURS.contains(&start) && COLOURS.contains(&end), "{text:?}");
        }
    }

    #[test]
    fn text_without_colour_has_no_escape() {
        assert_eq!(Style::default().paint(Paint::Limit, "LIMIT"), "LIMIT");
        let coloured = Style { colour: true, ..Style::default() };
        assert_eq!(coloured.paint(Paint::Limit, "LIMIT"), "\u{1b}[1;31mLIMIT\u{1b}[0m");
    }
}
