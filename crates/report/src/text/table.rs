//! Tables of aligned columns, two spaces in and two between.

use super::style::{Paint, Style};
use super::wrap::columns;

/// To which side of its column a text is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A text of a table with its colour.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    text: String,
    paint: Paint,
}

impl Field {
    /// A text in its colour.
    pub(crate) fn new(text: impl Into<String>, paint: Paint) -> Self {
        Self { text: text.into(), paint }
    }
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        Self::new(text, Paint::Plain)
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        Self::new(text, Paint::Plain)
    }
}

enum TextTableRow {
    Fields(Vec<Field>),
    Line(String),
}

/// A table: rows of fields, with lines between them that take no part in the alignment.
pub(crate) struct TextTable {
    columns: Vec<(String, Align)>,
    rows: Vec<TextTableRow>,
}

impl TextTable {
    /// A table without rows.
    pub(crate) fn new(columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect();
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row; fields past the last column are dropped.
    pub(crate) fn row(&mut self, fields: Vec<Field>) {
        self.rows.push(TextTableRow::Fields(fields));
    }

    /// Adds a whole line, newlines included.
    pub(crate) fn line(&mut self, text: String) {
        self.rows.push(TextTableRow::Line(text));
    }

    /// The table with its header.
    pub(crate) fn render(&self, style: &Style) -> String {
        let header: Vec<Field> =
            self.columns.iter().map(|(name, _)| Field::new(name.as_str(), Paint::Faint)).collect();
        self.fields(&header, &self.widths(), style) + &self.without_header(style)
    }

    /// The rows alone.
    pub(crate) fn without_header(&self, style: &Style) -> String {
        let widths = self.widths();
        let line = |row: &TextTableRow| match row {
            TextTableRow::Fields(fields) => self.fields(fields, &widths, style),
            TextTableRow::Line(text) => text.clone(),
        };
        self.rows.iter().map(line).collect()
    }

    /// Columns of a terminal that its longest row takes.
    pub(crate) fn width(&self) -> usize {
        self.without_header(&Style::default()).lines().map(columns).max().unwrap_or(0)
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|(name, _)| columns(name)).collect();
        for row in &self.rows {
            let TextTableRow::Fields(fields) = row else { continue };
            for (width, field) in widths.iter_mut().zip(fields) {
                *width = (*width).max(columns(&field.text));
            }
        }
        widths
    }

    fn fields(&self, fields: &[Field], widths: &[usize], style: &Style) -> String {
        let mut line = String::new();
        // Spaces are buffered until text follows, so that no line ends in spaces.
        let mut pending = String::new();
        for ((field, width), (_, align)) in fields.iter().zip(widths).zip(&self.columns) {
            let missing = " ".repeat(width.saturating_sub(columns(&field.text)));
            pending.push_str("  ");
            if *align == Align::Right {
                pending.push_str(&missing);
            }
            if !field.text.is_empty() {
                line.push_str(&std::mem::take(&mut pending));
                line.push_str(&style.paint(field.paint, &field.text));
            }
            if *align == Align::Left {
                pending.push_str(&missing);
            }
        }
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> TextTable {
        let mut table =
            TextTable::new(&[("name", Align::Left), ("rate", Align::Right), ("mark", Align::Left)]);
        table.row(vec!["a".into(), "1.5 MiB/s".into(), Field::new("LIMIT", Paint::Limit)]);
        table.line("  between\n".to_owned());
        table.row(vec!["longer".into(), "2 B/s".into(), "".into()]);
        table
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_text() {
        let text = sample().render(&Style::default());
        assert_eq!(
            text,
            "  name         rate  mark\n  a       1.5 MiB/s  LIMIT\n  between\n  longer      2 B/s\n"
        );
    }

    #[test]
    fn colour_does_not_move_columns() {
        let coloured = sample().render(&Style { colour: true, ..Style::default() });
        let mut plain = coloured;
        for code in ["\u{1b}[0m", "\u{1b}[1;31m", "\u{1b}[2m"] {
            plain = plain.replace(code, "");
        }
        assert_eq!(plain, sample().render(&Style::default()));
    }
}
