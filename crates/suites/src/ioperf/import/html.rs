//! Rows of HTML tables, as far as benchmark pages of 2002 have them: `<tr>`, `<td>` and `<th>`, closed or not.
//!
//! Not a parser of HTML: what is within a tag is dropped, and five entities are known.

use crate::import::source::TextWord;
use std::borrow::Cow;

/// Whether `text` has a table in HTML.
pub(super) fn is_table(text: &str) -> bool {
    next_tag(text, 0, &["tr"]).is_some()
}

/// The cells of every row.
pub(super) fn rows(text: &str) -> Vec<Vec<TextWord<'_>>> {
    let mut rows: Vec<Vec<TextWord<'_>>> = Vec::new();
    let mut at = 0;
    while let Some(tag) = next_tag(text, at, &["tr", "td", "th"]) {
        at = tag.end;
        if tag.name == "tr" {
            rows.push(Vec::new());
            continue;
        }
        let end = next_tag(text, at, &["tr", "td", "th", "/tr", "/td", "/th", "/table"])
            .map_or(text.len(), |next| next.start);
        if let (Some(row), Some(cell)) = (rows.last_mut(), cell(text, at, end)) {
            row.push(cell);
        }
        at = end;
    }
    rows
}

struct Tag {
    name: &'static str,
    start: usize,
    end: usize,
}

/// The next tag of one of these names at or after `from`.
fn next_tag(text: &str, from: usize, names: &[&'static str]) -> Option<Tag> {
    let mut at = from;
    while let Some(offset) = text.get(at..)?.find('<') {
        let start = at + offset;
        let rest = text.get(start + 1..)?;
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '/')).unwrap_or(rest.len());
        let found = rest.get(..length)?;
        if let Some(name) = names.iter().copied().find(|name| name.eq_ignore_ascii_case(found)) {
            let end = rest.find('>').map_or(text.len(), |close| start + 1 + close + 1);
            return Some(Tag { name, start, end });
        }
        at = start + 1;
    }
    None
}

/// The text of a cell without tags; `None` where it is blank.
fn cell(text: &str, from: usize, to: usize) -> Option<TextWord<'_>> {
    let raw = text.get(from..to)?;
    let mut plain = String::new();
    let mut in_tag = false;
    for c in raw.chars() {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => in_tag = false,
            c if !in_tag => plain.push(c),
            _ => {}
        }
    }
    let plain = plain
        .replace("&nbsp;", " ")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&");
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    (!plain.is_empty()).then_some(TextWord { text: Cow::Owned(plain), span: from..to })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_whether_closed_or_not() {
        let text =
            "<table><TR><td>&lt;a*&gt;<td align=right><b>1.5</b>\n<tr><td> x </td><td>2</td></tr></table>";
        let rows = rows(text);
        let shown: Vec<Vec<&str>> =
            rows.iter().map(|row| row.iter().map(|cell| cell.text.as_ref()).collect()).collect();
        assert_eq!(shown, [vec!["<a*>", "1.5"], vec!["x", "2"]]);
    }
}
