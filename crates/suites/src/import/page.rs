//! Web pages as the text that a browser shows: results of a tool in the middle of headings, sentences and scripts.
//!
//! The text has as many bytes as the page, so that positions stay. Not here: tables of cells, which are their importer's.

/// What only pages have.
const MARKS: [&str; 6] = ["<html", "<body", "<pre", "<!doctype", "<br", "<p>"];
/// Tags at which a browser begins a line.
const BREAKS: [&str; 13] =
    ["br", "p", "/p", "tr", "/tr", "li", "div", "/div", "pre", "/pre", "/h1", "/h2", "/h3"];
/// Elements whose content is no text.
const HIDDEN: [&str; 2] = ["script", "style"];
/// Characters that are written as names.
const ENTITIES: [(&str, u8); 5] =
    [("&lt;", b'<'), ("&gt;", b'>'), ("&amp;", b'&'), ("&quot;", b'"'), ("&nbsp;", b' ')];
/// Start and end of a comment.
const COMMENT: (&str, &str) = ("<!--", "-->");

/// Whether `text` is a web page, or a part of one.
pub(super) fn is_page(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    MARKS.iter().any(|mark| lower.contains(mark))
}

/// Whether a page has tables of cells.
pub(super) fn has_table(text: &str) -> bool {
    text.to_ascii_lowercase().contains("<tr")
}

/// The page with blanks, and ends of lines, in the place of its tags, scripts and comments.
pub(super) fn shown(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = text.as_bytes().to_vec();
    let mut at = 0;
    // Bounded: each turn goes on behind what it has looked at.
    while let Some(found) = lower.get(at..).and_then(|rest| rest.find(['<', '&'])) {
        let start = at + found;
        let rest = lower.get(start..).unwrap_or_default();
        if let Some((name, letter)) = ENTITIES.iter().find(|(name, _)| rest.starts_with(name)) {
            blank(&mut out, start, start + name.len());
            // Beside the word that it begins or ends.
            let place = if *letter == b'<' { start + name.len() - 1 } else { start };
            out[place] = *letter;
            at = start + name.len();
            continue;
        }
        let Some(end) = end_of_tag(rest).map(|length| start + length) else {
            at = start + 1;
            continue;
        };
        blank(&mut out, start, end);
        let name = rest.trim_start_matches('<');
        let name = name.split(|c: char| !(c.is_ascii_alphanumeric() || c == '/')).next().unwrap_or_default();
        if BREAKS.contains(&name) {
            out[start] = b'\n';
        }
        at = end;
    }
    // Blanks are whole characters in the place of whole ones.
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// Bytes of the tag, the comment or the hidden element that `rest` begins with; `None` where it begins with none.
fn end_of_tag(rest: &str) -> Option<usize> {
    let until = |end: &str| rest.find(end).map_or(rest.len(), |at| at + end.len());
    if rest.starts_with(COMMENT.0) {
        return Some(until(COMMENT.1));
    }
    let after = rest.strip_prefix('<')?;
    if !after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!') {
        return None;
    }
    match HIDDEN.iter().find(|name| after.starts_with(*name)) {
        Some(name) => Some(until(&format!("</{name}>"))),
        None => Some(until(">")),
    }
}

/// Blanks in the place of bytes; ends of lines stay.
fn blank(out: &mut [u8], from: usize, to: usize) {
    if let Some(part) = out.get_mut(from..to) {
        part.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_its_length_and_shows_its_text() {
        let page = "<html><SCRIPT>if (1 < 2) x();</SCRIPT><!-- 3 < 4 --><p>a &lt; b<br>é<pre>1 <b>2</b>\n3 &amp; 4</pre>";
        let text = shown(page);
        assert_eq!(text.len(), page.len());
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(words, ["a", "<", "b", "é", "1", "2", "3", "&", "4"]);
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<String>())
            .filter(|line| !line.is_empty())
            .collect();
        assert_eq!(lines, ["a<b", "é", "12", "3&4"]);
    }

    #[test]
    fn what_is_cut_off_or_no_page_is_kept_in_bounds() {
        for text in ["<html><b", "<", "&", "&am", "<script>x", "<!-- x", "1 < 2", "<é>", ""] {
            assert_eq!(shown(text).len(), text.len(), "{text}");
        }
        assert!(is_page("<PRE>x") && !is_page("<rcas6*> 1 < 2"));
    }
}
