//! Why a run could not go on.

use narrows_engines::{EngineError, ErrorKind};
use narrows_model::{Nanos, SinkError};

/// What the caller does next about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunErrorKind {
    /// The target or server cannot be used as asked: skip the cell or correct the input.
    Target,
    /// A client process failed: what was measured before remains valid.
    Client,
    /// Events cannot be kept: stop.
    Sink,
    /// A stop was asked for.
    Stopped,
}

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// An engine could not do what was asked.
    #[error(transparent)]
    Engine(EngineError),
    /// A client process failed.
    #[error("{} {problem}", process_name(*client_index, *client_count, host.as_deref()))]
    Client {
        /// The process, from 0.
        client_index: u32,
        /// How many there are.
        client_count: u32,
        /// Its host, where the command has named it.
        host: Option<String>,
        /// What it did or did not do, as the end of a sentence, and what to do.
        problem: String,
    },
    /// A host that clients run on does not answer any more: no load can be put on by it.
    #[error("host {host} {problem}")]
    Host {
        /// Its name.
        host: String,
        /// What it did or did not do, as the end of a sentence.
        problem: String,
    },
    /// A rank of the job is lost, and cannot be started again.
    #[error("rank {rank} on {host} {problem}")]
    Rank {
        /// Its number, from 0.
        rank: u32,
        /// Its host.
        host: String,
        /// What it did or did not do, as the end of a sentence, and what to do.
        problem: String,
    },
    /// Events could not be kept.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// Preparation took the time that was left for the load.
    #[error(
        "preparing its files took {:.2} s, and its load does not fit into the remaining time; give more with --seconds",
        .took_ns.as_secs_f64()
    )]
    PreparedTooLong {
        /// How long it took.
        took_ns: Nanos,
    },
    /// Preparation would take the time that is left for the load.
    #[error(
        "preparing its files would take at least {:.1} s, and its load would not fit into the remaining time; give more with --seconds",
        .takes_ns.as_secs_f64()
    )]
    PreparesTooSlowly {
        /// How long it would take at the highest rate that it may have.
        takes_ns: Nanos,
    },
    /// A stop was asked for.
    #[error("stopped on request")]
    Stopped,
}

/// What a client's process is called; who has asked for none knows of no clients.
fn process_name(client_index: u32, client_count: u32, host: Option<&str>) -> String {
    let name = if client_count == 1 {
        "the process of the load".to_owned()
    } else {
        format!("client process {} of {client_count}", client_index.saturating_add(1))
    };
    host.map_or_else(|| name.clone(), |host| format!("{name} on {host}"))
}

impl From<EngineError> for RunError {
    /// An engine that gave up because a stop was asked for has not failed.
    fn from(error: EngineError) -> Self {
        if error.kind == ErrorKind::Stopped { Self::Stopped } else { Self::Engine(error) }
    }
}

impl RunError {
    /// Whether the load does not fit into its time because of its preparation.
    #[must_use]
    pub fn is_late(&self) -> bool {
        matches!(self, Self::PreparedTooLong { .. } | Self::PreparesTooSlowly { .. })
    }

    /// What the caller does next.
    #[must_use]
    pub fn kind(&self) -> RunErrorKind {
        match self {
            RunError::Engine(_) | RunError::PreparedTooLong { .. } | RunError::PreparesTooSlowly { .. } => {
                RunErrorKind::Target
            }
            RunError::Client { .. } | RunError::Rank { .. } | RunError::Host { .. } => RunErrorKind::Client,
            RunError::Sink(_) => RunErrorKind::Sink,
            RunError::Stopped => RunErrorKind::Stopped,
        }
    }
}
