//! What the kernel's NFS client counts of one mount: cumulative, or of a window.
//!
//! Source: `/proc/self/mountstats`, which `nfsiostat` and `mountstats` read.

use crate::units::{Bytes, Nanos};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Calls of one procedure of a mount.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct MountProcedure {
    /// Its name as the kernel writes it, such as `READ`.
    pub procedure: String,
    /// Calls that ended.
    pub call_count: u64,
    /// Transmissions: more than the calls where some were sent again.
    pub transmission_count: u64,
    /// Timeouts that were major: the server did not answer for the whole `timeo`.
    pub timeout_count: u64,
    /// Calls that ended with an error; 0 where the kernel does not count them.
    pub error_count: u64,
    /// Bytes of calls.
    pub sent_bytes: Bytes,
    /// Bytes of replies.
    pub received_bytes: Bytes,
    /// Time before transmission, summed over calls: waiting for a slot and for the socket.
    pub queue_ns: Nanos,
    /// Time from transmission to the reply, summed.
    pub round_trip_ns: Nanos,
    /// Time from the call's start to its end, summed.
    pub execute_ns: Nanos,
}

/// What the kernel's NFS client counts of one mount.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct NfsMountCounters {
    /// Where it is mounted.
    pub mount_point: String,
    /// Bytes that the server was asked for, past the client's cache.
    pub read_bytes: Bytes,
    /// Bytes that the server was sent.
    pub write_bytes: Bytes,
    /// Procedures that were called, each once.
    pub procedures: Vec<MountProcedure>,
}

impl NfsMountCounters {
    /// What was counted after `before`; procedures that were not called meanwhile are left out.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let none = MountProcedure::default();
        let procedures = self.procedures.iter().map(|after| {
            let known = before.procedures.iter().find(|known| known.procedure == after.procedure);
            after.combined(known.unwrap_or(&none), u64::saturating_sub)
        });
        Self {
            mount_point: self.mount_point.clone(),
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            write_bytes: self.write_bytes.saturating_sub(before.write_bytes),
            procedures: procedures.filter(|one| one.call_count > 0 || one.transmission_count > 0).collect(),
        }
    }

    /// Adds what was counted of the same mount in another window.
    pub fn add(&mut self, other: &Self) {
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.write_bytes = self.write_bytes.saturating_add(other.write_bytes);
        for more in &other.procedures {
            match self.procedures.iter_mut().find(|known| known.procedure == more.procedure) {
                Some(known) => *known = known.combined(more, u64::saturating_add),
                None => self.procedures.push(more.clone()),
            }
        }
    }
}

impl MountProcedure {
    fn combined(&self, other: &Self, join: fn(u64, u64) -> u64) -> Self {
        Self {
            procedure: self.procedure.clone(),
            call_count: join(self.call_count, other.call_count),
            transmission_count: join(self.transmission_count, other.transmission_count),
            timeout_count: join(self.timeout_count, other.timeout_count),
            error_count: join(self.error_count, other.error_count),
            sent_bytes: Bytes(join(self.sent_bytes.0, other.sent_bytes.0)),
            received_bytes: Bytes(join(self.received_bytes.0, other.received_bytes.0)),
            queue_ns: Nanos(join(self.queue_ns.0, other.queue_ns.0)),
            round_trip_ns: Nanos(join(self.round_trip_ns.0, other.round_trip_ns.0)),
            execute_ns: Nanos(join(self.execute_ns.0, other.execute_ns.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(calls: u64) -> NfsMountCounters {
        let read = MountProcedure {
            procedure: "READ".to_owned(),
            call_count: calls,
            transmission_count: calls + 1,
            round_trip_ns: Nanos(calls * 1000),
            ..MountProcedure::default()
        };
        let idle =
            MountProcedure { procedure: "NULL".to_owned(), call_count: 1, ..MountProcedure::default() };
        NfsMountCounters {
            mount_point: "/mnt".to_owned(),
            read_bytes: Bytes(calls * 4096),
            procedures: vec![idle, read],
            ..NfsMountCounters::default()
        }
    }

    #[test]
    fn a_window_has_the_procedures_that_were_called_in_it_and_windows_add_up() {
        let mut window = counted(10).since(&counted(4));
        assert_eq!((window.procedures.len(), window.procedures[0].call_count), (1, 6));
        assert_eq!(window.read_bytes, Bytes(6 * 4096));
        window.add(&counted(10).since(&counted(4)));
        assert_eq!(
            (window.procedures[0].call_count, window.procedures[0].round_trip_ns),
            (12, Nanos(12_000))
        );
    }
}
