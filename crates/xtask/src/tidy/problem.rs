//! One thing that tidy found wrong, and how it is written.

use std::fmt;

/// A place, what is there, what may be there, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TidyProblem {
    pub(crate) file: String,
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) found: String,
    pub(crate) allowed: String,
    pub(crate) hint: String,
}

impl fmt::Display for TidyProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}; {}; {}", self.file, self.line, self.found, self.allowed, self.hint)
    }
}

#[cfg(test)]
mod tests {
    use super::TidyProblem;

    #[test]
    fn a_problem_reads_place_found_allowed_hint() {
        let problem = TidyProblem {
            file: "crates/model/src/lib.rs".to_owned(),
            line: 7,
            found: "found".to_owned(),
            allowed: "allowed".to_owned(),
            hint: "hint".to_owned(),
        };
        assert_eq!(problem.to_string(), "crates/model/src/lib.rs:7: found; allowed; hint");
    }
}
