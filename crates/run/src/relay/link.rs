//! What a trial asks of a role, wherever it is played.

use narrows_wire::relay::{HopAddress, RoleCommand, RoleReply};
use std::time::Duration;

/// A role that exchanges messages.
pub trait RoleLink: Send {
    /// Sends the role a message; starts the role first if it does not run yet.
    ///
    /// # Errors
    /// What happened, for people.
    fn send(&mut self, message: &RoleCommand) -> Result<(), String>;

    /// What the role says next; `None` when it says nothing within `wait`.
    ///
    /// # Errors
    /// What happened, for people: the role is gone or speaks otherwise.
    fn receive(&mut self, wait: Duration) -> Result<Option<RoleReply>, String>;

    /// Gives up what the role does; the next trial begins anew.
    fn abandon(&mut self);

    /// Where others reach a place at which the role listens.
    fn reached_at(&self, place: HopAddress) -> HopAddress {
        place
    }

    /// Whether the role is gone for good.
    fn is_lost(&self) -> bool {
        false
    }
}
