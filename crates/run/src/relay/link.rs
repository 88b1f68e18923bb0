//! What a trial asks of a role, wherever it is played.

use narrows_wire::relay::{FromRole, Place, ToRole};
use std::time::Duration;

/// A role that can be told and heard.
pub trait RoleLink: Send {
    /// Tells the role something; starts it where it is not there yet.
    ///
    /// # Errors
    /// What happened, for people.
    fn tell(&mut self, message: &ToRole) -> Result<(), String>;

    /// What the role says next; `None` when it says nothing within `wait`.
    ///
    /// # Errors
    /// What happened, for people: the role is gone or speaks otherwise.
    fn heard(&mut self, wait: Duration) -> Result<Option<FromRole>, String>;

    /// Gives up what the role does; the next trial begins anew.
    fn abandon(&mut self);

    /// Where others reach a place at which the role listens.
    fn reached_at(&self, place: Place) -> Place {
        place
    }

    /// Whether the role is gone for good.
    fn is_lost(&self) -> bool {
        false
    }
}
