//! Why a conversation cannot go on.

/// What the caller does next about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The peer does not speak this protocol, or broke it: close the connection.
    Protocol,
    /// The peer speaks another version of it: update the older side.
    Version,
    /// The token is missing, wrong, or asked for where there is none: give the right one.
    Token,
    /// The peer refused what was asked for: ask for something else.
    Refused(Refusal),
    /// What is to be sent is larger than the protocol allows: a mistake of the caller.
    TooLarge,
}

/// Why a peer refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// It cannot do that.
    Unsupported,
    /// There is no such object, session or store.
    NotFound,
    /// It may not do that.
    Permission,
    /// There is no room for it: a quota, or a full file system.
    NoSpace,
    /// There are too many connections.
    Busy,
    /// The time that was granted is over, or the server ends.
    Ended,
    /// The peer says that this side broke the protocol.
    Protocol,
    /// Its system failed.
    Io,
}

/// Why a conversation cannot go on: what happened, where, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

/// A value, or why the conversation cannot go on.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of this kind; the message says what happened and what to do.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// A breach of the protocol by the peer.
    #[must_use]
    pub fn protocol(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Protocol, message)
    }

    /// What the caller does next.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}
