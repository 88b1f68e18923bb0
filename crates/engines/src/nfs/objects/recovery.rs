//! After a restart of the server: what it had only in its memory is written again before anything else is sent.
//!
//! Not in the hot path: it may allocate.

use super::call_end::CallEnd;
use super::calls::{RECOVERIES_MAX, SerialCalls};
use super::unsaved::UnsavedFile;
use crate::connections::StoragePeer;
use crate::error::{EngineError, ErrorKind};
use narrows_wire::nfs::Status;
use narrows_wire::nfs::block::Stability;

impl SerialCalls {
    /// Finds out whether the server has restarted, and writes again what it has lost then.
    pub(super) fn recover(&mut self) -> Result<(), CallEnd> {
        if self.unsaved.is_recovering {
            return Ok(());
        }
        self.unsaved.is_recovering = true;
        let recovered = self.recover_in_turns().map_err(|end| self.lost(end));
        self.unsaved.is_recovering = false;
        recovered
    }

    fn recover_in_turns(&mut self) -> Result<(), CallEnd> {
        for _ in 0..RECOVERIES_MAX {
            if std::mem::take(&mut self.unsaved.needs_probe)
                && let Some(oldest) = self.unsaved.store.oldest_file()
            {
                self.commit_once(oldest)?;
            }
            if std::mem::take(&mut self.unsaved.needs_rewrite) {
                self.write_lost_again()?;
            }
            if !self.unsaved.needs_recovery() {
                return Ok(());
            }
        }
        Err(self.unsteady())
    }

    /// Writes again what is kept of another verifier than the last one, the oldest first.
    fn write_lost_again(&mut self) -> Result<(), CallEnd> {
        let (lost, _) = self.unsaved.store.lost(self.unsaved.verifier.unwrap_or_default());
        for cell in lost {
            let kept = *self.unsaved.store.write(cell);
            let UnsavedFile { handle, kept_count } = self.unsaved.file(kept.file);
            if kept_count == 0 {
                continue;
            }
            let data = self.unsaved.store.data(cell).to_vec();
            match self.write(&handle, kept.range, &data, Stability::Unstable) {
                Err(CallEnd::Status(Status::STALE)) if !self.unsaved.is_current(kept.file) => {
                    self.unsaved.forget(kept.file);
                    continue;
                }
                Ok(result) if result.count == kept.range.length_bytes => {
                    self.counts.rewritten += 1;
                    self.counts.rewritten_bytes += u64::from(result.count);
                    self.unsaved.store.rewritten(cell, result.verifier);
                    self.observe(result.verifier);
                }
                Ok(result) => return Err(self.taken_in_part(result.count, kept.range.length_bytes)),
                Err(end) => return Err(end),
            }
            if self.unsaved.needs_recovery() {
                // It has restarted once more, or may have: what is lost is found anew.
                self.unsaved.needs_rewrite = true;
                return Ok(());
            }
        }
        Ok(())
    }

    fn taken_in_part(&mut self, taken_bytes: u32, asked_bytes: u32) -> CallEnd {
        let error = EngineError::new(ErrorKind::Io, "write", self.server.name()).detail(format!(
            "the server restarted, and took only {taken_bytes} of {asked_bytes} bytes of unstable data that was sent again"
        ));
        self.give_up(error)
    }
}
