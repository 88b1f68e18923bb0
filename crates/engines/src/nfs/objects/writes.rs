//! WRITEs of objects and the COMMITs of what they have left in the server's memory.
//!
//! Hot path: one copy of an unstable payload, no allocation.

use super::call_end::CallEnd;
use super::calls::{RECOVERIES_MAX, SerialCalls};
use super::unsaved::WrittenObject;
use narrows_model::units::saturate_u32;
use narrows_wire::nfs::attributes::FileHandle;
use narrows_wire::nfs::block::{
    ByteRange, Stability, WriteResult, WriteVerifier, put_commit, put_write, read_commit, read_write,
};
use narrows_wire::nfs::{Procedure, Status};

impl SerialCalls {
    /// Writes an object's new bytes, `block` again and again; with `commits` they are durable then.
    pub(super) fn write_object(
        &mut self,
        object: WrittenObject,
        block: &[u8],
        commits: bool,
    ) -> Result<(), CallEnd> {
        let index = self.unsaved.begin(&object);
        let written = self.write_parts(index, &object, block);
        let is_kept = self.unsaved.file(index).kept_count > 0;
        let outcome = match written {
            Ok(()) if commits && is_kept => self.commit(index),
            other => other,
        };
        self.unsaved.end();
        outcome
    }

    fn write_parts(&mut self, index: u32, object: &WrittenObject, block: &[u8]) -> Result<(), CallEnd> {
        let mut done_bytes = 0;
        while done_bytes < object.length_bytes {
            let left = (object.length_bytes - done_bytes) as usize;
            let rest = &block[done_bytes as usize % block.len()..];
            let data = &rest[..rest.len().min(left).min(self.write_bytes_max)];
            let range = ByteRange {
                offset_bytes: object.start_bytes.saturating_add(u64::from(done_bytes)),
                length_bytes: saturate_u32(data.len() as u64),
            };
            done_bytes += if self.stability == Stability::Unstable {
                self.write_kept(index, range, data)?
            } else {
                self.write(&object.handle, range, data, self.stability)?.count
            };
        }
        Ok(())
    }

    /// One WRITE; the server takes at least one byte of it.
    pub(super) fn write(
        &mut self,
        file: &FileHandle,
        range: ByteRange,
        data: &[u8],
        stability: Stability,
    ) -> Result<WriteResult, CallEnd> {
        const EIO: Status = Status(5);
        let put = |out: &mut Vec<u8>| put_write(out, file, range, stability);
        let result = self.call(Procedure::Write, data, put, read_write)?.value.map_err(CallEnd::Status)?;
        if result.count > range.length_bytes || result.stability < stability {
            return Err(
                self.malformed("a WRITE was answered with more bytes, or less durable, than was asked for")
            );
        }
        if result.count == 0 { Err(CallEnd::Status(EIO)) } else { Ok(result) }
    }

    /// One UNSTABLE WRITE, kept until a COMMIT covers it; how many bytes the server took.
    fn write_kept(&mut self, index: u32, range: ByteRange, data: &[u8]) -> Result<u32, CallEnd> {
        while !self.unsaved.store.reserve() {
            // Bounded: each COMMIT makes room for one write at least.
            let Some(oldest) = self.unsaved.store.oldest_file() else { break };
            self.counts.forced_commits += 1;
            self.commit(oldest).map_err(|end| self.lost(end))?;
        }
        let file = self.unsaved.file(index).handle;
        let written = self.write(&file, range, data, Stability::Unstable);
        match &written {
            Ok(result) if result.stability == Stability::Unstable => {
                let kept = ByteRange { length_bytes: result.count, ..range };
                self.unsaved.keep(index, kept, result.verifier, &data[..result.count as usize]);
            }
            _ => self.unsaved.store.release(),
        }
        let result = written?;
        self.observe(result.verifier);
        if self.unsaved.needs_rewrite {
            self.recover()?;
        }
        Ok(result.count)
    }

    /// Looks at the verifier of a reply.
    pub(super) fn observe(&mut self, verifier: WriteVerifier) {
        let before = self.unsaved.verifier.replace(verifier);
        if before.is_some_and(|before| before != verifier) {
            self.counts.verifier_changes += 1;
            self.unsaved.needs_rewrite |= self.unsaved.store.has_other_than(verifier);
        }
    }

    /// Makes the data of the file `index` durable.
    fn commit(&mut self, index: u32) -> Result<(), CallEnd> {
        for _ in 0..RECOVERIES_MAX {
            if self.commit_once(index)? {
                return Ok(());
            }
            self.recover()?;
        }
        Err(self.unsteady())
    }

    /// One COMMIT; whether it covers all data of the file.
    pub(super) fn commit_once(&mut self, index: u32) -> Result<bool, CallEnd> {
        let file = self.unsaved.file(index).handle;
        let reply = self.call(Procedure::Commit, &[], |out| put_commit(out, &file), read_commit)?;
        match reply.value {
            Ok(verifier) => {
                self.observe(verifier);
                let sequence = self.unsaved.store.next_sequence();
                let covers_all = self.unsaved.store.commit(index, sequence, verifier);
                if covers_all {
                    self.unsaved.note_saved(index);
                }
                Ok(covers_all)
            }
            // It was deleted by its name, as a folder lists it.
            Err(Status::STALE) if !self.unsaved.is_current(index) => {
                self.unsaved.forget(index);
                Ok(true)
            }
            Err(status) => Err(CallEnd::Status(status)),
        }
    }

    /// Makes all data that the server has in its memory durable.
    pub(super) fn commit_all(&mut self) -> Result<(), CallEnd> {
        while let Some(oldest) = self.unsaved.store.oldest_file() {
            self.commit(oldest)?;
        }
        Ok(())
    }

    /// Ends the load where the data of a server cannot be caught up with.
    pub(super) fn unsteady(&mut self) -> CallEnd {
        self.malformed("its write verifier changes again and again")
    }
}
