//! What ranks send to each other: JSON, as between client processes and their parent. Beside it, what the threads of one rank
//! send to its messenger.

use narrows_run::assignment::{ClientOutput, FromClient, ToClient};
use narrows_run::coordinator::ClientEventSender;
use serde::{Deserialize, Serialize};

/// Tag of all messages of the messengers.
pub(crate) const TAG: i32 = 7701;

/// One message.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum RankMessage {
    /// From rank 0 to a client.
    ToClient {
        /// The trial, in the order of the run.
        trial: u64,
        /// The message.
        message: ToClient,
    },
    /// From rank 0 to a rank that is no client of the trial: it joins the barrier, which is of all ranks.
    Join {
        /// The trial.
        trial: u64,
    },
    /// From a client to rank 0.
    FromClient {
        /// The trial.
        trial: u64,
        /// The message.
        message: FromClient,
    },
    /// From a client to the one above it: the outputs of all below.
    Outputs {
        /// The trial.
        trial: u64,
        /// What they did.
        outputs: Vec<ClientOutput>,
    },
    /// From rank 0: the command has ended.
    Finish,
}

impl RankMessage {
    /// The bytes that are sent.
    ///
    /// # Errors
    /// What cannot be written as JSON, for people.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, String> {
        serde_json::to_vec(self)
            .map_err(|error| format!("a message between ranks cannot be written: {error}"))
    }

    /// The message of these bytes.
    ///
    /// # Errors
    /// Why they are none, for people.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes)
            .map_err(|error| format!("a message between ranks cannot be read: {error}"))
    }
}

/// What the threads of this rank send to its messenger.
pub(crate) enum LocalMessage {
    /// Rank 0 begins a trial.
    Begin {
        /// Its number.
        trial: u64,
        /// Where what comes from its clients is sent.
        events: ClientEventSender,
    },
    /// From rank 0 to the client on `rank`.
    ToRank {
        /// The rank.
        rank: u32,
        /// The trial.
        trial: u64,
        /// The message.
        message: ToClient,
    },
    /// All ranks from `first_rank` on join the barrier of the trial, in which they have no client.
    Join {
        /// The trial.
        trial: u64,
        /// The first of them.
        first_rank: u32,
    },
    /// From the client of this rank.
    FromOwn {
        /// The trial.
        trial: u64,
        /// The message.
        message: FromClient,
    },
    /// The command has ended.
    Finish,
    /// The job ends at once with this exit code, whatever its ranks wait for.
    Abort(u8),
}
