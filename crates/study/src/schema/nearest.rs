//! The nearest name to one that is not known.
//!
//! Not here: which names are known.

/// Names above this length are no slips of the finger, and comparing them would cost time.
const CHARS_MAX: usize = 64;
/// Of two names of this likeness one is meant for the other: a swapped, a missing or a wrong letter or two.
const LIKENESS_MIN: f64 = 0.6;

/// `did you mean ...?` for the nearest of `names`; `None` when none is near.
pub(crate) fn nearest_hint(found: &str, names: &[&str]) -> Option<String> {
    nearest(&found.to_lowercase(), names.iter().copied()).map(|near| format!("did you mean \"{near}\"?"))
}

/// The nearest of `names`; `None` when none is near.
pub fn nearest<'n>(found: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if found.chars().count() > CHARS_MAX {
        return None;
    }
    let scored = names.map(|name| (strsim::normalized_damerau_levenshtein(found, name), name));
    scored
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_put_right_and_what_is_like_nothing_is_not() {
        assert_eq!(nearest_hint("zzzz", &["read", "write"]), None);
        assert_eq!(nearest_hint("raed", &["read", "write"]).as_deref(), Some("did you mean \"read\"?"));
        assert_eq!(nearest_hint(&"read".repeat(1000), &["read"]), None);
    }
}
