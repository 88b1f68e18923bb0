//! Calls in flight: found by their xid, which contains the place of the call in a table.
//!
//! Hot path: headers are built in memory that is kept; nothing is searched and nothing allocated.

use super::counters::CallCounts;
use narrows_wire::nfs::Procedure;
use narrows_wire::nfs::attributes::FileHandle;
use narrows_wire::nfs::block::{ByteRange, Stability, put_commit, put_read, put_write};
use narrows_wire::nfs::rpc::{AuthSys, CallTemplate, end_call};
use narrows_wire::nfs::xdr::padding;

/// Most calls of one worker in flight: half of an xid is a call's place.
pub(super) const CALLS_MAX: u64 = 1 << 16;
/// Room for a call without its payload: marks, credentials with 16 groups, a handle.
const HEADER_BYTES: usize = 384;

/// What a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RpcCallKind {
    /// A part of a read.
    Read,
    /// A part of a write.
    Write,
    /// A round trip without data.
    Ping,
    /// A sync.
    Sync,
    /// A COMMIT that nobody asked for: memory for unstable data was full, or the engine closes.
    Commit,
    /// A COMMIT after a connection was made again: it shows whether the server has restarted.
    Probe,
    /// A write of this cell that is sent again because the server has restarted.
    Rewrite(u32),
}

impl RpcCallKind {
    pub(super) const fn procedure(self) -> Procedure {
        match self {
            Self::Ping => Procedure::Null,
            Self::Read => Procedure::Read,
            Self::Write | Self::Rewrite(_) => Procedure::Write,
            Self::Sync | Self::Commit | Self::Probe => Procedure::Commit,
        }
    }
}

/// Where a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallState {
    /// There is none in this place.
    Free,
    /// It has not been given to a connection.
    Waiting,
    /// A connection sends it or has sent it.
    Assigned(usize),
}

/// One call.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) kind: RpcCallKind,
    pub(super) state: CallState,
    /// The request that it is a part of.
    pub(super) flight: u32,
    pub(super) file: u32,
    /// Where its bytes begin in the request's slot.
    pub(super) at_bytes: u32,
    pub(super) range: ByteRange,
    /// A COMMIT covers the unstable writes before this number.
    pub(super) sequence: u64,
    /// When it was first sent; 0 before.
    pub(super) sent_ns: u64,
    /// Whether all of it has left, so that it may be answered.
    pub(super) is_sent: bool,
    /// Whether room for its unstable data is reserved.
    pub(super) is_reserved: bool,
    pub(super) xid: u32,
    pub(super) header: Vec<u8>,
}

impl Call {
    /// Bytes that follow the header, without padding.
    pub(super) fn payload_bytes(&self) -> usize {
        match self.kind {
            RpcCallKind::Write | RpcCallKind::Rewrite(_) => self.range.length_bytes as usize,
            _ => 0,
        }
    }

    /// Bytes of the whole call.
    pub(super) fn whole_bytes(&self) -> usize {
        self.header.len() + self.payload_bytes() + padding(self.payload_bytes())
    }
}

/// The calls of one worker.
#[derive(Debug)]
pub(super) struct RpcCallTable {
    calls: Vec<Call>,
    free: Vec<u32>,
    next_xid: u16,
    read: CallTemplate,
    write: CallTemplate,
    commit: CallTemplate,
    ping: CallTemplate,
    stability: Stability,
    /// Calls that are assigned to a connection.
    assigned_count: usize,
}

impl RpcCallTable {
    /// Room for `count` calls of `caller`, whose writes are of `stability`.
    pub(super) fn new(count: u32, caller: &AuthSys, stability: Stability, first_xid: u32) -> Self {
        let call = |_| Call {
            kind: RpcCallKind::Read,
            state: CallState::Free,
            flight: 0,
            file: 0,
            at_bytes: 0,
            range: ByteRange { offset_bytes: 0, length_bytes: 0 },
            sequence: 0,
            sent_ns: 0,
            is_sent: false,
            is_reserved: false,
            xid: 0,
            header: Vec::with_capacity(HEADER_BYTES),
        };
        Self {
            calls: (0..count).map(call).collect(),
            free: (0..count).rev().collect(),
            next_xid: u16::try_from(first_xid >> 16).unwrap_or(0),
            read: CallTemplate::new(Procedure::Read, Some(caller)),
            write: CallTemplate::new(Procedure::Write, Some(caller)),
            commit: CallTemplate::new(Procedure::Commit, Some(caller)),
            ping: CallTemplate::new(Procedure::Null, Some(caller)),
            stability,
            assigned_count: 0,
        }
    }

    pub(super) fn stability(&self) -> Stability {
        self.stability
    }

    pub(super) fn assigned_count(&self) -> usize {
        self.assigned_count
    }

    pub(super) fn call(&self, index: u32) -> &Call {
        &self.calls[index as usize]
    }

    pub(super) fn call_mut(&mut self, index: u32) -> &mut Call {
        &mut self.calls[index as usize]
    }

    /// A new call that waits; `None` where the table is full.
    pub(super) fn add(&mut self, kind: RpcCallKind, flight: u32, file: u32) -> Option<u32> {
        let index = self.free.pop()?;
        let call = &mut self.calls[index as usize];
        call.kind = kind;
        call.state = CallState::Waiting;
        (call.flight, call.file, call.at_bytes) = (flight, file, 0);
        call.range = ByteRange { offset_bytes: 0, length_bytes: 0 };
        (call.sequence, call.is_reserved) = (0, false);
        Some(index)
    }

    /// Builds the header of a call under a new xid.
    pub(super) fn encode(&mut self, index: u32, file: &FileHandle) {
        let call = &mut self.calls[index as usize];
        self.next_xid = self.next_xid.wrapping_add(1);
        call.xid = u32::from(self.next_xid) << 16 | index;
        call.sent_ns = 0;
        match call.kind {
            RpcCallKind::Ping => self.ping.begin(call.xid, &mut call.header),
            RpcCallKind::Read => {
                self.read.begin(call.xid, &mut call.header);
                put_read(&mut call.header, file, call.range);
            }
            RpcCallKind::Write | RpcCallKind::Rewrite(_) => {
                // What is written again is unstable as it was: its COMMIT comes later.
                let stability =
                    if call.kind == RpcCallKind::Write { self.stability } else { Stability::Unstable };
                self.write.begin(call.xid, &mut call.header);
                put_write(&mut call.header, file, call.range, stability);
            }
            RpcCallKind::Sync | RpcCallKind::Commit | RpcCallKind::Probe => {
                self.commit.begin(call.xid, &mut call.header);
                put_commit(&mut call.header, file);
            }
        }
        let payload_bytes = call.payload_bytes();
        end_call(&mut call.header, payload_bytes);
    }

    /// Gives a call to a connection, and counts that it is sent.
    pub(super) fn assign(&mut self, index: u32, connection: usize, now_ns: u64, counts: &mut CallCounts) {
        let call = &mut self.calls[index as usize];
        let is_again = call.sent_ns != 0;
        counts.sent(call.kind.procedure(), call.whole_bytes(), is_again);
        if !is_again {
            call.sent_ns = now_ns.max(1);
        }
        (call.state, call.is_sent) = (CallState::Assigned(connection), false);
        self.assigned_count += 1;
    }

    /// The call that a reply on `connection` answers; `None` where nobody waits for it, or it was not sent yet: a server that
    /// guesses numbers of calls completes nothing, and changes nothing of what is being sent.
    pub(super) fn find(&self, xid: u32, connection: usize) -> Option<u32> {
        let index = xid & 0xffff;
        let call = self.calls.get(index as usize)?;
        (call.state == CallState::Assigned(connection) && call.xid == xid && call.is_sent).then_some(index)
    }

    /// Takes an assigned call back: it waits again.
    pub(super) fn take_back(&mut self, index: u32) {
        self.calls[index as usize].state = CallState::Waiting;
        self.assigned_count -= 1;
    }

    /// Ends a call that waits.
    pub(super) fn end(&mut self, index: u32) {
        self.calls[index as usize].state = CallState::Free;
        self.free.push(index);
    }

    /// The calls assigned to `connection`, in no order.
    pub(super) fn assigned_to(&self, connection: usize) -> Vec<u32> {
        let assigned =
            (0..).zip(&self.calls).filter(|(_, call)| call.state == CallState::Assigned(connection));
        assigned.map(|(index, _)| index).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_was_not_sent_has_no_reply() {
        let caller = AuthSys { machine: "client".to_owned(), user_id: 7, group_id: 8, groups: Vec::new() };
        let mut table = RpcCallTable::new(1, &caller, Stability::Unstable, 9);
        let index = table.add(RpcCallKind::Ping, 0, 0).unwrap();
        table.encode(index, &FileHandle::new(&[1]).unwrap());
        let xid = table.call(index).xid;
        table.assign(index, 3, 1, &mut CallCounts::default());
        assert_eq!(table.find(xid, 3), None, "its number was guessed");
        table.call_mut(index).is_sent = true;
        assert_eq!((table.find(xid, 3), table.find(xid, 2)), (Some(index), None));
        table.take_back(index);
        table.assign(index, 3, 2, &mut CallCounts::default());
        assert_eq!(table.find(xid, 3), None, "it is sent once more");
    }
}
