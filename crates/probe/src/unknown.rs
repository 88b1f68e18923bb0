//! The list of what could not be read, in sentences, each once.
//!
//! It is bounded: a machine that refuses everything still gives a list that people can read.

use crate::error::{ProbeError, ProbeErrorKind};

/// More entries than there are distinct facts on any machine seen; a bound, not a policy.
const ENTRIES_MAX: usize = 128;

/// Sentences about facts that are missing.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnknownFacts(Vec<String>);

impl UnknownFacts {
    /// Adds a sentence unless it is there already.
    pub(crate) fn add(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if self.0.len() < ENTRIES_MAX && !self.0.contains(&sentence) {
            self.0.push(sentence);
        }
    }

    /// The value, or `None` with `fact` and the reason listed.
    pub(crate) fn note<T>(&mut self, fact: &str, outcome: Result<T, ProbeError>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(error) => {
                self.add(format!("{fact}: {error}"));
                None
            }
        }
    }

    /// As [`UnknownFacts::note`], but a file that is not there means that the machine has no such thing: not listed.
    pub(crate) fn note_unless_missing<T>(&mut self, fact: &str, outcome: Result<T, ProbeError>) -> Option<T> {
        match outcome {
            Err(error) if error.kind() == ProbeErrorKind::Missing => None,
            outcome => self.note(fact, outcome),
        }
    }

    /// The sentences so far.
    pub(crate) fn sentences(&self) -> &[String] {
        &self.0
    }
}
