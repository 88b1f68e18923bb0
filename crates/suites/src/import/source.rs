//! The text that is imported, as lines and words with their places, and numbers as tools print them.
//!
//! Deliberately absent: any format.

use narrows_model::located::Span;

/// A line of the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextLine<'t> {
    /// Bytes of the text before the line.
    pub start: usize,
    /// The line without its end.
    pub text: &'t str,
}

impl TextLine<'_> {
    /// The position of the line; never empty, so that it can be shown.
    pub(crate) fn span(&self) -> Span {
        self.start..self.start + self.text.trim_end().len().max(1)
    }
}

/// A word or a field of a line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TextWord<'t> {
    /// The word.
    pub text: std::borrow::Cow<'t, str>,
    /// Its position.
    pub span: Span,
}

impl TextWord<'_> {
    /// The number that the word is.
    pub(crate) fn number(&self) -> Option<f64> {
        number(&self.text)
    }
}

/// The lines of `text`, in order.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = TextLine<'_>> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |whole| {
        let line = TextLine { start, text: whole.trim_end_matches(['\n', '\r']) };
        start += whole.len();
        line
    })
}

/// The last line, where it may have been cut within a figure: without its end, it has digits and nothing closes them.
pub(crate) fn torn(text: &str) -> Option<TextLine<'_>> {
    // The last three end the prompt of a shell, which is no figure.
    const CLOSING: [char; 6] = [')', '"', '>', '$', '#', '%'];
    let last = lines(text).last().filter(|_| !text.ends_with('\n'))?;
    let has_figure = last.text.contains(|c: char| c.is_ascii_digit() || c == '+');
    (has_figure && !last.text.trim_end().ends_with(CLOSING)).then_some(last)
}

/// The words of a line, parted by what `parts`.
pub(crate) fn words(line: TextLine<'_>, parts: impl Fn(char) -> bool) -> Vec<TextWord<'_>> {
    fields(line, parts).into_iter().filter(|word| !word.text.is_empty()).collect()
}

/// The fields of a line, empty ones too, without the space around them.
pub(crate) fn fields(line: TextLine<'_>, parts: impl Fn(char) -> bool) -> Vec<TextWord<'_>> {
    let mut start = line.start;
    let mut all = Vec::new();
    for field in line.text.split(&parts) {
        let before = field.len() - field.trim_start().len();
        let text = field.trim();
        all.push(TextWord { text: text.into(), span: start + before..start + before + text.len() });
        // What parts is one byte in every format here.
        start += field.len() + 1;
    }
    all
}

/// A number as tools print it: digits with a point, perhaps a sign or an exponent; a percent sign behind it is dropped.
pub(crate) fn number(text: &str) -> Option<f64> {
    let text = text.strip_suffix('%').unwrap_or(text);
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let like_one = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    text.parse::<f64>().ok().filter(|value| like_one && value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_where_they_stand() {
        let text = "a  b\r\n| 12.5 |x\n";
        let all: Vec<TextWord<'_>> =
            lines(text).flat_map(|line| words(line, |c| c.is_ascii_whitespace() || c == '|')).collect();
        let shown: Vec<&str> = all.iter().map(|word| &text[word.span.clone()]).collect();
        assert_eq!(shown, ["a", "b", "12.5", "x"]);
    }

    #[test]
    fn a_last_line_may_be_torn_where_its_figures_are_not_closed() {
        let seen =
            ["a,12", "a,12,", "a\n1 2", "a,12\n", "a\n1 MB (2 MB per second)", "pm>", "1\npm>", "1\nend."]
                .map(|text| torn(text).is_some());
        assert_eq!(seen, [true, true, true, false, false, false, false, false]);
    }

    #[test]
    fn numbers_are_those_that_tools_print() {
        assert_eq!(
            [number("12.11"), number("88.94%"), number("1e3")],
            [Some(12.11), Some(88.94), Some(1000.0)]
        );
        for none in ["", "nan", "inf", "+++++", "962k", "1e999", "infinity", "%"] {
            assert_eq!(number(none), None, "{none}");
        }
    }
}
