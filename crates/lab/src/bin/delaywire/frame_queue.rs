//! One direction of the wire: frames in order of arrival, each with the time at which it is due.
//!
//! Pure: time and frames are passed in. Hot path: no allocation after the queue has grown to its depth.

/// An Ethernet frame of MTU 1500 with a VLAN tag is 1518 bytes; the rest is room.
const FRAME_BYTES_MAX: usize = 1600;
/// As many full frames as 200 ms at 1 Gbit/s; 26 MB a direction if ever filled.
const FRAME_COUNT_MAX: usize = 16_384;

struct QueuedFrame {
    due_ns: u64,
    length: usize,
    bytes: [u8; FRAME_BYTES_MAX],
}

/// A frame longer than this contains data; handshakes and acknowledgements are shorter and are never dropped on
/// purpose, so that a connection is always established.
const DATA_BYTES_MIN: usize = 1000;

/// A bounded queue of frames under way.
pub(crate) struct FrameQueue {
    delay_ns: u64,
    /// Of so many frames of data one is lost; 0 loses none.
    loss_every: u64,
    data_count: u64,
    /// A ring: frames `head..tail` are under way, both counted from the start and taken modulo the bound.
    frames: Vec<QueuedFrame>,
    head: usize,
    tail: usize,
}

impl FrameQueue {
    pub(crate) fn new(delay_ns: u64, loss_every: u64) -> Self {
        Self { delay_ns, loss_every, data_count: 0, frames: Vec::new(), head: 0, tail: 0 }
    }

    /// Takes one frame that `read` writes into the space it is given; false when there was none.
    ///
    /// A frame that finds the queue full is read and dropped.
    pub(crate) fn accept(&mut self, now_ns: u64, read: impl FnOnce(&mut [u8]) -> usize) -> bool {
        if self.tail - self.head == FRAME_COUNT_MAX {
            return read(&mut [0; FRAME_BYTES_MAX]) > 0;
        }
        let index = self.tail % FRAME_COUNT_MAX;
        if index == self.frames.len() {
            self.frames.push(QueuedFrame { due_ns: 0, length: 0, bytes: [0; FRAME_BYTES_MAX] });
        }
        let frame = &mut self.frames[index];
        frame.length = read(&mut frame.bytes).min(FRAME_BYTES_MAX);
        frame.due_ns = now_ns.saturating_add(self.delay_ns);
        let (length, taken) = (frame.length, frame.length > 0);
        let lost = self.is_lost(length);
        self.tail += usize::from(taken && !lost);
        taken
    }

    /// Counts a frame and returns whether it is the one of every `loss_every` that is dropped.
    fn is_lost(&mut self, length: usize) -> bool {
        let data = self.loss_every > 0 && length >= DATA_BYTES_MIN;
        self.data_count += u64::from(data);
        data && self.data_count.is_multiple_of(self.loss_every)
    }

    /// Hands over the frames that are due, oldest first.
    pub(crate) fn deliver(&mut self, now_ns: u64, mut send: impl FnMut(&[u8])) {
        while self.next_due_ns().is_some_and(|due_ns| due_ns <= now_ns) {
            let frame = &self.frames[self.head % FRAME_COUNT_MAX];
            send(&frame.bytes[..frame.length]);
            self.head += 1;
        }
    }

    /// When the oldest frame is due.
    pub(crate) fn next_due_ns(&self) -> Option<u64> {
        (self.head < self.tail).then(|| self.frames[self.head % FRAME_COUNT_MAX].due_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(queue: &mut FrameQueue, now_ns: u64, content: &[u8]) -> bool {
        queue.accept(now_ns, |space| {
            space[..content.len()].copy_from_slice(content);
            content.len()
        })
    }

    fn got(queue: &mut FrameQueue, now_ns: u64) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        queue.deliver(now_ns, |frame| frames.push(frame.to_vec()));
        frames
    }

    #[test]
    fn a_frame_comes_out_whole_when_its_delay_is_over_and_not_before() {
        let mut queue = FrameQueue::new(100, 0);
        assert!(put(&mut queue, 5, b"frame"));
        assert_eq!(queue.next_due_ns(), Some(105));
        assert!(got(&mut queue, 104).is_empty());
        assert_eq!(got(&mut queue, 105), [b"frame"]);
        assert_eq!(queue.next_due_ns(), None);
    }

    #[test]
    fn frames_keep_their_order_over_many_turns_of_the_ring() {
        let mut queue = FrameQueue::new(10, 0);
        for turn in 0..40_000_u64 {
            assert!(put(&mut queue, turn, &turn.to_le_bytes()));
            let expected = turn.checked_sub(10).map(|sent| sent.to_le_bytes().to_vec());
            assert_eq!(got(&mut queue, turn), expected.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_full_queue_drops_the_newest() {
        let mut queue = FrameQueue::new(1, 0);
        for number in 0..=FRAME_COUNT_MAX {
            assert!(put(&mut queue, 0, &number.to_le_bytes()));
        }
        let frames = got(&mut queue, 1);
        assert_eq!(frames.len(), FRAME_COUNT_MAX);
        assert_eq!(frames.last().map(Vec::as_slice), Some(&(FRAME_COUNT_MAX - 1).to_le_bytes()[..]));
    }

    #[test]
    fn one_of_so_many_frames_of_data_is_lost_and_no_short_one() {
        let mut queue = FrameQueue::new(0, 3);
        let long = [7; DATA_BYTES_MIN];
        for _ in 0..9 {
            assert!(put(&mut queue, 0, &long) && put(&mut queue, 0, b"short"));
        }
        let lengths: Vec<usize> = got(&mut queue, 0).iter().map(Vec::len).collect();
        assert_eq!(lengths.iter().filter(|length| **length == DATA_BYTES_MIN).count(), 6);
        assert_eq!(lengths.len(), 15);
    }

    #[test]
    fn reading_nothing_queues_nothing() {
        let mut queue = FrameQueue::new(1, 0);
        assert!(!queue.accept(0, |_| 0));
        assert_eq!(queue.next_due_ns(), None);
    }
}
