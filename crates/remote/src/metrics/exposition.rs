//! Lines of the text format in which Prometheus exporters report (version 0.0.4, and `OpenMetrics` where it is the same).
//!
//! Only what a reader of counters needs: the name, the labels and the value of each sample. Borrows, and allocates only for a
//! label with escapes. Every line is checked by itself, so that one that is cut or malformed is never half a sample.
//!
//! Source: Prometheus, "Exposition formats", text-based format.

use std::borrow::Cow;

/// Most labels of a sample: exporters of machines have three at most.
const LABELS_MAX: usize = 32;

/// A sample: a metric's value under some labels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MetricLine<'a> {
    /// The metric's name.
    pub(super) name: &'a str,
    /// Names and values of its labels, in their order.
    pub(super) labels: Vec<(&'a str, Cow<'a, str>)>,
    /// Its value, which may be infinite or no number.
    pub(super) value: f64,
}

impl MetricLine<'_> {
    /// The value of the label `name`.
    pub(super) fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_ref())
    }
}

/// The name at the beginning of a line; `None` of empty lines and comments.
pub(super) fn name_of(line: &str) -> Option<&str> {
    let line = line.trim_start_matches([' ', '\t']);
    let end = line.find(|letter: char| !is_in_name(letter)).unwrap_or(line.len());
    (end > 0).then(|| &line[..end])
}

/// The sample that `line` is; `None` if it is none.
pub(super) fn sample(line: &str) -> Option<MetricLine<'_>> {
    let line = line.trim_matches([' ', '\t', '\r']);
    let name = name_of(line).filter(|name| !name.starts_with(|first: char| first.is_ascii_digit()))?;
    let rest = line[name.len()..].trim_start_matches([' ', '\t']);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (Vec::new(), rest),
    };
    let mut words = rest.split_ascii_whitespace();
    let value = number(words.next()?)?;
    // A time may follow, and in `OpenMetrics` an exemplar.
    let is_whole = match words.next() {
        None | Some("#") => true,
        Some(time) => time.parse::<f64>().is_ok(),
    };
    is_whole.then_some(MetricLine { name, labels, value })
}

/// The labels up to the brace that closes them, and what follows it.
type Labels<'a> = (Vec<(&'a str, Cow<'a, str>)>, &'a str);

fn labels(mut rest: &str) -> Option<Labels<'_>> {
    let mut found = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((found, after));
        }
        if found.len() == LABELS_MAX {
            return None;
        }
        let name = name_of(rest).filter(|name| rest.starts_with(name))?;
        rest = rest[name.len()..].trim_start_matches([' ', '\t']).strip_prefix('=')?;
        rest = rest.trim_start_matches([' ', '\t']).strip_prefix('"')?;
        let (value, after) = quoted(rest)?;
        found.push((name, value));
        rest = after.trim_start_matches([' ', '\t']);
        rest = match rest.strip_prefix(',') {
            Some(after) => after,
            None if rest.starts_with('}') => rest,
            None => return None,
        };
    }
}

/// The text up to the quote that ends it, without its escapes, and what follows the quote.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut made: Option<String> = None;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => {
                let value = made.map_or(Cow::Borrowed(&text[..at]), Cow::Owned);
                return Some((value, &text[at + 1..]));
            }
            '\\' => {
                let made = made.get_or_insert_with(|| text[..at].to_owned());
                made.push(match letters.next()?.1 {
                    'n' => '\n',
                    same @ ('\\' | '"') => same,
                    _ => return None,
                });
            }
            other => {
                if let Some(made) = &mut made {
                    made.push(other);
                }
            }
        }
    }
    None
}

/// A value as Go writes it.
fn number(word: &str) -> Option<f64> {
    match word {
        "+Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        // Rust reads words such as `infinity` too.
        _ if word.contains(|letter: char| letter.is_ascii_alphabetic() && !matches!(letter, 'e' | 'E')) => {
            None
        }
        _ => word.parse().ok(),
    }
}

fn is_in_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_name_labels_and_value() {
        let found = sample(r#"node_cpu_seconds_total{cpu="0",mode="idle"} 1.234567e+06"#).unwrap();
        assert_eq!((found.name, found.value), ("node_cpu_seconds_total", 1_234_567.0));
        assert_eq!(
            (found.label("cpu"), found.label("mode"), found.label("x")),
            (Some("0"), Some("idle"), None)
        );
    }

    #[test]
    fn spaces_times_and_a_comma_at_the_end_are_allowed() {
        for line in
            ["a 1", "a{} 1", " a { } 1 ", "a\t{ b = \"c\" , } 1 1700000000000", "a 1 1.5", "a 1 # {} 1"]
        {
            let found = sample(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((found.name, found.value), ("a", 1.0), "{line}");
        }
    }

    #[test]
    fn escapes_in_labels_are_resolved() {
        let found = sample(r#"a{b="x\\y\"z\n",c="é"} 0"#).unwrap();
        assert_eq!((found.label("b"), found.label("c")), (Some("x\\y\"z\n"), Some("é")));
    }

    #[test]
    fn values_that_go_writes_are_read_and_words_of_rust_are_not() {
        assert!(sample("a +Inf").unwrap().value.is_infinite() && sample("a NaN").unwrap().value.is_nan());
        for line in ["a inf", "a infinity", "a nan", "a 0x10", "a 1_000", "a 1,5", "a"] {
            assert_eq!(sample(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_no_sample_is_none() {
        for line in [
            "",
            "# HELP a b",
            "{} 1",
            "1a 1",
            "a{b} 1",
            "a{b=c} 1",
            "a{b=\"c} 1",
            "a{b=\"c\"",
            "a{b=\"c\"d=\"e\"} 1",
            "a{b=\"\\x\"} 1",
            "a{=\"c\"} 1",
            "a 1 x",
            "<html>",
            "a{,} 1",
        ] {
            assert_eq!(sample(line), None, "{line}");
        }
        let many = (0..=LABELS_MAX).map(|index| format!("l{index}=\"\",")).collect::<Vec<_>>().concat();
        assert_eq!(sample(&format!("a{{{many}}} 1")), None);
    }

    #[test]
    fn a_line_cut_at_any_byte_is_none_or_a_sample_of_that_name() {
        let line = r#"node_disk_io_time_seconds_total{device="nvme0n1",note="a\"b\\é"} 12.5 1700000000000"#;
        for end in (0..line.len()).filter(|end| line.is_char_boundary(*end)) {
            if let Some(found) = sample(&line[..end]) {
                assert_eq!(found.name, "node_disk_io_time_seconds_total");
                assert_eq!(found.label("device"), Some("nvme0n1"));
            }
        }
    }
}
