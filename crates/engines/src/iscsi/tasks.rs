//! Commands in flight: found by their tag, which contains the place of the command in a table.
//!
//! Hot path: nothing is searched and nothing allocated.

use super::counters::{CountedPdu, PduCounts};
use narrows_wire::iscsi::header::NO_TAG;
use narrows_wire::iscsi::request::DataDirection;
use narrows_wire::iscsi::scsi::cdb::{BlockRange, ScsiCdb, UNMAP_LIST_BYTES, WriteDurability, unmap_list};

/// Most commands of one worker in flight: half of a tag is a command's place, and the last tag means none.
pub(super) const TASKS_MAX: u64 = (1 << 16) - 1;

/// What a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskKind {
    Read,
    Write,
    Synchronize,
    Unmap,
    /// A NOP-Out in its order among the commands, which the target answers without the unit.
    Ping,
}

impl TaskKind {
    pub(super) const fn counted(self) -> CountedPdu {
        match self {
            Self::Read => CountedPdu::Read,
            Self::Write => CountedPdu::Write,
            Self::Synchronize => CountedPdu::Synchronize,
            Self::Unmap => CountedPdu::Unmap,
            Self::Ping => CountedPdu::Ping,
        }
    }

    pub(super) const fn direction(self) -> DataDirection {
        match self {
            Self::Read => DataDirection::In,
            Self::Write | Self::Unmap => DataDirection::Out,
            Self::Synchronize | Self::Ping => DataDirection::None,
        }
    }
}

/// Where a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskState {
    /// There is none in this place.
    Free,
    /// It has not been given to a session.
    Waiting,
    /// A session sends it or has sent it.
    Assigned(usize),
}

/// One command.
#[derive(Debug, Clone)]
pub(super) struct UnitTask {
    pub(super) kind: TaskKind,
    pub(super) state: TaskState,
    /// The request that it is a part of.
    pub(super) flight: u32,
    /// Where its bytes begin in the request's slot.
    pub(super) at_bytes: u32,
    /// Bytes that the request is about: of data, or unmapped.
    pub(super) length_bytes: u32,
    pub(super) range: BlockRange,
    pub(super) tag: u32,
    /// When it was first sent; 0 before.
    pub(super) sent_ns: u64,
    /// Bytes that have arrived of a read, or that were sent or asked for of a write.
    pub(super) moved_bytes: u32,
    /// How often it was sent again after a unit attention.
    pub(super) attention_count: u32,
    /// Whether it is sent under its present tag, so that it may be answered.
    is_sent: bool,
    /// Whether it has been counted as one that waited for the target's window.
    pub(super) has_waited: bool,
    list: [u8; UNMAP_LIST_BYTES],
}

impl UnitTask {
    /// Bytes of data, in either direction.
    pub(super) fn data_bytes(&self) -> u32 {
        match self.kind {
            TaskKind::Read | TaskKind::Write => self.length_bytes,
            TaskKind::Synchronize | TaskKind::Ping => 0,
            TaskKind::Unmap => 24,
        }
    }

    /// The list of an UNMAP.
    pub(super) fn list(&self) -> [u8; UNMAP_LIST_BYTES] {
        self.list
    }

    /// The command; `None` of a ping, which is none of the unit's.
    pub(super) fn cdb(&self, durability: WriteDurability) -> Option<ScsiCdb> {
        Some(match self.kind {
            TaskKind::Read => ScsiCdb::read(self.range),
            TaskKind::Write => ScsiCdb::write(self.range, durability),
            TaskKind::Synchronize => ScsiCdb::synchronize(self.range),
            TaskKind::Unmap => ScsiCdb::unmap(),
            TaskKind::Ping => return None,
        })
    }
}

/// The commands of one worker.
#[derive(Debug)]
pub(super) struct TaskTable {
    tasks: Vec<UnitTask>,
    free: Vec<u32>,
    next_tag: u16,
    pub(super) durability: WriteDurability,
}

impl TaskTable {
    /// Room for `count` commands.
    pub(super) fn new(count: u32, durability: WriteDurability) -> Self {
        let task = UnitTask {
            kind: TaskKind::Read,
            state: TaskState::Free,
            flight: 0,
            at_bytes: 0,
            length_bytes: 0,
            range: BlockRange { first: 0, count: 0 },
            tag: NO_TAG,
            sent_ns: 0,
            moved_bytes: 0,
            attention_count: 0,
            is_sent: false,
            has_waited: false,
            list: [0; UNMAP_LIST_BYTES],
        };
        Self { tasks: vec![task; count as usize], free: (0..count).rev().collect(), next_tag: 0, durability }
    }

    pub(super) fn task(&self, index: u32) -> &UnitTask {
        &self.tasks[index as usize]
    }

    pub(super) fn task_mut(&mut self, index: u32) -> &mut UnitTask {
        &mut self.tasks[index as usize]
    }

    /// A new command that waits; `None` where the table is full.
    pub(super) fn add(&mut self, kind: TaskKind, flight: u32, range: BlockRange) -> Option<u32> {
        let index = self.free.pop()?;
        let task = &mut self.tasks[index as usize];
        (task.kind, task.flight, task.range) = (kind, flight, range);
        (task.at_bytes, task.length_bytes) = (0, 0);
        (task.attention_count, task.has_waited) = (0, false);
        if kind == TaskKind::Unmap {
            task.list = unmap_list(range);
        }
        self.renew(index);
        self.tasks[index as usize].sent_ns = 0;
        Some(index)
    }

    /// Lets a command wait under a new tag, with nothing of it done.
    pub(super) fn renew(&mut self, index: u32) {
        self.next_tag = self.next_tag.wrapping_add(1);
        let task = &mut self.tasks[index as usize];
        task.tag = u32::from(self.next_tag) << 16 | index;
        (task.state, task.moved_bytes, task.is_sent) = (TaskState::Waiting, 0, false);
    }

    /// Gives a command to a session.
    pub(super) fn assign(&mut self, index: u32, session: usize) {
        self.tasks[index as usize].state = TaskState::Assigned(session);
    }

    /// Counts that a command is sent, in `bytes`.
    pub(super) fn sent(&mut self, index: u32, bytes: usize, now_ns: u64, counts: &mut PduCounts) {
        let task = &mut self.tasks[index as usize];
        let is_again = task.sent_ns != 0;
        counts.sent(task.kind.counted(), bytes, is_again);
        task.is_sent = true;
        if !is_again {
            task.sent_ns = now_ns.max(1);
        }
    }

    /// The command of `tag` on `session`; `None` where nobody waits for it, or it was not sent yet: a target that guesses
    /// tags completes nothing.
    pub(super) fn find(&self, tag: u32, session: usize) -> Option<u32> {
        let index = tag & 0xffff;
        let task = self.tasks.get(index as usize)?;
        (task.state == TaskState::Assigned(session) && task.tag == tag && task.is_sent).then_some(index)
    }

    /// Ends a command.
    pub(super) fn end(&mut self, index: u32) {
        self.tasks[index as usize].state = TaskState::Free;
        self.free.push(index);
    }

    /// The commands assigned to `session`, those that were sent first at the front. Not in the hot path.
    pub(super) fn assigned_to(&self, session: usize) -> Vec<u32> {
        let assigned = (0..).zip(&self.tasks).filter(|(_, task)| task.state == TaskState::Assigned(session));
        let mut assigned: Vec<u32> = assigned.map(|(index, _)| index).collect();
        assigned.sort_by_key(|index| match self.task(*index).sent_ns {
            0 => u64::MAX,
            sent_ns => sent_ns,
        });
        assigned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_was_not_sent_has_no_answer() {
        let mut table = TaskTable::new(1, WriteDurability::Deferred);
        let index = table.add(TaskKind::Read, 0, BlockRange { first: 0, count: 1 }).unwrap();
        table.assign(index, 3);
        let tag = table.task(index).tag;
        assert_eq!(table.find(tag, 3), None, "its tag was guessed");
        table.sent(index, 48, 1, &mut PduCounts::default());
        assert_eq!(table.find(tag, 3), Some(index));
        assert_eq!(table.find(tag, 2), None, "another session's");
        table.renew(index);
        table.assign(index, 3);
        assert_eq!(table.find(table.task(index).tag, 3), None, "it waits once more");
    }
}
