//! Orders without chance: one block after the other, from the end to the start, or a fixed distance apart.

/// One block after the other within a part, again and again.
#[derive(Debug)]
pub(super) struct SequentialWalk {
    part_bytes: u64,
    backward: bool,
    /// Blocks differ in size, so that the place must be brought to a multiple of each.
    mixed: bool,
    /// Where the next block starts, or ends in a backward walk.
    place_bytes: u64,
}

impl SequentialWalk {
    /// From the start of a part to its end.
    pub(super) fn forward(part_bytes: u64, mixed: bool) -> Self {
        Self { part_bytes, backward: false, mixed, place_bytes: 0 }
    }

    /// From the end of a part to its start.
    pub(super) fn backward(part_bytes: u64, mixed: bool) -> Self {
        Self { part_bytes, backward: true, mixed, place_bytes: part_bytes }
    }

    /// Where in the part the next block of `length_bytes` starts: a multiple of its length, next to the last one.
    pub(super) fn next(&mut self, length_bytes: u64) -> u64 {
        if self.backward { self.step_back(length_bytes) } else { self.step_on(length_bytes) }
    }

    fn step_on(&mut self, length_bytes: u64) -> u64 {
        let mut start = self.place_bytes;
        if self.mixed {
            start = start.next_multiple_of(length_bytes);
        }
        if start + length_bytes > self.part_bytes {
            start = 0;
        }
        self.place_bytes = start + length_bytes;
        start
    }

    fn step_back(&mut self, length_bytes: u64) -> u64 {
        let end = if self.place_bytes < length_bytes { self.part_bytes } else { self.place_bytes };
        let mut start = end.saturating_sub(length_bytes);
        if self.mixed {
            start -= start % length_bytes;
        }
        self.place_bytes = start;
        start
    }
}

/// When a turn over the part ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StrideTurns {
    /// At the last block that the stride meets.
    Whole,
    /// Where the block behind the next one that the stride would meet is the last of the part, or beyond: as IOzone's.
    EndEarly,
}

/// Blocks a fixed distance apart; each turn over the part starts one block further, until all were visited.
///
/// # Source
/// Of turns that end early: IOzone 3, test 5. Its turns start at their number, modulo the blocks of the part; with no more
/// blocks than the distance always at the first.
#[derive(Debug)]
pub(super) struct Stride {
    turns: StrideTurns,
    part: u64,
    distance: u64,
    next: u64,
    turn: u64,
}

impl Stride {
    /// Blocks `distance` (at least 1) apart in a part of `part` blocks.
    pub(super) fn new(part: u64, distance: u64, turns: StrideTurns) -> Self {
        Self { turns, part, distance: distance.max(1), next: 0, turn: 0 }
    }

    /// The next block of the part.
    pub(super) fn next(&mut self) -> u64 {
        let block = self.next;
        self.next = block.saturating_add(self.distance);
        if self.turns == StrideTurns::EndEarly {
            if self.next.saturating_add(2) >= self.part {
                self.turn = if self.part <= self.distance { 0 } else { (self.turn + 1) % self.part };
                self.next = self.turn;
            }
        } else if self.next >= self.part {
            self.turn = if self.turn + 1 < self.distance.min(self.part) { self.turn + 1 } else { 0 };
            self.next = self.turn;
        }
        block
    }
}
