//! The name of a machine in a suite's tables and lists, which are split at columns and at commas.

use narrows_study::Problem;

/// The name that is printed for a machine without a usable name.
pub const NAMELESS: &str = "host";
/// Longest name.
const LETTERS_MAX: usize = 64;

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.".contains(letter)
}

/// Whether `name` can be part of a table or a list.
fn is_sound(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && name.len() <= LETTERS_MAX
        && name.chars().all(is_plain)
}

/// A host's name in a usable form: one that is not usable begins with `host-` and has `-` for refused characters.
#[must_use]
pub fn of_host(hostname: &str) -> String {
    if is_sound(hostname) {
        return hostname.to_owned();
    }
    format!("{NAMELESS}-{}", hostname.replace(|letter| !is_plain(letter), "-"))
        .chars()
        .take(LETTERS_MAX)
        .collect()
}

/// What is wrong with `name` as the value of `key`, with what to do; `None` if it is usable.
pub(crate) fn problem(key: &'static str, name: &str, hint: &str) -> Option<Problem> {
    (!is_sound(name)).then(|| refused(key, name, hint))
}

/// That `name` cannot be the value of `key`.
pub(crate) fn refused(key: &'static str, name: &str, hint: &str) -> Problem {
    let allowed = format!("1 to {LETTERS_MAX} letters, digits, -, _ and ., starting with a letter");
    Problem::new(key, format!("`{}`", name.escape_default()), allowed, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_whose_name_cannot_stand_there_gets_one() {
        assert_eq!(of_host("fs2.example"), "fs2.example");
        assert_eq!((of_host("12ab"), of_host("a b")), ("host-12ab".to_owned(), "host-a-b".to_owned()));
        assert_eq!(of_host(&"x".repeat(100)).len(), 64);
        for name in ["", "12ab", "a b", "é,\u{7}", &"9".repeat(100)] {
            assert_eq!(problem("-m", &of_host(name), ""), None, "{name}");
        }
    }

    #[test]
    fn a_name_that_breaks_columns_is_refused_with_what_is_allowed() {
        let said = problem("-m", "a,b", "give one without commas").unwrap().to_string();
        assert!(said.starts_with("-m: found `a,b`; allowed: 1 to 64 letters"), "{said}");
    }
}
