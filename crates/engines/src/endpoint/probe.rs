//! A connection on which an endpoint or a proxy is only asked whether it still answers.
//!
//! It is a second connection, so that questions about the load, which may take long, do not delay it. Each question
//! names the session of the first: the peer knows by it that the client is alive, and ends the session of one that is not.

use super::connect::Conversation;
use super::control::{ControlClient, probe_round_trip};
use crate::error::EngineError;
use crate::stop::StopFlag;

/// A connection on which a peer is asked for its clock.
#[derive(Debug)]
pub struct PeerProbe {
    conversation: Conversation,
    /// The session of the client that the connection is beside.
    session: String,
}

impl PeerProbe {
    /// A second connection to the peer that `client` speaks to; each of its answers is waited for `timeout_ns` at most, and
    /// until `stop` asks to stop now.
    ///
    /// # Errors
    /// As [`ControlClient::connect`].
    pub fn beside(
        client: &ControlClient,
        token: Option<&[u8]>,
        timeout_ns: u64,
        stop: &StopFlag,
    ) -> Result<Self, EngineError> {
        let peer = client.peer().clone().with_timeout(timeout_ns).with_stop_flag(stop.clone());
        let conversation = if peer.is_proxy() {
            Conversation::open_proxy(peer, token)
        } else {
            Conversation::open_control(peer, token)
        };
        Ok(Self { conversation: conversation?, session: client.session().to_owned() })
    }

    /// The peer as people name it: its address, and the proxy before it.
    #[must_use]
    pub fn name(&self) -> String {
        self.conversation.peer().name()
    }

    /// Waits for the peer's answer.
    ///
    /// # Errors
    /// `PeerGone` when none comes within the timeout or the connection is closed, `Stopped` when a stop was asked for.
    pub fn answer(&mut self) -> Result<(), EngineError> {
        probe_round_trip(&mut self.conversation, Some(&self.session)).map(drop)
    }
}
