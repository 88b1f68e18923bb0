//! How often calls returned each number of bytes, counted at the cost of an addition.

use super::CallObserver;
use narrows_model::relay::CallSizes;
use std::collections::HashMap;

/// Return values below this are counted in an array: 32 KiB a direction of counters, which stay in a cache.
const DIRECT_BYTES: usize = 4097;

/// Return values of one kind of call.
///
/// # Cost
/// One addition for values up to 4096 and for the whole buffer; a look-up in a map for others. The map has at most as
/// many entries as the square root of twice the bytes moved.
#[derive(Debug, Clone)]
struct ReturnCounts {
    direct: Box<[u64]>,
    whole_bytes: usize,
    whole_count: u64,
    others: HashMap<usize, u64>,
}

impl ReturnCounts {
    fn new(buffer_bytes: usize) -> Self {
        let direct = vec![0; DIRECT_BYTES.min(buffer_bytes + 1)].into_boxed_slice();
        Self { direct, whole_bytes: buffer_bytes, whole_count: 0, others: HashMap::new() }
    }

    #[inline]
    fn count(&mut self, bytes: usize) {
        if bytes == self.whole_bytes {
            self.whole_count += 1;
        } else if let Some(count) = self.direct.get_mut(bytes) {
            *count += 1;
        } else {
            *self.others.entry(bytes).or_default() += 1;
        }
    }

    fn sizes(&self) -> CallSizes {
        let direct = self.direct.iter().enumerate().map(|(bytes, count)| (bytes, *count));
        let others = self.others.iter().map(|(bytes, count)| (*bytes, *count));
        let all = direct.chain(others).chain([(self.whole_bytes, self.whole_count)]);
        let mut sizes = CallSizes::default();
        for (bytes, count) in all.filter(|(_, count)| *count > 0) {
            *sizes.by_bytes.entry(bytes as u64).or_default() += count;
        }
        sizes
    }
}

/// Every return value of the reads and writes of a direction.
#[derive(Debug, Clone)]
pub(crate) struct CallTable {
    reads: ReturnCounts,
    writes: ReturnCounts,
}

impl CallTable {
    /// A table for calls with a buffer of `buffer_bytes`.
    pub(crate) fn new(buffer_bytes: usize) -> Self {
        Self { reads: ReturnCounts::new(buffer_bytes), writes: ReturnCounts::new(buffer_bytes) }
    }

    /// What the reads returned.
    pub(crate) fn reads(&self) -> CallSizes {
        self.reads.sizes()
    }

    /// What the writes returned.
    pub(crate) fn writes(&self) -> CallSizes {
        self.writes.sizes()
    }
}

impl CallObserver for CallTable {
    #[inline]
    fn read(&mut self, bytes: usize) {
        self.reads.count(bytes);
    }

    #[inline]
    fn written(&mut self, bytes: usize) {
        self.writes.count(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_return_value_is_found_with_its_count() {
        for buffer_bytes in [32, 4096, 8192, 131_072] {
            let mut table = CallTable::new(buffer_bytes);
            for bytes in [1, 31, 1, buffer_bytes, buffer_bytes - 1, buffer_bytes] {
                table.read(bytes);
            }
            table.written(buffer_bytes);
            let reads = table.reads();
            assert_eq!(reads.call_count(), 6);
            assert_eq!(reads.by_bytes[&1], 2);
            assert_eq!(reads.by_bytes[&(buffer_bytes as u64)], 2);
            assert_eq!(reads.total().0, 33 + 3 * buffer_bytes as u64 - 1);
            assert_eq!(table.writes().total().0, buffer_bytes as u64);
        }
    }
}
