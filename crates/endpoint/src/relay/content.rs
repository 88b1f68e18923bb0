//! The content of a verified stream: bytes that depend on a key and their position, so that bytes that are lost,
//! repeated, reordered or changed are found, and most of them located.
//!
//! Hot path: about 1 ns for 8 bytes on either side, in the CPU time of client and server.

use narrows_model::Bytes;
use narrows_sys::entropy::{member_of, member_seed};

const WORD_BYTES: usize = 8;

/// Bytes after a fault that show where they belong: one whole word, wherever words begin.
const CLUE_BYTES: usize = 2 * WORD_BYTES - 1;

/// The bytes of a stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamContent {
    key: u64,
}

impl StreamContent {
    pub(super) fn new(key: u64) -> Self {
        Self { key }
    }

    /// The word that begins at `index` times its length.
    #[inline]
    fn word(self, index: u64) -> [u8; WORD_BYTES] {
        member_seed(self.key, index).to_le_bytes()
    }

    /// Fills `bytes` with the content of the stream from `position` on.
    pub(super) fn fill(self, position: u64, bytes: &mut [u8]) {
        self.each_word(position, bytes.len(), |range, word| bytes[range].copy_from_slice(word));
    }

    /// Passes on each whole or cut word of a stretch, and its range in the stretch.
    #[inline]
    fn each_word(self, position: u64, length: usize, mut take: impl FnMut(std::ops::Range<usize>, &[u8])) {
        const WORD: u64 = WORD_BYTES as u64;
        let (mut index, mut done) = (position / WORD, 0);
        // Below the length of a word.
        let mut skip = usize::try_from(position % WORD).unwrap_or(0);
        while done < length {
            let word = self.word(index);
            let part = (WORD_BYTES - skip).min(length - done);
            take(done..done + part, &word[skip..skip + part]);
            (index, skip, done) = (index + 1, 0, done + part);
        }
    }
}

/// Compares a stream with its expected content as it arrives.
#[derive(Debug)]
pub(super) struct ContentVerifier {
    content: StreamContent,
    total: u64,
    position: u64,
    fault: Option<ContentFault>,
}

/// The first bytes that are not what they should be.
#[derive(Debug)]
struct ContentFault {
    position: u64,
    found: Vec<u8>,
}

impl ContentVerifier {
    /// A verifier of a stream of `total` bytes, before its first byte.
    pub(super) fn new(key: u64, total: Bytes) -> Self {
        Self { content: StreamContent::new(key), total: total.0, position: 0, fault: None }
    }

    /// Takes the next bytes.
    pub(super) fn check(&mut self, bytes: &[u8]) {
        match &mut self.fault {
            None => self.compare(bytes),
            Some(fault) => {
                let wanted = CLUE_BYTES.saturating_sub(fault.found.len()).min(bytes.len());
                fault.found.extend_from_slice(&bytes[..wanted]);
            }
        }
        self.position += bytes.len() as u64;
    }

    fn compare(&mut self, bytes: &[u8]) {
        let mut wrong = None;
        self.content.each_word(self.position, bytes.len(), |range, word| {
            if bytes[range.clone()] != *word {
                wrong.get_or_insert(range.start);
            }
        });
        let Some(near) = wrong else { return };
        let mut expected = [0; WORD_BYTES];
        let stretch = &bytes[near..bytes.len().min(near + WORD_BYTES)];
        let expected = &mut expected[..stretch.len()];
        self.content.fill(self.position + near as u64, expected);
        let at =
            near + stretch.iter().zip(expected).take_while(|(found, expected)| found == expected).count();
        let found = bytes[at..bytes.len().min(at + CLUE_BYTES)].to_vec();
        self.fault = Some(ContentFault { position: self.position + at as u64, found });
    }

    /// What is wrong, for people; `None` when every byte so far was right.
    pub(super) fn fault(&self) -> Option<String> {
        let fault = self.fault.as_ref()?;
        let at = fault.position;
        Some(match self.origin(fault) {
            Some(from) if from > at => format!(
                "byte {at} is that of position {from}: {} bytes before it are lost or arrive later",
                from - at
            ),
            Some(from) if from < at => {
                format!("byte {at} is that of position {from} again: bytes are duplicated or out of order")
            }
            _ => {
                let mut expected = [0];
                self.content.fill(at, &mut expected);
                let found = fault.found.first().copied().unwrap_or(0);
                format!("byte {at} was changed: {:#04x} was sent and {found:#04x} received", expected[0])
            }
        })
    }

    /// The position to which the bytes of a fault belong; `None` when they are of no position of this stream.
    fn origin(&self, fault: &ContentFault) -> Option<u64> {
        let mut words = fault.found.windows(WORD_BYTES).take(WORD_BYTES).enumerate();
        words.find_map(|(before, word)| {
            let index = member_of(self.content.key, u64::from_le_bytes(word.try_into().ok()?));
            let position = index.checked_mul(WORD_BYTES as u64)?;
            (position < self.total).then(|| position.checked_sub(before as u64)).flatten()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: u64 = 7;
    const TOTAL: usize = 10_000;

    fn stream() -> Vec<u8> {
        let mut bytes = vec![0; TOTAL];
        StreamContent::new(KEY).fill(0, &mut bytes);
        bytes
    }

    fn verdict(stream: &[u8], portion: usize) -> Option<String> {
        let mut verifier = ContentVerifier::new(KEY, Bytes(TOTAL as u64));
        stream.chunks(portion).for_each(|bytes| verifier.check(bytes));
        verifier.fault()
    }

    #[test]
    fn a_stretch_is_the_same_wherever_it_is_begun() {
        let whole = stream();
        for (position, length) in [(0, 1), (3, 5), (3, 6), (8, 8), (13, 100), (9_999, 1)] {
            let mut part = vec![0; length];
            StreamContent::new(KEY).fill(position as u64, &mut part);
            assert_eq!(part, whole[position..position + length], "{position}");
        }
    }

    #[test]
    fn a_stream_as_it_was_sent_has_no_fault_in_any_portions() {
        for portion in [1, 3, 8, 48, 4096, TOTAL] {
            assert_eq!(verdict(&stream(), portion), None);
        }
    }

    #[test]
    fn bytes_that_are_lost_are_located() {
        for (at, lost) in [(0, 5), (1000, 1), (1001, 48), (4096, 4096)] {
            let mut bytes = stream();
            bytes.drain(at..at + lost);
            for portion in [1, 32, 4096] {
                let message = verdict(&bytes, portion).unwrap();
                assert!(message.contains(&format!("{lost} bytes before it are lost")), "{message}");
            }
        }
    }

    #[test]
    fn bytes_that_come_twice_or_swapped_are_located() {
        let whole = stream();
        let twice = [&whole[..500], &whole[100..500], &whole[500..]].concat();
        let message = verdict(&twice, 64).unwrap();
        assert!(message.contains("byte 500 is that of position 100 again"), "{message}");
        let swapped = [&whole[..64], &whole[128..192], &whole[64..128], &whole[192..]].concat();
        let message = verdict(&swapped, 64).unwrap();
        assert!(message.contains("byte 64 is that of position 128"), "{message}");
    }

    #[test]
    fn one_changed_bit_is_found_with_its_position() {
        for at in [0, 4097, TOTAL - 1] {
            let mut bytes = stream();
            bytes[at] ^= 1;
            let message = verdict(&bytes, 48).unwrap();
            assert!(message.contains(&format!("byte {at} was changed")), "{message}");
        }
    }

    #[test]
    fn the_content_of_another_key_is_not_this_one() {
        let mut other = vec![0; TOTAL];
        StreamContent::new(KEY + 1).fill(0, &mut other);
        assert!(verdict(&other, 32).unwrap().contains("was changed"));
    }
}
