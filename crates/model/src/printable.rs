//! Text of others (names, errors, what peers send) in a form that is safe to print: with what steers a terminal escaped,
//! as a word of a shell.
//!
//! An escape is that of JSON, such as `\u001b`: what was valid JSON stays so, and says the same. Layout, colour and what
//! is printed at all belong to others.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a terminal acts on `c` instead of showing it: control characters (C0, DEL, C1), line and paragraph separators,
/// and what turns the direction of writing.
///
/// # Source
/// Unicode 16, category Cc; UAX 9, table 1 (explicit directional formatting and marks).
#[must_use]
pub fn is_control(c: char) -> bool {
    let reorders =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || reorders || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Whether `c` begins a new line somewhere: on a terminal, in a log, in an editor.
#[must_use]
pub fn breaks_line(c: char) -> bool {
    matches!(c, '\n' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// `text` with every control character escaped, so that it is one line.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_control)
}

/// `text` with every control character escaped but newline and tab.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_control(c) && c != '\n' && c != '\t')
}

/// `text` as one word of a shell, quoted if it is not plain.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A path as one word of a shell that no command takes for an option.
#[must_use]
pub fn shell_path(path: &str) -> String {
    if path.starts_with('-') { shell_word(&format!("./{path}")) } else { shell_word(path) }
}

fn escaped(text: &str, asks: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&asks) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if asks(c) {
            // All of them are below U+10000: four digits. Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell_and_no_option() {
        assert_eq!(shell_path("/srv/data"), "/srv/data");
        assert_eq!(shell_path("/srv/a b/it's"), r"'/srv/a b/it'\''s'");
        assert_eq!(shell_path("-rf/x"), "./-rf/x");
        assert_eq!(shell_path("./.narrows-01"), "./.narrows-01");
        assert_eq!((shell_word("--seconds=3"), shell_word("")), ("--seconds=3".to_owned(), "''".to_owned()));
    }

    #[test]
    fn plain_text_of_any_language_stays_as_it_is() {
        for text in ["", "/srv/data", "größe → 3 µs\tx", "日本語", "שלום", "👩‍🔬"] {
            assert!(matches!(lines(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn what_steers_a_terminal_is_escaped_and_a_newline_only_where_one_line_is_wanted() {
        let text = "a\u{1b}[2J\r\u{7}\u{7f}\u{9b}\u{202e}\u{2066}\n\tb";
        assert_eq!(lines(text), "a\\u001b[2J\\u000d\\u0007\\u007f\\u009b\\u202e\\u2066\n\tb");
        assert_eq!(one_line(text), "a\\u001b[2J\\u000d\\u0007\\u007f\\u009b\\u202e\\u2066\\u000a\\u0009b");
    }

    #[test]
    fn json_says_the_same_after_it() {
        let value = serde_json::json!({ "name": "a\u{1b}\u{7f}\u{9b}\u{202e}\u{2028}\nb" });
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let again: serde_json::Value = serde_json::from_str(&lines(&text)).unwrap();
            assert_eq!(again, value);
            assert!(!lines(&text).chars().any(|c| is_control(c) && c != '\n'));
        }
    }
}
