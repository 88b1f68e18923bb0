//! Paragraphs broken at spaces.

/// How far the lines of a paragraph are indented.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Indent<'a> {
    /// Before the first line.
    pub first: &'a str,
    /// Before the others.
    pub rest: &'a str,
}

impl<'a> Indent<'a> {
    /// The same for every line.
    pub(crate) fn all(text: &'a str) -> Self {
        Self { first: text, rest: text }
    }
}

/// `text` in lines of at most `width` columns, each ended by a newline. A word that is longer stays whole, and so
/// does text between backquotes, so that commands can be copied.
pub(crate) fn paragraph(text: &str, indent: Indent<'_>, width: usize) -> String {
    let mut out = String::new();
    let mut line = indent.first.to_owned();
    let mut empty = true;
    for word in words(text) {
        if !empty && columns(&line) + 1 + columns(&word) > width {
            finish(&mut out, &line);
            indent.rest.clone_into(&mut line);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(&word);
        empty = false;
    }
    finish(&mut out, &line);
    out
}

/// Columns that `text` takes, one a character.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().count()
}

fn finish(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The words of a text; backquotes keep words together, and so does a number's unit.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut quoted = false;
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if quoted || binds(last, word) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
        quoted ^= word.matches('`').count() % 2 == 1;
    }
    words
}

/// Whether `word` is the unit of the number before it.
fn binds(last: &str, word: &str) -> bool {
    let number = last.ends_with(|c: char| c.is_ascii_digit());
    let unit = word.trim_end_matches([',', '.', ';', ':', ')']);
    number
        && (unit == "%"
            || unit.ends_with("/s")
            || unit.ends_with("iB")
            || matches!(unit, "ns" | "us" | "ms" | "s" | "CPUs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_keep_their_indent() {
        let indent = Indent { first: "* ", rest: "  " };
        assert_eq!(paragraph("one two three four", indent, 11), "* one two\n  three\n  four\n");
    }

    #[test]
    fn a_command_between_backquotes_stays_on_one_line() {
        let text = paragraph("run `ss -ti dst 10.0.0.2` here", Indent::all(""), 12);
        assert_eq!(text, "run\n`ss -ti dst 10.0.0.2`\nhere\n");
    }

    #[test]
    fn a_number_keeps_its_unit() {
        assert_eq!(paragraph("it carried 11.2 MiB/s.", Indent::all(""), 17), "it carried\n11.2 MiB/s.\n");
    }

    #[test]
    fn no_text_is_one_empty_line() {
        assert_eq!(paragraph("", Indent::all("  "), 10), "\n");
    }
}
