//! Columns of a study's tables: as many side by side as the width takes, the others in a second table below.

use super::super::style::{Paint, Style};
use super::super::table::{Align, Field, TextTable};
use super::super::wrap::columns as width_of;

/// One column: heading, side, a text for each row.
pub(super) struct TextColumn {
    pub(super) heading: String,
    pub(super) align: Align,
    pub(super) fields: Vec<String>,
}

impl TextColumn {
    /// A column of numbers.
    pub(super) fn right(heading: &str, fields: Vec<String>) -> Self {
        Self { heading: heading.to_owned(), align: Align::Right, fields }
    }

    /// A column of words.
    pub(super) fn left(heading: &str, fields: Vec<String>) -> Self {
        Self { heading: heading.to_owned(), align: Align::Left, fields }
    }

    fn width(&self) -> usize {
        let widest = self.fields.iter().map(|field| width_of(field)).max().unwrap_or(0);
        widest.max(width_of(&self.heading)) + 2
    }

    fn is_empty(&self) -> bool {
        self.fields.iter().all(String::is_empty)
    }
}

/// `values` beside `names`, in as many tables as the width needs; each repeats the names.
pub(super) fn render(names: &[TextColumn], values: Vec<TextColumn>, style: &Style) -> String {
    let named: usize = names.iter().map(TextColumn::width).sum();
    let mut tables: Vec<Vec<TextColumn>> = Vec::new();
    let mut used = usize::MAX;
    for column in values.into_iter().filter(|column| !column.is_empty()) {
        if used.saturating_add(column.width()) > style.width {
            tables.push(Vec::new());
            used = named;
        }
        used += column.width();
        if let Some(table) = tables.last_mut() {
            table.push(column);
        }
    }
    let rendered: Vec<String> = tables.iter().map(|values| table(names, values, style)).collect();
    rendered.join("\n")
}

fn table(names: &[TextColumn], values: &[TextColumn], style: &Style) -> String {
    let all: Vec<&TextColumn> = names.iter().chain(values).collect();
    let heads: Vec<(&str, Align)> =
        all.iter().map(|column| (column.heading.as_str(), column.align)).collect();
    let mut table = TextTable::new(&heads);
    let row_count = names.first().map_or(0, |column| column.fields.len());
    for row in 0..row_count {
        let text = |column: &&TextColumn| column.fields.get(row).cloned().unwrap_or_default();
        table.row(all.iter().map(|column| Field::new(text(column), Paint::Plain)).collect());
    }
    table.render(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_wide_goes_below_with_the_names_again() {
        let names = [TextColumn::left("name", vec!["a".to_owned(), "b".to_owned()])];
        let wide = |heading: &str| TextColumn::right(heading, vec!["12345678".to_owned(), String::new()]);
        let text = render(&names, vec![wide("one"), wide("two")], &Style { width: 20, ..Style::default() });
        assert_eq!(
            text,
            "  name       one\n  a     12345678\n  b\n\n  name       two\n  a     12345678\n  b\n"
        );
    }

    #[test]
    fn a_column_without_any_figure_is_left_out() {
        let names = [TextColumn::left("name", vec!["a".to_owned()])];
        let text = render(&names, vec![TextColumn::right("none", vec![String::new()])], &Style::default());
        assert_eq!(text, "");
    }
}
