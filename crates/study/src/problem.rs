//! What is wrong with a request, for people: all of it at once.

use std::fmt;

/// One thing that is wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problem {
    /// What was asked for, as the request's field names it.
    pub key: &'static str,
    /// What was found there.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
    /// What to do.
    pub hint: String,
}

impl Problem {
    /// One thing that is wrong: where, what was found, what is allowed, what to do.
    pub fn new(
        key: &'static str,
        found: impl Into<String>,
        allowed: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { key, found: found.into(), allowed: allowed.into(), hint: hint.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found {}; allowed: {}; {}", self.key, self.found, self.allowed, self.hint)
    }
}
