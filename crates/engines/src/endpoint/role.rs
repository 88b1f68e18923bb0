//! The asking side of a role of the buffer experiment that is played elsewhere.

use super::connect::Conversation;
use super::control::ControlClient;
use crate::error::EngineError;
use narrows_wire::relay::{RoleCommand, RoleReply};
use std::net::IpAddr;
use std::time::Duration;

/// A connection for messages to and from a role.
#[derive(Debug)]
pub struct RoleClient {
    conversation: Conversation,
}

impl RoleClient {
    /// The role that the endpoint or the proxy behind `control` plays; its session serves nothing else from now on.
    #[must_use]
    pub fn from_control(control: ControlClient) -> Self {
        Self { conversation: control.into_conversation() }
    }

    /// The address at which it was reached; `None` once the connection is gone.
    #[must_use]
    pub fn reached(&self) -> Option<IpAddr> {
        self.conversation.reached()
    }

    /// Sends the role a message.
    ///
    /// # Errors
    /// When it is gone.
    pub fn send(&mut self, message: &RoleCommand) -> Result<(), EngineError> {
        let bytes = message.encode().map_err(|error| self.conversation.peer().wire_error("ask", &error))?;
        self.conversation.send("ask", &bytes)
    }

    /// What the role says next; `None` when it says nothing within `wait`.
    ///
    /// # Errors
    /// When it is gone, or speaks otherwise.
    pub fn receive(&mut self, wait: Duration) -> Result<Option<RoleReply>, EngineError> {
        let Some(frame) = self.conversation.receive_within("wait for a role", wait)? else { return Ok(None) };
        let message = RoleReply::decode(frame);
        message.map(Some).map_err(|error| self.conversation.peer().wire_error("wait for a role", &error))
    }

    /// Ends the connection: the role is given up there.
    pub fn hang_up(&self) {
        self.conversation.hang_up();
    }
}
