//! Why a server could not start or end in order.

use std::io;

/// What the caller does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServeErrorKind {
    /// Correct the options.
    Options,
    /// Choose another address or free this one.
    Address,
    /// Choose another root or get the right to use it.
    Root,
    /// The system refused something that is needed.
    System,
    /// Remove what is named: it could not be removed at the end.
    Leftover,
}

/// Why a server could not start or end in order: what happened, where, what to do.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} {target}: {detail}; {hint}")]
pub struct ServeError {
    /// What the caller does next.
    pub kind: ServeErrorKind,
    /// What was being done.
    pub operation: &'static str,
    /// To what.
    pub target: String,
    /// What happened.
    pub detail: String,
    /// What to do.
    pub hint: String,
    /// The system's error.
    #[source]
    pub source: Option<io::Error>,
}

impl ServeError {
    pub(crate) fn new(
        kind: ServeErrorKind,
        operation: &'static str,
        target: impl Into<String>,
        detail: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            operation,
            target: target.into(),
            detail: detail.into(),
            hint: hint.into(),
            source: None,
        }
    }

    pub(crate) fn io(
        kind: ServeErrorKind,
        operation: &'static str,
        target: impl Into<String>,
        hint: &'static str,
        source: io::Error,
    ) -> Self {
        Self { source: Some(source), ..Self::new(kind, operation, target, "", hint) }.with_detail()
    }

    fn with_detail(mut self) -> Self {
        if let Some(source) = &self.source {
            self.detail = source.to_string();
        }
        self
    }
}
