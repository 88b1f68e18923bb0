//! After a restart of the server: what it had only in its memory is written again before anything else is sent.
//!
//! Not in the hot path: it may allocate.

use super::calls::RpcCallKind;
use super::core::LoadCore;
use super::recovery_state::REWRITES_MAX;
use crate::connections::StoragePeer;
use crate::error::{EngineError, ErrorKind};
use narrows_wire::nfs::block::{WriteResult, WriteVerifier};

impl LoadCore {
    /// Looks at the verifier of a reply.
    pub(super) fn observe(&mut self, verifier: WriteVerifier) {
        let before = self.verifier.replace(verifier);
        if before.is_some_and(|before| before != verifier) {
            self.counts.verifier_changes += 1;
            self.recovery.is_draining |= self.unstable.has_other_than(verifier);
        }
    }

    /// A connection has ended: its calls are sent again, unless they are of a recovery, which is planned anew.
    pub(super) fn connection_ended(&mut self, connection: usize) {
        let mut assigned = self.calls.assigned_to(connection);
        assigned.sort_by_key(|index| self.calls.call(*index).sent_ns);
        for index in assigned.into_iter().rev() {
            self.calls.take_back(index);
            match self.calls.call(index).kind {
                RpcCallKind::Probe => {
                    self.calls.end(index);
                    self.recovery.probe_ended();
                }
                RpcCallKind::Rewrite(_) => {
                    self.calls.end(index);
                    self.recovery.in_flight_count -= 1;
                    self.recovery.lost.clear();
                    self.recovery.is_draining = true;
                }
                _ => self.first.push_front(index),
            }
        }
        self.recovery.needs_probe |= !self.unstable.is_empty();
    }

    /// The next call of a recovery, which waits to be assigned; `None` where there is none at present.
    pub(super) fn next_recovery_call(&mut self) -> Option<u32> {
        if self.recovery.is_probing {
            return None;
        }
        if std::mem::take(&mut self.recovery.needs_probe) {
            let file = self.unstable.oldest_file()?;
            self.recovery.is_probing = true;
            return self.add_commit(RpcCallKind::Probe, file);
        }
        if self.recovery.is_draining {
            if self.calls.assigned_count() > 0 {
                return None;
            }
            let (lost, is_serial) = self.unstable.lost(self.verifier.unwrap_or_default());
            self.recovery.lost = lost.into();
            self.recovery.window = if is_serial { 1 } else { REWRITES_MAX };
            self.recovery.is_draining = false;
        }
        if self.recovery.in_flight_count >= self.recovery.window {
            return None;
        }
        let cell = self.recovery.lost.pop_front()?;
        let write = *self.unstable.write(cell);
        let index = self.calls.add(RpcCallKind::Rewrite(cell), 0, write.file)?;
        self.calls.call_mut(index).range = write.range;
        self.calls.encode(index, &self.files[write.file as usize]);
        self.recovery.in_flight_count += 1;
        Some(index)
    }

    /// A COMMIT that nobody asked for; `None` where the table of calls is full.
    pub(super) fn add_commit(&mut self, kind: RpcCallKind, file: u32) -> Option<u32> {
        let index = self.calls.add(kind, 0, file)?;
        self.calls.call_mut(index).sequence = self.unstable.next_sequence();
        self.calls.encode(index, &self.files[file as usize]);
        Some(index)
    }

    /// A lost write was written again.
    pub(super) fn rewritten(&mut self, cell: u32, result: WriteResult) {
        self.recovery.in_flight_count = self.recovery.in_flight_count.saturating_sub(1);
        let asked = self.unstable.write(cell).range.length_bytes;
        if result.count != asked {
            let failure = EngineError::new(ErrorKind::Io, "write", self.server.name()).detail(format!(
                "the server restarted, and took only {} of {asked} bytes of unstable data that was sent again",
                result.count
            ));
            self.failure.get_or_insert(failure);
            return;
        }
        self.counts.rewritten += 1;
        self.counts.rewritten_bytes += u64::from(asked);
        self.unstable.rewritten(cell, result.verifier);
        self.observe(result.verifier);
    }
}
