//! The open files that this process may have: its soft limit raised, and shared out before any is opened.
//!
//! The server's own, those of strangers and those of control connections are set aside, so that no client keeps others
//! from asking; what is left is charged by connections and by every object that one opens.

use crate::quota::{Quota, QuotaUnit, Reservation};
use narrows_wire::Error;
use narrows_wire::hello::Purpose;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::Arc;

/// Standard streams, the listener, the root, and what is open only for a moment.
const OWN: u64 = 64;

/// A connection in its hello: the socket, and the handle that ends it.
const GREETING: u64 = 2;

/// Most connections in their hello: as many as a large client opens at once.
const GREETINGS_MAX: u64 = 64;

/// A connection that serves: a third handle for who sends, and the files that its counters are read from for a moment.
pub(crate) const CONNECTION: u64 = 4;

/// A control connection: besides what every connection has, the files that it keeps open to read counters (of the machine,
/// the process and up to two control groups), those of a cell that runs, and the file that displaces caches.
const CONTROL_CONNECTION: u64 = CONNECTION + 18;

/// Set aside for control connections: those of 32 clients, which have two each.
const CONTROL_MAX: u64 = 64 * CONTROL_CONNECTION;

/// Objects that clients may have open together where the system lets this process have as many files: four openings of
/// the most that one may ask for.
const OBJECTS: u64 = 16_384;

/// A session may have this share of what connections and objects may have, in percent: one client at a time is the
/// usual case, and another must be able to begin.
const SESSION_PERCENT: u64 = 75;

/// Open files as they are shared out.
#[derive(Debug)]
pub(crate) struct Descriptors {
    greetings: usize,
    control: Arc<Quota>,
    shared: Arc<Quota>,
    session: u64,
}

impl Descriptors {
    /// Raises the limit of this process to what so many connections and their objects need, as far as the system lets it,
    /// and shares out what there is.
    pub(crate) fn raised(connections_max: u32) -> Self {
        let connections = u64::from(connections_max).saturating_mul(CONNECTION);
        Self::from_granted(raise(OWN + GREETING * GREETINGS_MAX + CONTROL_MAX + connections + OBJECTS))
    }

    /// Shares out `granted` descriptors; of few, the parts are set aside in proportion.
    fn from_granted(granted: u64) -> Self {
        let own = OWN.min(granted / 4);
        let greetings = GREETINGS_MAX.min(granted / 16).max(1);
        let left = granted.saturating_sub(own + greetings * GREETING);
        let control = CONTROL_MAX.min(left / 4);
        let shared = left - control;
        let quota = |limit| Quota::counting(QuotaUnit::OpenFiles, "server", limit);
        Self {
            greetings: usize::try_from(greetings).unwrap_or(usize::MAX),
            control: quota(control),
            shared: quota(shared),
            session: (shared * SESSION_PERCENT / 100).max(1),
        }
    }

    /// Most connections whose hello is not through.
    pub(crate) fn greetings_max(&self) -> usize {
        self.greetings
    }

    /// The files of a connection whose hello is through.
    pub(crate) fn for_connection(&self, purpose: Purpose) -> Result<Reservation, Error> {
        match purpose {
            Purpose::Control => {
                let reserved = self.control.reserve(CONTROL_CONNECTION);
                reserved.or_else(|_| self.shared.reserve(CONTROL_CONNECTION))
            }
            Purpose::Data | Purpose::Proxy => self.shared.reserve(CONNECTION),
        }
    }

    /// What the connections and objects of all sessions share.
    pub(crate) fn shared(&self) -> &Arc<Quota> {
        &self.shared
    }

    /// The most that one session may have open.
    pub(crate) fn session_quota(&self) -> Arc<Quota> {
        Quota::counting(QuotaUnit::OpenFiles, "session", self.session)
    }
}

/// Raises the soft limit of open files to `wanted`, or as far as the system lets it; how many there may be.
pub(crate) fn raise(wanted: u64) -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(now) = current.filter(|now| *now < wanted) else { return current.unwrap_or(wanted) };
    let raised = maximum.map_or(wanted, |maximum| wanted.min(maximum));
    match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }) {
        Ok(()) => raised,
        Err(_) => now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_granted_all_parts_together_are_no_more() {
        for granted in [16, 64, 256, 1024, 20_000, 1 << 20] {
            let parts = Descriptors::from_granted(granted);
            let control = parts.control.limit();
            let sum =
                OWN.min(granted / 4) + GREETING * parts.greetings as u64 + control + parts.shared.limit();
            assert!(sum <= granted, "{granted}: {sum}");
            assert!(parts.session < parts.shared.limit() && control <= CONTROL_MAX, "{granted}: {parts:?}");
        }
    }

    #[test]
    fn a_control_connection_finds_its_files_when_data_connections_have_the_rest() {
        let parts = Descriptors::from_granted(256);
        let mut data = Vec::new();
        while let Ok(one) = parts.for_connection(Purpose::Data) {
            data.push(one);
        }
        let control = parts.for_connection(Purpose::Control).unwrap();
        let error = parts.shared.reserve(1).unwrap_err().to_string();
        assert!(error.contains("open files") && error.contains("ulimit -n"), "{error}");
        drop(control);
    }
}
