//! Memory that a rank transfers from or into.

use std::ops::{Deref, DerefMut};

/// A page of memory, of the usual size.
const PAGE_BYTES: usize = 4096;

/// Elements that begin at a border of pages and were all written to: no first access to a page, and no copy at an odd address,
/// is part of what is timed.
#[derive(Debug)]
pub(super) struct TransferBuffer<T> {
    all: Vec<T>,
    /// Elements before the border.
    skipped_count: usize,
}

impl<T: Copy> TransferBuffer<T> {
    /// `count` elements of this value.
    ///
    /// # Errors
    /// Where there is no memory for them.
    pub(super) fn filled(count: u64, value: T) -> Result<Self, String> {
        let no_memory = |reason: &str| format!("memory for {count} elements: {reason}");
        let count = usize::try_from(count).map_err(|error| no_memory(&error.to_string()))?;
        let with_border = count.saturating_add(PAGE_BYTES / size_of::<T>().max(1));
        let mut all: Vec<T> = Vec::new();
        all.try_reserve_exact(with_border).map_err(|error| no_memory(&error.to_string()))?;
        let skipped_count = all.as_ptr().align_offset(PAGE_BYTES).min(with_border - count);
        all.resize(skipped_count + count, value);
        Ok(Self { all, skipped_count })
    }
}

impl<T> Deref for TransferBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all[self.skipped_count..]
    }
}

impl<T> DerefMut for TransferBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.all[self.skipped_count..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_begin_at_a_page_and_have_their_value() {
        for count in [0, 1, 1000, 5_000_000] {
            let mut buffer = TransferBuffer::filled(count, -1_i32).unwrap();
            assert_eq!(buffer.len() as u64, count);
            assert_eq!(buffer.as_ptr().align_offset(PAGE_BYTES), 0, "{count}");
            assert!(buffer.iter().all(|element| *element == -1));
            buffer.iter_mut().for_each(|element| *element = 7);
            assert!(buffer.iter().all(|element| *element == 7));
        }
        assert!(TransferBuffer::filled(u64::MAX, 0_i32).unwrap_err().starts_with("memory for"));
    }
}
