//! Columns that run together: a table of fixed widths leaves no blank between wide figures.
//!
//! Figures have two digits behind their point, which distinguish them; a file size has none, and is known from
//! other rows. Not here: rows whose columns are apart.

use super::cells::{FIGURES, figure_count};
use crate::import::source::TextWord;
use narrows_model::located::Complaint;

/// Digits behind the point of a figure.
const DIGITS: usize = 2;

/// Splits cells that run together where there is one way to do it; all others stay as they are.
pub(super) fn split_all(rows: &mut [Vec<TextWord<'_>>]) {
    for row in rows.iter_mut() {
        if figure_count(row) < FIGURES {
            split_figures(row);
        }
    }
    let sizes = sizes(rows);
    for row in rows.iter_mut().filter(|row| figure_count(row) == FIGURES) {
        split_size(row, &sizes);
    }
}

/// Figures that run into each other, if that makes the row a whole one.
fn split_figures<'t>(row: &mut Vec<TextWord<'t>>) {
    let mut split: Vec<TextWord<'t>> = Vec::with_capacity(row.len());
    for word in row.iter() {
        match figures(&word.text) {
            Some(ends) if word.number().is_none() => {
                let mut from = 0;
                for end in ends {
                    let text = word.text.get(from..end).unwrap_or_default().to_owned();
                    let span = word.span.start + from..word.span.start + end;
                    split.push(TextWord { text: text.into(), span });
                    from = end;
                }
            }
            _ => split.push(word.clone()),
        }
    }
    if (FIGURES..=FIGURES + 1).contains(&figure_count(&split)) {
        *row = split;
    }
}

/// Where each figure of `text` ends, if it is nothing but figures with their two digits.
fn figures(text: &str) -> Option<Vec<usize>> {
    let mut ends = Vec::new();
    let mut from = 0;
    while from < text.len() {
        let rest = text.get(from..)?;
        let point = rest.find('.').filter(|point| *point > 0)?;
        let end = point + 1 + DIGITS;
        let own = rest.get(..end)?;
        let is_figure = own.bytes().enumerate().all(|(at, byte)| at == point || byte.is_ascii_digit());
        if !is_figure {
            return None;
        }
        from += end;
        ends.push(from);
    }
    (!ends.is_empty()).then_some(ends)
}

/// The file sizes of rows that have one, each once.
fn sizes(rows: &[Vec<TextWord<'_>>]) -> Vec<String> {
    let mut all: Vec<String> = rows
        .iter()
        .filter(|row| figure_count(row) == FIGURES + 1)
        .filter_map(|row| row.get(row.len() - FIGURES - 1).map(|size| size.text.clone().into_owned()))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The file size and the first figure, where the former is that of another row and of one alone.
fn split_size(row: &mut Vec<TextWord<'_>>, sizes: &[String]) {
    let Some(place) = row.len().checked_sub(FIGURES) else { return };
    let Some(first) = row.get(place).cloned() else { return };
    let rest_of = |size: &String| {
        let rest = first.text.strip_prefix(size.as_str())?;
        figures(rest).filter(|ends| ends.len() == 1).map(|_| (size.len(), rest.to_owned()))
    };
    let mut ways = sizes.iter().filter_map(rest_of);
    let (Some((length, rest)), None) = (ways.next(), ways.next()) else { return };
    let size = first.text.get(..length).unwrap_or_default().to_owned();
    let middle = first.span.start + length;
    let parts = [
        TextWord { text: size.into(), span: first.span.start..middle },
        TextWord { text: rest.into(), span: middle..first.span.end },
    ];
    row.splice(place..=place, parts);
}

/// What is wrong with a row whose columns run together in more than one way, or in none; `None` where they do not.
pub(super) fn complaint(row: &[TextWord<'_>], has_sizes: bool) -> Option<Complaint> {
    let hint = "separate the columns with blanks, or give the table as HTML or CSV";
    let glued = |word: &&TextWord<'_>| {
        let is_of_digits = word.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        is_of_digits && word.text.bytes().filter(|byte| *byte == b'.').count() > 1
    };
    if let Some(word) = row.iter().find(glued).filter(|_| figure_count(row) < FIGURES) {
        let found = format!("columns that run together: `{}`", word.text);
        return Some(Complaint::new(
            "",
            found,
            "figures with two digits behind the point, 15 in a row",
            hint,
        ));
    }
    let first = row.len().checked_sub(FIGURES).and_then(|place| row.get(place));
    first.filter(|_| has_sizes && figure_count(row) == FIGURES).map(|first| {
        let found = format!("a row without the file size that others have, or with it in `{}`", first.text);
        Complaint::new("", found, "a tag, the file size, and 15 figures", hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_distinguished_by_their_two_digits() {
        assert_eq!(figures("444444.44444444.44100.00"), Some(vec![9, 18, 24]));
        for other in ["", "12", "1.2", "1.234", "1.23x", ".12", "1.23-4.56"] {
            assert_eq!(figures(other), None, "{other}");
        }
    }
}
