//! What the sequence numbers of a file's lines show: nothing wrong, lines missing, a line repeated, a number damaged.
//!
//! A number that jumps ahead is either true (lines are missing) or damaged; the number after it shows which.

use crate::damage::DamageKind;

/// A finding, with the line it is about.
pub(super) type FoundDamage = Option<(u64, DamageKind)>;

/// The state between two lines.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    expected: u64,
    /// Lines that could not be read since the last whole one: their numbers are not missing.
    lost_count: u64,
    jump: Option<Jump>,
}

/// A line whose number is ahead of its place.
#[derive(Debug, Clone, Copy)]
struct Jump {
    line: u64,
    found: u64,
    expected: u64,
    missing_count: u64,
}

impl Sequence {
    /// A line could not be read.
    pub(super) fn lost(&mut self) {
        self.lost_count += 1;
    }

    /// A whole line with number `seq`: whether to keep it, and what was found out about it or the one before.
    pub(super) fn take(&mut self, line: u64, seq: u64) -> (bool, FoundDamage) {
        let found = self.settle(seq);
        let gap = seq.saturating_sub(self.expected);
        if seq < self.expected {
            return (false, found);
        }
        if gap > self.lost_count {
            let expected = self.expected.saturating_add(self.lost_count);
            self.jump = Some(Jump { line, found: seq, expected, missing_count: gap - self.lost_count });
        }
        self.lost_count = 0;
        self.expected = seq.saturating_add(1);
        (true, found)
    }

    /// What was still open when the file ended.
    pub(super) fn end(&mut self) -> FoundDamage {
        self.jump.take().map(missing)
    }

    /// Lines that are missing at the end of a file that had `count`.
    pub(super) fn missing_at_end(&self, count: u64) -> u64 {
        count.saturating_sub(self.expected).saturating_sub(self.lost_count)
    }

    /// Decides about a jump, now that the number after it is known.
    fn settle(&mut self, seq: u64) -> FoundDamage {
        let jump = self.jump.take()?;
        let continues_before_jump =
            seq < jump.found && seq > jump.expected && seq - jump.expected <= self.lost_count + 1;
        if !continues_before_jump {
            return Some(missing(jump));
        }
        self.expected = jump.expected.saturating_add(1);
        Some((jump.line, DamageKind::SequenceNumber { found: jump.found, expected: jump.expected }))
    }
}

fn missing(jump: Jump) -> (u64, DamageKind) {
    (jump.line, DamageKind::LinesMissing { count: jump.missing_count })
}
