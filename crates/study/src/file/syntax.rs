//! The text of a study as TOML: the settings of what can be read.

use super::settings::{self, Settings};
use crate::located::{Findings, document};

/// The settings; `None` when the text is no TOML.
pub(crate) fn settings(text: &str, findings: &mut Findings<'_>) -> Option<Settings> {
    document(text, findings, settings::settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> (usize, String, String) {
        let mut findings = Findings::new("s", text);
        assert!(settings(text, &mut findings).is_none(), "{text}");
        let problem = findings.into_result().unwrap_err().list.remove(0);
        (problem.line, problem.found, problem.hint)
    }

    #[test]
    fn a_value_without_quotes_is_shown_with_them() {
        let (line, found, hint) = first("[workload]\nblock = 4KiB # small\n");
        assert_eq!((line, found.as_str()), (2, "4KiB without quotes"));
        assert!(hint.ends_with("block = \"4KiB\""), "{hint}");
    }

    #[test]
    fn a_key_twice_is_told_where_it_stands_again() {
        assert_eq!(first("seed = 1\nseed = 2\n").0, 2);
    }

    #[test]
    fn errors_of_several_lines_are_told_at_once_and_the_rest_is_checked() {
        let text = "target = null:\nsead = 1\n[workload]\nblock = 4KiB\n";
        let mut findings = Findings::new("s", text);
        assert!(settings(text, &mut findings).is_none());
        let problems = findings.into_result().unwrap_err();
        assert_eq!(problems.list.iter().map(|problem| problem.line).collect::<Vec<_>>(), [1, 2, 4]);
    }
}
