//! The host of one client on the way of its messages.
//!
//! Times are those of this machine's clock here and of the host's there: they are converted where messages pass.

use crate::assignment::{FromClient, ToClient};
use narrows_model::client_host::ClientHostFacts;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The host of one client, as its messages pass it.
#[derive(Debug, Clone)]
pub(super) struct HostOfClient {
    /// Its name.
    pub(super) name: String,
    /// Whether it is this machine.
    pub(super) shares_machine: bool,
    /// Its clock minus this one's.
    offset_ns: i64,
    /// The process of the client there; 0 until it is known.
    pid: Arc<AtomicU32>,
}

impl HostOfClient {
    /// The host of `facts`, whose clock is now so far ahead of this machine's.
    pub(super) fn new(facts: &ClientHostFacts, offset_ns: i64) -> Self {
        Self {
            name: facts.name.clone(),
            shares_machine: facts.shares_machine,
            offset_ns,
            pid: Arc::default(),
        }
    }

    /// A message to the client, with times of its clock.
    pub(super) fn outgoing(&self, message: &ToClient) -> ToClient {
        match message {
            ToClient::Go(times) => ToClient::Go(times.shifted(self.offset_ns)),
            other => other.clone(),
        }
    }

    /// A message of the client, with times of this machine's clock and its host's name; `None` where it says only which
    /// process it is.
    pub(super) fn incoming(&self, message: FromClient) -> Option<FromClient> {
        match message.shifted(self.offset_ns.saturating_neg()) {
            FromClient::Clock { pid, .. } => {
                self.pid.store(pid, Ordering::Release);
                None
            }
            FromClient::Done(mut output) => {
                output.host = Some(self.name.clone());
                Some(FromClient::Done(output))
            }
            other => Some(other),
        }
    }

    /// The process of the client, where it is one of this machine.
    pub(super) fn pid_here(&self) -> Option<u32> {
        let pid = self.pid.load(Ordering::Acquire);
        (self.shares_machine && pid > 0).then_some(pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::{ClientOutput, WindowTimes};

    fn host(offset_ns: i64, shares_machine: bool) -> HostOfClient {
        HostOfClient { name: "b".to_owned(), shares_machine, offset_ns, pid: Arc::default() }
    }

    #[test]
    fn times_pass_on_the_clock_of_whoever_reads_them() {
        let ahead = host(500, false);
        let times = WindowTimes { start_ns: 1000, measure_from_ns: 2000, measure_until_ns: 3000 };
        let expected = WindowTimes { start_ns: 1500, measure_from_ns: 2500, measure_until_ns: 3500 };
        assert_eq!(ahead.outgoing(&ToClient::Go(times)), ToClient::Go(expected));
        assert_eq!(
            ahead.incoming(FromClient::LoadEnded { at_ns: 3500 }),
            Some(FromClient::LoadEnded { at_ns: 3000 })
        );
        let output = ClientOutput { client_index: 1, host: None, workers: Vec::new() };
        let Some(FromClient::Done(output)) = ahead.incoming(FromClient::Done(Box::new(output))) else {
            unreachable!()
        };
        assert_eq!(output.host.as_deref(), Some("b"));
    }

    #[test]
    fn a_process_is_known_only_on_this_machine() {
        for (shares_machine, expected) in [(true, Some(77)), (false, None)] {
            let host = host(0, shares_machine);
            assert_eq!(host.pid_here(), None);
            assert_eq!(host.incoming(FromClient::Clock { at_ns: 1, pid: 77 }), None);
            assert_eq!(host.pid_here(), expected);
        }
    }
}
