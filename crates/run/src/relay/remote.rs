//! A role that an endpoint or a proxy elsewhere plays, asked over its connection.

use super::link::RoleLink;
use narrows_engines::endpoint::RoleClient;
use narrows_engines::{EngineError, ErrorKind};
use narrows_wire::relay::{HopAddress, RoleCommand, RoleReply};
use std::time::Duration;

/// Looks for the end of a trial that was given up, and time between two.
const STOP_LOOKS_MAX: u32 = 100;
const STOP_LOOK: Duration = Duration::from_millis(20);

/// A role that is played at a host.
#[derive(Debug)]
pub struct RemoteRole {
    client: RoleClient,
    host: String,
    plays: bool,
    lost: bool,
}

impl RemoteRole {
    /// The role behind `client`, which others reach at the address at which it was reached itself: a name might lead
    /// them elsewhere.
    #[must_use]
    pub fn new(client: RoleClient) -> Self {
        let host = client.reached().map_or_else(String::new, |address| address.to_string());
        Self { client, host, plays: false, lost: false }
    }

    /// The error for people; a connection that failed is of no use any more.
    fn failed(&mut self, error: &EngineError) -> String {
        self.lost |= error.kind != ErrorKind::Stopped;
        error.to_string()
    }
}

impl RoleLink for RemoteRole {
    fn send(&mut self, message: &RoleCommand) -> Result<(), String> {
        self.plays |= matches!(message, RoleCommand::Prepare(_));
        let sent = self.client.send(message);
        sent.map_err(|error| self.failed(&error))
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<RoleReply>, String> {
        let received = self.client.receive(wait).map_err(|error| self.failed(&error))?;
        if matches!(received, Some(RoleReply::Done(_) | RoleReply::Failed { .. })) {
            self.plays = false;
        }
        Ok(received)
    }

    fn abandon(&mut self) {
        if !self.plays || self.lost || self.send(&RoleCommand::Stop).is_err() {
            return;
        }
        for _ in 0..STOP_LOOKS_MAX {
            // What it says of the trial that was given up is not wanted; what comes later would be taken for the next.
            if self.receive(STOP_LOOK).is_err() || !self.plays {
                return;
            }
        }
        self.client.hang_up();
        self.lost = true;
    }

    fn reached_at(&self, place: HopAddress) -> HopAddress {
        match place {
            HopAddress::Tcp { port, .. } => HopAddress::Tcp { host: self.host.clone(), port },
            place @ HopAddress::Unix { .. } => place,
        }
    }

    fn is_lost(&self) -> bool {
        self.lost
    }
}
